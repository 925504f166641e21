"""Pairs of comparable patients within one panel, under a caliper.

The default is the cycle-cover procedure of the paper's Algorithm 1: an assignment of the panel to
itself, its edges without direction, then a greedy choice by (distance, a, b). Conventions that the
algorithm leaves open are settled here once:

- the caliper and the reported distances are those of the data; numbers that settle ties never
  enter them;
- equally good assignments are told apart by a hash (see `intravar.matching.assignment`), equal
  distances by (a, b);
- a panel of fewer than two patients has no pairs and no caliper (NaN).

Other ways to pair a panel under the same caliper stand beside it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, unknown_name
from intravar.matching.assignment import GridCosts, solve
from intravar.matching.distances import PanelDistances, matrix_distances

#: Patients of a sample that says about where the caliper of a large panel lies, and by how large a
#: share of all distances it may be off.
SAMPLE_PATIENTS, SAMPLE_ERROR = 1_000, 0.03


def caliper_of(distances: PanelDistances, share: float) -> float:
    """Return a quantile of all distances between two of at least two patients, to the last bit.

    It is what ``numpy.quantile`` returns on the matrix. A large panel is passed over in blocks:
    distances below a bracket are counted, those inside it are kept. The bracket comes from a sample
    of the patients; should it miss, all distances are kept.

    Examples
    --------
    >>> from intravar.matching.distances import point_distances
    >>> caliper_of(point_distances(np.array([[0.0], [1.0], [5.0]])), 0.25)
    2.5
    """
    n = distances.n
    last = n * (n - 1) // 2 - 1
    position = last * share
    ranks = np.array([math.floor(position), min(math.floor(position) + 1, last)])
    low, high = -math.inf, math.inf
    if n > SAMPLE_PATIENTS:
        chosen = np.arange(0, n, n // SAMPLE_PATIENTS)
        sample = distances.between(chosen)[:, chosen][np.triu_indices(len(chosen), k=1)]
        if share > SAMPLE_ERROR:
            low = float(np.quantile(sample, share - SAMPLE_ERROR))
        if share < 1 - SAMPLE_ERROR:
            high = float(np.quantile(sample, share + SAMPLE_ERROR))
    while True:
        below, kept = 0, []
        for rows, block in distances.blocks():
            above = block[np.arange(n) > rows[:, None]]
            below += int(np.count_nonzero(above < low))
            kept.append(above[(above >= low) & (above <= high)])
        inside = np.concatenate(kept)
        if ranks[0] >= below and ranks[1] < below + len(inside):
            ends = np.partition(inside, ranks - below)[ranks - below]
            return float(np.quantile(ends, position - ranks[0]))
        low, high = -math.inf, math.inf


Strategy = Literal["algorithm-1", "exact", "greedy", "nearest"]

#: From this panel size on, the matrix of distances (512 MB) is not held.
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
        """Return the number of patients with this status."""
        return int(np.count_nonzero(self.status == status))


def pair_by_assignment(distances: PanelDistances, caliper: float) -> Pairing:
    """Pair a panel by assignment and greedy choice (Algorithm 1)."""
    n, partner = distances.n, solve(distances)
    # The edges {i, sigma_i} without direction: each once, the smaller position first.
    low, high = np.minimum(np.arange(n), partner), np.maximum(np.arange(n), partner)
    first, second = np.divmod(np.unique(low * n + high), n)
    return choose_greedily(n, first, second, distances.pairs(first, second), caliper)


def greedy_matching(distances: PanelDistances, caliper: float) -> Pairing:
    """Pair the closest two patients, then the closest two of the others, up to the caliper.

    A patient is `Status.OUTSIDE_CALIPER` if nobody is within the caliper, and
    `Status.LOST_IN_CYCLE` if everybody within it was taken by a closer pair.
    """
    first, second, apart = _within(distances, caliper)
    return choose_greedily(distances.n, first, second, apart, caliper)


def exact_matching(distances: PanelDistances, caliper: float) -> Pairing:
    """Pair as many patients as the caliper allows, with the least total distance.

    The edges within the caliper form a graph; among its matchings of maximum size, one of minimum
    weight is taken (Edmonds' blossom algorithm). A panel of 500 takes a second or two. Needs
    ``rustworkx``. Nobody is lost in a cycle; a patient with somebody within the caliper who stays
    unpaired has that status nevertheless, as in `greedy_matching`.
    """
    # Imported here because only this alternative needs it.
    from rustworkx import PyGraph, max_weight_matching

    first, second, apart = _within(distances, caliper)
    # The solver maximises over whole numbers, so costs are turned round.
    cost = GridCosts(distances).rounded(apart)
    gain = cost.max(initial=0) + 1 - cost
    graph: PyGraph[int, int] = PyGraph(multigraph=False)
    graph.add_nodes_from(range(distances.n))
    edges = zip(first.tolist(), second.tolist(), gain.tolist(), strict=True)
    graph.add_edges_from(list(edges))
    chosen = max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    pairs = np.sort(np.array(sorted(chosen), dtype=np.int64).reshape(-1, 2), axis=1)
    lengths = distances.pairs(pairs[:, 0], pairs[:, 1])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], lengths))
    status = _status(distances.n, np.concatenate([first, second]), pairs.ravel())
    return Pairing(pairs[order], lengths[order], caliper, status)


def nearest_with_replacement(distances: PanelDistances, caliper: float) -> Pairing:
    """Give each patient its nearest other patient, the lowest position among equals.

    One pair (patient, nearest other) for each patient whose nearest other is within the caliper;
    one patient may serve many.
    """
    neighbour, nearest = np.empty(distances.n, dtype=np.int64), np.empty(distances.n)
    for rows, block in distances.blocks():
        block[np.arange(len(rows)), rows] = np.inf
        neighbour[rows], nearest[rows] = block.argmin(axis=1), block.min(axis=1)
    kept = np.flatnonzero(nearest <= caliper)
    status = _status(distances.n, kept, kept)
    return Pairing(np.column_stack([kept, neighbour[kept]]), nearest[kept], caliper, status)


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
    pairs = np.column_stack([first[taken], second[taken]])
    status = _status(n, np.concatenate([first, second]), pairs.ravel())
    return Pairing(pairs, distances[taken], caliper, status)


def _status(n: int, within: IntArray, paired: IntArray) -> NDArray[np.int8]:
    status = np.full(n, Status.OUTSIDE_CALIPER, dtype=np.int8)
    status[within] = Status.LOST_IN_CYCLE
    status[paired] = Status.PAIRED
    return status


def _within(distances: PanelDistances, caliper: float) -> tuple[IntArray, IntArray, FloatArray]:
    """Return all pairs (a < b) within the caliper, and their distances."""
    whole = distances.between(np.arange(distances.n))
    first, second = np.nonzero(np.triu(whole <= caliper, k=1))
    return first, second, whole[first, second]


#: How a panel may be paired; the paper's first.
_WAYS: dict[Strategy, Callable[[PanelDistances, float], Pairing]] = {
    "algorithm-1": pair_by_assignment,
    "exact": exact_matching,
    "greedy": greedy_matching,
    "nearest": nearest_with_replacement,
}


def pair_panel(
    distances: PanelDistances, *, caliper: float = 0.25, strategy: Strategy = "algorithm-1"
) -> Pairing:
    """Pair the patients of one panel in one of the ways, the paper's first.

    `caliper` is the quantile of the panel's distances above which no pair is formed.

    Examples
    --------
    Three patients form a cycle; the closest two become a pair and the third is lost.

    >>> from intravar.matching.distances import matrix_distances
    >>> pairing = pair_panel(matrix_distances(np.array([[0, 1, 1.2], [1, 0, 1.1], [1.2, 1.1, 0]])))
    >>> pairing.pairs, pairing.caliper, pairing.count(Status.PAIRED)
    (array([[0, 1]]), 1.05, 2)
    """
    if not 0 <= caliper <= 1:
        raise InputError(f"caliper {caliper} is impossible; it is a quantile between 0 and 1")
    if strategy not in _WAYS:
        raise unknown_name("strategy", strategy, _WAYS, remedy=f"one of {', '.join(_WAYS)}")
    n = distances.n
    if n < 2:
        status = np.full(n, Status.PANEL_TOO_SMALL, dtype=np.int8)
        return Pairing(np.empty((0, 2), dtype=np.int64), np.empty(0), math.nan, status)
    if n >= LARGE_PANEL and strategy in ("exact", "greedy"):
        raise InputError(
            f"strategy '{strategy}' holds all distances of a panel and {n:,} patients are too many "
            f"for that; use algorithm-1 from {LARGE_PANEL:,} on"
        )
    if n < LARGE_PANEL:
        distances = matrix_distances(distances.between(np.arange(n)))
    return _WAYS[strategy](distances, caliper_of(distances, caliper))
