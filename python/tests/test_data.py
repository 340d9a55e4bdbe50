"""Frames as rows and as tables of text: every type of column, quotes, missing values, and `Rows` as data."""

import csv
import datetime
import decimal
import io
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import furrow
from furrow import _core
from furrow._data import Source, _table_columns, cell_text, csv_text, is_table, open_rows, open_table
from furrow.rows import read_rows

pd = pytest.importorskip("pandas")


def text_of(data):
    return bytes(csv_text(_table_columns(data)[0])[0]).decode()


def cells_of(data):
    """The cells as Python reads them, the names first."""
    return list(csv.reader(io.StringIO(text_of(data), newline="")))


# ---- text

texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12)
tricky = st.lists(st.sampled_from(list('ab,"\n\r\t ;|#é漢\ufeff')), max_size=8).map("".join)
words = st.one_of(texts, tricky)


lines = st.lists(st.tuples(words, st.one_of(st.none(), words), st.integers(-(2**63), 2**63 - 1)), max_size=20)


@given(lines, words, words)
@settings(max_examples=100, deadline=None)
def test_any_cells(rows, first, second):
    names = ["x" + first, "y" + second, "z"]
    types = [object, object, "int64"]
    frame = pd.DataFrame({names[i]: pd.Series([row[i] for row in rows], dtype=types[i]) for i in range(3)})
    expected = [names] + [[a, b or "", str(c)] for a, b, c in rows]
    assert cells_of(frame) == expected


@given(st.lists(st.one_of(st.none(), words), max_size=20), st.sampled_from([object, "category", "string"]))
@settings(max_examples=100, deadline=None)
def test_any_column_by_itself(values, dtype):
    # one column: a missing cell is not a line without a character, which would not be a row
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    assert cells_of(frame) == [["x"]] + [[value or ""] for value in values]


@given(st.lists(st.floats(allow_infinity=False), max_size=30))
@settings(max_examples=100, deadline=None)
def test_doubles_read_back_to_the_same_bits(values):
    cells = cells_of({"x": np.array(values, np.float64), "k": np.zeros(len(values), np.int8)})[1:]
    for (text, _), value in zip(cells, values):
        assert text == "" if value != value else np.float64(text).tobytes() == np.float64(value).tobytes()


@given(st.lists(st.floats(width=32, allow_infinity=False), max_size=30))
@settings(max_examples=100, deadline=None)
def test_floats_read_back_to_the_same_bits(values):
    cells = cells_of({"x": np.array(values, np.float32), "k": np.zeros(len(values), np.int8)})[1:]
    for (text, _), value in zip(cells, values):
        assert text == "" if value != value else np.float32(text).tobytes() == np.float32(value).tobytes()


