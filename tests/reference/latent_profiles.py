"""Latent profiles as the method describes them: one scikit-learn mixture per candidate."""

import warnings
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits


def fit_candidates(
    z: npt.NDArray[np.float64],
    candidates: Iterable[int],
    *,
    n_init: int,
    reg_covar: float,
    random_state: int,
    threads: int | None = 1,
) -> dict[int, GaussianMixture]:
    """Fit one mixture per candidate; more than one thread only slows small products down."""
    fitted = {}
    with warnings.catch_warnings(), threadpool_limits(limits=threads):
        warnings.simplefilter("ignore", ConvergenceWarning)
        for n_profiles in candidates:
            mixture = GaussianMixture(
                n_components=n_profiles,
                covariance_type="full",
                n_init=n_init,
                reg_covar=reg_covar,
                random_state=random_state,
            )
            fitted[n_profiles] = mixture.fit(z)
    return fitted


def select(fitted: dict[int, GaussianMixture], z: npt.NDArray[np.float64]) -> int:
    """Lowest BIC among the converged candidates; two profiles when none converged."""
    bic = {k: mixture.bic(z) for k, mixture in fitted.items() if mixture.converged_}
    return min(bic, key=bic.__getitem__) if bic else 2
