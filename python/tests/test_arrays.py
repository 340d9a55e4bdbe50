"""Arrays as rows: whatever NumPy can make gives the same rows as its plain copy, or a clear error."""

import array
import gc
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import furrow
from furrow import _core
from furrow._arrays import as_array, as_floats, as_ids, as_vectors
from furrow._data import open_rows
from furrow.rows import read_rows


def table_of(data, **columns):
    """What the library reads of data."""
    with open_rows(data, **columns) as source:
        rows = read_rows(source.uri).load()
        return rows.to_numpy(source.features, missing=True)


DTYPES = "f2 f4 f8 >f4 >f8 <f4 i1 u1 i2 >i2 u2 i4 >u4 i8 u8 ? longdouble".split()


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind == "f":
        return st.one_of(st.integers(-1000, 1000).map(lambda i: i / 8), st.just(float("nan")))
    return st.booleans() if kind == "b" else st.integers(0, 100)


@st.composite
def tables(draw):
    """Tables of any type, order of bytes, strides, offset and number of rows and columns, 0 among them."""
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))
    whole = draw(hnp.arrays(dtype, shape, elements=elements(dtype)))
    if draw(st.booleans()):
        whole = np.asfortranarray(whole)
    rows = slice(draw(st.integers(0, 3)), None, draw(st.sampled_from([1, 2, -1, -2])))
    columns = slice(draw(st.integers(0, 3)), None, draw(st.sampled_from([1, 2, -1])))
    part = whole[rows, columns]
    if draw(st.booleans()):
        part = part.view()
        part.flags.writeable = False
    return part


@given(tables())
@settings(max_examples=50, deadline=None)
def test_tables_of_any_layout(table):
    with np.errstate(all="ignore"):
        expected = np.array(table, dtype=np.float32)
    found = table_of(table)
    assert found.shape == expected.shape
    assert np.array_equal(found, expected, equal_nan=True)


