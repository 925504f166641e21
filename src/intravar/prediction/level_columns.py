"""Columns that the candidates see of categories with many levels.

Each such category is one more column: the encoding of :mod:`intravar.learning.level_encoding`,
learned anew from the patients that the candidates of a fold are learned from. Trees see it in bins,
personal rules on one scale with all other columns, and the physicians' own forests as it is.
Frequent levels keep their indicator columns beside it. Without such categories nothing is added and
nothing is copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.learning.boosted_trees import Bins, bin_edges, binned
from intravar.learning.level_encoding import LevelEncoding, learn_encoding
from intravar.prediction.tasks import Task


class LevelColumns(NamedTuple):
    """How categories with many levels become columns; nothing in it belongs to a patient.

    Attributes
    ----------
    positions
        Which of the task's categories are encoded.
    encodings
        Encoding of each of them.
    edges
        Where encoded columns are cut into bins.
    mean, spread
        Mean and standard deviation of the encoded columns.
    """

    positions: tuple[int, ...]
    encodings: tuple[LevelEncoding, ...]
    edges: list[FloatArray]
    mean: FloatArray
    spread: FloatArray

    def encode(self, task: Task) -> FloatArray:
        """Return the encoded columns of patients who were not learned from."""
        encoded = np.empty((task.n_patients, len(self.positions)))
        for column, position in enumerate(self.positions):
            assert task.categories is not None
            encoded[:, column] = self.encodings[column].encode(task.categories[:, position])
        return encoded

    def bins(self, bins: Bins, encoded: FloatArray) -> Bins:
        """Return the bins of covariates, followed by those of the encoded columns."""
        if not self.positions:
            return bins
        return np.ascontiguousarray(np.hstack([bins, binned(encoded, self.edges)]))

    def scaled(self, encoded: FloatArray) -> FloatArray:
        """Return the encoded columns with mean 0 and standard deviation 1."""
        return np.asarray((encoded - self.mean) / self.spread)


def learn_level_columns(
    task: Task, rows: IntArray, left_out: tuple[str, ...] = ()
) -> tuple[LevelColumns, FloatArray]:
    """Learn the encodings from some rows; return the encoded columns of all rows as well.

    A row that was learned from is encoded without its fold and half: without its own decision and,
    where patients have several rows, without any decision on the same patient.

    Parameters
    ----------
    task
        Panels made ready.
    rows
        Rows to learn from.
    left_out
        Names of categories that are not encoded.
    """
    positions = tuple(
        position for position, name in enumerate(task.category_names) if name not in left_out
    )
    # Halves too: of three folds two may be held out, and one is left.
    _, group = np.unique(2 * task.fold[rows] + task.half[rows], return_inverse=True)
    encodings = []
    seen = np.empty((len(rows), len(positions)))
    for column, position in enumerate(positions):
        assert task.categories is not None
        levels = task.categories[rows, position]
        encoding, seen[:, column] = learn_encoding(levels, task.y[rows], group.astype(np.int64))
        encodings.append(encoding)
    spread = seen.std(axis=0)
    columns = LevelColumns(
        positions=positions,
        encodings=tuple(encodings),
        edges=bin_edges(seen),
        mean=seen.mean(axis=0) if len(rows) else np.zeros(len(positions)),
        # Of levels that do not differ nothing is left but rounding.
        spread=np.where(spread > 1e-9, spread, 1.0),
    )
    encoded = columns.encode(task)
    encoded[rows] = seen
    return columns, encoded


def chosen_columns(columns: FloatArray, more: FloatArray, chosen: IntArray) -> FloatArray:
    """Return the chosen ones of some columns followed by more columns.

    Examples
    --------
    >>> table, more = np.array([[1.0, 2.0, 3.0]]), np.array([[4.0]])
    >>> chosen_columns(table, more, np.array([1, 3])).tolist()
    [[2.0, 4.0]]
    """
    n_columns = columns.shape[1]
    if not more.shape[1]:
        return columns[:, chosen]
    first = columns[:, chosen[chosen < n_columns]]
    return np.hstack([first, more[:, chosen[chosen >= n_columns] - n_columns]])
