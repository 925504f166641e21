"""Calibration of held-out scores and the physicians' rates, by EM on the observed likelihood.

Held-out scores of a learner order the patients well but are too timid (a factor of two to four on
the logit scale for a sharp rule, one for a graded one).  If g is not calibrated, the rates read
from it are biased; if it is, they are consistent.  So g is recalibrated as sigmoid(intercept +
slope * score + shift_j), jointly with the rates, by maximising the likelihood of the decisions with
the eligibility summed out.

Sums over physicians and score bins visit only bins in which a physician has patients: with many
physicians of few patients nearly all bins are empty.

Whether physicians differ in how they decide, or only in where they draw the line, is told by the
same fits. A physician who draws the line elsewhere treats more patients, or fewer, and may be as
consistent as anybody. Clear cases tell the two apart: among patients who are surely eligible a line
no longer matters, and a rate does. Without clear cases both look alike, and an order by rates would
be one of leniency. So both are tried on patients who were held out: rates of everybody's own, with
or without a line of their own, against one pair of rates for all and a line of everybody's own.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, expit, logit, logsumexp

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.seeds import stream

#: Expected decisions for, and expected patients, per physician and shift.
_Split = tuple[FloatArray, FloatArray]
#: p_high and p_low, physician x shift.
_Rates = tuple[FloatArray, FloatArray]

EDGE = 1e-5
#: Most iterations, and the relative gain that ends them.
MAX_ITER, TOLERANCE = 200, 1e-7
#: Strength of the Beta priors of the rates, in patients.
STRENGTH = 2.0
#: Logits that rates begin above and below a physician's share.
START_GAP = 1.5
STEP_PARTS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.0)
LAST_POOLING = 30
SHIFT_POINTS = np.linspace(-2.5, 2.5, 11)
#: Strengths of the prior of the rates; the best is taken, lest rates lose for being estimated.
STRENGTHS = (2.0, 8.0, 30.0)
#: With a prior as strong all physicians have the same rates.
ALL_THE_SAME = 1e5
#: How often patients are dealt into halves.
N_SPLITS = 2
#: Physicians beyond which a sample is tried.
MOST_PHYSICIANS = 60
# centre and width of the normal priors of intercept, slope and spread of the map
LOOSE = ((0.0, 2.0, 0.0), (3.0, 2.0, 3.0))
TIGHT = ((0.0, 1.1, 0.0), (1.0, 0.4, 3.0))


@dataclass(frozen=True)
class Counts:
    """Decisions for and against, counted where a physician has patients in a score bin.

    Per bin: its mean score. Per cell, physician after physician: whose it is, its bin and the
    counts. A score at most edge b lies in interval b of `edges`, and `bin_of_interval` says in
    which bin that is.
    """

    score: FloatArray
    physician: IntArray
    bin: IntArray
    yes: IntArray
    no: IntArray
    n_physicians: int
    edges: FloatArray
    bin_of_interval: IntArray

    def by_physician(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sum values, shift x cell, up by physician: physician x shift."""
        sums = [np.bincount(self.physician, row, self.n_physicians) for row in values]
        return np.array(sums, dtype=np.float64).T

    def by_bin(self, values: FloatArray) -> FloatArray:
        """Sum values, shift x cell, up by bin: shift x bin."""
        return np.array([np.bincount(self.bin, row, len(self.score)) for row in values], np.float64)


@dataclass
class Calibration:
    """The map from score to g, with the rates found beside it.

    `weight` (physician x shift point) says how likely each personal shift is; with a shared
    threshold it has one column. The priors of the rates peak at `means`.
    """

    intercept: float
    slope: float
    spread: float
    p_high: FloatArray
    p_low: FloatArray
    weight: FloatArray
    log_likelihood: float
    path: list[float]
    converged: bool
    means: tuple[float, float]

    @property
    def shifts(self) -> FloatArray:
        """The points on which a physician's shift is weighed."""
        return self.spread * SHIFT_POINTS if self.weight.shape[1] > 1 else np.zeros(1)

    @property
    def shift(self) -> FloatArray:
        """Expected shift of every physician."""
        return np.asarray(self.weight @ self.shifts)

    def logit(self, score: FloatArray) -> FloatArray:
        """Calibrated logit of g at the average threshold."""
        return self.intercept + self.slope * score

    def log_likelihood_of(self, score: FloatArray, decided: Observed, rows: IntArray) -> float:
        """Return the log-likelihood of the decisions on `rows`, which may be held out."""
        logit = self.logit(score[rows]) + self.shift[decided.code[rows]]
        return decision_log_likelihood(logit, decided, rows, self.mean_high, self.mean_low)

    @property
    def mean_high(self) -> FloatArray:
        """Expected p_high over the shifts."""
        return np.asarray((self.weight * self.p_high).sum(axis=1))

    @property
    def mean_low(self) -> FloatArray:
        """Expected p_low over the shifts."""
        return np.asarray((self.weight * self.p_low).sum(axis=1))


