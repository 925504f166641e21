"""Rates of physicians: their laws, posteriors of a discordance, and what pins their level.

Rates of physicians come from Beta laws that they share, whose mean and strength are estimated by
marginal maximum likelihood (empirical Bayes).

Decisions follow q = p_low + (p_high - p_low) g. Calling another value of g "1" changes p_high and
leaves every q, and so the likelihood, as it is. Only patients with g at 0 and 1 anchor the scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, expit, logit, polygamma
from scipy.stats import norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import AssumptionWarning
from intravar.inference.intervals import Interval, share_interval
from intravar.observed import Observed

#: The two parameters of a Beta law.
Law = tuple[float, float]

LAW_ROUNDS = 60
STRENGTH_RANGE = (1.0, 2000.0)
# Where all rates are alike the best prior is a point, and Newton would walk to infinity.
LOG_RANGE = (np.log(1e-3), np.log(1e6))


@dataclass
class Posterior:
    """Posterior of a discordance, by physician: mass in cells of p_high, or of the discordance.

    The latter where the discordance is that of the `whole` panel. `doubt` is a standard deviation
    beyond that mass, which intervals carry.
    """

    mass: FloatArray
    edge: FloatArray
    whole: bool = False
    doubt: FloatArray | None = None

    def _mean_of(self, value: FloatArray) -> FloatArray:
        return np.asarray((self.mass * value).sum(axis=1) / self.mass.sum(axis=1))

    def _discordance(self, value: FloatArray) -> FloatArray:
        return value if self.whole else 2 * value * (1 - value)

    def mean(self) -> FloatArray:
        """Posterior mean."""
        return self._mean_of(self._discordance(middles(self.edge)))

    def standard_deviation(self) -> FloatArray:
        """Posterior standard deviation."""
        off = self._discordance(middles(self.edge)) - self.mean()[:, None]
        return np.sqrt(self._mean_of(off**2))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Map the shortest interval of p_high through 2p(1 - p), ends and fold included."""
        ends = np.array(
            [shortest_interval(m, e, level) for m, e in zip(self.mass, self.edge, strict=True)]
        ).reshape(-1, 2)
        if self.whole:  # one that begins with the smallest values begins at 0
            ends[:, 0] = np.where(ends[:, 0] <= self.edge[:, 0], 0.0, ends[:, 0])
        if self.doubt is not None:
            # Both ends move away from the mean, as variances add up.
            mean = self._mean_of(middles(self.edge))[:, None]
            more = norm.ppf((1 + level) / 2) * self.doubt[:, None]
            wide = mean + np.sqrt((ends - mean) ** 2 + more**2) * [-1.0, 1.0]
            wide = np.clip(wide, 0.0, 0.5 if self.whole else 1.0)
            ends = np.column_stack(
                [np.minimum(wide[:, 0], ends[:, 0]), np.maximum(wide[:, 1], ends[:, 1])]
            )
        value = self._discordance(ends)
        folds = (ends[:, 0] <= 0.5) & (ends[:, 1] >= 0.5) & (not self.whole)
        return value.min(axis=1), np.where(folds, 0.5, value.max(axis=1))


def middles(edge: FloatArray) -> FloatArray:
    """Return the middle of every cell."""
    return (edge[..., 1:] + edge[..., :-1]) / 2


def panel_discordance(high: FloatArray, low: FloatArray, share: FloatArray) -> FloatArray:
    """Return the discordance of two patients alike, a share of whom is eligible."""
    return np.asarray(2 * (share * high * (1 - high) + (1 - share) * low * (1 - low)))


def cells_of(value: FloatArray, mass: FloatArray, n_cells: int) -> FloatArray:
    """Return edges of cells that hold the same mass each."""
    order = np.argsort(value, axis=None)
    run = np.cumsum(mass.ravel()[order])
    return np.interp(np.linspace(0, 1, n_cells + 1), run / run[-1], value.ravel()[order])