@given(st.integers(-(10**9), 10**9), st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_decimals_are_written_as_people_write_them(number, digits):
    value = number / 10**digits
    text = cells_of({"x": np.array([value]), "k": [1]})[1][0]
    assert float(text) == value and len(text) <= len(f"{value:.{digits}f}")


def test_numbers():
    data = {
        "u8": np.array([0, 255], np.uint8),
        "i8": np.array([-128, 127], np.int8),
        "u64": np.array([2**64 - 1, 2**63], np.uint64),
        "big-endian": np.array([1, 258], ">i4"),
        "half": np.array([0.5, np.nan], np.float16),
        "flag": np.array([True, False]),
        "strided": np.arange(4)[::-2],
        "list": [1, 2],
        "mixed": [1, None],
        "text": ["1", "01"],
        "zero": np.array([0.0, -0.0]),
    }
    lines = cells_of(data)[1:]
    assert lines[0] == ["0", "-128", str(2**64 - 1), "1", "0.5", "True", "3", "1", "1", "1", "0"]
    assert lines[1] == ["255", "127", str(2**63), "258", "", "False", "1", "2", "", "01", "-0"]


def test_times():
    moments = np.array(["2024-02-29T23:59:59", "1969-12-31T00:00:00.000000001", "NaT"], "M8[ns]")
    frame = pd.DataFrame({"ns": moments, "k": [1, 2, 3]})
    frame["zone"] = frame["ns"].dt.tz_localize("Europe/Berlin")
    frame["date"] = [datetime.date(2020, 1, 2), None, datetime.date(1, 1, 1)]
    utc = datetime.timezone.utc
    frame["moment"] = [datetime.datetime(2020, 1, 2, 3, 4, 5, 6), pd.NaT, datetime.datetime(2020, 1, 1, tzinfo=utc)]
    assert cells_of(frame)[1:] == [
        ["2024-02-29T23:59:59", "1", "2024-02-29T22:59:59", "2020-01-02", "2020-01-02T03:04:05.000006"],
        ["1969-12-31T00:00:00.000000001", "2", "1969-12-30T23:00:00.000000001", "", ""],
        ["", "3", "", "0001-01-01", "2020-01-01T00:00:00"],
    ]
    days = ["2000-03-01", "NaT", "1900-01-01"]
    data = {unit: np.array(days, f"M8[{unit}]") for unit in ("D", "h", "s", "ms", "us", "M")}
    assert cells_of(data)[1] == ["2000-03-01"] + ["2000-03-01T00:00:00"] * 5
    assert cells_of(data)[2] == [""] * 6


@given(st.datetimes(min_value=datetime.datetime(1, 1, 1)))
@settings(max_examples=100, deadline=None)
def test_any_time(moment):
    text = cells_of({"t": np.array([moment], "M8[us]"), "k": [1]})[1][0]
    assert datetime.datetime.fromisoformat(text) == moment


def test_years_that_cannot_be_written():
    for year in (-1, 10000):
        with pytest.raises(furrow.ArgumentError, match="row 0, column 0"):
            text_of({"t": np.array([f"{year:05}" if year < 0 else str(year)], "M8[Y]").astype("M8[s]")})


def test_missing_values_and_nullable_types():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None, 3], "Int64"),
            "b": pd.array([True, None, False], "boolean"),
            "f": pd.array([0.5, None, 1], "Float32"),
            "s": pd.array(["a", None, ""], "string"),
            "o": [np.nan, None, pd.NA],
            "c": pd.Categorical(["x", None, "y, z"]),
            "n": pd.Categorical([7, None, 8]),
        }
    )
    assert cells_of(frame)[1:] == [
        ["1", "True", "0.5", "a", "", "x", "7"],
        ["", "", "", "", "", "", ""],
        ["3", "False", "1", "", "", "y, z", "8"],
    ]


def test_lists_are_sets():
    data = {"genres": [["a", "b"], [], ("c",), None, np.array([1, 2]), {"x"}, [None, "d"]], "k": range(7)}
    assert [row[0] for row in cells_of(data)[1:]] == ["a|b", "", "c", "", "1|2", "x", "d"]
    assert [row[0] for row in cells_of({"x": [["a", "b"], ["c", "d"]], "k": [1, 2]})[1:]] == ["a|b", "c|d"]
    assert is_table({"x": [["a"], ["b", "c"]]})
    with pytest.raises(ValueError, match="column 'genres'.*separates"):
        text_of({"genres": [["a|b"]]})


def test_other_objects():
    data = {"x": [decimal.Decimal("1.50"), np.int64(3), np.float32(0.5), np.bool_(True), np.str_("s"), 2**70, True]}
    assert [row[0] for row in cells_of(data)[1:]] == ["1.50", "3", "0.5", "True", "s", str(2**70), "True"]
    for wrong in (object(), {"a": 1}, b"bytes", 1j):
        with pytest.raises(TypeError, match="column 'x'"):
            text_of({"x": ["a", wrong]})
    with pytest.raises(ValueError, match="column 'x'"):
        text_of({"x": [float("inf"), "a"]})
    with pytest.raises(ValueError, match="column 'x'"):
        text_of({"x": np.array([1, np.inf])})
    with pytest.raises(UnicodeEncodeError):
        text_of({"x": ["\ud800"]})


@given(st.one_of(st.floats(allow_infinity=False), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.text("ab,\n")))
@settings(max_examples=100, deadline=None)
def test_events_have_the_cells_of_tables(value):
    # a value by itself, in a list, in an array of its own type: one text
    column = cells_of({"x": [value], "k": [1]})[1][0]
    assert (cell_text(value) or "") == column == (cell_text(np.array([value])[0]) or "")
    assert cells_of({"x": np.array([value]), "k": [1]})[1][0] == column
    if isinstance(value, float) and abs(value) < 1e38:
        single = np.float32(value)
        assert (cell_text(single) or "") == cells_of({"x": np.array([single]), "k": [1]})[1][0]


