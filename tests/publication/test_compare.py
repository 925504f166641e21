"""Two stored measurements side by side: by what was published, or by both private folders."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from documents.made_several import made_several
from intravar import documents
from intravar.documents.blocks import text_lines
from intravar.errors import InputError
from intravar.measurement.columns import typed
from intravar.publication.compare import TOGETHER, _step_of_mean, compare_each
from intravar.publication.files import files_of, parquet_bytes, read_published, write_folders
from intravar.publication.policy import FINE
from intravar.publication.pseudonyms import Pseudonyms
from intravar.publication.results import Figure, Group, Noise, PhysicianRow, rows_of
from intravar.tables import Table
from made_published import made_published

REQUEST = intravar.Request(physician="doctor", decision="statin")
NAMES = ["Ada", "Ben", "Cleo"]
KEYS = b"one key of sixteen bytes", b"another of sixteen bytes"


def figures(shift: float) -> pl.DataFrame:
    value = [0.1 + shift, 0.2 + shift, 0.3 + shift]
    low, high = ([each + by for each in value] for by in (-0.02, 0.02))
    return typed(
        {
            "physician": NAMES,
            "n_patients": [100, 200, 100],
            "discordance": value,
            "low": low,
            "high": high,
        }
    )


def of_all(value: float) -> Group:
    """What is told of all together; noise as it is stored is half of it."""
    figure, none = Figure(value / 2, value / 2 - 0.05, value / 2 + 0.05), Figure(0.0, 0.0, 0.0)
    return Group(
        *(Figure(value, value - 0.1, value + 0.1), Figure(), None, 0.02, None, None),
        Noise(figure, none, none, figure, figure),
        *(None, None, None, None),
    )


def stored(out: Path, key: bytes, shift: float, told: float = 0.2, **asked: Any) -> Path:
    """Write a measurement that publishes the figures of all but Ada, and that of all as `told`."""
    pseudonyms = Pseudonyms.of(NAMES, key)
    table, ends = figures(shift), ("discordance", "low", "high")
    called = pl.col("physician").replace_strict(pseudonyms.by_name)
    shown = table.with_columns(
        called,
        *(pl.when(pl.col("physician") != "Ada").then(pl.col(name)) for name in ends),
        reportable=pl.col("physician") != "Ada",
        n_patients=pl.lit(400),
        rate=pl.col("discordance").round(1),
    ).sort("physician")
    made = made_published(pseudonyms.by_name.values(), replace(REQUEST, **asked))
    rows = rows_of(shown, PhysicianRow)
    decision = replace(made.first, physicians=rows, group=of_all(told), n_patients_shown=4000)
    published = replace(made, decisions=(decision,))
    private = {
        "key.json": pseudonyms.as_json().encode(),
        "figures.parquet": parquet_bytes(table),
    }
    write_folders(out, files_of(published), private)
    return out


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    first = stored(tmp_path / "first", b"one key of sixteen bytes", 0.0)
    return first, stored(tmp_path / "second", b"another of sixteen bytes", 0.1)


def test_private_folders_compare_everybody_by_name(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders, exact=True)
    assert found.physicians["physician"].to_list() == NAMES
    assert found.physicians["change"].to_list() == [0.1, 0.1, 0.1]
    assert any("do not hand this on" in note for note in found.notes)


def test_else_figures_are_those_that_were_published(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders)
    assert found.physicians.height == 2
    assert not set(NAMES) & set(found.physicians["physician"])
    assert any("matched by the names" in note for note in found.notes)
    assert any("1 is in both and has no figure" in note for note in found.notes)


def test_a_folder_with_brackets_is_not_the_one_beside_it(tmp_path: Path) -> None:
    stored(tmp_path / "run1", KEYS[0], 0.0)
    bracketed = stored(tmp_path / "run[1]", KEYS[0], 0.1)

    published = [row.discordance for row in read_published(bracketed).first.physicians]
    exact = intravar.compare(tmp_path / "run1", bracketed, exact=True).physicians

    assert sorted(filter(None, published)) == pytest.approx([0.3, 0.4])
    assert exact["change"].to_list() == [0.1, 0.1, 0.1]


def test_without_a_private_folder_exact_figures_are_refused(folders: tuple[Path, Path]) -> None:
    (folders[1].with_name("second-private") / "figures.parquet").unlink()
    with pytest.raises(InputError, match="exact figures of .*second' are kept in .*leave exact"):
        intravar.compare(*folders, exact=True)
    for folder in folders:
        (folder.with_name(f"{folder.name}-private") / "key.json").unlink()
    with pytest.raises(InputError, match="no physician is in both measurements"):
        intravar.compare(*folders)


@pytest.mark.parametrize(("told", "change"), [(0.2, 0.0), (0.21, None), (0.22, 0.02)])
def test_a_change_within_rounding_is_none(tmp_path: Path, told: float, change: float) -> None:
    folders = stored(tmp_path / "a", KEYS[0], 0.0), stored(tmp_path / "b", KEYS[1], 0.0, told)
    found = intravar.compare(*folders)
    figure = found.group[0]
    assert (figure.first, figure.second, figure.change) == (0.2, told, change)
    assert figure.within_rounding == (told < 0.22)
    assert found.as_json()["group"][0]["change"] == change
    told_words = {0.2: "0", 0.21: "none", 0.22: "+2"}[told]
    table = documents.comparison_blocks({"": found})[0]
    assert table.rows[0].cells[3].text == told_words
    exact = intravar.compare(*folders, exact=True).group[0]
    assert (exact.first, exact.second, exact.change) == (0.2, 0.2, 0.0)
    assert not exact.within_rounding


def test_parts_of_noise_have_the_words_of_the_page(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders)
    assert [(row.figure, row.first) for row in found.group[1:]] == [
        *(("system", 0.2), ("level", 0.0), ("pattern", 0.0), ("occasion", 0.2))
    ]
    told = [row.of for row in found.group]
    assert told[1:3] == [
        "patients seen by two physicians",
        "because some say yes more often than others",
    ]
    # The figure of all is a limit, components of noise are estimates; no width is no interval.
    assert [(row["claim"], row["low"] is None) for row in found.as_json()["group"]] == [
        ("at most", False),
        ("about", False),
        *[("about", True)] * 2,
        ("about", False),
    ]
    table = documents.comparison_blocks({"": found})[0]
    assert [row.cells[4].text for row in table.rows[2:4]] == ["–", "–"]
    assert "A dash: the interval is narrower" in table.caption
    assert not any(each in row for row in told for each in ("system", "level", "pattern"))


def test_other_parts_of_the_request_are_named(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", KEYS[0], 0.0)
    asked = {"by": "sex", "date": "seen", "period": "month", "title": "Ours"}
    second = stored(tmp_path / "b", KEYS[0], 0.1, **asked)
    notes = intravar.compare(first, second).notes
    parts = "by: none then sex, date: none then seen, period: none then month"
    assert f"the requests differ in {parts}" in notes
    asked = {"exclude": ["age", "sex"], "random_state": 1}
    found = intravar.compare(first, stored(tmp_path / "c", KEYS[0], 0.1, **asked))
    (note,) = (each for each in found.notes if "differ in" in each)
    may = "they may measure different things"
    assert (
        note == f"the requests differ in exclude: none then age sex, random_state: 0 then 1; {may}"
    )
    (note,) = (each for each in found.naming(lambda each: each.flag).notes if "differ in" in each)
    assert "--exclude: none then age sex, --seed: 0 then 1" in note


def test_another_source_is_named(tmp_path: Path) -> None:
    folders = stored(tmp_path / "a", KEYS[0], 0.0), stored(tmp_path / "b", KEYS[0], 0.1)
    summary = json.loads((folders[1] / "summary.json").read_text("utf-8"))
    (folders[1] / "summary.json").write_text(json.dumps(summary | {"source": "2024.csv"}), "utf-8")
    notes = intravar.compare(*folders).notes
    assert "the requests differ in source: patients.csv then 2024.csv" in notes


@pytest.mark.parametrize(
    ("rows", "ages", "some"),
    [([2, 3, 4], [61, 62, 63], True), ([2, 3, 4], [61, 70, 63], False), ([5], [60], False)],
)
def test_that_some_patients_are_in_both_is_said(
    folders: tuple[Path, Path], rows: list[int], ages: list[int], some: bool
) -> None:
    kept = {"row": [1, 2, 3], "age": [60, 61, 62]}, {"row": rows, "age": ages}
    for folder, patients in zip(folders, kept, strict=True):
        private = folder.with_name(f"{folder.name}-private")
        pl.DataFrame(patients).write_parquet(private / "patients.parquet")
    said = "some patients were measured both times; intervals take them for others"
    assert (said in intravar.compare(*folders).notes) == some


@pytest.mark.parametrize("content", [b"damaged", b"PAR1 damaged PAR1", b""])
def test_a_damaged_file_tells_nothing_of_shared_patients(
    folders: tuple[Path, Path], content: bytes
) -> None:
    for folder in folders:
        private = folder.with_name(f"{folder.name}-private")
        (private / "patients.parquet").write_bytes(content)
    assert not any("both times" in note for note in intravar.compare(*folders).notes)


def test_exact_figures_are_exact_or_said_to_be_unknown(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders, exact=True)
    whole, *noise = found.group
    assert (whole.first, whole.second, whole.change) == (0.2, 0.3, 0.1)
    assert len(noise) == 4
    assert {(row.first, row.second, row.change, row.low) for row in noise} == {(None,) * 4}
    table = documents.comparison_blocks({"": found})[0]
    assert isinstance(table, Table)
    assert {tuple(cell.text for cell in row.cells[1:]) for row in table.rows[1:]} == {("–",) * 4}
    assert "A dash: the exact figure is not kept." in table.caption
    private = folders[1].with_name("second-private") / "figures.parquet"
    nobody = pl.lit(None, pl.Float64)
    pl.read_parquet(private).with_columns(discordance=nobody).write_parquet(private)
    (whole, *_) = intravar.compare(*folders, exact=True).group
    assert (whole.figure, whole.first, whole.second) == ("discordance", None, None)


def test_estimates_of_limits_are_compared_and_the_line_adds_up(tmp_path: Path) -> None:
    folders = stored(tmp_path / "a", KEYS[0], 0.001), stored(tmp_path / "b", KEYS[0], 0.024)
    blocks = documents.comparison_blocks({"": intravar.compare(*folders)})
    _, table = [each for each in blocks if isinstance(each, Table)]
    figures = {tuple(cell.text for cell in row.cells[1:4]) for row in table.rows}
    assert figures == {("20", "22", "+2"), ("30", "32", "+2")}
    assert table.caption.endswith("The values are estimates of upper limits.")
    assert "at most" not in table.caption


def test_who_is_too_unreliable_to_report_is_not_hidden() -> None:
    made = made_published(NAMES, REQUEST).first
    rows = [replace(row, n_patients=100) for row in made.physicians]
    few = replace(made, n_patients_shown=300, physicians=tuple(rows))
    unreliable = replace(few, physicians=tuple(replace(row, reliability=0.2) for row in rows))
    assert _step_of_mean(few, REQUEST) == 0.26
    assert _step_of_mean(unreliable, REQUEST) == FINE


def test_the_same_patients_are_said_to_be(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", KEYS[0], 0.0)
    same = stored(tmp_path / "b", KEYS[1], 0.0, case_word="claim,claims")
    for folder, words in ((first, "the same patients"), (same, "the same claims")):
        found = intravar.compare(first, folder)
        assert any(words in note for note in found.notes)
        # No interval, and no probability of a change.
        blocks = documents.comparison_blocks({"": found})
        tables = [each for each in blocks if hasattr(each, "rows")]
        assert tables
        assert all(len(row.cells) == 4 for table in tables for row in table.rows)
    others = stored(tmp_path / "c", KEYS[0], 0.1)
    elsewhere = stored(tmp_path / "d", KEYS[0], 0.0, where="age > 60")
    for folder in (others, elsewhere):
        assert not any("the same" in note for note in intravar.compare(first, folder).notes)


def test_several_decisions_are_compared_together(tmp_path: Path) -> None:
    for name, more in (("a", 0.0), ("b", 0.1)):
        made = made_several()
        assert made.joint is not None
        rows = tuple(
            replace(row, differ=None if row.differ is None else row.differ + more)
            for row in made.joint.physicians
        )
        of_all = {"differ": Figure(0.4 + more, 0.3, 0.6), "n_differences": Figure(0.5, 0.45, 0.6)}
        joint = replace(made.joint, physicians=rows, **of_all)
        decisions = [replace(each, n_patients_shown=6000) for each in made.decisions]
        published = replace(made, joint=joint, decisions=tuple(decisions))
        write_folders(tmp_path / name, files_of(published), {})
    found = compare_each(tmp_path / "a", tmp_path / "b")
    assert list(found) == [TOGETHER, *(each.decision for each in made_several().decisions)]
    together = found[TOGETHER]
    differ, number = together.group
    assert (differ.figure, differ.first, differ.second, differ.change) == ("differ", 0.4, 0.5, 0.1)
    assert (number.figure, number.first, number.within_rounding) == ("n_differences", 0.5, True)
    assert set(together.physicians["change"]) == {0.1}
    told = " ".join(text for _, text in text_lines(documents.comparison_blocks(found)))
    assert "Changes one by one" in told
