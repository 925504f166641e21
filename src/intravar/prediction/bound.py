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
from intravar.inference.intervals import LEVEL, Interval
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
    so many physicians.
    """

    expected: FloatArray
    wrong: FloatArray
    variance: FloatArray
    loss: FloatArray
    code: IntArray
    n_physicians: int

    def by_panel(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the means of the first two over panels, and the standard error of the second."""
        expected, wrong, variance = (panel_means(each, *self[4:]) for each in self[:3])
        size = np.bincount(self.code, minlength=self.n_physicians)
        return expected, wrong, np.sqrt(variance / np.maximum(size, 1))


class Bound(NamedTuple):
    """The bound of physicians: twice the held-out squared error, chance held back, and `raw`.

    `effective` is the number of yes-or-no trials that would be as sure.
    """

    score: FloatArray
    raw: FloatArray
    effective: FloatArray

    def interval(self, level: float) -> Interval:
        """Return the interval of what the score tends to.

        Half the bound is the mean of losses between 0 and 1. Jeffreys' interval of a share with
        the same mean and variance keeps its level where losses are few; that losses also differ
        because patients do makes it wide rather than narrow.
        """
        tail = (1 - level) / 2
        share = np.clip(self.score / 2, 0.0, 1.0)
        a, b = share * self.effective + 0.5, (1 - share) * self.effective + 0.5
        low = np.minimum(2 * betaincinv(a, b, tail), self.score)
        high = np.maximum(2 * betaincinv(a, b, 1 - tail), self.score)
        mean = a / (a + b)
        return Interval(low, high, 2 * np.sqrt(mean * (1 - mean) / (a + b + 1)))


class LossReader(NamedTuple):
    """What all physicians taught about reading one physician's losses.

    `usual` is the spread of losses around their means, as a share of what yes or no would have;
    `share` that of the expectation of physicians' own rules; `between` and `mean` are variance
    over physicians, and mean, of by how much predictions are wrong; `least_kept` is the share of it
    that chance never explains away, 1 where chance is not held back.
    """

    usual: float
    share: float = 0.0
    between: float = 0.0
    mean: float = 0.0
    least_kept: float = 1.0
    spread_patients: float = SPREAD_PATIENTS

    def of(self, losses: Losses, left: FloatArray | None) -> Bound:
        """Return the bound of every physician; `left` is what their own rules leave.

        Each bound is that of the own panel alone, whoever else is read.
        """
        expected, wrong, error = losses.by_panel()
        score = raw = expected + wrong
        if self.least_kept < 1:
            if left is not None:
                expected = expected + self.share * (left - expected)
            # Without any error there is no chance to be held back.
            variance = np.maximum(error, _TINY) ** 2
            kept = np.maximum(self.between / (self.between + variance), self.least_kept)
            held = expected + (self.mean + kept * (raw - expected - self.mean))
            score = np.where(error > _TINY, np.maximum(held, 0.0), raw)
        effective = _effective(
            losses.loss, score / 2, losses.code, self.usual, self.spread_patients
        )
        return Bound(score, raw, effective)


def panel_means(values: FloatArray, code: IntArray, n_physicians: int) -> FloatArray:
    """Return the mean over every physician's patients, 0 without any."""
    size = np.bincount(code, minlength=n_physicians)
    return np.asarray(np.bincount(code, values, minlength=n_physicians) / np.maximum(size, 1))


def losses_of(q: FloatArray, y: IntArray, code: IntArray, n_physicians: int) -> Losses:
    """Return the losses of predictions `q` of yes or no."""
    variance = 4 * q * (1 - q) * (1 - 2 * q) ** 2
    expected, wrong = 2 * q * (1 - q), 2 * (y - q) * (1 - 2 * q)
    return Losses(expected, wrong, variance, (y - q) ** 2, code, n_physicians)


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
    expected, wrong, error = losses.by_panel()
    there = np.unique(losses.code)
    wrong, error = wrong[there], error[there]
    usual = _usual(*losses[3:])
    if len(error) < 2 or (error <= _TINY).any():
        return LossReader(usual, spread_patients=shrinkage.spread_patients)
    share = 0.0
    if left is not None:
        other = (left.value - expected)[there]
        share = share_of(other, wrong, error, left.shared[there], shrinkage)
        wrong = wrong - share * other
    tau2 = between_variance(wrong, error)
    weight = 1 / (error**2 + tau2)
    mean = float(np.sum(weight * wrong) / np.sum(weight))
    return LossReader(usual, share, tau2, mean, shrinkage.least_kept, shrinkage.spread_patients)


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


def cell_bound(prediction: FloatArray, y: FloatArray, cell: IntArray, n_cells: int) -> Interval:
    """Return intervals of what twice the squared error tends to, in cells of patients.

    Nothing is held back: cells are for being compared with each other. NaN without patients.
    """
    loss = (y - prediction) ** 2
    raw = 2 * panel_means(loss, cell, n_cells)
    raw = np.where(np.bincount(cell, minlength=n_cells) > 0, raw, np.nan)
    usual = _usual(loss, cell, n_cells)
    effective = _effective(loss, raw / 2, cell, usual, SPREAD_PATIENTS)
    return Bound(raw, raw, effective).interval(LEVEL)


def _spread(
    loss: FloatArray, code: IntArray, n_physicians: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return size of every panel, summed squares around its mean, and p (1 - p) of its mean p."""
    mean = panel_means(loss, code, n_physicians)
    size, square = (
        np.bincount(code, each, minlength=n_physicians).astype(np.float64)
        for each in (None, (loss - mean[code]) ** 2)
    )
    return size, square, mean * (1 - mean)


def _usual(loss: FloatArray, code: IntArray, n_physicians: int) -> float:
    """Return the spread of all losses around their physicians' means, as a share of yes or no's."""
    size, square, binomial = (each[np.unique(code)] for each in _spread(loss, code, n_physicians))
    return float(square.sum() / max(float((size * binomial).sum()), _TINY))


def _effective(
    loss: FloatArray, share: FloatArray, code: IntArray, usual: float, spread_patients: float
) -> FloatArray:
    """Return how many yes-or-no trials with this share have a mean as sure as these losses."""
    size, square, binomial = _spread(loss, code, len(share))
    degrees = np.maximum(size - 1 + spread_patients, 1.0)
    spread = (square + spread_patients * usual * binomial) / degrees
    trials = size * share * (1 - share) / np.maximum(spread, _TINY)
    # Losses within 0 and 1 are at least as sure as yes or no.
    return np.asarray(np.clip(trials, size, 1e3 * size))
