"""How sure a score is: intervals, shrinkage, reliability and ranks, for any profile.

Nothing here knows an estimator: functions take arrays, and :func:`assess` takes whatever has a
profile. Estimators use the intervals for their own.
"""

from intravar.inference.assessment import Assessment, assess
from intravar.inference.intervals import Interval, discordance_interval, share_interval
from intravar.inference.pairs import effective_pairs, pair_interval
from intravar.inference.ranking import Ranks, expected_ranks, rank_draws, rank_normal
from intravar.inference.reliability import (
    SplitHalf,
    rankability,
    reliability,
    spearman_brown,
    split_half,
)
from intravar.inference.residuals import overdispersion_interval, overdispersion_standard_error
from intravar.inference.shrinkage import Shrunken, between_variance, shrink

__all__ = [
    "Assessment",
    "Interval",
    "Ranks",
    "Shrunken",
    "SplitHalf",
    "assess",
    "between_variance",
    "discordance_interval",
    "effective_pairs",
    "expected_ranks",
    "overdispersion_interval",
    "overdispersion_standard_error",
    "pair_interval",
    "rank_draws",
    "rank_normal",
    "rankability",
    "reliability",
    "share_interval",
    "shrink",
    "spearman_brown",
    "split_half",
]
