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
from typing import NamedTuple

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
    nothing = np.zeros(len(X), dtype=np.uint64)
    ranks = _refined([mixed(_ranks(column)) for column in X.T], code, nothing)
    # Degrees Celsius and Fahrenheit rank patients alike: where ranks tie, values tell, and then
    # decisions.
    bits = [mixed(_bits(column)) for column in X.T]
    values = _refined(bits, code, nothing)
    decided = _refined(bits, code, mixed(y + _ODD))
    columns = np.lexsort((decided.column, values.column, ranks.column))
    physicians = np.lexsort((decided.physician, values.physician, ranks.physician))
    place = np.empty(len(physicians), dtype=np.int64)
    place[physicians] = np.arange(len(physicians))
    # Rows that hold the same values in other columns differ once the columns have their places.
    laid_out = _laid_out([bits[column] for column in columns], nothing)
    rows = np.lexsort((y, laid_out, values.row, ranks.row, place[code]))
    return CanonicalOrder(rows, columns, place)


def row_hashes(X: FloatArray) -> HashArray:
    """Return a number for every row by its values and their places; equal rows have the same.

    Examples
    --------
    >>> one, other, same = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    >>> bool(one == same), bool(one == other)
    (True, False)
    """
    return _laid_out([mixed(_bits(column)) for column in X.T], np.zeros(len(X), dtype=np.uint64))


def _laid_out(bits: list[HashArray], nothing: HashArray) -> HashArray:
    """Return hashes of rows whose columns have their places."""
    laid_out = nothing.copy()
    for position, each in enumerate(bits):
        laid_out += mixed(each ^ mixed(np.full(1, position, dtype=np.uint64)))
    return laid_out


class _Hashes(NamedTuple):
    row: HashArray
    column: HashArray
    physician: HashArray


def _refined(bits: list[HashArray], code: IntArray, more: HashArray) -> _Hashes:
    """Return hashes of rows, columns and physicians that no order of them changes.

    `more` is what else is known of every row.
    """
    column = np.array([each.sum(dtype=np.uint64) for each in bits], dtype=np.uint64)
    for _ in range(ROUNDS):
        row = more.copy()
        for key, each in zip(column, bits, strict=True):
            row += mixed(each ^ key)
        physician = _sums(mixed(row), code)
        tied = mixed(row ^ physician[code])
        column = np.array([mixed(each ^ tied).sum(dtype=np.uint64) for each in bits], np.uint64)
    return _Hashes(row, column, physician)


def _ranks(values: FloatArray) -> HashArray:
    # NumPy sorts missing values last and, asked to, takes them for equal.
    _, rank = np.unique(values, return_inverse=True, equal_nan=True)
    known = np.unique(values[~np.isnan(values)]).size
    return np.where(np.isnan(values), known, rank).astype(np.uint64)


def _bits(values: FloatArray) -> HashArray:
    # Adding zero makes one number of -0.0 and 0.0; there are many ways to write a missing value.
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)


def _sums(numbers: HashArray, code: IntArray) -> HashArray:
    total = np.zeros(int(code.max()) + 1, dtype=np.uint64)
    np.add.at(total, code, numbers)
    return total


def mixed(numbers: HashArray) -> HashArray:
    """Scatter the bits (the finaliser of splitmix64)."""
    bits = (numbers + _ODD) ^ (numbers >> np.uint64(30))
    bits = bits * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: HashArray = bits ^ (bits >> np.uint64(31))
    return scattered
