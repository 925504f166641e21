"""The examples of the documents run: the blocks of one file share a namespace."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import intravar
from intravar.cli import app
from intravar.request import read_request

# What the examples say is not looked at here, only that they run.
pytestmark = pytest.mark.usefixtures("learned_once")

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n(.+?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "bash", "powershell")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def blocks(file: Path) -> list[tuple[int, str]]:
    """Return every block with the number of the line before it."""
    text = file.read_text("utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in BLOCK.finditer(text)]


@pytest.mark.parametrize(
    "file", [file for file in FILES if blocks(file)], ids=lambda file: str(file.relative_to(ROOT))
)
@pytest.mark.usefixtures("methods_as_before")
def test_examples_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__example__"}
    for line, source in blocks(file):
        exec(compile("\n" * line + source, str(file), "exec"), namespace)


def test_the_main_documents_have_examples() -> None:
    assert blocks(ROOT / "README.md")
    assert len(blocks(ROOT / "docs" / "simulation.md")) >= 6


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_notebooks_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    cells = json.loads(file.read_text("utf-8"))["cells"]
    code = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    assert code
    assert all(each.get("outputs", []) == [] for each in cells)  # nothing that may grow stale
    for number, source in enumerate(code, 1):
        exec(compile(source, f"{file.name}, cell {number}", "exec"), namespace)


def commands(file: Path) -> list[list[str]]:
    """Return the commands of a document as the shell would take them apart."""
    found = []
    for kind, block in FENCED.findall(file.read_text("utf-8")):
        if kind not in SHELL or block.split()[0] not in ("intravar", "pip", "python"):
            continue  # what a command printed
        lines = re.sub(r"[\\`]\n\s*", " ", block).splitlines()
        found += [shlex.split(line, comments=True) for line in lines]
    return [words for words in found if words and words[0] == "intravar"]


def demo() -> list[list[str]]:
    """Return the commands of `make demo`."""
    recipe = (ROOT / "Makefile").read_text("utf-8").split("\ndemo:")[1].split("\n\n")[0]
    lines = [line.split(" -m ")[1] for line in recipe.splitlines() if " -m intravar" in line]
    return [shlex.split(line) for line in lines]


COMMANDS = {str(file.relative_to(ROOT)): found for file in FILES if (found := commands(file))} | {
    "Makefile": demo()
}


@pytest.mark.parametrize("file", COMMANDS)
def test_commands_are_understood(file: str) -> None:
    known = typer.main.get_command(app)
    for _, name, *arguments in COMMANDS[file]:
        command = known.commands[name]  # type: ignore[attr-defined]
        command.make_context(name, list(arguments))


def test_the_first_commands_of_the_readme_make_page_sheets_and_workbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cohort = intravar.simulate("stress-two-camps", n_patients=300, n_physicians=4, random_state=1)
    cohort.to_polars().write_csv("patients.csv")
    app_first, *rest = COMMANDS["README.md"]
    assert app_first[1] == "app"  # tests/app goes the whole way with it
    first = rest[:3]
    assert [each[1] for each in first] == ["measure", "sheet", "report"]
    for _, *arguments in first:
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, outcome.output
    assert len(list(Path("sheets").glob("*.html"))) == len(list(Path("sheets").glob("*.pdf"))) == 4
    assert {"report.html", "report.xlsx", "report.pdf"} <= {
        file.name for file in Path("mine").iterdir()
    }


def test_what_people_ask_next_in_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On fewer patients than there, the file of all questions included."""
    monkeypatch.chdir(tmp_path)
    tutorial = ROOT / "docs" / "tutorial.md"
    (_, made), *_ = blocks(tutorial)
    fewer = made.replace("n_patients=3000, n_physicians=8", "n_patients=600, n_physicians=4")
    assert fewer != made
    exec(compile(fewer, str(tutorial), "exec"), {})
    asked = [words for words in COMMANDS["docs/tutorial.md"] if "clinic.csv" in words]
    asked += [words for words in COMMANDS["docs/tutorial.md"] if words[1] in ("report", "sheet")]
    assert len(asked) == 6
    for _, *arguments in asked:
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, outcome.output
    for folder in ("older", "course", "together"):
        assert Path(folder, "report.html").is_file()
    assert Path("together", "report.pdf").is_file()
    assert len(list(Path("together-sheets").glob("*.html"))) == 4
    study = next(block for kind, block in FENCED.findall(tutorial.read_text()) if kind == "toml")
    Path("study.toml").write_text(study)
    source, request = read_request("study.toml")
    assert Path(source).resolve() == Path("clinic.csv").resolve()
    assert request.decisions == ("statin", "ace_inhibitor")
    assert (request.by, request.date, request.where) == ("male", "visit", "age >= 60")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    for link in LINK.findall(file.read_text("utf-8")):
        assert (file.parent / link).exists(), link
