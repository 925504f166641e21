"""The table of physicians: a choice on the page, all in the annex, every column explained."""

from __future__ import annotations

import html
from dataclasses import replace

import polars as pl
import pytest

from documents.measurement.many_physicians import many_physicians
from intravar.documents.measurement.measurement_page import render_annex, render_page
from intravar.documents.measurement.physician_table import physician_table
from intravar.measurement.columns import COLUMNS
from intravar.publication.outputs import Outputs


@pytest.fixture(scope="module")
def twenty(outputs: Outputs) -> Outputs:
    return many_physicians(outputs, 20)


def test_every_column_of_both_tables_is_explained(twenty: Outputs) -> None:
    for page, whole in ((render_page(twenty), False), (render_annex(twenty), True)):
        for heading in physician_table(twenty, whole=whole).headings:
            assert f"<dt>{heading.text}</dt><dd>{heading.words}</dd>" in html.unescape(page)
    headings = {heading.text for heading in physician_table(twenty, whole=True).headings}
    assert {"expected", "own rule", "contradiction", "in words"} <= headings


def test_all_physicians_are_in_it_the_most_consistent_first(twenty: Outputs) -> None:
    rows = physician_table(twenty).rows
    ranked = twenty.physicians.drop_nulls("rank").sort("rank")["physician"].to_list()
    assert [row.name for row in rows][: len(ranked)] == ranked
    assert {row.name for row in rows} == set(twenty.physicians["physician"])
    unranked = replace(twenty, summary=twenty.summary | {"verdict": "group only"})
    names = [row.name for row in physician_table(unranked).rows if row.reportable]
    assert names == sorted(names)


def test_a_range_or_a_band_stands_where_a_number_does_not(twenty: Outputs) -> None:
    nothing = pl.lit(None, pl.Float64)
    first, second = pl.int_range(pl.len()) == 0, pl.int_range(pl.len()) == 1
    table = twenty.physicians.with_columns(
        discordance=pl.when(first | second).then(nothing).otherwise(pl.col("discordance")),
        band=pl.when(first).then(pl.lit("at most 0.25")),
        identified_low=pl.when(second).then(0.1),
        identified_high=pl.when(second).then(0.3),
    )
    found = physician_table(replace(twenty, physicians=table))
    place = [heading.text for heading in found.headings].index("discordance") - 1
    cells = {row.name: row.cells[place] for row in found.rows}
    assert cells["P-0000-XYZ"].text == "at most 0.25"
    assert cells["P-0001-XYZ"].text == "0.100 – 0.300"
    assert cells["P-0001-XYZ"].high == 0.3
    assert cells["P-0009-XYZ"].text == "–"


def test_no_column_is_lost(twenty: Outputs) -> None:
    filled = [
        column.heading
        for column in COLUMNS
        if twenty.physicians[column.name].null_count() < twenty.physicians.height
    ]
    page = render_annex(twenty)
    beside = {"low", "high", "rank low", "rank high", "reportable", "reason"}
    assert all(f">{name}</button>" in page for name in filled if name not in beside)
