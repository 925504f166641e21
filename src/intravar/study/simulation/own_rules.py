"""Rules that depend on chance or on who decides: graded ones, and rules of the physicians' own.

A physician with another rule is not inconsistent. Here physicians have weights, thresholds or a
conjunction of their own; how closely they follow it is another matter, drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel, FloatArray
from intravar.study.simulation.rules import Rule, Score2Rule

IntArray = npt.NDArray[np.int32]
#: Points at which a distribution is read to get its mean and standard deviation.
_POINTS = (np.arange(401) + 0.5) / 401
_ALL = PAPER_COVARIATES.names
#: Two covariates each, none in common: the camps have nothing to agree on.
THREE_CAMPS: tuple[Mapping[str, float], ...] = (
    {"age": 1.0, "sbp": 0.7},
    {"non_hdl": 1.0, "hdl": -0.7},
    {"hba1c": 1.0, "egfr": -0.7},
)
COMMON_RULE: Mapping[str, float] = {"age": 1.0, "sbp": 0.7, "non_hdl": 0.7, "hdl": -0.5}


class Settled(Protocol):
    """A rule whose random part is drawn: who is eligible, and with which of the physicians."""

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """Return P(eligible) of every patient with a physician; 0 or 1 where the rule is sharp."""


@runtime_checkable
class DrawnRule(Protocol):
    """A rule whose verdict also depends on chance or on who decides."""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that the rule reads."""

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> Settled:
        """Draw what differs between physicians."""

    def describe(self) -> str:
        """Return the rule in words."""


@dataclass(frozen=True)
class Shared:
    """A rule that is the same for every physician."""

    rule: Rule

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """See :class:`Settled`."""
        return self.rule.eligible(covariates).astype(np.float64)


@dataclass(frozen=True)
class GradedScore2:
    """Eligibility becomes likelier as the SCORE2 risk rises; there is no sharp threshold.

    P(eligible) = 1 / (1 + (threshold / risk)^(1 / width)).
    """

    rule: Score2Rule = field(default_factory=Score2Rule)
    width: float = 0.25

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return self.rule.covariates

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> GradedScore2:
        """See :class:`DrawnRule`; the rule is the same for all."""
        return self

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """See :class:`Settled`."""
        probability: FloatArray = expit(np.log(self.rule.margin(covariates)) / self.width)
        return probability

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"graded around: {self.rule.describe()}"


@dataclass(frozen=True)
class PersonalThresholds:
    """Every physician judges patients as if a covariate were shifted by an amount of their own.

    Parameters
    ----------
    covariate
        The covariate that is shifted.
    sd
        Standard deviation of the shifts over physicians.
    lowest, highest
        Range to which the shifted covariate is clipped.
    rule
        The rule that the shifted covariates meet.
    """

    covariate: str = "age"
    sd: float = 5.0
    lowest: float = 40.0
    highest: float = 90.0
    rule: Score2Rule = field(default_factory=Score2Rule)

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return self.rule.covariates

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> Shifted:
        """See :class:`DrawnRule`."""
        return Shifted(self, random.normal(0, self.sd, n_physicians))

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return (
            f"{self.covariate} shifted per physician (SD {self.sd:g}), then: {self.rule.describe()}"
        )


