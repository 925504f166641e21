"""Pairs of comparable patients within one panel, under a caliper.

The default is the cycle-cover procedure of the paper's Algorithm 1: an assignment of the panel to
itself, its edges without direction, then a greedy choice by (distance, a, b). Conventions that the
algorithm leaves open are settled here once:

- the caliper and the reported distances are those of the data; numbers that settle ties never
  enter them;
- equally good assignments are told apart by `intravar.matching.costs`, equal distances by (a, b);
- a panel of fewer than two patients has no pairs and no caliper (NaN).

Other ways to pair a panel under the same caliper stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, unknown_name
from intravar.matching.assignment import solve
from intravar.matching.costs import BlockCosts
from intravar.matching.distances import (
    MatrixDistances,
    PanelDistances,
    PointDistances,
    blocks_of_others,
    row_blocks,
)

CALIPER_PERCENTILE = 25.0
SAMPLE_PATIENTS = 1_000


def caliper_of(distances: PanelDistances, percentile: float = CALIPER_PERCENTILE) -> float:
    """Return the percentile of all distances between two of at least two patients, to the last bit.

    It is what ``numpy.percentile`` returns on the matrix. A large panel is passed over in blocks:
    distances below a bracket are counted, those inside it are kept. The bracket comes from a sample
    of the patients; should it miss, the pass is repeated with a wider one.

    Examples
    --------
    >>> from intravar.matching.distances import PointDistances
    >>> caliper_of(PointDistances(np.array([[0.0], [1.0], [5.0]])))
    2.5
    """
    if distances.n <= SAMPLE_PATIENTS:
        whole = distances.block(np.arange(distances.n), 0)
        above = np.concatenate([row[i + 1 :] for i, row in enumerate(whole)])
        return float(np.percentile(above, percentile, overwrite_input=True))
    last = distances.n * (distances.n - 1) // 2 - 1
    position = last * (percentile / 100.0)
    rank = math.floor(position)
    sample = _sampled(distances)
    share, half_width = percentile / 100.0, 0.005
    while True:
        low = sample[int(max(share - half_width, 0.0) * (len(sample) - 1))]
        high = sample[int(min(share + half_width, 1.0) * (len(sample) - 1))]
        bracket = _count_and_keep(
            distances,
            -math.inf if share <= half_width else float(low),
            math.inf if share + half_width >= 1.0 else float(high),
        )
        lower, upper = bracket.at(rank), bracket.at(min(rank + 1, last))
        if lower is not None and upper is not None:
            return float(np.quantile([lower, upper], position - rank))
        half_width *= 4.0


def _sampled(distances: PanelDistances) -> FloatArray:
    """Return the sorted distances of every k-th patient."""
    # Deterministic, and blind to nothing but an order with exactly this period.
    chosen = np.arange(0, distances.n, max(1, distances.n // SAMPLE_PATIENTS))
    among = distances.block(chosen, 0)[:, chosen]
    return np.sort(among[np.triu_indices(len(chosen), k=1)])


class _Bracket(NamedTuple):
    """How many distances lie below and at the low end, and those above it up to the high end."""

    low: float
    below: int
    at_low: int
    inside: FloatArray

    def at(self, rank: int) -> float | None:
        """Return the distance of this rank; None if it lies outside the bracket."""
        if self.below <= rank < self.below + self.at_low:
            return self.low
        position = rank - self.below - self.at_low
        if not 0 <= position < len(self.inside):
            return None
        return float(np.partition(self.inside, position)[position])


def _count_and_keep(distances: PanelDistances, low: float, high: float) -> _Bracket:
    below = at_low = 0
    kept = []
    for start, stop in row_blocks(distances.n):
        block = distances.block(np.arange(start, stop), start)
        # Only entries above the diagonal: the leading square holds the others.
        block[np.tril_indices(stop - start)] = np.nan
        below += int(np.count_nonzero(block < low))
        # Ties at the low end are counted, not kept: they may be nearly all there is.
        at_low += int(np.count_nonzero(block == low))
        kept.append(block[(block > low) & (block <= high)])
    return _Bracket(low, below, at_low, np.concatenate(kept))


Strategy = Literal["algorithm-1", "exact", "greedy", "nearest"]

#: From this panel size on, points are paired without the matrix of their distances: faster.
LARGE_POINTS = 1_500
#: From this panel size on, other distances are: slower, but 512 MB per matrix are enough.
LARGE_PANEL = 8_000


class Status(IntEnum):
    """What became of a patient; every patient of a panel has exactly one."""

    PAIRED = 0
    """In a pair."""
    OUTSIDE_CALIPER = 1
    """None of the patient's candidate edges is within the caliper."""
    LOST_IN_CYCLE = 2
    """A candidate edge is within the caliper, but its other end went to a closer pair."""
    PANEL_TOO_SMALL = 3
    """The panel has fewer than two patients."""


