"""docs/architecture.md names every folder of the package, and the calls of a measurement."""

import ast
import re
import subprocess
import sys
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


def walk() -> list[tuple[str, str]]:
    listed = TEXT.partition("## The walk of")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/.]+)` `(\w+)`:", listed, flags=re.MULTILINE)


def test_the_walk_of_a_measurement_is_the_one_that_is_taken() -> None:
    """Every call is there, and is named in a module that comes before it on the way."""
    calls = walk()
    assert 15 <= len(calls) <= 25
    before = set[str]()
    for module, function in calls:
        tree = ast.parse((SRC / module).read_text("utf-8"))
        found = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
        assert function in found, (module, function)
        assert not before or function in before, (module, function)
        before |= {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        before |= {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}


#: Modules of ours that a measurement with the default method may load.
MOST_LOADED = 150


def test_a_measurement_loads_no_method_that_it_does_not_use() -> None:
    code = (
        "import sys, intravar.cli.measure, intravar.measurement.measure\n"
        "import intravar.documents.measurement.handover, intravar.estimators.predictability\n"
        "print(*(name for name in sys.modules if name.startswith('intravar')))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    names = loaded.split()
    assert "intravar.prediction.common" in names
    assert len(names) <= MOST_LOADED
    unused = ("intravar.latent.", "intravar.study.", "intravar.estimators.glmm")
    assert [name for name in names if name.startswith(unused)] == ["intravar.latent.anchors"]