@given(tables(), st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr"]), st.booleans())
@settings(max_examples=50, deadline=None)
def test_sparse_matrices_of_any_format(table, format, wide):
    if table.dtype.kind == "f" and table.dtype.itemsize not in (4, 8) or not table.dtype.isnative or 0 in table.shape:
        table = np.ones((2, 3))
    table = np.nan_to_num(np.array(table))
    matrix = sp.csr_matrix(table).asformat(format)
    if format == "csr" and wide:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    found = np.nan_to_num(table_of(matrix))
    assert np.array_equal(found, table.astype(np.float32))


def test_arrays_that_overlap_themselves():
    row = np.arange(4, dtype=np.float32)
    assert np.array_equal(table_of(np.broadcast_to(row, (5, 4))), np.tile(row, (5, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(9, dtype=np.float64), 4)
    assert np.array_equal(table_of(windows), windows)


def test_arrays_that_are_not_aligned():
    raw = np.frombuffer(b"x" + np.arange(6, dtype=np.float32).tobytes(), np.uint8)[1:]
    table = raw.view(np.float32).reshape(2, 3)
    assert not table.flags.aligned
    assert np.array_equal(table_of(table), [[0, 1, 2], [3, 4, 5]])
    records = np.zeros(3, np.dtype([("a", "u1"), ("x", "f4", (2,))], align=False))
    records["x"] = [[1, 2], [3, 4], [5, 6]]
    assert np.array_equal(table_of(records["x"]), records["x"])


def test_core_refuses_what_it_cannot_read():
    for table in (np.broadcast_to(np.float32([1, 2]), (3, 2)), np.zeros((4, 4), np.float32)[:, ::2], np.zeros(3, "f4")):
        with pytest.raises((ValueError, TypeError)):
            _core.add_table("memory://refused", table, None, None, None, False)
    with pytest.raises(ValueError, match="labels has 2 elements"):
        _core.add_table("memory://refused", np.zeros((3, 2), "f4"), np.zeros(2, "f4"), None, None, False)


def test_buffers_and_tensors():
    assert np.array_equal(table_of(memoryview(np.eye(2))), np.eye(2))
    torch = pytest.importorskip("torch")
    assert np.array_equal(table_of(torch.eye(3)), np.eye(3))

    class Tensor:  # DLPack alone
        def __init__(self, of):
            self.of = of

        def __dlpack__(self, **options):
            return self.of.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.of.__dlpack_device__()

    assert np.array_equal(table_of(Tensor(np.eye(3))), np.eye(3))
    assert as_floats(array.array("d", [1, 2]), "x").tolist() == [1, 2]


def test_masked_values_are_missing():
    masked = np.ma.masked_equal([[1, 2], [3, 1]], 1)
    assert np.array_equal(table_of(masked), [[np.nan, 2], [3, np.nan]], equal_nan=True)
    with pytest.raises(ValueError, match="NaN"):
        open_rows(masked, missing=False)
    rows = list(np.ma.masked_equal([[1.0, 2], [3, 1]], 1))  # NumPy drops the masks of a list
    assert np.array_equal(table_of(rows), [[np.nan, 2], [3, np.nan]], equal_nan=True)
    with pytest.raises(TypeError, match="masked"):
        as_array(["a", np.ma.masked])


def test_masks_are_refused_where_nothing_can_be_missing(tmp_path):
    x = np.random.default_rng(1).normal(size=(100, 4)).astype(np.float32)
    some = np.ma.array(x, mask=x > 1)
    ids = np.ma.array([1, 2], mask=[False, True])
    index = furrow.Index(4, "IVF1,Flat")
    index.train(x)
    index.add(x)
    index.set_names([f"n{i}" for i in range(100)])
    for call in (
        lambda: index.add(some),
        lambda: index.search(list(some), 3),
        lambda: index.reconstruct_batch(ids),
        lambda: index.names_of(ids),
        lambda: index.remove_ids(ids),
        lambda: index.search(x[:1], 3, filter=np.ma.array(np.ones(100, bool), mask=x[:, 0] > 0)),
        lambda: index.recall(x[:1], truth=ids[None], k=2),
        lambda: furrow.save_matrix(tmp_path / "m", some),
        lambda: furrow.save_matrix(tmp_path / "m", list(some)),
    ):
        with pytest.raises(TypeError, match="masked|integers|ids are needed"):
            call()
    assert len(index) == 100
    y, no = x[:, 0] > 0, np.ma.array(np.ones(100), mask=x[:, 1] > 0)
    model = furrow.Classifier("lr").fit(x, y)
    for call in (
        lambda: furrow.Classifier("lr").fit(x, np.ma.array(y, mask=no.mask)),
        lambda: furrow.Classifier("lr").fit(x, y, sample_weight=no),
        lambda: model.score(x, np.ma.array(y, mask=no.mask)),
        lambda: model.score(x, y, sample_weight=no),
        lambda: model.predict(list(some)),
    ):
        with pytest.raises(ValueError, match="NaN"):
            call()


@pytest.mark.parametrize(
    "wrong, error",
    [
        (np.zeros(3), ValueError),
        (np.zeros((2, 2, 2)), ValueError),
        (np.float32(1), ValueError),
        (np.zeros((2, 2), complex), TypeError),
        (np.array([["a", "b"]]), TypeError),
        (np.array([[1, None]], object), TypeError),
        (np.zeros((2, 2), "M8[s]"), TypeError),
        (np.zeros((2, 2), [("a", "f4")]), TypeError),
        (np.array([[1.0, np.inf]]), ValueError),
        (np.array([[1.0, -np.inf]], np.float32), ValueError),
        (np.array([[1.0, 1e300]]), ValueError),
        (np.array([[-1e300, np.nan]]), ValueError),
        (sp.csr_matrix([[1.0, np.inf]]), ValueError),
        (sp.csr_matrix([[1.0, 1e300]]), ValueError),
        (sp.csr_matrix([[1j, 2]]), TypeError),
        (None, (ValueError, TypeError)),
        (object(), (ValueError, TypeError)),
        ([[1, 2], [3]], (ValueError, TypeError)),
        (7, ValueError),
        (b"bytes", (ValueError, TypeError)),
    ],
)
def test_what_is_refused(wrong, error):
    with pytest.raises(error):
        open_rows(wrong)


def test_infinities_are_named():
    table = np.zeros((3, 4))
    table[2, 1] = np.inf
    with pytest.raises(ValueError, match="row 2, column 1"):
        open_rows(table)


@pytest.mark.parametrize("name", ["labels", "weights", "qids"])
@pytest.mark.parametrize(
    "column, error",
    [
        ([1, 2], ValueError),
        ([[1, 2, 3]], ValueError),
        (["a", "b", "c"], TypeError),
        ([1, float("nan"), 2], ValueError),
        ([1, float("inf"), 2], ValueError),
        ([1j, 2, 3], TypeError),
        (3, ValueError),
    ],
)
def test_columns_that_are_refused(name, column, error):
    with pytest.raises(error):
        open_rows(np.zeros((3, 2)), **{name: column})


def test_queries():
    for wrong in ([-1, 2, 3], [0.5, 1, 2], [2.0**64, 1, 2]):
        with pytest.raises(ValueError, match="qid"):
            open_rows(np.zeros((3, 2)), qids=wrong)
    with open_rows(np.zeros((3, 2)), qids=np.array([2**64 - 1, 1, 1], np.uint64)) as source:
        assert read_rows(source.uri).qids.tolist() == [2**64 - 1, 1, 1]
    with open_rows(np.zeros((2, 1)), qids=[3.0, 4.0], labels=[[1], [0]], weights=[True, False]) as source:
        rows = read_rows(source.uri)
        assert rows.qids.tolist() == [3, 4] and rows.labels.tolist() == [1, 0] and rows.weights.tolist() == [1, 0]


# ---- sparse matrices


def broken(**changes):
    matrix = sp.csr_matrix(np.eye(4, dtype=np.float32))
    for name, value in changes.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([0, -1, 2, 3], np.int32)},
        {"indices": np.array([0, 4, 2, 3], np.int32)},
        {"indices": np.array([0, 2**31 - 1, 2, 3], np.int32)},
        {"indices": np.array([0, 2**40, 2, 3])},
        {"indices": np.array([0, -(2**63), 2, 3])},
        {"indices": np.array([0.0, 1, 2, 3])},
        {"indptr": np.array([0, 2, 1, 3, 4], np.int32)},
        {"indptr": np.array([0, 1, 2, 3, 5], np.int32)},
        {"indptr": np.array([0, 1, 2, 3, 2**40])},
        {"indptr": np.array([-1, 1, 2, 3, 4], np.int32)},
        {"indptr": np.array([0, 1, 2, 3], np.int32)},
        {"indptr": np.array([1, 1, 2, 3, 4], np.int32)},
        {"indptr": np.array([], np.int32)},
        {"data": np.ones(3, np.float32)},
        {"data": np.ones((4, 1), np.float32)},
    ],
)
def test_broken_matrices_never_crash(changes):
    with pytest.raises((ValueError, TypeError, IndexError)):
        open_rows(broken(**changes))


