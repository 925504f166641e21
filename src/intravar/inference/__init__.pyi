from .intervals import (
    Interval,
    discordance_interval,
    effective_pairs,
    pair_interval,
    share_interval,
)
from .ranking import Assessment, Ranks, assess, expected_ranks, rank_normal
from .shrinkage import (
    Shrunken,
    SplitHalf,
    between_variance,
    even_errors,
    rankability,
    reliability,
    shrink,
    spearman_brown,
    split_half,
)

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
    "even_errors",
    "expected_ranks",
    "pair_interval",
    "rank_normal",
    "rankability",
    "reliability",
    "share_interval",
    "shrink",
    "spearman_brown",
    "split_half",
]
