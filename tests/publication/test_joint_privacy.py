"""Figures of several decisions together tell no small count, nor do two runs one patient apart.

The attacker knows how many patients a physician has and how many of them got each decision, as far
as the folders of the decisions tell it; and, of two runs, what the new patient got. A joint figure
is taken at its worst: it tells how many patients got every combination of decisions.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intravar
from intravar.documents.blocks import Figure, walk
from intravar.documents.measurement.report import report
from intravar.measurement.verdict import Verdict
from intravar.measurement.wider.several import Together
from intravar.publication.disclosure import published_of
from intravar.publication.files import files_of, tables_of
from intravar.publication.joint import (
    combinations_of,
    joint_band,
    may_be_shown,
    published_joint,
)
from intravar.publication.policy import is_few, is_small
from intravar.publication.results import Decision, Joint, Published
from intravar.publication.sentences import NO_RANGE, NOT_SHOWN, joint_lines

pytestmark = pytest.mark.usefixtures("learned_once")

COHORT = intravar.simulate("multi-interacting", n_patients=480, n_physicians=4, random_state=3)
SMALLEST = 3  # a low bar keeps the search short; the rule is the same
Table = tuple[int, ...]  # patients by combination, the first decision in the lowest bit


def yes_of(table: Table) -> list[int]:
    """How many got each decision."""
    n_decisions = len(table).bit_length() - 1
    return [
        sum(count for cell, count in enumerate(table) if cell >> k & 1) for k in range(n_decisions)
    ]


def told(table: Table, outside: Table) -> tuple[Any, ...]:
    """All that is told at the most; a band follows from what is told of each decision."""
    alone = []
    for k, yes in enumerate(yes_of(table)):
        no = sum(table) - yes + outside[2 * k]
        yes += outside[2 * k + 1]
        few = "yes" if is_few(yes, SMALLEST) else "no" if is_few(no, SMALLEST) else ""
        alone.append((yes + no, few) if few else (yes + no, yes))
    together = table if may_be_shown(table, outside, SMALLEST) else None
    return (*alone, together)


def counts_in(table: Table, outside: Table) -> Iterator[int]:
    """Return every count that could be small: combinations of some decisions, and those outside."""
    n_decisions = len(table).bit_length() - 1
    yield from outside
    for many in range(1, n_decisions + 1):
        for chosen in combinations(range(n_decisions), many):
            for bits in product((0, 1), repeat=many):
                yield sum(
                    count
                    for cell, count in enumerate(table)
                    if all(cell >> k & 1 == bit for k, bit in zip(chosen, bits, strict=True))
                )


def one_more(table: Table, cell: int) -> Table:
    return tuple(count + (at == cell) for at, count in enumerate(table))


def assert_nothing_follows(
    panels: Iterable[tuple[Table, Table]], cell: int | None, largest: int
) -> None:
    """Of all panels that are published alike, no small count may be the only one that fits."""
    alike: dict[Any, list[list[int]]] = defaultdict(list)
    edge = set()
    for table, outside in panels:
        runs = [table] if cell is None else [table, one_more(table, cell)]
        seen = tuple(told(run, outside) for run in runs)
        alike[seen].append(
            [
                count if is_small(count, SMALLEST) else -1
                for run in runs
                for count in counts_in(run, outside)
            ]
        )
        if sum(table) >= largest:
            edge.add(seen)  # whoever guesses looks beyond the largest panel that there is
    assert any(seen[-1][-1] for seen in alike)
    for seen, fitting in alike.items():
        for at, values in enumerate(map(set, zip(*fitting, strict=True))):
            assert values == {-1} or len(values) >= 2 or seen in edge or forced(seen), (
                f"count {at} is {values}: {seen}"
            )


def forced(seen: tuple[Any, ...]) -> bool:
    """Tell whether single decisions alone force it, without anything that is told together."""
    return all(run[-1] is None for run in seen)


@pytest.mark.parametrize("cell", [None, 0, 1, 3])
def test_two_decisions(cell: int | None) -> None:
    """Every panel of up to 24 patients of whom both decisions are known."""
    panels = [
        ((n - a - b - c, a, b, c), (0, 0, 0, 0))
        for n in range(16, 25)
        for a in range(n + 1)
        for b in range(n - a + 1)
        for c in range(n - a - b + 1)
    ]
    assert_nothing_follows(panels, cell, largest=24)


@pytest.mark.parametrize("cell", [None, 0, 3])
def test_patients_with_one_decision_missing(cell: int | None) -> None:
    """The second decision is missing of some, who were decided either way in the first."""
    panels = [
        ((n - 4 - a - b, 4 + a, 4, b), (no, yes, 0, 0))
        for n in range(16, 24)
        for a in range(3)
        for b in range(3, n - 8 - a - 2)
        for no in range(6)
        for yes in range(6)
    ]
    assert_nothing_follows(panels, cell, largest=23)


@given(st.lists(st.integers(0, 20), min_size=8, max_size=8), st.integers(0, 7))
@settings(max_examples=200, deadline=None)
def test_three_decisions(cells: list[int], cell: int) -> None:
    """A number is told of nobody with a small combination, nor a patient earlier or later."""
    table = tuple(cells)
    for one, other in ((table, one_more(table, cell)), (one_more(table, cell), table)):
        if may_be_shown(one, [0] * 6, SMALLEST):
            small = [count for run in (one, other) for count in counts_in(run, ())]
            assert not any(is_small(count, SMALLEST) for count in small)


# --- the files that are written ---


@pytest.fixture(scope="module")
def measured() -> intravar.Measurement:
    day = pl.duration(days=pl.int_range(pl.len()) * 37 % 700)
    return intravar.measure(
        COHORT.to_polars().with_columns(seen=pl.date(2023, 1, 1) + day),
        physician="physician",
        decision="decision,decision_2",
        exclude=["decision_3"],
        by="male",
        date="seen",
        min_reliability=0.0,
    )


@pytest.fixture(scope="module")
def found(measured: intravar.Measurement) -> Together:
    assert measured.together is not None
    return measured.together


@pytest.fixture(scope="module")
def alone(measured: intravar.Measurement, found: Together) -> tuple[Decision, ...]:
    names = {name: name for name in found.predicted.physician.to_list()}
    secrets = dict(zip(names, (0.1, 0.4, 0.6, 0.9), strict=True))
    return published_of(measured, names, lambda name: secrets.get(name, 0.5)).decisions


def published(found: Together, alone: tuple[Decision, ...], cells: Table | None = None) -> Joint:
    """Publish with so many of the first physician's patients in every combination."""
    predicted = found.predicted
    if cells is not None:
        decided = predicted.decided.copy()
        mine = np.flatnonzero(predicted.code == 0)
        combination = np.repeat(np.arange(4), cells)
        decided[mine[: len(combination)]] = np.column_stack([combination & 1, combination >> 1])
        found = replace(found, predicted=replace(predicted, decided=decided))
    names = {name: name for name in predicted.physician.to_list()}
    return published_joint(found, names, alone)


