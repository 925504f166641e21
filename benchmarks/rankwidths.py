"""Rank widths: how well an order agrees with the truth, by the width of its rank intervals.

    python -m benchmarks rankwidths [REPLICATES]

True values are normal and scores have normal errors of one size, of every reliability from 0 to 1.
The variance between physicians is estimated, as in a measurement. The table has a row per number of
physicians and median width of the 95 % rank intervals, as a share of the ranks that there are.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.stats import rankdata, spearmanr

from intravar.inference import rank_normal, shrink
from intravar.seeds import stream

SIZES = (5, 10, 20, 50, 200)
#: Edges of the classes of median widths.
EDGES = (0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
#: Rank correlation with the truth from which on an order is called right.
RIGHT = 0.5
N_DRAWS = 500


def run(replicates: str = "1000") -> None:
    """Print mean correlations with the truth, and how often intervals hold the true ranks."""
    print("| physicians | median width | draws | mean correlation | at least 0.5 | ranks held |")
    print("|---|---|---|---|---|---|")
    for n_physicians in SIZES:
        # As many ranks of every size, but not fewer than a tenth of the draws.
        n = max(int(replicates) // 10, int(replicates) * 20 // max(n_physicians, 20))
        drawn = np.array([_drawn(n_physicians, seed) for seed in range(n)])
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        width, correlation, held = drawn.T
        group = np.searchsorted(EDGES, width)
        for number in np.unique(group):
            inside = group == number
            low, high = EDGES[max(number - 1, 0)], EDGES[number]
            print(
                f"| {n_physicians} | {low:g} to {high:g} | {inside.sum()} | "
                f"{correlation[inside].mean():.2f} | "
                f"{100 * np.mean(correlation[inside] >= RIGHT):.0f} % | "
                f"{100 * held[inside].mean():.0f} % |",
                flush=True,
            )


def _drawn(n_physicians: int, seed: int) -> tuple[float, float, float]:
    """Return median width, correlation with the truth and share of true ranks held of one draw."""
    random = stream(seed, "rankwidths", str(n_physicians))
    reliability = random.uniform(0.05, 0.95)
    error = float(np.sqrt((1 - reliability) / reliability))
    true = random.normal(size=n_physicians)
    score = true + error * random.normal(size=n_physicians)
    shrunken = shrink(score, np.full(n_physicians, error))
    if shrunken.between_variance == 0:
        return np.nan, np.nan, np.nan
    ranks = rank_normal(shrunken.value, shrunken.spread, n_draws=N_DRAWS, random_state=seed)
    place = rankdata(true)
    width = float(np.median(ranks.high - ranks.low)) / (n_physicians - 1)
    held = float(np.mean((ranks.low <= place) & (place <= ranks.high)))
    return width, float(spearmanr(score, true)[0]), held


if __name__ == "__main__":
    run(*sys.argv[1:])
