"""Sheets: for one physician alone, among peers nobody can name, in words for every case."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pypdf
import pytest

import intravar
from intravar.documents.blocks import (
    Document,
    Figure,
    Note,
    Paragraph,
    text_lines,
    walk,
)
from intravar.documents.html import as_html
from intravar.documents.measurement.deciders import dots, intervals
from intravar.documents.measurement.evidence import NOBODY_ALIKE, cases_of_each
from intravar.documents.measurement.handover import write_measurement, write_sheets
from intravar.documents.sheet import FEWEST_PEERS, Own, among_peers, sheet
from intravar.documents.typesetting import as_pdf
from intravar.errors import InputError
from intravar.measurement.verdict import NOTHING
from intravar.publication.disclosure import without_figures
from intravar.publication.files import read_published
from intravar.publication.results import (
    ChangeRow,
    Noise,
    OwnRule,
    Published,
    Review,
    Strata,
    Stratum,
    StratumRow,
)
from intravar.publication.results import (
    Figure as Share,
)
from intravar.tables import Table
from intravar.wording import USUAL
from made_published import made_published
from read_files import text_of

pytestmark = pytest.mark.usefixtures("learned_once")

RANK = {"rank": 2.0, "rank_low": 1, "rank_high": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("score2", n_patients=1000, n_physicians=8, random_state=4)
    table = cohort.to_polars().with_columns(
        pl.format("Dr. Secret {}", "physician").alias("physician")
    )
    measured = intravar.measure(
        table, physician="physician", decision="decision", method="euclidean", min_reliability=0
    )
    out = tmp_path_factory.mktemp("measured") / "out"
    write_measurement(measured, out)
    return out


STATIN = intravar.Request(physician="doctor", decision="statin")


def changed(published: Published, row: dict[str, Any] | None = None, **fields: Any) -> Published:
    """Return a publication with another first row, or other fields."""
    first, *others = published.first.physicians
    rows = (replace(first, **(row or {})), *others)
    decision = replace(published.first, physicians=rows, **fields)
    return replace(published, decisions=(decision,))


@pytest.fixture(scope="module")
def told(folder: Path) -> Published:
    published = read_published(folder)
    figures = [{"discordance": 0.1 + 0.02 * n, "low": 0.05, "high": 0.3} for n in range(8)]
    shown: dict[str, Any] = {"reportable": True, "reason": None, "n_patients": 120}
    shown |= {"band_low": None, "band_high": None, **RANK}
    rows = tuple(
        replace(row, **shown, **more)
        for row, more in zip(published.first.physicians, figures, strict=True)
    )
    decision = replace(published.first, physicians=rows, verdict="levels and ranks")
    return replace(published, decisions=(decision,))


def first(published: Published, **options: Any) -> Document:
    return sheet(published, published.first.physicians[0].physician, **options)


def figure_of(document: Document) -> Note:
    (note,) = [
        each for each in walk(document.blocks) if isinstance(each, Note) and each.look == "figure"
    ]
    return note


def strips(document: Document) -> list[Figure]:
    return [
        each for each in walk(document.blocks) if isinstance(each, Figure) and each.name == "strip"
    ]


def words_of(document: Document) -> str:
    return "\n".join(f"{aside} {text}" for aside, text in text_lines(document.blocks))


def test_a_figure_stands_among_unnamed_peers(told: Published) -> None:
    document = first(told)
    assert figure_of(document).strong == "about 10 of 100"
    (strip,) = strips(document)
    assert strip.svgs[0].count('class="peer"') == 7
    assert "7 other physicians" in strip.reading
    others = [row.physician for row in told.first.physicians[1:]]
    assert not [name for name in others if name in as_html(document)]


def test_a_figure_without_an_interval_is_told_and_drawn(told: Published) -> None:
    """Methods of one's own may have none."""
    made = changed(told, dict.fromkeys(("low", "high", "rank", "rank_low", "rank_high")))
    note = figure_of(first(made))
    assert (note.strong, "about 10 get different decisions" in note.text) == (
        "about 10 of 100",
        True,
    )
    assert "None" not in words_of(first(made))
    assert Own(0.1, None, None).row("all", 0.2).in_words == "all: you 10, all 20"
    for chart in (dots, intervals):
        drawn, before = chart(made.first, USUAL), chart(told.first, USUAL)
        assert drawn is not None
        assert before is not None
        assert "8 physicians with a figure" in drawn.alternative
        assert drawn.svgs[0].count("<circle") == before.svgs[0].count("<circle")


def test_few_peers_are_not_shown(told: Published) -> None:
    table = told.first.physicians
    few = replace(told.first, physicians=table[:FEWEST_PEERS])
    document = first(replace(told, decisions=(few,)))
    assert not strips(document)
    assert "each could be recognised" in words_of(document)
    enough = replace(told.first, physicians=table[:6])
    assert strips(first(replace(told, decisions=(enough,))))


