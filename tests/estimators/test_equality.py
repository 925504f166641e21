"""Every fast estimator equals the literal transcription of the paper."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

import intravar
from intravar.estimators import fit_methods, make_estimator
from intravar.matching.assignment import solve
from intravar.matching.distances import matrix_distances
from reference import methods as literal
from reference import pairing


def parts(cohort):
    X, y, physician = cohort.observed()
    return X.to_numpy(), np.asarray(y), physician.cast(pl.String).to_numpy()


def fitted_pairs(model):
    """Row numbers of both patients as sets, per physician."""
    table = model.pairs_
    return {
        str(name): list(zip(rows["first"].to_list(), rows["second"].to_list(), strict=True))
        for (name,), rows in table.group_by("physician")
    }


def assert_same(model, expected):
    scores, pairs = expected
    assert {name: sorted(found) for name, found in fitted_pairs(model).items()} == {
        name: sorted(found) for name, found in pairs.items() if found
    }
    ours = dict(zip(model.physicians_.tolist(), model.score_, strict=True))
    assert ours == pytest.approx(scores, nan_ok=True)


@pytest.fixture(scope="module", params=["score2", "copula", "pass1-w3-p3"])
def cohort(request):
    return intravar.simulate(request.param, n_patients=900, n_physicians=5, random_state=11)


def test_euclidean(cohort):
    assert_same(
        intravar.estimators.Euclidean().fit(*cohort.observed()), literal.euclidean(*parts(cohort))
    )


def test_mahalanobis(cohort):
    assert_same(
        intravar.estimators.Mahalanobis().fit(*cohort.observed()),
        literal.mahalanobis(*parts(cohort)),
    )


def test_learned_weights(cohort):
    model = intravar.estimators.LearnedWeights(random_state=3).fit(*cohort.observed())
    assert_same(model, literal.learned_weights(*parts(cohort), random_state=3))


def test_mutual_information(cohort):
    model = intravar.estimators.MutualInformation(random_state=3).fit(*cohort.observed())
    assert_same(model, literal.mutual_information(*parts(cohort), random_state=3))


def test_lpa_guided(cohort):
    model = intravar.estimators.LPAGuided(n_init=3, max_profiles=4, random_state=3).fit(
        *cohort.observed()
    )
    with threadpool_limits(limits=1):  # small products: threads only wait for each other
        expected = literal.lpa_guided(*parts(cohort), random_state=3, n_init=3, largest=4)
    assert_same(model, expected)


def test_genetic_mahalanobis_does_not_depend_on_its_weights(cohort):
    """The covariance of the weighted space takes the weights out again."""
    x, y, physician = parts(cohort)
    plain = intravar.estimators.GeneticMahalanobis().fit(*cohort.observed())
    searched = intravar.estimators.GeneticMahalanobis(search=True, generations=1).fit(
        *cohort.observed()
    )
    assert not np.allclose(searched.weights_, plain.weights_)
    for weights in (
        np.ones(x.shape[1]),
        searched.weights_,
        np.random.default_rng(5).uniform(0.01, 10, x.shape[1]),
    ):
        assert_same(plain, literal.genetic_mahalanobis(x, y, physician, weights))
    assert np.array_equal(plain.score_, searched.score_)


def test_rf_proximity(cohort):
    """Proximities tie: our assignment is one of the best ones, and all else follows from it."""
    x, y, physician = parts(cohort)
    model = intravar.estimators.RFProximity(random_state=3).fit(*cohort.observed())
    leaves = literal.forest(x, y, random_state=3).apply(x)
    found = fitted_pairs(model)
    for name in model.physicians_.tolist():
        rows = np.flatnonzero(physician == name)
        panel = leaves[rows]
        different = np.array([(panel != patient).sum(axis=1) for patient in panel])
        sigma = solve(matrix_distances(different / 300))
        best = pairing.assignment(different)
        everyone = np.arange(len(rows))
        assert different[everyone, sigma].sum() == different[everyone, best].sum()
        expected = pairing.pair(different / 300, sigma)
        assert found[name] == [(rows[a], rows[b]) for a, b in expected]


def test_glmm(cohort):
    pytest.importorskip("statsmodels")
    x, y, physician = parts(cohort)
    expected, fit = literal.glmm(x, y, physician)
    model = intravar.estimators.GLMM().fit(*cohort.observed())
    assert list(model.fixed_effects_.values()) == pytest.approx(fit.fe_mean, abs=1e-3)
    assert model.random_effects_ == pytest.approx(fit.vc_mean, abs=1e-3)
    ours = dict(zip(model.physicians_.tolist(), model.score_, strict=True))
    assert ours == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("condition", ["score2", "copula", "pass1-w3-p3"])
def test_one_forest_serves_both(condition, monkeypatch):
    import intravar.estimators.supervised as module

    cohort = intravar.simulate(condition, n_patients=150, n_physicians=5, random_state=11)
    grown = []
    grow = module.ForestBased.grow
    with monkeypatch.context() as patch:
        patch.setattr(module.ForestBased, "grow", lambda *args: grown.append(1) or grow(*args))
        together = fit_methods(["learned-weights", "rf-proximity"], *cohort.observed())
    assert len(grown) == 1
    for name in ("learned-weights", "rf-proximity"):
        alone = make_estimator(name).fit(*cohort.observed())
        assert np.array_equal(alone.score_, together[name].score_)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(6, 60), p=st.integers(1, 4))
def test_equality_on_random_input(seed, n, p):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, p))
    y = random.integers(0, 2, n)
    physician = np.array(["a", "b"])[np.arange(n) % 2]
    if p > 1:
        assert_same(
            intravar.estimators.Mahalanobis().fit(x, y, physician),
            literal.mahalanobis(x, y, physician),
        )
    assert_same(
        intravar.estimators.Euclidean().fit(x, y, physician), literal.euclidean(x, y, physician)
    )
