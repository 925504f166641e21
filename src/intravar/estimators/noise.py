"""Why two physicians decide differently for one patient: level, pattern and occasion.

For a patient x and a physician drawn at random, the variance of the decision is
Var(y | x) = E_j p_j(x) (1 - p_j(x)) + Var_j p_j(x). The first term is *occasion*; the second is
*level* (some physicians decide for more often) plus *pattern* (they weigh patients differently).

What the data identify
----------------------
The squared error of a held-out prediction exceeds the variance that it estimates by what the
prediction has not learned yet. Two inequalities therefore hold without further assumptions, up to
the error of sampling:

- occasion is at most the held-out loss of predictions that know the physician;
- the whole variance is at most the held-out loss of pooled predictions, which do not.

The opposite ends are extrapolations. The loss from half of the patients, L(n/2), shows how fast the
loss L(n) still falls. If it falls as n^-a, what remains to be learned is the gain L(n/2) - L(n)
divided by 2^a - 1: the gain itself for a = 1, which gives the estimate 2 L(n) - L(n/2), and more
for slower curves. A flat curve does not prove that nothing is left: a panel with few patients for
every weight of a personal rule teaches nothing about that rule, neither whole nor halved. In such
panels occasion may be anything from zero to the loss.

The interval from the lowest to the highest occasion that the data allow is short where panels are
large and the curve is flat. Where it is wide in relation to pattern and occasion together, the two
are not told apart: only their sum is reported, with the least pattern and the most occasion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import hypot, isfinite
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import renamed
from intravar.inference.intervals import LEVEL, checked_level
from intravar.observed import Observed, as_they_came, physician_or_groups
from intravar.prediction.held_out import half_predictions, held_out
from intravar.wording import USUAL

N_FOLDS = 5
#: No component exceeds the largest variance of a yes/no decision.
MOST_VARIANCE = 0.25
#: What remains to be learned is taken to be at most so many times the gain from the second half of
#: the patients. That is the remainder of a curve that falls as the square root, and nearly that of
#: the slowest one seen in simulated panels above PATIENTS_PER_WEIGHT (2.0 times).
MOST_REMAINING = 2.5
#: What is learned so slowly that half of the patients do not show it, in simulated cohorts with a
#: shared rule that is not a sum of steps (0.003 to 0.005).
UNSEEN = 0.005
#: Patients per weight of a personal rule from which on the curve shows what remains. Below, the
#: remainder was up to 3.6 times the gain, and with fewer still there was no gain at all.
PATIENTS_PER_WEIGHT = 12
#: A rule of one covariate needs so many patients as well.
FEWEST_PATIENTS = 60
#: Weights that every personal rule has beside those of the columns: a constant, the common score.
COMMON_WEIGHTS = 2
#: Pattern and occasion are told apart where the interval of occasion is at most this wide: four
#: of 100 patients, or a third of pattern and occasion together.
NARROW = 0.02
NARROW_SHARE = 1 / 3
#: Components of the table, in its order.
COMPONENTS = ("system", "level", "pattern", "occasion", "pattern_and_occasion")
#: Those that are told apart or not.
SPLIT = ("pattern", "occasion")


class Unidentified(StrEnum):
    """Why pattern and occasion are not told apart."""

    SMALL_PANELS = "small panels"
    STILL_LEARNING = "still learning"


#: The reasons in words, in the user's terminology.
WHY_UNIDENTIFIED: dict[str, str] = {
    Unidentified.SMALL_PANELS: (
        "the rule of a single {decider} cannot be learned from so few {cases} (with as many "
        "covariates it takes about {needed} of each)"
    ),
    Unidentified.STILL_LEARNING: (
        "predictions of single {deciders} still improve with the number of {cases}"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Variance of the decision for one patient and a physician drawn at random, and its parts.

    Attributes
    ----------
    system
        All of it. Equals ``level + pattern + occasion`` where these are identified, else
        ``level + pattern_and_occasion``.
    level
        Some physicians decide for more often.
    pattern
        They weigh patients differently; None if that is not identified.
    occasion
        The same physician would decide differently another time, or for reasons that are not
        recorded; half of a discordance. None if that is not identified.
    pattern_and_occasion
        The sum of both, identified or not.
    reason
        Why pattern and occasion are not identified; None if they are.
    patients_needed
        Patients of each physician that a personal rule takes with these covariates.
    table
        component, value, low, high; of pandas if that was given, else of polars. Without a value,
        `low` and `high` are the least and the most that the data allow.

    Notes
    -----
    The upper ends of occasion and system and the lower end of pattern follow from held-out losses.
    The other ends, and all values, extrapolate the learning curve.
    """

    system: float
    level: float
    pattern: float | None
    occasion: float | None
    pattern_and_occasion: float
    reason: Unidentified | None
    patients_needed: int
    table: Any

    @property
    def identified(self) -> bool:
        """Whether pattern and occasion are told apart."""
        return self.reason is None

    def describe(self) -> str:
        """Describe the components, per hundred patients that two of the physicians see.

        Examples
        --------
        >>> import intravar
        >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=5)
        >>> intravar.noise(*cohort.observed()).describe()[:47]
        'Of 100 patients seen by two of these physicians'
        """
        ends = {
            component: (f"{200 * low:.0f}", f"{200 * high:.0f}")
            for component, low, high in zip(
                *(self.table[name] for name in ("component", "low", "high")), strict=True
            )
        }

        def number(component: str, value: float) -> str:
            low, high = ends[component]
            return f"{200 * value:.0f} [{low}, {high}]"

        begin = (
            "Of 100 patients seen by two of these physicians, "
            f"{number('system', self.system)} are decided differently: "
            f"{number('level', self.level)} because some say yes more often, "
        )
        why_pattern = "because they weigh patients differently"
        why_occasion = (
            "because the same physician would decide differently another time, or for reasons that "
            "are not recorded"
        )
        if self.pattern is not None and self.occasion is not None:
            return (
                f"{begin}{number('pattern', self.pattern)} {why_pattern}, "
                f"{number('occasion', self.occasion)} {why_occasion}."
            )
        assert self.reason is not None
        why_not = USUAL.fill(WHY_UNIDENTIFIED[self.reason], needed=f"{self.patients_needed:,}")
        together = number("pattern_and_occasion", self.pattern_and_occasion)
        return (
            f"{begin}{together} {why_pattern} or {why_occasion}. These two cannot be told apart, "
            f"because {why_not}: at least {ends['pattern'][0]} are of the first kind, at "
            f"most {ends['occasion'][1]} of the second."
        )


