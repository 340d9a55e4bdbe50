"""Arrow tables as data: every type, nulls, offsets, batches; and whatever a producer may do wrong."""

import csv
import ctypes
import gc
import io
import weakref

import arrow_producer as arrow
import numpy as np
import pytest
from arrow_producer import Batch, Table
from hypothesis import given, settings, strategies as st

import furrow
from furrow import _core
from furrow._data import _arrow_numbers, _arrow_table, csv_text, is_table, open_rows, open_table, _table_columns
from furrow.rows import read_rows


@pytest.fixture(autouse=True)
def all_is_released():
    yield
    arrow.release_rest()
    assert arrow.in_use() == 0


def cells_of(data):
    """The text of a table as Python reads it, without the names."""
    columns, rows = _table_columns(data)
    text, _ = csv_text(columns)
    lines = list(csv.reader(io.StringIO(bytes(text).decode(), newline="")))
    assert lines[0] == list(columns) and len(lines) == rows + 1
    return lines[1:]


NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("shift", [0, 3])
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind, shift):
    values = [1, None, 100, 7, 0]
    table = Table({"a": kind, "b": "bool"}, [{"a": values, "b": [True, False, None, True, True]}], shift)
    names, out = _arrow_numbers(table)
    assert names == ["a", "b"] and not is_table(table)
    assert np.array_equal(out[:, 0], [1, np.nan, 100, 7, 0], equal_nan=True)
    assert np.array_equal(out[:, 1], [1, 0, np.nan, 1, 1], equal_nan=True)
    assert cells_of(table) == [["1", "True"], ["", "False"], ["100", ""], ["7", "True"], ["0", "True"]]


def test_limits_of_integers():
    table = Table({"i": "int64", "u": "uint64"}, [{"i": [-(2**63), 2**63 - 1], "u": [2**64 - 1, 2**63]}])
    assert cells_of(table) == [[str(-(2**63)), str(2**64 - 1)], [str(2**63 - 1), str(2**63)]]


def test_halves():
    values = np.array([0, -0.0, 6e-8, -6.1e-5, 1.5, 65504, -2], np.float16)
    _, out = _arrow_numbers(Table({"h": "float16"}, [{"h": values.tolist()}]))
    assert np.array_equal(out[:, 0], values.astype(np.float32))


def test_rows_of_several_batches():
    batches = [{"x": [1.5, None], "y": [1, 2]}, {"x": [], "y": []}, {"x": [3.0], "y": [4]}]
    with open_rows(Table({"x": "float32", "y": "int32"}, batches), labels=[0, 1, 0]) as source:
        assert (source.rows, source.features, source.names) == (3, 2, ["x", "y"])
        table = read_rows(source.uri).to_numpy(missing=True)
    assert np.array_equal(table, [[1.5, 1], [np.nan, 2], [3, 4]], equal_nan=True)


def test_a_batch_by_itself():
    with open_rows(Batch({"x": "float64"}, [{"x": [1.0, 2.0]}])) as source:
        assert read_rows(source.uri).to_numpy().tolist() == [[1], [2]]


@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize("kind", ["utf8", "large_utf8", "utf8_view", "dictionary:int8", "dictionary:uint32"])
def test_texts(kind, shift):
    words = ["plain", None, "", "a, b", 'say "hi"', "two\nlines", "ä and 漢字, which are longer than 12 bytes", " blank "]
    table = Table({"t": kind, "n": "null"}, [{"t": words, "n": [None] * 8}, {"t": ["more"], "n": [None]}], shift)
    assert is_table(table)
    assert cells_of(table) == [[word or "", ""] for word in words + ["more"]]
    with pytest.raises(TypeError, match="column 't'"):
        open_rows(table)


def test_times():
    seconds = 1_700_000_000
    kinds = {"d": "date32", "e": "date64", **{unit[0]: f"timestamp_{unit}" for unit in ("s", "ms", "us", "ns")}}
    row = {
        "d": [19675, None, -1],
        "e": [86400000, None, 0],
        "s": [seconds, None, -1],
        "m": [seconds * 1000 + 5, None, 0],
        "u": [seconds * 10**6 + 1, None, 0],
        "n": [seconds * 10**9 + 123456789, None, 0],
    }
    assert cells_of(Table(kinds, [row])) == [
        [
            "2023-11-14",
            "1970-01-02T00:00:00",
            "2023-11-14T22:13:20",
            "2023-11-14T22:13:20.005",
            "2023-11-14T22:13:20.000001",
            "2023-11-14T22:13:20.123456789",
        ],
        [""] * 6,
        ["1969-12-31", "1970-01-01T00:00:00", "1969-12-31T23:59:59"] + ["1970-01-01T00:00:00"] * 3,
    ]


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))


