"""The examples of the documents: every block of Python is run, and shows what it says."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("docs/python.md", "README.md")
BLOCK = re.compile(r"^```python *(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # after python: a package that it needs


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples(document, tmp_path, monkeypatch):
    for needed in ("pandas", "scipy", "sklearn"):
        pytest.importorskip(needed)
    text = (ROOT / document).read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names, failures = {"__name__": "__main__"}, []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for block in blocks:  # one after the other: later blocks use what earlier ones made
        if block[1] and importlib.util.find_spec(block[1]) is None:
            continue
        line = text.count("\n", 0, block.start(2))
        test = doctest.DocTestParser().get_doctest(block[2], names, document, document, line)
        assert test.examples, f"{document}:{line + 1}: a block of Python without >>> is not run"
        runner.run(test, out=failures.append, clear_globs=False)
        names = test.globs
    assert not failures, "".join(failures)
