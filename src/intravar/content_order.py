"""One order for every table, by content: results then depend on the set of patients alone.

Columns are sorted by hashes of what they hold, so that it matters neither how a table was sorted
nor what its physicians are called. Decisions break ties and do nothing else.

Of values only their ranks within the column count, so that units do not matter either. Hashes of
rows and columns are refined by each other: a row by the columns its values stand in, a column by
the rows. They add up modulo 2^64, which no order of summing changes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray

HashArray = npt.NDArray[np.uint64]

ODD = np.uint64(0x9E3779B97F4A7C15)
#: Times that rows and columns are refined by each other.
ROUNDS = 2


def column_order(X: FloatArray, code: IntArray, decision: npt.ArrayLike) -> IntArray:
    """Return the order of the columns that their content gives.

    Missing values are equal to each other; numbers of physicians are without gaps; decisions, whole
    numbers, only break ties.

    Examples
    --------
    >>> table, who, y = np.array([[2.0, 9], [1, 8], [3, 7]]), np.array([0, 0, 1]), [0, 1, 0]
    >>> one = column_order(table, who, y)
    >>> other = column_order(table[::-1, ::-1], np.array([0, 1, 1]), y[::-1])
    >>> bool((table[0, one] == table[0, ::-1][other]).all())
    True
    """
    y = np.asarray(decision).astype(np.uint64)
    nothing = np.zeros(len(X), dtype=np.uint64)
    ranks = [mixed(_ranks(column)) for column in X.T]
    bits = [mixed(_bits(column)) for column in X.T]
    marks = np.zeros(X.shape[1], dtype=np.uint64)
    while True:
        # Degrees Celsius and Fahrenheit rank patients alike: where ranks tie, values tell, and then
        # decisions.
        hashes = np.array(
            [
                _refined(bits, code, mixed(y + ODD), marks),
                _refined(bits, code, nothing, marks),
                _refined(ranks, code, nothing, marks),
            ]
        )
        order = np.lexsort(hashes)
        # Columns that are each other's mirror image tie though they differ. One of them is marked,
        # whichever it is, and tells the others apart.
        tied = (hashes[:, order[1:]] == hashes[:, order[:-1]]).all(axis=0)
        pairs = (order[at : at + 2] for at in np.flatnonzero(tied))
        mirrored = next((pair for pair in pairs if _differ(bits, *pair)), None)
        if mirrored is None:
            return order
        marks[mirrored[0]] = np.count_nonzero(marks) + 1


def row_hashes(X: FloatArray) -> HashArray:
    """Return a number for every row by its values and their places; equal rows have the same.

    Examples
    --------
    >>> one, other, same = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    total = np.zeros(len(X), dtype=np.uint64)
    for position, column in enumerate(X.T):
        total += mixed(mixed(_bits(column)) ^ mixed(np.full(1, position, dtype=np.uint64)))
    return total


def panel_sums(numbers: HashArray, code: IntArray, n_physicians: int) -> HashArray:
    """Add hashes up by physician; no order of rows changes the sums."""
    total = np.zeros(n_physicians, dtype=np.uint64)
    np.add.at(total, code, numbers)
    return total


def mixed(numbers: HashArray) -> HashArray:
    """Scatter the bits (the finaliser of splitmix64)."""
    bits = (numbers + ODD) ^ (numbers >> np.uint64(30))
    bits = bits * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: HashArray = bits ^ (bits >> np.uint64(31))
    return scattered


def _differ(bits: list[HashArray], one: int, other: int) -> bool:
    return not np.array_equal(bits[one], bits[other])


def _refined(bits: list[HashArray], code: IntArray, more: HashArray, marks: HashArray) -> HashArray:
    """Return hashes of the columns that no order of rows, columns or physicians changes.

    `more` is what else is known of every row; columns with a mark differ from all others.
    """
    column = np.array([each.sum(dtype=np.uint64) for each in bits], dtype=np.uint64) + marks
    for _ in range(ROUNDS):
        row = more.copy()
        for key, each in zip(column, bits, strict=True):
            row += mixed(each ^ key)
        physician = panel_sums(mixed(row), code, int(code.max()) + 1)
        tied = mixed(row ^ physician[code])
        column = np.array([mixed(each ^ tied).sum(dtype=np.uint64) for each in bits], np.uint64)
        column += marks
    return column


def _ranks(values: FloatArray) -> HashArray:
    # NumPy sorts missing values last and, asked to, takes them for equal.
    _, rank = np.unique(values, return_inverse=True, equal_nan=True)
    known = np.unique(values[~np.isnan(values)]).size
    return np.where(np.isnan(values), known, rank).astype(np.uint64)


def _bits(values: FloatArray) -> HashArray:
    # Adding zero makes one number of -0.0 and 0.0; there are many ways to write a missing value.
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