def test_broken_arrays_in_the_core():
    zeros = np.zeros(4, np.uint32)
    for indptr in ([], [0, 2, 1, 4], [0, 5], [2**63, 4], [0, 2**64 - 1]):
        with pytest.raises(ValueError):
            _core.add_rows("memory://refused", np.array(indptr, np.uint64), zeros, None, None, None, None, None, False)
    with pytest.raises(TypeError):
        _core.add_rows("memory://refused", np.array([0, 4], np.uint64), zeros, None, None, None, None, None, True)


def test_entries_of_one_place_are_added_up():
    matrix = sp.csr_matrix((np.float32([1, 2, 4, 8]), [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    found = np.nan_to_num(table_of(matrix))
    assert np.array_equal(found, matrix.toarray()) and found[0, 2] == 5
    assert matrix.indices.tolist() == [2, 0, 2, 1]  # of the caller's matrix nothing has changed


def test_explicit_zeros_and_spare_memory():
    matrix = sp.csr_matrix((np.float32([1, 0, 9, 9]), np.int32([0, 1, 0, 0]), np.int32([0, 2])), shape=(1, 2))
    assert matrix.indptr[-1] == 2
    assert np.array_equal(table_of(matrix), [[1, 0]])


def test_csr_is_borrowed():
    matrix = sp.random(50, 20, 0.3, "csr", dtype=np.float32, random_state=0)
    before = sys.getrefcount(matrix.data), sys.getrefcount(matrix.indices)
    source = open_rows(matrix)
    assert sys.getrefcount(matrix.data) > before[0] and sys.getrefcount(matrix.indices) > before[1]
    source.close()
    assert (sys.getrefcount(matrix.data), sys.getrefcount(matrix.indices)) == before


# ---- release


def test_arrays_are_free_after_close():
    table = np.zeros((10, 3), np.float32)
    labels = np.zeros(10, np.float32)
    source = open_rows(table, labels=labels)
    with pytest.raises(ValueError):  # the buffer is in use
        labels.resize(20)
    uri = source.uri
    source.close()
    source.close()
    labels.resize(20, refcheck=False)
    with pytest.raises(_core.NotFoundError):
        read_rows(uri)
    alive = weakref.ref(table)
    del table
    gc.collect()
    assert alive() is None


def test_a_reader_keeps_the_arrays():
    table = np.arange(300_000, dtype=np.float32).reshape(-1, 3)
    alive = weakref.ref(table)
    source = open_rows(table)
    blocks = iter(read_rows(source.uri))
    first = next(blocks)
    source.close()
    del table
    gc.collect()
    assert alive() is not None
    total = len(first) + sum(len(block) for block in blocks)
    assert total == 100_000
    del blocks
    gc.collect()
    assert alive() is None
    assert first.values[:3].tolist() == [0, 1, 2]


def test_a_source_that_is_dropped_is_closed():
    table = np.zeros((3, 3), np.float32)
    alive = weakref.ref(table)
    open_rows(table)
    del table
    gc.collect()
    assert alive() is None


# ---- the small conversions


def test_as_vectors():
    assert as_vectors([1, 2, 3], 3).shape == (1, 3)
    assert as_vectors(np.zeros((4, 3)), 3).dtype == np.float32
    for wrong in (np.zeros((4, 2)), np.zeros(4), np.zeros((1, 1, 3))):
        with pytest.raises(ValueError):
            as_vectors(wrong, 3)
    plain = np.zeros((2, 3), np.float32)
    assert as_vectors(plain, 3) is plain or np.shares_memory(as_vectors(plain, 3), plain)


def test_as_ids():
    assert as_ids(np.array([1, 2], ">i2"), 2).tolist() == [1, 2]
    assert as_ids([], 0).dtype == np.int64
    with pytest.raises(OverflowError):
        as_ids(np.array([2**63], np.uint64), 1)
    for wrong in ([1.5], ["a"], [None]):
        with pytest.raises(TypeError):
            as_ids(wrong, 1)
    with pytest.raises(ValueError):
        as_ids([1, 2], 3)
    assert type(as_array(sp.csr_matrix([[1]]).todense())) is np.ndarray  # not a matrix, whose * is another
