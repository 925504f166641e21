"""Patients dealt into levels and periods."""

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

import intravar
from intravar import InputError, Request
from intravar.preparation.coding import levels_of, periods_of, read_period

DAYS = pl.Series("seen", [date(2023, 1, 1), date(2023, 12, 31), date(2024, 3, 1), None])


@pytest.mark.parametrize(
    ("period", "names", "place"),
    [
        ("year", ("2023", "2024"), [0, 0, 1, -1]),
        ("quarter", ("2023 Q1", "2023 Q4", "2024 Q1"), [0, 1, 2, -1]),
        ("month", ("2023-01", "2023-12", "2024-03"), [0, 1, 2, -1]),
        ("before/after 2024-03-01", ("before 2024-03-01", "from 2024-03-01"), [0, 0, 1, -1]),
        ("before/after 2023-12-31", ("before 2023-12-31", "from 2023-12-31"), [0, 1, 1, -1]),
    ],
)
def test_periods(period: str, names: tuple[str, ...], place: list[int]) -> None:
    found = periods_of(DAYS, period)
    assert found.names == names
    assert found.deal(DAYS).tolist() == place


def test_times_and_years() -> None:
    times = pl.Series("t", [datetime(2024, 2, 29, 23, 59), datetime(2024, 3, 1)])
    assert periods_of(times, "before/after 2024-03-01").deal(times).tolist() == [0, 1]
    assert periods_of(pl.Series("y", [2019, 2021, 2019]), "year").names == ("2019", "2021")


@pytest.mark.parametrize(
    ("column", "period", "words"),
    [
        (pl.Series("d", [1, 2, 3]), "year", "does not hold dates"),
        (pl.Series("d", ["a", "b"]), "year", "'a' for instance"),
        (pl.Series("d", [2019, 2020]), "quarter", "holds years"),
        (pl.Series("d", [date(2020, 1, 1)] * 3), "year", "lie in one period"),
        (pl.Series("d", [None, None], dtype=pl.Date), "year", "lie in one period"),
        (pl.date_range(date(1950, 1, 1), date(2020, 1, 1), "1y", eager=True), "year", "71 periods"),
    ],
)
def test_what_cannot_be_dealt_by_date(column: pl.Series, period: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        periods_of(column, period)


@pytest.mark.parametrize(
    "levels",
    [
        [f"University Hospital, Department of Cardiology, {part}" for part in ("North", "South")],
        ["A" * 60 + "1" + "B" * 60, "A" * 60 + "2" + "B" * 60],
        [0.12345678, 0.12345679, 1.0],
        ["A  B", "A B", "A B (2)"],
        ["not known", "Missing", None],
        ["not known", "missing", "no value", "empty", None],
    ],
)
def test_no_two_levels_have_one_name(levels: list[Any]) -> None:
    column = pl.Series("ward", levels * 2)
    found = levels_of(column)
    assert len(set(found.names)) == len(found.names) == len(levels)
    assert max(map(len, found.names)) <= 45
    assert sorted(set(found.deal(column).tolist())) == list(range(len(levels)))


def test_levels() -> None:
    assert levels_of(pl.Series("x", [True, False, True])).names == ("no", "yes")
    assert levels_of(pl.Series("x", [1, 0, None])).names == ("no", "yes", "not known")
    assert levels_of(pl.Series("x", ["a", "Not known", None])).names[-1] == "missing"
    assert levels_of(pl.Series("x", [1.0, 2.5])).names == ("1", "2.5")
    with pytest.raises(InputError, match="100 different values"):
        levels_of(pl.Series("x", range(100)))
    with pytest.raises(InputError, match="one value only"):
        levels_of(pl.Series("x", ["a", "a"]))
    with pytest.raises(InputError, match="takes levels"):
        levels_of(pl.Series("x", [[1], [2]]))


def test_periods_with_no_meaning_are_refused() -> None:
    for period in ("weekly", "before/after 2024-13-45", "2024"):
        with pytest.raises(InputError, match="year, quarter, month"):
            read_period(period)
    with pytest.raises(InputError, match="needs date"):
        Request(physician="p", decision="d", period="year")


def test_the_date_compares_nobody() -> None:
    table = intravar.simulate("drift-step", n_patients=600, n_physicians=5).to_polars()
    dated = table.with_columns(seen=pl.date(2023, 1, 1) + pl.duration(days="day")).drop("day")
    asked = {"physician": "physician", "decision": "decision"}
    found = intravar.check(dated, date="seen", by="male", **asked).prepared
    assert "seen" not in found.covariates
    assert "male" in found.covariates
    assert found.recipe.strata["date"].names == ("2023", "2024")
    assert found.dealt["date"].max() == 1
    uses = {each.column: each.use for each in found.columns}
    assert uses["seen"] == "date"
    for name, words in (("date", "which is the one who decided"), ("by", "which is the one who")):
        with pytest.raises(InputError, match=words):
            intravar.check(dated, **asked, **{name: "physician"})
