"""The personal rule of one physician after the other, compiled.

P(yes) = low + (high - low) g, g = 1 / (1 + exp(-beta.z)); the parameters of a physician are
(beta, logit low, logit high), with a Gaussian prior. They are found by Fisher scoring with step
halving: the information is J J' / (q (1 - q)), never negative, so that every step goes uphill.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: A probability closer to 0 or 1 than this says nothing more.
EDGE = 1e-9
LARGEST_STEP = 2.0
SMALL_GAIN = 1e-3
#: Variance of a logit by which the mean of a logistic function is flattened (MacKay 1992).
FLATTEN = np.pi / 8


@njit(cache=True, nogil=True)
def _logistic(x):  # type: ignore[no-untyped-def]
    if x >= 0:
        return 1 / (1 + np.exp(-x))
    e = np.exp(x)
    return e / (1 + e)


@njit(cache=True, nogil=True)
def _objective(Z, y, rows, theta, mean, precision):  # type: ignore[no-untyped-def]
    """Return the log posterior, up to a constant."""
    d = Z.shape[1]
    low, high = _logistic(theta[d]), _logistic(theta[d + 1])
    total = 0.0
    for t in range(rows.size):
        i = rows[t]
        eta = 0.0
        for k in range(d):
            eta += Z[i, k] * theta[k]
        q = low + (high - low) * _logistic(eta)
        q = min(max(q, EDGE), 1 - EDGE)
        total += np.log(q) if y[i] == 1 else np.log(1 - q)
    for k in range(d + 2):
        for h in range(d + 2):
            total -= 0.5 * (theta[k] - mean[k]) * precision[k, h] * (theta[h] - mean[h])
    return total


@njit(cache=True, nogil=True)
def _slope(Z, y, rows, theta, gradient, information, jacobian):  # type: ignore[no-untyped-def]
    """Fill in the gradient of the log-likelihood and its Fisher information."""
    d = Z.shape[1]
    m = d + 2
    gradient[:] = 0.0
    information[:] = 0.0
    low, high = _logistic(theta[d]), _logistic(theta[d + 1])
    for t in range(rows.size):
        i = rows[t]
        eta = 0.0
        for k in range(d):
            eta += Z[i, k] * theta[k]
        g = _logistic(eta)
        q = low + (high - low) * g
        q = min(max(q, EDGE), 1 - EDGE)
        variance = q * (1 - q)
        steep = (high - low) * g * (1 - g)
        for k in range(d):
            jacobian[k] = steep * Z[i, k]
        jacobian[d] = low * (1 - low) * (1 - g)
        jacobian[d + 1] = high * (1 - high) * g
        residual = (y[i] - q) / variance
        for k in range(m):
            gradient[k] += residual * jacobian[k]
            share = jacobian[k] / variance
            for h in range(k + 1):
                information[k, h] += share * jacobian[h]
    for k in range(m):
        for h in range(k):
            information[h, k] = information[k, h]


@njit(cache=True, nogil=True)
def _invert(matrix, added, inverse):  # type: ignore[no-untyped-def]
    """Fill in the inverse of a sum of two symmetric matrices, one positive definite.

    Gauss and Jordan in place: a library's solver takes three times as long to compile as all else.
    """
    m = matrix.shape[0]
    for k in range(m):
        for h in range(m):
            inverse[k, h] = matrix[k, h] + added[k, h]
    for k in range(m):
        pivot = 1 / inverse[k, k]
        inverse[k, k] = 1.0
        for h in range(m):
            inverse[k, h] *= pivot
        for i in range(m):
            if i != k:
                share = inverse[i, k]
                inverse[i, k] = 0.0
                for h in range(m):
                    inverse[i, h] -= share * inverse[k, h]


@njit(cache=True, nogil=True)
def _newton_step(theta, mean, precision, gradient, inverse, step):  # type: ignore[no-untyped-def]
    """Fill in the step towards the mode, no entry of it longer than is allowed."""
    m = theta.size
    longest = LARGEST_STEP
    for k in range(m):
        step[k] = 0.0
    for h in range(m):
        uphill = gradient[h]
        for k in range(m):
            uphill -= precision[h, k] * (theta[k] - mean[k])
        for k in range(m):
            step[k] += inverse[k, h] * uphill
    for k in range(m):
        longest = max(longest, abs(step[k]))
    for k in range(m):
        step[k] *= LARGEST_STEP / longest


@njit(cache=True, nogil=True)
def fit_panels(Z, y, order, start, theta, mean, precision, steps):  # type: ignore[no-untyped-def]
    """Bring the parameters of every physician to their posterior mode, in place.

    Returns the covariance of every posterior, and the summed gradient and information of the
    likelihood.
    """
    J, m = theta.shape
    covariance = np.zeros((J, m, m))
    all_gradient, all_information = np.zeros(m), np.zeros((m, m))
    gradient, information, step, there = np.zeros(m), np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for j in range(J):
        rows, here, inverse = order[start[j] : start[j + 1]], theta[j], covariance[j]
        value = _objective(Z, y, rows, here, mean, precision)
        _slope(Z, y, rows, here, gradient, information, there)
        for _ in range(steps):
            _invert(information, precision, inverse)
            _newton_step(here, mean, precision, gradient, inverse, step)
            moved = False
            for _ in range(6):
                for k in range(m):
                    there[k] = here[k] + step[k]
                reached = _objective(Z, y, rows, there, mean, precision)
                if reached >= value - 1e-10:
                    moved = True
                    break
                for k in range(m):
                    step[k] *= 0.4
            if not moved:
                break
            for k in range(m):
                here[k] = there[k]
            gain, value = reached - value, reached
            _slope(Z, y, rows, here, gradient, information, there)
            if gain < SMALL_GAIN:
                break
        _invert(information, precision, inverse)
        for k in range(m):
            all_gradient[k] += gradient[k]
            for h in range(m):
                all_information[k, h] += information[k, h]
    return covariance, all_gradient, all_information


@njit(cache=True, nogil=True)
def predict_rows(Z, code, rows, theta, covariance):  # type: ignore[no-untyped-def]
    """Return P(yes) of the rows with their physicians, the posterior's spread averaged over."""
    d = Z.shape[1]
    found = np.empty(rows.size)
    for t in range(rows.size):
        i = rows[t]
        j = code[i]
        eta, spread = 0.0, 0.0
        for k in range(d):
            eta += Z[i, k] * theta[j, k]
            total = 0.0
            for h in range(d):
                total += covariance[j, k, h] * Z[i, h]
            spread += Z[i, k] * total
        g = _logistic(eta / np.sqrt(1 + FLATTEN * spread))
        low = _logistic(theta[j, d] / np.sqrt(1 + FLATTEN * covariance[j, d, d]))
        e = d + 1
        high = _logistic(theta[j, e] / np.sqrt(1 + FLATTEN * covariance[j, e, e]))
        found[t] = low + (high - low) * g
    return found


@njit(cache=True, nogil=True)
def average_rows(Z, rows, weights, spreads, low, high):  # type: ignore[no-untyped-def]
    """Return the mean over physicians of P(yes) of some rows.

    Physicians stand side by side in the innermost loop, where none waits for another; of the
    symmetric covariances one half is kept.

    `weights` holds one row per column of Z and one column per physician, `spreads` one row per
    pair of columns: the covariance of two weights, twice where the columns differ.
    """
    d, J = weights.shape
    found = np.empty(rows.size)
    eta, spread = np.empty(J), np.empty(J)
    for t in range(rows.size):
        z = Z[rows[t]]
        eta[:] = 0.0
        spread[:] = 0.0
        pair = 0
        for k in range(d):
            for j in range(J):
                eta[j] += weights[k, j] * z[k]
            for h in range(k + 1):
                product = z[k] * z[h]
                for j in range(J):
                    spread[j] += spreads[pair, j] * product
                pair += 1
        total = 0.0
        for j in range(J):
            g = 1 / (1 + np.exp(-eta[j] / np.sqrt(1 + FLATTEN * max(spread[j], 0.0))))
            total += low[j] + (high[j] - low[j]) * g
        found[t] = total / J
    return found