@given(st.lists(st.one_of(st.none(), texts), max_size=20), st.integers(0, 9), st.sampled_from(list(arrow.TEXTS)))
@settings(max_examples=50, deadline=None)
def test_any_text(words, shift, kind):
    table = Table({"t": kind, "x": "int8"}, [{"t": words, "x": [1] * len(words)}], shift)
    assert cells_of(table) == [[word or "", "1"] for word in words]


def test_a_table_without_rows():
    names, out = _arrow_numbers(Table({"x": "float32"}, []))
    assert names == ["x"] and out.shape == (0, 1)


# ---- what is wrong


def test_a_stream_that_fails():
    with pytest.raises(ValueError, match="the disk is gone"):
        open_rows(Table({"x": "float32"}, [], fail=True))


def test_a_stream_is_read_once():
    stream = Table({"x": "float32"}, [{"x": [1.0]}]).__arrow_c_stream__()
    assert _core.ArrowTable.from_stream(stream).rows() == 1
    with pytest.raises(ValueError, match="released"):
        _core.ArrowTable.from_stream(stream)
    schema, array = Batch({"x": "float32"}, [{"x": [1.0]}]).__arrow_c_array__()
    assert _core.ArrowTable.from_array(schema, array).rows() == 1
    with pytest.raises(ValueError, match="released"):
        _core.ArrowTable.from_array(schema, array)
    with pytest.raises(ValueError, match="released"):
        _core.arrow_kinds(schema)


@pytest.mark.parametrize("wrong", [None, 3, b"", object()])
def test_what_is_not_a_capsule(wrong):
    with pytest.raises(TypeError):
        _core.ArrowTable.from_stream(wrong)
    with pytest.raises(TypeError):
        _core.ArrowTable.from_array(wrong, wrong)
    with pytest.raises(TypeError):
        _core.arrow_kinds(wrong)


def test_a_capsule_of_another_name():
    schema, array = Batch({"x": "float32"}, [{"x": [1.0]}]).__arrow_c_array__()
    with pytest.raises(TypeError):
        _core.ArrowTable.from_stream(schema)
    with pytest.raises(TypeError):
        _core.ArrowTable.from_array(array, schema)
    _core.ArrowTable.from_array(schema, array)


def take(schema, array):
    """An ArrowTable of structs; what it does not take is released after the test."""
    return _core.ArrowTable.from_array(arrow.capsule(schema, b"arrow_schema"), arrow.capsule(array, b"arrow_array"))


def one_column(kind, change, length=4):
    """A table of one column, after change(array of the column, its batch)."""
    values = ["text"] * length if "utf8" in kind or "dictionary" in kind else [1] * length
    column = arrow.column_array(kind, values)
    batch = arrow.array(length, [None], children=[column])
    change(column, batch)
    return take(arrow.schema("+s", "", [arrow.column_schema("x", kind)]), batch)


def null_buffer(number):
    def change(column, batch):
        column.buffers[number] = None

    return change


def set_field(name, value, of_batch=False):
    return lambda column, batch: setattr(batch if of_batch else column, name, value)


@pytest.mark.parametrize(
    "kind, change",
    [
        ("int32", null_buffer(1)),
        ("utf8", null_buffer(1)),
        ("utf8", null_buffer(2)),
        ("utf8_view", null_buffer(1)),
        ("bool", null_buffer(1)),
        ("dictionary:int8", null_buffer(1)),
        ("int32", set_field("length", -1)),
        ("int32", set_field("offset", -1)),
        ("int32", set_field("length", 3)),
        ("int32", set_field("offset", 2**63 - 2)),
        ("int32", set_field("n_buffers", 1)),
        ("int32", set_field("n_buffers", 3)),
        ("int32", set_field("null_count", 2)),
        ("int32", set_field("n_buffers", -1)),
        ("utf8", set_field("n_buffers", 2)),
        ("int32", set_field("buffers", None)),
        ("dictionary:int8", set_field("dictionary", None)),
        ("int32", set_field("length", -4, True)),
        ("int32", set_field("length", 2**62, True)),
        ("int32", set_field("offset", -1, True)),
        ("int32", set_field("offset", 2**62, True)),
        ("int32", set_field("n_children", 2, True)),
        ("int32", set_field("n_children", 0, True)),
        ("int32", set_field("children", None, True)),
        ("int32", set_field("buffers", None, True)),
    ],
)
def test_malformed_arrays(kind, change):
    with pytest.raises(ValueError):
        one_column(kind, change)


