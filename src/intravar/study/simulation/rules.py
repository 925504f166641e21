"""Rules: from the covariates of a patient to whether the drug is indicated.

Some depend on chance or on who decides. A physician with another rule is not inconsistent: weights,
thresholds or a conjunction may be the physician's own; how closely they follow it is another
matter, drawn elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.study.simulation.covariates import (
    MIDDLE_DAY,
    PAPER_COVARIATES,
    UNITS,
    CovariateModel,
    Random,
)
from intravar.study.simulation.score2 import Region, score2_risk

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int32]
#: A rule whose random part is drawn: P(eligible) of every patient with a physician, by number;
#: 0 or 1 where the rule is sharp.
Chance = Callable[[pl.DataFrame, IntArray], FloatArray]
#: Points at which a distribution is read to get its mean and standard deviation.
_POINTS = (np.arange(401) + 0.5) / 401


class Described(Protocol):
    """What every rule says of itself."""

    @property
    def covariates(self) -> tuple[str, ...]:
        """Names of the covariates that the rule reads."""

    def describe(self) -> str:
        """Return the rule in words."""


@runtime_checkable
class Rule(Described, Protocol):
    """What a rule must offer; any object with these three members is one."""

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """Say for every patient whether the drug is indicated."""


@runtime_checkable
class DrawnRule(Described, Protocol):
    """A rule whose verdict also depends on chance or on who decides."""

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """Draw what differs between physicians."""


@runtime_checkable
class RuleRecipe(Protocol):
    """A rule with a random part: it becomes a :class:`Rule` once its thresholds are drawn."""

    def realise(self, model: CovariateModel, random: Random) -> Rule:
        """Draw the random part."""


@dataclass(frozen=True)
class Score2Rule:
    """Ten-year cardiovascular risk at or above a threshold that rises with age.

    2.5 % below 50 years, 5 % from 50 to 69, 7.5 % above.
    """

    covariates: ClassVar[tuple[str, ...]] = ("age", "non_hdl", "hdl", "sbp", "smoker", "male")
    region: Region = "low"
    thresholds: tuple[float, float, float] = (0.025, 0.05, 0.075)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`Rule`."""
        return np.asarray(self.margin(covariates) >= 1)

    def margin(self, covariates: pl.DataFrame) -> npt.NDArray[np.float64]:
        """Return the risk of every patient divided by the threshold of their age."""
        x: dict[str, Any] = {name: covariates[name].to_numpy() for name in Score2Rule.covariates}
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

    def realise(self, model: CovariateModel, random: Random) -> ThresholdRule:
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
        first, second = (covariates[n].to_numpy() > limit for n, limit in self.thresholds.items())
        return np.asarray(first ^ second)

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
    where: pl.Expr = field(repr=False)  # an expression is written with its address
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


# --- rules that depend on chance or on who decides ---


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
        """See :class:`Rule`."""
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
        """See :class:`Rule`."""
        shifted = f"{self.covariate} shifted per physician (SD {self.sd:g})"
        return f"{shifted}, then: {super().describe()}"


@dataclass(frozen=True)
class DriftingThresholds(PersonalThresholds):
    """Every physician's judgement of a covariate moves with time, by an amount of their own.

    The shift is zero in the middle of the period; `sd` is the standard deviation over physicians of
    the shift on the last day, which is the opposite of that on the first.
    """

    covariates: ClassVar[tuple[str, ...]] = (*Score2Rule.covariates, "day")

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`."""
        last = random.normal(0, self.sd, n_physicians)

        def chance(patients: pl.DataFrame, physician: IntArray) -> FloatArray:
            time = patients["day"].to_numpy() / MIDDLE_DAY - 1
            judged = patients[self.covariate] + last[physician] * time
            shifted = patients.with_columns(judged.clip(self.lowest, self.highest))
            return self.eligible(shifted).astype(np.float64)

        return chance

    def describe(self) -> str:
        """See :class:`Rule`."""
        rule = Score2Rule.describe(self)
        return f"{self.covariate} shifted per physician with the day (SD {self.sd:g}), then: {rule}"


@dataclass(frozen=True)
class GradedWeights:
    """Eligibility becomes likelier as a weighted sum of standardised covariates rises.

    P(eligible) = 1 / (1 + exp(-steepness * (sum - line))).

    Parameters
    ----------
    weights
        Weight of every covariate, in standard deviations of it.
    steepness
        Log odds ratio of one unit of the sum.
    line
        Sum at which half of the patients are eligible.
    """

    weights: Mapping[str, float]
    steepness: float = 6.0
    line: float = 0.0

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return tuple(self.weights)

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`; the rule is the same for all."""
        values = {name: _values_of(model, name) for name in self.weights}

        def chance(patients: pl.DataFrame, _: IntArray) -> FloatArray:
            total = np.zeros(patients.height)
            for name, weight in self.weights.items():
                z = (patients[name].to_numpy() - values[name].mean()) / values[name].std()
                total += weight * z
            return np.asarray(expit(self.steepness * (total - self.line)))

        return chance

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"graded by {_in_words(self.weights)}"


@dataclass(frozen=True)
class CodeRule:
    """Eligible by a code of many: half of the codes, at random, say yes.

    Parameters
    ----------
    covariate
        The code, a whole number from 0.
    n_codes
        Number of codes.
    """

    covariate: str = "diagnosis"
    n_codes: int = 300

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`DrawnRule`."""
        return (self.covariate,)

    def settle(self, model: CovariateModel, n_physicians: int, random: Random) -> Chance:
        """See :class:`DrawnRule`; the codes are the same for all physicians."""
        says_yes = random.permutation(self.n_codes) < self.n_codes // 2

        def chance(patients: pl.DataFrame, physician: IntArray) -> FloatArray:
            code = patients[self.covariate].to_numpy().astype(np.int64)
            return np.asarray(says_yes[code], dtype=np.float64)

        return chance

    def describe(self) -> str:
        """See :class:`DrawnRule`."""
        return f"half of {self.n_codes} codes of {self.covariate}"


def _values_of(model: CovariateModel, name: str) -> FloatArray:
    """Return evenly spaced quantiles of a covariate."""
    return np.array([model.marginal(name).quantile(p) for p in _POINTS])


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

    camps: Sequence[Mapping[str, float]]
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
