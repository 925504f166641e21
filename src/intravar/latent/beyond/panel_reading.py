"""What is read of physicians beyond the sample, whichever rule they are read by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.decided import Decided
from intravar.latent.rates import (
    EligibleDiscordance,
    PanelDiscordance,
    no_stronger,
    one_class_posterior,
)

Law = tuple[float, float]


@dataclass(frozen=True, eq=False)
class PanelReading:
    """Rates and scores, one entry per panel, and who is eligible.

    Attributes
    ----------
    p_high, p_low, score
        Per panel.
    shift, camp
        Per panel: expected shift of the own threshold, and the camp.
    posterior, place
        The posterior that intervals come from, and which of its rows is whose.
    eligible, q
        Per patient, in the order of the panels: probability of being eligible, and of a decision
        for, both not informed by the patient's own decision beyond the rates.
    """

    p_high: FloatArray
    p_low: FloatArray
    score: FloatArray
    shift: FloatArray
    camp: IntArray
    posterior: EligibleDiscordance | PanelDiscordance
    place: IntArray
    eligible: FloatArray
    q: FloatArray


@dataclass(frozen=True)
class CommonRates:
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

    def read(self, decided: Decided) -> PanelReading:
        """Read every panel from its number of patients and of decisions for.

        Examples
        --------
        >>> decided = Decided(np.array([1, 1, 0]), np.array([0, 0, 1]), 2)
        >>> CommonRates((1.0, 1.0), 5).read(decided).p_high.round(2).tolist()
        [0.75, 0.33]
        """
        size, given = decided.per_physician()
        # SortedPanels alike are read once.
        pairs, place = np.unique(np.column_stack([given, size]), axis=0, return_inverse=True)
        k, n = pairs.astype(np.float64).T
        posterior, p_high = one_class_posterior(k, n, self.law)
        weak, _ = one_class_posterior(k, n, no_stronger(self.law, self.n_physicians))
        place = place.reshape(-1).astype(np.int64)
        return PanelReading(
            p_high[place],
            np.full(len(size), np.nan),
            posterior.mean()[place],
            np.zeros(len(size)),
            np.zeros(len(size), dtype=np.int64),
            weak,
            place,
            np.ones(len(decided.y)),
            p_high[place][decided.physician],
        )


def under_rule(logit: FloatArray, high: FloatArray, low: FloatArray) -> FloatArray:
    """Return the probability of a decision for."""
    return np.asarray(low + (high - low) * expit(logit))
