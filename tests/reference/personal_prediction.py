"""The personal rule of one physician by its definition: log posterior, slopes by differences."""

from __future__ import annotations

import math
from collections.abc import Sequence


def probability(z: Sequence[float], theta: Sequence[float]) -> float:
    """Return P(yes) of one patient: rates around a logistic function of the weighted sum."""
    *beta, low, high = theta
    eta = sum(weight * value for weight, value in zip(beta, z, strict=True))
    g = 1 / (1 + math.exp(-eta))
    at_low, at_high = 1 / (1 + math.exp(-low)), 1 / (1 + math.exp(-high))
    return at_low + (at_high - at_low) * g


def log_posterior(
    patients: Sequence[Sequence[float]],
    decisions: Sequence[int],
    theta: Sequence[float],
    mean: Sequence[float],
    precision: Sequence[Sequence[float]],
) -> float:
    """Return the log-likelihood of all decisions plus the log density of the Gaussian prior."""
    total = 0.0
    for z, y in zip(patients, decisions, strict=True):
        q = min(max(probability(z, theta), 1e-9), 1 - 1e-9)
        total += math.log(q if y == 1 else 1 - q)
    away = [here - centre for here, centre in zip(theta, mean, strict=True)]
    for a, row in zip(away, precision, strict=True):
        for b, weight in zip(away, row, strict=True):
            total -= 0.5 * a * weight * b
    return total


def posterior_mode(
    patients: Sequence[Sequence[float]],
    decisions: Sequence[int],
    start: Sequence[float],
    mean: Sequence[float],
    precision: Sequence[Sequence[float]],
) -> list[float]:
    """Climb to the mode one parameter at a time, with steps that shrink."""
    theta = list(start)
    value = log_posterior(patients, decisions, theta, mean, precision)
    step = 0.5
    while step > 1e-7:
        moved = False
        for k in range(len(theta)):
            for sign in (1, -1):
                other = [*theta]
                other[k] += sign * step
                reached = log_posterior(patients, decisions, other, mean, precision)
                if reached > value:
                    theta, value, moved = other, reached, True
        if not moved:
            step /= 2
    return theta


def turned_once(
    patients: Sequence[Sequence[float]],
    decisions: Sequence[int],
    theta: Sequence[float],
    mean: Sequence[float],
    move: Sequence[float],
    chances: Sequence[float],
) -> list[float]:
    """Move along an ellipse to a point likelier than a random level (elliptical slice sampling)."""
    flat = [[0.0] * len(theta)] * len(theta)
    level = log_posterior(patients, decisions, theta, mean, flat) + math.log(chances[0])
    angle = 2 * math.pi * chances[1]
    left, right = angle - 2 * math.pi, angle
    for chance in chances[2:]:
        there = [
            centre + (here - centre) * math.cos(angle) + step * math.sin(angle)
            for here, centre, step in zip(theta, mean, move, strict=True)
        ]
        if log_posterior(patients, decisions, there, mean, flat) > level:
            return there
        if angle < 0:
            left = angle
        else:
            right = angle
        angle = left + (right - left) * chance
    return list(theta)
