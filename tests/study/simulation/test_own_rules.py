"""Physicians with rules of their own: what each condition says, and both truths beside it."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.study.simulation import conditions_of, find_condition
from intravar.study.simulation.rules import OwnConjunctions

OWN = (
    *("two-camps", "personal-weights", "strong-thresholds"),
    *("own-rules", "own-conjunctions", "three-camps"),
)


def shares(cohort):
    table = pl.DataFrame({"who": cohort.physician, "eligible": cohort.truth.eligible})
    return table.group_by("who").agg(pl.col("eligible").mean())["eligible"].to_numpy()


@pytest.mark.parametrize("name", OWN)
def test_sizes_and_rates(name):
    large = find_condition(f"stress-{name}")
    small = find_condition(f"stress-{name}-small")
    assert (large.n_patients, large.n_physicians) == (20_000, 40)
    assert (small.n_patients, small.n_physicians) == (16_000, 160)
    truth = large.simulate(5).truth
    assert set(truth.p_low) == {0.02}
    assert truth.p_high.min() >= 0.5


@pytest.mark.parametrize("name", OWN)
def test_both_truths_stand_beside_the_oracle(name):
    cohort = intravar.simulate(f"stress-{name}", random_state=5)
    truth = cohort.truth
    found = intravar.oracle(cohort)
    for who, comparable in found.select("physician", "comparable").iter_rows():
        rows = (cohort.physician.cast(pl.String) == who).to_numpy()
        p = np.where(truth.eligible[rows], truth.p_high[rows], truth.p_low[rows])
        assert comparable == pytest.approx(np.mean(2 * p * (1 - p)))
    # The oracle follows each physician's own rule.
    assert np.corrcoef(found["oracle"], found["d_star"])[0, 1] > 0.95


def test_camps_follow_their_rule_and_no_other():
    cohort = intravar.simulate("stress-two-camps", random_state=5)
    x, eligible = cohort.covariates, cohort.truth.eligible
    leans = []
    for who in cohort.physician.unique():
        rows = (cohort.physician == who).to_numpy()
        leans.append(
            [np.corrcoef(x[name].to_numpy()[rows], eligible[rows])[0, 1] for name in ("age", "hdl")]
        )
    age, hdl = np.abs(leans).T
    assert ((age > 0.4) ^ (hdl > 0.3)).all()
    assert (age > 0.4).sum() == 20


def matters(rule, n_physicians):
    """Say for every physician which covariates of the rule are looked at."""
    model = find_condition("score2").covariates
    chance = rule.settle(model, n_physicians, np.random.default_rng(0))
    patients = intravar.simulate("score2", random_state=5).covariates
    for number in range(n_physicians):
        # Whoever is eligible stays so as the covariate that is not looked at changes.
        who = np.full(patients.height, number, dtype=np.int32)
        before = chance(patients, who)
        yield [
            (chance(patients.with_columns(pl.col(name).shuffle(1)), who) != before).any()
            for name in rule.covariates
        ]


def test_drifters_are_a_fifth():
    rule = find_condition("stress-three-camps").rule
    looked_at = [sum(each) for each in matters(rule, 40)]
    assert sum(number > 2 for number in looked_at) == 8


def test_thresholds_differ_strongly_and_own_rules_little():
    assert shares(intravar.simulate("stress-strong-thresholds", random_state=5)).std() > 0.2
    assert shares(intravar.simulate("stress-own-rules", random_state=5)).std() < 0.06


def test_conjunctions_are_of_two_covariates_each():
    assert all(sum(each) == 2 for each in matters(OwnConjunctions(), 30))
    met = shares(intravar.simulate("stress-own-conjunctions", random_state=5))
    assert 0.2 < met.min() < met.max() < 0.7


def test_a_graded_rule_knows_its_shares():
    truth = intravar.simulate("stress-graded", random_state=3).truth
    assert 0.2 < ((truth.share > 0.05) & (truth.share < 0.95)).mean() < 0.9
    assert truth.share.mean() == pytest.approx(truth.eligible.mean(), abs=0.01)
    taken = truth.take(np.array([5, 3]))
    assert taken.share.tolist() == truth.share[[5, 3]].tolist()


def test_every_condition_has_its_rule_in_words():
    said = {
        name: condition.realised_rule().describe()
        for name, condition in conditions_of("stress").items()
    }
    assert said["stress-three-camps"].startswith("3 camps, 20 % drift between two: +1 age")
    assert said["stress-own-rules"] == "weights of their own around nothing (SD 1)"
