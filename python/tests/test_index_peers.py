"""Faiss reads what Furrow writes and the other way round, with the same results; hnswlib finds the same neighbours."""

import re

import numpy as np
import pytest

import furrow
from furrow.index import Index, exact_search

faiss = pytest.importorskip("faiss")
faiss.omp_set_num_threads(1)  # its threads wait for each other in loops, which takes minutes on a busy machine

RNG = np.random.default_rng(11)
D = 32
X = (RNG.normal(size=(3000, 6)) @ RNG.normal(size=(6, D)) + 0.3 * RNG.normal(size=(3000, D))).astype(np.float32)
Q = X[RNG.integers(0, 3000, 60)] + 0.1 * RNG.normal(size=(60, D)).astype(np.float32)

METRICS = {"l2": faiss.METRIC_L2, "ip": faiss.METRIC_INNER_PRODUCT}
STRINGS = ["IVF16,Flat", "IVF16,PQ8", "IVF16,PQ8x4", "IVF16,PQ4x6", "IVF16_HNSW8,PQ8", "OPQ8_16,IVF16,PQ8",
           "L2norm,IVF16,PQ8", "IVF16,PQ8,RFlat", "IVF16,PQ8+8", "IDMap,IVF16,PQ8,RFlat"]  # fmt: skip


def faiss_bytes(index):
    return faiss.serialize_index(index).tobytes()


def without_permutation(text):
    """Faiss reorders centroids of the codes that lists store, for a use that Furrow does not have; it takes seconds."""
    return re.sub(r"(?<!O)(PQ\d+(x\d+)?)(?![\d+x])", r"\1np", text)


def from_furrow(index):
    return faiss.deserialize_index(np.frombuffer(index.to_bytes(), dtype=np.uint8))


def set_nprobe(index, nprobe):
    faiss.extract_index_ivf(index).nprobe = nprobe


def assert_same_results(a, b):
    """Distances agree, and so do ids except among vectors that are about as near."""
    (distances, ids), (other_distances, other_ids) = a, b
    assert ids.shape == other_ids.shape and ids.dtype == other_ids.dtype and distances.dtype == other_distances.dtype
    assert ((ids == -1) == (other_ids == -1)).all()
    found = ids >= 0
    scale = np.abs(other_distances[found]).max() + 1
    assert np.abs(distances[found] - other_distances[found]).max() < 1e-4 * scale
    assert (ids == other_ids).mean() > 0.98


@pytest.mark.parametrize("text", STRINGS)
@pytest.mark.parametrize("metric", METRICS)
def test_faiss_reads_what_furrow_builds(text, metric):
    if "+" in text and metric == "ip":
        pytest.skip("the refinement of PQ8+8 is for L2")
    index = Index(D, text, metric)
    index.train(X)
    if "IDMap" in text:
        index.add_with_ids(X, np.arange(3000) + 7000)
    else:
        index.add(X)
    index.nprobe = 6
    peer = from_furrow(index)
    assert (peer.ntotal, peer.d, peer.is_trained) == (3000, D, True)
    assert faiss_bytes(peer) == index.to_bytes()
    assert_same_results(index.search(Q, 10), peer.search(Q, 10))


@pytest.mark.parametrize("text", [*STRINGS, "Flat", "PQ8", "HNSW16", "IVF16,SQ8", "IDMap,Flat", "PCA16,IVF8,Flat"])
@pytest.mark.parametrize("metric", METRICS)
def test_furrow_reads_what_faiss_builds(text, metric, tmp_path):
    if "+" in text and metric == "ip":
        pytest.skip("the refinement of PQ8+8 is for L2")
    inner = faiss.index_factory(D, without_permutation(text.removeprefix("IDMap,")), METRICS[metric])
    if "OPQ" in text:
        rotation = faiss.downcast_VectorTransform(inner.chain.at(0))
        rotation.niter, rotation.niter_pq_0 = 2, 4  # by default it takes 20 seconds
    inner.train(X)
    if "IVF" in text and "RFlat" not in text:
        set_nprobe(inner, 5)
    peer = faiss.IndexIDMap(inner) if "IDMap" in text else inner
    if "IDMap" in text:
        peer.add_with_ids(X, np.arange(3000) + 7000)
    else:
        peer.add(X)
    faiss.write_index(peer, str(tmp_path / "a"))
    index = Index.load(tmp_path / "a")
    known = "cosine" if metric == "ip" and "L2norm" in text else metric
    assert (index.ntotal, index.d, index.metric) == (3000, D, known)
    assert index.to_bytes() == (tmp_path / "a").read_bytes()
    if text.startswith("HNSW"):  # a search through the graph is approximate in both
        same = [np.intersect1d(a, b).size / 10 for a, b in zip(index.search(Q, 10)[1], peer.search(Q, 10)[1])]
        assert np.mean(same) > 0.95
        return
    assert_same_results(index.search(Q, 10), peer.search(Q, 10))
    if text in ("IVF16,Flat", "IVF16,PQ8", "Flat"):
        radius = float(np.median(index.search(Q, 10)[0]))
        lims, distances, ids = index.range_search(Q, radius)
        peer_lims, peer_distances, peer_ids = peer.range_search(Q, radius)
        assert abs(int(lims[-1]) - int(peer_lims[-1])) <= 3
        for i in range(len(Q)):
            mine, theirs = ids[lims[i] : lims[i + 1]], peer_ids[peer_lims[i] : peer_lims[i + 1]]
            assert len(np.setxor1d(mine, theirs)) <= 2