def first(outputs: Joint) -> list[Any]:
    name = outputs.physicians[0].physician
    tables = (outputs.physicians, outputs.by_physician, outputs.pairs_by_physician)
    return [[row for row in table if row.physician == name] for table in tables]


def test_a_small_combination_takes_numbers_away_and_leaves_a_band(
    found: Together, alone: tuple[Decision, ...]
) -> None:
    n = int((found.predicted.code == 0).sum())
    many = (n - 60, 20, 20, 20)
    shown = published(found, alone, many)
    row = shown.physicians[0]
    assert row.reportable
    assert row.band is None
    assert row.differ is not None
    assert any(each.correlation is not None for each in shown.pairs_by_physician)
    few = [first(published(found, alone, (n - 40 - both, 20, 20, both))) for both in range(12)]
    assert all(each == few[0] for each in few)  # nothing follows of how many got both
    hidden = published(found, alone, (n - 43, 20, 20, 3))
    row = hidden.physicians[0]
    assert {value for name, value in vars(row).items() if "differ" in name} == {None}
    singles = [
        single for each in alone for single in each.physicians if single.physician == row.physician
    ]
    ends = [each.band.low if each.band is not None else each.discordance or 0.0 for each in singles]
    assert len(singles) == len(alone)
    assert row.band_low == int(100 * max(ends)) / 100
    assert {each.given for each in hidden.by_physician if each.physician == row.physician} == {None}


