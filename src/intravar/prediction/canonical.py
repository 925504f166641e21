"""One order for every table: what is predicted depends on the set of patients alone.

Rows, columns and physicians are brought into an order that follows from their content. Whatever is
drawn afterwards is then the same however the table was sorted and whatever its physicians are
called.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.seeds import stream

#: A panel with at least so many different patients per row tells patients apart.
RICH = 0.25
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Canonical:
    """A cohort in canonical order.

    Attributes
    ----------
    covariates, decision, code
        The rows, sorted by physician; physicians are counted in canonical order.
    row
        Position of every row in the table that was given.
    column
        Position of every column in the table that was given.
    physician
        Position of every physician in the order that was given.
    pattern
        A number per row that rows with equal covariates share.
    """

    covariates: FloatArray
    decision: IntArray
    code: IntArray
    row: IntArray
    column: IntArray
    physician: IntArray
    pattern: npt.NDArray[np.uint64]

    @property
    def n_physicians(self) -> int:
        """Number of physicians."""
        return len(self.physician)


def canonical(covariates: FloatArray, decision: npt.ArrayLike, code: IntArray) -> Canonical:
    """Sort columns, physicians and rows by their content.

    Parameters
    ----------
    covariates
        One row per patient; NaN where missing.
    decision
        0 or 1 per patient.
    code
        Number of every patient's physician, from 0.

    Examples
    --------
    >>> table = np.array([[2.0], [1.0], [3.0]])
    >>> one = canonical(table, [0, 1, 0], np.array([0, 0, 1]))
    >>> other = canonical(table[::-1], [0, 1, 0], np.array([0, 1, 1]))
    >>> bool((one.covariates == other.covariates).all())
    True
    """
    y = np.asarray(decision, dtype=np.int64)
    # Ranks instead of values: the unit of a covariate decides nothing.
    ranks = [_ranks(values) for values in covariates.T]
    column = np.argsort([_fingerprint(each, y) for each in ranks], kind="stable")
    sorted_columns = np.ascontiguousarray(covariates[:, column])
    pattern = _patterns([ranks[at] for at in column])
    # Sums of hashes do not depend on the order of a physician's patients.
    mixed = _mix(pattern ^ (y.astype(np.uint64) + np.uint64(1)) * _ODD)
    panel = np.zeros(int(code.max()) + 1, dtype=np.uint64)
    np.add.at(panel, code, mixed)
    physician = np.argsort(panel, kind="stable")
    place = np.empty_like(physician)
    place[physician] = np.arange(len(physician))
    row = np.lexsort((y, pattern, place[code]))
    return Canonical(
        sorted_columns[row], y[row], place[code][row], row, column, physician, pattern[row]
    )


def _ranks(values: FloatArray) -> IntArray:
    """Return the place of every value among the distinct ones; missing values come last."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _patterns(ranks: list[IntArray]) -> npt.NDArray[np.uint64]:
    """Return a hash of every row; equal rows have equal hashes."""
    total = np.zeros(len(ranks[0]), dtype=np.uint64)
    for each in ranks:
        total = _mix(total * _ODD + each.astype(np.uint64) + np.uint64(1))
    return total


def panel_folds(cohort: Canonical, n_folds: int, seed: int) -> IntArray:
    """Deal every physician's patients to the folds in turn.

    Where most patients of a panel differ, rows of it that are alike, and like no other physician's,
    are copies of one patient rather than patients who happen to be alike: they stay together.

    Parameters
    ----------
    cohort
        The patients in canonical order.
    n_folds
        Number of folds.
    seed
        Of the order in which patients are dealt.
    """
    random = stream(seed, "prediction", "folds")
    _, kind, seen = np.unique(cohort.pattern, return_inverse=True, return_counts=True)
    first = np.full(len(seen), -1, dtype=np.int64)
    first[kind[::-1]] = cohort.code[::-1]
    elsewhere = np.zeros(len(seen), dtype=np.bool_)
    elsewhere[kind[cohort.code != first[kind]]] = True
    copies = (seen > 1) & ~elsewhere & _rich(cohort, kind)[first]
    unit = np.where(copies[kind], kind, len(seen) + np.arange(len(kind)))
    _, start, member = np.unique(unit, return_index=True, return_inverse=True)
    owner = cohort.code[start]
    order = np.lexsort((random.random(len(start)), owner))
    sizes = np.bincount(owner, minlength=cohort.n_physicians)
    within = np.arange(len(start)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    offset = random.integers(0, n_folds, cohort.n_physicians)
    fold = np.empty(len(start), dtype=np.int64)
    fold[order] = (within + offset[owner[order]]) % n_folds
    # Numbers without gaps: a fold without patients is none.
    return np.unique(fold[member], return_inverse=True)[1].astype(np.int64)


def alike_are_copies(cohort: Canonical) -> bool:
    """Say whether rows of a panel that are alike are, mostly, like no other physician's.

    For physicians of whom the others are not at hand: where it is so, or nothing is alike, rows
    that are alike are taken for copies of one patient.
    """
    _, kind = np.unique(cohort.pattern, return_inverse=True)
    pairs, seen = np.unique(np.column_stack([kind, cohort.code]), axis=0, return_counts=True)
    holders = np.bincount(pairs[:, 0])[pairs[:, 0]]
    alike = (seen > 1) & _rich(cohort, kind)[pairs[:, 1]]
    return bool(np.sum(holders[alike] == 1) >= np.sum(alike) / 2)


def _rich(cohort: Canonical, kind: IntArray) -> npt.NDArray[np.bool_]:
    """Say for every physician whether the covariates tell most of the patients apart."""
    pairs = np.unique(np.column_stack([cohort.code, kind]), axis=0)
    distinct = np.bincount(pairs[:, 0], minlength=cohort.n_physicians)
    size = np.bincount(cohort.code, minlength=cohort.n_physicians)
    return np.asarray(distinct >= RICH * size)


def _fingerprint(ranks: IntArray, y: IntArray) -> bytes:
    """Return what tells a column from the others, whatever the order of its rows."""
    parts = [np.bincount(ranks), np.bincount(ranks[y == 1])]
    return hashlib.sha256(b"".join(part.tobytes() + b"|" for part in parts)).digest()


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter the bits (the finaliser of splitmix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return scattered
