from .intervals import (
    Interval,
    discordance_interval,
    effective_pairs,
    overdispersion_interval,
    overdispersion_standard_error,
    pair_interval,
    share_interval,
)
from .ranking import Assessment, Ranks, assess, expected_ranks, rank_draws, rank_normal
from .reliability import (
    EvenErrors,
    SplitHalf,
    even_errors,
    rankability,
    reliability,
    spearman_brown,
    split_half,
)
from .shrinkage import Shrunken, between_variance, shrink

__all__ = [
    "Assessment",
    "EvenErrors",
    "Interval",
    "Ranks",
    "Shrunken",
    "SplitHalf",
    "assess",
    "between_variance",
    "discordance_interval",
    "effective_pairs",
    "even_errors",
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
