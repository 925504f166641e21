"""How ties between equally good assignments are settled."""

from collections.abc import Iterator

import numpy as np

from intravar.arrays import IntArray
from intravar.matching.blocks import BLOCK_ENTRIES
from intravar.matching.costs import Edges

# Sums over thousands of these numbers are still exact in double precision: 2**40 * 2**13 = 2**53.
TIE_BITS = 40


def tie_breaker(first: IntArray, second: IntArray) -> IntArray:
    """Return a whole number in [1, 2**40] for each pair, the same for (a, b) and (b, a).

    The finaliser of SplitMix64 scatters the bits of the pair's two positions in the panel.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.assignment import tie_breaker
    >>> bool(tie_breaker(np.array([3]), np.array([8])) == tie_breaker(np.array([8]), np.array([3])))
    True
    """
    low = np.minimum(first, second).astype(np.uint64)
    high = np.maximum(first, second).astype(np.uint64)
    mixed = (low << np.uint64(32)) + high + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - TIE_BITS)).astype(np.int64) + 1


class TiedPairs:
    """The pairs that some optimal assignment may use, with `tie_breaker` for their cost."""

    def __init__(self, n: int, first: IntArray, second: IntArray) -> None:
        self.n = n
        self._first = first
        self._second = second

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the tie-breaking numbers of the given pairs."""
        return tie_breaker(first, second)

    def neighbours(self, k: int) -> tuple[IntArray, IntArray]:
        """Return about ``k`` pairs per patient, those with the least numbers."""
        # The numbers are uniform, so a share of their range is a share of the pairs.
        degree = np.bincount(self._first, minlength=self.n) + np.bincount(
            self._second, minlength=self.n
        )
        fewest = np.minimum(degree[self._first], degree[self._second])
        few = tie_breaker(self._first, self._second) * (fewest / k) <= 2.0**TIE_BITS
        return self._first[few], self._second[few]

    def at_most(self, doubled_limits: IntArray, rows: IntArray | None) -> Iterator[Edges]:
        """Yield the pairs with ``2 cost <= limit[first] + limit[second]``."""
        chosen = np.ones(self.n, dtype=np.bool_)
        if rows is not None:
            chosen[:] = False
            chosen[rows] = True
        for start in range(0, len(self._first), BLOCK_ENTRIES):
            first = self._first[start : start + BLOCK_ENTRIES]
            second = self._second[start : start + BLOCK_ENTRIES]
            cost = tie_breaker(first, second)
            within = 2 * cost <= doubled_limits[first] + doubled_limits[second]
            within &= chosen[first] | chosen[second]
            yield Edges(first[within], second[within], cost[within])
