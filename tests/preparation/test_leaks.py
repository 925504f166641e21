"""Columns recorded after the decision, and columns that say the same, are asked about."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.preparation.check import Check, check

RANDOM = np.random.default_rng(5)


def cohort(condition: str = "score2", n: int = 900, seed: int = 3) -> pl.DataFrame:
    made = intravar.simulate(condition, n_patients=n, n_physicians=9, random_state=seed)
    return made.to_polars(truth=False)


def asked(table: pl.DataFrame, **options: str) -> Check:
    return check(table, physician="physician", decision="decision", **options)


@pytest.mark.parametrize(
    "condition", ["score2", "pass1-w3-p2", "continuous", "stress-rare", "stress-own-rules"]
)
def test_nobody_cries_wolf(condition: str) -> None:
    found = asked(cohort(condition))
    assert found.leak_lines() == found.same_lines() == []


@pytest.mark.parametrize(
    ("name", "is_asked"),
    [
        ("days_to_discharge", True),
        ("postOpComplications", True),
        ("30 day mortality", True),
        ("los", True),
        ("dose", True),
        ("results", True),
        ("post_code", False),
        ("lab_result", False),
        ("history_of_complications", False),
        ("prior_adverse_events", False),
        ("family death before 60", False),
        ("closeness", False),
    ],
)
def test_names_that_tell(name: str, is_asked: bool) -> None:
    table = cohort().with_columns(pl.Series(name, RANDOM.normal(size=900).round(2)))
    assert [leak.column for leak in asked(table).prepared.leaks] == [name] * is_asked


def test_a_date_after_the_decision() -> None:
    first = date(2024, 1, 1)
    days = RANDOM.integers(0, 700, 900).tolist()
    seen = [first + timedelta(days=day) for day in days]
    table = cohort().with_columns(
        seen=pl.Series(seen),
        born=pl.Series([day - timedelta(days=20_000 + 7 * at) for at, day in enumerate(seen)]),
        closed=pl.Series([day + timedelta(days=at % 40 - 3) for at, day in enumerate(seen)]),
    )
    lines = asked(table, date="seen").leak_lines()
    assert lines == ["closed: lies after the date of the decision in 90% of rows"]


def test_what_only_a_decision_explains() -> None:
    """An outcome follows the decision, not the patient; a lab is taken where it was decided for."""
    random = np.random.default_rng(2)
    y = random.integers(0, 2, 900)
    stay = random.normal(5 + 2 * y, 1).round(1)
    taken = random.random(900) < 0.15 + 0.7 * y
    lab = pl.Series(random.normal(1, 0.1, 900)).set(pl.Series(~taken), None)
    table = cohort().with_columns(decision=pl.Series(y))
    (leak,) = asked(table.with_columns(stay=pl.Series(stay))).prepared.leaks
    assert leak.column == "stay"
    assert "far better than all other columns together" in leak.why
    (leak,) = asked(table.with_columns(lab=lab)).prepared.leaks
    assert leak.why.startswith("is recorded in 8")
    assert not leak.certain


def test_columns_that_say_the_same() -> None:
    table = cohort()
    wards = RANDOM.integers(0, 5, 900)
    table = table.with_columns(
        born=2024 - pl.col("age").round(),
        ward=pl.Series(wards),
        ward_name=pl.Series([f"ward {'abcde'[ward]}" for ward in wards]),
        region=pl.Series([f"region {'aabbb'[ward]}" for ward in wards]),
        near_age=pl.col("age") + pl.Series(RANDOM.normal(0, 6, 900)),
    )
    assert asked(table).prepared.same == (("age", "born"), ("ward", "ward_name"))