def test_rows_that_are_null():
    column = arrow.column_array("int32", [1, 2])
    batch = arrow.array(2, [arrow.bits([True, False])], null_count=1, children=[column])
    with pytest.raises(ValueError, match="null as a whole"):
        take(arrow.schema("+s", "", [arrow.column_schema("x", "int32")]), batch)


def test_offsets_and_views_outside_of_their_buffers():
    for format, values in (("u", np.array([0, 5, 2], np.int32)), ("U", np.array([-1, 0, 2]))):
        column = arrow.array(2, [None, values.tobytes(), b"hello"])
        with pytest.raises(ValueError, match="offsets"):
            take(arrow.schema("+s", "", [arrow.schema(format, "t")]), arrow.array(2, [None], children=[column]))
    for view in ([20, 0, 0, 90], [20, 0, 1, 0], [-1, 0, 0, 0], [20, 0, -1, 0], [20, 0, 0, -1]):
        parts = [None, np.array(view, np.int32).tobytes(), b"x" * 100, np.array([100]).tobytes()]
        with pytest.raises(ValueError, match="outside"):
            column = arrow.array(1, parts)
            take(arrow.schema("+s", "", [arrow.schema("vu", "t")]), arrow.array(1, [None], children=[column]))


def test_codes_outside_of_their_dictionary():
    for code in (-1, 2, 100):
        words = arrow.column_array("utf8", ["a", "b"])
        column = arrow.array(1, [None, np.array([code], np.int8).tobytes()], dictionary=words)
        schema = arrow.schema("+s", "", [arrow.schema("c", "t", dictionary=arrow.schema("u"))])
        table = take(schema, arrow.array(1, [None], children=[column]))
        with pytest.raises(ValueError, match="dictionary"):
            table.text_column(0)


@pytest.mark.parametrize("format", "+l z d:19,10 w:16 tts tDs tiM +m vz ts tsx: ??".split() + [""])
def test_types_that_are_not_read(format):
    schema = arrow.schema("+s", "", [arrow.schema(format, "x")])
    table = take(schema, arrow.array(0, [None], children=[arrow.array(0, [])]))
    assert table.kinds() == [format]
    with pytest.raises(TypeError, match="column 'x'"):
        table.text_column(0)
    with pytest.raises(TypeError):
        table.fill(np.empty((0, 1)))


def test_what_is_not_a_table():
    with pytest.raises(TypeError, match="struct of columns"):
        take(arrow.schema("i", "x"), arrow.column_array("int32", [1]))


def test_columns_that_do_not_exist_and_tables_of_the_wrong_shape():
    table = _arrow_table(Table({"x": "float32"}, [{"x": [1.0, 2.0]}]))
    for number in (-1, 1, 2**70):
        with pytest.raises((IndexError, OverflowError)):
            table.text_column(number)
    for wrong in (np.empty((2, 2)), np.empty((3, 1)), np.empty(2), np.empty((2, 1), np.int64), np.empty((2, 1)).T):
        with pytest.raises((ValueError, TypeError)):
            table.fill(wrong)


def test_infinity():
    with pytest.raises(ValueError, match="infinity"):
        open_rows(Table({"x": "float32"}, [{"x": [float("inf")]}]))
    with pytest.raises(ValueError, match="infinity"):
        open_table(Table({"x": "float32"}, [{"x": [float("inf")]}]))


def test_columns_of_one_name():
    two = arrow.schema("+s", "", [arrow.column_schema("x", "int8"), arrow.column_schema("x", "int8")])

    class Twice:
        def __arrow_c_array__(self, requested=None):
            children = [arrow.column_array("int8", [1]), arrow.column_array("int8", [2])]
            batch = arrow.array(1, [None], children=children)
            return arrow.capsule(two, b"arrow_schema"), arrow.capsule(batch, b"arrow_array")

    with pytest.raises(ValueError, match="same name"):
        open_table(Twice())


# ---- rows that go out


def stream_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, b"arrow_array_stream"), ctypes.POINTER(arrow.Stream))


def values_of(column, number, dtype, count):
    return np.ctypeslib.as_array(ctypes.cast(column.buffers[number], ctypes.POINTER(dtype)), (count,))


