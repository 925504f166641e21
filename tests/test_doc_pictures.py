"""The documents' pictures: one folder, every link leads to one, every one is linked."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
LINK = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


def test_pictures_lie_in_one_folder_and_are_linked() -> None:
    linked = {
        (page.parent / link).resolve()
        for page in DOCS.rglob("*.md")
        for link in LINK.findall(page.read_text("utf-8"))
    }
    there = {path.resolve() for path in DOCS.rglob("*") if path.suffix in (".png", ".svg")}
    assert linked == there
    assert {path.parent.name for path in there} == {"pictures"}
