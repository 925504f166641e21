"""One order for every table, by content: results then depend on the set of patients alone.

Rows, columns and physicians are sorted by hashes of what they hold, so that it matters neither how
a table was sorted nor what its physicians are called. Decisions break ties and do nothing else:
among patients and physicians who differ in covariates, no decision moves anybody to another place.

Of values only their ranks within the column count, so that units do not matter either. Hashes of
rows and columns are refined by each other: a row by the columns its values stand in, a column by
the rows. They add up modulo 2^64, which no order of summing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray

HashArray = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
#: Times that rows and columns are refined by each other.
ROUNDS = 2


@dataclass(frozen=True, eq=False)
class CanonicalOrder:
    """Where things of a table stand once it is sorted by content.

    Attributes
    ----------
    rows
        Position, in the table as given, of every row of the sorted one.
    columns
        The same for columns.
    place
        Place of every physician, as numbered in the table, among the sorted physicians.
    """

    rows: IntArray
    columns: IntArray
    place: IntArray


def canonical_order(X: FloatArray, code: IntArray, decision: npt.ArrayLike) -> CanonicalOrder:
    """Return the order of rows, columns and physicians that their content gives.

    Parameters
    ----------
    X
        Covariates, one row per patient; missing values are equal to each other.
    code
        Number of every patient's physician, from 0 without gaps.
    decision
        0 or 1 per patient; only breaks ties.

    Examples
    --------
    >>> table, who, y = np.array([[2.0, 9], [1, 8], [3, 7]]), np.array([0, 0, 1]), [0, 1, 0]
    >>> one = canonical_order(table, who, y)
    >>> other = canonical_order(table[::-1, ::-1], np.array([0, 1, 1]), y[::-1])
    >>> sorted_one = table[one.rows][:, one.columns]
    >>> bool((sorted_one == table[::-1, ::-1][other.rows][:, other.columns]).all())
    True
    """
    y = np.asarray(decision).astype(np.uint64)
    bits = [_mix(_ranks(column)) for column in X.T]
    n_physicians = int(code.max()) + 1
    of_column = np.array([column.sum(dtype=np.uint64) for column in bits], dtype=np.uint64)
    for _ in range(ROUNDS):
        of_row = np.zeros(len(X), dtype=np.uint64)
        for key, column in zip(of_column, bits, strict=True):
            of_row += _mix(column ^ key)
        of_physician = _sums(_mix(of_row), code, n_physicians)
        tied = _mix(of_row ^ of_physician[code])
        of_column = np.array([_mix(c ^ tied).sum(dtype=np.uint64) for c in bits], dtype=np.uint64)
    # Two columns may rank patients alike, degrees Celsius and Fahrenheit say: values tell.
    values = [_mix(_bits(column)).sum(dtype=np.uint64) for column in X.T]
    with_decisions = _sums(_mix(of_row ^ ((y + np.uint64(1)) * _ODD)), code, n_physicians)
    physicians = np.lexsort((with_decisions, of_physician))
    place = np.empty(n_physicians, dtype=np.int64)
    place[physicians] = np.arange(n_physicians)
    return CanonicalOrder(
        rows=np.lexsort((y, of_row, place[code])),
        columns=np.lexsort((values, of_column)),
        place=place,
    )


def _ranks(values: FloatArray) -> HashArray:
    # NumPy sorts missing values last and, asked to, takes them for equal.
    _, rank = np.unique(values, return_inverse=True, equal_nan=True)
    known = np.unique(values[~np.isnan(values)]).size
    return np.where(np.isnan(values), known, rank).astype(np.uint64)


def _bits(values: FloatArray) -> HashArray:
    # Adding zero makes one number of -0.0 and 0.0; there are many ways to write a missing value.
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


def _sums(numbers: HashArray, code: IntArray, size: int) -> HashArray:
    total = np.zeros(size, dtype=np.uint64)
    np.add.at(total, code, numbers)
    return total


def _mix(numbers: HashArray) -> HashArray:
    """Scatter the bits (the finaliser of splitmix64)."""
    mixed = (numbers + _ODD) ^ (numbers >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: HashArray = mixed ^ (mixed >> np.uint64(31))
    return scattered
