"""How the patients of a panel are compared, and how they are paired from that."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from intravar.errors import unknown_name
from intravar.matching.alternatives import exact_matching, greedy_matching, nearest_with_replacement
from intravar.matching.distances import (
    covariance,
    hybrid_distances,
    mahalanobis_points,
    point_distances,
    proximity_distances,
)
from intravar.matching.pairing import Pairing, pair_by_assignment, pair_points_by_assignment

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Strategy = Literal["algorithm-1", "exact", "greedy", "nearest"]
STRATEGIES: tuple[Strategy, ...] = ("algorithm-1", "exact", "greedy", "nearest")

#: From this panel size on, points are paired without the matrix of their distances.
LARGE_PANEL = 1_500


class Comparison(Protocol):
    """Distances between the patients of any panel."""

    def matrix(self, rows: IntArray) -> FloatArray:
        """Return the distances between the patients of these rows."""
        ...


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


class PanelMahalanobis(Points):
    """Patients as points whitened by the covariance of their own panel.

    Parameters
    ----------
    points
        One row per patient of the cohort.
    """

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

    def __init__(self, leaves: npt.NDArray[np.uint16]) -> None:
        self.leaves = leaves

    def matrix(self, rows: IntArray) -> FloatArray:
        """See :class:`Comparison`."""
        return proximity_distances(self.leaves[rows])


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
        self.memberships = memberships
        self.points = points
        self.alpha = alpha

    def matrix(self, rows: IntArray) -> FloatArray:
        """See :class:`Comparison`."""
        return hybrid_distances(self.memberships[rows], self.points[rows], self.alpha)


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
    if strategy not in STRATEGIES:
        raise unknown_name("strategy", strategy, STRATEGIES, remedy=f"one of {STRATEGIES}")
    if strategy == "algorithm-1" and isinstance(comparison, Points) and len(rows) >= LARGE_PANEL:
        return pair_points_by_assignment(comparison.points(rows))
    pair = {
        "algorithm-1": pair_by_assignment,
        "exact": exact_matching,
        "greedy": greedy_matching,
        "nearest": nearest_with_replacement,
    }[strategy]
    return pair(comparison.matrix(rows))
