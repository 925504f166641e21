"""Latent profiles: a Gaussian mixture whose number of components is chosen by BIC.

For every candidate number of profiles a full-covariance mixture is fitted from several k-means
starts; the lowest BIC among the converged candidates wins. The numbers are those of
``sklearn.mixture.GaussianMixture`` with the same ``random_state``, whose starts, stopping rule and
choice of the best start are used; only the arithmetic of a step is arranged differently.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import ThreadpoolController

from intravar.arrays import FloatArray

# The defaults of scikit-learn, named because the starts and stops depend on them.
EM_TOLERANCE = 1e-3
EM_MAX_ITERATIONS = 100

# Moments are taken around the cohort's centre, so a covariance carries an error of about
# eps * max(z^2), to be small against its smallest possible eigenvalue, reg_covar.
_MOMENT_ERROR_LIMIT = 1e-6
_EPS = float(np.finfo(np.float64).eps)
# The small constant that keeps an empty component from dividing by zero (as scikit-learn has it).
_EMPTY_COMPONENT = 10.0 * _EPS


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


class MomentMixture(GaussianMixture):  # type: ignore[misc]
    """The mixture of scikit-learn, with a step of its iterations as two matrix products.

    A Gaussian log-density is linear in the quadratic features ``phi(x) = [1, x, x_i x_j]`` of the
    centred rows, and the moments that the M-step needs are weighted sums of the same features.
    """

    def fit(self, z: FloatArray, y: None = None) -> "MomentMixture":
        """Fit from several starts; the features are kept no longer than that."""
        self._centre = z.mean(axis=0)
        centred = z - self._centre
        self._left, self._right = np.triu_indices(z.shape[1])
        quadratic = centred[:, self._left] * centred[:, self._right]
        self._phi = np.column_stack([np.ones(len(z)), centred, quadratic])
        try:
            super().fit(z)
        finally:
            del self._phi
        return self

    def _e_step(self, _: FloatArray, **unused: Any) -> tuple[float, FloatArray]:
        """Return the mean log-likelihood and the responsibilities, not their logarithms."""
        factors, means = self.precisions_cholesky_, self.means_ - self._centre
        precisions = factors @ np.swapaxes(factors, -1, -2)
        slope = np.einsum("kij,kj->ki", precisions, means)
        constant = (
            np.log(self.weights_)
            + np.log(np.einsum("kii->ki", factors)).sum(axis=1)
            - 0.5 * means.shape[1] * np.log(2.0 * np.pi)
            - 0.5 * np.einsum("ki,ki->k", slope, means)
        )
        twice = np.where(self._left == self._right, -0.5, -1.0)
        quadratic = twice * precisions[:, self._left, self._right]
        shares = np.column_stack([constant, slope, quadratic]) @ self._phi.T
        largest = shares.max(axis=0)
        shares -= largest
        np.exp(shares, out=shares)
        totals = shares.sum(axis=0)
        shares /= totals
        return float((largest + np.log(totals)).mean()), shares.T

    def _m_step(self, z: FloatArray, shares: FloatArray, **unused: Any) -> None:
        sums, p = shares.T @ self._phi, z.shape[1]
        counts, first = sums[:, 0] + _EMPTY_COMPONENT, sums[:, 1 : 1 + p]
        # In the original coordinates an empty component sits at the origin, not at the centre:
        # the extra term keeps that behaviour, and vanishes for every other component.
        means = (first - _EMPTY_COMPONENT * self._centre) / counts[:, None]
        cross = first[:, :, None] * means[:, None, :]
        squares = np.empty_like(cross)
        squares[:, self._left, self._right] = squares[:, self._right, self._left] = sums[:, 1 + p :]
        spread = sums[:, 0, None, None] * means[:, :, None] * means[:, None, :]
        self.covariances_ = squares - cross - np.swapaxes(cross, 1, 2) + spread
        self.covariances_ /= counts[:, None, None]
        self.covariances_ += self.reg_covar * np.eye(p)
        factors = np.linalg.cholesky(self.covariances_)
        self.precisions_cholesky_ = np.swapaxes(np.linalg.inv(factors), 1, 2)
        self.weights_, self.means_ = counts / counts.sum(), means + self._centre


def _fit_candidate(
    z: FloatArray, mixture: GaussianMixture, threads: ThreadpoolController
) -> float | str:
    """Fit a mixture; return its BIC, or why there is none."""
    if mixture.n_components > len(z):
        return f"{mixture.n_components} profiles asked from {len(z)} patients"
    # OpenMP counts its threads per calling thread, so the limit must be set in the worker itself.
    with threads.limit(limits=1, user_api="openmp"), np.errstate(under="ignore"):
        try:
            mixture.fit(z)
        except (np.linalg.LinAlgError, ValueError) as error:
            return f"a profile collapsed to a singular covariance ({error})"
        return float(mixture.bic(z))


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
    starts end in the same solution, rounding decides in which order its profiles are kept.

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
    largest = float(np.abs(rows - rows.mean(axis=0)).max())
    # scikit-learn's own iterations centre on every component: slower, safe at any scale.
    far = _EPS * largest**2 > _MOMENT_ERROR_LIMIT * reg_covar
    kind = GaussianMixture if far else MomentMixture
    settings: dict[str, Any] = {"n_init": n_init, "reg_covar": reg_covar, "tol": EM_TOLERANCE}
    settings |= {"max_iter": EM_MAX_ITERATIONS, "random_state": random_state}
    # The largest candidates take longest, so they go first.
    mixtures = {size: kind(size, **settings) for size in reversed(sizes)}
    threads = ThreadpoolController()
    # Many small products: one BLAS thread per candidate beats all threads on each product.
    with threads.limit(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = Parallel(n_jobs=n_jobs, backend="threading", batch_size=1)(
            delayed(_fit_candidate)(rows, mixture, threads) for mixture in mixtures.values()
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
