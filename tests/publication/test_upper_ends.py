"""Published upper ends of limits are never below the measured ones."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.inference.group import group_of
from intravar.publication.disclosure import published_of
from intravar.publication.group import rounded_spread
from intravar.publication.hiding import rounded_figure
from intravar.publication.results import Decision

pytestmark = pytest.mark.usefixtures("learned_once")

NAMES = [f"h{at}" for at in range(5)]
SMALL = "small"
PHASES = (0.0, 0.2, 0.5, 0.8, 0.999)


@pytest.fixture(scope="module")
def measured() -> intravar.Measurement:
    """Measure five physicians with large panels, and one with 25 patients."""
    random = np.random.default_rng(5)
    n, n_small = 300, 25
    need = random.normal(size=n * len(NAMES) + n_small)
    chance = 1 / (1 + np.exp(-2 * need))
    chance[-n_small:] = 0.5
    decision = (random.random(len(need)) < chance).astype(int)
    table = pl.DataFrame(
        {
            "physician": [*np.repeat(NAMES, n).tolist(), *[SMALL] * n_small],
            "decision": decision,
            "need": need,
            "age": random.normal(60, 10, len(need)),
        }
    )
    return intravar.measure(table, physician="physician", decision="decision")


def handed_on(measured: intravar.Measurement, phase: float) -> Decision:
    names = {name: f"P-{name}" for name in (*NAMES, SMALL)}
    return published_of(measured, names, lambda _: phase).first


@pytest.mark.parametrize("phase", PHASES)
def test_the_published_upper_end_is_no_smaller_than_the_measured_one(
    measured: intravar.Measurement, phase: float
) -> None:
    decision, group = handed_on(measured, phase), measured.group
    assert group is not None
    assert decision.group is not None
    figure = decision.group.discordance
    assert (figure.high or 0) >= group.high
    assert (figure.value or 1) <= (figure.high or 0)
    assert abs((figure.value or 0) - group.discordance) <= 0.02


def test_upper_ends_of_physicians_are_rounded_up(measured: intravar.Measurement) -> None:
    decision = handed_on(measured, 0.5)
    exact = {f"P-{row['physician']}": row["high"] for row in measured.table.to_dicts()}
    shown = [row for row in decision.physicians if row.high is not None]
    assert len(shown) == len(NAMES)
    assert all(row.high >= exact[row.physician] - 1e-6 for row in shown if row.high is not None)


def test_the_headline_is_the_average_of_the_table_if_all_are_shown(
    measured: intravar.Measurement,
) -> None:
    everybody = replace(measured.request, min_panel=20)
    public = replace(measured, request=everybody)
    groups = [handed_on(public, phase).group for phase in PHASES]
    (figure,) = {None if group is None else group.discordance for group in groups}
    assert figure is not None
    rows = handed_on(public, 0.5).physicians
    known = [(row.discordance, row.n_patients) for row in rows]
    assert None not in [each for pair in known for each in pair]
    level, n = np.array(known, dtype=np.float64).T
    assert figure.value == pytest.approx(level @ n / n.sum(), abs=0.0051)


def test_no_field_of_a_limit_beside_its_upper_end_looks_like_one(
    measured: intravar.Measurement,
) -> None:
    for row in handed_on(measured, 0.5).physicians:
        assert row.identified_low is None
        assert row.identified_high is None


def test_the_spread_in_memory_is_the_published_one(measured: intravar.Measurement) -> None:
    """Those whose panels are too small for a figure are not compared with the others."""
    group = measured.group
    assert group is not None
    for phase in PHASES:
        told = handed_on(measured, phase).group
        assert told is not None
        for end, exact in (
            (told.spread.value, group.spread),
            (told.spread.low, group.spread_low),
        ):
            assert end == pytest.approx(exact, abs=0.0011)


def test_physicians_who_are_not_counted_have_no_part_in_the_spread() -> None:
    score = np.array([0.45, 0.47, 0.46, 0.12])
    error, n = np.array([0.02, 0.02, 0.02, 0.05]), np.array([300, 300, 300, 17])
    everybody = group_of(score, error, n)
    counted = group_of(score, error, n, counted=n >= 30)
    three = group_of(score[:3], error[:3], n[:3])
    assert everybody is not None
    assert counted is not None
    assert three is not None
    assert counted.discordance == everybody.discordance
    assert counted.spread == three.spread < everybody.spread
    assert counted.p_value == three.p_value


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("step", [0.001, 0.005, 0.01, 0.02])
def test_rounding_moves_no_spread_to_an_end_of_its_interval(step: float, phase: float) -> None:
    n = np.full(30, 200)
    score = np.random.default_rng(1).normal(0.25, 0.028, 30)
    found = group_of(score, np.full(30, 0.01), n)
    assert found is not None
    told = rounded_spread(found, found, (step,) * 3, phase, 0.02)
    assert told.value is not None
    assert (told.low or 0) < told.value < (told.high or 0)


@pytest.mark.parametrize("phase", [None, *PHASES])
def test_a_limit_is_rounded_so_that_its_upper_end_holds(phase: float | None) -> None:
    for value in np.linspace(0.01, 0.45, 23).tolist():
        high = value + 0.013
        figure = rounded_figure((value, 0.0, high), 0.02, phase, most=0.5)
        assert (figure.high or 0) >= high - 1e-6
        assert (figure.value or 0) <= (figure.high or 0)
        assert abs((figure.value or 0) - value) <= 0.02 + 1e-6
