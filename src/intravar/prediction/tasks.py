"""Panels made ready for predictions: columns that rules are written in, folds and halves.

Columns of a rule are covariates on one scale, and marks of missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.learning.boosted_trees import bin_edges, binned
from intravar.learning.personal_rules import Table
from intravar.observed import Observed
from intravar.panels import Layout, Panels
from intravar.prediction.dependence import Dependence, detect_dependence
from intravar.prediction.own_forests import filled
from intravar.seeds import stream

#: Covariates are cut at these shares of their distribution: one slip of the pen sets no scale.
EDGES = (0.005, 0.995)
#: A personal rule weighs at most so many columns.
MOST_COLUMNS = 30
#: A covariate that is missing in a smaller share of the rows gets no mark for it.
LEAST_MISSING = 0.01
#: Name of the column that holds the time of the decision; no covariate is called that.
TIME = "intravar: time"
#: Physicians are sampled, for what is common, until they have so many patients.
MOST_COMMON = 40_000


class ColumnScale(NamedTuple):
    """How a column of a rule comes from a covariate, whose missing values it may mark.

    Values are cut, divided by `scale`, a missing one is `filled` then; mean and spread are those of
    the column before it is centred and scaled.
    """

    covariate: int
    marks: bool
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    filled: float = 0.0
    mean: float = 0.0
    spread: float = 1.0

    def column(self, values: FloatArray) -> FloatArray:
        """Return the column."""
        column = missing = np.isnan(values)
        if not self.marks:
            cut = np.clip(values, self.low, self.high) / self.scale
            column = np.where(missing, self.filled, cut)
        return np.asarray((column - self.mean) / self.spread)


def column_scales(covariates: FloatArray) -> tuple[ColumnScale, ...]:
    """Learn the columns of a rule.

    Covariates are cut at their outer half per cents, centred and scaled; missing values are 0, the
    mean, with a column that marks them. Constant columns are left out.
    """
    scales = []
    for number, values in enumerate(covariates.T):
        missing = np.isnan(values)
        candidates = []
        if not missing.all():
            known = values[~missing]
            low, high = np.quantile(known, EDGES)
            if not low < high:
                low, high = known.min(), known.max()
            known = np.clip(known, low, high)
            # Divided before it is squared: large numbers have large squares.
            scale = np.abs(known).max() or 1.0
            cut = (float(low), float(high), float(scale), float(known.mean() / scale))
            candidates.append(ColumnScale(number, False, *cut))
        if LEAST_MISSING <= missing.mean() < 1:
            candidates.append(ColumnScale(number, True))
        for each in candidates:
            column = each.column(values)
            spread = column.std()
            if spread > 0 and np.ptp(column) > 0:
                scales.append(each._replace(mean=float(column.mean()), spread=float(spread)))
    return tuple(scales)


def scaled_columns(
    covariates: FloatArray, scales: Sequence[ColumnScale]
) -> tuple[FloatArray, IntArray]:
    """Return the columns of a rule by scales that were learned before; others may have them."""
    columns = [each.column(covariates[:, each.covariate]) for each in scales]
    table = np.column_stack(columns) if columns else np.empty((len(covariates), 0))
    owner = np.array([each.covariate for each in scales], dtype=np.int64)
    return np.ascontiguousarray(table), owner


def telling_columns(table: Table, more: FloatArray | None = None) -> IntArray:
    """Return the columns that go with decisions most, within physicians, in rising order.

    Sum over physicians of the squared score of a personal weight: large where all weigh a column
    and where some do. Columns of `more` are counted after those of the table.
    """
    Z, y, code, rows, n_physicians = table
    columns = [*Z.T, *([] if more is None else more.T)]
    if len(columns) <= MOST_COLUMNS:
        return np.arange(len(columns))
    who = code[rows]
    size = np.maximum(np.bincount(who, minlength=n_physicians), 1)
    mean = np.bincount(who, y[rows], minlength=n_physicians) / size
    residual = y[rows] - mean[who]
    strength = np.array(
        [
            np.sum(np.bincount(who, residual * column[rows], minlength=n_physicians) ** 2 / size)
            for column in columns
        ]
    )
    return np.sort(np.argsort(-strength, kind="stable")[:MOST_COLUMNS])


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Panels):
    """Panels made ready; nothing here was learned from decisions.

    Columns of a personal rule with the covariate that each belongs to, and covariates without gaps.
    Where decisions have dates, the time is the last of the covariates, called `TIME`.
    The seed is that of how patients are dealt. Rows that share a `cluster` are in one fold; they
    are `dependent` where rows of one patient have been detected.
    """

    columns: FloatArray
    owner: IntArray
    filled: FloatArray
    cluster: IntArray
    dependent: bool
    n_folds: int
    seed: int

    @cached_property
    def fold(self) -> IntArray:
        """Fold of every patient."""
        return self.deal(self.n_folds, self.seed, cluster=self.cluster)

    @cached_property
    def half(self) -> BoolArray:
        """Half to which a patient belongs where models of two halves score each other."""
        return np.asarray(self.deal(2, self.seed, "half", cluster=self.cluster) == 1)

    @cached_property
    def lone_half(self) -> BoolArray:
        """Half to which a patient belongs where one half is learned from alone."""
        return np.asarray(self.deal(2, self.seed, "part", cluster=self.cluster) == 1)

    @cached_property
    def unit(self) -> IntArray | None:
        """Number of the independent unit of every row; None where rows are independent."""
        if self.patient is not None:
            pairs = np.column_stack([self.code.astype(np.uint64), self.patient])
            return np.unique(pairs, axis=0, return_inverse=True)[1].astype(np.int64)
        if self.dependent:
            return self.cluster
        copy_of, _ = self._copy_positions
        return copy_of if len(copy_of) and copy_of[-1] + 1 < len(copy_of) else None

    @cached_property
    def sampled(self) -> BoolArray:
        """Whether what is common is learned from the patient's physician."""
        order = stream(self.seed, "prediction", "sample").permutation(len(self))
        sizes = self.counts[0][order]
        taken = np.zeros(len(order), dtype=np.bool_)
        taken[order[np.cumsum(sizes) - sizes < MOST_COMMON]] = True
        return taken[self.code]

    def take(self, rows: IntArray) -> Self:
        """Return some of the patients; physicians that are learned from stay the same."""
        some = replace(
            super().take(rows),
            columns=self.columns[rows],
            filled=self.filled[rows],
            cluster=self.cluster[rows],
        )
        # Kept as it is: another set of physicians would be sampled from fewer patients.
        some.__dict__["sampled"] = self.sampled[rows]
        return some

    def table(self, Z: FloatArray, rows: IntArray) -> Table:
        """Return a design for rules, learned from some of the patients."""
        return Table(Z, self.y, self.code, rows, len(self))

    def dealt(self, seed: int) -> Task:
        """Return the same with patients dealt by another seed."""
        return self if seed == self.seed else replace(self, seed=seed)


