"""Subgroups and periods that are shown are compared with each other, and with nothing else."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from intravar.estimators.noise import Noise
from intravar.measurement.wider.strata import Strata, strata_of
from intravar.publication.results import Figure
from intravar.publication.results import Noise as PublishedNoise
from intravar.publication.sentences import comparable_parts, course_lines, strata_lines
from intravar.publication.strata import published_strata

NOTHING = Figure()
COLUMNS = ("decision", "own", "pooled", "code", "stratum")
#: Patients of one of four physicians in a stratum, the share decided for, and what was predicted.
Dealt = tuple[int, float, float]


def strata_with(**dealt: Dealt) -> Strata:
    """Make strata in which all physicians decide alike; half of all are likely to be yes."""
    columns = [
        [float(at < round(n * share)), own, 0.3 + 0.4 * (at % 2), who, place]
        for place, (n, share, own) in enumerate(dealt.values())
        for who in range(4)
        for at in range(n)
    ]
    values = np.array(columns).T
    places = pl.col("code", "stratum").cast(pl.Int64)
    patients = pl.DataFrame(dict(zip(COLUMNS, values, strict=True))).with_columns(places)
    return strata_of(patients, pl.Series(["A", "B", "C", "D"]), tuple(dealt))


def test_one_that_is_shown_is_compared_with_nothing() -> None:
    """Two of three periods are hidden: one has few, the other would follow by subtraction."""
    strata = strata_with(q2=(2, 0.5, 0.5), q3=(40, 0.5, 0.5), q4=(90, 0.5, 0.3))
    assert np.isfinite(strata.compared(strata.names)[0])
    told = published_strata(strata, 11)
    assert [row.stratum for row in told.strata] == ["q4"]
    assert (told.p_value, told.change, told.strata[0].alike) == (None, NOTHING, NOTHING)
    assert course_lines(told) == []
    first, others = strata_lines(told, "seen")
    assert first.endswith("get different decisions: q4 58.")
    left_out = "2 are left out because of small numbers, or because one physician has nearly all"
    assert others == f"{left_out} patients."


def test_where_few_were_decided_one_way_that_is_the_reason() -> None:
    strata = strata_with(without=(400, 0.0, 0.01), infarct=(400, 0.5, 0.4))
    assert strata.compared(strata.names)[0] < 1e-9
    told = published_strata(strata, 11)
    assert (told.strata, told.p_value, told.change) == ((), None, NOTHING)
    assert strata_lines(told, "infarction") == [
        "By infarction: nothing can be shown, because in at least one of them few patients were "
        "decided one way."
    ]


@pytest.mark.parametrize("hidden", [(1, 0.0, 0.5), (300, 0.0, 0.02), (300, 0.0, 0.9)])
def test_hidden_strata_have_no_say_in_test_and_change(hidden: Dealt) -> None:
    """Neither a large one in which hardly any were decided for, nor one that nobody can compare."""
    shown: dict[str, Dealt] = {"f": (200, 0.4, 0.4), "m": (250, 0.5, 0.45)}
    alone = published_strata(strata_with(**shown), 11)
    told = published_strata(strata_with(**shown, u=hidden, x=(3, 0.3, 0.5)), 11)
    assert [row.stratum for row in told.strata] == ["f", "m"]
    assert told.n_left_out == 2
    assert (told.p_value, told.change) == (alone.p_value, alone.change)
    assert told.p_value is not None
    assert (
        "2 are left out because of small numbers, or because one physician has nearly all patients."
        in strata_lines(told, "gender")
    )


def test_a_hidden_period_stays_a_step_of_the_way() -> None:
    """The slope through the first, the second and the fourth of four periods."""
    strata = strata_with(a=(90, 0.5, 0.5), b=(90, 0.5, 0.4), c=(90, 0.5, 0.5), d=(90, 0.5, 0.2))
    _, (change, low, high) = strata.compared(["a", "b", "d"])
    slope = np.polyfit([0, 1, 3], strata.effects.value[[0, 1, 3]], 1)[0]
    assert change == pytest.approx(3 * slope)
    assert low < change < high


def test_strata_that_nobody_shares_are_said_to_be_such() -> None:
    n = 400
    place = np.repeat([0, 1], n // 2)
    decision, half = np.tile([0.0, 1.0], n // 2), np.full(n, 0.5)
    patients = pl.DataFrame(dict(zip(COLUMNS, (decision, half, half, place, place), strict=True)))
    told = published_strata(strata_of(patients, pl.Series(["A", "B"]), ("f", "m")), 11)
    assert strata_lines(told, "gender")[-1] == (
        "They cannot all be compared: for some two of them, no physician has similar patients in "
        "both."
    )


def test_noise_of_periods_has_intervals() -> None:
    names = "before 2024-03-01", "from 2024-03-01"
    strata = strata_with(**dict.fromkeys(names, (300, 0.5, 0.42)))
    parts = {"system": 0.2, "level": 0.02, "pattern": 0.03, "occasion": 0.15}
    parts["pattern_and_occasion"] = 0.18
    rows = [(name, value, value - 0.01, value + 0.01) for name, value in parts.items()]
    table = pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row")
    found = Noise(**parts, reason=None, patients_needed=100, table=table)
    noise = dict.fromkeys(names, found)
    told = published_strata(strata, 11, hidden=True, noise=noise, claim="at most")
    lines = strata_lines(told, "seen", claim="at most") + course_lines(told, claim="at most")
    row, value = told.strata[0], told.strata[0].discordance.value
    assert value == pytest.approx(0.52, abs=0.03)
    assert row.noise is not None
    assert row.noise.occasion.value == pytest.approx(0.15)
    periods = "(before 2024-03-01, then from 2024-03-01)"
    assert f"differently {periods}: 4 [2, 6], then 4 [2, 6], because" in lines[-1]
    as_told = f"{100 * value:.0f}"
    assert f"before 2024-03-01 {100 * (row.discordance.high or 0):.0f} ({as_told}), " in lines[0]
    assert "; 30 [28, 32], then 30 [28, 32], because the same physician" in lines[-1]


def test_periods_are_compared_by_the_sum_where_one_is_not_split() -> None:
    split = PublishedNoise(*map(Figure, (0.2, 0.02, 0.03, 0.15, 0.18)))
    unsplit = replace(split, pattern=Figure(), occasion=Figure(), reason="small panels")
    assert comparable_parts([split, split]) == ("level", "pattern", "occasion")
    assert comparable_parts([split, unsplit]) == ("level", "pattern_and_occasion")


@pytest.mark.parametrize("claim", ["about", "at most"])
def test_lower_ends_are_not_rounded_up(claim: str) -> None:
    for share in np.linspace(0.3, 0.45, 7):
        strata = strata_with(f=(60, 0.4, share), m=(70, 0.5, 0.3))
        told = published_strata(strata, 11, hidden=True, claim=claim)
        for row, exact in zip(told.strata, strata.levels.iter_rows(named=True), strict=True):
            for low, name in ((row.discordance.low, "low"), (row.alike.low, "alike_low")):
                assert low is not None
                assert 0 <= low <= exact[name]
