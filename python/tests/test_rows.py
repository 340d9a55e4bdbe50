"""Samples of files: every format and type, parts, bad rows, errors with their places, threads, leaks."""

import copy
import gc
import gzip
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import furrow
import furrow._data
from furrow import _core
from furrow.rows import Rows, read_rows, write_rows

LIBSVM = "1:0.5 qid:3 1:0.25 7:2\n0 qid:4 2:1\n1 qid:4\n"


@pytest.fixture
def libsvm(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text(LIBSVM)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of several blocks, and its matrix and labels."""
    matrix = sp.random(8000, 1000, 0.03, "csr", dtype=np.float32, random_state=1)
    labels = np.arange(8000, dtype=np.float32) % 3
    path = tmp_path_factory.mktemp("rows") / "large.libsvm"
    write_rows(path, matrix, labels)
    return path, matrix, labels


def test_libsvm(libsvm):
    rows = read_rows(libsvm)
    assert not rows.loaded and rows.format == "libsvm" and "content" in rows.format_reason
    assert rows.labels.tolist() == [1, 0, 1] and rows.weights.tolist() == [0.5, 1, 1]
    assert rows.qids.tolist() == [3, 4, 4]
    assert rows.fields is None and rows.column_names is None
    assert rows.shape == (3, 7) and len(rows) == 3 and rows.loaded and rows.index_base == 1
    assert rows.indptr.tolist() == [0, 2, 3, 3] and rows.indices.tolist() == [0, 6, 1]
    assert rows.indices.dtype == np.uint32 and rows.values.dtype == np.float32
    assert rows.to_scipy().toarray().tolist() == rows.to_numpy().tolist()
    assert rows.to_numpy()[0].tolist() == [0.25, 0, 0, 0, 0, 0, 2]
    assert "3 rows in memory" in repr(rows)


def test_libffm(tmp_path):
    path = tmp_path / "a.ffm"
    path.write_text("1 0:3:0.5 2:4:1\n0 1:7:2\n")
    rows = read_rows(path, format="libffm")
    assert rows.fields.tolist() == [0, 2, 1] and rows.indices.tolist() == [3, 4, 7]
    assert rows.to_scipy().shape == (2, 8) and rows.labels.tolist() == [1, 0]


def test_csv_with_names_and_missing_cells(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,age,price,last\n1,31,,\n0,,2.5,\n")
    rows = read_rows(f"{path}?label_column=0")
    assert rows.format == "csv" and rows.column_names == ["age", "price", "last"] and rows.label_name == "label"
    assert rows.shape == (2, 3)  # the last column has no value at all
    assert np.array_equal(rows.to_numpy(), [[31, np.nan, np.nan], [np.nan, 2.5, np.nan]], equal_nan=True)
    assert rows.to_numpy(missing=False).tolist() == [[31, 0, 0], [0, 2.5, 0]]
    assert rows.to_scipy().toarray().tolist() == [[31, 0, 0], [0, 2.5, 0]]


def test_compressed(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(LIBSVM.encode()))
    assert read_rows(tmp_path / "a.gz").labels.tolist() == [1, 0, 1]
    plain = tmp_path / "a.txt"
    plain.write_text(LIBSVM)
    try:
        subprocess.run(["zstd", "-q", str(plain)], check=True)
    except FileNotFoundError:
        pytest.skip("there is no zstd command")
    assert read_rows(tmp_path / "a.txt.zst").qids.tolist() == [3, 4, 4]
    assert read_rows(f"{tmp_path}/a.gz;{plain}").shape[0] == 6


def test_an_empty_file(tmp_path):
    path = tmp_path / "empty"
    path.write_text("")
    rows = read_rows(path, format="libsvm")
    assert list(rows) == []
    assert rows.shape == (0, 0) and rows.to_numpy().shape == (0, 0) and rows.to_scipy(5).shape == (0, 5)
    assert rows.indptr.tolist() == [0] and rows.labels is None


def test_values_that_are_all_one(tmp_path):
    path = tmp_path / "a"
    path.write_text("1 3 5\n0 1\n")
    rows = read_rows(path, format="libsvm")
    assert rows.values is None
    assert rows.to_scipy().toarray().tolist() == rows.to_numpy().tolist() == [[0, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0]]


def test_an_index_that_occurs_twice(tmp_path):
    path = tmp_path / "a"
    path.write_text("1 1:2 1:3 0:1\n")
    rows = read_rows(path)
    assert rows.to_numpy().tolist() == [[1, 5]] == rows.to_scipy().toarray().tolist()
    assert rows.to_numpy(missing=True).tolist() == [[1, 5]]


def test_against_scikit_learn(large, tmp_path):
    datasets = pytest.importorskip("sklearn.datasets")
    path, matrix, labels = large
    theirs, their_labels = datasets.load_svmlight_file(str(path), n_features=1000, dtype=np.float32)
    rows = read_rows(path)
    ours = rows.to_scipy(1000)
    assert (theirs != ours).nnz == 0 and (ours != matrix).nnz == 0
    assert np.array_equal(their_labels, rows.labels)
    ranked = tmp_path / "ranked"
    qids = np.sort(np.arange(50) % 7)
    datasets.dump_svmlight_file(matrix[:50], labels[:50], str(ranked), query_id=qids, zero_based=False)
    rows = read_rows(ranked)
    assert np.array_equal(rows.qids, qids) and abs(rows.to_scipy(1000) - matrix[:50]).max() < 1e-6


def test_blocks_stay_valid(large):
    path, matrix, labels = large
    blocks = list(read_rows(path))
    assert len(blocks) > 2
    assert (sp.vstack([block.to_scipy(1000) for block in blocks]) != matrix).nnz == 0
    assert np.array_equal(np.concatenate([block.labels for block in blocks]), labels)
    last = blocks[-1].values
    expected = last.copy()
    del blocks
    gc.collect()
    assert np.array_equal(last, expected)  # the array keeps its block


@pytest.mark.parametrize("threads", [1, 2, 0])
def test_parts_add_up(large, threads):
    path, matrix, labels = large
    parts = [read_rows(path, part=i, nparts=3, threads=threads) for i in range(3)]
    assert all(part.shape[0] for part in parts)
    assert (sp.vstack([part.to_scipy(1000) for part in parts]) != matrix).nnz == 0
    assert np.array_equal(np.concatenate([part.labels for part in parts]), labels)


def test_types(tmp_path):
    path = tmp_path / "a"
    path.write_text(f"-3 {2**33}:7 1:{2**40}\n")
    rows = read_rows(path, format="libsvm", key_type="u64", value_type="i64", index_base=0)
    assert rows.indices.tolist() == [2**33, 1] and rows.values.tolist() == [7, 2**40] and rows.labels.tolist() == [-3]
    assert rows.values.dtype == np.int64 and rows.indices.dtype == np.uint64
    matrix = rows.to_scipy()
    assert matrix.shape == (1, 2**33 + 1) and matrix[0, 2**33] == 7
    with pytest.raises(furrow.RangeError):
        read_rows(path, format="libsvm").load()
    with pytest.raises(furrow.ArgumentError, match="u32"):
        read_rows(path, key_type="u16")
    with pytest.raises(furrow.ArgumentError):
        read_rows(path, value_type="f64")
    path.write_text(f"1 {2**32 - 1}:1\n")
    matrix = read_rows(path, format="libsvm", index_base=0).to_scipy()
    assert matrix.indices.dtype == np.int64 and matrix[0, 2**32 - 1] == 1
    path.write_text(f"1 {2**64 - 1}:1\n")
    with pytest.raises(OverflowError):
        read_rows(path, format="libsvm", key_type="u64", index_base=0).to_scipy()


def test_what_to_scipy_gives_is_the_callers(libsvm):
    rows = read_rows(libsvm)
    first = rows.to_scipy()
    assert not rows.loaded and first.data.flags.writeable
    assert rows.labels.tolist() == [1, 0, 1] and rows.shape == (3, 7) and not rows.loaded  # they were kept
    first.data[:] = 0
    assert rows.to_scipy().data.tolist() == [0.25, 2, 1]
    rows.load()
    second = rows.to_scipy()
    second.data[:] = 0
    second.indices[:] = 0
    assert rows.values.tolist() == [0.25, 2, 1] and rows.indices.tolist() == [0, 6, 1]


def test_number_of_features(libsvm):
    assert read_rows(libsvm).to_scipy(100).shape == (3, 100)
    assert read_rows(libsvm).to_numpy(9).shape == (3, 9)
    for call in (Rows.to_scipy, Rows.to_numpy):
        with pytest.raises(ValueError, match="n_features is 6, but the rows have the index 6"):
            call(read_rows(libsvm), 6)


# ---- errors


def test_a_bad_row_has_its_place(tmp_path):
    path = tmp_path / "bad.libsvm"
    path.write_text("1 1:1\n0 2:x\n1 3:1\n")
    for read in (Rows.load, list, Rows.to_scipy):
        with pytest.raises(furrow.ParseError) as caught:
            read(read_rows(path))
        error = caught.value
        assert (error.file, error.line, error.column, error.token) == (str(path), 2, 3, "2:x")
        assert isinstance(error, ValueError)


def test_bad_rows_are_left_out(tmp_path):
    path = tmp_path / "bad.libsvm"
    path.write_text("1 1:1\n0 2:x\n1 3:1 word\n")
    rows = read_rows(path, on_bad="skip")
    assert rows.labels.tolist() == [1, 1]
    assert (rows.stats.rows, rows.stats.bad_rows, rows.stats.ignored) == (2, 1, 1)
    assert f"{path}:2:3" in rows.stats.first_bad and "word" in rows.stats.first_ignored
    assert read_rows(path, on_bad="skip").stats == rows.stats


def test_arguments(libsvm, tmp_path):
    for wrong in ({"part": 1}, {"nparts": 0}, {"format": "xml"}):
        with pytest.raises(furrow.ArgumentError):
            read_rows(libsvm, **wrong)
    with pytest.raises(OverflowError):
        read_rows(libsvm, threads=-1)
    with pytest.raises(TypeError):
        read_rows(libsvm, part="0")
    with pytest.raises(ValueError, match="on_bad"):
        read_rows(libsvm, on_bad="ignore")
    with pytest.raises(FileNotFoundError):
        read_rows(tmp_path / "nothing")
    with pytest.raises(furrow.ArgumentError, match="no argument of that name"):
        read_rows(f"{libsvm}?indexing=1")
    for wrong in (7, b"bytes", None):
        with pytest.raises(TypeError):
            read_rows(wrong)
    with pytest.raises(ValueError):
        read_rows("a\0b")


def test_len_before_reading(libsvm):
    rows = read_rows(libsvm)
    with pytest.raises(TypeError, match="load"):
        len(rows)
    assert rows and not rows.loaded
    assert len(rows.load()) == 3


# ---- streams, caches, progress


def test_pipes_are_read_once(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(LIBSVM))
    writer.start()
    rows = read_rows(fifo, format="libsvm")
    assert rows.load().labels.tolist() == [1, 0, 1]
    writer.join()
    assert len(list(rows)) == 1 and rows.to_scipy().shape == (3, 7)
    writer = threading.Thread(target=lambda: fifo.write_text(LIBSVM))
    writer.start()
    rows = read_rows(fifo, format="libsvm")
    assert sum(len(block) for block in rows) == 3
    writer.join()
    with pytest.raises(furrow.StateError, match="once"):
        list(rows)


def test_a_cache(large, tmp_path):
    path, matrix, labels = large
    cache = tmp_path / "cache"
    for _ in range(2):
        rows = read_rows(path, cache=cache)
        assert (rows.to_scipy(1000) != matrix).nnz == 0 and rows.format == "libsvm"
        assert sum(len(block) for block in read_rows(path, cache=cache)) == 8000
        assert cache.exists()
    with pytest.raises(furrow.StaleError):
        read_rows(path, cache=cache, key_type="u64").load()
    with pytest.raises(ValueError, match="cache"):
        read_rows(f"{path}#a", cache=cache)


def test_progress(large):
    calls = []
    read_rows(large[0], progress=lambda *news: calls.append(news)).load()
    assert all(phase == "reading" and 0 < done <= total for phase, done, total in calls)


def test_progress_that_raises_or_stops(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"1 1:1 2:2 3:3\n" * 3_000_000)

    def stop(*news):
        raise KeyError("stop")

    with pytest.raises(KeyError):
        read_rows(f"{path};{path};{path};{path}", threads=1, progress=stop).load()
    with pytest.raises(furrow.CancelledError):
        read_rows(f"{path};{path};{path};{path}", threads=1, progress=lambda *news: False).load()


def test_ctrl_c(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"1 1:1 2:2 3:3\n" * 2_000_000)
    script = (
        "import sys, furrow.rows\n"
        "print('go', flush=True)\n"
        f"furrow.rows.read_rows(';'.join([{str(path)!r}] * 200), threads=1).load()\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, message = child.communicate(timeout=120)
    assert b"KeyboardInterrupt" in message and child.returncode != 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime < 10  # processor time, whatever else runs


# ---- writing


@pytest.mark.parametrize("format", ["libsvm", "libffm", "csv", "cache"])
def test_round_trip(tmp_path, format):
    matrix = sp.random(40, 12, 0.4, "csr", dtype=np.float32, random_state=3)
    labels, weights = np.arange(40, dtype=np.float32) / 7, np.arange(40, dtype=np.float32) + 1
    path = tmp_path / "out"
    write_rows(path, matrix, labels, weights=weights, format=format)
    if format == "cache":
        assert path.stat().st_size > 0
        return
    rows = read_rows(f"{path}?label_column=0&weight_column=1" if format == "csv" else path, format=format)
    assert abs(rows.to_scipy(12) - matrix).max() == 0
    assert np.array_equal(rows.labels, labels) and np.array_equal(rows.weights, weights)


def test_names_of_csv(tmp_path):
    path = tmp_path / "out.csv"
    write_rows(path, [[1.5, np.nan], [0, 2]], [1, 0], format="csv", names=["a", "b"])
    assert path.read_text() == "label,a,b\n1,1.5,\n0,0,2\n"
    pandas = pytest.importorskip("pandas")
    write_rows(path, pandas.DataFrame({"x": [1, 2], "y": [3, 4]}), format="csv", delimiter=";", overwrite=True)
    assert path.read_text() == "x;y\n1;3\n2;4\n"
    write_rows(path, sp.csr_matrix([[0, 1.0]]), [1], format="csv", header=False, overwrite=True)
    assert path.read_text() == "1,0,1\n"


def test_save(libsvm, tmp_path):
    path = tmp_path / "copy"
    read_rows(libsvm).save(path)
    assert path.read_text() == "1:0.5 qid:3 1:0.25 7:2\n0:1 qid:4 2:1\n1:1 qid:4\n"
    read_rows(libsvm, part=0, nparts=2).save(tmp_path / "part")
    assert read_rows(libsvm, part=0, nparts=2).shape == read_rows(tmp_path / "part").shape
    with pytest.raises(furrow.ExistsError):
        read_rows(libsvm).save(path)
    read_rows(libsvm).load().save(path, overwrite=True, index_base=0)
    assert path.read_text().startswith("1:0.5 qid:3 0:0.25 6:2\n")
    with pytest.raises(furrow.UnsupportedError, match="qid"):
        read_rows(libsvm).save(tmp_path / "out.csv", format="csv")
    assert not (tmp_path / "out.csv").exists()


def test_wide_and_integer_rows_are_saved(tmp_path):
    path, out = tmp_path / "a", tmp_path / "b"
    path.write_text(f"-3 {2**33}:7 1:{2**40 + 1}\n")
    rows = read_rows(path, format="libsvm", key_type="u64", value_type="i64")
    rows.save(out)
    assert out.read_text() == path.read_text()
    with pytest.raises(ValueError, match="float32 cannot hold"):
        write_rows(tmp_path / "c", rows, labels=[1])


def test_what_write_rows_refuses(tmp_path):
    path = tmp_path / "out"
    with pytest.raises(ValueError, match="format"):
        write_rows(path, np.eye(2), [0, 1], format="xml")
    with pytest.raises(furrow.UnsupportedError, match="label"):
        write_rows(path, np.eye(2))
    with pytest.raises(FileNotFoundError):
        write_rows(tmp_path / "nowhere" / "out", np.eye(2), [0, 1])
    with pytest.raises(ValueError, match="names"):
        write_rows(path, np.eye(2), [0, 1], format="csv", names=["a"], n_features=2)
    with pytest.raises(ValueError, match="delimiter"):
        write_rows(path, np.eye(2), [0, 1], format="csv", delimiter="::")
    with pytest.raises(furrow.RangeError):
        write_rows(path, np.eye(3), [0, 1, 2], format="csv", n_features=2)
    assert not path.exists()


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(finite, min_size=3, max_size=3), min_size=1))
@settings(max_examples=50, deadline=None)
def test_numbers_read_back_to_the_same_bits(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("bits") / "out"
    expected = np.array(table, np.float32)
    write_rows(path, expected, np.zeros(len(table)), format="csv")
    rows = read_rows(f"{path}?format=csv&label_column=0&header=no")
    assert rows.to_numpy(3).tobytes() == expected.tobytes()


# ---- many at once


def test_threads(large):
    path, matrix, labels = large
    errors = []

    def work():
        try:
            for _ in range(3):
                rows = read_rows(path, threads=2)
                assert (rows.to_scipy(1000) != matrix).nnz == 0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_one_object_in_many_threads(large):
    path, matrix, labels = large
    rows = read_rows(path, threads=1)
    counts = []

    def work(read):
        counts.append(read())

    reads = [
        lambda: sum(len(block) for block in rows),
        lambda: rows.shape[0],
        lambda: rows.to_scipy().shape[0],
        lambda: len(rows.labels),
    ]
    threads = [threading.Thread(target=work, args=(read,)) for read in reads * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [8000] * 12


def test_copies_and_pickles(large):
    path, matrix, labels = large
    rows = read_rows(path, part=1, nparts=3)
    again = pickle.loads(pickle.dumps(rows.load()))
    assert (again.part, again.nparts, again.loaded) == (1, 3, False)
    assert np.array_equal(again.labels, rows.labels) and np.array_equal(copy.deepcopy(rows).labels, rows.labels)
    block = pickle.loads(pickle.dumps(rows.block))
    assert np.array_equal(block.indices, rows.indices)


def test_one_reader_in_many_threads(large):
    reader = _core.RowReader.open(str(large[0]), {})
    counts = []

    def work():
        while (block := reader.next()) is not None:
            counts.append(len(block.arrays()[0]) - 1)
            reader.stats(), reader.info()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 8000


def test_core_refuses_wrong_arguments():
    good = (np.array([0, 1], np.uint64), np.array([0], np.uint32), None, False, False, np.empty((1, 1), np.float32))
    _core.fill_table(*good)
    wrong = [
        (0, np.array([0], np.uint64)),
        (0, np.array([0, 2], np.uint64)),
        (0, np.array([1, 0], np.uint64)),
        (1, np.array([1], np.uint32)),
        (1, np.array([1], np.uint64)),
        (2, np.zeros(2, np.float32)),
        (2, np.zeros(1)),
        (5, np.empty((2, 1), np.float32)),
        (5, np.empty((1, 0), np.float32)),
        (5, b"1234"),
    ]
    for i, value in wrong:
        with pytest.raises((ValueError, TypeError, BufferError)):
            _core.fill_table(*good[:i], value, *good[i + 1 :])
    for arguments in (("a",), (1, {}), ("a", None), ("a", {"unknown": 1}), ("a", {"format": 3})):
        with pytest.raises((TypeError, ValueError)):
            _core.RowReader.open(*arguments)


def test_nothing_leaks(libsvm):
    """10,000 small calls: neither Python objects nor memory of the library are left."""
    matrix = sp.random(20, 10, 0.5, "csr", dtype=np.float32, random_state=0)
    options = {"threads": 1}

    def call():
        with furrow._data.open_rows(matrix, labels=np.zeros(20, np.float32)) as source:
            reader = _core.RowReader.open(source.uri, options)
            block = reader.next()
            block.arrays()

    for _ in range(500):
        call()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        call()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 20_000  # KiB
    for _ in range(200):
        read_rows(libsvm).to_scipy()
