"""Departures from the paper's assumptions: in the rule, in who sees whom, in what is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from intravar.errors import InputError
from intravar.study.simulation.covariates import CovariateModel, FloatArray
from intravar.study.simulation.rules import BoolArray, Rule, Score2Rule

IntArray = npt.NDArray[np.int32]


# --- rules that depend on more than the covariates ---


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


@dataclass(frozen=True)
class ExclusiveOr:
    """Eligible if exactly one of two covariates is above its threshold.

    Examples
    --------
    >>> rule = ExclusiveOr({"age": 60, "sbp": 130})
    >>> rule.eligible(pl.DataFrame({"age": [70, 70, 50], "sbp": [120, 140, 120]})).tolist()
    [True, False, False]
    """

    thresholds: Mapping[str, float]

    def __post_init__(self) -> None:
        if len(self.thresholds) != 2:
            raise InputError(f"an exclusive or takes two covariates, not {len(self.thresholds)}")

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        return tuple(self.thresholds)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        first, second = (
            covariates[name].to_numpy() > threshold for name, threshold in self.thresholds.items()
        )
        differ: BoolArray = first ^ second
        return differ

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        parts = [f"{name} > {threshold:g}" for name, threshold in self.thresholds.items()]
        return f"either {parts[0]} or {parts[1]}, not both"


# --- who sees whom ---


@dataclass(frozen=True)
class CaseMix:
    """Physicians see different patients: a covariate leans a patient towards some of them.

    P(physician j | patient) is proportional to exp(b_j z), z the standardised covariate, with
    b_j ~ N(0, strength^2).
    """

    covariate: str = "age"
    strength: float = 0.5

    def allocate(
        self, covariates: pl.DataFrame, n_physicians: int, minimum: int, random: np.random.Generator
    ) -> IntArray:
        """Return the position of every patient's physician; `minimum` patients are assured."""
        values = covariates[self.covariate].to_numpy()
        z = (values - values.mean()) / values.std()
        leaning = random.normal(0, self.strength, n_physicians)
        # The largest of z b_j plus Gumbel noise is a draw from the softmax.
        noise = random.gumbel(size=(len(z), n_physicians))
        drawn: IntArray = (z[:, None] * leaning + noise).argmax(axis=1).astype(np.int32)
        assured = random.permutation(len(z))[: minimum * n_physicians]
        drawn[assured] = np.repeat(np.arange(n_physicians, dtype=np.int32), minimum)
        return drawn


# --- whom it is harder to decide on ---


class Steadiness(Protocol):
    """By how much p_high is lower for some patients than it is by default."""

    def fall(self, covariates: pl.DataFrame) -> FloatArray:
        """Return the fall of p_high, one entry per patient."""

    def describe(self) -> str:
        """Say it in words."""


# --- what is recorded ---


class Observation(Protocol):
    """What the analyst gets to see of the covariates that the decision was based on."""

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """Return the covariates as recorded."""

    def describe(self) -> str:
        """Say what happens, in words."""


@dataclass(frozen=True)
class Hidden:
    """Some covariates are not recorded."""

    names: tuple[str, ...]

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """See :class:`Observation`."""
        return covariates.drop(self.names)

    def describe(self) -> str:
        """See :class:`Observation`."""
        return f"{', '.join(self.names)} not recorded"


@dataclass(frozen=True)
class MeasurementNoise:
    """Covariates with more than two values are recorded with an error of `share` of their SD."""

    share: float = 0.3

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """See :class:`Observation`."""
        noisy = []
        for column in covariates:
            if column.n_unique() > 2:
                spread = self.share * column.to_numpy().std()
                column = column + spread * random.standard_normal(len(column))
            noisy.append(column)
        return pl.DataFrame(noisy)

    def describe(self) -> str:
        """See :class:`Observation`."""
        return f"recorded with an error of {self.share:g} SD"


@dataclass(frozen=True)
class MissingValues:
    """Every value is missing with the same probability, whatever it is."""

    share: float = 0.1

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """See :class:`Observation`."""
        return pl.DataFrame(
            [
                column.set(pl.Series(random.random(len(column)) < self.share), None)
                for column in covariates
            ]
        )

    def describe(self) -> str:
        """See :class:`Observation`."""
        return f"{100 * self.share:g} % of the values missing"


@dataclass(frozen=True)
class Irrelevant:
    """Covariates that have nothing to do with anything are recorded as well."""

    count: int = 30

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """See :class:`Observation`."""
        return covariates.with_columns(
            pl.Series(f"noise_{number:02d}", random.standard_normal(covariates.height))
            for number in range(1, self.count + 1)
        )

    def describe(self) -> str:
        """See :class:`Observation`."""
        return f"{self.count} irrelevant covariates besides"