def count(
    score: FloatArray, decided: Observed, rows: IntArray | None = None, bins: int = 60
) -> Counts:
    """Count decisions in bins cut both at quantiles and at equal steps of the score.

    Where `rows` are given those patients count alone; the score is that of everybody.
    """
    rows = np.arange(len(score)) if rows is None else rows
    score, y = score[rows], decided.y[rows]
    low, high = np.quantile(score, [0.001, 0.999])
    inner = np.quantile(score, np.arange(1, bins) / bins)
    edges = np.unique(np.concatenate([inner, np.linspace(low, high, bins)]))
    used, place = np.unique(np.searchsorted(edges, score), return_inverse=True)
    # An interval without patients belongs to the bin below it.
    below = np.searchsorted(used, np.arange(len(edges) + 1), side="right")
    cell, inverse = np.unique(decided.code[rows] * len(used) + place, return_inverse=True)
    yes, total = np.bincount(inverse, y).astype(np.int64), np.bincount(inverse)
    return Counts(
        np.bincount(place, score) / np.bincount(place),
        cell // len(used),
        cell % len(used),
        yes,
        total - yes,
        len(decided),
        edges,
        np.maximum(below, 1) - 1,
    )


def starting_rates(decided: Observed, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return rates some logits above and below each physician's smoothed share."""
    total, given = decided.counts_of(rows)
    share = (given + 4 * decided.y[rows].mean()) / (total + 4)
    middle = logit(np.clip(share, 0.02, 0.98))
    return expit(middle + START_GAP), expit(middle - START_GAP)


class _Model:
    """The penalised likelihood of the counts, as a function of map and rates."""

    def __init__(self, counts: Counts, personal: bool, tight: bool, strength: float) -> None:
        points = SHIFT_POINTS if personal else np.zeros(1)
        self.counts, self.points, self.strength = counts, points, strength
        self.yes, self.all = (
            counts.by_physician(each[None]) for each in (counts.yes, counts.yes + counts.no)
        )
        log_prior = -0.5 * points**2
        self.log_prior = log_prior - np.log(np.exp(log_prior).sum())
        centre, width = TIGHT if tight else LOOSE
        free = 3 if personal else 2
        self.centre, self.precision = np.zeros(3), np.zeros(3)
        self.centre[:free] = centre[:free]
        self.precision[:free] = 1 / np.square(width[:free])
        columns = np.broadcast_arrays(1.0, counts.score, points[:, None])
        self.design = np.stack(columns[:free], axis=-1).reshape(-1, free)

    def in_cells(self, g: FloatArray, rates: _Rates) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return g, p_high and the probability of a decision for in every cell, shift x cell."""
        who = self.counts.physician
        here, high, low = g[:, self.counts.bin], rates[0][who].T, rates[1][who].T
        return here, high, low + (high - low) * here

    def expect(
        self, theta: FloatArray, rates: _Rates, means: tuple[float, float]
    ) -> tuple[float, FloatArray, FloatArray]:
        """E step: penalised log-likelihood, weights of the shifts, and g per shift and bin."""
        g = expit(theta[0] + theta[1] * self.counts.score + theta[2] * self.points[:, None])
        q = self.in_cells(g, rates)[2]
        value = self.counts.yes * np.log(q) + self.counts.no * np.log1p(-q)
        joint = self.counts.by_physician(value) + self.log_prior
        for p, m in zip(rates, means, strict=True):
            a, b = self.strength * m, self.strength * (1 - m)
            joint = joint + a * np.log(p) + b * np.log1p(-p) - betaln(a + 1, b + 1)
        total = logsumexp(joint, axis=1, keepdims=True)
        penalty = 0.5 * float((self.precision * (theta - self.centre) ** 2).sum())
        return float(total.sum()) - penalty, np.exp(joint - total), g

    def split(self, g: FloatArray, rates: _Rates) -> tuple[_Split, _Split]:
        """E step of the rates: expected decisions for and patients, of the eligible and others."""
        here, high, q = self.in_cells(g, rates)
        given = self.counts.yes * here * high / q
        both = given + self.counts.no * here * (1.0 - high) / (1.0 - q)
        k, n = self.counts.by_physician(given), self.counts.by_physician(both)
        return (k, n), (self.yes - k, self.all - n)

    def map_step(
        self, theta: FloatArray, weight: FloatArray, g: FloatArray, rates: _Rates
    ) -> FloatArray:
        """Fisher scoring step of intercept, slope and spread."""
        q, who = self.in_cells(g, rates)[2], self.counts.physician
        contrast = (rates[0] - rates[1])[who].T
        w = weight[who].T * contrast
        yes, no, v = self.counts.yes, self.counts.no, g * (1 - g)
        slope = self.counts.by_bin(w * (yes / q - no / (1.0 - q))) * v
        bend = self.counts.by_bin(w * contrast * (yes + no) / (q * (1.0 - q))) * v**2
        free = self.design.shape[1]
        information = self.design.T @ (self.design * bend.reshape(-1, 1))
        information += np.diag(self.precision[:free])
        gradient = self.design.T @ slope.reshape(-1)
        gradient -= (self.precision * (theta - self.centre))[:free]
        step = np.zeros(3)
        step[:free] = np.clip(np.linalg.solve(information, gradient), -0.7, 0.7)
        return step


def calibrate(
    counts: Counts,
    start: Calibration | None = None,
    *,
    personal: bool = False,
    tight: bool = False,
    strength: float = STRENGTH,
) -> Calibration:
    """Fit intercept, slope, rates and, if `personal`, the spread of a normal shift per physician.

    Generalised EM: exact M step of the rates under Beta priors of the given strength that peak at
    the pooled rates, and one Fisher scoring step of the map, halved while it would lower the
    penalised likelihood and left out if it still would. `path` begins where the priors are held,
    and never falls. Scores that are calibrated already hold intercept and slope `tight` near 0 and
    1. The search may begin where a previous fit ended.
    """
    model = _Model(counts, personal, tight, strength)
    theta, rates, means = _beginning(model, start)
    value, weight, g = model.expect(theta, rates, means)
    path, converged, settled = [value], False, False
    for iteration in range(MAX_ITER):
        split = model.split(g, rates)
        if not settled:
            # The priors peak at the pooled rates. Once these stand still they are held: from then
            # on there is one objective, and no step lowers it.
            before, means = means, _pooled(split, weight, means)
            settled = iteration >= LAST_POOLING or np.allclose(before, means, atol=1e-3, rtol=0)
            value = model.expect(theta, rates, means)[0]
            path = [value]
        # The M step of the rates, under priors that peak at the means.
        high, low = (
            np.clip((k + strength * m) / (n + strength), EDGE, 1 - EDGE)
            for (k, n), m in zip(split, means, strict=True)
        )
        rates = high, low
        step = model.map_step(theta, weight, g, rates)
        # Without a step the objective cannot fall: the new rates alone have raised it.
        for part in STEP_PARTS:
            new = np.maximum(theta + part * step, [-np.inf, 0.01, 0.0])
            new_value, new_weight, new_g = model.expect(new, rates, means)
            if new_value >= value:
                break
        gain = new_value - value
        theta, value, weight, g = new, new_value, new_weight, new_g
        path.append(value)
        if settled and gain < TOLERANCE * abs(value) and len(path) > 5:
            converged = True
            break
    a, b, spread = (float(each) for each in theta)
    return Calibration(a, b, spread, *rates, weight, value, path, converged, means)


def _beginning(
    model: _Model, start: Calibration | None
) -> tuple[FloatArray, _Rates, tuple[float, float]]:
    """Return map, rates and pooled rates to begin with: a previous fit's, or a logit apart."""
    theta = np.array([0.0, 1.0, 1.0 if model.points.size > 1 else 0.0])
    if start is None:
        share = logit((model.yes[:, 0] + 1) / (model.all[:, 0] + 2))
        first = expit(share + 1), expit(share - 1)
    else:
        theta[:2] = start.intercept, start.slope
        first = start.mean_high, start.mean_low
    high, low = (
        np.repeat(np.clip(p, EDGE, 1 - EDGE)[:, None], model.points.size, axis=1) for p in first
    )
    return theta, (high, low), (float(first[0].mean()), float(first[1].mean()))


def _pooled(
    split: tuple[_Split, _Split], weight: FloatArray, before: tuple[float, float]
) -> tuple[float, float]:
    """Return the rates of all physicians together; as before where a class is empty."""
    rates = [
        float((weight * k).sum() / total) if (total := float((weight * n).sum())) > EDGE else old
        for (k, n), old in zip(split, before, strict=True)
    ]
    return rates[0], rates[1]


def decision_log_likelihood(
    logit_g: FloatArray, decided: Observed, rows: IntArray, p_high: FloatArray, p_low: FloatArray
) -> float:
    """Sum of the log-probabilities of decisions on `rows`, given their g and the rates."""
    g, who = expit(logit_g), decided.code[rows]
    return log_score(p_low[who] + (p_high - p_low)[who] * g, decided.y[rows])


def one_class_log_likelihood(decided: Observed, rest: IntArray, own: IntArray) -> float:
    """Return the log-likelihood of decisions, each physician's share learned from `rest`."""
    total, given = decided.counts_of(rest)
    share = (given + 2 * decided.y[rest].mean()) / (total + 2)
    return decision_log_likelihood(np.zeros(len(own)), decided, own, share, share)


def log_score(q: FloatArray, y: IntArray) -> float:
    """Return the log-likelihood of decisions under predicted probabilities."""
    q = np.clip(q, 1e-9, 1 - 1e-9)
    return float(np.log(np.where(y == 1, q, 1 - q)).sum())


def rates_over_limits(score: FloatArray, decided: Observed, seed: int) -> float:
    """Return by how much own rates predict decisions better than own limits, in log-likelihood.

    `score` is the logit of being eligible, not informed by the patient's own decision; `seed` is
    that of the halves.

    Examples
    --------
    Half of ten physicians toss a coin for half of their patients, however clear they are:

    >>> who, score = np.repeat(np.arange(10), 200), np.tile(np.linspace(-6.0, 6.0, 200), 10)
    >>> tossed = np.random.default_rng(0).random(2000) < 0.5
    >>> y = np.where(who % 2 == 0, tossed, score > 0) & (score > 0)
    >>> rates_over_limits(score, Observed.of(score[:, None], y, who), 0) > 10
    True
    """
    random = stream(seed, "rates or limits")
    # The patients of some physicians, where there are many.
    chosen = random.permutation(len(decided))[:MOST_PHYSICIANS]
    rows = np.flatnonzero(np.isin(decided.code, chosen)).astype(np.int64)
    score, decided = score[rows], decided.take(rows)
    gains = []
    for _ in range(N_SPLITS):
        order = np.lexsort((random.random(len(score)), decided.code))
        odd = np.zeros(len(score), dtype=np.bool_)
        odd[order[1::2]] = True
        held_out = partial(_held_out, score, decided, (np.flatnonzero(odd), np.flatnonzero(~odd)))
        limits = held_out(ALL_THE_SAME, personal=True)
        rates = max(held_out(each, personal=False) for each in STRENGTHS)
        if rates <= limits:
            # They may differ in both.
            rates = max(rates, *(held_out(each, personal=True) for each in STRENGTHS[1:]))
        gains.append(rates - limits)
    return float(np.mean(gains))


def _held_out(
    score: FloatArray,
    decided: Observed,
    parts: tuple[IntArray, IntArray],
    strength: float,
    *,
    personal: bool,
) -> float:
    """Return the log-likelihood of each part's decisions, calibrated on the other."""
    total = 0.0
    for learned, other in (parts, parts[::-1]):
        counts = count(score, decided, learned)
        fit = calibrate(counts, tight=True, strength=min(strength, STRENGTHS[-1]))
        if personal:
            if strength == ALL_THE_SAME:
                high, low = (np.full_like(rate, rate.mean()) for rate in (fit.p_high, fit.p_low))
                fit = replace(fit, p_high=high, p_low=low)
            fit = calibrate(counts, fit, personal=True, tight=True, strength=strength)
        total += fit.log_likelihood_of(score, decided, other)
    return total