def test_changes_are_those_of_faiss():
    index = Index.build(X, nlist=16, m=8)
    peer = from_furrow(index)
    extra = RNG.normal(size=(100, D)).astype(np.float32)
    index.add(extra)
    peer.add(extra)
    assert faiss_bytes(peer) == index.to_bytes()
    index.add_with_ids(extra, np.arange(100) + 90_000)
    peer.add_with_ids(extra, np.arange(100) + 90_000)
    assert index.remove_ids(np.arange(0, 500, 3)) == peer.remove_ids(np.arange(0, 500, 3))
    assert faiss_bytes(peer) == index.to_bytes()
    index.set_direct_map("hash")
    assert np.allclose(index.reconstruct(90_007), from_furrow_reconstruct(index, 90_007), atol=1e-5)


def from_furrow_reconstruct(index, id):
    peer = from_furrow(index)
    faiss.extract_index_ivf(peer).set_direct_map_type(faiss.DirectMap.Hashtable)
    return peer.reconstruct(id)


def test_merging_is_that_of_faiss():
    trained = Index.build(X[:1500], nlist=16, m=8)
    other = Index.from_bytes(trained.to_bytes())
    other.remove_ids(slice(None))
    other.add(X[1500:])
    peer, peer_other = from_furrow(trained), from_furrow(other)
    peer.merge_from(peer_other, 1500)
    trained.merge(other, 1500)
    assert faiss_bytes(peer) == trained.to_bytes()


def test_filters_are_those_of_faiss():
    index = Index.build(X, nlist=16, m=0, nprobe=16)
    peer = from_furrow(index)
    kept = np.arange(0, 3000, 5)
    params = faiss.SearchParametersIVF(nprobe=16, sel=faiss.IDSelectorBatch(kept))
    assert_same_results(index.search(Q, 10, filter=kept), peer.search(Q, 10, params=params))


def test_the_reconstruction_is_that_of_faiss():
    index = Index.build(X, nlist=16, m=8, opq=True)
    peer = from_furrow(index)
    faiss.extract_index_ivf(peer).make_direct_map()
    assert np.allclose(index.reconstruct_n(0, 200), peer.reconstruct_n(0, 200), atol=1e-4)


def test_exact_search_is_that_of_faiss():
    assert_same_results(exact_search(X, Q, 10), faiss.knn(Q, X, 10))


def test_recall_is_as_good_as_that_of_faiss():
    truth = exact_search(X, Q, 10)[1]
    peer = faiss.index_factory(D, "IVF16,PQ8np")
    peer.train(X)
    peer.add(X)
    set_nprobe(peer, 8)
    found = peer.search(Q, 10)[1]
    theirs = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found, truth)])
    assert Index.build(X, nlist=16, m=8).recall(Q, 10, truth=truth, nprobe=8) > theirs - 0.05


def test_neighbours_are_those_of_hnswlib():
    hnswlib = pytest.importorskip("hnswlib")
    graph = hnswlib.Index(space="l2", dim=D)
    graph.init_index(max_elements=len(X), ef_construction=200, M=16, random_seed=1)
    graph.add_items(X)
    graph.set_ef(200)
    labels = graph.knn_query(Q, k=10)[0].astype(np.int64)
    assert Index.build(X).recall(Q, 10, truth=labels, nprobe=32) > 0.95


def test_a_kind_that_furrow_does_not_read_is_named():
    peer = faiss.index_factory(D, "LSH")
    peer.train(X)
    with pytest.raises(furrow.UnsupportedError):
        Index.from_bytes(faiss_bytes(peer))
