"""Long calls: their end with the interpreter, their life after a fork, the arguments that they borrow."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import furrow
from furrow import _core
from interrupts import run_interrupted

START = """
import os, sys, threading, time
import numpy as np
import furrow
rng = np.random.default_rng(0)
x = rng.normal(size=(20000, 16)).astype(np.float32)
y = x[:, 0] > 0
"""


def run(code: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    program = START + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds)


def wait_for(child: int, seconds: int = 200) -> int:
    """The exit status of a child, which a hang ends."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(seconds)
    try:
        return os.waitpid(child, 0)[1]
    finally:
        signal.alarm(0)


@pytest.mark.parametrize(
    "call",
    [
        "index.search(np.tile(x, (50, 1)), 10, nprobe=64)",
        "furrow.Classifier('gbdt', n_estimators=5000).fit(x, y)",
        "furrow.Index.build(np.tile(x, (20, 1)), nlist=2000, m=16)",
    ],
)
def test_a_daemon_thread_ends_with_the_interpreter(call: str) -> None:
    """Its call uses memory of its stack, which goes when the interpreter ends it."""
    done = run(
        f"""
        index = furrow.Index.build(x, nlist=64, m=8)
        class Late:
            def __del__(self, sleep=time.sleep):
                sleep(0.5)
        def deep(n):
            return {call} if n == 0 else list(map(deep, [n - 1]))
        threading.Thread(target=deep, args=(60,), daemon=True).start()
        time.sleep(0.4)
        keep = Late()
        """
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", ["lr", "fm", "gbdt"])
def test_a_child_frees_and_trains_models_of_its_parent(model: str) -> None:
    x = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    y = x[:, 0] > 0
    estimator = furrow.Classifier(model).fit(x, y)
    before = estimator.predict(x)
    child = os.fork()
    if child == 0:
        same = bool((estimator.predict(x) == before).all())
        estimator.fit(x, y)
        same &= bool((estimator.predict(x) == before).all())
        del estimator
        os._exit(0 if same else 1)
    assert wait_for(child) == 0


def test_a_child_closes_a_reader_of_its_parent(tmp_path) -> None:
    path = tmp_path / "rows.libsvm"
    path.write_text("".join(f"{i % 2} {i % 7 + 1}:1 {i % 90 + 10}:0.5\n" for i in range(200_000)))
    blocks = iter(furrow.read_rows(path, threads=3))
    next(blocks)
    child = os.fork()
    if child == 0:
        try:
            next(blocks)
        except furrow.StateError:
            del blocks
            os._exit(0)
        os._exit(1)
    assert wait_for(child) == 0
    assert sum(1 for _ in blocks) > 0


def test_parameters_that_change_themselves() -> None:
    class Evil:
        def __index__(self) -> int:
            options.clear()
            return 1

    options = {"algorithm": "fm" + "x" * 100, "threads": Evil()}
    with pytest.raises(furrow.Error):
        _core.Scorer.load("/tmp/there is no such model", options, {})


def test_parameters_are_a_dict() -> None:
    with pytest.raises(TypeError, match="dict"):
        _core.Index.load("/tmp/there is no such index", [("memory_map", True)])


def test_a_change_is_not_starved_by_searches() -> None:
    done = run(
        """
        index = furrow.Index.build(x, nlist=64, m=8)
        stop = False
        def search():
            while not stop:
                index.search(x[:2000], 5, nprobe=8, threads=1)
        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads: thread.start()
        start = time.monotonic()
        for _ in range(3): index.add(x[:1])
        print(time.monotonic() - start)
        stop = True
        for thread in threads: thread.join()
        """
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 120  # without a turn for the change: as long as the searches go on


def test_ctrl_c_while_another_call_has_the_index() -> None:
    setup = """
        index = furrow.Index.build(x, nlist=64, m=8)
        queries = np.tile(x, (100, 1))
        threading.Thread(target=lambda: index.search(queries, 10, nprobe=64, threads=1), daemon=True).start()
    """
    assert run_interrupted(START + textwrap.dedent(setup), "index.add(x[:1])", "os._exit(0)") == ["stopped True"]


def test_a_block_does_not_trust_what_it_gave_out(tmp_path) -> None:
    path = tmp_path / "rows.libsvm"
    path.write_text("1 1:1 2:1\n0 3:1\n")
    block = _core.RowReader.open(str(path), {}).load(None)
    np.asarray(block.arrays()[0])[-1] = 10**6
    assert len(block.arrays()[1]) == 3


def test_ctrl_c_in_a_callback() -> None:
    """It runs in the calling thread, so that a signal ends even one that sleeps."""
    done = run(
        """
        import signal
        threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            furrow.Classifier("fm", epochs=3).fit(x, y, callback=lambda epoch: time.sleep(200))
        except KeyboardInterrupt:
            print("stopped", threading.current_thread() is threading.main_thread())
        sys.exit(time.monotonic() - start > 150)
        """
    )
    assert (done.returncode, done.stdout) == (0, "stopped True\n"), done.stderr
