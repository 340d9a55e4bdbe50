"""Arrays of all forms give the result of plain float32 in C order, or are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import furrow
from furrow.index import Index

D = 6
X = np.random.default_rng(2).integers(-50, 50, size=(300, D)).astype(np.float32)
INDEX = Index.build(X, nlist=4, m=0, nprobe=4)

DTYPES = ["f4", "f8", "f2", ">f4", ">f8", "i1", "i2", "i4", "i8", ">i4", ">i8", "g"]
LAYOUTS = ["C", "F", "every second row", "every second column", "reversed", "read-only", "transposed", "list", "tuple",
           "unaligned", "subclass", "buffer", "dlpack"]  # fmt: skip


class Subclass(np.ndarray):
    pass


def lay_out(table, layout):
    """The same numbers in another layout."""
    if layout == "F":
        return np.asfortranarray(table)
    if layout == "every second row":
        return np.repeat(table, 2, axis=0)[::2]
    if layout == "every second column":
        return np.repeat(table, 2, axis=1)[:, ::2]
    if layout == "reversed":
        return np.ascontiguousarray(table[::-1, ::-1])[::-1, ::-1]
    if layout == "transposed":
        return np.ascontiguousarray(table.T).T
    if layout == "unaligned":
        raw = np.zeros(table.nbytes + 1, dtype=np.uint8)
        raw[1:] = np.frombuffer(table.tobytes(), dtype=np.uint8)
        return raw[1:].view(table.dtype).reshape(table.shape)
    if layout == "subclass":
        return table.view(Subclass)
    if layout in ("list", "tuple"):
        rows = table.tolist()
        return rows if layout == "list" else tuple(tuple(row) for row in rows)
    table = table.copy()
    table.flags.writeable = layout != "read-only"
    if layout == "buffer" and table.dtype.isnative and table.dtype.char not in "ge" and table.size:
        return memoryview(table)
    return table


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(-100, 100), min_size=D, max_size=D), min_size=1, max_size=70),
    dtype=st.sampled_from(DTYPES),
    layout=st.sampled_from(LAYOUTS),
    k=st.integers(1, 5),
)
def test_search_does_not_depend_on_the_form(rows, dtype, layout, k):
    plain = np.array(rows, dtype=np.float32)
    distances, ids = INDEX.search(lay_out(np.array(rows, dtype=dtype), layout), k)
    expected = INDEX.search(plain, k)
    assert (distances == expected[0]).all() and (ids == expected[1]).all()
    assert ids.shape == distances.shape == (len(rows), k)


@settings(max_examples=50, deadline=None)
@given(dtype=st.sampled_from(DTYPES), layout=st.sampled_from(LAYOUTS), n=st.integers(0, 40))
def test_adding_does_not_depend_on_the_form(dtype, layout, n):
    table = np.random.default_rng(n).integers(-100, 100, size=(n, D))
    plain, other = Index.from_bytes(INDEX.to_bytes()), Index.from_bytes(INDEX.to_bytes())
    if layout in ("list", "tuple") and n == 0:
        layout = "C"
    assert plain.add(table.astype(np.float32)).tolist() == other.add(lay_out(table.astype(dtype), layout)).tolist()
    assert plain.to_bytes() == other.to_bytes()


@settings(max_examples=50, deadline=None)
@given(
    ids=st.lists(st.integers(0, 2**63 - 2), min_size=1, max_size=9, unique=True),
    form=st.sampled_from(["i8", "u8", ">i8", "list"]),
)
def test_ids_do_not_depend_on_the_form(ids, form):
    index = Index.from_bytes(INDEX.to_bytes())
    index.remove_ids(slice(None))
    index.add_with_ids(X[: len(ids)], ids if form == "list" else np.array(ids, dtype=form))
    assert sorted(index.ids.tolist()) == sorted(ids)
    assert index.search(X[0], 1, filter=[ids[0]])[1].tolist() == [[ids[0]]]
    assert index.remove_ids(np.array(ids, dtype=np.uint64)) == len(ids) and len(index) == 0


def test_a_borrowed_array_is_not_changed():
    queries = X[:5].copy()
    queries.flags.writeable = False
    before = queries.copy()
    INDEX.search(queries, 3)
    assert (queries == before).all()


@pytest.mark.parametrize("shape", [(0, D), (1, D), (D,)])
def test_shapes_that_are_accepted(shape):
    distances, ids = INDEX.search(np.zeros(shape, dtype=np.float32), 2)
    assert ids.shape == distances.shape == (0 if shape[0] == 0 else 1, 2)


@pytest.mark.parametrize("shape", [(), (0,), (D + 1,), (3, D - 1), (1, 1, D), (D, 0), (0, 0)])
def test_shapes_that_are_refused(shape):
    for call in (lambda x: INDEX.search(x, 1), lambda x: INDEX.add(x), lambda x: INDEX.range_search(x, 1.0)):
        with pytest.raises(ValueError, match="shape|dimensions"):
            call(np.zeros(shape, dtype=np.float32))


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, D), dtype=complex), np.zeros((2, D), dtype="U1"), np.zeros((2, D), dtype="S1"),
              np.zeros((2, D), dtype=object), np.zeros((2, D), dtype="M8[s]"), np.zeros(2, dtype=[("a", "f4", D)]),
              [["a"] * D], None, "text", b"bytes", {}, object(), [[None] * D],
              np.ma.masked_equal(np.zeros((2, D)), 0)]
)  # fmt: skip
def test_types_that_are_refused(wrong):
    for call in (lambda x: INDEX.search(x, 1), lambda x: INDEX.add(x), lambda x: INDEX.train(x)):
        with pytest.raises(TypeError):
            call(wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e30])
def test_numbers_that_are_refused(value):
    """1e300 is not a float32, and the square of 1e30 is not one either."""
    bad = np.zeros((80, D))
    bad[70, 3] = value
    before = INDEX.to_bytes()
    for call in (lambda x: INDEX.search(x, 1), lambda x: INDEX.add(x), lambda x: INDEX.range_search(x, 1.0)):
        with pytest.raises(furrow.RangeError, match="70|query"):
            call(bad)
    assert INDEX.to_bytes() == before


def test_queries_of_a_large_batch_are_named_by_their_row():
    bad = np.zeros((5000, D), dtype=np.float32)
    bad[4321, 0] = np.nan
    with pytest.raises(furrow.RangeError, match="query 4321 has a NaN"):
        INDEX.search(bad, 1)
    with pytest.raises(furrow.RangeError, match="query 4321 has a NaN"):
        INDEX.range_search(bad, 1.0)


def test_frames_and_tensors():
    expected = INDEX.search(X[:3], 2)[1]
    pandas = pytest.importorskip("pandas")
    assert (INDEX.search(pandas.DataFrame(X[:3]), 2)[1] == expected).all()
    torch = pytest.importorskip("torch")
    assert (INDEX.search(torch.from_numpy(X[:3].copy()), 2)[1] == expected).all()
    scipy = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError):
        INDEX.search(scipy.csr_matrix(X[:3]), 2)


def test_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(X)
    for call in (Index.build, INDEX.add, lambda x: INDEX.search(x, 1)):
        with pytest.raises(TypeError, match=r"dense vectors are needed.*toarray\(\)"):
            call(sparse)


def test_frames_are_vectors():
    """Also those whose columns have several types, or types of pandas' own."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"v{i}" for i in range(D)])
    mixed = frame.astype({"v0": np.float64, "v1": "Float32"})
    expected = INDEX.search(X[:20], 3)[1]
    for table in (frame, mixed):
        assert (INDEX.search(table[:20], 3)[1] == expected).all()
        assert Index.build(table, nlist=4, m=0).to_bytes() == Index.build(X, nlist=4, m=0).to_bytes()
    with pytest.raises(TypeError, match="column 'name'"):
        INDEX.search(frame.assign(name="a"), 3)
    with pytest.raises(ValueError):
        INDEX.search(mixed.astype({"v1": "Float32"}).mask(mixed > 0), 3)


def test_arrow_tables_are_vectors():
    from arrow_producer import Table

    names = [f"v{i}" for i in range(D)]
    table = Table(dict.fromkeys(names, "float32"), [dict(zip(names, X[:20].T.tolist()))])
    assert (INDEX.search(table, 3)[1] == INDEX.search(X[:20], 3)[1]).all()


def test_vectors_that_are_not_aligned() -> None:
    plain = np.arange(5 * D, dtype=np.float32).reshape(5, D)
    shifted = lay_out(plain, "unaligned")
    assert shifted.flags.c_contiguous and not shifted.flags.aligned
    for ours, expected in zip(INDEX.search(shifted, 3), INDEX.search(plain, 3)):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(ValueError, match="not aligned"):
        INDEX._index.search(shifted, np.empty((5, 3), np.float32), np.empty((5, 3), np.int64), 1, 0)
