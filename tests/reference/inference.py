"""Inference by its formulas: loops over physicians, and simulation where a formula is exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def dersimonian_laird(estimate: Sequence[float], error: Sequence[float]) -> float:
    """Return the between variance by the formula of DerSimonian and Laird (1986)."""
    weights = [1 / each**2 for each in error]
    mean = sum(w * y for w, y in zip(weights, estimate, strict=True)) / sum(weights)
    q = sum(w * (y - mean) ** 2 for w, y in zip(weights, estimate, strict=True))
    scale = sum(weights) - sum(w**2 for w in weights) / sum(weights)
    return max(0.0, (q - (len(estimate) - 1)) / scale)


def restricted_log_likelihood(
    tau2: float, estimate: Sequence[float], error: Sequence[float]
) -> float:
    """Return the restricted log likelihood of the between variance, without its constant."""
    variance = [tau2 + each**2 for each in error]
    weight = sum(1 / v for v in variance)
    mean = sum(y / v for y, v in zip(estimate, variance, strict=True)) / weight
    value = -0.5 * np.log(weight)
    for y, v in zip(estimate, variance, strict=True):
        value -= 0.5 * (np.log(v) + (y - mean) ** 2 / v)
    return float(value)


def simulated_ranks(
    mean: Sequence[float], sd: Sequence[float], n_draws: int, seed: int
) -> list[float]:
    """Return expected ranks by drawing every physician and counting who lies below whom."""
    random = np.random.default_rng(seed)
    total = [0.0] * len(mean)
    for _ in range(n_draws):
        drawn = [random.normal(m, s) for m, s in zip(mean, sd, strict=True)]
        for i, own in enumerate(drawn):
            total[i] += 1 + sum(other < own for k, other in enumerate(drawn) if k != i)
    return [each / n_draws for each in total]


def cluster_variance(pairs: Sequence[tuple[int, int]], discordant: Sequence[bool]) -> float:
    """Return the variance of the share of discordant pairs, clusters grown one pair at a time."""
    clusters: list[set[int]] = []
    for a, b in pairs:
        touched = [cluster for cluster in clusters if a in cluster or b in cluster]
        clusters = [cluster for cluster in clusters if cluster not in touched]
        clusters.append({a, b}.union(*touched))
    share = sum(discordant) / len(pairs)
    squares = 0.0
    for cluster in clusters:
        inside = [d for (a, _), d in zip(pairs, discordant, strict=True) if a in cluster]
        squares += (sum(inside) - share * len(inside)) ** 2
    return len(clusters) / (len(clusters) - 1) * squares / len(pairs) ** 2
