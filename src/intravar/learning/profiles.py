"""Latent profiles: a Gaussian mixture whose number of components is chosen by BIC.

For every candidate number of profiles a full-covariance mixture is fitted from several k-means
starts; the lowest BIC among the converged candidates wins. The numbers are those of
``sklearn.mixture.GaussianMixture`` with the same ``random_state``: the k-means starts are drawn by
scikit-learn itself from the same random stream, and the iterations, the stopping rule and the
choice of the best start are the same. Only the arithmetic is arranged differently: several
mixtures are iterated at once, as matrix products. A Gaussian log-density is linear in the quadratic
features ``phi(x) = [1, x, x_i x_j]``, and the moments needed by the M-step are weighted sums of the
same features. One pass over the patients is therefore two matrix products, and every start of every
component can share them.
"""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import ThreadpoolController

from intravar.arrays import FloatArray, IntArray

# The defaults of scikit-learn, named because the starts and stops depend on them.
EM_TOLERANCE = 1e-3
EM_MAX_ITERATIONS = 100

# Moments are taken around the cohort's centre, so a covariance carries an error of about
# eps * max(z^2), to be small against its smallest possible eigenvalue, reg_covar.
_MOMENT_ERROR_LIMIT = 1e-6
# Two starts that end this close (relative) are the same solution with its profiles in another
# order; the earlier one is kept, so that rounding does not decide.
_SAME_BOUND = 1e-10
# Rows per block: the features and the responsibilities of a block stay in the processor's cache.
_BLOCK_VALUES = 120_000
# The small constant that keeps an empty component from dividing by zero (as scikit-learn has it).
_EMPTY_COMPONENT = 10.0 * float(np.finfo(np.float64).eps)

#: Weights, means, covariances and Cholesky factors of the precisions of a stack of mixtures, in the
#: coordinates centred by the features: by start, then by component.
_Mixtures = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


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


