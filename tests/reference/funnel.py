"""The limits of a funnel plot, literally: one physician after the other."""

from __future__ import annotations

import math
from statistics import NormalDist, median


def quantile(values: list[float], share: float) -> float:
    """Return a quantile by linear interpolation between the two neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def normal_left(share: float, steps: int = 200_000) -> float:
    """Return the mean square of normal values drawn in at both ends, by adding up."""
    normal = NormalDist()
    end = normal.inv_cdf(1 - share)
    step = 2 * end / steps
    inside = sum(
        (-end + (n + 0.5) * step) ** 2 * normal.pdf(-end + (n + 0.5) * step) * step
        for n in range(steps)
    )
    return inside + 2 * share * end**2


def limits(
    score: list[float], size: list[float], error: list[float] | None, left: float
) -> tuple[float, float, float]:
    """Return middle, unit of chance, and spread between physicians."""
    middle = sum(y * n for y, n in zip(score, size, strict=True)) / sum(size)
    if error is None:
        unit = math.sqrt(middle * (1 - middle))
    else:
        unit = median(s * math.sqrt(n) for s, n in zip(error, size, strict=True))
    if unit <= 0 or len(score) < 2:
        return middle, unit, 0.0
    z = [(y - middle) / (unit / math.sqrt(n)) for y, n in zip(score, size, strict=True)]
    low, high = quantile(z, 0.1), quantile(z, 0.9)
    phi = sum(min(max(each, low), high) ** 2 for each in z) / len(z) / left
    weights = [n / unit**2 for n in size]
    denominator = sum(weights) - sum(w * w for w in weights) / sum(weights)
    between = (len(z) * phi - (len(z) - 1)) / denominator
    return middle, unit, math.sqrt(max(0.0, between))