@dataclass(frozen=True, kw_only=True)
class _Range:
    """An estimate, and the least and the most that the data allow."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, low: float, high: float, *, most: float = MOST_VARIANCE) -> "_Range":
        """Return a range inside of what is possible, which holds its estimate."""
        return cls(
            value=value,
            low=min(max(low, 0.0), value),
            high=max(min(high, most), value),
        )


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Decisions, and how they were sampled.

    `counts` are sampling weights with mean 1; rows of one `unit` depend on each other.
    """

    y: IntArray
    counts: FloatArray | None = None
    unit: IntArray | None = None

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return values times the sampling weights: their mean is that of the population."""
        return values if self.counts is None else self.counts * values

    def error_of_mean(self, probability: FloatArray, swing: FloatArray) -> float:
        """Return the standard error of a mean loss: that of decisions, patients being given.

        `swing` is by how much the loss of a row differs between "yes" and "no".
        """
        n_rows = len(self.y)
        if self.counts is None and self.unit is None:
            variance = probability * (1 - probability)
            return float(np.sqrt(np.sum(variance * swing**2)) / n_rows)
        # If sampling or earlier decisions matter, the variance of decisions is not p (1 - p).
        sums = self.weighted((self.y - probability) * swing)
        if self.unit is not None:
            sums = np.bincount(self.unit, sums).astype(np.float64)
        return float(np.sqrt(sums @ sums) / n_rows)


@dataclass(frozen=True, kw_only=True)
class _Curve:
    """Held-out squared errors of every patient, from all other folds and from half of them.

    They are multiplied by sampling weights. A swing is by how much the loss of a patient, without
    its weight, differs between "yes" and "no".
    """

    rows: _Rows
    probability: FloatArray
    loss: FloatArray
    half_loss: FloatArray
    swing: FloatArray
    half_swing: FloatArray

    @classmethod
    def of(cls, predicted: Sequence[FloatArray], rows: _Rows) -> "_Curve":
        """Return the curve of predictions, the first from all patients, the others from halves."""
        whole, *halves = predicted
        halves = halves or [whole]
        half_loss = np.mean([(rows.y - half) ** 2 for half in halves], axis=0)
        return cls(
            rows=rows,
            probability=whole,
            loss=rows.weighted((rows.y - whole) ** 2),
            half_loss=rows.weighted(half_loss),
            swing=1 - 2 * whole,
            half_swing=np.mean([1 - 2 * half for half in halves], axis=0),
        )

    @property
    def mean(self) -> float:
        """Mean loss: in expectation not below the variance."""
        return float(self.loss.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean loss."""
        return self.rows.error_of_mean(self.probability, self.swing)

    def gain(self, rows: BoolArray) -> float:
        """Return by how much the second half of the patients lowers the loss of some of them.

        It is a mean over all patients; that of the others counts as zero.
        """
        # Half of the patients cannot teach more than all of them.
        return max(float(np.mean((self.half_loss - self.loss) * rows)), 0.0)

    def extrapolated(self) -> float:
        """Return the estimate 2 L(n) - L(n/2) of the variance."""
        return max(self.mean - self.gain(np.ones(len(self.loss), dtype=np.bool_)), 0.0)

    def remaining(self, rows: BoolArray) -> float:
        """Return the most that the mean loss exceeds the variance by.

        The curve shows it for some of the patients. Of the others all loss may be in excess.
        """
        slow = MOST_REMAINING * self.gain(rows) + UNSEEN * float(rows.mean())
        return slow + float(np.mean(self.loss * ~rows))

    def remaining_error(self, rows: BoolArray) -> float:
        """Return the standard error of the most that remains."""
        swing = (self.half_swing - self.swing) * rows
        return MOST_REMAINING * self.rows.error_of_mean(self.probability, swing)


