"""docs/architecture.md names every module there is, and none that is not."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "intravar"
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def named() -> set[str]:
    """Return the modules of the tables; a name without a folder lies in that of the name before."""
    found: set[str] = set()
    section = folder = ""
    for line in TEXT.partition("## Decisions")[0].splitlines():
        if heading := re.match(r"\*\*(.+?)\*\*", line):
            folders = re.findall(r"`(\w+)/`", heading[1])
            # Under a heading of two packages each row says which it means.
            section = f"{folders[0]}/" if len(folders) == 1 else ""
        if not line.startswith("| `"):
            continue
        folder = section
        for name in re.findall(r"`([\w/]+\.py)`", line.split("|")[1]):
            if "/" in name:
                folder = section + name.rpartition("/")[0] + "/"
            found.add(folder + name.rpartition("/")[2])
    return found


def test_every_module_is_named_and_nothing_else() -> None:
    modules = {path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py")}
    packages = {name for name in modules if name.endswith("/__init__.py")}
    assert sorted(modules - packages - named()) == []
    assert sorted(named() - modules) == []
