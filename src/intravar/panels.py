"""Panels: every physician's patients in an order by content, the same for every way to write them.

A layout is learned once: the order of the covariates, and where they are cut into bins. By it any
physicians' patients are laid out, those who taught it and others. What a panel is dealt, and which
random numbers it is given, follows from what it holds: neither other panels, nor the order of rows,
nor names, nor units can reach a result.

Columns are sorted by hashes of what they hold, so that it matters neither how a table was sorted
nor what its physicians are called. Decisions break ties and do nothing else. Of values only their
ranks within the column count, so that units do not matter either. Hashes of rows and columns are
refined by each other: a row by the columns its values stand in, a column by the rows. They add up
modulo 2^64, which no order of summing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.learning.boosted_trees import Bins, bin_edges, binned
from intravar.learning.neighbours import (
    CLUSTER_SIZE,
    cluster_neighbours,
    learn_mid_ranks,
    rank_points,
)
from intravar.observed import UNIDENTIFIED, Observed
from intravar.seeds import derived_seed

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
        mirrored = next((p for p in pairs if not np.array_equal(bits[p[0]], bits[p[1]])), None)
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


def hash_levels(levels: IntArray, bins: Bins) -> HashArray:
    """Return a number per level of a category, by the patients who have it.

    The names of levels play no part unless two levels have patients with the same covariates.
    Then they are told apart by their order.

    Parameters
    ----------
    levels
        Number of the level of every row, negative where it is not numbered.
    bins
        Bins of the covariates of every row.

    Examples
    --------
    >>> bins = np.array([[1], [2], [1], [1]], dtype=np.uint8)
    >>> one = hash_levels(np.array([0, 0, 1, -1]), bins)
    >>> other = hash_levels(np.array([1, 1, 0, -1]), bins)
    >>> bool((one == other[::-1]).all())
    True
    """
    numbered = levels >= 0
    n_levels = int(levels.max(initial=-1)) + 1
    rows = mixed(row_hashes(bins[numbered].astype(np.float64)))
    sums = panel_sums(rows, levels[numbered], n_levels)
    order = np.argsort(sums, kind="stable")
    first = np.searchsorted(sums[order], sums[order], side="left")
    again = np.empty(n_levels, dtype=np.uint64)
    again[order] = (np.arange(n_levels) - first).astype(np.uint64)
    return mixed(sums ^ mixed(again))


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


#: A panel with at least so many different patients per row tells patients apart.
RICH = 0.25

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False, kw_only=True)
class Panels(Observed):
    """Patients of one physician after the other, in an order by content.

    `rows` and `places` are positions of patients and physicians in the table as given; patients of
    a panel who are alike in all covariates share their `pattern`; `key` is a number by the content
    of every panel; `copies` says whether patients of a panel who are alike are copies of one
    patient; `mid_ranks` are those of the bins.
    """

    bins: Bins
    rows: IntArray
    places: IntArray
    pattern: HashArray
    key: HashArray
    copies: bool
    mid_ranks: FloatArray

    @cached_property
    def first(self) -> IntArray:
        """Where every panel begins, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(self.counts[0])])

    def as_given(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return a value of every patient in the order in which patients were given."""
        given: npt.NDArray[Number] = np.empty_like(values)
        given[self.rows] = values
        return given

    def by_physician(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return a value of every panel in the order in which physicians were given."""
        return values[np.argsort(self.places)]

    def take(self, rows: IntArray) -> Self:
        """Return some of the patients, in rising order, with the physicians who are left."""
        present = np.unique(self.code[rows])
        return replace(
            super().take(rows),
            bins=self.bins[rows],
            rows=self.rows[rows],
            places=self.places[present],
            pattern=self.pattern[rows],
            key=self.key[present],
        )

    @cached_property
    def _copy_positions(self) -> tuple[IntArray, IntArray]:
        """Number of the rows that copy each other, and which of the equal rows each one is."""
        new = np.ones(len(self.y), dtype=np.bool_)
        new[1:] = (self.pattern[1:] != self.pattern[:-1]) | (self.code[1:] != self.code[:-1])
        kind = np.cumsum(new) - 1
        again = np.arange(len(new)) - np.flatnonzero(new)[kind]
        different = np.bincount(self.code[new], minlength=len(self))
        together = self.copies & (different >= RICH * self.counts[0])
        begins = new | ~together[self.code]
        return np.cumsum(begins) - 1, again

    def _random_numbers(self, key: HashArray) -> HashArray:
        """Return a number per row that looks random and follows from what the row holds.

        Of equal rows each has another number. Decisions break ties and do nothing else.
        """
        _, again = self._copy_positions
        return mixed(self.pattern ^ mixed(key + again.astype(np.uint64) * ODD))

    def number_rows(self, *names: str) -> HashArray:
        """Return a number per row for draws under these names; it looks random."""
        return self._random_numbers(mixed(np.full(1, derived_seed(0, *names), dtype=np.uint64)))

    def deal(
        self, n_folds: int, seed: int, *names: str, cluster: IntArray | None = None
    ) -> IntArray:
        """Assign patients to folds.

        All rows of one patient are in the same fold, with every physician who saw the patient.
        Without patient identifiers the clusters of every panel are assigned in turn.

        Parameters
        ----------
        n_folds
            Number of folds.
        seed, names
            What the assignment is drawn by.
        cluster
            Number per row. Rows that share it are in the same fold. By default these are exact
            copies of one patient.
        """
        key = mixed(np.full(1, derived_seed(seed, "folds", *names), dtype=np.uint64))
        if self.patient is not None:
            return np.asarray(mixed(self.patient ^ key) % np.uint64(n_folds)).astype(np.int64)
        numbers = self._random_numbers(key)
        if cluster is None:
            cluster, _ = self._copy_positions
        _, representative, place = np.unique(cluster, return_index=True, return_inverse=True)
        owner = self.code[representative]
        order = np.lexsort((numbers[representative], owner))
        sizes = np.bincount(owner, minlength=len(self))
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        panel = panel_sums(mixed(self.pattern), self.code, len(self))
        start = (mixed(panel ^ key) % np.uint64(n_folds)).astype(np.int64)
        fold = np.empty(len(owner), dtype=np.int64)
        fold[order] = (within + start[owner[order]]) % n_folds
        return np.asarray(fold[place])

    def neighbour_clusters(
        self,
        largest: int = CLUSTER_SIZE,
        columns: Sequence[int] | None = None,
        categories: Sequence[int] | None = None,
    ) -> IntArray:
        """Assign every row to a cluster of neighbours; see :mod:`intravar.learning.neighbours`.

        Parameters
        ----------
        largest
            Largest cluster.
        columns, categories
            Positions of the covariates, and of the categories with many levels, in which neighbours
            are close; by default all.
        """
        points = rank_points(self.bins, self.mid_ranks)
        levels = self.categories
        if columns is not None:
            points = np.ascontiguousarray(points[:, list(columns)])
        if levels is not None and categories is not None:
            levels = levels[:, list(categories)] if len(categories) else None
        key = mixed(np.full(1, derived_seed(0, "neighbours"), dtype=np.uint64))
        copy_of, _ = self._copy_positions
        return cluster_neighbours(
            points=points,
            first=self.first,
            tie_breaker=self._random_numbers(key),
            copy_of=copy_of,
            largest=largest,
            levels=levels,
        )


@dataclass(frozen=True, eq=False)
class Layout:
    """How panels are laid out; learned once, and nothing in it belongs to a patient.

    Covariates in the order in which they are looked at, where they are cut into bins, whether
    patients of a panel who are alike are copies of one patient, and the mid-ranks of the bins.
    Categories with many levels are in an order by content, too, each with a number per level that
    follows from the patients who have it.
    """

    names: tuple[str, ...]
    edges: list[FloatArray]
    copies: bool
    mid_ranks: FloatArray
    category_names: tuple[str, ...] = ()
    level_hashes: tuple[HashArray, ...] = ()

    @classmethod
    def of(cls, observed: Observed) -> Layout:
        """Learn the order of covariates by content, and their bins.

        Where patients of a panel who are alike are, mostly, like no other physician's, or nobody is
        alike, those who are alike count as copies.
        """
        code = observed.code
        order = column_order(observed.covariates, code, observed.decision)
        X = np.ascontiguousarray(observed.covariates[:, order])
        names = tuple(observed.names[at] for at in order)
        edges = bin_edges(X)
        bins = binned(X, edges)
        hashes = {
            name: hash_levels(observed.categories[:, position], bins)
            for position, name in enumerate(observed.category_names)
            if observed.categories is not None
        }
        categories = sorted(hashes, key=lambda name: int(mixed(hashes[name]).sum(dtype=np.uint64)))
        layout = cls(
            names=names,
            edges=edges,
            copies=True,
            mid_ranks=learn_mid_ranks(bins),
            category_names=tuple(categories),
            level_hashes=tuple(hashes[name] for name in categories),
        )
        values = row_hashes(X) + layout._level_numbers(observed)
        return replace(layout, copies=_alike_are_copies(values, code))

    def _level_numbers(self, observed: Observed) -> HashArray:
        """Return a number per row by its levels; zero without categories of many levels."""
        total = np.zeros(observed.n_patients, dtype=np.uint64)
        for name, hashes in zip(self.category_names, self.level_hashes, strict=True):
            assert observed.categories is not None
            levels = observed.categories[:, observed.category_names.index(name)]
            known = (levels >= 0) & (levels < len(hashes))
            numbers = mixed(levels.astype(np.uint64))
            numbers[known] = hashes[levels[known]]
            total = mixed(total ^ numbers)
        return total

    def panels(self, observed: Observed) -> Panels:
        """Sort physicians and their patients by content.

        They must have the covariates that were learned from.
        """
        column = {name: at for at, name in enumerate(observed.names)}
        odd = sorted(set(self.names) ^ set(column))
        odd += sorted(set(self.category_names) ^ set(observed.category_names))
        if odd:
            raise InputError(
                f"these panels have other covariates than those learned from "
                f"({', '.join(odd)}); give the same columns"
            )
        X, code = observed.covariates[:, [column[name] for name in self.names]], observed.code
        n_physicians = len(observed)
        bins = binned(X, self.edges)
        pattern = _patterns(X, bins, code)
        values = row_hashes(X)
        categories = None
        if self.category_names and observed.categories is not None:
            # Patients with different levels are different, although both may be rare.
            numbers = self._level_numbers(observed)
            pattern = mixed(pattern ^ numbers)
            values += numbers
            order = [observed.category_names.index(name) for name in self.category_names]
            categories = observed.categories[:, order]
        ranked, valued, decided = (
            panel_sums(mixed(each), code, n_physicians)
            for each in (pattern, values, values ^ mixed(observed.y.astype(np.uint64)))
        )
        places = np.lexsort((decided, valued, ranked))
        place = np.argsort(places)
        # Time and weight tell apart only what is alike otherwise: visits stay copies.
        ties = [each for each in (observed.weight, observed.time) if each is not None]
        rows = np.lexsort((*ties, observed.y, pattern, place[code]))
        patient = None
        if observed.patient is not None:
            patient = _with_own_numbers(observed.patient[rows], pattern[rows], decided[code[rows]])
        return Panels(
            covariates=np.ascontiguousarray(X[rows]),
            names=self.names,
            decision=observed.decision[rows],
            code=place[code][rows],
            named=observed.named[places],
            as_pandas=observed.as_pandas,
            patient=patient,
            categories=None if categories is None else categories[rows],
            category_names=self.category_names,
            time=None if observed.time is None else observed.time[rows],
            weight=None if observed.weight is None else observed.weight[rows],
            bins=np.ascontiguousarray(bins[rows]),
            rows=rows,
            places=places,
            pattern=pattern[rows],
            key=decided[places],
            copies=self.copies,
            mid_ranks=self.mid_ranks,
        )


def _with_own_numbers(patient: HashArray, pattern: HashArray, panel: HashArray) -> HashArray:
    """Give every row without an identifier a number of its own, which follows from its content.

    Parameters
    ----------
    patient
        Number of every row's patient, in the order by content.
    pattern, panel
        Number of every row, and of its panel, by what they hold.
    """
    own = mixed(pattern ^ mixed(panel))
    order = np.argsort(own, kind="stable")
    first = np.searchsorted(own[order], own[order], side="left")
    again = np.empty(len(own), dtype=np.uint64)
    again[order] = (np.arange(len(own)) - first).astype(np.uint64)
    return np.where(patient == UNIDENTIFIED, mixed(own + again * ODD), patient)


def in_content_order(observed: Observed) -> tuple[Observed, IntArray]:
    """Return the same with patients and physicians sorted by what they hold, and the rows.

    What is drawn by lot then depends neither on the order of a table nor on what its physicians
    are called.

    Examples
    --------
    >>> one, _ = in_content_order(Observed.of([[1.0], [2.0]], [0, 1], ["a", "b"]))
    >>> other, _ = in_content_order(Observed.of([[1.0], [2.0]], [0, 1], ["z", "b"]))
    >>> bool((one.covariates == other.covariates).all())
    True
    """
    panels = Layout.of(observed).panels(observed)
    sorted_by_content = replace(
        observed,
        covariates=observed.covariates[panels.rows],
        decision=panels.decision,
        code=panels.code,
        named=panels.named,
        patient=panels.patient,
        categories=None if observed.categories is None else observed.categories[panels.rows],
        time=panels.time,
        weight=panels.weight,
        _learned={},
    )
    return sorted_by_content, panels.rows


def _patterns(X: FloatArray, bins: Bins, code: IntArray) -> HashArray:
    """Return a number per row by the ranks of its values within the panel, and by their bins."""
    total = np.zeros(len(X), dtype=np.uint64)
    for column, own in zip(X.T, bins.T, strict=True):
        order = np.lexsort((column, code))
        value, who = column[order], code[order]
        # Missing values are equal to each other.
        same = (value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))
        rank = np.cumsum(np.concatenate([[0], ~same | (who[1:] != who[:-1])]))
        begin = np.concatenate([[True], who[1:] != who[:-1]])
        rank -= rank[begin][np.cumsum(begin) - 1]
        place = np.empty(len(X), dtype=np.uint64)
        place[order] = rank.astype(np.uint64)
        total = mixed(total * ODD + place * np.uint64(64) + own.astype(np.uint64))
    return total


def _alike_are_copies(values: HashArray, code: IntArray) -> bool:
    """Say whether rows of a panel that are alike are, mostly, like no other physician's."""
    kind = np.unique(values, return_inverse=True)[1]
    pairs, seen = np.unique(np.column_stack([kind, code]), axis=0, return_counts=True)
    holders = np.bincount(pairs[:, 0])[pairs[:, 0]]
    rich = np.bincount(pairs[:, 1]) >= RICH * np.bincount(code)
    alike = (seen > 1) & rich[pairs[:, 1]]
    return bool(np.sum(holders[alike] == 1) >= np.sum(alike) / 2)