def test_rows_as_an_arrow_stream(tmp_path):
    path = tmp_path / "a"
    path.write_text("1:0.5 qid:3 1:0.25 7:2\n0 qid:4 2:1\n1 qid:4\n")
    rows = read_rows(path)
    capsule = rows.__arrow_c_stream__()
    stream = stream_of(capsule)
    schema, batch, end = arrow.Schema(), arrow.Array(), arrow.Array()
    assert stream.contents.get_schema(stream, schema) == 0
    names = [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
    formats = [schema.children[i].contents.format.decode() for i in range(schema.n_children)]
    assert (names, formats) == (["label", "weight", "qid", "indices", "values"], ["f", "f", "L", "+L", "+L"])
    assert schema.children[3].contents.children[0].contents.format == b"I"
    assert stream.contents.get_next(stream, batch) == 0 and stream.contents.get_next(stream, end) == 0
    assert batch.length == 3 and not end.release
    del rows, capsule  # the batch keeps what it needs
    gc.collect()
    columns = [batch.children[i].contents for i in range(batch.n_children)]
    assert values_of(columns[0], 1, ctypes.c_float, 3).tolist() == [1, 0, 1]
    assert values_of(columns[2], 1, ctypes.c_uint64, 3).tolist() == [3, 4, 4]
    assert values_of(columns[3], 1, ctypes.c_int64, 4).tolist() == [0, 2, 3, 3]
    assert values_of(columns[3].children[0].contents, 1, ctypes.c_uint32, 3).tolist() == [0, 6, 1]
    assert values_of(columns[4].children[0].contents, 1, ctypes.c_float, 3).tolist() == [0.25, 2, 1]
    moved = arrow.Array()  # a child that the consumer moved outlives its parent
    ctypes.memmove(ctypes.byref(moved), batch.children[0], ctypes.sizeof(moved))
    ctypes.memset(ctypes.addressof(batch.children[0].contents) + arrow.Array.release.offset, 0, 8)
    batch.release(batch)
    schema.release(schema)
    assert values_of(moved, 1, ctypes.c_float, 3).tolist() == [1, 0, 1]
    moved.release(moved)
    assert not moved.release and not batch.release


def test_arrays_are_free_after_a_stream():
    table, labels = np.zeros((3, 4), np.float32), np.zeros(3)
    alive = weakref.ref(table), weakref.ref(labels)

    class Data:
        def __arrow_c_stream__(self, requested=None):
            return _core.arrow_stream([("v", table, None), ("y", labels, None)], 3)

    arrow_table = _arrow_table(Data())
    assert arrow_table.kinds() == ["+w:4", "float64"] and arrow_table.rows() == 3
    _core.arrow_stream([("v", table, None)], 3)  # a capsule that nobody reads
    del table, labels, Data
    gc.collect()
    assert alive[0]() is not None
    del arrow_table
    gc.collect()
    assert alive[0]() is None and alive[1]() is None


def test_what_a_stream_cannot_have():
    offsets = np.array([0, 1, 2])
    for columns in (
        [("x", np.zeros(2), None)],
        [("x", np.zeros((2, 3)), None)],
        [("x", np.zeros(3, np.int8), None)],
        [("x", np.zeros((3, 1, 1)), None)],
        [("x", np.zeros(3), offsets)],
        [("x", np.zeros(3), np.array([0, 2, 1, 3]))],
        [("x", np.zeros(3), np.array([0, 1, 2, 4]))],
        [("x", np.zeros(3), np.array([-1, 1, 2, 3]))],
        [("x", np.zeros(3), np.zeros(4))],
        [("x", "text", None)],
        [()],
        [None],
    ):
        with pytest.raises((ValueError, TypeError)):
            _core.arrow_stream(columns, 3)
    with pytest.raises(ValueError):
        _core.arrow_stream([], -1)


def test_tables_of_pyarrow_are_those_of_pandas(tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame({"page": rng.choice(["home", "shop"], 500), "seconds": rng.integers(1, 99, 500)})
    frame["price"] = np.where(rng.random(500) < 0.1, np.nan, rng.normal(size=500))
    y = (frame["page"] == "shop") & (frame["seconds"] > 30)
    table = pyarrow.table({name: frame[name].to_numpy() for name in frame})
    chunks = pyarrow.concat_tables([table.slice(0, 123), table.slice(123)])
    expected = furrow.Classifier("gbdt").fit(frame, y).predict_proba(frame)
    for data in (table, chunks):
        np.testing.assert_array_equal(furrow.Classifier("gbdt").fit(data, y).predict_proba(data), expected)
    furrow.write_rows(tmp_path / "rows.libsvm", frame[["seconds"]].to_numpy(), y)
    again = pyarrow.table(read_rows(tmp_path / "rows.libsvm"))
    assert again.num_rows == 500 and again["label"].to_pylist() == [float(label) for label in y]