@pytest.mark.parametrize("verdict", ["group only", "not interpretable"])
def test_where_nobody_is_to_be_compared_there_are_no_peers_and_no_rank(
    told: Published, verdict: str
) -> None:
    made = changed(told, verdict=verdict)
    if verdict == NOTHING:
        made = replace(made, decisions=(without_figures(made.first),))
    document = first(made)
    assert not strips(document)
    assert "Your rank" not in words_of(document)


@pytest.mark.parametrize(
    ("row", "figure", "words"),
    [
        ({"band_low": 0.0, "band_high": 0.1}, "10 or less of 100", "as a range"),
        ({"band_low": 0.1, "band_high": 0.45}, "10 to 45 of 100", "small numbers of patients"),
        ({"shrunken": 0.2}, "about 20 of 100", "pulled towards the average"),
        ({"identified_low": 0.1, "identified_high": 0.4}, "10 to 40 of 100", "fits the data"),
        ({"reason": "fewer than 30 decisions"}, "no figure", "fewer than 30 decisions"),
    ],
)
def test_without_a_number_the_sheet_says_what_is_known_and_why(
    told: Published, row: dict[str, Any], figure: str, words: str
) -> None:
    known = ("discordance", "low", "high", "shrunken", "rank", "band_low", "identified_low")
    document = first(changed(told, dict.fromkeys(known) | row))
    assert figure_of(document).strong == figure
    assert words in figure_of(document).text
    assert not strips(document)
    assert pages_of_pdf(document) == 1


def pages_of_pdf(document: Document) -> int:
    return len(pypdf.PdfReader(io.BytesIO(as_pdf(document))).pages)


def test_rate_rule_and_noise_are_told_in_their_words(told: Published) -> None:
    name = told.first.physicians[0].physician
    assert told.first.group is not None
    noise = Noise(*(Share(value, None, None) for value in (0.151, 0.001, 0.05, 0.1, 0.15)))
    made = changed(
        told,
        {"rate": 0.42, "gain": 0.1, "expected": 0.2},
        own_rules=tuple(
            OwnRule(name, "sbp", how)
            for how in ("more", "less", "the other way", "up", "down", "damaged")
        ),
        group=replace(told.first.group, noise=noise, discordance=Share(0.2)),
        compared="pairs of similar cases",
    )
    request = replace(
        told.request,
        decider_word="judge,judges",
        case_word="case,cases",
        labels=(("sbp", "patient risk"),),
        title="Bail",
    )
    document = first(replace(made, request=request))
    assert document.title == "Bail"
    text = words_of(document)
    assert text.count("patient risk") == 5
    assert re.search(r'Your rate of "yes": 42 % \(all: ', text)
    assert "Your cases: 120" in text
    assert "10 because they weigh cases differently" in text
    assert not re.search(r"physician|patient", text.replace("patient risk", ""))


def test_one_printable_page(told: Published) -> None:
    row = {"rate": 0.42, "gain": 0.1, "expected": 0.2, "contradiction": 0.1}
    document = first(changed(told, row))
    assert pages_of_pdf(document) == 1
    assert as_pdf(document) == as_pdf(document)
    assert as_pdf(document, "us-letter") != as_pdf(document)


def test_many_peers_stay_within_the_picture() -> None:
    (made,) = among_peers(Own(0.5, 0.48, 0.5), [0.13] * 2000, USUAL)
    assert isinstance(made, Figure)
    heights = re.findall(r'class="peer" cx="[\d.]+" cy="(-?[\d.]+)"', made.svgs[0])
    assert min(map(float, heights)) >= 0


def test_the_own_dot_lies_at_the_number_that_is_told() -> None:
    """The estimate of a limit, 20.3, stands with others of 20; the bar reaches to the limit."""
    (made,) = among_peers(Own(0.203, 0.1, 0.26, "at most"), [0.2, *[0.3] * 9], USUAL)
    assert isinstance(made, Figure)
    places = re.findall(r'class="(own|peer)" cx="([\d.]+)"', made.svgs[0])
    own = next(at for kind, at in places if kind == "own")
    assert min(float(at) for kind, at in places if kind == "peer") == float(own)


