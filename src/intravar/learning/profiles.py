"""Latent profiles: a Gaussian mixture whose number of components is chosen by BIC.

For every candidate number of profiles a full-covariance mixture is fitted from several k-means
starts; the lowest BIC among the converged candidates wins. The numbers are those of
``sklearn.mixture.GaussianMixture`` with the same ``random_state``: the k-means starts are drawn by
scikit-learn itself from the same random stream, and the iterations, the stopping rule and the
choice of the best start are the same. Only the arithmetic is arranged differently.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import ThreadpoolController

from intravar.arrays import FloatArray, IntArray
from intravar.learning.mixtures import (
    MixtureParameters,
    QuadraticFeatures,
    StartResult,
    em_pass,
    parameters_from_labels,
    run_starts,
)

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

    Precisions have upper factors U with ``U U' = inv(covariance)``. BIC and convergence, of the
    best start, are by number of profiles, for those that could be fitted; `skipped` says why others
    could not. `fallback` is set when no candidate converged and the smallest one was kept all the
    same.
    """

    n_profiles: int
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    precisions_cholesky: FloatArray
    bic: dict[int, float]
    converged: dict[int, bool]
    skipped: dict[int, str] = field(default_factory=dict)
    fallback: bool = False

    def memberships(self, z: FloatArray) -> FloatArray:
        """Posterior probability of each profile, per row, shape (n, K); rows sum to one."""
        rows = np.ascontiguousarray(z)
        result = np.empty((rows.shape[0], self.n_profiles))
        constant = -0.5 * rows.shape[1] * np.log(2.0 * np.pi)
        for k, factor in enumerate(self.precisions_cholesky):
            whitened = (rows - self.means[k]) @ factor
            result[:, k] = -0.5 * np.einsum("ij,ij->i", whitened, whitened)
            result[:, k] += constant + np.log(np.diag(factor)).sum() + np.log(self.weights[k])
        result -= result.max(axis=1, keepdims=True)
        np.exp(result, out=result)
        result /= result.sum(axis=1, keepdims=True)
        return result


@dataclass(frozen=True)
class _Starts:
    """How every candidate is started and kept from collapsing."""

    n_init: int
    reg_covar: float
    random_state: int


@dataclass(frozen=True)
class _Candidate:
    """One number of profiles: its mixture in the original coordinates, or why there is none."""

    n_profiles: int
    parameters: MixtureParameters | None = None
    bic: float = np.nan
    converged: bool = False
    reason: str = ""


