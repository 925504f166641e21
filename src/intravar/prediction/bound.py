"""The bound: twice the squared error of held-out predictions, per physician.

For a prediction q made without the patient's own decision, E(y - q)^2 = p (1 - p) + (p - q)^2, so
that twice the squared error bounds the comparable discordance 2 p (1 - p) from above, whatever the
rule. It falls into two parts, exactly:

    (y - q)^2 = q (1 - q) + (y - q)(1 - 2 q).

The first is what the predictions themselves expect. The second says by how much they are wrong, and
is chance alone where they are right on average; it is held back as far as chance explains how much
it differs between physicians, which leaves what it is an estimate of as it is.

A rule that was learned from all of a physician's patients says more surely who decides by chance
than predictions from a part of them do. It enters in place of the first part as far as it accounts
better for how squared errors differ between physicians. It has a say in who comes before whom, not
in the level of all, which stays that of the held-out errors.

References
----------
Fay and Herriot, J Am Stat Assoc 1979;74:269-277 (a direct estimate of every area, drawn towards
what a model expects there).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from intravar.arrays import FloatArray, IntArray
from intravar.inference.intervals import LEVEL, Interval, discordance_interval
from intravar.inference.shrinkage import between_variance

#: The second part never counts less than this: decisions have the last word.
LEAST_KEPT = 0.2
#: A physician's spread of losses is held against that of all, which counts as so many patients.
SPREAD_PATIENTS = 20.0
#: Before squared errors are seen, the other expectation has no share, give or take so much.
SHARE_SD = 0.5
#: Agreement that comes from the same decisions proves nothing. Half of it is taken off: held-out
#: errors also hold what is still to be learned, which the other expectation rightly leaves out.
TAKEN_OFF = 0.5
_TINY = 1e-12


@dataclass(frozen=True, kw_only=True)
class Shrinkage:
    """Constants of the shrinkage of physicians' scores.

    Parameters
    ----------
    least_kept
        Smallest weight of the observed error beyond the expected one; 1 for no shrinkage.
    taken_off
        Share of the covariance with the same decisions that is subtracted when the weight of the
        expectation of physicians' own rules is estimated.
    share_sd
        Prior standard deviation of that weight around 0.
    spread_patients
        Number of patients that the pooled variance of losses counts as in a physician's variance.
    """

    least_kept: float = LEAST_KEPT
    taken_off: float = TAKEN_OFF
    share_sd: float = SHARE_SD
    spread_patients: float = SPREAD_PATIENTS


DEFAULT_SHRINKAGE = Shrinkage()


class Left(NamedTuple):
    """What every physician's own rule leaves unexplained, having seen the decisions.

    `value` is a discordance; `shared` its covariance with twice the held-out squared error that
    comes from the same decisions.
    """

    value: FloatArray
    shared: FloatArray


class Losses(NamedTuple):
    """Losses of predictions, one entry of each per patient.

    What the predictions expect of twice the loss, by how much it was more, the variance of that
    where the predictions are right, and the loss itself, between 0 and 1; whose patient it is, of
    so many physicians; sampling weights, and the independent `unit` of every row, if rows are not
    independent.
    """

    expected: FloatArray
    wrong: FloatArray
    variance: FloatArray
    loss: FloatArray
    code: IntArray
    n_physicians: int
    weight: FloatArray | None = None
    unit: IntArray | None = None

    def by_panel(self, design: float = 1.0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the means of the first two over panels, and the standard error of the second.

        `design` is the design effect of weights and dependent rows, see :func:`design_effect`.
        """
        expected = panel_means(self.expected, self.code, self.n_physicians, self.weight)
        wrong = panel_means(self.wrong, self.code, self.n_physicians, self.weight)
        if self.weight is None:
            size = np.bincount(self.code, minlength=self.n_physicians)
            variance = panel_means(self.variance, self.code, self.n_physicians)
            error = np.sqrt(design * variance / np.maximum(size, 1))
        else:
            total = np.bincount(self.code, self.weight, minlength=self.n_physicians)
            squares = np.bincount(
                self.code, self.weight**2 * self.variance, minlength=self.n_physicians
            )
            error = np.sqrt(design * squares) / np.maximum(total, _TINY)
        return expected, wrong, error


