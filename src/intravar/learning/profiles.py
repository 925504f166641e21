"""Latent profiles: a Gaussian mixture whose number of components is chosen by BIC.

For every candidate number of profiles a full-covariance mixture is fitted from several k-means
starts; the lowest BIC among the converged candidates wins. The numbers are those of
``sklearn.mixture.GaussianMixture`` with the same ``random_state``: the k-means starts are drawn by
scikit-learn itself from the same random stream, and the iterations, the stopping rule and the
choice of the best start are the same. Only the arithmetic is arranged differently.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import ThreadpoolController

from intravar.arrays import FloatArray, IntArray
from intravar.learning.mixtures import QuadraticFeatures, parameters_from_labels, run_starts

# The defaults of scikit-learn, named because the starts and stops depend on them.
EM_TOLERANCE = 1e-3
EM_MAX_ITERATIONS = 100

# Moments are taken around the cohort's centre, so a covariance carries an error of about
# eps * max(z^2), to be small against its smallest possible eigenvalue, reg_covar.
_MOMENT_ERROR_LIMIT = 1e-6
# Two starts that end this close (relative) are the same solution with its profiles in another
# order; the earlier one is kept, so that rounding does not decide.
_SAME_BOUND = 1e-10


def robustly_scaled(x: FloatArray) -> FloatArray:
    """Centre columns on the median and divide them by the interquartile range.

    The method is worded "median-centred, IQR-scaled; z-score fallback for columns with zero
    post-scaling variance". A binary column such as a smoking status of 20 % has an interquartile
    range of zero but is not constant. The usual robust scaler (scikit-learn's) then divides by
    one, so that the column keeps a variance after scaling and the fallback, read literally, is not
    for it: the column stays 0/1 around its median. The fallback is left for constant columns,
    whose z-score is zero everywhere.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 1.0]])
    >>> robustly_scaled(x)[-1].tolist()
    [1.0, 1.0]
    """
    lower, centre, upper = np.percentile(x, [25.0, 50.0, 75.0], axis=0)
    magnitude = np.maximum(np.abs(lower), np.abs(upper))
    no_range = upper - lower <= 10.0 * np.finfo(np.float64).eps * magnitude
    return np.asarray((x - centre) / np.where(no_range, 1.0, upper - lower))


@dataclass(frozen=True)
class ProfileModel:
    """The retained mixture of profiles, and how it was chosen.

    BIC and convergence, of the best start, are by number of profiles, for those that could be
    fitted; `skipped` says why others could not. When none converged, the smallest one was kept.
    """

    mixture: GaussianMixture
    bic: dict[int, float]
    converged: dict[int, bool]
    skipped: dict[int, str]

    @property
    def n_profiles(self) -> int:
        """The number of profiles."""
        return int(self.mixture.n_components)

    def memberships(self, z: FloatArray) -> FloatArray:
        """Posterior probability of each profile, per row, shape (n, K); rows sum to one."""
        return np.asarray(self.mixture.predict_proba(z))


def kmeans_labels(z: FloatArray, n_profiles: int, n_init: int, random_state: int) -> IntArray:
    """Labels of ``n_init`` k-means runs that share one random stream, as GaussianMixture does."""
    stream = np.random.RandomState(random_state)
    runs = [KMeans(n_profiles, n_init=1, random_state=stream).fit(z) for _ in range(n_init)]
    return np.array([run.labels_ for run in runs], dtype=np.int64)


def _fit_batched(z: FloatArray, features: QuadraticFeatures, mixture: GaussianMixture) -> None:
    """Fit a mixture as scikit-learn does, all starts at once."""
    n_profiles, reg_covar = mixture.n_components, mixture.reg_covar
    labels = kmeans_labels(z, n_profiles, mixture.n_init, mixture.random_state)
    bounds, converged, starts = run_starts(
        parameters_from_labels(labels, n_profiles, features, reg_covar),
        features,
        reg_covar=reg_covar,
        tolerance=mixture.tol,
        max_iterations=mixture.max_iter,
    )
    best = 0
    for start, bound in enumerate(bounds):
        if bound > bounds[best] + _SAME_BOUND * max(1.0, abs(bounds[best])):
            best = start
    mixture.weights_, means, mixture.covariances_, mixture.precisions_cholesky_ = starts.take(best)
    mixture.means_, mixture.converged_ = means + features.centre, bool(converged[best])


def _fit_candidate(
    z: FloatArray,
    features: QuadraticFeatures | None,
    mixture: GaussianMixture,
    threads: ThreadpoolController,
) -> float | str:
    """Fit a mixture; return its BIC, or why there is none."""
    if mixture.n_components > len(z):
        return f"{mixture.n_components} profiles asked from {len(z)} patients"
    # OpenMP counts its threads per calling thread, so the limit must be set in the worker itself.
    with threads.limit(limits=1, user_api="openmp"), np.errstate(under="ignore"):
        try:
            if features is None:
                # scikit-learn's own centres on every component: slower, safe at any scale.
                mixture.fit(z)
            else:
                _fit_batched(z, features, mixture)
        except (np.linalg.LinAlgError, ValueError) as error:
            return f"a profile collapsed to a singular covariance ({error})"
        return float(mixture.bic(z))


def _needs_direct_fit(z: FloatArray, reg_covar: float) -> bool:
    largest = float(np.abs(z - z.mean(axis=0)).max())
    return float(np.finfo(np.float64).eps) * largest**2 > _MOMENT_ERROR_LIMIT * reg_covar


def select_profiles(
    z: FloatArray,
    *,
    candidates: Iterable[int] = range(2, 11),
    n_init: int = 10,
    reg_covar: float = 1e-6,
    random_state: int,
    n_jobs: int | None = 1,
) -> ProfileModel:
    """Fit a Gaussian mixture per candidate number of profiles and keep the lowest BIC.

    Rows are patients, scaled and without gaps. Every candidate begins from the same seed of its
    k-means starts; one that cannot be fitted is skipped, with the reason kept. The lowest BIC among
    those that converged is kept, the smallest fitted one when none did. Threads do not change the
    result.

    Data whose spread is too large for ``reg_covar`` in double precision (beyond about 70 units from
    the centre at the default) goes through scikit-learn's own, slower iterations. When several
    starts end in the same solution with the profiles in another order, the first is kept;
    memberships then equal those of scikit-learn up to that order.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = np.vstack([rng.normal(0, 1, (200, 2)), rng.normal(8, 1, (100, 2))])
    >>> model = select_profiles(z, candidates=range(2, 5), random_state=0)
    >>> model.n_profiles
    2
    >>> model.memberships(z[:1]).round(3).max()
    np.float64(1.0)
    """
    rows = np.ascontiguousarray(z, dtype=np.float64)
    sizes = sorted({int(size) for size in candidates})
    if rows.shape[0] < 2 or not sizes or sizes[0] < 1:
        raise ValueError(
            f"latent profiles need at least two patients and positive candidates, "
            f"got {rows.shape[0]} patients and candidates {sizes}"
        )
    features = None if _needs_direct_fit(rows, reg_covar) else QuadraticFeatures(rows)
    settings: dict[str, Any] = {"n_init": n_init, "reg_covar": reg_covar, "tol": EM_TOLERANCE}
    settings |= {"max_iter": EM_MAX_ITERATIONS, "random_state": random_state}
    # The largest candidates take longest, so they go first.
    mixtures = {size: GaussianMixture(size, **settings) for size in reversed(sizes)}
    threads = ThreadpoolController()
    # Many small products: one BLAS thread per candidate beats all threads on each product.
    with threads.limit(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = Parallel(n_jobs=n_jobs, backend="threading", batch_size=1)(
            delayed(_fit_candidate)(rows, features, mixture, threads)
            for mixture in mixtures.values()
        )
    by_size = dict(sorted(zip(mixtures, fits, strict=True)))
    skipped = {size: why for size, why in by_size.items() if isinstance(why, str)}
    bic = {size: value for size, value in by_size.items() if not isinstance(value, str)}
    if not bic:
        reasons = "; ".join(f"K = {size}: {why}" for size, why in skipped.items())
        raise ValueError(f"no number of latent profiles could be fitted ({reasons})")
    converged = {size: bool(mixtures[size].converged_) for size in bic}
    usable = [size for size in bic if converged[size]]
    best = min(usable, key=bic.__getitem__) if usable else min(bic)
    return ProfileModel(mixtures[best], bic, converged, skipped)
