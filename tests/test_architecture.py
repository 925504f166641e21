"""docs/architecture.md names every folder of the package, and none that is not there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "intravar"
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def named() -> set[str]:
    tree = TEXT.partition("## What lies where")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in tree.splitlines() if line.startswith("| `")]
    return {folder for row in rows for folder in re.findall(r"`([\w/]+)/`", row)}


def test_every_folder_is_named_and_nothing_else() -> None:
    packages = {path.parent.relative_to(SRC).as_posix() for path in SRC.rglob("__init__.py")}
    assert named() == packages - {"."}
