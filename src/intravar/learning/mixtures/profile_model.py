"""The fitted latent profiles: what was retained, how it was chosen, and who belongs where."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray


def checked_matrix(z: npt.ArrayLike) -> FloatArray:
    """Give ``z`` as a finite matrix of patients by covariates, or say what is wrong with it."""
    rows = np.ascontiguousarray(z, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"z must have two dimensions (patients, covariates), got shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        column = int(np.flatnonzero(~np.isfinite(rows).all(axis=0))[0])
        raise ValueError(f"z holds a missing or infinite value in column {column}")
    return rows


@dataclass(frozen=True)
class ProfileModel:
    """The retained mixture, and how it was chosen.

    Attributes
    ----------
    n_profiles : int
        Number of profiles K of the retained mixture.
    weights : ndarray of shape (K,)
        Share of each profile.
    means : ndarray of shape (K, p)
        Centre of each profile.
    covariances : ndarray of shape (K, p, p)
        Covariance of each profile, regularisation included.
    precisions_cholesky : ndarray of shape (K, p, p)
        Upper factors U with ``U U' = inv(covariance)``.
    bic : dict of int to float
        BIC of every candidate that could be fitted.
    converged : dict of int to bool
        Whether the best start of the candidate converged.
    skipped : dict of int to str
        Candidates that could not be fitted, with the reason.
    fallback : bool
        True when no candidate converged and the smallest one was kept all the same.
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

    def log_densities(self, z: npt.ArrayLike) -> FloatArray:
        """Log of weight times density, per row and profile, shape (n, K)."""
        rows = checked_matrix(z)
        if rows.shape[1] != self.means.shape[1]:
            raise ValueError(
                f"z has {rows.shape[1]} columns, the profiles were fitted on {self.means.shape[1]}"
            )
        result = np.empty((rows.shape[0], self.n_profiles))
        constant = -0.5 * rows.shape[1] * np.log(2.0 * np.pi)
        for k, factor in enumerate(self.precisions_cholesky):
            whitened = (rows - self.means[k]) @ factor
            result[:, k] = -0.5 * np.einsum("ij,ij->i", whitened, whitened)
            result[:, k] += constant + np.log(np.diag(factor)).sum() + np.log(self.weights[k])
        return result

    def memberships(self, z: npt.ArrayLike) -> FloatArray:
        """Posterior probability of each profile, per row, shape (n, K); rows sum to one."""
        result = self.log_densities(z)
        result -= result.max(axis=1, keepdims=True)
        np.exp(result, out=result)
        result /= result.sum(axis=1, keepdims=True)
        return result
