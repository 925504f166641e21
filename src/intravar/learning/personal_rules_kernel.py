"""The personal rule of one physician after the other, compiled.

P(yes) = low + (high - low) g, g = 1 / (1 + exp(-beta.z)); the parameters of a physician are
(beta, logit low, logit high), with a Gaussian prior. They are found by Fisher scoring with step
halving: the information is J J' / (q (1 - q)), never negative, so that every step goes uphill.

They are drawn from their posteriors by elliptical slice sampling: from where a physician is, a draw
of the prior spans an ellipse; a point on it is taken if its likelihood exceeds a random level, else
the arc is narrowed. There is nothing to tune, and every move ends. Random numbers are handed in.

References
----------
Murray, Adams and MacKay, Elliptical slice sampling, AISTATS 2010.
"""

import numpy as np
from numba import njit

#: A probability closer to 0 or 1 than this says nothing more.
EDGE = 1e-9
#: Products are turned into logarithms below this.
FLUSH = 1e-12
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
def _objective(Z, y, rows, theta, mean, precision, chances):  # type: ignore[no-untyped-def]
    """Return the log posterior, up to a constant; fill in g of every row, which slopes use."""
    d = Z.shape[1]
    low, high, total = _logistic(theta[d]), _logistic(theta[d + 1]), 0.0
    for t in range(rows.size):
        eta = 0.0
        for k in range(d):
            eta += Z[rows[t], k] * theta[k]
        chances[t] = _logistic(eta)
        q = min(max(low + (high - low) * chances[t], EDGE), 1 - EDGE)
        total += np.log(q if y[rows[t]] == 1 else 1 - q)
    for k in range(d + 2):
        for h in range(d + 2):
            total -= 0.5 * (theta[k] - mean[k]) * precision[k, h] * (theta[h] - mean[h])
    return total


@njit(cache=True, nogil=True)
def _slope(Z, y, rows, theta, chances, gradient, information, jacobian):  # type: ignore[no-untyped-def]
    """Fill in the gradient of the log-likelihood and its Fisher information.

    `jacobian` is room for the slopes of one row's probability.
    """
    d = Z.shape[1]
    m = d + 2
    for k in range(m):
        gradient[k] = 0.0
        for h in range(m):
            information[k, h] = 0.0
    low, high = _logistic(theta[d]), _logistic(theta[d + 1])
    for t in range(rows.size):
        i, g = rows[t], chances[t]
        q = min(max(low + (high - low) * g, EDGE), 1 - EDGE)
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

    Returns the covariance of every posterior, the log of its density there, up to what the prior's
    covariance adds, and the summed gradient and information of the likelihood.
    """
    J, m = theta.shape
    covariance, reached_by = np.zeros((J, m, m)), np.zeros(J)
    all_gradient, all_information = np.zeros(m), np.zeros((m, m))
    gradient, information, step, there = np.zeros(m), np.zeros((m, m)), np.zeros(m), np.zeros(m)
    chances, jacobian = np.zeros(order.size), np.zeros(m)
    for j in range(J):
        rows, here, inverse = order[start[j] : start[j + 1]], theta[j], covariance[j]
        value = _objective(Z, y, rows, here, mean, precision, chances)
        _slope(Z, y, rows, here, chances, gradient, information, jacobian)
        for _ in range(steps):
            _invert(information, precision, inverse)
            _newton_step(here, mean, precision, gradient, inverse, step)
            moved = False
            for _ in range(6):
                for k in range(m):
                    there[k] = here[k] + step[k]
                reached = _objective(Z, y, rows, there, mean, precision, chances)
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
            _slope(Z, y, rows, here, chances, gradient, information, jacobian)
            if gain < SMALL_GAIN:
                break
        _invert(information, precision, inverse)
        reached_by[j] = value
        for k in range(m):
            all_gradient[k] += gradient[k]
            for h in range(m):
                all_information[k, h] += information[k, h]
    return covariance, reached_by, all_gradient, all_information


@njit(cache=True, nogil=True)
def predict_rows(Z, code, rows, theta, covariance):  # type: ignore[no-untyped-def]
    """Return P(yes) of the rows with their physicians, the posterior's spread averaged over."""
    d = Z.shape[1]
    p_yes = np.empty(rows.size)
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
        p_yes[t] = low + (high - low) * g
    return p_yes


