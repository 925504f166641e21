"""Expectation-maximisation of several Gaussian mixtures at once, as matrix products.

A Gaussian log-density is linear in the quadratic features ``phi(x) = [1, x, x_i x_j]``, and the
moments needed by the M-step are weighted sums of the same features. One pass over the patients is
therefore two matrix products, and every start of every component can share them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray

# Rows per block: the features and the responsibilities of a block stay in the processor's cache.
_BLOCK_VALUES = 120_000
# The small constant that keeps an empty component from dividing by zero (as scikit-learn has it).
_EMPTY_COMPONENT = 10.0 * float(np.finfo(np.float64).eps)


class QuadraticFeatures:
    """Constant, linear and quadratic features of centred rows, served in blocks of rows."""

    def __init__(self, z: FloatArray) -> None:
        self.centre: FloatArray = z.mean(axis=0)
        self._centred = z - self.centre
        self.n_rows, self.n_columns = z.shape
        self._left, self._right = np.triu_indices(self.n_columns)
        self.n_features = 1 + self.n_columns + self._left.size

    def blocks(self, n_densities: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield ``(rows, features)`` blocks sized for ``n_densities`` densities per row."""
        length = max(256, _BLOCK_VALUES // (self.n_features + n_densities))
        for start in range(0, self.n_rows, length):
            rows = slice(start, min(start + length, self.n_rows))
            linear = self._centred[rows]
            quadratic = linear[:, self._left] * linear[:, self._right]
            yield rows, np.column_stack([np.ones(len(linear)), linear, quadratic])

    def unpack_quadratic(self, sums: FloatArray) -> FloatArray:
        """Turn the packed upper triangle of the last axis into symmetric matrices."""
        packed = sums[..., 1 + self.n_columns :]
        matrices = np.empty((*packed.shape[:-1], self.n_columns, self.n_columns))
        matrices[..., self._left, self._right] = packed
        matrices[..., self._right, self._left] = packed
        return matrices

    def pack_quadratic(self, matrices: FloatArray) -> FloatArray:
        """Give the coefficients of ``x' M x`` on the packed quadratic features."""
        packed = matrices[..., self._left, self._right].copy()
        packed[..., self._left != self._right] *= 2.0
        return packed


class MixtureParameters(NamedTuple):
    """Parameters of a stack of mixtures, in the coordinates centred by the features.

    The leading axis of every array runs over the starts, the next one over the components.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    precisions_cholesky: FloatArray

    def take(self, chosen: IntArray | BoolArray | int) -> "MixtureParameters":
        """Select some starts, or one."""
        return MixtureParameters(*(each[chosen] for each in self))


def _parameters_from_sums(
    sums: FloatArray, features: QuadraticFeatures, reg_covar: float
) -> MixtureParameters:
    """M-step from the responsibility-weighted feature sums, shape (starts, components, features).

    Raises ``numpy.linalg.LinAlgError`` when a covariance is not positive definite.
    """
    counts = sums[..., 0] + _EMPTY_COMPONENT
    first = sums[..., 1 : 1 + features.n_columns]
    # In the original coordinates an empty component sits at the origin, not at the data's centre:
    # the extra term keeps that behaviour, and vanishes for every other component.
    means = (first - _EMPTY_COMPONENT * features.centre) / counts[..., None]
    cross = first[..., :, None] * means[..., None, :]
    spread = sums[..., 0, None, None] * means[..., :, None] * means[..., None, :]
    covariances = features.unpack_quadratic(sums) - cross - np.swapaxes(cross, -1, -2) + spread
    covariances /= counts[..., None, None]
    diagonal = np.arange(features.n_columns)
    covariances[..., diagonal, diagonal] += reg_covar
    factors = np.linalg.cholesky(covariances)
    precisions_cholesky = np.swapaxes(np.linalg.inv(factors), -1, -2)
    weights = counts / counts.sum(axis=-1, keepdims=True)
    return MixtureParameters(weights, means, covariances, precisions_cholesky)


def _density_coefficients(parameters: MixtureParameters, features: QuadraticFeatures) -> FloatArray:
    """Coefficients, shape (starts, components, features), of the weighted log-densities."""
    factors = parameters.precisions_cholesky
    precisions = factors @ np.swapaxes(factors, -1, -2)
    slope = np.einsum("...ij,...j->...i", precisions, parameters.means)
    diagonal = np.arange(features.n_columns)
    coefficients = np.empty((*parameters.weights.shape, features.n_features))
    coefficients[..., 0] = (
        np.log(parameters.weights)
        + np.log(factors[..., diagonal, diagonal]).sum(axis=-1)
        - 0.5 * features.n_columns * np.log(2.0 * np.pi)
        - 0.5 * np.einsum("...i,...i->...", slope, parameters.means)
    )
    coefficients[..., 1 : 1 + features.n_columns] = slope
    coefficients[..., 1 + features.n_columns :] = features.pack_quadratic(-0.5 * precisions)
    return coefficients


def _responsibilities_in_place(log_densities: FloatArray) -> FloatArray:
    """Overwrite (starts, components, rows) by responsibilities; return log-likelihoods of rows."""
    largest = log_densities.max(axis=1)
    log_densities -= largest[:, None, :]
    np.exp(log_densities, out=log_densities)
    totals = log_densities.sum(axis=1)
    log_densities *= (1.0 / totals)[:, None, :]
    return np.asarray(largest + np.log(totals))


def em_pass(
    parameters: MixtureParameters, features: QuadraticFeatures
) -> tuple[FloatArray, FloatArray]:
    """One E-step: mean log-likelihood per start, and the feature sums for the M-step."""
    n_starts, n_components = parameters.weights.shape
    coefficients = _density_coefficients(parameters, features).reshape(-1, features.n_features)
    log_likelihood = np.zeros(n_starts)
    sums = np.zeros_like(coefficients)
    for _, block in features.blocks(coefficients.shape[0]):
        densities = coefficients @ block.T
        stacked = densities.reshape(n_starts, n_components, -1)
        log_likelihood += _responsibilities_in_place(stacked).sum(axis=1)
        sums += densities @ block
    shape = (n_starts, n_components, features.n_features)
    return log_likelihood / features.n_rows, sums.reshape(shape)


def parameters_from_labels(
    labels: IntArray, n_components: int, features: QuadraticFeatures, reg_covar: float
) -> MixtureParameters:
    """First M-step from hard labels of shape (starts, rows)."""
    n_starts = labels.shape[0]
    components = np.arange(n_components)[None, :, None]
    sums = np.zeros((n_starts * n_components, features.n_features))
    for rows, block in features.blocks(n_starts * n_components):
        member = (labels[:, None, rows] == components).astype(np.float64)
        sums += member.reshape(n_starts * n_components, -1) @ block
    return _parameters_from_sums(sums.reshape(n_starts, n_components, -1), features, reg_covar)


def run_starts(
    parameters: MixtureParameters,
    features: QuadraticFeatures,
    *,
    reg_covar: float,
    tolerance: float,
    max_iterations: int,
) -> tuple[FloatArray, BoolArray, MixtureParameters]:
    """Iterate every start until its mean log-likelihood moves by less than ``tolerance``.

    Returns the last lower bound of every start, whether it converged, and its parameters. A start
    leaves the batch as soon as it has converged, so it sees exactly the iterations it would have
    seen alone.
    """
    active = np.arange(len(parameters.weights))
    bounds = np.full(active.size, -np.inf)
    converged = np.zeros(active.size, dtype=np.bool_)
    last = MixtureParameters(*(each.copy() for each in parameters))
    for _ in range(max_iterations):
        new_bounds, sums = em_pass(parameters, features)
        parameters = _parameters_from_sums(sums, features, reg_covar)
        converged[active] = np.abs(new_bounds - bounds[active]) < tolerance
        bounds[active] = new_bounds
        for kept, each in zip(last, parameters, strict=True):
            kept[active] = each
        going_on = ~converged[active]
        if not going_on.any():
            break
        active, parameters = active[going_on], parameters.take(going_on)
    return bounds, converged, last
