"""Cases seen twice: counted, set beside the bound, and hidden where few stand behind."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar import InputError
from intravar.publication.disclosure import published_of

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
    assert found.noise.system == found.noise.level + found.noise.pattern + found.noise.occasion


def test_few_cases_seen_once_hide_how_many_were_seen_twice(found: intravar.Measurement) -> None:
    outputs = published_of(found, {name: name for name in "abc"}).first
    shown = dict(outputs.physicians.select("physician", "n_repeats").iter_rows())
    assert shown["b"] is None  # four of eighty images were seen once


def test_counting_alone(readings: pl.DataFrame, found: intravar.Measurement) -> None:
    counted = intravar.measure(readings, **COLUMNS, method="repeats")
    np.testing.assert_array_equal(
        counted.physicians["discordance"], found.physicians["contradiction"]
    )
    with pytest.raises(InputError, match="say which case was seen with case"):
        intravar.measure(readings, physician="doctor", decision="y", method="repeats")
    with pytest.raises(InputError, match="no physician saw a case of column case twice"):
        intravar.measure(readings.unique(["doctor", "image"]), **COLUMNS)


def test_a_measurement_says_how_much_it_bears(found: intravar.Measurement) -> None:
    assert found.verdict in ("levels and ranks", "ranks only", "group only", "not interpretable")
    assert found.group is not None
    assert found.group.low <= found.group.discordance <= found.group.high
    decision = published_of(found, {name: name for name in "abc"}).first
    assert decision.verdict == found.verdict
    assert decision.group is not None
    if found.verdict in ("group only", "not interpretable"):
        assert decision.physicians["rank"].null_count() == 3