@njit(cache=True, nogil=True)
def _turned(y, rows, ellipse, cosine, sine, low, high, floor):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of one physician at a point of the ellipse.

    Logarithms are taken of products. No term is positive, so what has fallen below the floor stays
    there: most proposals end early.
    """
    centre, along, across = ellipse
    total, product = 0.0, 1.0
    for t in range(rows.size):
        q = low + (high - low) / (1 + np.exp(-(centre[t] + cosine * along[t] + sine * across[t])))
        product *= min(max(q if y[rows[t]] == 1 else 1 - q, EDGE), 1 - EDGE)
        if product < FLUSH:
            total += np.log(product)
            product = 1.0
            if total < floor:
                return -np.inf
    return total + np.log(product)


@njit(cache=True, nogil=True)
def _product(Z, rows, weights, product):  # type: ignore[no-untyped-def]
    for t in range(rows.size):
        product[t] = 0.0
        for k in range(Z.shape[1]):
            product[t] += Z[rows[t], k] * weights[k]


@njit(cache=True, nogil=True)
def _tilt(away, move, cosine, sine, pull, bend):  # type: ignore[no-untyped-def]
    """Return the log of prior over Gaussian at a point of the ellipse, up to a constant."""
    total = 0.0
    for k in range(away.size):
        here = cosine * away[k] + sine * move[k]
        total -= here * pull[k]
        for h in range(away.size):
            total += 0.5 * here * bend[k, h] * (cosine * away[h] + sine * move[h])
    return total


@njit(cache=True, nogil=True)
def draw_panels(  # type: ignore[no-untyped-def]
    Z, y, order, start, theta, middle, pull, bend, moves, chances
):
    """Move the parameters of every physician, in place, as often as there are moves.

    `moves` holds draws of a Gaussian, less its `middle`, by physician and move; `chances` numbers
    between 0 and 1: the level first, then the angles. Where these run out a physician stays. The
    log of the prior over the Gaussian is -pull.x + x.bend.x / 2, x the parameters less the middle;
    both are zero where the Gaussian is the prior.
    """
    d, m = Z.shape[1], theta.shape[1]
    centres, alongs, acrosses = np.zeros(len(Z)), np.zeros(len(Z)), np.zeros(len(Z))
    for j in range(theta.shape[0]):
        rows, away, mean = order[start[j] : start[j + 1]], theta[j], middle[j]
        centre, along, across = centres[: rows.size], alongs[: rows.size], acrosses[: rows.size]
        low, high = 1 / (1 + np.exp(-away[d])), 1 / (1 + np.exp(-away[d + 1]))
        for k in range(m):
            away[k] -= mean[k]
        _product(Z, rows, mean, centre)
        _product(Z, rows, away, along)
        value = _turned(y, rows, (centre, along, across), 1.0, 0.0, low, high, -np.inf)
        value += _tilt(away, away, 1.0, 0.0, pull[j], bend[j])
        for step in range(moves.shape[1]):
            move = moves[j, step]
            _product(Z, rows, move, across)
            level = value + np.log(chances[j, step, 0])
            angle = 2 * np.pi * chances[j, step, 1]
            left, right = angle - 2 * np.pi, angle
            for turn in range(2, chances.shape[2]):
                cosine, sine = np.cos(angle), np.sin(angle)
                low = 1 / (1 + np.exp(-(mean[d] + cosine * away[d] + sine * move[d])))
                e = d + 1
                high = 1 / (1 + np.exp(-(mean[e] + cosine * away[e] + sine * move[e])))
                tilt = _tilt(away, move, cosine, sine, pull[j], bend[j])
                ellipse, floor = (centre, along, across), level - tilt
                reached = _turned(y, rows, ellipse, cosine, sine, low, high, floor) + tilt
                if reached > level:
                    for k in range(m):
                        away[k] = cosine * away[k] + sine * move[k]
                    for t in range(rows.size):
                        along[t] = cosine * along[t] + sine * across[t]
                    value = reached
                    break
                if angle < 0:
                    left = angle
                else:
                    right = angle
                angle = left + (right - left) * chances[j, step, turn]
        for k in range(m):
            away[k] += mean[k]
