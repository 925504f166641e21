"""How the patients of a panel are compared, and how they are paired from that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, unknown_name
from intravar.matching.alternatives import (
    exact_matching,
    greedy_matching,
    nearest_in_blocks,
    nearest_with_replacement,
)
from intravar.matching.blocks import HybridDistances, LeafDistances, PanelDistances, PointDistances
from intravar.matching.distances import (
    covariance,
    hybrid_distances,
    mahalanobis_points,
    point_distances,
    proximity_distances,
)
from intravar.matching.pairing import (
    Pairing,
    pair_blocks_by_assignment,
    pair_by_assignment,
    pair_points_by_assignment,
)

Strategy = Literal["algorithm-1", "exact", "greedy", "nearest"]
STRATEGIES: tuple[Strategy, ...] = ("algorithm-1", "exact", "greedy", "nearest")

#: From this panel size on, points are paired without the matrix of their distances: faster.
LARGE_POINTS = 1_500
#: From this panel size on, other distances are: slower, but 512 MB per matrix are enough.
LARGE_PANEL = 8_000


class Comparison(Protocol):
    """Distances between the patients of any panel of a cohort."""

    def matrix(self, rows: IntArray) -> FloatArray:
        """Return the distances between the patients of these rows."""

    def blocks(self, rows: IntArray) -> PanelDistances:
        """Return the same, computed when asked for."""


class Points:
    """Patients as points whose Euclidean distance counts.

    Parameters
    ----------
    points
        One row per patient of the cohort.
    """

    def __init__(self, points: FloatArray) -> None:
        self._points = points

    def points(self, rows: IntArray) -> FloatArray:
        """Return the points of the patients of these rows."""
        return self._points[rows]

    def matrix(self, rows: IntArray) -> FloatArray:
        """See :class:`Comparison`."""
        return point_distances(self.points(rows))

    def blocks(self, rows: IntArray) -> PointDistances:
        """See :class:`Comparison`."""
        return PointDistances(self.points(rows))


class PanelMahalanobis(Points):
    """Patients as points whitened by the covariance of their own panel."""

    def points(self, rows: IntArray) -> FloatArray:
        """Return the whitened points of the patients of these rows."""
        panel = self._points[rows]
        return mahalanobis_points(panel, covariance(panel))


class SharedLeaves:
    """Patients as the leaves of a forest that they end in.

    Parameters
    ----------
    leaves
        Leaf of every patient of the cohort in every tree.
    """

    def __init__(self, leaves: NDArray[np.uint16]) -> None:
        self._leaves = leaves

    def matrix(self, rows: IntArray) -> FloatArray:
        """See :class:`Comparison`."""
        return proximity_distances(self._leaves[rows])

    def blocks(self, rows: IntArray) -> LeafDistances:
        """See :class:`Comparison`."""
        return LeafDistances(self._leaves[rows])


class Hybrid:
    """Patients as latent memberships and clinical points, each scaled by its panel's maximum.

    Parameters
    ----------
    memberships, points
        One row per patient of the cohort.
    alpha
        Share of the latent part.
    """

    def __init__(self, memberships: FloatArray, points: FloatArray, alpha: float) -> None:
        self._memberships = memberships
        self._points = points
        self._alpha = alpha

    def matrix(self, rows: IntArray) -> FloatArray:
        """See :class:`Comparison`."""
        return hybrid_distances(self._memberships[rows], self._points[rows], self._alpha)

    def blocks(self, rows: IntArray) -> HybridDistances:
        """See :class:`Comparison`."""
        return HybridDistances(self._memberships[rows], self._points[rows], self._alpha)


def pair_panel(
    comparison: Comparison, rows: IntArray, *, caliper: float, strategy: Strategy
) -> Pairing:
    """Pair the patients of one panel; positions in the result count within `rows`.

    Parameters
    ----------
    comparison
        How patients are compared.
    rows
        The panel's rows in the cohort.
    caliper
        Quantile of the panel's distances above which no pair is formed.
    strategy
        "algorithm-1" (the paper's), "exact", "greedy", or "nearest" (with replacement).
    """
    if not 0 <= caliper <= 1:
        raise InputError(f"caliper {caliper} is impossible; it is a quantile between 0 and 1")
    if strategy not in STRATEGIES:
        choices = ", ".join(STRATEGIES)
        raise unknown_name("strategy", strategy, STRATEGIES, remedy=f"one of {choices}")
    percentile = 100 * caliper
    if strategy == "algorithm-1" and isinstance(comparison, Points) and len(rows) >= LARGE_POINTS:
        return pair_points_by_assignment(comparison.points(rows), percentile)
    if len(rows) >= LARGE_PANEL:
        in_blocks: dict[str, Callable[[PanelDistances, float], Pairing]] = {
            "algorithm-1": pair_blocks_by_assignment,
            "nearest": nearest_in_blocks,
        }
        if strategy not in in_blocks:
            raise InputError(
                f"strategy '{strategy}' holds all distances of a panel and {len(rows):,} patients "
                f"are too many for that; use algorithm-1 from {LARGE_PANEL:,} on"
            )
        return in_blocks[strategy](comparison.blocks(rows), percentile)
    from_matrix: dict[str, Callable[[FloatArray, float], Pairing]] = {
        "algorithm-1": pair_by_assignment,
        "exact": exact_matching,
        "greedy": greedy_matching,
        "nearest": nearest_with_replacement,
    }
    return from_matrix[strategy](comparison.matrix(rows), percentile)