def test_subgroups_and_periods_stand_beside_all(told: Published) -> None:
    name = told.first.physicians[0].physician
    periods = [f"20{at:02d}" for at in range(10)]
    rows = [("by", "F"), ("by", "M"), *(("period", each) for each in periods)]
    strata = tuple(StratumRow(dealt, name, stratum, 80, 0.2, 0.1, 0.3) for dealt, stratum in rows)
    changes = (ChangeRow("period", name, 0.04, -0.09, 0.17, 0.08, 0.96),)

    def all_of(names: list[str]) -> Strata:
        listed = tuple(Stratum(each, 0.25, Share(0.25)) for each in names)
        return Strata(listed, 0, None, lines=("They differ.",))

    made = changed(
        told, by=all_of(["F", "M"]), course=all_of(periods), strata=strata, changes=changes
    )
    text = words_of(first(made))
    assert "F: you 20 [10, 30], all 25" in text
    assert "The last 8 of 10." in text
    assert "+4 [-9, +17] of 100" in text
    other = sheet(made, told.first.physicians[1].physician)
    assert words_of(other).count("Your figures are not shown") == 2


def test_those_with_a_figure_get_a_file_and_a_list(folder: Path, tmp_path: Path) -> None:
    written = write_sheets(folder, tmp_path / "sheets", formats=["html", "pdf"])
    stored = pl.read_parquet(folder / "physicians.parquet")
    known = stored.filter(stored["discordance"].is_not_null() | stored["band_low"].is_not_null())
    shown = stored["physician"].to_list()
    assert not written.private
    sheets = [path for path in written.files if path.suffix != ".csv"]
    assert {path.stem for path in sheets} == set(known["physician"])
    listed = pl.read_csv(tmp_path / "sheets" / "sheets.csv")
    assert listed.columns == ["physician", "html", "pdf"]
    assert set(listed["pdf"]) == {path.name for path in sheets if path.suffix == ".pdf"}
    for path in sheets:
        others = [name for name in shown if name != path.stem]
        text = text_of(path)
        assert "Secret" not in text
        assert not [name for name in others if name in text], path.name
    assert write_sheets(folder, tmp_path / "sheets", formats=["html", "pdf"]) == written


def test_name_and_pseudonym_mean_the_same_physician(folder: Path, tmp_path: Path) -> None:
    names = json.loads((folder.with_name("out-private") / "key.json").read_text())["physicians"]
    pseudonym, name = next(iter(names.items()))
    one = write_sheets(folder, tmp_path / "a", physician=pseudonym)
    other = write_sheets(folder, tmp_path / "b", physician=name)
    assert one.files[0].read_bytes() == other.files[0].read_bytes()
    assert one.files[0].name == other.files[0].name == f"{pseudonym}.html"
    with pytest.raises(InputError, match="unknown physician 'Nobody'"):
        write_sheets(folder, tmp_path / "c", physician="Nobody")
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(os.name != "posix", reason="this system keeps no files to their owner")
def test_names_and_cases_are_for_the_owner_alone(folder: Path, tmp_path: Path) -> None:
    written = write_sheets(
        folder, tmp_path / "s", names=True, cases=True, physician="Dr. Secret P01"
    )
    assert written.private
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700
    for path in written.files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert written.files[0].name == "Dr. Secret P01.html"
    page = written.files[0].read_text("utf-8")
    assert "Dr. Secret P01" in page
    assert "shows single patients" in page
    assert "two patients alike, distance" in page


def test_exact_figures_go_to_the_private_folder_alone(folder: Path, tmp_path: Path) -> None:
    private = folder.with_name("out-private")
    exact = pl.read_parquet(private / "figures.parquet")
    written = write_sheets(folder, exact=True, names=True)
    assert written.private
    assert {path.parent for path in written.files} == {private / "sheets"}
    for row in exact.iter_rows(named=True):
        page = private / "sheets" / f"{row['physician']}.html"
        if page.is_file() and row["discordance"] is not None:
            assert f"about {100 * row['discordance']:.0f} of 100" in page.read_text("utf-8")
    with pytest.raises(InputError, match="exact figures are for the private folder"):
        write_sheets(folder, tmp_path / "x", exact=True)
    with pytest.raises(InputError, match="name a folder"):
        write_sheets(folder)
    shutil.copytree(folder, tmp_path / "handed")
    with pytest.raises(InputError, match="which cannot be read"):
        write_sheets(tmp_path / "handed", exact=True)


def test_without_the_private_folder_names_and_cases_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "handed")
    public = write_sheets(tmp_path / "handed", tmp_path / "sheets")
    assert [path.name for path in public.files] == [
        path.name for path in write_sheets(folder, tmp_path / "own").files
    ]
    for option, words in (("names", "names lie in the private folder"), ("cases", "are kept in")):
        with pytest.raises(InputError, match=words):
            write_sheets(tmp_path / "handed", tmp_path / option, **{option: True})
        assert not (tmp_path / option).exists()