def test_a_frame_and_its_file_give_the_same_rows(tmp_path):
    """pandas' own csv of a frame, and the frame: one dictionary, the same features."""
    rng = np.random.default_rng(5)
    words = np.array(["red", "dark, blue", 'say "hi"', "two\nlines", "ä"], object)
    frame = pd.DataFrame(
        {
            "user": rng.integers(0, 20, 300),
            "color": pd.Categorical(words[[0, 2, 3, 4]][rng.integers(0, 4, 300)]),  # a file's commas may separate
            "word": words[rng.integers(0, 5, 300)],
            "price": np.round(rng.random(300) * 100, 2),
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, 300), unit="s"),
            "label": rng.random(300) > 0.5,
        }
    )
    frame.loc[::7, "price"] = np.nan
    frame.loc[::5, "word"] = None
    frame.to_csv(tmp_path / "log.csv", index=False)
    ours = furrow.encode(frame)
    theirs = furrow.encode(str(tmp_path / "log.csv"))
    assert ours.encoder.fields == theirs.encoder.fields
    assert ours.indices.tolist() == theirs.indices.tolist() and ours.labels.tolist() == theirs.labels.tolist()
    assert np.array_equal(ours.values, theirs.values)
    assert furrow.encode(str(tmp_path / "log.csv"), ours.encoder).indices.tolist() == ours.indices.tolist()


def test_tables_that_are_refused():
    with pytest.raises(ValueError, match="same name"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="has no name"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", ""]))
    with pytest.raises(ValueError, match="same length"):
        open_table({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="dimensions"):
        open_table({"a": np.zeros((2, 2))})
    for wrong in (None, 3, [[1, 2]], np.eye(2)):
        with pytest.raises(TypeError, match="a table is"):
            open_table(wrong)
    with pytest.raises(ValueError, match="not with the path"):
        open_table("log.csv", label=[1])


def test_core_refuses_wrong_columns():
    names = _core.cells(["a"], str)
    two = _core.cells(["x", "y"], str)
    for column in (
        ("numbers", np.zeros(3), None, None),
        ("numbers", np.zeros(2, complex), None, None),
        ("numbers", np.zeros(2, ">f8"), None, None),
        ("numbers", np.zeros((1, 2)), None, None),
        ("numbers", np.zeros(2), None, np.zeros(3, np.uint8)),
        ("codes", np.zeros(2), two, None),
        ("codes", np.zeros(2, np.int8), None, None),
        ("codes", np.array([0, 2], np.int8), two, None),
        ("cells", names, None, None),
        ("times", np.zeros(2, np.int64), 0, None),
        ("times", np.zeros(2, np.int64), "s", None),
        ("dates", np.zeros(2), None, None),
        ("numbers", np.zeros(2)),
        (),
        None,
    ):
        with pytest.raises((TypeError, ValueError)):
            _core.csv_text(names, [column], 2, None)
    with pytest.raises(ValueError, match="names"):
        _core.csv_text(two, [("cells", two, None, None)], 2, None)


def test_open_table_is_read_by_the_library(tmp_path):
    users = ["ann", "bob, jr", 'c"d', "two\nlines"]
    frame = pd.DataFrame({"user": users, "0": ["q", None, "r", " s "], "y": [1, 0, 1, 0]})
    with open_table(frame, weight=[1.0, 2.0, 3.0, 4.0]) as source:
        assert source.table and source.rows == 4 and source.names == ["user", "0", "y", "weight"]
        assert "newlines=yes" in source.uri and "header=yes" in source.uri
        assert source.uri_with(format="table", encoder="e").endswith("&format=table&encoder=e")
        uri = source.uri
    with pytest.raises(FileNotFoundError):
        read_rows(uri.split("?")[0], format="csv")
    assert "newlines=no" in open_table(frame[:3]).uri
    assert Source("a.csv#c").uri_with(format="csv") == "a.csv?format=csv#c"
    with pytest.raises(ValueError):
        Source("a.csv").uri_with(encoder="a&b")


def test_paths_are_handed_on(tmp_path):
    assert open_table(tmp_path / "log.csv").uri == str(tmp_path / "log.csv")
    assert open_rows("train.libsvm").uri == "train.libsvm"
    with pytest.raises(ValueError, match="labels"):
        open_rows("train.libsvm", labels=[1])


# ---- frames of numbers


def rows_of(data, **columns):
    with open_rows(data, **columns) as source:
        return read_rows(source.uri).to_numpy(source.features, missing=True), source.names


def test_frames_of_numbers():
    plain = pd.DataFrame({"a": [1.5, np.nan], "b": [3.0, 4.0]})
    table, names = rows_of(plain)
    assert names == ["a", "b"] and np.array_equal(table, [[1.5, 3], [np.nan, 4]], equal_nan=True)
    mixed = pd.DataFrame(
        {
            "i": pd.array([1, None], "Int32"),
            "b": pd.array([None, True], "boolean"),
            "f": np.float32([0.5, 2]),
            "u": np.array([3, 4], np.uint8),
            "s": pd.arrays.SparseArray([0.0, 1.0]),
            "p": [True, False],
        }
    )
    expected = [[1, np.nan, 0.5, 3, 0, 1], [np.nan, 1, 2, 4, 1, 0]]
    assert np.array_equal(rows_of(mixed)[0], expected, equal_nan=True)
    assert rows_of(pd.DataFrame({"a": []}, dtype=float))[0].shape == (0, 1)
    with pytest.raises(ValueError, match="NaN"):
        open_rows(mixed, missing=False)


def test_dicts_of_numbers():
    table, names = rows_of({"a": [1, 2], "b": np.float32([0.5, np.nan])})
    assert names == ["a", "b"] and np.array_equal(table, [[1, 0.5], [2, np.nan]], equal_nan=True)
    with pytest.raises(ValueError):
        open_rows({"a": [1], "b": [1, 2]})
    with pytest.raises(TypeError, match="column 'b'"):
        open_rows({"a": [1], "b": ["x"]})


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b"],
        [1, None],
        pd.Categorical([1, 2]),
        pd.to_datetime(["2020", "2021"]),
        pd.array(["a", None], "string"),
    ],
)
def test_frames_that_are_tables(column):
    frame = pd.DataFrame({"n": [1, 2], "x": pd.Series(column, dtype=object if isinstance(column, list) else None)})
    assert is_table(frame)
    with pytest.raises(TypeError, match="column 'x'"):
        open_rows(frame)
    assert not is_table(frame[["n"]]) and not is_table(np.eye(2)) and not is_table(sp.eye(2)) and not is_table("a.csv")