def decompose(
    personal: Sequence[FloatArray],
    pooled: Sequence[FloatArray],
    y: IntArray,
    code: IntArray,
    n_physicians: int,
    *,
    n_columns: int,
    confidence_level: float = LEVEL,
    weight: FloatArray | None = None,
    unit: IntArray | None = None,
) -> Noise:
    """Decompose noise by predictions that know the physician, and by pooled ones.

    Parameters
    ----------
    personal, pooled
        P(yes) per patient, from all other folds; then that from either half of them, if any.
    y, code
        Decision and number of the physician, per patient.
    n_physicians
        Number of physicians.
    n_columns
        Columns that a personal rule weighs.
    confidence_level
        Nominal coverage of the intervals.
    weight
        Sampling weight per patient. Components are then those of the population.
    unit
        Independent unit of every row, such as the patient, if rows depend on each other.

    Returns
    -------
    Noise
        With a table of polars.
    """
    rows = _Rows(y=y, counts=None if weight is None else weight / weight.mean(), unit=unit)
    own = _Curve.of(personal, rows)
    common = _Curve.of(pooled, rows)
    level, level_error = level_variance(
        y - common.probability, code, n_physicians, weight=rows.counts, unit=unit
    )
    level_error = level_error if isfinite(level_error) else MOST_VARIANCE

    rate = float(np.average(y, weights=weight))
    system = min(common.extrapolated(), rate * (1 - rate))
    level = min(level, system)
    both = system - level
    occasion = min(own.extrapolated(), both)
    pattern = both - occasion

    needed = patients_needed(n_columns)
    # Of repeat visits, patients count.
    representative = slice(None) if unit is None else np.unique(unit, return_index=True)[1]
    large = (np.bincount(code[representative], minlength=n_physicians) >= needed)[code]
    # The curve of few patients, without halves, shows nothing.
    large &= len(personal) > 1
    everybody = np.ones(len(y), dtype=np.bool_)
    z = float(norm.ppf((1 + confidence_level) / 2))
    own_error = z * hypot(own.error, own.remaining_error(large))
    common_error = z * hypot(common.error, common.remaining_error(everybody))
    between = common.mean - own.mean - level
    between_error = z * hypot(
        rows.error_of_mean(own.probability, common.swing - own.swing),
        own.remaining_error(large),
        common.remaining_error(everybody),
        level_error,
    )
    most_pattern = between + own.remaining(large) + between_error
    # What personal rules of few physicians have in common by chance is not learned from all.
    remaining = common.remaining(everybody) + max(most_pattern, 0.0) / n_physicians

    whole = _Range.of(
        system, common.mean - remaining - common_error, common.mean + z * common.error
    )
    ranges = {
        "system": whole,
        "level": _Range.of(
            level, level - z * level_error, level + z * level_error, most=whole.high
        ),
        "pattern": _Range.of(
            pattern, between - remaining - between_error, most_pattern, most=whole.high
        ),
        "occasion": _Range.of(
            occasion,
            own.mean - own.remaining(large) - own_error,
            own.mean + z * own.error,
            most=whole.high,
        ),
        "pattern_and_occasion": _Range.of(
            both,
            whole.low - level - z * level_error,
            whole.high - level + z * level_error,
            most=whole.high,
        ),
    }
    reason = _why_unidentified(ranges["occasion"], both, float(np.mean(own.loss * ~large)))
    identified = reason is None
    return Noise(
        # Added up in this order, so that the sum is exact to the last bit.
        system=level + pattern + occasion if identified else level + both,
        level=level,
        pattern=pattern if identified else None,
        occasion=occasion if identified else None,
        pattern_and_occasion=both,
        reason=reason,
        patients_needed=needed,
        table=_table(ranges, identified=identified),
    )


def patients_needed(n_columns: int) -> int:
    """Return how many patients of a physician a personal rule takes.

    Examples
    --------
    >>> patients_needed(9), patients_needed(1)
    (132, 60)
    """
    return max(PATIENTS_PER_WEIGHT * (n_columns + COMMON_WEIGHTS), FEWEST_PATIENTS)


