"""Indexes: built, searched, changed, saved."""

import copy
import ctypes
import gzip
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import furrow
from furrow.index import Index, exact_search, kmeans, load_vectors

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2000, 16)).astype(np.float32)
Q = RNG.normal(size=(20, 16)).astype(np.float32)


@pytest.fixture
def flat():
    """Vectors as they are, in 8 lists: probing all is exact."""
    return Index.build(X, nlist=8, m=0, nprobe=8)


def names_for(first, end):
    return [f"film {i}" for i in range(first, end)]


# ---- Building


def test_defaults_follow_the_number_of_vectors():
    assert Index.build(X[:100]).factory_string == Index.build(X).factory_string == "Flat"
    assert Index.build(X, metric="cosine").factory_string == "L2norm,Flat"
    assert Index.build(X, ids=np.arange(2000) * 3).factory_string == "IDMap,Flat"
    assert Index.build(X, max_bytes=40_000).factory_string == "SQ8"
    with pytest.raises(furrow.ArgumentError, match="the smallest index for these vectors takes"):
        Index.build(X, max_bytes=5000)
    with pytest.raises(ValueError, match="max_bytes"):
        Index.build(X, nlist=4, max_bytes=5000)
    large = Index.build(RNG.normal(size=(10_000, 24)).astype(np.float32), nlist=256, coarse_rounds=1, pq_rounds=1)
    assert (large.nlist, large.m, large.nbits, large.nprobe) == (256, 12, 8, 1)
    some = Index.build(RNG.normal(size=(10_000, 24)).astype(np.float32), m=6, coarse_rounds=1, pq_rounds=1)
    assert (some.nlist, some.m, some.nbits, some.nprobe) == (256, 6, 8, 64)
    assert Index.from_bytes(some.to_bytes()).nprobe == 64
    assert Index.build(X, nlist=16, nprobe=3).nprobe == 3
    assert Index.build(X, nlist=16).nprobe == Index.build(X, factory="IVF16,Flat").nprobe == 1  # as in Faiss


