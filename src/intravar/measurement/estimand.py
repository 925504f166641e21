"""What is compared, in words: the phrase that every sentence with a number in it uses."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from intravar.estimators.evidence import Evidence
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import RULE_FOUND, Verdict
from intravar.wording import Sentence

#: Rank correlation from which on scores and rates of "yes" are said to go together.
TOGETHER = 0.8
#: Physicians below which such a correlation is not told from chance.
FEWEST_TOGETHER = 10

ANY_TWO = Sentence(
    "pairs of any two {cases} of {a_decider}, since nothing recorded tells them apart"
)


def compared_in(evidence: Evidence, judged: Verdict | None = None) -> str:
    """Return what a score compares, to stand behind "of 100".

    Parameters
    ----------
    evidence
        What stands behind the score.
    judged
        The verdict; where no rule was found, nothing tells patients apart.

    Examples
    --------
    >>> from intravar.estimators.evidence import Predictions
    >>> evidence = Predictions(*np.zeros((4, 2)))
    >>> compared_in(evidence)
    'pairs of patients alike in what is recorded'
    >>> compared_in(evidence, Verdict("group only", (), rule_found=1.0))
    'pairs of any two patients of a physician, since nothing recorded tells them apart'
    """
    no_rule = judged is not None and judged.rule_found < RULE_FOUND
    if no_rule and evidence.learned:
        return ANY_TWO
    return evidence.compared


def with_rates(scores: Scores) -> tuple[float, float] | None:
    """Return how scores go with rates of "yes", and with rates that are near one half.

    Rank correlations over the physicians with a score; None where these are too few to tell, or
    all alike.

    Returns
    -------
    with_rate, with_half
        With the rate, and with 2 rate (1 - rate), what the rate alone would give for a score.
    """
    known = np.isfinite(scores.discordance) & (scores.n_patients > 0)
    if known.sum() < FEWEST_TOGETHER:
        return None
    rate = scores.n_for[known] / scores.n_patients[known]
    score, near_half = scores.discordance[known], rate * (1 - rate)
    if min(np.ptp(each) for each in (score, rate, near_half)) == 0:
        return None
    return float(spearmanr(score, rate)[0]), float(spearmanr(score, near_half)[0])


def rates_in_words(with_rate: float | None, with_half: float | None) -> str | None:
    """Say that scores and rates go together, where they do.

    Examples
    --------
    >>> rates_in_words(-0.9, 0.2)
    'Score and rate of "yes" go together (rank correlation -0.9): physicians who say yes more \
often have the lower score. It may tell of the rate as much as of consistency.'
    >>> rates_in_words(0.3, 0.2) is None
    True
    """
    if with_rate is None or with_half is None or max(abs(with_rate), with_half) < TOGETHER:
        return None
    if with_half > abs(with_rate):
        value, told = (
            with_half,
            Sentence("{deciders} who {say_yes} to nearly half have the higher score"),
        )
    else:
        value = with_rate
        than = "higher" if value > 0 else "lower"
        told = Sentence(
            "{deciders} who {say_yes} more often have the {than} score",
            than=than,
        )
    return Sentence(
        "Score and {rate_of_yes} go together (rank correlation {value:.1f}): "
        "{told}. It may tell of the rate as much as of consistency.",
        value=value,
        told=told,
    )
