"""SortedPanels in an order by content, with a random stream for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.canonical_order import HashArray, mixed, row_hashes


@dataclass(frozen=True, eq=False)
class SortedPanels:
    """Patients of one physician after the other, each panel's in an order by content.

    Attributes
    ----------
    rows
        Position, in the table as given, of every patient here.
    X, y
        Covariates and decisions in this order.
    first
        Where every panel begins, and where the last one ends.
    key
        A number by the content of every panel.
    """

    rows: IntArray
    X: FloatArray
    y: IntArray
    first: IntArray
    key: HashArray

    @classmethod
    def of(cls, X: FloatArray, decision: IntArray, code: IntArray, n_panels: int) -> SortedPanels:
        """Sort patients by panel and content; decisions break ties alone.

        Examples
        --------
        >>> x, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1])
        >>> one = SortedPanels.of(x, y, np.array([0, 1, 0]), 2)
        >>> other = SortedPanels.of(x[::-1], y[::-1], np.array([1, 0, 1]), 2)
        >>> bool((one.key == other.key[::-1]).all())
        True
        """
        hashes = row_hashes(X)
        rows = np.lexsort((decision, hashes, code))
        sizes = np.bincount(code, minlength=n_panels)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        key = np.zeros(n_panels, dtype=np.uint64)
        np.add.at(key, code, mixed(hashes ^ mixed(decision.astype(np.uint64))))
        return cls(rows, np.ascontiguousarray(X[rows]), decision[rows], first, key)

    def __len__(self) -> int:
        return len(self.key)

    @property
    def sizes(self) -> IntArray:
        """Patients of every panel."""
        return np.diff(self.first)

    @property
    def physician(self) -> IntArray:
        """Position of every patient's panel."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def part(self, panel: int) -> slice:
        """Where a panel's patients stand."""
        return slice(int(self.first[panel]), int(self.first[panel + 1]))

    def stream(self, panel: int, seed: int) -> np.random.Generator:
        """Return the random numbers that belong to a panel and a seed."""
        return np.random.default_rng([abs(int(seed)), int(self.key[panel])])

    def as_given(self, values: FloatArray) -> FloatArray:
        """Return a value of every patient in the order in which patients were given."""
        given = np.empty_like(values)
        given[self.rows] = values
        return given
