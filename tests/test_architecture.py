"""docs/architecture.md names every folder of the package, and the calls of a measurement."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import intravar

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


#: Modules of ours that `intravar measure patients.csv` may load.
MOST_LOADED = 110


def test_a_measurement_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """The command itself is run, so that what is loaded on the way counts as well."""
    cohort = intravar.simulate("score2", n_patients=200, n_physicians=5, random_state=1)
    cohort.to_polars().write_csv(tmp_path / "patients.csv")
    asked = ["measure", "patients.csv", "--physician", "physician", "--decision", "decision"]
    code = (
        "import sys\nfrom intravar.cli import main\n"
        f"try: main({[*asked, '--quiet']})\nexcept SystemExit as left: assert left.code in (0, 4)\n"
        "print(*(name for name in sys.modules if name.startswith('intravar')))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    names = ended.stdout.split()
    assert "intravar.prediction.held_out" in names
    unused = (
        *("latent", "study", "review", "matching", "app", "estimators.glmm", "estimators.several"),
        *("sources.databases", "sources.omop", "measurement.wider", "publication.joint"),
        *("runs.buckets", "runs.engines", "documents.word", "cli.study"),
    )
    assert not [name for name in names if name.removeprefix("intravar.").startswith(unused)]
    assert len(names) <= MOST_LOADED
