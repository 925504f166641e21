"""What is read of physicians, whichever rule they are read by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.inference.intervals import Interval
from intravar.latent.rates import (
    EligibleDiscordance,
    Law,
    PanelDiscordance,
    no_stronger,
    one_class_posterior,
)
from intravar.panels import Panels

#: Whose discordance is scored: that of eligible patients, or of all.
Within = Literal["eligible", "panel"]


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