def test_a_strange_place_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a folder for the sheets alone"):
        write_sheets(folder, folder)
    with pytest.raises(InputError, match="is not the folder of a measurement"):
        write_sheets(tmp_path, tmp_path / "x")
    with pytest.raises(InputError, match="unknown paper"):
        write_sheets(folder, tmp_path / "x", paper="a5")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sheets.csv").write_text("mine")
    with pytest.raises(InputError, match="would be overwritten"):
        write_sheets(folder, tmp_path / "mine")
    assert len(list((tmp_path / "mine").iterdir())) == 1


def test_a_surprise_is_told_with_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases of predictions: the patient most alike stands beside it, or nobody does."""
    rows: list[dict[str, Any]] = [
        {"case": 1, "row": 5, "pair": 1, "predicted": 0.9, "row_for": 7, "row_against": 5},
        {"case": 1, "row": 5, "pair": 2, "predicted": 0.9, "row_for": 8, "row_against": 5},
        {"case": 2, "row": 6, "pair": 3, "predicted": 0.1, "row_for": 6, "row_against": None},
    ]
    cells = {"kind": "surprise", "covariate": "age", "decided_for": "70", "decided_against": "61"}
    table = pl.DataFrame([row | cells | {"difference": "+9"} for row in rows])
    name = "intravar.publication.explain.explain"
    monkeypatch.setattr(name, lambda *_args, **_most: table)
    blocks = cases_of_each(Path(), "P-1", made_published(["P-1"], STATIN))
    made = [each for each in blocks if isinstance(each, Table)]
    assert [case.caption for case in made] == [
        "1. Data row 5, statin: no; predicted was yes, with 90 of 100.",
        "2. Data row 6, statin: yes; predicted was no, with 90 of 100.",
    ]
    assert [column.heading for column in made[0].columns] == [
        *("what differs", "row 5: no", "row 7: yes")
    ]
    assert [cell.text for cell in made[0].rows[0].cells] == ["age", "61", "70 (+9)"]
    assert [cell.text for cell in made[1].rows[0].cells] == ["age", "70"]
    assert blocks[-1] == Paragraph(NOBODY_ALIKE, quiet=True)


def test_whoever_has_no_rank_is_told_so_and_is_no_peer(told: Published) -> None:
    document = first(changed(told, {"rank": None, "reason": "cannot be ranked"}))
    assert figure_of(document).text.endswith("You have no rank: cannot be ranked.")
    why = {"reason": "cannot be ranked: reliability below 0.4", "reliability": 0.398}
    document = first(changed(told, {"rank": None} | why))
    assert figure_of(document).text.endswith("You have no rank: reliability below 0.4.")
    assert "0.40" not in words_of(document)
    assert "Reliability of your figure (1 is the best): 0.39" in words_of(document)
    assert not strips(document)
    rows = list(told.first.physicians)
    rows[1] = replace(rows[1], rank=None)
    other = replace(told, decisions=(replace(told.first, physicians=tuple(rows)),))
    assert strips(first(other))[0].svgs[0].count('class="peer"') == 6


def test_an_upper_limit_reads_as_one_on_a_sheet(told: Published) -> None:
    row = {"discordance": 0.18, "low": 0.05, "high": 0.25, "expected": 0.2, "shrunken": 0.21}
    document = first(changed(told, row, claim="at most"))
    assert figure_of(document).strong == "at most 25 of 100"
    assert "at most 25 get different decisions (estimate of the limit: 18)" in (
        figure_of(document).text
    )
    assert "about 20 of 100 (estimate of the limit)" in words_of(document)
    hidden = {"discordance": None, "low": None, "high": None, "shrunken": None}
    banded = first(changed(told, hidden | {"band_low": 0.17, "band_high": 0.3}, claim="at most"))
    assert figure_of(banded).strong == "estimate 17 to 30 of 100"


def test_where_nothing_is_explained_no_rule_is_said_to_predict(told: Published) -> None:
    for explained, much in ((0.0, "no"), (0.04, "hardly")):
        text = words_of(first(changed(told, {"gain": 0.1, "explained": explained})))
        rate = 'your rate of "yes" alone does'
        assert f"What is recorded predicts your decisions {much} better than {rate}." in text
        assert "A rule of your own" not in text
    some = words_of(first(changed(told, {"gain": 0.1, "explained": 0.4})))
    assert "A rule of your own predicts" in some


def test_the_own_reviewed_figure_stands_only_where_it_is_published(told: Published) -> None:
    name = told.first.physicians[0].physician
    all_together = Review(Share(0.13, 0.09, 0.18), 120, 0.21, 0.01)
    own = replace(all_together, physicians={name: Share(0.2, 0.1, 0.3)})
    asked = "among pairs that reviewers found comparable"
    assert f"Yours, {asked}: 20 of 100" in words_of(first(changed(told, review=own)))
    assert f"All together, {asked}: 13 of 100" in words_of(
        first(changed(told, review=all_together))
    )
    assert asked not in words_of(first(told))
