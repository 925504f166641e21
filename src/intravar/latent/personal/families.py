"""Families of personal rules behind one small interface: fit on some patients, predict others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.decided import Decided
from intravar.latent.personal.limit_rules import Law, Levels, LimitRules, weigh_limit_rules
from intravar.latent.personal.linear_rules import (
    ChainSettings,
    LinearRules,
    PopulationDraws,
    sample_linear_rules,
)
from intravar.latent.personal.panel_rows import Standard, by_physician, design_of
from intravar.latent.personal.rate_draws import RateDraws

#: A chain for a contest need not be as long as the one that scores are read from.
SHORT = ChainSettings(burn_in=240, sweeps=200)
LONG = ChainSettings()


@dataclass(frozen=True)
class CommonWeights:
    """What personal weights have in common: columns they look at, and the camps.

    Attributes
    ----------
    columns
        Of the standardised covariates.
    logit
        How the shared rule's logit is standardised.
    population
        Draws of the camps and of the laws of the rates.
    """

    columns: IntArray
    logit: Standard
    population: PopulationDraws


@dataclass(frozen=True)
class CommonLimits:
    """What personal limits have in common: columns, their levels, and the laws of the rates."""

    columns: IntArray
    levels: Levels
    high: Law
    low: Law


CommonRules: TypeAlias = CommonWeights | CommonLimits


class FittedFamily(Protocol):
    """A posterior over personal rules."""

    @property
    def draws(self) -> RateDraws:
        """Laws of the rates."""
        ...

    @property
    def camp(self) -> IntArray:
        """Camp of every physician; all 0 in a family without camps."""
        ...

    @property
    def common(self) -> CommonRules:
        """What it knows of physicians in general, to read others by."""
        ...

    def predict(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probability of a decision for, and of being eligible, for these patients."""
        ...

    def predict_draws(self, at: IntArray, most: int) -> list[FloatArray]:
        """Return the probability of a decision for under single draws, at most so many."""
        ...


class Family(Protocol):
    """A family of personal rules that has seen the covariates."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def fit(
        self,
        rows: IntArray,
        shared: FloatArray,
        settings: ChainSettings,
        random: np.random.Generator,
    ) -> FittedFamily:
        """Return the posterior given the decisions on `rows`.

        `shared` is the shared rule's logit of all patients, as known without the other rows.
        """
        ...


@dataclass(frozen=True)
class WeightsFamily:
    """Weighted sums of the covariates and of the shared rule, with personal weights."""

    z: FloatArray
    decided: Decided
    columns: IntArray
    name: str = "personal weights"

    def fit(
        self,
        rows: IntArray,
        shared: FloatArray,
        settings: ChainSettings,
        random: np.random.Generator,
    ) -> FittedFamily:
        """See :class:`Family`."""
        z = self.z[:, self.columns]
        logit = Standard.of(shared[:, None])
        design = design_of(z, shared, logit)
        panels = by_physician(design[rows], self.decided.take(rows))
        rules = sample_linear_rules(panels, settings, random)
        common = CommonWeights(self.columns, logit, rules.population)
        return _FittedWeights(rules, design, self.decided.physician, common)


@dataclass(frozen=True)
class _FittedWeights:
    rules: LinearRules
    design: FloatArray
    physician: IntArray
    common: CommonWeights

    @property
    def draws(self) -> RateDraws:
        return self.rules.draws

    @property
    def camp(self) -> IntArray:
        return self.rules.camp

    def predict(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.rules.predict(self.design[at], self.physician[at])

    def predict_draws(self, at: IntArray, most: int) -> list[FloatArray]:
        return self.rules.predict_draws(self.design[at], self.physician[at], most)


@dataclass(frozen=True)
class LimitsFamily:
    """Two limits of one's own on two covariates of one's own; both to be met, or either."""

    bins: IntArray
    decided: Decided
    columns: IntArray
    levels: Levels
    name: str = "personal limits"

    @classmethod
    def of(cls, z: FloatArray, decided: Decided, columns: IntArray) -> LimitsFamily:
        """Cut these covariates into levels."""
        levels = Levels.of(z[:, columns])
        return cls(levels(z[:, columns]), decided, columns, levels)

    def fit(
        self,
        rows: IntArray,
        shared: FloatArray,
        settings: ChainSettings,
        random: np.random.Generator,
    ) -> FittedFamily:
        """See :class:`Family`; the shared rule is not looked at."""
        rules = weigh_limit_rules(self.bins[rows], self.decided.take(rows), random)
        laws = rules.draws.prior_high, rules.draws.prior_low
        common = CommonLimits(self.columns, self.levels, *laws)
        return _FittedLimits(rules, self.bins, self.decided.physician, common)


@dataclass(frozen=True)
class _FittedLimits:
    rules: LimitRules
    bins: IntArray
    physician: IntArray
    common: CommonLimits

    @property
    def draws(self) -> RateDraws:
        return self.rules.draws

    @property
    def camp(self) -> IntArray:
        return np.zeros(self.rules.rules.shape[1], dtype=np.int64)

    def predict(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.rules.predict(self.bins[at], self.physician[at])

    def predict_draws(self, at: IntArray, most: int) -> list[FloatArray]:
        return self.rules.predict_draws(self.bins[at], self.physician[at], most)