def shortest_interval(mass: FloatArray, edge: FloatArray, level: float) -> tuple[float, float]:
    """Return the shortest run of cells that holds `level` of the mass.

    Its ends are interpolated inside their cells, but an interval that reaches the last cell of
    the unit interval with its densest part keeps the boundary.

    Examples
    --------
    >>> low, high = shortest_interval(np.array([0.0, 0.02, 0.98]), np.array([0, 0.4, 0.8, 1]), 0.95)
    >>> round(low, 2), round(high, 2)
    (0.8, 0.99)
    """
    run = np.concatenate([[0.0], np.cumsum(mass)])
    run /= run[-1]
    tails = np.linspace(0.0, 1 - level, 201)
    low = np.interp(tails, run, edge)
    high = np.interp(tails + level, run, edge)
    if edge[-1] == 1.0:
        high[-1] = 1.0
    if edge[0] == 0.0:
        low[0] = 0.0
    best = int(np.argmin(high - low))
    return float(low[best]), float(high[best])


def learn_laws(likelihood: FloatArray, high: FloatArray, low: FloatArray) -> tuple[Law, Law]:
    """Return the Beta laws of p_high and p_low that decisions most likely come from.

    `likelihood` is that of every physician's decisions, physician x p_high x p_low; `high` and
    `low` are the rates at the cells of the grid, one row per physician.
    """
    laws: tuple[Law, Law] = ((1.0, 1.0), (1.0, 1.0))
    for _ in range(LAW_ROUNDS):
        before = laws
        factor_high, factor_low = _beta_mass(high, laws[0]), _beta_mass(low, laws[1])
        mass_high = factor_high * np.einsum("jhl,jl->jh", likelihood, factor_low)
        mass_low = factor_low * np.einsum("jhl,jh->jl", likelihood, factor_high)
        laws = (
            fit_beta(mass_high / mass_high.sum(axis=1, keepdims=True), high),
            fit_beta(mass_low / mass_low.sum(axis=1, keepdims=True), low),
        )
        if np.allclose(before, laws, rtol=1e-3):
            break
    return laws


def _beta_mass(p: FloatArray, prior: Law) -> FloatArray:
    value = (prior[0] - 1) * np.log(p) + (prior[1] - 1) * np.log1p(-p)
    return np.asarray(np.exp(value - value.max(axis=1, keepdims=True)))


def fit_beta(mass: FloatArray, p: FloatArray) -> Law:
    """Maximum likelihood of a Beta law from expected logarithms (Newton steps)."""
    mean = float((mass * p).sum() / mass.sum())
    variance = float((mass * (p - mean) ** 2).sum() / mass.sum())
    size = np.clip(mean * (1 - mean) / max(variance, 1e-9) - 1, *STRENGTH_RANGE)
    s = np.array([(mass * np.log(p)).sum(), (mass * np.log1p(-p)).sum()]) / mass.sum()
    theta = np.log(np.maximum([mean * size, (1 - mean) * size], 0.05))
    for _ in range(50):
        a = np.exp(theta)
        total = a.sum()
        slope = a * (s - digamma(a) + digamma(total))
        bend = np.diag(a**2 * polygamma(1, a)) - np.outer(a, a) * polygamma(1, total)
        step = np.clip(np.linalg.solve(bend + 1e-9 * np.eye(2), slope), -1, 1)
        theta = np.clip(theta + step, *LOG_RANGE)
        if np.abs(step).max() < 1e-6:
            break
    a = np.exp(theta)
    a *= np.clip(a.sum(), *STRENGTH_RANGE) / a.sum()
    return float(a[0]), float(a[1])


def no_stronger(law: tuple[float, float], n_physicians: int) -> tuple[float, float]:
    """Return the law, worth no more patients than there are physicians who taught it.

    One physician's rate is explained best by a law that allows no other; such a law says nothing.

    Examples
    --------
    >>> no_stronger((90.0, 10.0), 10)
    (9.0, 1.0)
    """
    part = min(1.0, max(n_physicians, 1) / sum(law))
    return law[0] * part, law[1] * part


