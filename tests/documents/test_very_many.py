"""Charts and tables of a nation's physicians: bounded, and true to what is published."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from documents.many_physicians import many_physicians
from intravar.documents.blocks import Figure
from intravar.documents.charts import MOST_SINGLE, in_bins
from intravar.documents.html import ROWS_AT_ONCE, packed_rows
from intravar.documents.measurement.deciders import (
    MOST_MARKS,
    NAMED_ENDS,
    decider_table,
    dots,
    funnel,
    funnel_of,
    intervals,
    order_ends,
)
from intravar.documents.measurement.evidence import TRUST
from intravar.documents.measurement.handover import pages
from intravar.publication.results import Decision, PhysicianRow, Published, rows_of
from intravar.tables import Table
from intravar.wording import USUAL

MANY = 20_000


@pytest.fixture(scope="module")
def nation(published: Published) -> Published:
    return many_physicians(published, MANY)


@pytest.fixture(scope="module")
def listed(nation: Published) -> Table:
    return decider_table(nation.first, USUAL)


def figures_of(decision: Decision) -> dict[str, Figure]:
    made = [make(decision, USUAL) for make in (dots, intervals, funnel, *TRUST)]
    return {each.name: each for each in made if isinstance(each, Figure)}


@pytest.fixture(scope="module")
def shown(nation: Published) -> dict[str, Figure]:
    return figures_of(nation.first)


def counted(svg: str) -> list[int]:
    """Return what the bars and squares of a chart say that they count."""
    return [int(text.replace(",", "")) for text in re.findall(r": ([\d,]+) physicians?<", svg)]


def test_charts_are_small_and_have_few_marks(shown: dict[str, Figure]) -> None:
    for figure in shown.values():
        for svg in figure.svgs:
            assert len(svg) < 150_000
            assert svg.count("data-p=") <= MOST_MARKS
    assert all(svg.count("data-p=") == MOST_MARKS for svg in shown["funnel"].svgs)


def test_everybody_with_a_number_is_counted_once(
    nation: Published, shown: dict[str, Figure]
) -> None:
    known = nation.first.table.drop_nulls("discordance").height
    assert all(sum(counted(svg)) == known for svg in shown["dots"].svgs)
    assert sum(counted(shown["overlap"].svgs[0])) == MANY


def test_a_bin_says_what_the_table_says(nation: Published) -> None:
    scores = nation.first.table.drop_nulls("discordance")["discordance"].to_numpy()
    for low, high, number in in_bins(scores, 0.01):
        assert number == np.count_nonzero((scores >= low) & (scores < high))
    assert in_bins(np.array([1.0, 0.995]), 0.01) == [(0.99, 1.0, 2)]


def test_one_more_than_the_limit_is_binned_and_nobody_at_it(published: Published) -> None:
    for n, binned in ((MOST_SINGLE, False), (MOST_SINGLE + 1, True)):
        decision = many_physicians(published, n).first
        filled = decision.table.with_columns(pl.all().fill_null(strategy="forward"))
        decision = replace(decision, physicians=rows_of(filled, PhysicianRow))
        made = figures_of(decision)
        assert (order_ends(decision, USUAL) is not None) is binned
        assert ('class="band"' in made["funnel"].svgs[0]) is binned
        assert (packed_rows(decider_table(decision, USUAL)) is not None) is binned


def test_words_are_true_of_very_many(nation: Published, shown: dict[str, Figure]) -> None:
    data = funnel_of(nation.first)
    assert data is not None
    n = len(data.outside)
    assert n > MOST_MARKS
    assert f"{n:,} physicians do. The {MOST_MARKS} farthest" in shown["funnel"].reading
    usual = data.usual()
    inside = [
        low <= 100 * known.level <= high
        for known, size in data.sizes.items()
        for _, low, high in [min(usual, key=lambda each: abs(each[0] - size))]
    ]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)
    assert "2,000 without a figure are not in it" in shown["dots"].reading
    ranked = nation.first.table.drop_nulls("rank").sort("shrunken", "rank", "physician")
    names = [*ranked["physician"][:NAMED_ENDS], *ranked["physician"][-NAMED_ENDS:]]
    ends = order_ends(nation.first, USUAL)
    assert ends is not None
    assert re.findall(r"P-\d+-XYZ", ends.text) == names


@pytest.mark.parametrize("where", ["page", "whole"])
def test_packed_rows_are_the_rows(listed: Table, where: str) -> None:
    table = listed.on(where)
    packed = packed_rows(table)
    assert packed is not None
    data = json.loads(str(packed))
    assert len(data["who"]) == MANY
    assert data["who"] == [row.p for row in table.rows]
    assert data["shown"] == [int(row.shown) for row in table.rows]
    columns = [[column["texts"][at] for at in column["at"]] for column in data["columns"]]
    assert list(zip(*columns, strict=True)) == [
        tuple(cell.text for cell in row.cells) for row in table.rows
    ]


def test_pages_are_bounded(nation: Published) -> None:
    for page in pages(nation).values():
        assert len(page) < 3e6
        assert page.decode().count("<tr data-p=") == ROWS_AT_ONCE