def _why_unidentified(occasion: _Range, both: float, of_small: float) -> Unidentified | None:
    """Return why pattern and occasion are not identified; None if they are.

    `of_small` is the part of the mean loss that small panels contribute.
    """
    width = occasion.high - occasion.low
    if width <= max(NARROW, NARROW_SHARE * both):
        return None
    return Unidentified.SMALL_PANELS if 2 * of_small >= width else Unidentified.STILL_LEARNING


def _table(ranges: dict[str, _Range], *, identified: bool) -> pl.DataFrame:
    """Return the components row by row; those that are not identified have no value."""
    rows = [
        {
            "component": name,
            "value": ranges[name].value if identified or name not in SPLIT else None,
            "low": ranges[name].low,
            "high": ranges[name].high,
        }
        for name in COMPONENTS
    ]
    schema = {"component": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def level_variance(
    residual: FloatArray,
    code: IntArray,
    n_physicians: int,
    *,
    weight: FloatArray | None = None,
    unit: IntArray | None = None,
) -> tuple[float, float]:
    """Return the variance over physicians of how often they say yes, and its standard error.

    Patients are taken as equal. The square of a physician's mean residual is too large by its
    sampling variance. The mean product of the residuals of two different patients is not.

    Parameters
    ----------
    residual, code
        Decision less its prediction, and number of the physician, per row.
    n_physicians
        Number of physicians.
    weight
        Sampling weight of every row.
    unit
        Independent unit of every row, if rows depend on each other. Each is of one physician.

    Examples
    --------
    >>> residual = np.array([0.5, 0.5, -0.5, -0.5])
    >>> level_variance(residual, np.array([0, 0, 1, 1]), 2)[0]
    0.25
    """
    weight = np.ones(len(residual)) if weight is None else weight
    total = weight * residual
    if unit is not None:
        _, first, number = np.unique(unit, return_index=True, return_inverse=True)
        total = np.bincount(number, total).astype(np.float64)
        weight = np.bincount(number, weight).astype(np.float64)
        code = code[first]
    use = np.bincount(code, minlength=n_physicians) >= 2
    n_used = int(use.sum())
    if n_used < 2:
        return 0.0, float("nan")

    def summed(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(code, values, minlength=n_physicians)[use], dtype=np.float64)

    size = summed(weight)
    squared_size = summed(weight**2)
    mean = summed(total) / size
    square = summed(total**2)
    # Over pairs of two different patients.
    product = (summed(total) ** 2 - square) / (size**2 - squared_size)
    grand = (mean.sum() ** 2 - np.sum(mean**2) + product.sum()) / n_used**2
    distance = square - 2 * mean * summed(weight * total) + mean**2 * squared_size
    sampling_variance = np.maximum(distance, 0.0) / size**2
    signal = np.maximum(product - grand, 0.0)
    error = np.sqrt(np.sum(4 * signal * sampling_variance + 2 * sampling_variance**2)) / n_used
    return max(float(product.mean() - grand), 0.0), float(error)


@renamed(seed="random_state")
def noise(
    X: Any,
    y: Any,
    physician: Any = None,
    *,
    groups: Any = None,
    level: float = LEVEL,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Noise:
    """Decompose noise: level, pattern and occasion.

    Parameters
    ----------
    X
        Covariates, one row per patient; may have gaps.
    y
        Decision per patient, 0 or 1.
    physician, groups
        Physician per patient, by any name; give it as either.
    level
        Nominal coverage of the intervals.
    random_state
        Of the folds; nothing else is random.
    n_jobs
        Threads to learn with; results do not depend on it.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=5)
    >>> parts = intravar.noise(*cohort.observed())
    >>> parts.table.columns
    ['component', 'value', 'low', 'high']
    >>> parts.identified
    True
    >>> parts.system == parts.level + parts.pattern + parts.occasion
    True
    """
    observed = Observed.of(X, y, physician_or_groups(physician, groups), keep_missing=True)
    parts = noise_of(observed, level=level, seed=random_state, n_jobs=n_jobs)
    return as_they_came(parts, as_pandas=observed.as_pandas)


def noise_of(
    observed: Observed, *, level: float = LEVEL, seed: int = 0, n_jobs: int | None = None
) -> Noise:
    """Decompose the noise of input that was checked before; see :func:`noise`."""
    confidence_level = checked_level(level)
    _, task, _, whole = held_out(observed, N_FOLDS, seed, n_jobs or 1)
    halves = half_predictions(observed, N_FOLDS, seed, n_jobs or 1)
    predicted = [whole, *halves]
    return decompose(
        [each.personal for each in predicted],
        [each.pooled for each in predicted],
        task.y,
        task.code,
        len(task),
        n_columns=task.columns.shape[1],
        confidence_level=confidence_level,
        weight=task.weight,
        unit=task.unit,
    )
