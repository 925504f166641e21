"""Cases seen twice: counted, set beside the bound, and hidden where few stand behind."""

from typing import get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import intravar
from intravar import InputError
from intravar.inference import Interval
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import Level
from intravar.publication.disclosure import published_of, published_repeats

pytestmark = pytest.mark.usefixtures("learned_once")

COLUMNS = {"physician": "doctor", "decision": "y", "case": "image"}


@pytest.fixture(scope="module")
def readings() -> pl.DataFrame:
    random = np.random.default_rng(5)
    rows = []
    for doctor, (n, again) in {"a": (90, 90), "b": (80, 76), "c": (70, 40)}.items():
        severity = random.normal(size=n)
        for occasion in range(2):
            seen = range(n) if occasion == 0 else range(again)
            rows += [
                (
                    doctor,
                    image,
                    severity[image],
                    int(random.random() < 1 / (1 + np.exp(-3 * severity[image]))),
                )
                for image in seen
            ]
    return pl.DataFrame(rows, schema=["doctor", "image", "severity", "y"], orient="row")


@pytest.fixture(scope="module")
def found(readings: pl.DataFrame) -> intravar.Measurement:
    return intravar.measure(readings, **COLUMNS)


def test_contradictions_are_counted(readings: pl.DataFrame, found: intravar.Measurement) -> None:
    twice = readings.group_by("doctor", "image").agg(pl.len(), pl.col("y").n_unique() > 1)
    counted = (
        twice.filter(pl.col("len") == 2).group_by("doctor").agg(pl.col("y").mean()).sort("doctor")
    )
    np.testing.assert_allclose(found.physicians["contradiction"], counted["y"])
    assert found.physicians["n_repeats"].to_list() == [90, 76, 40]
    # The methods get one occasion of each case.
    assert found.physicians["n_patients"].to_list() == [90, 80, 70]
    assert found.repeats is not None
    assert found.unrecorded is None  # it is measured
    assert found.noise is not None
    assert found.noise.system == found.noise.level + found.noise.pattern_and_occasion


def test_few_cases_seen_once_hide_how_many_were_seen_twice(found: intravar.Measurement) -> None:
    outputs = published_of(found, {name: name for name in "abc"}).first
    shown = {row.physician: row.n_repeats for row in outputs.physicians}
    assert shown["b"] is None  # four of eighty images were seen once


def test_counting_alone(readings: pl.DataFrame, found: intravar.Measurement) -> None:
    counted = intravar.measure(readings, **COLUMNS, method="repeats")
    np.testing.assert_array_equal(
        counted.physicians["discordance"], found.physicians["contradiction"]
    )
    rates = readings.group_by("doctor").agg(pl.len(), pl.col("y").mean()).sort("doctor")
    assert counted.physicians["n_patients"].to_list() == rates["len"].to_list()
    np.testing.assert_allclose(counted.physicians["rate"], rates["y"])
    with pytest.raises(InputError, match="say which case was seen with case"):
        intravar.measure(readings, physician="doctor", decision="y", method="repeats")
    with pytest.raises(InputError, match="no physician saw a case of column case twice"):
        intravar.measure(readings.unique(["doctor", "image"]), **COLUMNS)


def test_a_measurement_says_how_much_it_bears(found: intravar.Measurement) -> None:
    assert found.verdict in get_args(Level)
    assert found.group is not None
    assert found.group.low <= found.group.discordance <= found.group.high
    decision = published_of(found, {name: name for name in "abc"}).first
    assert decision.verdict == found.verdict
    assert (decision.group is None) == (found.verdict == "not interpretable")
    if found.verdict in ("group only", "not interpretable"):
        assert [row.rank for row in decision.physicians] == [None] * 3


def test_no_rate_tells_how_many_cases_were_decided_for_both_times() -> None:
    """80 cases seen twice, 20 of them decided differently; of the others few, or many, are yes."""
    twice = {"a": (3, 57), "b": (57, 3), "c": (30, 30)}
    rows = []
    for doctor, (yes, no) in twice.items():
        decided = [(1, 0)] * 20 + [(1, 1)] * yes + [(0, 0)] * no
        rows += [(doctor, at, float(at % 7), y) for at, both in enumerate(decided) for y in both]
    table = pl.DataFrame(rows, schema=["doctor", "image", "x", "y"], orient="row")
    found = intravar.measure(table, method="repeats", min_reliability=0, **COLUMNS)
    told = published_of(found, {name: name for name in twice}).first.physicians
    assert [row.discordance for row in told] == [0.25] * 3
    assert [row.rate for row in told] == [None, None, 0.5]


def seen_twice(n: np.ndarray, share: np.ndarray, twice: np.ndarray) -> Scores:
    """Return the self-contradiction of physicians with so many patients."""
    nothing = np.full(len(n), np.nan)
    who, columns = pl.Series(range(len(n))), {"n_repeats": twice.astype(np.float64)}
    ends = Interval(nothing, nothing, nothing)
    return Scores(who, 2 * n, n, share, [None] * len(n), ends, columns)


def test_a_reader_with_many_repeats_is_shown() -> None:
    """Nearly every case seen twice: the share is told, and how many were seen once is not."""
    seen = np.array([393, 300, 119, 60, 200])
    differ = np.array([120, 90, 4, 20, 60])
    n = np.array([393, 305, 119, 60, 300])
    counted = seen_twice(n, differ / seen, seen)
    told, hidden = published_repeats(counted, n, 11)
    assert hidden.tolist() == [False, False, True, True, False]
    assert told["n_repeats"].tolist() == [380, 290, 100, 40, 200]
    assert told["contradiction"].tolist() == [0.31, 0.3, 0.03, 0.33, 0.3]
    assert published_repeats(counted, n, 1)[0]["n_repeats"].tolist() == seen.tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(100, 400), st.integers(0, 40), st.floats(0.08, 0.92))
@example(142, 0, 0.9140625)
def test_cases_seen_once_do_not_follow(twice: int, once: int, share: float) -> None:
    """An attacker who knows the size and every rule finds few cases seen once in many ways."""
    n = twice + once
    differ = round(share * twice)

    def told(twice: list[int], differ: list[int]) -> np.ndarray:
        """Return what would be told of each, a row of its own; nothing known where it is hidden."""
        sizes, share = np.full(len(twice), n), np.array(differ) / np.array(twice)
        seen = seen_twice(sizes, share, np.array(twice))
        columns, hidden = published_repeats(seen, sizes, 11)
        rows = np.column_stack(list(columns.values()))
        rows[hidden] = np.nan
        return rows

    shown = told([twice], [differ])[0]
    if np.isnan(shown).any():
        return
    others, counts = zip(
        *(
            (other, count)
            for other in range(twice - 40, n + 1)
            for count in range(max(0, round(shown[0] * other) - 4), round(shown[0] * other) + 5)
        ),
        strict=True,
    )
    same = (told(list(others), list(counts)) == shown).all(axis=1)
    fits = {n - other for other, fitting in zip(others, same, strict=True) if fitting}
    assert once in fits
    few = {each for each in fits if each < 11}
    # Few cases seen once are never told from none, nor from another few.
    assert not few or len(fits) >= 3
