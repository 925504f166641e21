"""How much the record explains, whether physicians differ, and where the discordance lies."""

import numpy as np
import polars as pl
import pytest
from benchmarks._quick import Quick
from benchmarks._worlds import World
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.estimators.evidence import Predictions
from intravar.estimators.matching import Rate
from intravar.inference.group import any_two, explained_of_all, explained_of_each, group_of
from intravar.measurement.grounds import concluded, rule_strength
from intravar.measurement.halves import compare_halves
from intravar.measurement.rule import location_of
from intravar.measurement.scores import scores_of
from intravar.measurement.verdict import UNRANKED, Grounds
from intravar.preparation.check import checked
from intravar.publication.results import KindOfPatients, Location
from intravar.publication.sentences import location_lines
from intravar.request import Request


def test_nothing_explained_is_the_rate_and_all_explained_is_one() -> None:
    n, yes = np.array([100, 200, 50]), np.array([50, 20, 10])
    alone, error = any_two(n, yes), np.full(3, 0.01)
    nothing = explained_of_all(alone, error, n, any_two(n, yes))
    assert nothing is not None
    assert nothing.share == pytest.approx(0.0)
    assert nothing.low < 0 < nothing.high
    everything = explained_of_all(np.zeros(3), error, n, any_two(n, yes))
    assert everything is not None
    assert everything.share == 1
    assert explained_of_each(alone / 2, error, any_two(n, yes))["explained"] == pytest.approx(0.5)


def test_the_rate_alone_is_what_any_two_patients_score() -> None:
    case = World("rates", 0.3, 6, 60).draw(0)
    table = case.table
    model = Rate().fit(table.drop("physician", "decision"), table["decision"], table["physician"])
    panels = table.group_by("physician").agg(pl.len(), pl.col("decision").sum()).sort("physician")
    expected = any_two(panels["len"].to_numpy(), panels["decision"].to_numpy())
    assert model.score_ == pytest.approx(np.minimum(expected, 0.5))
    ends = model.ends()
    assert (ends.low <= model.score_).all()
    assert (ends.high >= model.score_).all()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 60), st.floats(0, 0.1), st.floats(0.005, 0.06))
def test_no_two_figures_contradict_each_other(
    seed: int, n: int, spread: float, error: float
) -> None:
    random = np.random.default_rng(seed)
    score = np.clip(0.25 + random.normal(0, np.hypot(spread, error), n), 0.0, 0.5)
    group = group_of(score, np.full(n, error), np.full(n, 100))
    assert group is not None
    assert (group.p_value < 0.05) == (group.spread_low > 0)
    assert group.spread_low <= group.spread <= group.spread_high
    if group.differences == "differ":
        assert group.spread_low > 0
        assert group.spread >= 0.02
    elif group.differences == "less than matters":
        assert group.spread < 0.02
    else:
        assert group.spread_low == 0
        assert group.needed is None or group.needed > 100  # more than they have


def test_physicians_who_differ_by_less_than_matters_do_not_differ() -> None:
    """The spread is surely above 0, but its estimate is below the smallest relevant difference."""
    score = 0.25 + 0.017 * np.array([-1.4, -1.0, -0.6, -0.2, 0.2, 0.6, 1.0, 1.4])
    group = group_of(score, np.full(8, 0.004), np.full(8, 2000))
    assert group is not None
    assert 0 < group.spread_low < group.spread < 0.02 < group.spread_high
    assert group.differences == "less than matters"
    finer = group_of(score, np.full(8, 0.004), np.full(8, 2000), matters=0.01)
    assert finer is not None
    assert finer.differences == "differ"


def test_scores_closer_than_chance_prove_nothing() -> None:
    """Ten equal scores with large errors: they may differ, for all that is known."""
    group = group_of(np.full(10, 0.3), np.full(10, 0.05), np.full(10, 100))
    assert group is not None
    assert group.differences == "not known"
    assert group.spread_high > 0.03


def test_values_from_0_to_one_half_spread_no_farther():
    """Three scores that lie far apart have a wide interval: its end stays possible."""
    group = group_of(np.array([0.1, 0.4, 0.5]), np.full(3, 0.02), np.full(3, 24))
    assert group is not None
    assert group.spread_low <= group.spread <= group.spread_high == 0.25


