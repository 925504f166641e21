"""The examples of the documents run: the blocks of one file share a namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(file: Path) -> list[tuple[int, str]]:
    """Return every block with the number of the line before it."""
    text = file.read_text("utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize(
    "file", [file for file in FILES if blocks(file)], ids=lambda file: str(file.relative_to(ROOT))
)
def test_examples_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__example__"}
    for line, source in blocks(file):
        exec(compile("\n" * line + source, str(file), "exec"), namespace)


def test_the_main_documents_have_examples() -> None:
    assert blocks(ROOT / "README.md")
    assert len(blocks(ROOT / "docs" / "simulation.md")) >= 6