def test_is_table_of_dicts():
    assert is_table({"a": ["x"]}) and not is_table({"a": [1.5]}) and not is_table({"a": pd.array([1, None], "Int8")})
    assert is_table({"a": pd.Categorical([1, 2])}) and is_table({"a": np.array(["2020"], "M8[s]")})


# ---- rows as data


def test_rows_as_data(tmp_path):
    path = tmp_path / "a.ffm"
    path.write_text("1:2 0:3:0.5 2:4:1\n0 1:7:2\n")
    lazy = read_rows(path, format="libffm")
    with open_rows(lazy) as source:
        assert read_rows(source.uri).fields.tolist() == [0, 2, 1]
    table = tmp_path / "a.csv"
    table.write_text("a,b\n1,2\n")
    with open_rows(read_rows(table, format="csv")) as source:
        assert source.uri == f"{table}?format=csv" and source.names == ["a", "b"]
    with open_rows(lazy.load()) as source:
        assert source.uri.startswith("memory://") and source.rows == 2 and source.features == 8
        again = read_rows(source.uri)
        assert again.fields.tolist() == [0, 2, 1] and again.weights.tolist() == [2, 1]
        assert again.labels.tolist() == [1, 0]
    with open_rows(read_rows(path, format="libffm"), labels=[5, 6]) as source:
        assert read_rows(source.uri).labels.tolist() == [5, 6]
    bad = tmp_path / "bad"
    bad.write_text("1 1:1\n0 2:x\n0 3:3\n")
    with open_rows(read_rows(bad, format="libsvm", on_bad="skip")) as source:
        assert read_rows(source.uri).labels.tolist() == [1, 0]
    with open_rows(read_rows(bad, format="libsvm", on_bad="skip", value_type="i64", key_type="u64")) as source:
        assert read_rows(source.uri).values.tolist() == [1, 3]


def test_sources_of_many_threads():
    errors = []

    def work(seed):
        try:
            table = np.random.default_rng(seed).random((50, 4), np.float32)
            for _ in range(100):
                with open_rows(table) as source:
                    assert np.array_equal(read_rows(source.uri, threads=1).to_numpy(), table)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_masked_cells_are_missing():
    mask = [False, True, False]
    days = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[D]")
    table = {
        "i": np.ma.array([1, 2, 3], mask=mask),
        "f": np.ma.array([0.5, np.inf, 2], mask=mask),
        "s": np.ma.array(["a", "b", "c"], mask=mask),
        "o": np.ma.array(np.array(["x", 7, None], object), mask=mask),
        "t": np.ma.array(days, mask=mask),
        "l": ["p", np.ma.masked, "q"],
    }
    assert text_of(table) == "i,f,s,o,t,l\n1,0.5,a,x,2024-01-01,p\n,,,,,\n3,2,c,,2024-01-03,q\n"
    with pytest.raises(ValueError, match="dimensions"):
        text_of({"a": np.ma.array([[1, 2]], mask=[[0, 1]])})
