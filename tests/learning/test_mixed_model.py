"""Mixed model: the search ends at the optimum of statsmodels' variational fit."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import expit

from intravar.learning.mixed_model import fit_mixed_model, pearson_residuals
from learning_cohorts import small_cohort
from reference import mixed_model as reference

FloatArray = npt.NDArray[np.float64]

POSTERIOR = ("fe_mean", "fe_sd", "vc_mean", "vc_sd", "vcp_mean", "vcp_sd")


def assert_same_posterior(fit: Any, literal: Any, tolerance: float = 1e-4) -> None:
    for name in POSTERIOR:
        np.testing.assert_allclose(
            getattr(fit, name), getattr(literal, name), rtol=0, atol=tolerance, err_msg=name
        )


def finite(fit: Any) -> bool:
    arrays = [getattr(fit, name) for name in POSTERIOR]
    return all(np.isfinite(a).all() for a in [*arrays, fit.optim_retvals.fun])


def fitted_probability(fit: Any, z: FloatArray, code: npt.NDArray[np.intp]) -> FloatArray:
    return np.asarray(expit(fit.fe_mean[0] + z @ fit.fe_mean[1:] + fit.vc_mean[code]))


def test_equals_statsmodels_on_the_reference_cohort() -> None:
    cohort = small_cohort(2000, 20, seed=0)
    z = (cohort.x - cohort.x.mean(axis=0)) / cohort.x.std(axis=0)
    fit = fit_mixed_model(z, cohort.y, cohort.physician, 20)
    literal = reference.fit_mixed_model(z, cohort.y, cohort.physician, 20)
    assert fit.optim_retvals.success
    assert_same_posterior(fit, literal)
    assert fit.optim_retvals.fun <= literal.optim_retvals.fun + 1e-8


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(40, 250),
    n_columns=st.integers(1, 4),
    n_physicians=st.integers(2, 12),
    spread=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_equals_statsmodels_on_random_cohorts(
    seed: int, n_rows: int, n_columns: int, n_physicians: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n_rows, n_columns))
    physician = rng.integers(0, n_physicians, n_rows)
    effect = rng.normal(scale=spread, size=n_physicians)
    predictor = z @ rng.normal(size=n_columns) + effect[physician]
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-predictor))).astype(float)
    y[:2] = (0.0, 1.0)
    fit = fit_mixed_model(z, y, physician, n_physicians)
    assert fit.optim_retvals.success
    assert_same_posterior(fit, reference.fit_mixed_model(z, y, physician, n_physicians))


def test_the_literal_objective_is_flat_at_the_optimum() -> None:
    cohort = small_cohort(150, 4, seed=3)
    z = (cohort.x[:, :3] - cohort.x[:, :3].mean(axis=0)) / cohort.x[:, :3].std(axis=0)
    fit = fit_mixed_model(z, cohort.y, cohort.physician, 4)
    sd = np.concatenate([fit.fe_sd, fit.vcp_sd, fit.vc_sd])
    optimum = np.concatenate([fit.params, np.log(sd)])

    def loss(at: FloatArray) -> float:
        return -reference.evidence_lower_bound(at, z, cohort.y, cohort.physician)

    slope = approx_fprime(optimum, loss, 1e-6)
    assert np.abs(slope * np.concatenate([sd, np.ones_like(sd)])).max() < 1e-3
    assert loss(optimum) == pytest.approx(fit.optim_retvals.fun, rel=1e-9)


def test_extreme_covariates_are_survived_in_silence() -> None:
    z = np.array([[-800.0], [-1.0], [0.0], [1.0], [800.0], [1e4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_mixed_model(z, [0, 1, 0, 1, 1, 1], np.zeros(6, dtype=np.intp), 1)
    assert finite(fit)


@pytest.mark.parametrize(("n_physicians", "n_each", "sharp"), [(3, 20_000, 1), (5, 2000, 1000)])
def test_large_panels_and_sharp_rules_converge(
    n_physicians: int, n_each: int, sharp: float
) -> None:
    rng = np.random.default_rng(0)
    physician = np.repeat(np.arange(n_physicians), n_each)
    z = rng.normal(size=(len(physician), 2))
    predictor = sharp * z[:, 0] + rng.normal(size=n_physicians)[physician]
    y = rng.random(len(z)) < 0.5 * (1 + np.tanh(predictor / 2))
    fit = fit_mixed_model(z, y, physician, n_physicians)
    assert fit.optim_retvals.success


def edge_cases() -> list[tuple[str, FloatArray, FloatArray, npt.NDArray[np.intp]]]:
    rng = np.random.default_rng(7)
    z = rng.normal(size=(90, 2))
    y = (rng.random(90) < 0.4).astype(float)
    trio = np.repeat(np.arange(3), 30)
    lonely = np.concatenate((np.zeros(89, dtype=np.intp), [1]))
    return [
        ("all zero", z, np.zeros(90), trio),
        ("all one", z, np.ones(90), trio),
        ("one physician", z, y, np.zeros(90, dtype=np.intp)),
        ("separated", z, (z[:, 0] > 0).astype(float), trio),
        ("separated by physician", z, (trio == 1).astype(float), trio),
        ("constant columns", np.column_stack((z, np.full(90, 3.0), np.zeros(90))), y, trio),
        ("single patient", z, y, lonely),
        ("every physician once", z, y, np.arange(90)),
        ("no covariate", np.empty((90, 0)), y, trio),
        ("unscaled", z * 1e4 + 1e5, y, trio),
        ("tiny scale", z * 1e-6, y, trio),
        ("one row", z[:1], y[:1], trio[:1]),
    ]


@pytest.mark.parametrize("case", edge_cases(), ids=lambda case: case[0])
def test_edge_cases_are_finite(
    case: tuple[str, FloatArray, FloatArray, npt.NDArray[np.intp]],
) -> None:
    _, z, y, physician = case
    fit = fit_mixed_model(z, y, physician, int(physician.max()) + 1)
    assert finite(fit)
    assert fit.optim_retvals.success
    probability = fitted_probability(fit, z, physician)
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    assert np.isfinite(pearson_residuals(y, probability)).all()


def test_physician_without_patients_keeps_a_zero_effect() -> None:
    cohort = small_cohort(300, 3, seed=1)
    z = (cohort.x - cohort.x.mean(axis=0)) / cohort.x.std(axis=0)
    fit = fit_mixed_model(z, cohort.y, cohort.physician, 5)
    np.testing.assert_allclose(fit.vc_mean[3:], 0.0, atol=1e-9)
    assert fit.optim_retvals.success


def test_row_order_does_not_matter_and_probability_has_the_random_effect() -> None:
    cohort = small_cohort(400, 4, seed=2)
    z = (cohort.x - cohort.x.mean(axis=0)) / cohort.x.std(axis=0)
    order = np.random.default_rng(0).permutation(400)
    fit = fit_mixed_model(z, cohort.y, cohort.physician, 4)
    shuffled = fit_mixed_model(z[order], cohort.y[order], cohort.physician[order], 4)
    np.testing.assert_allclose(fit.vc_mean, shuffled.vc_mean, atol=1e-9)
    probability = fitted_probability(fit, z[:1].repeat(4, axis=0), np.arange(4))
    assert (np.argsort(probability) == np.argsort(fit.vc_mean)).all()


def test_iterations_are_bounded_and_reported() -> None:
    cohort = small_cohort(200, 3, seed=2)
    z = (cohort.x - cohort.x.mean(axis=0)) / cohort.x.std(axis=0)
    fit = fit_mixed_model(z, cohort.y, cohort.physician, 3, max_iterations=1)
    assert not fit.optim_retvals.success
    assert fit.optim_retvals.nit == 1


def test_pearson_residuals_are_finite_at_the_borders() -> None:
    residual = pearson_residuals([0, 1, 0, 1], [0.0, 1.0, 1.0, 0.0])
    assert np.isfinite(residual).all()
    np.testing.assert_allclose(residual[:2], 0.0, atol=1e-5)
    assert (np.abs(residual[2:]) > 1e5).all()
