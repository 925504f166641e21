"""What is read of physicians, whichever rule they are read by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import Interval, share_interval
from intravar.latent.rates import (
    EligibleDiscordance,
    Law,
    PanelDiscordance,
    no_stronger,
    one_class_posterior,
)
from intravar.panels import PanelDecisions, Panels

#: Whose discordance is scored: that of eligible patients, or of all.
Within = Literal["eligible", "panel"]
#: Share of a panel, and the least number of patients, that counts as the likeliest.
LIKELIEST, LEAST = 0.2, 10


@dataclass(frozen=True, eq=False)
class LatentReading:
    """Rates and scores, one entry per panel, and who is eligible.

    Attributes
    ----------
    p_high, p_low, score
        Per panel.
    shift, camp
        Per panel: expected shift of the own threshold, and the camp.
    posterior, place
        The posterior that intervals come from, and which of its rows is whose.
    eligible, g, q
        Per patient, in the order of the panels: probability of being eligible under the rule that
        all share, under the physician's own threshold or rule, and probability of a decision for;
        none is informed by the patient's own decision beyond the rates.
    """

    p_high: FloatArray
    p_low: FloatArray
    score: FloatArray
    shift: FloatArray
    camp: IntArray
    posterior: EligibleDiscordance | PanelDiscordance
    place: IntArray
    eligible: FloatArray
    g: FloatArray
    q: FloatArray

    def interval(self, level: float) -> Interval:
        """Return the interval of every panel's score, which lies within."""
        low, high = (end[self.place] for end in self.posterior.interval(level))
        error = self.posterior.standard_deviation()[self.place]
        return Interval(np.minimum(low, self.score), np.maximum(high, self.score), error)


@dataclass(frozen=True)
class OneClass:
    """What is held in common where no rule was found: the law of the rates.

    Attributes
    ----------
    law
        Parameters of the Beta law.
    n_physicians
        How many taught it.
    """

    law: Law
    n_physicians: int

    def read(self, panels: Panels) -> LatentReading:
        """Read every panel from its number of patients and of decisions for."""
        size = panels.sizes
        given = np.bincount(panels.code, panels.y, minlength=len(size)).astype(np.int64)
        # Panels alike are read once.
        pairs, place = np.unique(np.column_stack([given, size]), axis=0, return_inverse=True)
        k, n = pairs.astype(np.float64).T
        posterior, p_high = one_class_posterior(k, n, self.law)
        weak, _ = one_class_posterior(k, n, no_stronger(self.law, self.n_physicians))
        place = place.reshape(-1).astype(np.int64)
        everybody = np.ones(len(panels.y))
        return LatentReading(
            p_high[place],
            np.full(len(size), np.nan),
            posterior.mean()[place],
            np.zeros(len(size)),
            np.zeros(len(size), dtype=np.int64),
            weak,
            place,
            everybody,
            everybody,
            p_high[place][panels.code],
        )


def eligible_given_decision(
    eligible: FloatArray,
    shift: FloatArray,
    decided_for: BoolArray,
    p_high: FloatArray,
    p_low: FloatArray,
    code: IntArray,
) -> FloatArray:
    """Return every patient's probability of being eligible given covariates and decision.

    Where the rule is sharp, the sums of these are the very counts behind p_high and p_low.

    Parameters
    ----------
    eligible
        Probability given the covariates alone.
    shift
        Per patient: shift of its logit by the physician's own threshold.
    decided_for
        Per patient.
    p_high, p_low
        Per physician; without a rule p_low is NaN, and everybody counts as eligible.
    code
        Position of every patient's physician.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        g = expit(logit(eligible) + shift)
        high, low = p_high[code], np.nan_to_num(p_low)[code]
        of_eligible = g * np.where(decided_for, high, 1 - high)
        of_others = (1 - g) * np.where(decided_for, low, 1 - low)
        return np.asarray(np.nan_to_num(of_eligible / (of_eligible + of_others)))


def safe_interval(
    q: FloatArray, decided: PanelDecisions, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of every physician's discordance, any rule allowed.

    Whatever the rule, no group of patients is decided for more often than the eligible are. So the
    share of decisions for, among those patients for whom they are likeliest, bounds p_high from
    below, and nothing bounds it from above.

    Parameters
    ----------
    q
        Probability of a decision for, predicted without the patient's own decision.
    decided
        The decisions.
    level
        Nominal coverage.

    Examples
    --------
    >>> decided = PanelDecisions(np.repeat([1, 0], 100), np.zeros(200, dtype=np.int64), 1)
    >>> low, high = safe_interval(np.repeat([0.9, 0.1], 100), decided, 0.95)
    >>> low.tolist(), high.round(2).tolist()
    ([0.0], [0.11])
    """
    order = np.lexsort((-q, decided.physician))
    size, _ = decided.per_physician()
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    place = np.arange(len(q)) - first[decided.physician[order]]
    wanted = np.maximum(np.ceil(LIKELIEST * size), LEAST)
    likeliest = order[place < wanted[decided.physician[order]]]
    n, k = decided.take(likeliest).per_physician()
    least = np.nan_to_num(share_interval(k, n, level).low)
    return np.zeros(len(size)), np.where(least > 0.5, 2 * least * (1 - least), 0.5)