class Bound(NamedTuple):
    """The upper limit of physicians, estimated by twice the held-out squared error.

    `score` is shrunk, `raw` is not; `effective` is the number of yes-or-no trials that would be as
    sure. The limit never exceeds the discordance of any two patients of the physician, which
    follows from the `rate` of "yes", known as surely as from `rate_trials` patients; both are NaN
    where that is not asked.
    """

    score: FloatArray
    raw: FloatArray
    effective: FloatArray
    rate: FloatArray
    rate_trials: FloatArray

    def interval(self, level: float) -> Interval:
        """Return the interval of the limit that the score estimates.

        Half the limit is the mean of losses between 0 and 1. Jeffreys' interval of a share with
        the same mean and variance keeps its level where losses are few; that losses also differ
        because patients do makes it wide rather than narrow. The upper end is at most that of the
        discordance of any two patients.
        """
        tail = (1 - level) / 2
        share = np.clip(self.score / 2, 0.0, 1.0)
        a = share * self.effective + 0.5
        b = (1 - share) * self.effective + 0.5
        low = np.minimum(2 * betaincinv(a, b, tail), self.score)
        high = np.maximum(2 * betaincinv(a, b, 1 - tail), self.score)
        of_rates = discordance_interval(self.rate * self.rate_trials, self.rate_trials, level)
        capped = np.minimum(high, np.maximum(of_rates.high, self.score))
        high = np.where(np.isfinite(of_rates.high), capped, high)
        mean = a / (a + b)
        return Interval(low, high, 2 * np.sqrt(mean * (1 - mean) / (a + b + 1)))


class LossReader(NamedTuple):
    """What all physicians taught about reading one physician's losses.

    `usual` is the spread of losses around their means, as a share of what yes or no would have;
    `share` that of the expectation of physicians' own rules; `between` and `mean` are variance
    over physicians, and mean, of by how much predictions are wrong; `least_kept` is the share of it
    that chance never explains away, 1 where chance is not held back; `design` is the design effect
    of weights and dependent rows.
    """

    usual: float
    share: float = 0.0
    between: float = 0.0
    mean: float = 0.0
    least_kept: float = 1.0
    spread_patients: float = SPREAD_PATIENTS
    design: float = 1.0

    def of(self, losses: Losses, left: FloatArray | None) -> Bound:
        """Return the bound of every physician; `left` is what their own rules leave.

        Each bound is that of the own panel alone, whoever else is read.
        """
        expected, wrong, error = losses.by_panel(self.design)
        score = raw = expected + wrong
        if self.least_kept < 1:
            if left is not None:
                expected = expected + self.share * (left - expected)
            # Without any error there is no chance to be held back.
            variance = np.maximum(error, _TINY) ** 2
            kept = np.maximum(self.between / (self.between + variance), self.least_kept)
            held = expected + (self.mean + kept * (raw - expected - self.mean))
            score = np.where(error > _TINY, np.maximum(held, 0.0), raw)
        effective = _effective(losses, score / 2, self.usual, self.spread_patients)
        nothing = np.full(losses.n_physicians, np.nan)
        return Bound(score, raw, effective, nothing, nothing)


def panel_means(
    values: FloatArray, code: IntArray, n_physicians: int, weight: FloatArray | None = None
) -> FloatArray:
    """Return the (weighted) mean over every physician's patients, 0 without any."""
    if weight is not None:
        total = np.bincount(code, weight, minlength=n_physicians)
        summed = np.bincount(code, weight * values, minlength=n_physicians)
        return np.asarray(summed / np.where(total > 0, total, 1.0))
    size = np.bincount(code, minlength=n_physicians)
    return np.asarray(np.bincount(code, values, minlength=n_physicians) / np.maximum(size, 1))


def losses_of(
    q: FloatArray,
    y: IntArray,
    code: IntArray,
    n_physicians: int,
    weight: FloatArray | None = None,
    unit: IntArray | None = None,
) -> Losses:
    """Return the losses of predictions `q` of yes or no."""
    return Losses(
        expected=2 * q * (1 - q),
        wrong=2 * (y - q) * (1 - 2 * q),
        variance=4 * q * (1 - q) * (1 - 2 * q) ** 2,
        loss=(y - q) ** 2,
        code=code,
        n_physicians=n_physicians,
        weight=weight,
        unit=unit,
    )