@dataclass(frozen=True, eq=False)
class Shifted:
    """Personal thresholds, drawn: one shift per physician."""

    recipe: PersonalThresholds
    shift: FloatArray

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """See :class:`Settled`."""
        name = self.recipe.covariate
        judged = covariates[name] + self.shift[physician]
        judged = judged.clip(self.recipe.lowest, self.recipe.highest).alias(name)
        return self.recipe.rule.eligible(covariates.with_columns(judged)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Linear:
    """Eligible if the own weighted sum of standardised covariates exceeds the own threshold."""

    names: tuple[str, ...]
    mean: FloatArray
    spread: FloatArray
    weights: FloatArray
    threshold: FloatArray

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """See :class:`Settled`."""
        z = (covariates.select(self.names).to_numpy() - self.mean) / self.spread
        score = np.einsum("ik,ik->i", z, self.weights[physician])
        return np.asarray(score > self.threshold[physician], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """Eligible if all covariates that the physician looks at lie on the right side of a limit."""

    names: tuple[str, ...]
    looks_at: npt.NDArray[np.int64]
    limit: FloatArray
    sign: FloatArray

    def chance(self, covariates: pl.DataFrame, physician: IntArray) -> FloatArray:
        """See :class:`Settled`."""
        values = covariates.select(self.names).to_numpy()
        seen = np.take_along_axis(values, self.looks_at[physician], axis=1)
        above = (seen - self.limit[physician]) * self.sign[physician] > 0
        return np.asarray(above.all(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Camps:
    """Physicians belong to camps with a rule each, in turn; some drift between two of them.

    Parameters
    ----------
    camps
        Weights of standardised covariates, by camp.
    drifters
        Share of physicians whose weights lie between those of two camps.
    """

    camps: Sequence[Mapping[str, float]] = THREE_CAMPS[:2]
    drifters: float = 0.0

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return tuple(dict.fromkeys(name for camp in self.camps for name in camp))

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> Linear:
        """See :class:`DrawnRule`."""
        names = self.covariates
        table = _unit(np.array([[camp.get(name, 0.0) for name in names] for camp in self.camps]))
        home = random.permutation(n_physicians) % len(table)
        away = (home + random.integers(1, len(table), n_physicians)) % len(table)
        drifts = random.permutation(n_physicians) < round(self.drifters * n_physicians)
        lean = np.where(drifts, random.uniform(0.25, 0.75, n_physicians), 0.0)[:, None]
        weights = _unit((1 - lean) * table[home] + lean * table[away])
        return _linear(model, names, weights, np.zeros(n_physicians))

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        between = f", {100 * self.drifters:g} % drift between two" if self.drifters else ""
        return f"{len(self.camps)} camps{between}: " + " | ".join(map(_in_words, self.camps))


@dataclass(frozen=True)
class PersonalWeights:
    """Weights and threshold of every physician vary around those of a common rule.

    Parameters
    ----------
    common
        Weights of standardised covariates; scaled to length 1.
    weights_sd
        Standard deviation of a physician's weights around them, for every covariate.
    threshold_sd
        Standard deviation of the thresholds, in standard deviations of the score.
    """

    common: Mapping[str, float]
    weights_sd: float = 0.0
    threshold_sd: float = 0.0

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return _ALL if self.weights_sd else tuple(self.common)

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> Linear:
        """See :class:`DrawnRule`."""
        names = self.covariates
        common = np.array([self.common.get(name, 0.0) for name in names])
        length = np.linalg.norm(common)
        common = common / length if length else common
        own = random.normal(0, self.weights_sd, (n_physicians, len(names)))
        threshold = random.normal(0, self.threshold_sd, n_physicians)
        return _linear(model, names, _unit(common + own), threshold)

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        around = f"around {_in_words(self.common)}" if self.common else "around nothing"
        said = [
            f"{what} of their own {around} (SD {sd:g})"
            for what, sd in (("weights", self.weights_sd), ("thresholds", self.threshold_sd))
            if sd
        ]
        return " and ".join(said)


@dataclass(frozen=True)
class OwnConjunctions:
    """Every physician has two limits of their own, on covariates of their own, in own directions.

    Parameters
    ----------
    among
        Covariates of which each physician takes `width`.
    width
        How many limits must be met.
    shares
        Range from which every physician's share of eligible patients is drawn.
    """

    among: tuple[str, ...] = ("age", "hba1c", "non_hdl", "hdl", "ldl", "sbp", "egfr")
    width: int = 2
    shares: tuple[float, float] = (0.3, 0.6)

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return self.among

    def settle(
        self, model: CovariateModel, n_physicians: int, random: np.random.Generator
    ) -> Conjunctions:
        """See :class:`DrawnRule`."""
        order = random.random((n_physicians, len(self.among))).argsort(axis=1)
        looks_at = order[:, : self.width]
        sign = random.choice([-1.0, 1.0], size=looks_at.shape)
        met = random.uniform(*self.shares, n_physicians)[:, None] ** (1 / self.width)
        level = np.where(sign > 0, 1 - met, met)
        limit = [
            [
                model.marginal(self.among[at]).quantile(float(share))
                for at, share in zip(*row, strict=True)
            ]
            for row in zip(looks_at, level, strict=True)
        ]
        return Conjunctions(self.among, looks_at, np.array(limit), sign)

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"{self.width} limits of their own each, on any of {', '.join(self.among)}"


def _unit(weights: FloatArray) -> FloatArray:
    scaled: FloatArray = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return scaled


def _linear(
    model: CovariateModel, names: tuple[str, ...], weights: FloatArray, threshold: FloatArray
) -> Linear:
    # Of the distributions, not of the sample: the rule is known before any patient is drawn.
    values = np.array([[model.marginal(name).quantile(p) for p in _POINTS] for name in names])
    return Linear(names, values.mean(axis=1), values.std(axis=1), weights, threshold)


def _in_words(weights: Mapping[str, float]) -> str:
    return " ".join(f"{weight:+g} {name}" for name, weight in weights.items())