class PanelDraws(NamedTuple):
    """What is known of one panel's rules and rates, by draw.

    `laws` are parameters of the Beta laws of p_high and p_low, and the share of the eligible;
    `camp` is the most frequent one; `g` and `q` the probabilities of being eligible and of a
    decision for, as known without the own decision; `drawn` the latter under single draws, draw x
    patient.
    """

    laws: FloatArray
    camp: int
    g: FloatArray
    q: FloatArray
    drawn: FloatArray


def laws_given_decisions(
    laws: npt.ArrayLike, eligible: BoolArray, yes: BoolArray, known: BoolArray
) -> FloatArray:
    """Add what was decided on `known` patients to the laws of every draw, and the share eligible.

    `eligible` is draw x patient.
    """
    groups = (eligible & yes, eligible & ~yes, ~eligible & yes, ~(eligible | yes))
    counts = np.column_stack([(who & known).sum(axis=1) for who in groups])
    share = counts[:, :2].sum(axis=1) / max(int(known.sum()), 1)
    return np.column_stack([laws + counts, share])


def without_own_decision(
    g: npt.NDArray[Any], q: FloatArray, yes: BoolArray, known: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Average over draws: one that the own decision made likely weighs the less."""
    weight = np.where(known, 1 / np.where(yes, q, 1 - q), 1.0)
    total = weight.sum(axis=0)
    return (weight * g).sum(axis=0) / total, (weight * q).sum(axis=0) / total


#: Whose discordance is scored: that of eligible patients, or of all.
Within = Literal["eligible", "panel"]
#: Share of a panel, and the least number of patients, that counts as the likeliest.
LIKELIEST, LEAST = 0.2, 10


@dataclass(frozen=True, eq=False)
class LatentReading:
    """Rates and scores, one entry per panel, and who is eligible.

    `shift` is the expected shift of the own threshold; intervals come from the posterior. Per
    patient, in the order of the panels: `eligible` is the probability of being eligible under the
    rule that all share, `g` under the physician's own threshold or rule, `q` that of a decision
    for; none is informed by the patient's own decision beyond the rates.
    """

    p_high: FloatArray
    p_low: FloatArray
    score: FloatArray
    shift: FloatArray
    camp: IntArray
    posterior: Posterior
    eligible: FloatArray
    g: FloatArray
    q: FloatArray

    def interval(self, level: float) -> Interval:
        """Return the interval of every panel's score, which lies within."""
        low, high = self.posterior.interval(level)
        error = self.posterior.standard_deviation()
        return Interval(np.minimum(low, self.score), np.maximum(high, self.score), error)

    def eligible_given_decision(self, decided: Observed) -> FloatArray:
        """Return every patient's probability of being eligible given covariates and decision.

        Without a rule p_low is NaN, and everybody counts as eligible. Where the rule is sharp, the
        sums of these are the very counts behind p_high and p_low.
        """
        code, decided_for = decided.code, decided.decision == 1
        with np.errstate(divide="ignore", invalid="ignore"):
            g = expit(logit(self.eligible) + self.shift[code])
            high, low = self.p_high[code], np.nan_to_num(self.p_low)[code]
            of_eligible = g * np.where(decided_for, high, 1 - high)
            of_others = (1 - g) * np.where(decided_for, low, 1 - low)
            return np.asarray(np.nan_to_num(of_eligible / (of_eligible + of_others)))


def safe_interval(q: FloatArray, decided: Observed, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of every physician's discordance, any rule allowed.

    Whatever the rule, no group of patients is decided for more often than the eligible are. So the
    share of decisions for, among those patients for whom they are likeliest, bounds p_high from
    below, and nothing bounds it from above. `q` is predicted without the patient's own decision.

    Examples
    --------
    >>> q = np.repeat([0.9, 0.1], 100)
    >>> decided = Observed.of(q[:, None], np.repeat([1, 0], 100), np.zeros(200))
    >>> low, high = safe_interval(q, decided, 0.95)
    >>> low.tolist(), high.round(2).tolist()
    ([0.0], [0.11])
    """
    order = np.lexsort((-q, decided.code))
    size, who = decided.counts[0], decided.code[order]
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    wanted = np.maximum(np.ceil(LIKELIEST * size), LEAST)
    n, k = decided.counts_of(order[np.arange(len(q)) - first[who] < wanted[who]])
    least = np.nan_to_num(share_interval(k, n, level).low)
    return np.zeros(len(size)), np.where(least > 0.5, 2 * least * (1 - least), 0.5)


#: A patient is an anchor with g below this, or above one minus this.
NEAR = 0.05
#: Scales that are tried, and the least difference of rates that allows any but one.
N_SCALES, LEAST_CONTRAST = 21, 0.05


class AnchorWarning(AssumptionWarning):
    """Few patients are surely eligible or surely not: the level of the scores is not pinned."""


@dataclass(frozen=True)
class Anchors:
    """How well the scale of g is anchored, and what follows from it for the discordance.

    Shares of patients with g near 0 and near 1; of the eligible, and of the others, who are surely
    so; the range of each physician's discordance over the scales of g that fit equally well; and
    `scales`, the values of g that may be called 1, from the lowest to the highest.
    """

    near: ClassVar[float] = NEAR
    low: float = 0.0
    high: float = 1.0
    sure_eligible: float = 1.0
    sure_others: float = 1.0
    identified_low: FloatArray = field(default_factory=lambda: np.empty(0))
    identified_high: FloatArray = field(default_factory=lambda: np.empty(0))
    scales: tuple[float, float] = (1.0, 1.0)

    @property
    def clear(self) -> float:
        """Share of clear cases on the side that has fewer."""
        return min(self.sure_eligible, self.sure_others)

    def with_ranges(self, low: FloatArray, high: FloatArray) -> Anchors:
        """Return the same with these ranges."""
        return replace(self, identified_low=low, identified_high=high)

    def for_rates(self, p_high: FloatArray, p_low: FloatArray) -> Anchors:
        """Return the same with the ranges of physicians, by their rates.

        No scale lies beyond those of the physicians who were fitted, nor beyond what the own rates
        allow.
        """
        low, high = self.scales
        contrast = p_high - p_low
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(contrast > LEAST_CONTRAST, (1 - p_low) / contrast, high)
        top = np.minimum(np.maximum(room, 1.0), high)
        parts = np.linspace(0.0, 1.0, N_SCALES)[:, None]
        p = np.vstack([p_high, np.clip(p_low + contrast * (low + parts * (top - low)), 0, 1)])
        value = 2 * p * (1 - p)
        return self.with_ranges(value.min(axis=0), value.max(axis=0))

    def columns(self) -> dict[str, FloatArray]:
        """Return the ranges as columns of a result."""
        return {"identified_low": self.identified_low, "identified_high": self.identified_high}

    def complaints(self, least: float) -> list[str]:
        """Say what is thin: fewer than a share `least` of the eligible or of the others sure."""
        eligible, others = "the eligible are surely so", "the others are surely not"
        shares = {eligible: self.sure_eligible, others: self.sure_others}
        return [text for text, share in shares.items() if share < least]


def find_anchors(g: FloatArray, p_high: FloatArray, p_low: FloatArray) -> Anchors:
    """Measure the anchors by everybody's g, and the admissible scales of g by all rates.

    The value of g that is called 1 may be as low as the largest g that occurs (its 99 % quantile)
    and as high as the p_high of all physicians allow. Ranges of physicians are for others to add.
    """
    contrast = p_high - p_low
    able = contrast > LEAST_CONTRAST
    room = float(((1 - p_low[able]) / contrast[able]).min()) if able.any() else 1.0
    return Anchors(
        low=float(np.mean(g < NEAR)),
        high=float(np.mean(g > 1 - NEAR)),
        sure_eligible=float(g[g > 1 - NEAR].sum() / g.sum()),
        sure_others=float((1 - g[g < NEAR]).sum() / (1 - g).sum()) if (g < 1).any() else 1.0,
        scales=(min(float(np.quantile(g, 0.99)), 1.0), max(room, 1.0)),
    )