def design_effect(losses: Losses) -> float:
    """Return the factor by which weights and dependent rows change the variance of sums.

    With weights, a decision is not drawn with the probability `q` of the population: of rare
    decisions, say, all are sampled, with small weights. With repeat visits, the errors of one
    patient go together. The factor compares the squared sums over independent units with those
    expected if decisions were drawn independently with `q`. It is one number for all physicians, so
    that no standard error depends on the physician's own decisions.
    """
    if losses.weight is None and losses.unit is None:
        return 1.0
    weight = np.ones(len(losses.loss)) if losses.weight is None else losses.weight
    sums = weight * losses.wrong
    if losses.unit is not None:
        sums = np.bincount(losses.unit, sums).astype(np.float64)
    expected = float(weight**2 @ losses.variance)
    factor = float(sums @ sums) / max(expected, _TINY)
    return factor if losses.unit is None else max(factor, 1.0)


def cap_at_rates(limit: Bound, losses: Losses, y: IntArray) -> Bound:
    """Return limits that do not exceed the discordance of any two patients of the physician.

    Two patients who have nothing in common but the physician differ with 2 r (1 - r), r being the
    rate of "yes". Comparable patients cannot differ more often.

    Parameters
    ----------
    limit
        Limits from losses of predictions.
    losses
        The losses.
    y
        Decision of every patient, 0 or 1.
    """
    weight = np.ones(len(y)) if losses.weight is None else losses.weight
    rate = panel_means(y.astype(np.float64), losses.code, losses.n_physicians, weight)
    trials, _, _ = _spread(losses._replace(loss=y.astype(np.float64)))
    # Without bias: rows of one unit are not compared with each other.
    with np.errstate(divide="ignore", invalid="ignore"):
        any_two = 2 * rate * (1 - rate) * trials / (trials - 1)
    score = np.where(trials > 1, np.fmin(limit.score, any_two), limit.score)
    return limit._replace(score=score, rate=rate, rate_trials=trials)


def bound(
    losses: Losses, left: Left | None = None, shrinkage: Shrinkage = DEFAULT_SHRINKAGE
) -> Bound:
    """Return the bound of every physician from losses of predictions; NaN without patients.

    What every physician's own rule leaves is not asked by default.

    Examples
    --------
    >>> losses = losses_of(np.full(4, 0.5), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]), 2)
    >>> bound(losses).score.tolist()
    [0.5, 0.5]
    """
    reader = learn_reader(losses, left, shrinkage)
    read = reader.of(losses, None if left is None else left.value)
    there = np.bincount(losses.code, minlength=losses.n_physicians) > 0
    return Bound(*(np.where(there, each, np.nan) for each in read))


def learn_reader(
    losses: Losses, left: Left | None = None, shrinkage: Shrinkage = DEFAULT_SHRINKAGE
) -> LossReader:
    """Learn from all physicians with patients how to read the losses of one."""
    design = design_effect(losses)
    expected, wrong, error = losses.by_panel(design)
    there = np.unique(losses.code)
    wrong, error = wrong[there], error[there]
    usual = _usual(losses)
    if len(error) < 2 or (error <= _TINY).any():
        return LossReader(usual, spread_patients=shrinkage.spread_patients, design=design)
    share = 0.0
    if left is not None:
        other = (left.value - expected)[there]
        share = share_of(other, wrong, error, left.shared[there], shrinkage)
        wrong = wrong - share * other
    tau2 = between_variance(wrong, error)
    weight = 1 / (error**2 + tau2)
    mean = float(np.sum(weight * wrong) / np.sum(weight))
    return LossReader(
        usual=usual,
        share=share,
        between=tau2,
        mean=mean,
        least_kept=shrinkage.least_kept,
        spread_patients=shrinkage.spread_patients,
        design=design,
    )