@dataclass(frozen=True)
class Pairing:
    """The pairs of one panel, with their distances, in the order in which they were chosen.

    Pairs are positions in the panel, the smaller one first. The caliper is NaN in a panel of fewer
    than two patients; every patient has a `Status`.
    """

    pairs: IntArray
    distances: FloatArray
    caliper: float
    status: NDArray[np.int8]

    def count(self, status: Status) -> int:
        """Return the number of patients with this status.

        Examples
        --------
        >>> panel = PointDistances(np.array([[0.0], [1.0]]))
        >>> pair_by_assignment(panel).count(Status.PAIRED)
        2
        """
        return int(np.count_nonzero(self.status == status))


def pair_by_assignment(
    distances: PanelDistances, percentile: float = CALIPER_PERCENTILE
) -> Pairing:
    """Pair a panel by assignment and greedy choice (Algorithm 1).

    Examples
    --------
    Three patients form a cycle; the closest two become a pair and the third is lost.

    >>> matrix = np.array([[0, 1, 1.2], [1, 0, 1.1], [1.2, 1.1, 0]])
    >>> pairing = pair_by_assignment(MatrixDistances(matrix))
    >>> pairing.pairs
    array([[0, 1]])
    >>> pairing.caliper
    1.05
    """
    if distances.n < 2:
        return too_small(distances.n)
    n, partner = distances.n, solve(distances)
    # The edges {i, sigma_i} without direction: each once, the smaller position first.
    low, high = np.minimum(np.arange(n), partner), np.maximum(np.arange(n), partner)
    first, second = np.divmod(np.unique(low * n + high), n)
    caliper = caliper_of(distances, percentile)
    return choose_greedily(n, first, second, distances.pairs(first, second), caliper)


def greedy_matching(distances: PanelDistances, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair the closest two patients, then the closest two of the others, up to the caliper.

    A patient is `Status.OUTSIDE_CALIPER` if nobody is within the caliper, and
    `Status.LOST_IN_CYCLE` if everybody within it was taken by a closer pair.
    """
    if distances.n < 2:
        return too_small(distances.n)
    caliper = caliper_of(distances, percentile)
    first, second = _within(distances, caliper)
    return choose_greedily(distances.n, first, second, distances.pairs(first, second), caliper)


def exact_matching(distances: PanelDistances, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair as many patients as the caliper allows, with the least total distance.

    The edges within the caliper form a graph; among its matchings of maximum size, one of minimum
    weight is taken (Edmonds' blossom algorithm). A panel of 500 takes a second or two. Needs
    ``rustworkx``. Nobody is lost in a cycle; a patient with somebody within the caliper who stays
    unpaired has that status nevertheless, as in `greedy_matching`.
    """
    # Imported here because only this alternative needs it.
    from rustworkx import PyGraph, max_weight_matching

    n = distances.n
    if n < 2:
        return too_small(n)
    caliper = caliper_of(distances, percentile)
    first, second = _within(distances, caliper)
    pairs = np.empty((0, 2), dtype=np.int64)
    if len(first):
        # The solver maximises over whole numbers, so costs are turned round.
        cost = BlockCosts(distances).cost(first, second)
        gain = cost.max() + 1 - cost
        graph: PyGraph[int, int] = PyGraph(multigraph=False)
        graph.add_nodes_from(range(n))
        edges = zip(first.tolist(), second.tolist(), gain.tolist(), strict=True)
        graph.add_edges_from(list(edges))
        chosen = max_weight_matching(graph, max_cardinality=True, weight_fn=int)
        pairs = np.sort(np.array(sorted(chosen), dtype=np.int64), axis=1)
    apart = distances.pairs(pairs[:, 0], pairs[:, 1])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], apart))
    status = np.full(n, Status.OUTSIDE_CALIPER, dtype=np.int8)
    status[np.concatenate([first, second])] = Status.LOST_IN_CYCLE
    status[pairs.ravel()] = Status.PAIRED
    return Pairing(pairs[order], apart[order], caliper, status)


