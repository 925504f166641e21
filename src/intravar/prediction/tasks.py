"""Panels made ready for predictions: columns that rules are written in, folds and halves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.learning.bins import Bins
from intravar.observed import Observed
from intravar.panels import Layout, Panels
from intravar.prediction.columns import ColumnScale, column_scales, scaled_columns
from intravar.prediction.own.forests import filled
from intravar.seeds import stream

#: Physicians are sampled, for what is common, until they have so many patients.
MOST_COMMON = 40_000


@dataclass(frozen=True, eq=False)
class Task:
    """Panels made ready; nothing here was learned from decisions.

    Attributes
    ----------
    panels
        The patients.
    columns, owner
        Columns of a personal rule, and the covariate that each belongs to.
    covariates
        Covariates without gaps.
    n_folds, seed
        Number of folds, and the seed of how patients are dealt.
    """

    panels: Panels
    columns: FloatArray
    owner: IntArray
    covariates: FloatArray
    n_folds: int
    seed: int

    @property
    def y(self) -> IntArray:
        """Decision of every patient."""
        return self.panels.y

    @property
    def code(self) -> IntArray:
        """Panel of every patient."""
        return self.panels.code

    @property
    def bins(self) -> Bins:
        """Binned covariates."""
        return self.panels.bins

    @cached_property
    def fold(self) -> IntArray:
        """Fold of every patient."""
        return self.panels.deal(self.n_folds, self.seed)

    @cached_property
    def half(self) -> npt.NDArray[np.bool_]:
        """Half to which a patient belongs where models of two halves score each other."""
        return np.asarray(self.panels.deal(2, self.seed, "half") == 1)

    @cached_property
    def part(self) -> npt.NDArray[np.bool_]:
        """Half to which a patient belongs where one half is learned from alone."""
        return np.asarray(self.panels.deal(2, self.seed, "part") == 1)

    @cached_property
    def sampled(self) -> npt.NDArray[np.bool_]:
        """Whether what is common is learned from the patient's physician."""
        order = stream(self.seed, "prediction", "sample").permutation(len(self.panels))
        sizes = self.panels.sizes[order]
        taken = np.zeros(len(order), dtype=np.bool_)
        taken[order[np.cumsum(sizes) - sizes < MOST_COMMON]] = True
        return taken[self.code]

    def take(self, rows: IntArray) -> Task:
        """Return some of the patients; physicians that are learned from stay the same."""
        some = replace(
            self,
            panels=self.panels.take(rows),
            columns=self.columns[rows],
            covariates=self.covariates[rows],
        )
        # Kept as it is: another set of physicians would be sampled from fewer patients.
        some.__dict__["sampled"] = self.sampled[rows]
        return some

    def dealt(self, seed: int) -> Task:
        """Return the same with patients dealt by another seed."""
        return self if seed == self.seed else replace(self, seed=seed)


@dataclass(frozen=True, eq=False)
class View:
    """How panels are made ready: the layout, and the scales of the columns of a rule."""

    layout: Layout
    scales: tuple[ColumnScale, ...]

    @classmethod
    def of(cls, observed: Observed) -> View:
        """Learn it from checked input."""
        layout = Layout.of(observed)
        return cls(layout, column_scales(layout.panels(observed).X))

    def task(self, observed: Observed, n_folds: int, seed: int) -> Task:
        """Make checked input ready."""
        panels = self.layout.panels(observed)
        columns, owner = scaled_columns(panels.X, self.scales)
        return Task(panels, columns, owner, filled(panels.X), n_folds, seed)
