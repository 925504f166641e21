"""Expected logistic loss of a Gaussian linear predictor, by fixed quadrature.

The rule is the one of statsmodels' variational mixed model: ten Gauss-Legendre nodes on
(-5, 5) standard deviations. Its weights sum to 0.99999..., not to one; keeping that small error is
what makes the two optima the same to many digits.
"""

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray

_HALF_RANGE = 5.0
_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(10)
_NODES = _HALF_RANGE * _LEGENDRE_NODES
_WEIGHTS = _HALF_RANGE * _LEGENDRE_WEIGHTS * np.exp(-0.5 * _NODES**2) / np.sqrt(2.0 * np.pi)
# Rows per block: the dozen temporary vectors of a block stay in the processor's cache.
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class ExpectedLoss:
    """Sum of ``E log(1 + exp(m + sqrt(v) e))`` over rows, and its derivatives in m and v per row.

    ``d_m`` and ``d_v`` are first derivatives; ``d_mm``, ``d_mv`` and ``d_vv`` second ones.
    """

    total: float
    d_m: FloatArray
    d_v: FloatArray
    d_mm: FloatArray
    d_mv: FloatArray
    d_vv: FloatArray


def _block_moments(mean: FloatArray, sd: FloatArray, out: FloatArray) -> float:
    """Fill ``out`` (5, rows) with weighted sums of p, z p, p q, z p q, z^2 p q; return the loss."""
    out[:] = 0.0
    loss = np.zeros_like(mean)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        predictor = mean + node * sd
        tail = np.exp(-np.abs(predictor))
        one_plus_tail = 1.0 + tail
        inverse = weight / one_plus_tail
        # p = 1 / (1 + tail) above zero and tail / (1 + tail) below: no overflow on either side.
        probability = np.where(predictor > 0.0, inverse, inverse * tail)
        spread = inverse * tail / one_plus_tail
        loss += weight * (np.log(one_plus_tail) + np.maximum(predictor, 0.0))
        out[0] += probability
        out[1] += node * probability
        out[2] += spread
        spread *= node
        out[3] += spread
        spread *= node
        out[4] += spread
    return float(loss.sum())


def expected_logistic_loss(mean: FloatArray, variance: FloatArray) -> ExpectedLoss:
    """Compute the expected logistic loss and its derivatives for ``N(mean_i, variance_i)``."""
    moments = np.empty((5, mean.size))
    sd = np.sqrt(variance)
    total = 0.0
    for start in range(0, mean.size, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        total += _block_moments(mean[rows], sd[rows], moments[:, rows])
    d_v = moments[1] / (2.0 * sd)
    return ExpectedLoss(
        total=total,
        d_m=moments[0],
        d_v=d_v,
        d_mm=moments[2],
        d_mv=moments[3] / (2.0 * sd),
        d_vv=(0.5 * moments[4] - d_v) / (2.0 * variance),
    )