def share_of(
    other: FloatArray,
    wrong: FloatArray,
    error: FloatArray,
    shared: FloatArray,
    shrinkage: Shrinkage = DEFAULT_SHRINKAGE,
) -> float:
    """Return the share, 0 to 1, of another expectation that accounts best for the squared errors.

    Per physician: `other` is by how much the other expectation differs, `wrong` and `error` are
    squared errors beyond the first expectation with their standard errors, `shared` is the
    covariance of both that comes from the same decisions.

    Examples
    --------
    >>> wrong = np.linspace(-0.3, 0.3, 40)
    >>> error, shared = np.full(40, 0.01), np.zeros(40)
    >>> round(share_of(wrong, wrong, error, shared), 2), share_of(-wrong, wrong, error, shared)
    (0.91, 0.0)
    """
    if shrinkage.share_sd == 0:
        return 0.0
    weight = 1 / (error**2 + between_variance(wrong, error))
    along = other - float(weight @ other / weight.sum())
    numerator = float(weight @ (along * wrong - shrinkage.taken_off * shared))
    denominator = float(weight @ along**2) + shrinkage.share_sd**-2
    return float(np.clip(numerator / denominator, 0.0, 1.0))


def cell_bound(
    prediction: FloatArray,
    y: IntArray,
    cell: IntArray,
    n_cells: int,
    weight: FloatArray | None = None,
    unit: IntArray | None = None,
) -> Interval:
    """Return intervals of what twice the squared error tends to, in cells of patients.

    Nothing is shrunk: cells are for being compared with each other. NaN without patients.
    """
    if unit is not None:
        # Rows of one patient may lie in several cells.
        pairs = np.column_stack([cell, unit])
        unit = np.unique(pairs, axis=0, return_inverse=True)[1].astype(np.int64)
    losses = losses_of(prediction, y, cell, n_cells, weight, unit)
    raw = 2 * panel_means(losses.loss, cell, n_cells, weight)
    raw = np.where(np.bincount(cell, minlength=n_cells) > 0, raw, np.nan)
    effective = _effective(losses, raw / 2, _usual(losses), SPREAD_PATIENTS)
    nothing = np.full(n_cells, np.nan)
    return Bound(raw, raw, effective, nothing, nothing).interval(LEVEL)


def _spread(losses: Losses) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return size of every panel, summed squares around its mean, and p (1 - p) of its mean p.

    With weights or dependent rows the size is the effective one, (sum w)^2 / sum w^2 over
    independent units with the summed weights w. The summed squares are scaled such that squares
    over size^2 is the variance of the mean, sum s^2 / (sum w)^2 with the summed weighted
    distances s from the mean.
    """
    loss, code, n_physicians = losses.loss, losses.code, losses.n_physicians
    mean = panel_means(loss, code, n_physicians, losses.weight)
    distance = loss - mean[code]
    if losses.weight is None and losses.unit is None:
        size = np.bincount(code, minlength=n_physicians).astype(np.float64)
        square = np.bincount(code, distance**2, minlength=n_physicians).astype(np.float64)
        return size, square, mean * (1 - mean)
    weight = np.ones(len(loss)) if losses.weight is None else losses.weight
    distance = weight * distance
    if losses.unit is not None:
        _, first, unit = np.unique(losses.unit, return_index=True, return_inverse=True)
        weight = np.bincount(unit, weight).astype(np.float64)
        distance = np.bincount(unit, distance).astype(np.float64)
        code = code[first]
    total = np.bincount(code, weight, minlength=n_physicians).astype(np.float64)
    squares = np.bincount(code, weight**2, minlength=n_physicians).astype(np.float64)
    around = np.bincount(code, distance**2, minlength=n_physicians)
    size = total**2 / np.maximum(squares, _TINY)
    return size, size * around / np.maximum(squares, _TINY), mean * (1 - mean)


def _usual(losses: Losses) -> float:
    """Return the spread of all losses around their physicians' means, as a share of yes or no's."""
    size, square, binomial = (each[np.unique(losses.code)] for each in _spread(losses))
    return float(square.sum() / max(float((size * binomial).sum()), _TINY))


def _effective(
    losses: Losses, share: FloatArray, usual: float, spread_patients: float
) -> FloatArray:
    """Return how many yes-or-no trials with this share have a mean as sure as these losses."""
    size, square, binomial = _spread(losses)
    degrees = np.maximum(size - 1 + spread_patients, 1.0)
    spread = (square + spread_patients * usual * binomial) / degrees
    trials = size * share * (1 - share) / np.maximum(spread, _TINY)
    # Losses within 0 and 1 are at least as sure as yes or no. That does not hold if large weights
    # go with large losses.
    least = size if losses.weight is None else np.minimum(size, 1.0)
    return np.asarray(np.clip(trials, least, 1e3 * size))
