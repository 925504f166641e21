"""The command, its formats, and what it says to bad input."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intravar.cli import main
from intravar.documents.typesetting import PPI
from intravar.errors import InputError
from intravar.study.grids import latex_table, latex_text
from intravar.study.report import FORMATS, write_report
from intravar.study.results import read_study
from study.report.conftest import SCRIPT
from study.report.made_results import make_results


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_all_formats(tmp_path: Path) -> None:
    folder = make_results(tmp_path / "results")
    written = write_report(folder, list(FORMATS))
    assert written[0] == folder / "report.html"
    heads = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".tex": b"% needs"}
    for path in written[1:]:
        assert path.read_bytes().startswith(heads[path.suffix])
    assert {path.suffix for path in written} == {".html", *heads}
    assert not list(folder.rglob("*.part"))


def test_figures_are_18_centimetres_wide(tmp_path: Path) -> None:
    folder = make_results(tmp_path / "results")
    name = "score2-panels"
    write_report(folder, ["svg", "png", "pdf"])
    vector = (folder / "figures" / f"{name}.svg").read_text("utf-8")
    sizes = re.match(
        r'<svg [^>]*viewBox="0 0 (\d+) (\d+)"[^>]* width="18cm" height="([\d.]+)cm">', vector
    )
    assert sizes is not None
    wide, high, centimetres = map(float, sizes.groups())
    assert centimetres == pytest.approx(18 * high / wide, abs=0.001)
    picture = (folder / "figures" / f"{name}.png").read_bytes()
    assert int.from_bytes(picture[16:20], "big") == pytest.approx(PPI * 18 / 2.54, abs=1)
    paper = (folder / "figures" / f"{name}.pdf").read_bytes()
    box = re.search(rb"/MediaBox\s*\[0 0 ([\d.]+)", paper)
    assert box is not None
    assert float(box[1]) == pytest.approx(72 * 18 / 2.54, abs=0.1)


def test_made_twice_it_is_the_same(score2_folder: Path) -> None:
    before = (score2_folder / "report.html").read_bytes()
    write_report(score2_folder)
    assert (score2_folder / "report.html").read_bytes() == before


def test_command_prints_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_results(tmp_path / "results")
    assert run("report", str(folder)) == 0
    assert capsys.readouterr().out.strip() == str(folder / "report.html")
    assert run("report", str(folder), "--format", "latex", "--json") == 0
    assert all(path.endswith(".tex") for path in json.loads(capsys.readouterr().out))


def test_open_opens_the_page(score2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert run("report", str(score2_folder), "--open") == 0
    assert opened == [(score2_folder / "report.html").resolve().as_uri()]


def test_benchmark_ends_with_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_results(tmp_path / "results")
    monkeypatch.setattr("intravar.benchmark", lambda *_, **__: read_study(folder))
    assert run("benchmark", "score2", "--out", str(folder)) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == f"report: {folder / 'report.html'}"
    assert (folder / "figures" / "score2-panels.svg").is_file()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda folder: shutil.rmtree(folder), "does not exist"),
        (
            lambda folder: (folder / "manifest.json").unlink(),
            "missing or damaged",
        ),
        (lambda folder: (folder / "manifest.json").write_text("{"), "missing or damaged"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "missing or damaged"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "lacks methods"),
        (lambda folder: (folder / "scores.parquet").write_bytes(b"PAR1"), "missing or damaged"),
        (lambda folder: shutil.copy(folder / "runs.parquet", folder / "scores.parquet"), "lacks"),
        (
            lambda folder: (folder / "tables/seconds.parquet").write_bytes(b""),
            "missing or damaged",
        ),
        (lambda folder: (folder / "details.json").write_bytes(b"\xff"), "missing or damaged"),
    ],
)
def test_bad_folders_get_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], object],
    expected: str,
) -> None:
    folder = make_results(tmp_path / "results", methods=("euclidean",))
    spoil(folder)
    assert run("report", str(folder), "--format", "html,svg,latex") == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert expected in line
    assert not list(tmp_path.rglob("*.html"))
    assert not list(tmp_path.rglob("*.svg"))
    assert not list(tmp_path.rglob("*.tex"))


def test_scores_without_the_oracle_are_refused(tmp_path: Path) -> None:
    folder = make_results(tmp_path / "results", methods=("euclidean",))
    scores = pl.read_parquet(folder / "scores.parquet")
    scores.drop("oracle").write_parquet(folder / "scores.parquet")
    with pytest.raises(InputError, match="lacks oracle"):
        write_report(folder)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="does not exist"):
        write_report(tmp_path / "file")


def test_unknown_formats(score2_folder: Path) -> None:
    with pytest.raises(InputError, match="unknown format 'sgv'; did you mean 'svg'"):
        write_report(score2_folder, "html,sgv")
    with pytest.raises(InputError, match="no format named"):
        write_report(score2_folder, " , ")


def test_missing_packages_are_named(score2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intravar.documents.typesetting.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'^png needs typst.*pip install "intravar\[files\]"'):
        write_report(score2_folder, ["html", "png"])
    assert write_report(score2_folder) == [score2_folder / "report.html"]


def test_latex_is_escaped_and_holds_the_papers_figures(score2_folder: Path) -> None:
    text = latex_table(read_study(score2_folder).grid("score2_groups"))
    assert text.count(r"\quad paper") == 9
    assert r"Euclidean & " in text
    assert text.count("{tabular}") == 2
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert {line.count("&") for line in body} == {7}
    assert latex_text(SCRIPT + "_%\u202e") == (
        r"\textless{}script\textgreater{}document.title='hacked'"
        r"\textless{}/script\textgreater{}\_\%"
    )
