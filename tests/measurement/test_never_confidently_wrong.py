"""Where rows, columns or panels are not as assumed, less is reported, and nothing that is wrong.

Each world is a condition of the study, at a smaller size. Seeds are fixed; none was chosen.
"""

import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.inference.group import any_two
from intravar.measurement.result import Measurement
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.seeds import stream
from intravar.study.simulation import Scenario, find_condition
from intravar.study.simulation.covariates import WholeDays
from intravar.study.simulation.rules import CodeRule

SEED = 4
#: Share of physicians whose upper end must not be below the truth.
MOST_HOLD = 0.95
SIZE = {"n_patients": 2_000, "n_physicians": 10, "minimum_panel": 200}
#: Small panels, in which everybody has a rule of their own.
SMALL_PANELS = {"n_patients": 2_400, "n_physicians": 60, "minimum_panel": 40}


@dataclass(frozen=True)
class World:
    """A measurement of a simulated cohort, and the truth of its physicians."""

    measurement: Measurement
    table: pl.DataFrame
    truth: dict[str, float]

    @property
    def has_figures(self) -> bool:
        return self.measurement.verdict != NOTHING

    @property
    def share_held(self) -> float:
        table = self.measurement.table.filter(pl.col("high").is_not_null())
        truth = [self.truth[name] for name in table["physician"]]
        return float(np.mean(table["high"].to_numpy() >= truth))

    @property
    def true_mean(self) -> float:
        return float(np.mean(list(self.truth.values())))


def scenario_of(condition: str, **changes) -> Scenario:
    return replace(find_condition(condition), **{**SIZE, **changes})


def measured(scenario: Scenario, *, without: tuple[str, ...] = (), **options) -> World:
    cohort = scenario.simulate(SEED)
    table = cohort.to_polars().drop(without)
    oracle = intravar.oracle(cohort)
    truth = dict(zip(oracle["physician"], oracle["comparable"], strict=True))
    found = intravar.measure(table, physician="physician", decision="decision", **options)
    return World(found, table, truth)


@cache
def visits_without_identifier(condition: str) -> World:
    return measured(scenario_of(condition), without=("patient",))


@cache
def independent_patients() -> World:
    return measured(scenario_of("stress-independent"))


@cache
def leak(condition: str) -> World:
    return measured(scenario_of(condition))


@cache
def few_rows_and_own_rules() -> World:
    return measured(scenario_of("stress-small-personal", **SMALL_PANELS))


