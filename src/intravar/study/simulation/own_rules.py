"""Rules that depend on chance or on who decides: graded ones, and rules of the physicians' own.

A physician with another rule is not inconsistent. Here physicians have weights, thresholds or a
conjunction of their own; how closely they follow it is another matter, drawn elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from intravar.arrays import FloatArray
from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel, Random
from intravar.study.simulation.rules import Score2Rule

IntArray = npt.NDArray[np.int32]
#: A rule whose random part is drawn: P(eligible) of every patient with a physician, by number;
#: 0 or 1 where the rule is sharp.
Chance = Callable[[pl.DataFrame, IntArray], FloatArray]
#: Points at which a distribution is read to get its mean and standard deviation.
_POINTS = (np.arange(401) + 0.5) / 401
#: Two covariates each, none in common: the camps have nothing to agree on.
THREE_CAMPS: tuple[Mapping[str, float], ...] = (
    {"age": 1.0, "sbp": 0.7},
    {"non_hdl": 1.0, "hdl": -0.7},
    {"hba1c": 1.0, "egfr": -0.7},
)
COMMON_RULE: Mapping[str, float] = {"age": 1.0, "sbp": 0.7, "non_hdl": 0.7, "hdl": -0.5}


@runtime_checkable
class DrawnRule(Protocol):
    """A rule whose verdict also depends on chance or on who decides."""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that the rule reads."""

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """Draw what differs between physicians."""

    def describe(self) -> str:
        """Return the rule in words."""


@dataclass(frozen=True)
class GradedScore2(Score2Rule):
    """Eligibility becomes likelier as the SCORE2 risk rises; there is no sharp threshold.

    P(eligible) = 1 / (1 + (threshold / risk)^(1 / width)).
    """

    width: float = 0.25

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`; the rule is the same for all."""
        return lambda patients, _: expit(np.log(self.margin(patients)) / self.width)

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"graded around: {super().describe()}"


@dataclass(frozen=True)
class PersonalThresholds(Score2Rule):
    """Every physician judges patients as if a covariate were shifted by an amount of their own.

    `sd` is the standard deviation of the shifts over physicians; the shifted covariate is clipped
    to a range and then meets the rule.
    """

    covariate: str = "age"
    sd: float = 5.0
    lowest: float = 40.0
    highest: float = 90.0

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`."""
        shift = random.normal(0, self.sd, n_physicians)

        def chance(patients: pl.DataFrame, physician: IntArray) -> FloatArray:
            judged = patients[self.covariate] + shift[physician]
            shifted = patients.with_columns(judged.clip(self.lowest, self.highest))
            return self.eligible(shifted).astype(np.float64)

        return chance

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        shifted = f"{self.covariate} shifted per physician (SD {self.sd:g})"
        return f"{shifted}, then: {super().describe()}"


def _by_weights(
    names: tuple[str, ...], model: CovariateModel, weights: FloatArray, threshold: FloatArray
) -> Chance:
    """Eligible if the own weighted sum of standardised covariates exceeds the own threshold."""
    # Of the distributions, not of the sample: the rule is known before any patient is drawn.
    values = np.array([[model.marginal(name).quantile(p) for p in _POINTS] for name in names])
    mean, spread = values.mean(axis=1), values.std(axis=1)
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)

    def chance(patients: pl.DataFrame, physician: IntArray) -> FloatArray:
        z = (patients.select(names).to_numpy() - mean) / spread
        score = np.einsum("ik,ik->i", z, unit[physician])
        return np.asarray(score > threshold[physician], dtype=np.float64)

    return chance


@dataclass(frozen=True)
class Camps:
    """Physicians belong to camps with a rule each, in turn; some drift between two of them.

    `camps` are weights of standardised covariates, `drifters` the share of physicians whose
    weights lie between those of two camps.
    """

    camps: Sequence[Mapping[str, float]] = THREE_CAMPS[:2]
    drifters: float = 0.0

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return tuple(dict.fromkeys(name for camp in self.camps for name in camp))

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`; thresholds are zero."""
        names = self.covariates
        table = np.array([[camp.get(name, 0.0) for name in names] for camp in self.camps])
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        home = random.permutation(n_physicians) % len(table)
        away = (home + random.integers(1, len(table), n_physicians)) % len(table)
        drifts = random.permutation(n_physicians) < round(self.drifters * n_physicians)
        lean = np.where(drifts, random.uniform(0.25, 0.75, n_physicians), 0.0)[:, None]
        weights = (1 - lean) * table[home] + lean * table[away]
        return _by_weights(names, model, weights, np.zeros(n_physicians))

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        between = f", {100 * self.drifters:g} % drift between two" if self.drifters else ""
        return f"{len(self.camps)} camps{between}: " + " | ".join(map(_in_words, self.camps))


@dataclass(frozen=True)
class PersonalWeights:
    """Weights and threshold of every physician vary around those of a common rule.

    `common` are weights of standardised covariates, scaled to length 1; `weights_sd` is the
    standard deviation of a physician's weights around them, for every covariate, and
    `threshold_sd` that of the thresholds, in standard deviations of the score.
    """

    common: Mapping[str, float]
    weights_sd: float = 0.0
    threshold_sd: float = 0.0

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return PAPER_COVARIATES.names if self.weights_sd else tuple(self.common)

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`."""
        common = np.array([self.common.get(name, 0.0) for name in self.covariates])
        common /= np.linalg.norm(common) or 1.0
        weights = common + random.normal(0, self.weights_sd, (n_physicians, len(common)))
        threshold = random.normal(0, self.threshold_sd, n_physicians)
        return _by_weights(self.covariates, model, weights, threshold)

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        around = f"around {_in_words(self.common)}" if self.common else "around nothing"
        parts = [
            f"{what} of their own {around} (SD {sd:g})"
            for what, sd in (("weights", self.weights_sd), ("thresholds", self.threshold_sd))
            if sd
        ]
        return " and ".join(parts)


@dataclass(frozen=True)
class OwnConjunctions:
    """Every physician has limits of their own, on covariates of their own, in own directions.

    Each takes `width` of the covariates, all of whose limits must be met; the share of patients who
    are eligible is drawn from the range `shares`.
    """

    covariates: tuple[str, ...] = ("age", "hba1c", "non_hdl", "hdl", "ldl", "sbp", "egfr")
    width: int = 2
    shares: tuple[float, float] = (0.3, 0.6)

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`."""
        order = random.random((n_physicians, len(self.covariates))).argsort(axis=1)
        looks_at = order[:, : self.width]
        sign = random.choice([-1.0, 1.0], size=looks_at.shape)
        met = random.uniform(*self.shares, n_physicians)[:, None] ** (1 / self.width)
        level = np.where(sign > 0, 1 - met, met)
        limit = np.empty(level.shape)
        for at, number in np.ndenumerate(looks_at):
            limit[at] = model.marginal(self.covariates[number]).quantile(float(level[at]))

        def chance(patients: pl.DataFrame, physician: IntArray) -> FloatArray:
            values = patients.select(self.covariates).to_numpy()
            looked_at = np.take_along_axis(values, looks_at[physician], axis=1)
            above = (looked_at - limit[physician]) * sign[physician] > 0
            return np.asarray(above.all(axis=1), dtype=np.float64)

        return chance

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"{self.width} limits of their own each, on any of {', '.join(self.covariates)}"


def _in_words(weights: Mapping[str, float]) -> str:
    return " ".join(f"{weight:+g} {name}" for name, weight in weights.items())
