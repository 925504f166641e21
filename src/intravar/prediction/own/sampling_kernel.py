"""Parameters of the physicians drawn from their posteriors, compiled.

Elliptical slice sampling: from where a physician is, a draw of the prior spans an ellipse; a point
on it is taken if its likelihood exceeds a random level, else the arc is narrowed. There is nothing
to tune, and every move ends. Random numbers are handed in.

References
----------
Murray, Adams and MacKay, Elliptical slice sampling, AISTATS 2010.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: A probability closer to 0 or 1 than this says nothing more.
EDGE = 1e-9


@njit(cache=True, nogil=True)
def _log_chance(eta, low, high, yes):  # type: ignore[no-untyped-def]
    q = low + (high - low) / (1 + np.exp(-eta))
    q = min(max(q, EDGE), 1 - EDGE)
    return np.log(q) if yes == 1 else np.log(1 - q)


@njit(cache=True, nogil=True)
def _turned(y, rows, centre, along, across, cosine, sine, low, high):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of one physician at a point of the ellipse."""
    total = 0.0
    for t in range(rows.size):
        eta = centre[t] + cosine * along[t] + sine * across[t]
        total += _log_chance(eta, low, high, y[rows[t]])
    return total


@njit(cache=True, nogil=True)
def _product(Z, rows, weights, found):  # type: ignore[no-untyped-def]
    for t in range(rows.size):
        found[t] = 0.0
        for k in range(Z.shape[1]):
            found[t] += Z[rows[t], k] * weights[k]


@njit(cache=True, nogil=True)
def draw_panels(Z, y, order, start, theta, mean, moves, chances):  # type: ignore[no-untyped-def]
    """Move the parameters of every physician, in place, as often as there are moves.

    `moves` holds draws of the prior around zero, by physician and move; `chances` numbers between 0
    and 1: the level first, then the angles. Where these run out a physician stays.
    """
    d, m = Z.shape[1], theta.shape[1]
    centres, alongs, acrosses = np.zeros(len(Z)), np.zeros(len(Z)), np.zeros(len(Z))
    for j in range(theta.shape[0]):
        rows, away = order[start[j] : start[j + 1]], theta[j]
        centre, along, across = centres[: rows.size], alongs[: rows.size], acrosses[: rows.size]
        low, high = 1 / (1 + np.exp(-away[d])), 1 / (1 + np.exp(-away[d + 1]))
        for k in range(m):
            away[k] -= mean[k]
        _product(Z, rows, mean, centre)
        _product(Z, rows, away, along)
        value = _turned(y, rows, centre, along, along, 1.0, 0.0, low, high)
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
                reached = _turned(y, rows, centre, along, across, cosine, sine, low, high)
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


@njit(cache=True, nogil=True)
def stretched(Z, y, order, start, theta, factors):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of all if everybody's weights were multiplied by each factor."""
    d = Z.shape[1]
    total = np.zeros(factors.size)
    for j in range(theta.shape[0]):
        low, high = 1 / (1 + np.exp(-theta[j, d])), 1 / (1 + np.exp(-theta[j, d + 1]))
        rows = order[start[j] : start[j + 1]]
        eta = np.zeros(rows.size)
        _product(Z, rows, theta[j], eta)
        for t in range(rows.size):
            for f in range(factors.size):
                total[f] += _log_chance(factors[f] * eta[t], low, high, y[rows[t]])
    return total
