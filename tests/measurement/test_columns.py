"""The columns of a result are declared once, and everything follows."""

from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.measurement.columns import COLUMNS, rounded, typed
from intravar.wording import USUAL

pytestmark = pytest.mark.usefixtures("learned_once")

DOCS = Path(__file__).parents[2] / "docs" / "measure.md"


def test_the_page_lists_every_column() -> None:
    text = DOCS.read_text("utf-8")
    for column in COLUMNS:
        assert f"| `{column.name}` | {USUAL.fill(column.meaning)} |" in text


def test_a_table_has_all_columns_with_their_types() -> None:
    table = typed({"physician": [3, 1], "discordance": [0.25, float("nan")]})
    assert table.columns == [column.name for column in COLUMNS]
    assert table.schema["physician"] == pl.Int64
    assert table["discordance"].to_list() == [0.25, None]
    assert [table.schema[column.name] for column in COLUMNS[1:]] == [
        column.dtype for column in COLUMNS[1:]
    ]
    assert rounded(typed({"physician": [1], "rank": [1.26]}))["rank"].item() == 1.3


def test_ids_keep_their_type_and_come_back_as_they_came() -> None:
    cohort = intravar.simulate("score2", n_patients=480, n_physicians=12, random_state=3)
    numbered = pl.col("physician").str.slice(1).cast(pl.Int32)
    table = cohort.to_polars().with_columns(numbered)
    asked = {"physician": "physician", "decision": "decision", "method": "euclidean"}
    found = intravar.measure(table, **asked).physicians
    assert found["physician"].to_list() == list(range(1, 13))
    assert table.join(found, on="physician").height == 480
    pandas = intravar.measure(table.to_pandas(), **asked).physicians
    assert type(pandas).__module__.startswith("pandas")
    assert len(table.to_pandas().merge(pandas, on="physician")) == 480


def test_small_counts_change_no_score() -> None:
    table = intravar.simulate("score2", n_patients=480, n_physicians=6, random_state=3).to_polars()
    table = table.with_columns(ward=pl.format("w{}", pl.int_range(480) % 45))
    asked = {"physician": "physician", "decision": "decision", "method": "euclidean"}
    one, other = (intravar.measure(table, **asked, smallest_cell=n) for n in (1, 40))
    assert one.physicians.equals(other.physicians)
    assert one.diagnostics.sweep.equals(other.diagnostics.sweep)


def test_what_is_below_a_limit_does_not_look_like_it() -> None:
    below = [0.3998, 0.4, 0.57, 0.0]
    (column,) = (each for each in COLUMNS if each.name == "reliability")
    assert [column.text(each) for each in below] == ["0.399", "0.400", "0.570", "0.000"]


def test_no_column_is_told_in_units_of_information() -> None:
    assert not any("nats" in column.meaning for column in COLUMNS)
