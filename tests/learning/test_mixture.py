"""Latent profiles: the batched iterations give the numbers of scikit-learn."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.errors import InputError
from intravar.estimators import LPAGuided
from intravar.learning import profiles
from intravar.learning.profiles import ProfileModel, robustly_scaled, select_profiles
from learning_cohorts import small_cohort
from reference import latent_profiles as reference

FloatArray = npt.NDArray[np.float64]


def assert_same_selection(
    z: FloatArray, model: ProfileModel, n_init: int, random_state: int
) -> None:
    fitted = reference.fit_candidates(
        z, model.bic, n_init=n_init, reg_covar=1e-6, random_state=random_state
    )
    for k, literal in fitted.items():
        assert model.bic[k] == pytest.approx(literal.bic(z), rel=1e-8, abs=1e-3)
        assert model.converged[k] == literal.converged_
    assert model.n_profiles == reference.select(fitted, z)
    assert_same_memberships(model.memberships(z), fitted[model.n_profiles].predict_proba(z))


def assert_same_memberships(ours: FloatArray, literal: FloatArray) -> None:
    """Equal up to the order of the profiles: an order that rounding decides is not an answer."""
    agreement = np.abs(ours[:, :, None] - literal[:, None, :]).max(axis=0)
    order = agreement.argmin(axis=1)
    assert sorted(order) == list(range(ours.shape[1]))
    np.testing.assert_allclose(ours, literal[:, order], rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_equals_sklearn_on_the_reference_cohort(seed: int) -> None:
    x = small_cohort(1500, 10, seed).x
    z = robustly_scaled(x)
    model = select_profiles(z, candidates=range(2, 8), n_init=4, random_state=seed)
    assert any(model.converged.values())
    assert not model.skipped
    assert_same_selection(z, model, 4, seed)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(60, 300),
    n_columns=st.integers(1, 4),
    shift=st.sampled_from([0.0, 3.0]),
)
def test_equals_sklearn_on_random_blobs(
    seed: int, n_rows: int, n_columns: int, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(3, n_columns)) + shift
    z = centres[rng.integers(0, 3, n_rows)] + rng.normal(size=(n_rows, n_columns))
    model = select_profiles(z, candidates=[2, 3], n_init=3, random_state=seed)
    assert_same_selection(z, model, 3, seed)


def test_constant_column_and_duplicated_rows() -> None:
    rng = np.random.default_rng(3)
    z = np.column_stack((rng.normal(size=120), np.full(120, 2.0), rng.normal(size=120)))
    z = np.vstack((z, z[:60]))
    model = select_profiles(z, candidates=range(2, 5), n_init=3, random_state=1)
    assert_same_selection(z, model, 3, 1)


def test_fewer_distinct_rows_than_profiles_matches_the_empty_component() -> None:
    z = np.repeat(np.array([[1.0, 1.0], [5.0, 4.0], [9.0, -3.0]]), 20, axis=0)
    model = select_profiles(z, candidates=[2, 3, 4], n_init=2, random_state=0)
    fitted = reference.fit_candidates(z, model.bic, n_init=2, reg_covar=1e-6, random_state=0)
    for k, literal in fitted.items():
        assert model.bic[k] == pytest.approx(literal.bic(z), rel=1e-8)
    assert np.isfinite(model.memberships(z)).all()


def test_more_profiles_than_patients_are_skipped_with_a_reason() -> None:
    z = np.random.default_rng(0).normal(size=(4, 2))
    model = select_profiles(z, random_state=0, n_init=2)
    assert sorted(model.skipped) == list(range(5, 11))
    assert "4 patients" in model.skipped[5]
    assert set(model.bic) <= {2, 3, 4}


def test_singular_covariance_is_skipped_not_raised() -> None:
    z = np.column_stack((np.arange(40.0), 2.0 * np.arange(40.0)))
    with pytest.raises(ValueError, match="singular covariance"):
        select_profiles(z, candidates=[2], n_init=1, reg_covar=0.0, random_state=0)


def test_no_converged_candidate_falls_back_to_the_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(profiles, "EM_MAX_ITERATIONS", 1)
    z = np.random.default_rng(0).normal(size=(80, 2))
    model = select_profiles(z, candidates=range(2, 5), n_init=2, random_state=0)
    assert model.n_profiles == 2
    assert not any(model.converged.values())


def test_widely_spread_data_takes_the_direct_path() -> None:
    rng = np.random.default_rng(5)
    z = np.vstack((rng.normal(size=(90, 2)), rng.normal(500.0, 1.0, size=(90, 2))))
    assert profiles._needs_direct_fit(z, 1e-6)
    assert_same_selection(z, select_profiles(z, candidates=[2, 3], n_init=2, random_state=0), 2, 0)


def test_threads_do_not_change_the_result() -> None:
    x = small_cohort(600, 5, seed=4).x
    z = robustly_scaled(x)
    one = select_profiles(z, candidates=range(2, 5), n_init=2, random_state=0)
    two = select_profiles(z, candidates=range(2, 5), n_init=2, random_state=0, n_jobs=2)
    assert one.bic == two.bic
    assert np.array_equal(one.memberships(z), two.memberships(z))


def test_a_share_beyond_one_is_refused() -> None:
    cohort = small_cohort(40, 2, seed=0)
    with pytest.raises(InputError, match=r"alpha is 1\.5"):
        LPAGuided(alpha=1.5).fit(cohort.x, cohort.y, cohort.physician)
