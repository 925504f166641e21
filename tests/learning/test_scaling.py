"""Robust scaling: the literal reading equals scikit-learn's scaler."""

import numpy as np
import pytest
from sklearn.preprocessing import RobustScaler

from intravar.learning.scaling import fit_robust_scaling
from learning_cohorts import small_cohort


def test_equals_sklearn_on_a_cohort_with_binary_columns() -> None:
    x = small_cohort(501, 5, seed=1).x
    scaled = fit_robust_scaling(x).transform(x)
    np.testing.assert_allclose(scaled, RobustScaler().fit_transform(x), rtol=0, atol=1e-12)


def test_binary_column_without_range_is_left_or_standardised() -> None:
    smoker = small_cohort(400, 5, seed=2).x[:, [7]]
    assert set(np.unique(fit_robust_scaling(smoker).transform(smoker))) == {0.0, 1.0}
    wide = fit_robust_scaling(smoker, zero_range="z-score").transform(smoker)
    np.testing.assert_allclose([wide.mean(), wide.std()], [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("zero_range", ["unit", "z-score"])
def test_constant_column_becomes_zero_and_is_named(zero_range: str) -> None:
    x = np.column_stack((np.arange(7.0), np.full(7, 0.1)))
    scaling = fit_robust_scaling(x, zero_range=zero_range)  # type: ignore[arg-type]
    assert scaling.constant.tolist() == [False, True]
    assert not scaling.transform(x)[:, 1].any()


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="zero_range"):
        fit_robust_scaling(np.ones((3, 1)), zero_range="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="shape"):
        fit_robust_scaling(np.ones(3))
