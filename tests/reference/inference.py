"""Inference by its formulas: loops over physicians, and simulation where a formula is exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


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
