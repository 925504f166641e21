"""Rules: from the covariates of a patient to whether the drug is indicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError
from intravar.study.simulation.covariates import UNITS, CovariateModel
from intravar.study.simulation.score2 import Region, score2_risk

BoolArray = npt.NDArray[np.bool_]


@runtime_checkable
class Rule(Protocol):
    """What a rule must offer; any object with these three members is one."""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that the rule reads."""
        ...

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """Say for every patient whether the drug is indicated."""
        ...

    def describe(self) -> str:
        """Return the rule in words."""
        ...


@runtime_checkable
class RuleRecipe(Protocol):
    """A rule with a random part: it becomes a :class:`Rule` once its thresholds are drawn."""

    def realise(self, model: CovariateModel, random: np.random.Generator) -> Rule:
        """Draw the random part."""
        ...


@dataclass(frozen=True)
class Score2Rule:
    """Ten-year cardiovascular risk at or above a threshold that rises with age.

    2.5 % below 50 years, 5 % from 50 to 69, 7.5 % above.
    """

    covariates: ClassVar = ("age", "non_hdl", "hdl", "sbp", "smoker", "male")
    region: Region = "low"
    thresholds: tuple[float, float, float] = (0.025, 0.05, 0.075)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`Rule`."""
        meets: BoolArray = self.margin(covariates) >= 1
        return meets

    def margin(self, covariates: pl.DataFrame) -> npt.NDArray[np.float64]:
        """Return the risk of every patient divided by the threshold of their age."""
        x: dict[str, Any] = {name: covariates[name].to_numpy() for name in self.covariates}
        x["total_cholesterol"] = x.pop("non_hdl") + x["hdl"]
        young, middle, old = self.thresholds
        threshold = np.where(x["age"] < 50, young, np.where(x["age"] <= 69, middle, old))
        return score2_risk(**x, region=self.region) / threshold

    def describe(self) -> str:
        """See :class:`Rule`."""
        young, middle, old = (f"{100 * value:g} %" for value in self.thresholds)
        region = self.region.replace("_", " ")
        return (
            f"SCORE2/SCORE2-OP risk ({region} region) >= {young} below 50 years, "
            f">= {middle} at 50-69, >= {old} above 69"
        )


@dataclass(frozen=True)
class ThresholdRule:
    """Eligible if every named covariate is at most its threshold.

    Parameters
    ----------
    thresholds
        Upper limit, included, by covariate.
    target_share
        The share of eligible patients that the thresholds aim at, if they aim at one.

    Examples
    --------
    >>> rule = ThresholdRule({"age": 55, "smoker": 0})
    >>> rule.eligible(pl.DataFrame({"age": [50, 60, 40], "smoker": [0, 0, 1]})).tolist()
    [True, False, False]
    >>> rule.describe()
    'age <= 55 years and smoker <= 0'
    """

    thresholds: Mapping[str, float]
    target_share: float | None = None

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return tuple(self.thresholds)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`Rule`."""
        meets = np.ones(covariates.height, dtype=np.bool_)
        for name, threshold in self.thresholds.items():
            meets &= covariates[name].to_numpy() <= threshold
        return meets

    def describe(self) -> str:
        """See :class:`Rule`."""
        limits = self.thresholds.items()
        parts = [f"{name} <= {limit:.4g} {UNITS.get(name, '')}".rstrip() for name, limit in limits]
        return " and ".join(parts)


@dataclass(frozen=True)
class WindowRecipe:
    """A conjunction over consecutive covariates whose thresholds aim at a random share.

    A share p* is drawn from U(0.2, 0.8); each of the `width` covariates from `start` on gets the
    threshold Q((p*)^(1/width)), Q being the quantile function of its distribution, so that
    independent continuous covariates make p* of the patients eligible. A covariate with few values
    cannot meet its quantile: the realised share may then be far from p*, and both are kept.

    Parameters
    ----------
    start
        Position of the first covariate, counted from 1.
    width
        Number of covariates.
    shares
        Range from which p* is drawn.
    """

    start: int
    width: int
    shares: tuple[float, float] = (0.2, 0.8)

    def __post_init__(self) -> None:
        low, high = self.shares
        if not 0 <= low <= high <= 1:
            raise InputError(f"shares {self.shares} are impossible; give two in 0 to 1, rising")
        if self.start < 1 or self.width < 1:
            raise InputError(f"window start {self.start} and width {self.width} count from 1")

    def realise(self, model: CovariateModel, random: np.random.Generator) -> ThresholdRule:
        """See :class:`RuleRecipe`."""
        names = model.names[self.start - 1 : self.start - 1 + self.width]
        if len(names) < self.width:
            raise InputError(
                f"a window of {self.width} covariates from position {self.start} does not fit "
                f"into {len(model.names)} covariates"
            )
        share = float(random.uniform(*self.shares))
        quantile = share ** (1 / self.width)
        thresholds = {name: model.marginal(name).quantile(quantile) for name in names}
        return ThresholdRule(thresholds, target_share=share)


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

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        return tuple(self.thresholds)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`Rule`."""
        first, second = (
            covariates[name].to_numpy() > threshold for name, threshold in self.thresholds.items()
        )
        differ: BoolArray = first ^ second
        return differ

    def describe(self) -> str:
        """See :class:`Rule`."""
        parts = [f"{name} > {threshold:g}" for name, threshold in self.thresholds.items()]
        return f"either {parts[0]} or {parts[1]}, not both"


@dataclass(frozen=True, eq=False)
class Switch:
    """A rule, and another `where` something holds; without another nobody is eligible there.

    Examples
    --------
    >>> rule = Switch(ThresholdRule({"age": 60}), "frail", pl.col("frail") == 1)
    >>> rule.eligible(pl.DataFrame({"age": [50, 50, 70], "frail": [0, 1, 0]})).tolist()
    [True, False, False]
    >>> rule.describe()
    'age <= 60 years; where frail: nobody'
    """

    rule: Rule
    words: str
    where: pl.Expr
    other: Rule | None = None

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`Rule`."""
        other = () if self.other is None else self.other.covariates
        return tuple(dict.fromkeys((*self.rule.covariates, *self.where.meta.root_names(), *other)))

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`Rule`."""
        there = covariates.select(self.where).to_series().to_numpy()
        other = False if self.other is None else self.other.eligible(covariates)
        return np.where(there, other, self.rule.eligible(covariates))

    def describe(self) -> str:
        """See :class:`Rule`."""
        other = "nobody" if self.other is None else self.other.describe()
        return f"{self.rule.describe()}; where {self.words}: {other}"