@pytest.mark.parametrize("factory", ["IVF64,Flat", "IVF64,PQ8,RFlat", "IDMap,PQ8x4fs,RFlat"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_settings_reach_a_recall(factory, metric):
    """Settings that were measured on vectors of the index also hold for others."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(5200, 16)) + (rng.normal(size=(50, 16)) * 2)[rng.integers(50, size=5200)]).astype(np.float32)
    index = Index.build(x[200:], factory=factory, metric=metric, recall=0.9, ids=np.arange(5000) * 2)
    truth = exact_search(x[200:], x[:200], 10, ids=np.arange(5000) * 2, metric=metric)[1]
    assert index.recall(x[:200], 10, truth=truth) > 0.87
    assert index.nlist == 0 or 1 <= index.nprobe < 64
    again = Index.build(x[200:], factory=factory, metric=metric, recall=0.9, ids=np.arange(5000) * 2, threads=1)
    assert again.to_bytes() == index.to_bytes()


def test_one_vector_is_enough_for_an_index():
    index = Index.build(X[0])
    assert (len(index), index.nlist) == (1, 0)
    assert index.search(X[0], 1)[1].tolist() == [[0]]


def test_same_seed_same_bytes_for_any_number_of_threads():
    one = Index.build(X, nlist=16, m=4, threads=1)
    assert one.to_bytes() == Index.build(X, nlist=16, m=4, threads=2).to_bytes()
    assert one.to_bytes() != Index.build(X, nlist=16, m=4, seed=5).to_bytes()


def test_options_of_the_spec():
    index = Index.build(X, nlist=16, m=4, nbits=6, hnsw_m=8, opq=True, opq_d=8, refine_flat=True, k_factor=5)
    assert (index.d, index.nlist, index.m, index.nbits) == (16, 16, 4, 6)
    assert index.recall(X[:50], 5, base=X, nprobe=16, k_factor=100) == 1.0
    with pytest.raises(furrow.ArgumentError, match="must divide the 16 dimensions"):
        Index.build(X, nlist=4, m=5)
    with pytest.raises(ValueError, match="metric is 'cos'"):
        Index.build(X, metric="cos")
    with pytest.raises(furrow.ArgumentError, match="factory and nlist cannot be used together"):
        Index.build(X, nlist=4, factory="IVF8,PQ4")
    with pytest.raises(furrow.ArgumentError):
        Index.build(X[:3], nlist=8)
    with pytest.raises(TypeError, match="an int is needed"):
        Index.build(X, nlist=4.5)


@pytest.mark.parametrize(
    "text", ["IVF8,Flat", "IVF8,PQ4", "IVF8_HNSW8,PQ4x6", "OPQ4_8,IVF8,PQ4", "L2norm,IVF8,PQ4np", "IVF8,PQ4+8",
             "IDMap,IVF8,PQ4,RFlat", "IVF8,PQ4x4,Refine(Flat)", "L2norm,OPQ4,IVF8,PQ4", "IVF8,SQ8", "SQ6", "PQ4",
             "PCA8,IVF8,Flat", "IVF8,PQ4x4fs", "PQ8x4fs,RFlat", "IDMap2,IVF8,Flat", "OPQ8,IVF8,PQ4", "RR8,SQ4",
             "HNSW8,SQ8", "HNSW8_PQ4", "IDMap2,OPQ4,HNSW8,PQ4x6,RFlat"]
)  # fmt: skip
@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_factory_strings_work(text, metric):
    if "+" in text and metric == "ip":
        pytest.skip("the refinement of PQ4+8 is for L2")
    index = Index(16, text, metric)
    assert not index.is_trained and "not trained" in repr(index)
    index.train(X)
    index.add(X)
    assert (index.ntotal, index.metric) == (2000, "cosine" if metric == "ip" and "L2norm" in text else metric)
    assert index.search(Q, 5, nprobe=8)[1].min() >= 0


@pytest.mark.parametrize("text", ["Flat", "IDMap2,Flat", "L2norm,Flat", "SQfp16", "HNSW16,Flat", "IDMap2,HNSW16,Flat"])
def test_some_indexes_need_no_training(text):
    index = Index(16, text)
    assert index.is_trained and index.factory_string == text
    index.add(X)
    assert index.search(X[:5], 1)[1].ravel().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "text, part", [("NSG32", "NSG32"), ("IVF8(PQ4),Flat", r"IVF8\(PQ4\)"), ("IVF8,Flat,PQ4", "PQ4"), ("OPQ4", "OPQ4")]
)
def test_factory_strings_name_the_part_that_is_not_supported(text, part):
    with pytest.raises(furrow.UnsupportedError, match=rf"is not something that Furrow can build \({part}"):
        Index(16, text)


def test_graphs_are_built_and_tuned():
    graph = Index.build(X, factory="HNSW8", recall=0.9, ef_construction=60)
    assert graph.factory_string == "HNSW8,Flat"
    exact = Index.build(X, factory="Flat").search(Q, 10)[1]
    found = graph.search(Q, 10)[1]
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact, found)]) > 0.85
    assert graph.remove_ids([0, 1]) == 2 and graph.ntotal == 1998
    with pytest.raises(ValueError, match="ef_construction"):
        Index.build(X, factory="IVF8,Flat", ef_construction=60)
    with pytest.raises(ValueError, match="ef_construction"):
        Index.build(X, nlist=8, ef_construction=60)


@pytest.mark.parametrize("text", ["IVF8", "IVF8,PQ0", "IVF8,PQ3", "PCA32,Flat"])
def test_factory_strings_that_are_wrong(text):
    with pytest.raises(ValueError):
        Index(16, text)


def test_training_goes_wrong_without_a_change(flat):
    index = Index(16, "IVF8,PQ4")
    with pytest.raises(furrow.StateError, match="not trained"):
        index.add(X)
    with pytest.raises(furrow.StateError):
        index.search(Q, 1)
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(furrow.RangeError, match="3"):
        index.train(bad)
    with pytest.raises(furrow.ArgumentError):
        index.train(X[:10])
    assert not index.is_trained
    with pytest.raises(furrow.ArgumentError):
        flat.train(X)


def test_progress_sees_phases_and_stops():
    phases = set()
    Index.build(X, nlist=16, m=4, pq_rounds=500, progress=lambda phase, done, total: phases.add(phase))
    assert "pq" in phases
    index = Index(16, "IVF1024,PQ16")
    many = np.random.default_rng(1).normal(size=(60_000, 16)).astype(np.float32)
    with pytest.raises(furrow.CancelledError):
        index.train(many, progress=lambda *now: False)
    with pytest.raises(ZeroDivisionError):
        index.train(many, progress=lambda *now: 1 / 0)
    assert not index.is_trained


# ---- Adding


def test_ids_follow_the_highest(flat):
    assert flat.add(X[:2]).tolist() == [2000, 2001]
    flat.remove_ids([0, 1])
    assert flat.ntotal == 2000
    assert flat.add(X[:1]).tolist() == [2002]  # 2000 is taken
    flat.add_with_ids(X[:1], [50_000])
    assert flat.next_id == 50_001 and flat.add(X[:1]).tolist() == [50_001]
    assert sorted(flat.ids) == [*range(2, 2003), 50_000, 50_001]
    again = Index.from_bytes(flat.to_bytes())
    assert again.next_id == 50_002


def test_an_id_that_comes_twice_is_found_twice(flat):
    flat.add_with_ids(X[:2], [5, 5])
    assert flat.search(X[0], 2)[1].tolist() == [[0, 5]]
    assert ["more than once" in finding.message for finding in Index.verify(flat)] == [True]
    assert flat.remove_ids([5]) == 3


def test_adding_is_whole_or_not_at_all(flat):
    before = flat.to_bytes()
    bad = np.concatenate([X] * 5)
    bad[9_999, 0] = np.inf
    for wrong, error in [
        (lambda: flat.add(bad), furrow.RangeError),
        (lambda: flat.add_with_ids(X, np.arange(3)), ValueError),
        (lambda: flat.add_with_ids(X[:2], [1.5, 2.5]), TypeError),
        (lambda: flat.add_with_ids(X[:2], [1, -1]), ValueError),
        (lambda: flat.add_with_ids(X[:1], [2**63]), OverflowError),
        (lambda: flat.add(X[:, :5]), ValueError),
        (lambda: flat.add(X[:2], names=["a", "b"]), furrow.ArgumentError),
        (lambda: flat.add(X[:2], threads=-1), ValueError),
    ]:
        with pytest.raises(error):
            wrong()
    assert flat.to_bytes() == before
    assert flat.add(X[:0]).tolist() == []


def test_dense_ids_are_checked_before_anything_is_added():
    index = Index.build(X, nlist=8, m=4, refine_flat=True)
    many = np.concatenate([X] * 8)
    ids = np.arange(2000, 2000 + len(many))
    ids[-1] += 1
    with pytest.raises(furrow.ArgumentError):
        index.add_with_ids(many, ids)
    assert index.ntotal == 2000
    index.add_with_ids(many[:-1], ids[:-1])
    assert index.next_id == 2000 + len(many) - 1


def test_a_call_that_was_stopped_says_how_much_was_added():
    index = Index.build(X[:256], nlist=128, m=4, names=names_for(0, 256))
    many = np.concatenate([X] * 400)

    def stop(phase, done, total):
        return done < 8192

    with pytest.raises(furrow.CancelledError) as caught:
        index.add(many, names=names_for(256, 256 + len(many)), progress=stop, threads=1)
    added = index.ntotal - 256
    assert 0 < added < len(many)
    assert caught.value.__notes__ == [f"the first {added} of {len(many)} vectors were added"]
    assert len(index.names) == index.ntotal and index.names[index.ntotal - 1] == f"film {index.ntotal - 1}"


# ---- Searching


def test_all_lists_give_the_exact_result(flat):
    distances, ids = flat.search(Q, 10)
    true_distances, truth = exact_search(X, Q, 10)
    assert (ids == truth).all() and np.allclose(distances, true_distances, rtol=1e-5)
    assert ids.dtype == np.int64 and distances.dtype == np.float32
    assert flat.recall(Q, 10, truth=truth) == flat.recall(Q, 10, base=X) == 1.0
    assert 0 < flat.recall(Q, 10, truth=truth, nprobe=1) < 1


def test_many_queries_are_the_same_as_one_by_one(flat):
    queries = np.concatenate([Q] * 50)
    distances, ids = flat.search(queries, 7, nprobe=3)
    for i in (0, 63, 64, 500, 999):
        d, one = flat.search(queries[i], 7, nprobe=3)
        assert (one[0] == ids[i]).all() and (d[0] == distances[i]).all()


def test_k_and_nprobe(flat):
    distances, ids = flat.search(Q, 2003)
    assert (ids[:, 2000:] == -1).all() and (distances[:, 2000:] == np.finfo(np.float32).max).all()
    assert (np.sort(ids[:, :2000]) == np.arange(2000)).all()
    assert (flat.search(Q, 3, nprobe=10**15)[1] == flat.search(Q, 3)[1]).all()
    assert (flat.search(Q, np.int8(3), nprobe=np.uint16(8))[1] == flat.search(Q, 3)[1]).all()
    for k in (0, -1, 2**40, 2**70):
        with pytest.raises(ValueError, match="k is"):
            flat.search(Q, k)
    for nprobe in (0, -1):
        with pytest.raises(ValueError, match="nprobe is"):
            flat.search(Q, 1, nprobe=nprobe)
    for wrong in (1.5, "3", None):
        with pytest.raises(TypeError, match="k: an int"):
            flat.search(Q, wrong)
    for threads in (-1, 2**32, 1025):
        with pytest.raises(ValueError, match="threads is"):
            flat.search(Q, 1, threads=threads)
    with pytest.raises(furrow.ArgumentError, match="k_factor"):
        flat.search(Q, 1, k_factor=-1)
    assert flat.search(Q, 5, max_codes=1)[1].shape == (20, 5)


def test_inner_product_and_cosine():
    ip = Index.build(X, nlist=8, m=0, metric="ip", nprobe=8)
    assert (ip.search(Q, 5)[1] == np.argsort(-(Q @ X.T), axis=1)[:, :5]).all()
    assert ip.search(Q[:1], 2001)[0][0, -1] == -np.finfo(np.float32).max
    cosine = Index.build(X * 9, nlist=8, m=0, metric="cosine", nprobe=8)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert (cosine.search(Q, 5)[1] == np.argsort(-(Q @ unit.T), axis=1)[:, :5]).all()
    assert "metric='cosine'" in repr(cosine) and "metric='ip'" in repr(ip)
    assert cosine.metric == "cosine" and cosine.recall(Q, 5, base=X) == 1.0


@pytest.mark.parametrize(
    "name,metric",
    [("L2", "l2"), ("euclidean", "l2"), (1, "l2"), ("IP", "ip"), ("inner_product", "ip"), ("Inner_Product", "ip"),
     (0, "ip"), ("Cosine", "cosine"), ("COSINE", "cosine")],
)  # fmt: skip
def test_names_of_metrics(name, metric):
    assert Index.build(X[:50], nlist=1, m=0, metric=name).metric == Index(16, "IVF1,Flat", name).metric == metric
    assert (exact_search(X, Q, 3, metric=name)[1] == exact_search(X, Q, 3, metric=metric)[1]).all()


@pytest.mark.parametrize("name", ["cos", "", 2, True, None, 1.0, "hamming"])
def test_metrics_that_are_refused(name):
    with pytest.raises(ValueError, match="one of 'l2', 'euclidean', 'ip', 'inner_product', 'cosine'"):
        Index.build(X, metric=name)


def test_nprobe_is_a_setting(flat):
    all_lists = flat.search(Q, 5)[1]
    flat.nprobe = 1
    assert (flat.search(Q, 5)[1] == flat.search(Q, 5, nprobe=1)[1]).all()
    assert (flat.search(Q, 5)[1] != all_lists).any()
    assert Index.from_bytes(flat.to_bytes()).nprobe == 1
    for wrong in (0, -3):
        with pytest.raises(ValueError):
            flat.nprobe = wrong


def test_range_search(flat):
    lims, distances, ids = flat.range_search(Q, 12.0)
    exact = ((Q[:, None] - X[None]) ** 2).sum(axis=2)
    assert lims[0] == 0 and lims[-1] == len(ids) == len(distances)
    for i in range(len(Q)):
        assert ids[lims[i] : lims[i + 1]].tolist() == np.flatnonzero(exact[i] < 12).tolist()
    many = flat.range_search(np.concatenate([Q] * 30), 12.0)
    assert (many[0][:21] == lims).all() and len(many[2]) == 30 * len(ids)
    assert (many[2][-len(ids) :] == ids).all()
    kept = flat.range_search(Q, 12.0, filter=range(100))[2]
    assert kept.max() < 100
    assert [len(part) for part in flat.range_search(Q[:0], 1.0)] == [1, 0, 0]
    with pytest.raises(furrow.ArgumentError):
        flat.range_search(Q, np.nan)


# ---- Filters


def test_filters_of_all_forms_agree(flat):
    wanted = [i for i in range(2000) if 500 <= i < 900]
    truth = exact_search(X[500:900], Q, 10, ids=wanted)[1]
    mask = np.zeros(2000, dtype=bool)
    mask[500:900] = True
    forms = [range(500, 900), slice(500, 900), range(899, 499, -1), wanted, tuple(wanted), set(wanted),
             wanted[::-1] * 2, np.array(wanted, dtype=np.uint16), np.array(wanted, dtype=">i4"), np.array(wanted)[::-1], mask,
             mask.tolist(), lambda id: 500 <= id < 900]  # fmt: skip
    for form in forms:
        assert (flat.search(Q, 10, filter=form)[1] == truth).all()
    others = exact_search(np.delete(X, wanted, axis=0), Q, 10, ids=np.delete(np.arange(2000), wanted))[1]
    for form in forms:
        assert (flat.search(Q, 10, exclude=form)[1] == others).all()
    steps = flat.search(Q, 10, filter=range(1, 10**18, 7))[1]
    assert (steps % 7 == 1).all() and (flat.search(Q, 10, filter=lambda id: id % 7 == 1)[1] == steps).all()
    assert (flat.search(Q, 3, filter=slice(-2, None))[1][:, :2].min(axis=1) == 1998).all()


def test_a_filter_that_keeps_nothing(flat):
    for nothing in ([], set(), range(0), range(5000, 6000), np.zeros(2000, dtype=bool), lambda id: False):
        assert (flat.search(Q, 3, filter=nothing)[1] == -1).all()
        assert (flat.search(Q, 3, exclude=nothing)[1] == flat.search(Q, 3)[1]).all()


def test_filters_that_are_refused(flat):
    for wrong, error in [
        (5, TypeError),
        ("abc", TypeError),
        ([1.5], TypeError),
        ([1, "a"], TypeError),
        ({1: 2}, TypeError),
        ([2**63], OverflowError),
        ([2**70], TypeError),
        (np.zeros(1999, dtype=bool), ValueError),
        ([[1, 2]], ValueError),
        (["film 1"], LookupError),
    ]:
        with pytest.raises(error):
            flat.search(Q, 1, filter=wrong)
    with pytest.raises(ValueError, match="together"):
        flat.search(Q, 1, filter=[1], exclude=[2])


def test_a_filter_function_may_raise_and_use_the_index(flat):
    def wrong(id):
        raise KeyError(id)

    with pytest.raises(KeyError):
        flat.search(Q, 1, filter=wrong)

    def curious(id):
        return id in near and flat.ntotal > 0

    near = set(flat.search(Q[0], 20)[1][0].tolist())
    assert set(flat.search(Q[0], 20, filter=curious)[1][0].tolist()) == near

    def adds(id):
        if id == 0:
            flat.add(Q[:1])
        return True

    assert 2000 not in flat.search(Q[0], 1, filter=adds)[1]  # the function was not asked about it
    assert flat.ntotal == 2001


# ---- Vectors, removing, updating


def test_reconstruct(flat):
    assert (flat.reconstruct(5) == X[5]).all()
    assert (flat.reconstruct_batch([7, 3, 7]) == X[[7, 3, 7]]).all()
    flat.set_direct_map("hash")
    assert flat.direct_map == "hash"
    assert (flat.reconstruct_n(0, 2000) == X).all() and (flat.reconstruct_n() == X).all()
    assert flat.reconstruct_batch([]).shape == (0, 16)
    for missing in (2000, -1):
        with pytest.raises(furrow.NotFoundError, match="no vector with the id"):
            flat.reconstruct(missing)
    with pytest.raises(LookupError):
        flat.reconstruct_batch(np.arange(3000))
    with pytest.raises(TypeError):
        flat.reconstruct("1")
    with pytest.raises(ValueError, match="kind is"):
        flat.set_direct_map("tree")


def test_remove_and_update(flat):
    assert flat.remove_ids([1, 2, 3, 10**9]) == 3
    assert flat.remove_ids(range(1990, 5000)) == 10
    assert flat.remove_ids([]) == 0
    assert flat.remove_ids(lambda id: id == 7) == 1
    assert flat.ntotal == 1986
    flat.update([0, 4], X[[1, 2]])
    assert (flat.reconstruct(0) == X[1]).all() and (flat.reconstruct(4) == X[2]).all()
    before = flat.to_bytes()
    for ids, error in [([0, 1], LookupError), ([0, 0], furrow.ArgumentError), ([0], ValueError)]:
        with pytest.raises(error):
            flat.update(ids, X[:2])
    assert flat.to_bytes() == before
    with pytest.raises(TypeError):
        flat.remove_ids(None)


def test_merge():
    trained = Index.build(X[:1000], nlist=8, m=4)
    part = Index.from_bytes(trained.to_bytes())
    part.remove_ids(slice(None))
    part.add_with_ids(X[1000:], np.arange(1000, 2000))
    whole = copy.copy(trained)
    whole.merge(part)
    assert whole.ntotal == 2000 and part.ntotal == 1000
    assert sorted(whole.ids) == list(range(2000))
    assert (whole.search(Q, 5, nprobe=8)[1] >= 1000).any()
    with pytest.raises(ValueError, match="both indexes have the id 1000: id_shift=2000 keeps"):
        whole.merge(part)
    whole.merge(part, id_shift=2000)
    assert whole.next_id == 4000
    whole.merge_from(part, 9000)
    assert whole.next_id == 11_000
    with pytest.raises(furrow.ArgumentError):
        whole.merge(Index.build(X, nlist=4, m=4), 50_000)
    with pytest.raises(TypeError):
        whole.merge(X)
    with pytest.raises(furrow.RangeError):
        whole.merge(part, 2**63 - 1)


def test_merging_an_index_with_itself(flat):
    with pytest.raises(ValueError, match="id_shift=2000"):
        flat.merge(flat)
    flat.merge(flat, 2000)
    assert flat.ntotal == 4000 and sorted(flat.ids) == list(range(4000))
    assert flat.search(X[3], 2)[1].tolist() == [[3, 2003]]
    refined = Index.build(X, nlist=4, m=4, refine_flat=True)
    refined.merge(refined)
    assert refined.next_id == 4000


# ---- Names


def test_names(tmp_path):
    index = Index.build(X[:100], names=names_for(0, 100), nlist=2, nprobe=2)
    assert index.search_names(X[5], 2)[1][0, 0] == "film 5"
    assert index.search_names(X[:3], 101)[1][:, 100].tolist() == [None] * 3
    assert index.search_names(Q, 1, filter=["film 3", "film 9"])[1].tolist() != []
    assert set(index.search(Q, 5, filter={"film 3", "film 9"})[1].ravel()) == {3, 9, -1}
    assert index.ids_of(["film 7", "film 2"]).tolist() == [7, 2]
    assert index.names_of([[7], [2]]).tolist() == [["film 7"], ["film 2"]]
    with pytest.raises(LookupError, match="'film 100'"):
        index.ids_of(["film 1", "film 100"])
    with pytest.raises(furrow.ArgumentError, match="need names"):
        index.add(X[:1])
    with pytest.raises(furrow.ExistsError):
        index.add(X[:2], names=["new", "film 3"])
    assert index.ntotal == 100
    assert index.add(X[100:102], names=["ünï", "新"]).tolist() == [100, 101]
    index.save(tmp_path / "films.index")
    loaded = Index.load(tmp_path / "films.index")
    assert loaded.names == index.names and loaded.names[101] == "新"
    assert Index.load(tmp_path / "films.index", names=False).names is None
    assert Index.verify(tmp_path / "films.index") == []
    with pytest.raises(FileExistsError):
        index.save(tmp_path / "films.index")


def test_names_follow_changes():
    index = Index.build(X[:100], names=names_for(0, 100), ids=np.arange(100) * 10, nlist=2, nprobe=2)
    assert index.remove_ids(["film 3"]) == 1 and 30 not in index.names
    with pytest.raises(LookupError):
        index.remove_ids(["film 3"])
    other = copy.deepcopy(index)
    other.remove_ids(slice(None))
    assert other.names == {}
    other.add_with_ids(X[:1], [5], names=["five"])
    index.merge(other)
    assert index.names[5] == "five" and len(index.names) == index.ntotal == 100
    with pytest.raises(furrow.ExistsError):
        index.merge(other, 100_000)
    unnamed = Index.from_bytes(other.to_bytes())
    with pytest.raises(furrow.ArgumentError, match="names"):
        index.merge(unnamed, 50_000)
    assert index.ntotal == 100
    dense = Index.build(X[:50], nlist=2, m=0, refine_flat=True, id_map=False, names=names_for(0, 50), nprobe=2)
    dense.remove_ids([0])
    assert dense.search(X[1], 1)[1].tolist() == [[0]] and dense.search_names(X[1], 1)[1].tolist() == [["film 1"]]


def test_an_id_map_keeps_ids_of_a_refined_index():
    index = Index.build(X, nlist=8, m=4, refine_flat=True, ids=np.arange(2000) + 500, nprobe=8, k_factor=50)
    assert index.kind == "custom ids for another index"
    assert index.search(X[3], 1)[1].tolist() == [[503]]
    index.remove_ids([500])
    assert index.search(X[3], 1)[1].tolist() == [[503]]
    assert index.add(X[:1]).tolist() == [2500]
    assert (index.reconstruct(503) == index.reconstruct_batch([503])[0]).all()


def test_names_that_are_refused():
    for names, error in [
        (["a"], ValueError),
        ("ab", TypeError),
        (["a", 5], ValueError),
        (["a", "a"], furrow.ExistsError),
        (["a", ""], furrow.ArgumentError),
        (["a", "b\0"], ValueError),
        (["a", "b\n"], furrow.ArgumentError),
        (["a", "\ud800"], UnicodeEncodeError),
    ]:
        with pytest.raises(error):
            Index.build(X[:2], names=names, nlist=1)


def test_set_names(flat):
    with pytest.raises(furrow.StateError, match="no names"):
        flat.search_names(Q, 1)
    flat.set_names(names_for(0, 2000))
    assert flat.search_names(X[9], 1)[1][0, 0] == "film 9"
    with pytest.raises(ValueError):
        flat.set_names(["one"])
    flat.set_names(None)
    assert flat.names is None


# ---- Files


def test_lists_are_saved_to_a_data_file(tmp_path):
    X = np.random.default_rng(3).standard_normal((500, 8)).astype(np.float32)
    index = Index.build(X, factory="IVF8,PQ4x4")
    index.save(tmp_path / "x.index", lists_file=tmp_path / "x.lists")
    apart = Index.load(tmp_path / "x.index", mmap=True)
    assert apart.to_bytes() == index.to_bytes()
    for ours, theirs in zip(apart.search(X[:9], 5), index.search(X[:9], 5), strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.raises(FileExistsError, match="never replaced"):
        index.save(tmp_path / "x.index", lists_file=tmp_path / "x.lists", overwrite=True)


def test_bytes_have_the_lists_but_no_names(flat, tmp_path):
    golden = Path(__file__).resolve().parents[2] / "tests" / "golden" / "faiss" / "v173_ivfpq_l2_ondisk"
    on_disk = Index.load(f"{golden}.index", lists=f"{golden}.ivfdata")
    data = on_disk.to_bytes()
    assert data != Path(f"{golden}.index").read_bytes() and len(data) > Path(f"{golden}.ivfdata").stat().st_size // 2
    assert (Index.from_bytes(data).ids == on_disk.ids).all()
    named = Index.from_bytes(flat.to_bytes())
    named.set_names([f"n{i}" for i in range(len(named))])
    assert named.to_bytes() == flat.to_bytes() and Index.from_bytes(named.to_bytes()).names is None
    assert pickle.loads(pickle.dumps(named)).names == named.names


def test_save_and_load(flat, tmp_path):
    path = tmp_path / "a.index"
    flat.save(path)
    assert path.read_bytes() == flat.to_bytes()
    for options in ({}, {"mmap": True}, {"search_only": True}):
        loaded = Index.load(str(path), **options)
        assert (loaded.search(Q, 5)[1] == flat.search(Q, 5)[1]).all()
    with pytest.raises(FileExistsError):
        flat.save(path)
    mapped = Index.load(path, mmap=True)
    mapped.add(X[:1])
    mapped.save(path, overwrite=True)
    assert Index.load(path).ntotal == 2001
    with pytest.raises(FileNotFoundError):
        Index.load(tmp_path / "missing")
    with pytest.raises(furrow.FormatError):
        Index.load(__file__)
    with pytest.raises(furrow.ArgumentError, match="compat|release"):
        flat.to_bytes(compat="9.9")


def test_saving_without_names_discards_old_ones(tmp_path):
    named = Index.build(X[:10], names=names_for(0, 10), nlist=1)
    named.save(tmp_path / "a")
    plain = Index.build(X[:10], nlist=1)
    with pytest.raises(FileExistsError):
        plain.save(tmp_path / "a")
    plain.save(tmp_path / "a", overwrite=True)
    assert Index.load(tmp_path / "a").names is None
    named.save(tmp_path / "b")
    (tmp_path / "b").unlink()
    with pytest.raises(FileExistsError, match="names"):
        plain.save(tmp_path / "b")
    assert (tmp_path / "b.names").exists()


def test_a_file_whose_name_is_a_dash(flat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flat.save("-")
    assert (tmp_path / "-").exists() and Index.load("-").ntotal == 2000


def test_pickle_and_copy():
    index = Index.build(X[:100], names=names_for(0, 100), ids=np.arange(100) * 3, nlist=2)
    for again in (pickle.loads(pickle.dumps(index)), copy.copy(index), copy.deepcopy(index)):
        assert again.to_bytes() == index.to_bytes() and again.names == index.names
        again.add(X[:1], names=["more"])
    assert index.ntotal == 100 and "more" not in index.names.values()
    empty = Index(16, "IVF4,PQ4")
    assert not pickle.loads(pickle.dumps(empty)).is_trained


def test_map_has_every_byte(flat, tmp_path):
    flat.save(tmp_path / "a")
    fields = Index.map(tmp_path / "a")
    at = 0
    for field in fields:
        assert field.offset == at
        at += field.size
    assert at == (tmp_path / "a").stat().st_size
    assert fields == Index.map(flat) == Index.map(flat.to_bytes())
    assert ("nlist", "8") in [(field.path, field.value) for field in fields]
    with pytest.raises(furrow.FormatError):
        Index.map(b"IwFl")
    with pytest.raises(FileNotFoundError):
        Index.verify(tmp_path / "b")


def test_bytes_that_are_not_an_index_are_refused(flat):
    small = Index.build(X[:40], nlist=2, m=4, nbits=4, opq=True, refine_flat=True, ids=np.arange(40))
    good = small.to_bytes()
    rng = np.random.default_rng(3)
    with pytest.raises(furrow.FormatError):
        Index.from_bytes(b"")
    for end in [*range(0, 64), *rng.integers(64, len(good), 200)]:
        with pytest.raises(furrow.Error):
            Index.from_bytes(good[:end])
    refused = 0
    for _ in range(2000):
        bad = bytearray(good)
        for at in rng.integers(0, len(good) if rng.random() < 0.3 else 700, rng.integers(1, 4)):
            bad[at] = rng.integers(256)
        try:
            index = Index.from_bytes(bytes(bad))
        except furrow.Error:
            refused += 1
            continue
        try:  # whatever is accepted can be used
            index.search(np.zeros((2, index.d), dtype=np.float32), 3)
            index.add(np.ones((1, index.d), dtype=np.float32))
        except furrow.Error:
            pass
    assert refused > 100
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            Index.from_bytes(wrong)


# ---- What it is


def test_properties(flat):
    index = Index.build(X, nlist=16, m=8, nbits=5, metric="ip")
    assert (index.d, index.ntotal, len(index), index.is_trained) == (16, 2000, 2000, True)
    assert (index.nlist, index.nprobe, index.m, index.nbits, index.metric) == (16, 1, 8, 5, "ip")
    assert repr(index) == (
        "furrow.Index(d=16, ntotal=2000, kind='inverted lists of product quantizer codes', metric='ip', nlist=16, "
        "nprobe=1, m=8, nbits=5)"
    )
    assert flat and Index(4, "IVF1,Flat")  # an empty index is not false
    with pytest.raises(AttributeError):
        index.nprob = 3  # a typing mistake does not go unnoticed
    with pytest.raises(TypeError):
        furrow._core.Index()


def test_exact_search_needs_the_same_dimension():
    with pytest.raises(ValueError):
        exact_search(X, Q[:, :3], 2)
    with pytest.raises(ValueError, match="truth has the shape"):
        Index.build(X).recall(Q, 5, truth=[[1]])
    with pytest.raises(ValueError, match="one of truth and base"):
        Index.build(X).recall(Q, 5)


def test_kmeans():
    rng = np.random.default_rng(3)
    middles = rng.normal(size=(5, 8)) * 20
    x = (np.repeat(middles, 40, axis=0) + rng.normal(size=(200, 8))).astype(np.float32)
    found = kmeans(x, 20, seed=7)
    squares = ((x[:, None, :] - found.centroids[None]) ** 2).sum(axis=2)
    assert (found.labels == squares.argmin(axis=1)).all()
    assert found.objective == pytest.approx(squares.min(axis=1).sum(), rel=1e-4)
    again = kmeans(x, 20, seed=7, threads=1)
    assert again.centroids.tobytes() == found.centroids.tobytes()
    assert again.objective == found.objective
    turned = kmeans(x, 5, spherical=True)
    assert np.linalg.norm(turned.centroids, axis=1) == pytest.approx(np.ones(5), rel=1e-5)
    assert (turned.labels == (x @ turned.centroids.T).argmax(axis=1)).all()
    with pytest.raises(ValueError, match="k is 201, but must be 1 to 200"):
        kmeans(x, 201)
    x[17, 3] = np.nan
    with pytest.raises(furrow.RangeError, match="vector 17 "):
        kmeans(x, 5)


@pytest.mark.parametrize("factory, options", [("L2norm,IVF32,Flat", {}), ("IVF32,Flat", {"metric": "cosine"})])
def test_recall_of_vectors_of_length_1(factory, options):
    rng = np.random.default_rng(5)
    x = (rng.normal(size=(3000, 1)) ** 2 * (rng.normal(size=(3000, 16)) + 1)).astype(np.float32)
    index = Index.build(x[100:], factory=factory, recall=0.9, **options)
    assert 1 < index.nprobe < 32
    assert index.recall(x[:100], 10, base=x[100:]) > 0.86


def test_recall_with_given_queries_and_out_of_reach():
    x = np.random.default_rng(6).normal(size=(2000, 16)).astype(np.float32)
    far = 5 * x[:50]
    index = Index.build(x, factory="IVF32,Flat", recall=0.9, queries=far)
    assert index.recall(far, 10, base=x) >= 0.9
    with pytest.raises(ValueError, match="queries"):
        Index.build(x, factory="IVF32,Flat", queries=far)
    with pytest.warns(UserWarning, match=r"searches find a share of 0\.\d+ at most"):
        Index.build(x, factory="PQ4x4", recall=0.9)


def test_load_vectors(tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.save(tmp_path / "x.npy", x)
    found, names = load_vectors(tmp_path / "x.npy")
    assert names is None and (found == x).all() and found.dtype == np.float32
    (tmp_path / "x.f32").write_bytes(x.tobytes())
    assert (load_vectors(tmp_path / "x.f32", d=3)[0] == x).all()
    lines = [" ".join(map(str, ["word" + str(i), *row])) for i, row in enumerate(x)]
    (tmp_path / "x.vec").write_text("4 3\n" + "\n".join(lines) + "\n")
    found, names = load_vectors(tmp_path / "x.vec")
    assert names == ["word0", "word1", "word2", "word3"] and (found == x).all()
    index = Index.build(found, names=names, factory="Flat")
    assert index.search_names(x[2:3], 1)[1].tolist() == [["word2"]]
    many = np.random.default_rng(1).normal(size=(9000, 2)).astype(np.float32)
    with gzip.open(tmp_path / "many.fvecs.gz", "wb") as out:  # their number is not known before the end
        out.write(np.hstack([np.full((9000, 1), 2, dtype=np.int32).view(np.float32), many]).tobytes())
    assert (load_vectors(tmp_path / "many.fvecs.gz")[0] == many).all()
    for write, path in ((np.savez, tmp_path / "x.npz"), (np.savez_compressed, tmp_path / "small.npz")):
        write(path, ids=np.arange(4), vectors=x, half=x.astype(np.float16))
        assert (load_vectors(path, array="vectors")[0] == x).all()
        assert (load_vectors(path, array="half")[0] == x).all()
        with pytest.raises(furrow.ArgumentError, match="half, vectors"):
            load_vectors(path)
    (tmp_path / "empty.csv").write_text("")
    assert load_vectors(tmp_path / "empty.csv")[0].shape == (0, 0)
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    with pytest.raises(furrow.ParseError, match="is not a number") as caught:
        load_vectors(tmp_path / "bad.csv")
    assert caught.value.line == 2
    with pytest.raises(furrow.ArgumentError):
        load_vectors(tmp_path / "x.vec", kind="word2vec")


def test_import_takes_numpy_alone():
    others = ("scipy", "pandas", "sklearn", "tqdm", "faiss")
    code = f"import sys, furrow.index; print([m for m in {others} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_filter_looks_at_the_lists_that_are_probed():
    """Fewer results than ids that are kept, with -1 for the rest, unless all lists are probed."""
    index = Index.build(X, nlist=16, m=0)
    kept = np.arange(0, 2000, 100)
    few = index.search(Q, 20, filter=kept)[1]
    assert (few[:, -1] == -1).all() and np.isin(few, [-1, *kept]).all()
    assert (np.sort(index.search(Q, 20, filter=kept, nprobe=index.nlist)[1], axis=1) == kept).all()


@pytest.mark.parametrize("mask", [np.ones(2000, int), np.arange(2000) % 2, np.zeros(2000, np.uint8), [1, 0] * 1000])
def test_a_mask_of_integers_is_refused(flat, mask):
    for use in (
        lambda: flat.search(Q, 3, filter=mask),
        lambda: flat.search(Q, 3, exclude=mask),
        lambda: flat.range_search(Q, 1.0, filter=mask),
        lambda: flat.remove_ids(mask),
    ):
        with pytest.raises(TypeError, match="looks like a mask.*bool"):
            use()
    assert len(flat) == 2000
    assert (flat.search(Q, 3, filter=np.ones(2000, bool))[1] >= 0).all()
    assert np.isin(flat.search(Q, 3, filter=[0, 1, 1, 0])[1], [-1, 0, 1]).all()  # ids, some of them twice
    assert sorted(Index.build(X[:2], nlist=1, m=0).search(X[0], 2, filter=[0, 1])[1][0]) == [0, 1]


@pytest.fixture
def duckdb(monkeypatch):
    """Runs SQL in a database of DuckDB in memory, by its C interface."""
    build = Path(os.environ.get("FURROW_BUILD", "build"))
    path = os.environ.get("FURROW_DUCKDB", build / "duckdb" / "libduckdb.so")
    if not os.path.exists(path):
        pytest.skip("DuckDB's library is not there")
    monkeypatch.setenv("FURROW_DUCKDB", str(path))
    library = ctypes.CDLL(str(path))
    database, connection = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.duckdb_open(None, ctypes.byref(database)) == 0
    assert library.duckdb_connect(database, ctypes.byref(connection)) == 0

    def run(sql):
        assert library.duckdb_query(connection, sql.encode(), None) == 0

    yield run
    library.duckdb_disconnect(ctypes.byref(connection))
    library.duckdb_close(ctypes.byref(database))


def test_load_vectors_of_parquet(tmp_path, duckdb):
    path = tmp_path / "x.parquet"
    rows = "SELECT 'n' || i AS name, [i, i + 0.5]::FLOAT[] AS x, [i]::DOUBLE[] AS y FROM range(3) t(i)"
    duckdb(f"COPY ({rows}) TO '{path}'")
    found, names = load_vectors(path, column="x", names="name")
    assert found.tolist() == [[0, 0.5], [1, 1.5], [2, 2.5]] and names == ["n0", "n1", "n2"]
    assert load_vectors(str(tmp_path / "*.parquet"), column="y")[0].tolist() == [[0], [1], [2]]
    assert load_vectors(tmp_path, kind="parquet", column="y")[1] is None
    with pytest.raises(furrow.ArgumentError, match="x, y"):
        load_vectors(path)
    with pytest.raises(furrow.ArgumentError, match="has no named columns"):
        load_vectors(tmp_path / "x.npy", column="x")
