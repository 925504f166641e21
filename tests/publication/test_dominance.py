"""A figure of all physicians does not reveal that of one who makes up nearly all of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import intravar
from intravar.measurement.result import Measurement
from intravar.publication.disclosure import published_of
from intravar.publication.policy import DOMINANT, DOMINATED_STEP, is_dominated
from intravar.publication.results import Published
from intravar.publication.strata import dominated_strata, published_strata

BIG, SMALL = 4000, 60
NAMES = [f"D{number}" for number in range(9)]


@pytest.fixture(scope="module")
def measured() -> Measurement:
    """One physician, who hardly ever says no, has nine of ten patients."""
    random = np.random.default_rng(2)
    who = ["D0"] * BIG + [name for name in NAMES[1:] for _ in range(SMALL)]
    decision = random.integers(0, 2, len(who))
    decision[:BIG] = 1
    decision[: BIG : BIG // 8] = 0
    age = random.integers(30, 90, len(who))
    frame = pl.DataFrame({"doctor": who, "age": age, "drug": decision})
    found = intravar.measure(
        frame, physician="doctor", decision="drug", method="euclidean", min_reliability=0.0
    )
    assert isinstance(found, Measurement)
    return found


def published(measured: Measurement, discordance: float) -> Published:
    """Publish with another discordance of the large physician, in its score and the group's."""
    main = measured.main
    at = main.scores.physician.cast(pl.String).to_list().index("D0")
    scores = main.scores
    values = scores.discordance.copy()
    values[at] = discordance
    mean = float(scores.n_patients @ values) / float(scores.n_patients.sum())
    assert measured.group is not None
    apart = mean - measured.group.discordance
    ends = {"low": measured.group.low + apart, "high": measured.group.high + apart}
    group = replace(measured.group, discordance=mean, **ends)
    fitted = {**measured.fitted}
    fitted[measured.method] = replace(main, scores=replace(scores, discordance=values))
    changed = replace(measured, fitted=fitted, group=group)
    return published_of(changed, {name: name for name in NAMES}, lambda _: 0.3)


def test_the_figure_of_all_leaves_that_of_a_dominant_physician_open(measured: Measurement) -> None:
    """The attacker knows all others exactly, and the point of rounding as well."""
    seen: dict[Any, list[float]] = {}
    for discordance in np.linspace(0.0, 0.1, 21).tolist():
        found = published(measured, discordance).first
        assert found.group is not None
        figures = (found.group.discordance, found.group.noise, found.check.decision_share)
        seen.setdefault(repr(figures), []).append(discordance)
    widths = [max(alike) - min(alike) for alike in seen.values()]
    assert max(widths) >= 0.1 - 1e-9
    assert len(seen) == 1


def test_the_reason_is_published(measured: Measurement) -> None:
    found = published(measured, 0.004).first
    assert any("makes up most of the figures" in line for line in found.warnings)
    assert found.group is not None
    assert found.group.dominated
    assert found.group.noise is None
    assert found.unrecorded is None
    value = found.group.discordance.value
    assert value is not None
    halves = 2 * value / DOMINATED_STEP
    assert abs(halves - round(halves)) < 1e-9
    low, high = found.group.discordance.low, found.group.discordance.high
    assert low is not None
    assert high is not None
    assert low < value < high
    share = found.check.decision_share
    assert share is not None
    assert 0 < share < 1


def test_nothing_changes_where_nobody_dominates_or_nothing_is_hidden(
    measured: Measurement,
) -> None:
    request = replace(measured.request, smallest_cell=1)
    names = {name: name for name in NAMES}
    found = published_of(replace(measured, request=request), names, lambda _: 0.3).first
    assert not any("makes up most" in line for line in found.warnings)


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 0.5)), min_size=1, max_size=8),
    st.data(),
)
def test_a_figure_that_is_not_coarse_is_that_of_no_hidden_physician(
    panels: list[tuple[int, float]], data: st.DataObject
) -> None:
    """Without the figures of the others, it leaves each hidden one as open as the coarse step."""
    patients, discordance = (np.array(column) for column in zip(*panels, strict=True))
    shown = [data.draw(st.booleans()) for _ in panels]
    if is_dominated(patients, discordance, np.array(shown)):
        return
    share = patients / patients.sum()
    mean = float(share @ discordance)
    for own, is_shown in zip(share, shown, strict=True):
        if not is_shown:
            # The others may have anything from 0 to 0.5.
            low = max((mean - 0.5 * (1 - own)) / own, 0.0)
            high = min(mean / own, 0.5)
            least = min(0.1, mean * (1 / DOMINANT - 1), 0.5 - mean)
            assert high - low >= least - 1e-9


def test_who_is_published_dominates_nobody() -> None:
    patients, discordance = np.array([9000, 10, 10]), np.array([0.1, 0.1, np.nan])
    assert not is_dominated(patients, discordance, np.array([True, False, False]))
    assert is_dominated(patients, discordance, np.array([False, True, True]))
    assert not is_dominated(patients, np.full(3, np.nan), np.zeros(3, dtype=bool))


def test_a_physician_with_nearly_all_of_the_discordance_dominates() -> None:
    patients, discordance = np.array([100, 500, 500]), np.array([0.4, 0.001, 0.001])
    assert is_dominated(patients, discordance, np.zeros(3, dtype=bool))


def test_a_subgroup_of_one_physician_is_left_out() -> None:
    """Hospitals with one physician each: the hospital's figure would be the physician's."""
    cohort = intravar.simulate("score2", n_patients=1200, n_physicians=6, random_state=3)
    table = cohort.to_polars().with_columns(pl.col("physician").cast(pl.String))
    names = sorted(table["physician"].unique())
    hospital = {name: "A" if name == names[0] else "BC"[at % 2] for at, name in enumerate(names)}
    table = table.with_columns(hospital=pl.col("physician").replace_strict(hospital))
    found = intravar.measure(table, physician="physician", decision="decision", by="hospital")
    assert isinstance(found, Measurement)
    assert found.levels is not None
    assert dominated_strata(found.levels, names, 11) == {"A"}
    assert dominated_strata(found.levels, (), 11) == set()
    told = published_strata(found.levels, 11, hidden=True, dominated={"A"})
    assert "A" not in {stratum.stratum for stratum in told.strata}
    told_end = published_of(found, {name: name for name in names}, lambda _: 0.3).first
    assert told_end.by is not None
    assert "A" not in {stratum.stratum for stratum in told_end.by.strata}
