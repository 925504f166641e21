"""Pictures and tables of a nation's physicians: bounded, and true to what is published."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from documents.measurement.many_physicians import many_physicians
from documents.measurement.test_pictures import only
from intravar.documents.files.measurement_document import measurement_document
from intravar.documents.files.parts import Passage, PlainTable
from intravar.documents.measurement.binned_pictures import MOST_MARKS, MOST_SINGLE, in_bins
from intravar.documents.measurement.measurement_page import render_annex, render_page
from intravar.documents.measurement.packed_table import ROWS_AT_ONCE, packed_rows
from intravar.documents.measurement.physician_pictures import NAMED_ENDS, funnel_data
from intravar.documents.measurement.physician_table import physician_table
from intravar.documents.measurement.picture_register import PICTURES, ShownPicture, pictures_of
from intravar.publication.outputs import Outputs

MANY = 20_000


@pytest.fixture(scope="module")
def nation(outputs: Outputs) -> Outputs:
    return many_physicians(outputs, MANY)


@pytest.fixture(scope="module")
def shown(nation: Outputs) -> dict[str, ShownPicture]:
    return {picture.name: picture for each in pictures_of(nation).values() for picture in each}


def counted(svg: str) -> list[int]:
    """Return what the bars and squares of a picture say that they count."""
    return [int(text.replace(",", "")) for text in re.findall(r": ([\d,]+) physicians?<", svg)]


def test_pictures_are_small_and_have_few_marks(shown: dict[str, ShownPicture]) -> None:
    for picture in shown.values():
        for svg in picture.svgs:
            assert len(svg) < 150_000
            assert svg.count("data-p=") <= MOST_MARKS
    assert all(svg.count("data-p=") == MOST_MARKS for svg in shown["funnel"].svgs)
    assert all(svg.count("data-p=") == 2 * NAMED_ENDS for svg in shown["ends"].svgs)


def test_everybody_with_a_number_is_counted_once(
    nation: Outputs, shown: dict[str, ShownPicture]
) -> None:
    known = nation.physicians.drop_nulls("discordance").height
    for svg in shown["physicians-picture"].svgs:
        assert sum(counted(svg)) == known
    for svg in shown["funnel"].svgs:
        assert sum(counted(svg)) + MOST_MARKS == known
    assert sum(counted(shown["overlap"].svgs[0])) == MANY


def test_a_bin_says_what_the_table_says(nation: Outputs) -> None:
    scores = nation.physicians.drop_nulls("discordance")["discordance"].to_numpy()
    for low, high, number in in_bins(scores):
        assert number == np.count_nonzero((scores >= low) & (scores < high))
    assert in_bins(np.array([1.0, 0.995]))[0].number == 2


def test_one_more_than_the_limit_is_binned_and_nobody_at_it(outputs: Outputs) -> None:
    for n, binned in ((MOST_SINGLE, False), (MOST_SINGLE + 1, True)):
        table = many_physicians(outputs, n)
        filled = table.physicians.with_columns(pl.all().fill_null(strategy="forward"))
        table = replace(table, physicians=filled)
        found = {picture.name: picture for picture in pictures_of(table)["physicians"]}
        assert ("ends" in found) is binned
        assert ("shade-" in found["funnel"].svgs[0]) is binned
        assert (found["physicians-picture"].title == "How many have which discordance") is binned
        assert (packed_rows(physician_table(table)) is not None) is binned


def test_words_are_true_of_very_many(nation: Outputs, shown: dict[str, ShownPicture]) -> None:
    funnel = funnel_data(nation)
    assert funnel is not None
    n = len(funnel.outside)
    assert n > MOST_MARKS
    assert f"{n:,} lie; the {MOST_MARKS} farthest have a mark each" in shown["funnel"].reading
    # Every shade of the picture is in its key, and no other.
    for svg in shown["funnel"].svgs:
        there = set(re.findall(r'class="(shade-\d)"', svg))
        assert there == {look for look, _ in shown["funnel"].key if look.startswith("shade")}
    everyone = shown["physicians-picture"]
    assert "2,000 without a number to show are not in it and may lie elsewhere" in everyone.reading
    assert {look for look, _ in everyone.key} == {"fill", "interval"}
    ranked = nation.physicians.drop_nulls("rank").sort("shrunken", "rank", "physician")
    names = [*ranked["physician"][:NAMED_ENDS], *ranked["physician"][-NAMED_ENDS:]]
    assert re.findall(r"P-\d+-XYZ(?=</text>)", shown["ends"].svgs[0]) == names


def test_nobody_is_named_where_the_data_bear_no_order(nation: Outputs) -> None:
    group = replace(nation, summary=nation.summary | {"verdict": "group only"})
    found = {picture.name: picture for picture in pictures_of(group)["physicians"]}
    assert "ends" not in found
    assert "Nobody is named" in found["physicians-picture"].reading


def test_ranges_of_levels_are_counted_by_their_middle(nation: Outputs) -> None:
    table = nation.physicians.with_columns(
        identified_low=pl.col("discordance") - 0.02,
        identified_high=pl.col("discordance") + 0.04,
        discordance=pl.lit(None, pl.Float64),
    )
    found = {
        picture.name: picture
        for picture in pictures_of(replace(nation, physicians=table))["physicians"]
    }
    assert "funnel" not in found
    assert "the middle of the range of levels" in found["physicians-picture"].reading
    assert sum(counted(found["physicians-picture"].svgs[0])) == MANY - MANY // 10
    assert ("range", "levels that fit equally well") in found["ends"].key


@pytest.mark.parametrize("name", ["physicians-picture", "ends", "funnel", "overlap"])
def test_binned_pictures_read_what_they_say(outputs: Outputs, name: str) -> None:
    some = many_physicians(outputs, MOST_SINGLE + 100)
    picture = next(each for each in PICTURES if each.name == name)
    found = picture.shown(some)
    assert found is not None
    assert picture.shown(only(some, picture.reads)) == found


def unpacked(packed: dict[str, Any], n: int) -> list[int]:
    digits = packed["digits"]
    return [
        int(packed["at"][at * digits : (at + 1) * digits], 36) if digits else 0 for at in range(n)
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_packed_rows_are_the_rows(nation: Outputs, whole: bool) -> None:
    table = physician_table(nation, whole=whole)
    packed = packed_rows(table)
    assert packed is not None
    data = json.loads(str(packed))
    assert data["n"] == MANY
    assert unpacked(data["who"], MANY) == [row.p for row in table.rows]
    assert unpacked(data["shown"], MANY) == [int(row.reportable) for row in table.rows]
    columns = [[column["texts"][at] for at in unpacked(column, MANY)] for column in data["columns"]]
    assert columns[0] == [row.name for row in table.rows]
    assert list(zip(*columns[1:], strict=True)) == [
        tuple(cell.text for cell in row.cells) for row in table.rows
    ]
    for column, cells in zip(data["columns"][1:], zip(*(r.cells for r in table.rows)), strict=True):  # noqa: B905
        values = {cell.text: cell.value for cell in cells}
        numbers = [values[text] for text in column["texts"][: column["empty"]]]
        assert all(values[text] == "" for text in column["texts"][column["empty"] :])
        if numbers and numbers[0] is not None:
            assert numbers == sorted(numbers)


def test_pages_are_bounded(nation: Outputs) -> None:
    for page in (render_page(nation), render_annex(nation)):
        assert len(page.encode()) < 3e6
        assert page.count("<tr data-p=") == ROWS_AT_ONCE
        assert 'href="physicians.csv"' in page


def test_a_document_leads_to_the_workbook(nation: Outputs) -> None:
    parts = measurement_document(nation).parts
    tables = [part for part in parts if isinstance(part, PlainTable)]
    assert max(len(table.rows) for table in tables) < 200
    told = [part.text for part in parts if isinstance(part, Passage)]
    assert any(
        "20,000 physicians is too long" in text and "physicians.csv" in text for text in told
    )
