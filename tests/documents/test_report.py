"""The document of a measurement: its first screen, its figures, its table, its words."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import polars as pl
import pypdf
import pytest

from documents.many_physicians import many_physicians
from intravar.documents.blocks import (
    Document,
    Figure,
    Note,
    Paragraph,
    Section,
    SideBySide,
    tables,
    text_lines,
    walk,
)
from intravar.documents.html import as_html
from intravar.documents.measurement import deciders, evidence
from intravar.documents.measurement import first as screen
from intravar.documents.measurement.deciders import decider_table
from intravar.documents.measurement.evidence import dependences
from intravar.documents.measurement.first import first_screen, next_steps, with_figure
from intravar.documents.measurement.report import report
from intravar.documents.sheet import sheet
from intravar.documents.typesetting import as_pdf
from intravar.measurement.columns import COLUMNS
from intravar.measurement.sentences import MAY_BE_READ
from intravar.publication.disclosure import without_figures
from intravar.publication.results import (
    Decision,
    Dependence,
    Noise,
    OwnRule,
    PhysicianRow,
    Published,
    rows_of,
)
from intravar.publication.results import Figure as NoiseFigure
from intravar.tables import Table
from intravar.wording import USUAL, Words

HOSPITALS = Words("hospital", "hospitals", "admission", "admissions", decision="discharge")


@pytest.fixture(scope="module")
def thirty(published: Published) -> Published:
    return many_physicians(published, 30)


def changed(published: Published, **fields: Any) -> Published:
    return replace(published, decisions=(replace(published.first, **fields),))


def told(document: Document) -> str:
    return "\n".join(f"{aside} {text}" for aside, text in text_lines(document.blocks))


@pytest.mark.parametrize("verdict", MAY_BE_READ)
def test_every_verdict_has_its_words_and_steps(thirty: Published, verdict: str) -> None:
    decision = replace(thirty.first, verdict=verdict, verdict_reasons=("a reason", "another"))
    note, *_ = first_screen(decision, USUAL)
    assert isinstance(note, Note)
    assert note.strong.lower() == f"{verdict}."
    assert "A reason." in note.text
    assert next_steps(decision, USUAL)


def test_more_patients_are_no_remedy_where_the_record_explains_nothing(thirty: Published) -> None:
    assert thirty.first.group is not None
    for share, helps in ((0.02, False), (0.4, True)):
        group = replace(thirty.first.group, explained=NoiseFigure(share, share, share))
        decision = replace(thirty.first, verdict="group only", group=group)
        step = next_steps(decision, USUAL)[0]
        assert ("More patients of each" in step) is helps
        assert ("more patients would not tell them apart" in step) is not helps


def test_no_page_holds_a_command_or_an_option(thirty: Published) -> None:
    check = replace(thirty.first.check, leaks={"sbp": "it predicts every decision"})
    leaking = changed(thirty, check=check)
    for document in (report(thirty), report(leaking)):
        text = told(document)
        assert not re.search(r"(^|\s)--\w", text)
        assert "intravar explain" not in text
    assert "look more consistent than they are" in told(report(leaking))


def test_who_stands_out_is_named_with_the_difference(thirty: Published) -> None:
    table = thirty.first.table.with_columns(
        discordance=pl.when(pl.col("physician") == "P-0003-XYZ")
        .then(0.5)
        .otherwise(pl.when(pl.col("discordance").is_not_null()).then(0.2)),
        low=pl.when(pl.col("low").is_not_null()).then(0.18),
        high=pl.when(pl.col("high").is_not_null()).then(0.22),
    )
    rows = rows_of(table, PhysicianRow)
    document = report(changed(thirty, physicians=rows))
    assert "1 of 27 physicians with a figure stands out by more than chance" in told(document)
    named = (
        r"P-0003-XYZ: about 50 \[18, 22\] of 100, (\d+) more than the average of single physicians"
    )
    found = re.search(rf"{named} \((\d+)\)", told(document))
    assert found is not None
    assert int(found[1]) == 50 - int(found[2])
    (dots,) = [
        each for each in walk(document.blocks) if isinstance(each, Figure) and each.name == "dots"
    ]
    assert ">P-0003-XYZ</text>" in dots.svgs[0]
    group = report(changed(thirty, physicians=rows, verdict="group only"))
    assert "None is singled out" in told(group)


def test_in_the_table_and_with_a_figure_are_told_apart(thirty: Published) -> None:
    decision = thirty.first
    assert with_figure(decision, USUAL) == "27 of 30 physicians in the table have a figure."
    one = replace(decision, n_physicians=43, n_reportable=1, n_banded=3)
    assert with_figure(one, HOSPITALS).startswith(
        "1 of 43 hospitals in the table has a figure, 3 have a range in its place"
    )
    every = with_figure(replace(decision, n_reportable=30), USUAL)
    assert every == "30 of 30 physicians in the table have a figure."
    few = [
        replace(row, discordance=None, band_low=0.0, band_high=0.05)
        for row in decision.physicians[:3]
    ]
    low = replace(
        decision, physicians=(*few, *decision.physicians), n_banded=3, verdict="ranks only"
    )
    lower = "most of those with a range are more consistent"
    assert lower in with_figure(low, USUAL)
    assert lower not in with_figure(replace(low, verdict="group only"), USUAL)
    document = report(thirty)
    assert document.about.startswith("30 physicians, 27 with a figure")
    assert "measured" not in f"{document.about} {told(document)}"
    for n in re.findall(r"(\d+) physicians with a figure", told(document)):
        assert n == "27"


def test_the_caption_explains_what_the_table_shows(thirty: Published) -> None:
    rows = [row for row in thirty.first.physicians if row.discordance is not None]
    limit = replace(rows[0], discordance=0.45, rate=0.1)
    known = decider_table(replace(thirty.first, physicians=(limit, *rows[1:])), USUAL)
    assert "how often any two" not in known.caption
    limits = replace(thirty.first, claim="at most", physicians=(limit, *rows[1:]))
    above = "An estimate can lie above how often any two patients"
    assert above in decider_table(limits, USUAL).caption
    for row, dash in ((rows[0], False), (replace(rows[0], rate=None), True)):
        made = decider_table(replace(thirty.first, physicians=(row, rows[1])), USUAL)
        assert ("A dash (–) means" in made.caption) is dash


def test_nobody_ranked_is_not_called_an_order(thirty: Published) -> None:
    none = replace(thirty.first, verdict="ranks only", n_ranked=0)
    assert decider_table(none, USUAL).caption.startswith("One row per physician.")


def test_ranges_of_levels_are_not_told_as_figures(thirty: Published) -> None:
    rows = tuple(
        replace(row, discordance=None, identified_low=0.1, identified_high=0.3)
        if row.reportable
        else row
        for row in thirty.first.physicians
    )
    found = changed(thirty, claim="about", verdict="ranks only", physicians=rows)
    text = told(report(found))
    assert re.search(r"between \d+ and \d+ get different decisions", text)
    assert "have a range of levels" in text
    figures = [block.name for block in walk(report(found).blocks) if isinstance(block, Figure)]
    assert "hundred-pairs" not in figures
    assert "dots" not in figures


def test_one_without_a_figure_is_not_several(thirty: Published) -> None:
    rows = thirty.first.physicians
    silent = next(at for at, row in enumerate(rows) if row.discordance is None)
    kept = (*(row for row in rows if row.discordance is not None), rows[silent])
    text = told(report(changed(thirty, physicians=kept)))
    assert "1 without a figure is not in it." in text


def test_an_upper_limit_reads_as_one_wherever_it_stands(thirty: Published) -> None:
    rows = list(thirty.first.physicians)
    at = next(at for at, row in enumerate(rows) if row.discordance is None)
    rows[at] = replace(rows[at], band_low=0.1, band_high=0.5)
    # Components of noise are estimates, which have both ends.
    assert thirty.first.group is not None
    group = replace(thirty.first.group, noise=None)
    document = report(changed(thirty, claim="at most", physicians=tuple(rows), group=group))
    (table,) = [each for each in tables(document) if each.interactive]
    headings = [column.heading for column in table.columns]
    end = headings.index("of 100 pairs, at most")
    assert headings[end + 1] == "estimate"
    assert "interval" not in [column.name for column in table.columns]
    (banded,) = [row for row in table.rows if row.cells[0].text == rows[at].physician]
    assert [cell.text for cell in banded.cells[end : end + 2]] == ["–", "10 to 50"]
    text = told(document)
    assert not re.search(r"\d \[", text)
    assert re.search(r"P-\S+: at most \d+ of 100 \(estimate of the limit: \d+\)", text)
    assert re.search(r"in at most \d+ of them the two patients", text)


def test_at_most_stands_before_upper_ends_only(thirty: Published) -> None:
    rows = tuple(
        replace(row, discordance=0.211, low=0.1, high=0.252, shrunken=0.22, expected=0.19)
        if row.low is not None
        else row
        for row in thirty.first.physicians
    )
    group = thirty.first.group
    assert group is not None
    whole = replace(group, discordance=NoiseFigure(0.311, 0.2, 0.352))
    limits = changed(thirty, claim="at most", physicians=rows, group=whole)
    name = next(row.physician for row in rows if row.low is not None)
    for document in (report(limits), sheet(limits, name)):
        numbers = set(re.findall(r"at most (\d+)", told(document)))
        assert numbers >= {"26", "36"}
        assert not numbers & {"19", "21", "22", "31", "32"}


def test_an_upper_limit_is_rounded_up_wherever_it_stands(thirty: Published) -> None:
    group = thirty.first.group
    assert group is not None
    rows = tuple(
        replace(row, discordance=0.201, low=0.1, high=0.252) if row.low is not None else row
        for row in thirty.first.physicians
    )
    whole = replace(group, discordance=NoiseFigure(0.301, 0.2, 0.352), noise=None)
    limits = changed(thirty, claim="at most", physicians=rows, group=whole)
    document = report(limits)
    text = told(document)
    assert "at most 36 get different decisions (estimate of the limit: 30)" in text
    assert "in at most 36 of them the two patients" in text
    assert "the median is 20 of 100 pairs" in text
    (table,) = [each for each in tables(document) if each.interactive]
    at = [column.name for column in table.columns].index("high")
    figures = {tuple(cell.text for cell in row.cells[at : at + 2]) for row in table.rows}
    assert figures == {("26", "20"), ("–", "–")}
    own = told(sheet(limits, next(row.physician for row in rows if row.low is not None)))
    assert "at most 26 get different decisions (estimate of the limit: 20)" in own
    assert "at most 36 of 100 (estimate of the limit: 30)" in own


def test_a_limit_of_a_row_is_never_rounded_below_the_measured_one(thirty: Published) -> None:
    rows = [row for row in thirty.first.physicians if row.low is not None]
    for high in (0.2401, 0.25, 0.2599, 0.49999):
        made = replace(rows[0], discordance=0.2, low=0.1, high=high)
        limits = replace(thirty.first, claim="at most", physicians=(made, *rows[1:]))
        table = decider_table(limits, USUAL)
        at = [column.name for column in table.columns].index("high")
        (cell,) = [row.cells[at] for row in table.rows if row.cells[0].text == made.physician]
        assert int(cell.text) >= 100 * high - 1e-6
        assert cell.value >= 100 * high - 1e-6


def test_levels_that_fit_equally_well_are_no_columns_of_a_limit(thirty: Published) -> None:
    """Earlier files hold the estimate of a limit in a column that reads as its upper end."""
    rows = tuple(
        replace(row, identified_low=0.1, identified_high=row.discordance)
        for row in thirty.first.physicians
        if row.discordance is not None
    )
    headings = {
        claim: {
            column.heading
            for column in decider_table(
                replace(thirty.first, claim=claim, physicians=rows), USUAL
            ).columns
        }
        for claim in ("about", "at most")
    }
    assert {"level from", "level to"} <= headings["about"]
    assert not {"level from", "level to"} & headings["at most"]


def with_noise(published: Published, noise: Noise) -> str:
    group = published.first.group
    assert group is not None
    whole = replace(group, discordance=NoiseFigure(0.302), noise=noise)
    return told(report(changed(published, claim="at most", group=whole)))


SPLIT = Noise(
    system=NoiseFigure(0.165, 0.155, 0.175),
    level=NoiseFigure(0.012, 0.01, 0.014),
    pattern=NoiseFigure(0.002, 0.0, 0.01),
    occasion=NoiseFigure(0.151, 0.14, 0.155),
    pattern_and_occasion=NoiseFigure(0.153, 0.143, 0.163),
    patients_needed=132,
)
UNSPLIT = replace(
    SPLIT,
    pattern=NoiseFigure(None, 0.0, 0.16),
    occasion=NoiseFigure(None, 0.0, 0.155),
    reason="small panels",
)


def test_components_of_noise_stand_with_their_intervals(thirty: Published) -> None:
    text = with_noise(thirty, SPLIT)
    assert "about 32 [31, 35] would be decided differently" in text
    assert "30 [28, 31] because the same physician" in text
    assert "use a checklist" in text


def test_noise_that_is_not_split_says_why_and_recommends_nothing(thirty: Published) -> None:
    text = with_noise(thirty, UNSPLIT)
    assert "31 [29, 33] because they weigh patients differently, or the same physician" in text
    assert "it takes about 132 of each" in text
    assert "at least 0 are, and at most 31 are within each physician" in text
    assert "use a checklist" not in text
    assert "Agree on" not in text


def test_no_component_is_recommended_while_another_may_be_larger(thirty: Published) -> None:
    near = replace(SPLIT, level=NoiseFigure(0.07, 0.05, 0.145))
    assert "use a checklist" not in with_noise(thirty, near)


def test_that_they_differ_does_not_contradict_unreliable_figures(thirty: Published) -> None:
    group = thirty.first.group
    assert group is not None
    differ = replace(group, differences="differ", spread=NoiseFigure(0.028, 0.02, 0.038))
    unreliable = "Which of them differ cannot be told: the reliability of single figures is"
    for reliability, addition in ((0.0, f"{unreliable} 0.00 or lower."), (0.8, "")):
        rows = tuple(
            replace(row, reliability=row.reliability and reliability)
            for row in thirty.first.physicians
        )
        text = told(report(changed(thirty, group=differ, physicians=rows)))
        assert (unreliable in text) is bool(addition)
        assert addition in text


def test_a_headline_that_may_differ_from_the_table_says_why(thirty: Published) -> None:
    note = "they can differ from the average of the table"
    shown = tuple(row for row in thirty.first.physicians if row.discordance is not None)
    assert len(shown) < len(thirty.first.physicians)
    check = replace(thirty.first.check, smallest_cell=11)
    assert note in told(report(changed(thirty, check=check)))
    assert note not in told(report(changed(thirty, check=check, physicians=shown)))
    assert note not in told(report(thirty))  # nothing is hidden


def test_that_they_differ_and_that_none_stands_out_is_one_thought(thirty: Published) -> None:
    group = thirty.first.group
    assert group is not None
    rows = tuple(
        replace(row, discordance=0.2, low=0.1, high=0.3) if row.low is not None else row
        for row in thirty.first.physicians
    )
    differ = replace(group, differences="differ", spread=NoiseFigure(0.05, 0.02, 0.1))
    text = told(report(changed(thirty, group=differ, physicians=rows)))
    assert "Physicians differ: " in text
    assert "No single physician stands out by more than chance and the usual spread allow" in text
    assert "Nobody" not in text


def test_the_first_and_the_last_are_those_by_rank(thirty: Published) -> None:
    ranked = [row for row in thirty.first.physicians if row.rank is not None]
    # Whoever has the lowest figure has the last rank: little is known.
    rows = tuple(
        row
        if row.rank is None
        else replace(row, rank=float(len(ranked) - ranked.index(row)), shrunken=0.2)
        for row in thirty.first.physicians
    )
    document = report(changed(thirty, physicians=rows))
    assert "The most consistent by rank first" in told(document)
    (table,) = [each for each in tables(document) if each.interactive]
    assert "By rank" in table.caption
    assert table.rows[0].cells[0].text == ranked[-1].physician


def test_the_latent_rule_says_what_eligible_means(thirty: Published) -> None:
    group = thirty.first.group
    assert group is not None
    fields = {"compared": "pairs of eligible patients", "group": replace(group, explained=None)}
    meaning = "Eligible are the patients for which the rule learned from the data says yes."
    text = told(report(changed(thirty, **fields)))
    assert text.count(meaning) == 1
    assert text.index(meaning) < text.index("eligible patients")
    assert "does not tell how much of how decisions vary the record explains" in text
    reasons = ("only 10 % of those who are eligible are clear cases",)
    note, *_ = first_screen(replace(thirty.first, verdict_reasons=reasons, **fields), USUAL)
    assert isinstance(note, Note)
    assert note.text.endswith(meaning)
    assert "eligible" not in told(report(thirty)).lower()


def test_nothing_is_said_of_hospitals_as_of_persons(thirty: Published) -> None:
    words = {"decider_word": "hospital,hospitals", "case_word": "admission,admissions"}
    asked = replace(thirty.request, **words)
    text = told(report(replace(thirty, request=asked)))
    assert "hospitals" in text
    assert not re.search(r"hospitals? who", text)


def test_without_a_figure_it_says_so(thirty: Published) -> None:
    text = told(report(changed(thirty, group=None, claim="at most")))
    assert "No figure can be given." in text
    assert "the true figure lies" not in text
    none = replace(thirty.first, n_reportable=0)
    assert with_figure(none, USUAL) == "0 of 30 physicians in the table have a figure."


def only(decision: Decision, reads: tuple[str, ...]) -> Decision:
    """Return a decision in which nothing is left but what a figure says that it reads."""
    kept = {tuple(each.split(".")) for each in reads}
    names = [each.name for each in fields(PhysicianRow) if ("physicians", each.name) not in kept]
    hidden: dict[str, Any] = dict.fromkeys(names)
    rows = tuple(replace(row, **hidden) for row in decision.physicians)
    diagnostics = decision.diagnostics
    listed = [each.name for each in fields(diagnostics)]
    empty = {
        name: ()
        for name in listed
        if ("diagnostics", name) not in kept and isinstance(getattr(diagnostics, name), tuple)
    }
    none: dict[str, Any] = {}
    if ("group",) not in kept:
        none["group"] = None
    if ("rule",) not in kept:
        none["rule"] = replace(decision.rule, importance=(), dependence=(), tree=())
    return replace(decision, physicians=rows, diagnostics=replace(diagnostics, **empty), **none)


_OF_ORDER = "physician discordance low high shrunken rank identified_low identified_high"
ORDER = tuple(f"physicians.{name}" for name in _OF_ORDER.split())
SIZES = ("physicians.n_pairs", "physicians.n_patients")
#: What makes every figure, and the published fields that it reads: they make it safe.
READS: dict[Callable[[Decision, Words], Any], tuple[str, ...]] = {
    screen.hundred_pairs: ("group",),
    screen.noise_blocks: ("group",),
    deciders.dots: (*ORDER, *SIZES),
    deciders.intervals: ORDER,
    deciders.order_ends: ORDER,
    deciders.funnel: (*ORDER, *SIZES, "physicians.band_low", "physicians.band_high"),
    evidence.importance: ("rule",),
    evidence.dependences: ("rule",),
    evidence.love: ("diagnostics.love",),
    evidence.distances: ("diagnostics.distances",),
    evidence.attrition: ("diagnostics.attrition",),
    evidence.sweep: ("diagnostics.sweep",),
    evidence.agreement: ("diagnostics.agreement",),
    evidence.balance: ("diagnostics.balance",),
    evidence.overlap: ("diagnostics.overlap", "physicians.physician"),
    evidence.calibration: ("diagnostics.calibration",),
}


@pytest.mark.parametrize("make", READS, ids=lambda make: make.__name__)
def test_a_figure_reads_what_it_says(
    make: Callable[[Decision, Words], Any], published: Published
) -> None:
    for some in (published, many_physicians(published, 600)):
        decision = some.first
        assert make(only(decision, READS[make]), USUAL) == make(decision, USUAL)


def test_it_is_known_of_every_figure_what_it_reads(thirty: Published) -> None:
    made = [block for make in READS for block in np.atleast_1d(make(thirty.first, USUAL))]
    known = {block.name for block in made if isinstance(block, Figure)}
    shown = {block.name for block in walk(report(thirty).blocks) if isinstance(block, Figure)}
    assert shown <= known


def test_every_figure_has_words_and_a_place_of_its_own(thirty: Published) -> None:
    document = report(thirty)
    figures = [each for each in walk(document.blocks) if isinstance(each, Figure)]
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names)
    assert {"hundred-pairs", "noise", "dots", "physicians-picture", "funnel"} <= set(names)
    for figure in figures:
        for svg in figure.svgs:
            assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", svg)


def test_charts_that_say_nothing_are_sentences(published: Published, thirty: Published) -> None:
    few = deciders.funnel(published.first, USUAL)
    assert isinstance(few, Paragraph)
    assert "nobody does" in few.text or "do" in few.text
    assert isinstance(deciders.funnel(thirty.first, USUAL), Figure)
    alike = replace(thirty.first.diagnostics, balance={"age": 0.004, "sbp": 0.01})
    sentence = evidence.balance(replace(thirty.first, diagnostics=alike), USUAL)
    assert isinstance(sentence, Paragraph)
    assert sentence.text.startswith("Physicians see similar patients")
    told = evidence.attrition(thirty.first, USUAL)
    assert isinstance(told, Paragraph)
    assert "% lay too far apart" in told.text


def test_nothing_is_drawn_where_nothing_may_be_read(thirty: Published) -> None:
    decision = without_figures(replace(thirty.first, verdict="not interpretable"))
    blocks = list(walk(report(replace(thirty, decisions=(decision,))).blocks))
    assert not [block.name for block in blocks if isinstance(block, Figure)]
    (table,) = [block for block in blocks if isinstance(block, Table) and block.interactive]
    assert [column.name for column in table.columns] == ["physician", "n_patients", "rate"]
    assert all(row.shown for row in table.rows)
    cards = [block for block in blocks if getattr(block, "look", "") in ("card", "wide")]
    assert [block.title for block in cards if isinstance(block, Section)] == ["What to do next"]


def test_everything_is_in_their_words(thirty: Published) -> None:
    words = replace(HOSPITALS, title=None)
    request = replace(
        thirty.request,
        decider_word="hospital,hospitals",
        case_word="admission,admissions",
        decision_word="discharge",
    )
    theirs = replace(thirty, request=request)
    assert theirs.words.deciders == words.deciders
    decision = replace(theirs.first, compared="pairs of similar admissions")
    document = report(replace(theirs, decisions=(decision,)))
    page = as_html(document, theirs.words)
    shown = re.sub(r'(id|class|href|for|data-\w+)="[^"]*"', "", page.partition("<main>")[2])
    assert not re.findall(r".{30}\b(?:physician|patient)s?\b.{20}", shown.partition("</main>")[0])
    assert "decided for discharge" in shown


def test_the_table_has_every_published_column_and_its_meaning(thirty: Published) -> None:
    table = decider_table(thirty.first, USUAL)
    whole, page = table.on("workbook"), table.on("page")
    filled = {
        name for name in thirty.first.table.columns if thirty.first.table[name].null_count() < 30
    }
    assert filled - {"band_low", "band_high"} == {column.name for column in whole.columns}
    assert all(column.meaning for column in page.columns)
    ranks = [row.cells[-1].text for row in page.rows]
    assert len(ranks) == 30
    assert {column.name for column in COLUMNS} >= {column.name for column in whole.columns}
    assert len(table.on("paper").rows) == 27


def test_a_range_or_a_band_stands_where_a_number_does_not(thirty: Published) -> None:
    rows = thirty.first.table.head(2).with_columns(
        discordance=pl.lit(None, pl.Float64),
        low=pl.lit(None, pl.Float64),
        high=pl.lit(None, pl.Float64),
        band_low=pl.Series([0.1, None]),
        band_high=pl.Series([0.45, None]),
        identified_low=pl.Series([None, 0.2]),
        identified_high=pl.Series([None, 0.3]),
    )
    table = decider_table(replace(thirty.first, physicians=rows_of(rows, PhysicianRow)), USUAL)
    place = [column.name for column in table.columns].index("discordance")
    assert sorted(row.cells[place].text for row in table.rows) == ["10 to 45", "20 to 30"]


@pytest.mark.parametrize(("n", "most"), [(16, 6), (400, 8), (463, 8)])
def test_it_prints_on_few_pages(published: Published, n: int, most: int) -> None:
    made = many_physicians(published, n)
    every: list[str] = [row.physician for row in made.first.physicians] if n == 400 else []
    own = tuple(OwnRule(name, item, "less") for name in every for item in ("age", "sbp"))
    document = report(replace(made, decisions=(replace(made.first, own_rules=own),)))
    pages = pypdf.PdfReader(io.BytesIO(as_pdf(document))).pages
    assert len(pages) <= most
    first = re.sub(r"\s+", " ", pages[0].extract_text())
    cards = next(block for block in document.blocks if isinstance(block, SideBySide))
    for card in cards.blocks:
        assert isinstance(card, Section)
        assert card.title in first
    for page in pages:
        assert len(page.extract_text()) > 250
    assert any(getattr(block, "look", "") == "appendix" for block in document.blocks) is (n > 30)


def test_ids_of_a_page_are_unique(thirty: Published) -> None:
    page = as_html(report(thirty), USUAL)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert len(tables(report(thirty))) >= 4


def test_a_long_table_says_how_many_rows_it_has_and_that_it_scrolls(thirty: Published) -> None:
    told_below = f"{len(thirty.first.physicians)} rows in all; scroll in the table"
    assert told_below in as_html(report(thirty), USUAL)


def test_values_of_dates_are_told_as_dates(thirty: Published) -> None:
    decision = thirty.first
    name = next(iter(decision.rule.importance))
    points = tuple(Dependence(name, 17_000.0 + 100 * n, 0.1 * n) for n in range(1, 6))
    columns = tuple(
        replace(each, kind="date" if each.column == name else each.kind)
        for each in decision.check.columns
    )
    dated = replace(
        decision,
        rule=replace(decision.rule, dependence=points),
        check=replace(decision.check, columns=columns),
    )
    figure = dependences(dated, USUAL)[0]
    assert "from 10 % at 2016-10-26 to 50 % at 2017-11-30" in figure.alternative
    assert "2017" in figure.svgs[0]