def rates_alone(table: pl.DataFrame, who: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the patients of every physician, by name, and 2r(1-r)."""
    counts = table.group_by(who).agg(n=pl.len(), yes=pl.col(what).sum()).sort(who)
    n, yes = (counts[name].cast(pl.Int64).to_numpy() for name in ("n", "yes"))
    return n, any_two(n, yes)


def texts_of(world: World) -> str:
    measurement = world.measurement
    return " ".join([repr(measurement), *measurement.judged.reasons, *measurement.warnings])


DEPENDENT = ("stress-repeat-visits", "stress-near-copies")


@pytest.mark.parametrize("condition", DEPENDENT)
def test_upper_ends_hold_if_rows_of_a_patient_are_not_identified(condition):
    world = visits_without_identifier(condition)
    assert not world.has_figures or world.share_held >= MOST_HOLD


@pytest.mark.parametrize("condition", DEPENDENT)
def test_physicians_are_not_ranked_if_rows_of_a_patient_are_not_identified(condition):
    world = visits_without_identifier(condition)
    assert world.measurement.verdict in UNRANKED
    ranks = [name for name in world.measurement.table.columns if name.startswith("rank")]
    # In memory the same rule applies as in files.
    assert all(world.measurement.physicians[name].is_null().all() for name in ranks)


@pytest.mark.parametrize("condition", DEPENDENT)
def test_the_patient_identifier_is_asked_for_if_rows_are_dependent(condition):
    text = texts_of(visits_without_identifier(condition))
    assert "in the table several times" in text
    assert "--patient" in text or "patient=" in text


def test_with_patient_identifiers_all_visits_count_and_upper_ends_hold():
    world = measured(scenario_of("stress-repeat-visits"), patient="patient")
    assert world.measurement.table["n_patients"].sum() == world.table.height
    assert world.share_held >= MOST_HOLD


@pytest.mark.parametrize("condition", ["stress-coarse", "stress-typical"])
def test_patients_who_are_equal_by_chance_are_not_taken_for_visits(condition):
    world = measured(scenario_of(condition))
    assert "in the table several times" not in texts_of(world)
    assert world.share_held >= MOST_HOLD


LEAKS = ("stress-missing-leak", "stress-missing-leak-30")


@pytest.mark.parametrize("condition", LEAKS)
def test_a_column_that_is_filled_in_for_yes_alone_is_a_leak(condition):
    world = leak(condition)
    assert [each.column for each in world.measurement.check.prepared.leaks] == ["drug_level"]
    assert "drug_level" in texts_of(world)


@pytest.mark.parametrize("condition", LEAKS)
def test_a_leak_caps_the_verdict(condition):
    world = leak(condition)
    assert world.measurement.verdict in UNRANKED
    assert not world.has_figures or world.share_held >= MOST_HOLD


def test_values_missing_at_random_are_no_leak():
    world = measured(scenario_of("stress-missing"))
    assert not world.measurement.check.prepared.leaks


def test_many_levels_of_a_category_are_used():
    # 100 codes instead of 300, so that fewer patients do.
    base = find_condition("stress-many-levels")
    covariates = base.covariates.replace(diagnosis=WholeDays(100))
    scenario = scenario_of("stress-many-levels", covariates=covariates, rule=CodeRule(n_codes=100))
    world = measured(scenario)
    group = world.measurement.group
    n, alone = rates_alone(world.table, "physician", "decision")
    # Shares of the codes among all physicians' other patients reach about 0.28.
    assert group.discordance < (world.true_mean + np.average(alone, weights=n)) / 2
    assert world.share_held >= MOST_HOLD


def test_components_of_noise_are_possible():
    noise = few_rows_and_own_rules().measurement.noise
    table = noise.table.drop_nulls("value")
    assert table["low"].min() >= 0
    assert table["high"].max() <= 0.25 + 1e-9


def test_components_that_the_data_cannot_tell_apart_are_not_stated():
    noise = few_rows_and_own_rules().measurement.noise
    scenario = scenario_of("stress-small-personal", **SMALL_PANELS)
    p = np.array(list(scenario.probabilities(SEED)))
    truth = {"occasion": float(np.mean(p * (1 - p)))}
    truth["pattern"] = float(np.mean(np.var(p, axis=0))) - float(np.var(p.mean(axis=1)))
    for name, true in truth.items():
        reported = getattr(noise, name)
        is_stated = reported is not None and np.isfinite(reported)
        assert not is_stated or 0.5 * true <= reported <= 1.5 * true


def test_at_most_is_said_of_upper_ends_alone():
    world = independent_patients()
    upper = {row["physician"]: row["high"] for row in world.measurement.table.to_dicts()}
    stated = re.findall(r"^(P\d+): .*?at most (\d+(?:\.\d+)?)", repr(world.measurement), re.M)
    assert stated
    for name, value in stated:
        # One decimal is shown.
        assert float(value) / 100 >= upper[name] - 0.0006


def test_the_limit_does_not_exceed_that_of_rates_alone():
    random = stream(SEED, "tests", "weak record")
    who = np.repeat(np.arange(15), 60)
    rate = random.uniform(0.15, 0.45, 15)[who]
    columns = {f"x{number}": random.normal(size=len(who)) for number in range(6)}
    decision = (random.random(len(who)) < rate).astype(int)
    table = pl.DataFrame({"hospital": [f"H{at:02d}" for at in who], "drug": decision, **columns})
    found = intravar.measure(table, physician="hospital", decision="drug")
    n, alone = rates_alone(table, "hospital", "drug")
    assert (found.table.sort("physician")["discordance"].to_numpy() <= alone + 1e-9).all()
    assert found.group.discordance <= np.average(alone, weights=n) + 1e-9


def test_physicians_are_not_ranked_if_they_differ_by_less_than_matters():
    first = independent_patients().measurement
    threshold = 1.1 * first.group.spread
    again = intravar.measure(
        independent_patients().table,
        physician="physician",
        decision="decision",
        matters=threshold,
    )
    assert again.verdict in UNRANKED


def test_weights_of_a_sample_give_the_figure_of_the_population():
    scenario = scenario_of("stress-sampled", n_patients=6_000, minimum_panel=500)
    world = measured(scenario, weight="sampling_weight")
    assert world.share_held >= MOST_HOLD
    assert world.measurement.group.discordance < world.true_mean + 0.04


def test_a_slow_change_of_rules_is_no_discordance_if_dates_are_given():
    cohort = scenario_of("stress-drift", n_patients=3_000).simulate(SEED)
    day = pl.duration(days=pl.col("day").cast(pl.Int64))
    dated = cohort.to_polars().with_columns(date=pl.date(2023, 1, 1) + day).drop("day")
    roles = {"physician": "physician", "decision": "decision"}
    without = intravar.measure(dated.drop("date"), **roles)
    with_date = intravar.measure(dated, **roles, date="date")
    assert with_date.group.discordance < without.group.discordance - 0.01
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    assert np.mean(with_date.table["high"].to_numpy() >= truth) >= MOST_HOLD
