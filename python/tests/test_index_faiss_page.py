"""The code of docs/coming-from.md runs."""

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not next to the package")
def test_the_blocks_of_the_page_run_in_order():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 7
    has_faiss = importlib.util.find_spec("faiss") is not None
    names = {}
    for i, block in enumerate(blocks):
        if has_faiss or "# needs faiss" not in block:
            exec(compile(block, f"{PAGE.name}, block {i + 1}", "exec"), names)


def test_the_table_names_what_there_is():
    import furrow
    from furrow import index

    named = set(re.findall(r"furrow\.(?:Index\.)?(\w+)\(", PAGE.read_text()))
    assert {"Index", "build", "load", "from_bytes", "exact_search"} <= named
    assert all(hasattr(index, name) or hasattr(index.Index, name) or hasattr(furrow, name) for name in named)
