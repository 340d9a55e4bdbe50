"""Indexes used by many threads, by forked processes, stopped by signals; no memory is lost."""

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from furrow.index import Index
from interrupts import run_interrupted

X = np.random.default_rng(5).normal(size=(4000, 8)).astype(np.float32)


def run_all(*functions):
    """Runs functions at once; the first exception is raised."""
    with ThreadPoolExecutor(len(functions)) as pool:
        for future in [pool.submit(function) for function in functions]:
            future.result(timeout=300)


def test_searches_at_once_are_the_same_as_one_after_the_other():
    index = Index.build(X, nlist=16, m=4, nprobe=4)
    expected = index.search(X[:200], 5)[1]
    found = [None] * 8

    def search(i):
        found[i] = np.vstack([index.search(X[j], 5)[1] for j in range(200)])

    run_all(*[lambda i=i: search(i) for i in range(8)])
    assert all((one == expected).all() for one in found)


def test_no_update_is_lost_while_others_search_and_change():
    index = Index.build(X[:1000], nlist=4, m=0, nprobe=4)
    stop = threading.Event()
    per_thread, adders = 40, 4
    given = []

    def add(seed):
        rng = np.random.default_rng(seed)
        for _ in range(per_thread):
            given.append(index.add(rng.normal(size=(3, 8)).astype(np.float32)))

    def search():
        while not stop.is_set():
            ids = index.search(X[:100], 3)[1]
            assert (ids[:, 0] == np.arange(100)).all()  # vectors that nobody changes

    def change():
        for i in range(50):
            assert index.remove_ids([500 + i]) == 1
            index.update([600 + i], X[2000 + i])
            assert (index.reconstruct(600 + i) == X[2000 + i]).all()
            index.nprobe = 4
            assert index.to_bytes()[:4] == b"IwFl"

    searchers = [threading.Thread(target=search) for _ in range(3)]
    for thread in searchers:
        thread.start()
    try:
        run_all(*[lambda s=s: add(s) for s in range(adders)], change)
    finally:
        stop.set()
        for thread in searchers:
            thread.join()
    ids = np.concatenate(given)
    assert len(np.unique(ids)) == len(ids) == adders * per_thread * 3
    assert index.ntotal == 1000 - 50 + len(ids)
    assert set(index.ids) == set(range(1000)) - set(range(500, 550)) | set(ids)


def test_indexes_that_are_merged_into_each_other():
    trained = Index.build(X[:500], nlist=4, m=4, nbits=4)
    a, b = Index.from_bytes(trained.to_bytes()), Index.from_bytes(trained.to_bytes())
    b.remove_ids(slice(None))
    a.remove_ids(range(2, 500))

    def merge(into, other, shift):
        for i in range(8):
            into.merge(other, shift + i * 1000)

    run_all(lambda: merge(a, b, 10_000), lambda: merge(b, a, 20_000))
    assert len(a) >= 2 and len(b) >= 2


def test_names_stay_with_their_vectors_while_others_read_them():
    index = Index.build(X[:200], nlist=2, m=0, nprobe=2, names=[f"v{i}" for i in range(200)])
    stop = threading.Event()

    def read():
        while not stop.is_set():
            names = index.search_names(X[:50], 1)[1]
            assert names[:, 0].tolist() == [f"v{i}" for i in range(50)]

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for i in range(60):
        index.add(X[200 + i], names=[f"new {i}"])
        index.remove_ids([f"v{150 - i}"] if i < 60 and 150 - i >= 100 else [])
    stop.set()
    for thread in readers:
        thread.join()
    assert len(index.names) == index.ntotal


def run_python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300, **options
    )


INTERRUPTED = """
    import numpy as np
    from furrow.index import Index, exact_search
    x = np.random.default_rng(0).normal(size=(40_000, 32)).astype(np.float32)
    index = Index.build(x[:5000], nlist=64, m=8, threads=1)
    index.add(x)
    index.search(x[0], 1)
    big = np.concatenate([x] * 50)
    many = np.concatenate([np.arange(40_000)] * 50)
"""