def test_many_rows_and_a_trace_of_a_rule_bear_no_ranks() -> None:
    """Rates from 0.35 to 0.9 and a log odds ratio of 0.3: 30,000 patients change nothing."""
    case = World("rates", 0.3, 40, 750).draw(0)
    observed = checked(case.table, Request(**case.roles)).prepared.observed  # type: ignore[arg-type]
    model = Quick().fit_observed(observed)
    evidence = model.evidence(observed)
    strength = rule_strength(evidence, observed, None)
    assert strength > 4  # significant
    grounds = Grounds(evidence, None, compare_halves(model, observed, 0), strength)
    verdict = concluded(
        grounds, scores_of(model, evidence, observed), Request(physician="doctor", decision="drug")
    ).verdict
    assert verdict.level in UNRANKED
    assert "explains hardly anything" in str(verdict)


def test_scores_as_they_are_are_known_of_everybody() -> None:
    """How much physicians differ is read off scores in which chance is not held back."""
    none = np.empty(0)
    sampled = Predictions(none, none, np.zeros(2), np.zeros(2), raw=np.ones(2))
    table = pl.DataFrame(sampled.by_physician())
    read = sampled.with_physicians(table.with_columns(raw=pl.Series([0.3, 0.4])))
    assert read.raw is not None
    assert read.raw.tolist() == [0.3, 0.4]
    # A method that holds nothing back has no other scores, and none are made up for it.
    plain = Predictions(none, none, np.zeros(2), np.zeros(2))
    assert set(plain.by_physician()) == {"expected", "gain"}
    assert plain.with_physicians(pl.DataFrame(plain.by_physician())).raw is None


def test_the_kind_of_patients_that_is_hard_is_found() -> None:
    """Those above 80 are decided by a coin, the others by one finding."""
    random = np.random.default_rng(3)
    n = 3000
    age, finding = random.uniform(40, 100, n), random.integers(0, 2, n)
    chance = np.where(age > 80, 0.5, np.where(finding == 1, 0.97, 0.03))
    table = pl.DataFrame(
        {
            "physician": [f"P{at % 5}" for at in range(n)],
            "decision": (random.random(n) < chance).astype(int),
            "age": age,
            "finding": finding,
        }
    )
    prepared = checked(table, Request(physician="physician", decision="decision")).prepared
    model = Quick().fit_observed(prepared.observed)
    evidence = model.evidence(prepared.observed)
    # Prepared rows have an order of their own.
    x = dict(zip(prepared.observed.names, prepared.observed.covariates.T, strict=True))
    evidence.probability[:] = np.where(x["age"] > 80, 0.5, np.where(x["finding"] == 1, 0.97, 0.03))
    found = location_of(prepared, evidence)
    assert found is not None
    assert found.close_patients == pytest.approx(1 / 3, abs=0.05)
    assert found.close_discordance > 0.75
    assert found.in_close == pytest.approx(found.close_discordance, abs=0.15)
    assert found.kinds.height > 0
    assert found.kinds["when"].str.contains("age").all()
    assert found.kinds["level"].to_numpy() == pytest.approx(0.5, abs=0.1)
    assert found.kinds["discordance"].sum() > 0.7
    nothing = location_lines(None)
    assert nothing == []
    told = location_lines(Location(0.33, 0.85, (KindOfPatients("age > 80", 0.33, 0.85, 0.5),)))
    close = "85 % of the discordance lies in close calls, the 33 % of patients"
    assert told[0] == f"{close} that could be decided either way."
    assert told[1] == "Most of it lies where age > 80: 33 % of patients, 85 % of the discordance."


def test_one_large_panel_does_not_say_what_is_explained_of_a_usual_physician() -> None:
    """The rule of one physician with most of the patients is not that of twelve coins."""
    n, error = np.array([6000] + [60] * 12), np.full(13, 0.02)
    found = explained_of_all(np.array([0.1] + [0.5] * 12), error, n, any_two(n, n // 2))
    assert found is not None
    assert found.share > 0.6
    assert found.usual < 0.1
    even = explained_of_all(
        np.full(13, 0.3), error, np.full(13, 60), any_two(np.full(13, 60), np.full(13, 30))
    )
    assert even is not None
    assert even.usual == pytest.approx(even.share)
