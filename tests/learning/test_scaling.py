"""Robust scaling: the literal reading equals scikit-learn's scaler."""

import numpy as np
from sklearn.preprocessing import RobustScaler

from intravar.learning.profiles import robustly_scaled
from learning_cohorts import small_cohort


def test_equals_sklearn_on_a_cohort_with_binary_columns() -> None:
    x = small_cohort(501, 5, seed=1).x
    np.testing.assert_allclose(
        robustly_scaled(x), RobustScaler().fit_transform(x), rtol=0, atol=1e-12
    )


def test_columns_without_range_stay_around_their_median() -> None:
    smoker = small_cohort(400, 5, seed=2).x[:, [7]]
    assert set(np.unique(robustly_scaled(smoker))) == {0.0, 1.0}
    constant = np.column_stack((np.arange(7.0), np.full(7, 0.1)))
    assert not robustly_scaled(constant)[:, 1].any()