@pytest.mark.parametrize(
    "call",
    [
        "index.search(big, 50, nprobe=64, threads=1)",
        "index.range_search(big, 30.0, nprobe=64, threads=1)",
        "Index.build(big, nlist=4096, m=32, threads=1)",
        "index.reconstruct_batch(many)",
        "exact_search(big, x, 10, threads=1)",
        "index.add(big, threads=1)",
    ],
)
def test_ctrl_c(call):
    lines = run_interrupted(INTERRUPTED, call, "print(index.search(x[7], 1, nprobe=64)[1].shape)")
    assert lines[0].startswith("stopped True") and lines[1:] == ["(1, 1)"]
    assert ("vectors were added" in lines[0]) == call.startswith("index.add")


def test_a_signal_handler_may_change_the_index():
    code = """
        import signal, threading, os
        import numpy as np
        from furrow.index import Index
        x = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
        index = Index.build(x, nlist=64, m=4)
        added = []
        signal.signal(signal.SIGUSR1, lambda *_: added.append(index.add(x[:1])))
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        while not added:
            index.search(np.concatenate([x] * 4), 10, nprobe=32)
        print(added[0].tolist(), index.ntotal)
    """
    done = run_python(code)
    assert done.stdout.strip() == "[20000] 20001", done.stderr


def test_a_forked_process_searches():
    index = Index.build(X, nlist=16, m=4, nprobe=16)
    many = np.concatenate([X] * 3)
    expected = index.search(many, 5, threads=4)[1]  # the threads of the searcher run
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            same = (index.search(many, 5, threads=4)[1] == expected).all()
            index.add(X[:1])
            os.write(writing, b"same" if same and index.ntotal == 4001 else b"different")
        finally:
            os._exit(0)
    os.close(writing)
    for _ in range(4000):
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(0.05)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert os.read(reading, 100) == b"same"
    os.close(reading)
    assert index.ntotal == 4000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def repeat(call, times):
    for i in range(times):
        call(i)
    gc.collect()


def refuse(call):
    with pytest.raises(Exception):
        call()


SMALL = Index.build(X[:64], nlist=2, m=2, nbits=4, names=[f"v{i}" for i in range(64)])


def add_and_remove(i):
    SMALL.add(X[i % 64], names=["more"])
    SMALL.remove_ids(["more"])


@pytest.mark.parametrize(
    "times, call",
    [
        (10_000, lambda i: SMALL.search(X[i % 64], 3)),
        (10_000, lambda i: SMALL.search(X[i % 64], 3, filter=[1, 2, 3])),
        (10_000, add_and_remove),
        (3_000, lambda i: SMALL.search_names(X[:4], 3, exclude=["v1"])),
        (3_000, lambda i: SMALL.range_search(X[:4], 3.0)),
        (3_000, lambda i: Index.from_bytes(SMALL.to_bytes()).search(X[i % 64], 3)),
        (3_000, lambda i: refuse(lambda: SMALL.search(X[:4] * np.nan, 3))),
        (3_000, lambda i: refuse(lambda: SMALL.add(X[:4], names=["a", "b", "v1", "c"]))),
        (3_000, lambda i: refuse(lambda: Index.from_bytes(b"IwPQ" + bytes(200)))),
        (1_000, lambda i: Index.map(SMALL)),
        (300, lambda i: SMALL.search(X[:100], 3)),
    ],
)
def test_no_memory_is_lost(times, call):
    repeat(call, max(times // 10, 20))
    tracemalloc.start()
    try:
        traced, pages = tracemalloc.get_traced_memory()[0], resident()
        repeat(call, times)
        assert tracemalloc.get_traced_memory()[0] - traced < 100_000
    finally:
        tracemalloc.stop()
    assert resident() - pages < 4 << 20