def nearest_with_replacement(
    distances: PanelDistances, percentile: float = CALIPER_PERCENTILE
) -> Pairing:
    """Give each patient its nearest other patient, the lowest position among equals.

    One pair (patient, nearest other) for each patient whose nearest other is within the caliper;
    one patient may serve many.
    """
    if distances.n < 2:
        return too_small(distances.n)
    neighbour, nearest = np.empty(distances.n, dtype=np.int64), np.empty(distances.n)
    for rows, block in blocks_of_others(distances):
        neighbour[rows], nearest[rows] = block.argmin(axis=1), block.min(axis=1)
    caliper = caliper_of(distances, percentile)
    kept = nearest <= caliper
    status = np.where(kept, Status.PAIRED, Status.OUTSIDE_CALIPER).astype(np.int8)
    pairs = np.column_stack([np.flatnonzero(kept), neighbour[kept]])
    return Pairing(pairs, nearest[kept], caliper, status)


def choose_greedily(
    n: int, first: IntArray, second: IntArray, distances: FloatArray, caliper: float
) -> Pairing:
    """Take candidate edges within the caliper by (distance, a, b), each patient at most once."""
    within = distances <= caliper
    first, second, distances = first[within], second[within], distances[within]
    order = np.lexsort((second, first, distances))
    used = [False] * n
    taken = []
    for position, a, b in zip(
        order.tolist(), first[order].tolist(), second[order].tolist(), strict=True
    ):
        if not (used[a] or used[b]):
            used[a] = used[b] = True
            taken.append(position)
    status = np.full(n, Status.OUTSIDE_CALIPER, dtype=np.int8)
    status[first] = Status.LOST_IN_CYCLE
    status[second] = Status.LOST_IN_CYCLE
    status[np.array(used, dtype=np.bool_)] = Status.PAIRED
    pairs = np.column_stack([first[taken], second[taken]])
    return Pairing(pairs, distances[taken], caliper, status)


def too_small(n: int) -> Pairing:
    """Return the pairing of a panel of no or one patient."""
    return Pairing(
        np.empty((0, 2), dtype=np.int64),
        np.empty(0),
        float("nan"),
        np.full(n, Status.PANEL_TOO_SMALL, dtype=np.int8),
    )


def _within(distances: PanelDistances, caliper: float) -> tuple[IntArray, IntArray]:
    """Return all pairs (a < b) within the caliper."""
    whole = distances.block(np.arange(distances.n), 0)
    first, second = np.nonzero(np.triu(whole <= caliper, k=1))
    return first.astype(np.int64), second.astype(np.int64)


#: How a panel may be paired; the paper's first.
_WAYS: dict[Strategy, Callable[[PanelDistances, float], Pairing]] = {
    "algorithm-1": pair_by_assignment,
    "exact": exact_matching,
    "greedy": greedy_matching,
    "nearest": nearest_with_replacement,
}


def pair_panel(distances: PanelDistances, *, caliper: float, strategy: Strategy) -> Pairing:
    """Pair the patients of one panel in one of the ways, the paper's first.

    `caliper` is the quantile of the panel's distances above which no pair is formed.
    """
    if not 0 <= caliper <= 1:
        raise InputError(f"caliper {caliper} is impossible; it is a quantile between 0 and 1")
    if strategy not in _WAYS:
        raise unknown_name("strategy", strategy, _WAYS, remedy=f"one of {', '.join(_WAYS)}")
    n, first = distances.n, strategy == "algorithm-1"
    if n >= LARGE_PANEL and strategy in ("exact", "greedy"):
        raise InputError(
            f"strategy '{strategy}' holds all distances of a panel and {n:,} patients are too many "
            f"for that; use algorithm-1 from {LARGE_PANEL:,} on"
        )
    large = LARGE_POINTS if first and isinstance(distances, PointDistances) else LARGE_PANEL
    if n < large:
        distances = MatrixDistances(distances.block(np.arange(n), 0))
    return _WAYS[strategy](distances, 100 * caliper)