def _free_parameters(n_profiles: int, n_columns: int) -> int:
    return n_profiles * (n_columns * (n_columns + 1) // 2 + n_columns + 1) - 1


def kmeans_labels(z: FloatArray, n_profiles: int, n_init: int, random_state: int) -> IntArray:
    """Labels of ``n_init`` k-means runs that share one random stream, as GaussianMixture does."""
    stream = np.random.RandomState(random_state)
    runs = [KMeans(n_profiles, n_init=1, random_state=stream).fit(z) for _ in range(n_init)]
    return np.array([run.labels_ for run in runs], dtype=np.int64)


def _best_start(results: list[StartResult]) -> StartResult:
    best = results[0]
    for result in results[1:]:
        margin = _SAME_BOUND * max(1.0, abs(best.lower_bound))
        if result.lower_bound > best.lower_bound + margin:
            best = result
    return best


def _fit_batched(
    z: FloatArray, features: QuadraticFeatures, n_profiles: int, starts: _Starts
) -> _Candidate:
    labels = kmeans_labels(z, n_profiles, starts.n_init, starts.random_state)
    start = parameters_from_labels(labels, n_profiles, features, starts.reg_covar)
    results = run_starts(
        start,
        features,
        reg_covar=starts.reg_covar,
        tolerance=EM_TOLERANCE,
        max_iterations=EM_MAX_ITERATIONS,
    )
    best = _best_start(results)
    log_likelihood, _ = em_pass(best.parameters, features)
    n_rows, n_columns = z.shape
    bic = -2.0 * n_rows * float(log_likelihood[0])
    bic += _free_parameters(n_profiles, n_columns) * np.log(n_rows)
    original = MixtureParameters(
        best.parameters.weights[0],
        best.parameters.means[0] + features.centre,
        best.parameters.covariances[0],
        best.parameters.precisions_cholesky[0],
    )
    return _Candidate(n_profiles, original, float(bic), best.converged)


def _fit_directly(z: FloatArray, n_profiles: int, starts: _Starts) -> _Candidate:
    """Fit through scikit-learn, which centres on every component: slower, safe at any scale."""
    mixture = GaussianMixture(
        n_components=n_profiles,
        n_init=starts.n_init,
        reg_covar=starts.reg_covar,
        random_state=starts.random_state,
    ).fit(z)
    parameters = MixtureParameters(
        mixture.weights_, mixture.means_, mixture.covariances_, mixture.precisions_cholesky_
    )
    return _Candidate(n_profiles, parameters, float(mixture.bic(z)), bool(mixture.converged_))


def _fit_candidate(
    z: FloatArray,
    features: QuadraticFeatures | None,
    n_profiles: int,
    starts: _Starts,
    threads: ThreadpoolController,
) -> _Candidate:
    if n_profiles > z.shape[0]:
        reason = f"{n_profiles} profiles asked from {z.shape[0]} patients"
        return _Candidate(n_profiles, reason=reason)
    # OpenMP counts its threads per calling thread, so the limit must be set in the worker itself.
    with threads.limit(limits=1, user_api="openmp"), np.errstate(under="ignore"):
        try:
            if features is None:
                return _fit_directly(z, n_profiles, starts)
            return _fit_batched(z, features, n_profiles, starts)
        except (np.linalg.LinAlgError, ValueError) as error:
            reason = f"a profile collapsed to a singular covariance ({error})"
            return _Candidate(n_profiles, reason=reason)


def _needs_direct_fit(z: FloatArray, reg_covar: float) -> bool:
    largest = float(np.abs(z - z.mean(axis=0)).max())
    return float(np.finfo(np.float64).eps) * largest**2 > _MOMENT_ERROR_LIMIT * reg_covar


def _choose(candidates: list[_Candidate]) -> tuple[_Candidate, bool]:
    fitted = [candidate for candidate in candidates if candidate.parameters is not None]
    if not fitted:
        reasons = "; ".join(f"K = {item.n_profiles}: {item.reason}" for item in candidates)
        raise ValueError(f"no number of latent profiles could be fitted ({reasons})")
    converged = [candidate for candidate in fitted if candidate.converged]
    if converged:
        return min(converged, key=lambda candidate: candidate.bic), False
    return min(fitted, key=lambda candidate: candidate.n_profiles), True


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
    starts = _Starts(n_init, reg_covar, random_state)
    threads = ThreadpoolController()
    # Many small products: one BLAS thread per candidate beats all threads on each product.
    with threads.limit(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # The largest candidates take longest, so they go first.
        fits = Parallel(n_jobs=n_jobs, backend="threading", batch_size=1)(
            delayed(_fit_candidate)(rows, features, size, starts, threads)
            for size in reversed(sizes)
        )
    best, fallback = _choose(fits)
    fitted = [fit for fit in reversed(fits) if fit.parameters is not None]
    assert best.parameters is not None
    return ProfileModel(
        n_profiles=best.n_profiles,
        weights=best.parameters.weights,
        means=best.parameters.means,
        covariances=best.parameters.covariances,
        precisions_cholesky=best.parameters.precisions_cholesky,
        bic={fit.n_profiles: fit.bic for fit in fitted},
        converged={fit.n_profiles: fit.converged for fit in fitted},
        skipped={fit.n_profiles: fit.reason for fit in reversed(fits) if fit.reason},
        fallback=fallback,
    )
