"""The bound as its users meet it: order, gaps, few patients, and the truth."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import intravar
from intravar.errors import InputError
from intravar.estimators import Observed
from intravar.study.simulation import find_condition
from reference.simulation import noise_truth


@pytest.fixture(scope="module")
def camps():
    return intravar.simulate("stress-two-camps", random_state=11, n_patients=4_000, n_physicians=16)


@pytest.fixture(scope="module")
def fitted(camps):
    return intravar.Predictability().fit(*camps.observed())


def test_it_tells_other_from_inconsistent(camps, fitted):
    truth = intravar.oracle(camps)["comparable"].to_numpy()
    assert spearmanr(fitted.score_, truth)[0] > 0.8
    assert (fitted.high_ >= truth).mean() > 0.93
    assert np.mean(fitted.score_ - truth) < 0.08
    assert (fitted.gain_ > 0).mean() > 0.9


def test_candidates_compete_and_words_name_the_camp(fitted):
    assert fitted.candidates_["best"] >= fitted.candidates_["pooled"]
    said = [words for words in fitted.words_ if words]
    assert len(said) > 8
    assert all(any(name in words for name in ("age", "sbp", "hdl")) for words in said)
    assert fitted.profile_["words"].to_list() == fitted.words_
    assert fitted.details()["candidates"] == fitted.candidates_


def test_expected_is_of_the_colleagues(fitted):
    assert np.mean(fitted.expected_) == pytest.approx(np.mean(fitted.score_), abs=0.03)
    assert fitted.expected_.std() < 0.5 * fitted.score_.std()
    assert fitted.ratio_ == pytest.approx(fitted.score_ / fitted.expected_)


def test_order_names_and_units_do_not_matter():
    cohort = intravar.simulate("stress-own-rules", random_state=3, n_patients=600, n_physicians=6)
    X, y, who = cohort.observed()
    random = np.random.default_rng(0)
    rows, columns = random.permutation(600), random.permutation(X.width)
    one = intravar.Predictability().fit(X, y, who)
    renamed = who.cast(pl.String).replace({"P01": "Z", "P02": "B"})
    other = intravar.Predictability().fit(X[rows, columns.tolist()] * 4, y[rows], renamed[rows])
    names = ["Z" if name == "P01" else "B" if name == "P02" else name for name in one.physicians_]
    at = [list(other.physicians_).index(name) for name in names]
    assert np.allclose(one.score_, other.score_[at], rtol=0, atol=1e-9)
    assert np.allclose(one.predicted_[rows], other.predicted_, rtol=0, atol=1e-9)


def test_a_prediction_never_saw_its_own_decision():
    cohort = intravar.simulate("score2", random_state=3, n_patients=400, n_physicians=5)
    X, _, who = cohort.observed()
    noise = np.random.default_rng(0).integers(0, 2, 400)
    found = intravar.Predictability().fit(X, noise, who)
    # Tossed decisions cannot be predicted: the bound stays at one half.
    assert np.mean(found.score_) == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(found.predicted_, noise)[0, 1]) < 0.12


def test_copies_do_not_give_decisions_away():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((150, 3)), random.integers(0, 2, 150)
    who = np.repeat(["A", "B", "C"], 50)
    twice = intravar.Predictability().fit(np.vstack([X, X]), np.r_[y, y], np.r_[who, who])
    assert np.mean(twice.score_) > 0.44


@pytest.mark.parametrize("size", [10, 30])
def test_small_panels(size):
    cohort = intravar.simulate(
        find_condition("stress-two-camps"),
        random_state=4,
        n_patients=40 * size,
        n_physicians=40,
    )
    found = intravar.Predictability().fit(*cohort.observed())
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    assert np.isfinite(found.score_).all()
    assert (found.high_ >= truth).mean() >= 0.95


@pytest.mark.parametrize("tiny", [(1, 1, 1), (1, 2, 2, 3), (2,) * 6])
def test_some_panels_of_one_or_two(tiny):
    """Whoever has a patient or two is missing from some folds: all folds have the same camps."""
    random, sizes = np.random.default_rng(len(tiny)), [60] * 5 + list(tiny)
    who = np.repeat([f"P{number}" for number in range(len(sizes))], sizes)
    X = random.normal(size=(len(who), 3))
    y = (random.random(len(who)) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    fitted = intravar.Predictability().fit(X, y, who)
    assert np.isfinite(fitted.score_[:5]).all()
    observed = Observed.of(X, y, who)
    halves = fitted.two_halves(observed, 0)
    assert halves is not None
    assert np.isfinite(halves.score[:, :5]).all()


def test_edges():
    one = intravar.Predictability().fit([[1.0]], [1], ["A"])
    assert np.isnan(one.score_).all()
    assert one.reason_ == ["fewer than two decisions"]
    same = intravar.Predictability().fit(np.ones((60, 2)), np.tile([0, 1], 30), ["A"] * 60)
    assert same.score_[0] == pytest.approx(0.5, abs=0.06)
    plain = np.random.default_rng(0).random((60, 2))
    never = intravar.Predictability().fit(plain, np.zeros(60), ["A", "B"] * 30)
    assert (never.score_ < 0.02).all()
    gaps = np.random.default_rng(0).standard_normal((80, 3))
    gaps[::3, 0], gaps[:, 2] = np.nan, np.nan
    assert np.isfinite(intravar.Predictability().fit(gaps, [0, 1] * 40, ["A"] * 80).score_).all()
    huge = gaps[:, :1] * 1e29
    assert np.isfinite(intravar.Predictability().fit(huge, [0, 1] * 40, ["A"] * 80).score_).all()
    with pytest.raises(InputError, match="at least 3"):
        intravar.Predictability(n_folds=2).fit(gaps, [0, 1] * 40, ["A"] * 80)


def test_noise_adds_up_and_is_near_the_truth(camps):
    found = intravar.noise(*camps.observed())
    truth = noise_truth("stress-two-camps", seed=11, n_patients=4_000, n_physicians=16)
    assert found.system == found.level + found.pattern + found.occasion
    for component, value, low, high in found.table.iter_rows():
        if component not in truth:
            continue
        known = truth[component]
        assert low <= value <= high
        assert abs(value - known) < max(0.02, 0.15 * known), component
    assert "decided differently" in found.describe()


def test_noise_of_few_patients_and_of_one_decision():
    few = intravar.noise([[1.0], [2.0]], [0, 1], ["A", "B"])
    assert few.system == few.level + few.pattern_and_occasion
    assert few.pattern is None
    plain = np.random.default_rng(0).random((50, 1))
    never = intravar.noise(plain, np.zeros(50), ["A", "B"] * 25)
    assert never.system < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["own-rules", "own-conjunctions", "three-camps"])
def test_own_rules_of_full_size(name):
    cohort = intravar.simulate(f"stress-{name}", random_state=31)
    found = intravar.Predictability().fit(*cohort.observed())
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    assert spearmanr(found.score_, truth)[0] > 0.92
    assert np.mean(found.score_ - truth) < 0.04
    assert (found.high_ >= truth).mean() >= 0.97