class QuadraticFeatures:
    """Constant, linear and quadratic features of centred rows, served in blocks of rows."""

    def __init__(self, z: FloatArray) -> None:
        self.centre: FloatArray = z.mean(axis=0)
        self._centred = z - self.centre
        self.n_rows, self.n_columns = z.shape
        self.pairs = np.triu_indices(self.n_columns)
        self.n_features = 1 + self.n_columns + self.pairs[0].size

    def blocks(self, n_densities: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield ``(rows, features)`` blocks sized for ``n_densities`` densities per row."""
        length = max(256, _BLOCK_VALUES // (self.n_features + n_densities))
        for start in range(0, self.n_rows, length):
            rows = slice(start, min(start + length, self.n_rows))
            linear = self._centred[rows]
            quadratic = linear[:, self.pairs[0]] * linear[:, self.pairs[1]]
            yield rows, np.column_stack([np.ones(len(linear)), linear, quadratic])


def _m_step(sums: FloatArray, features: QuadraticFeatures, reg_covar: float) -> _Mixtures:
    """Return mixtures by the responsibility-weighted feature sums, start x component x feature.

    Raises ``numpy.linalg.LinAlgError`` when a covariance is not positive definite.
    """
    p, (left, right) = features.n_columns, features.pairs
    counts = sums[..., 0] + _EMPTY_COMPONENT
    first, packed = sums[..., 1 : 1 + p], sums[..., 1 + p :]
    second = np.empty((*packed.shape[:-1], p, p))
    second[..., left, right] = packed
    second[..., right, left] = packed
    # In the original coordinates an empty component sits at the origin, not at the data's centre:
    # the extra term keeps that behaviour, and vanishes for every other component.
    means = (first - _EMPTY_COMPONENT * features.centre) / counts[..., None]
    cross = first[..., :, None] * means[..., None, :]
    spread = sums[..., 0, None, None] * means[..., :, None] * means[..., None, :]
    covariances = second - cross - np.swapaxes(cross, -1, -2) + spread
    covariances /= counts[..., None, None]
    covariances[..., np.arange(p), np.arange(p)] += reg_covar
    factors = np.linalg.cholesky(covariances)
    precisions_cholesky = np.swapaxes(np.linalg.inv(factors), -1, -2)
    weights = counts / counts.sum(axis=-1, keepdims=True)
    return weights, means, covariances, precisions_cholesky


def _density_coefficients(mixtures: _Mixtures, features: QuadraticFeatures) -> FloatArray:
    """Return the weighted log-densities' coefficients, (start and component) x feature."""
    weights, means, _, factors = mixtures
    p, (left, right) = features.n_columns, features.pairs
    precisions = factors @ np.swapaxes(factors, -1, -2)
    slope = np.einsum("...ij,...j->...i", precisions, means)
    coefficients = np.empty((*weights.shape, features.n_features))
    coefficients[..., 0] = (
        np.log(weights)
        + np.log(factors[..., np.arange(p), np.arange(p)]).sum(axis=-1)
        - 0.5 * p * np.log(2.0 * np.pi)
        - 0.5 * np.einsum("...i,...i->...", slope, means)
    )
    coefficients[..., 1 : 1 + p] = slope
    # Those of x' M x: what is off the diagonal counts twice.
    packed = (-0.5 * precisions)[..., left, right]
    packed[..., left != right] *= 2.0
    coefficients[..., 1 + p :] = packed
    return coefficients.reshape(-1, features.n_features)


def _e_step(mixtures: _Mixtures, features: QuadraticFeatures) -> tuple[FloatArray, FloatArray]:
    """Return the mean log-likelihood of every start, and the feature sums for the M-step."""
    n_starts, n_components = mixtures[0].shape
    coefficients = _density_coefficients(mixtures, features)
    log_likelihood, sums = np.zeros(n_starts), np.zeros_like(coefficients)
    for _, block in features.blocks(len(coefficients)):
        densities = coefficients @ block.T
        # Log-densities become responsibilities in place, start x component x row.
        stacked = densities.reshape(n_starts, n_components, -1)
        largest = stacked.max(axis=1)
        stacked -= largest[:, None, :]
        np.exp(stacked, out=stacked)
        totals = stacked.sum(axis=1)
        stacked *= (1.0 / totals)[:, None, :]
        log_likelihood += (largest + np.log(totals)).sum(axis=1)
        sums += densities @ block
    return log_likelihood / features.n_rows, sums.reshape(n_starts, n_components, -1)


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
    """Fit a mixture as scikit-learn does, all starts at once.

    A start is iterated until its mean log-likelihood moves by less than the tolerance, and leaves
    the batch then: it sees exactly the iterations it would have seen alone.
    """
    n_profiles, n_starts = mixture.n_components, mixture.n_init
    labels = kmeans_labels(z, n_profiles, n_starts, mixture.random_state)
    sums = np.zeros((n_starts * n_profiles, features.n_features))
    for rows, block in features.blocks(len(sums)):
        member = labels[:, None, rows] == np.arange(n_profiles)[None, :, None]
        sums += member.astype(np.float64).reshape(len(sums), -1) @ block
    sums = sums.reshape(n_starts, n_profiles, -1)
    mixtures = _m_step(sums, features, mixture.reg_covar)
    last = [each.copy() for each in mixtures]
    active, bounds = np.arange(n_starts), np.full(n_starts, -np.inf)
    converged = np.zeros(n_starts, dtype=np.bool_)
    for _ in range(mixture.max_iter):
        new_bounds, sums = _e_step(mixtures, features)
        mixtures = _m_step(sums, features, mixture.reg_covar)
        converged[active] = np.abs(new_bounds - bounds[active]) < mixture.tol
        bounds[active] = new_bounds
        for kept, each in zip(last, mixtures, strict=True):
            kept[active] = each
        going_on = ~converged[active]
        if not going_on.any():
            break
        weights, means, covariances, factors = (each[going_on] for each in mixtures)
        active, mixtures = active[going_on], (weights, means, covariances, factors)
    best = 0
    for start, bound in enumerate(bounds):
        if bound > bounds[best] + _SAME_BOUND * max(1.0, abs(bounds[best])):
            best = start
    mixture.weights_, means, mixture.covariances_, mixture.precisions_cholesky_ = (
        each[best] for each in last
    )
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
