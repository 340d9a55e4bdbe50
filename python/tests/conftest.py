"""What tests share.

FURROW_COMMAND names the command that tests compare the package with (../build/furrow).
FURROW_TEST_WITHOUT=torch,faiss lets these modules look as if they were not installed.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

for name in filter(None, os.environ.get("FURROW_TEST_WITHOUT", "").split(",")):
    sys.modules[name] = None  # type: ignore[assignment]


if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a script: tests of Ctrl-C need it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def command() -> str:
    """The path of the command furrow."""
    path = Path(os.environ.get("FURROW_COMMAND") or Path(__file__).parents[2] / "build/furrow")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built; FURROW_COMMAND names another one")
    return str(path.resolve())


def rss_bytes() -> int:
    """The memory of this process that is in RAM."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