def test_a_range_that_says_nothing_is_left_out_with_the_reason(
    found: Together, alone: tuple[Decision, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    n = int((found.predicted.code == 0).sum())
    few = (n - 43, 20, 20, 3)
    row = published(found, alone, few).physicians[0]
    assert (row.band_low is None, row.reason) == (False, NOT_SHOWN)
    monkeypatch.setattr("intravar.publication.joint.NEARLY_ALL", 0.1)
    row = published(found, alone, few).physicians[0]
    assert (row.band_low, row.band_high, row.reason) == (None, None, NO_RANGE)
    assert joint_band([(0.1, 0.5)] * 3) is None
    assert joint_band([(0.0, 0.5)] * 3) is None


def test_combinations_are_counted(found: Together) -> None:
    predicted = found.predicted
    counts = combinations_of(predicted.decided, predicted.code, 4)
    for who, both in product(range(4), range(4)):
        wanted = (predicted.code == who) & (
            (predicted.decided == [both & 1, both >> 1]).all(axis=1)
        )
        assert counts[who, both] == wanted.sum()


def test_figures_of_all_are_no_finer_than_what_two_dozen_patients_move(
    found: Together, alone: tuple[Decision, ...]
) -> None:
    joint = published(found, alone)
    value, low, high = joint.differ.value, joint.differ.low, joint.differ.high
    assert value is not None
    assert low is not None
    assert high is not None
    for each in (value, low, high, joint.differ_apart or 0.0):
        assert round(each / 0.05, 6) == round(each / 0.05)
    assert low < value < high
    assert COHORT.truth is not None
    outcomes = COHORT.truth.outcomes
    assert outcomes is not None
    two = outcomes[:, :4] + outcomes[:, 4:]  # whatever the third decision was
    truth = float((1 - (two**2).sum(axis=1)).mean())
    assert low <= truth <= high


# --- where the verdict is that nothing may be read ---

LEAK = Verdict("not interpretable", ("'dose' gives the decision away",), 9.0)
#: Numbers that are facts about the table, or what was asked for.
FACTS = (
    *("n_physicians", "n_patients_shown", "seconds"),
    *("check", "diagnostics.balance"),
)


@pytest.fixture(scope="module")
def spoiled(measured: intravar.Measurement) -> intravar.Measurement:
    together = measured.together
    assert together is not None
    first = replace(together.decisions["decision"], judged=LEAK)
    decisions = {**together.decisions, "decision": first}
    return replace(measured, judged=LEAK, together=replace(together, decisions=decisions))


@pytest.fixture(scope="module")
def unread(spoiled: intravar.Measurement) -> Published:
    names = {str(name): str(name) for name in spoiled.main.scores.physician}
    return published_of(spoiled, names, lambda _: 0.5)


def numbers(value: Any, path: str = "") -> Iterator[str]:
    """Return the paths of all numbers but 0; a decision is called by its name."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from numbers(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            own = each.get("decision", at) if isinstance(each, dict) else at
            yield from numbers(each, f"{path}[{own}]")
    elif isinstance(value, int | float) and value:
        yield path


def test_all_numbers_that_are_left_are_facts_about_the_table(unread: Published) -> None:
    files = files_of(unread)
    summary = json.loads(files["summary.json"])
    told = set(numbers(summary["decisions"][0]))
    assert not {path for path in told if not path.startswith(FACTS)}
    assert set(numbers(summary["joint"])) == {"decisions[decision_2].discordance"}
    assert any(path.startswith("by.") for path in numbers(summary["decisions"][1]))


def test_no_table_has_a_figure_of_it(unread: Published) -> None:
    told = set()
    for name, table in tables_of(unread).items():
        mine = pl.col("decision") == "decision" if "decision" in table.columns else pl.lit(True)
        own = table.filter(mine).drop("decision", "physician", "first", "second", strict=False)
        told |= {(name, column) for column in own.columns if own[column].count()}
    assert told == {
        *(("physicians", name) for name in ("n_patients", "rate", "reportable", "reason")),
        *(("joint", name) for name in ("reportable", "reason")),
        *(("decisions", name) for name in ("n_patients", "reportable")),
    }
    assert not any(row.reportable for row in unread.first.physicians)


def test_nothing_of_it_is_drawn_or_said(spoiled: intravar.Measurement, unread: Published) -> None:
    first = replace(unread, decisions=unread.decisions[:1], joint=None)
    assert not [each.name for each in walk(report(first).blocks) if isinstance(each, Figure)]
    assert unread.joint is not None
    assert joint_lines(unread.joint)[0].endswith("one of the decisions is not interpretable")
    said = repr(spoiled).partition("decision_2\n")
    assert "of 100" not in said[0]
    assert "of 100" in said[2]


@pytest.mark.parametrize("dominant", [True, False])
def test_joint_figures_that_one_physician_makes_up_are_left_out(
    found: Together,
    alone: tuple[Decision, ...],
    monkeypatch: pytest.MonkeyPatch,
    dominant: bool,
) -> None:
    nobody = np.zeros(len(found.predicted.physician), dtype=np.bool_)
    monkeypatch.setattr("intravar.publication.joint._reportable", lambda _: nobody)
    physicians = found.joint.physicians
    sizes = [9000 if dominant and at == 0 else 500 for at in range(physicians.height)]
    large = physicians.with_columns(n_patients=pl.Series(sizes))
    told_of_all = published(replace(found, joint=replace(found.joint, physicians=large)), alone)
    assert (told_of_all.differ.value is None) == dominant
    given_by_others = [each.given for each in told_of_all.decisions]
    assert (given_by_others == [None, None]) == dominant, given_by_others
    if dominant:
        assert all(each.correlation.value is None for each in told_of_all.pairs)