class Clock(NamedTuple):
    """How the time of a decision becomes one more column that predictions look at.

    It is no covariate: neighbours, copies and the order of patients follow from the covariates
    alone, so that visits of one patient at different times are recognised as before. A missing date
    is replaced by one that is drawn from the known dates of the same physician: dates may be
    recorded for one decision only, and any single value would then give the decision away.
    """

    median: float
    edges: FloatArray

    @classmethod
    def of(cls, panels: Panels) -> Clock | None:
        """Learn it from panels; None without dates."""
        if panels.time is None or np.isnan(panels.time).all():
            return None
        known = panels.time[~np.isnan(panels.time)]
        return cls(float(np.median(known)), bin_edges(known[:, None])[0])

    def with_time(self, panels: Panels) -> Panels:
        """Return panels with the time as the last of the covariates."""
        column = self._complete(panels)[:, None]
        return replace(
            panels,
            covariates=np.hstack([panels.covariates, column]),
            bins=np.hstack([panels.bins, binned(column, [self.edges])]),
            names=(*panels.names, TIME),
        )

    def _complete(self, panels: Panels) -> FloatArray:
        """Return the time of every decision, drawn where it is missing."""
        if panels.time is None:
            return np.full(panels.n_patients, self.median)
        missing = np.isnan(panels.time)
        known = np.flatnonzero(~missing)
        donors = known[np.lexsort((panels.time[known], panels.code[known]))]
        n_donors = np.bincount(panels.code[donors], minlength=len(panels))
        first = np.cumsum(n_donors) - n_donors
        rows = np.flatnonzero(missing & (n_donors[panels.code] > 0))
        drawn = panels.number_rows("time")[rows] % n_donors[panels.code[rows]].astype(np.uint64)
        time = np.where(missing, self.median, panels.time)
        time[rows] = panels.time[donors[first[panels.code[rows]] + drawn.astype(np.int64)]]
        return time


class View(NamedTuple):
    """How panels are made ready.

    The layout, the scales of the columns of a rule, whether rows depend on each other, and, where
    decisions have dates, how time is treated.
    """

    layout: Layout
    scales: tuple[ColumnScale, ...]
    dependence: Dependence
    clock: Clock | None = None

    @classmethod
    def of(cls, observed: Observed) -> View:
        """Learn it from checked input."""
        layout = Layout.of(observed)
        panels = layout.panels(observed)
        clock = Clock.of(panels)
        features = panels if clock is None else clock.with_time(panels)
        scales = column_scales(features.covariates)
        return cls(layout, scales, detect_dependence(panels), clock)

    def task(self, observed: Observed, n_folds: int, seed: int) -> Task:
        """Make checked input ready."""
        panels = self.layout.panels(observed)
        if panels.patient is not None:
            cluster = np.arange(panels.n_patients)  # folds follow the patients alone
        else:
            cluster = panels.neighbour_clusters(
                self.dependence.cluster_size, self.dependence.columns, self.dependence.categories
            )
        if self.clock is not None:
            panels = self.clock.with_time(panels)
        columns, owner = scaled_columns(panels.covariates, self.scales)
        return Task(
            **{each.name: getattr(panels, each.name) for each in fields(panels)},
            columns=columns,
            owner=owner,
            filled=filled(panels.covariates),
            cluster=cluster,
            dependent=self.dependence.detected,
            n_folds=n_folds,
            seed=seed,
        )
