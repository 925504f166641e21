"""Spread: how often the interval of how much physicians differ holds the truth.

    python -m benchmarks spread [REPLICATES]

Decisions are drawn with known chances and predicted by them, so that nothing but the interval is
tried. Physicians differ in how steeply they decide.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from intravar.inference.group import group_of
from intravar.inference.intervals import share_interval
from intravar.seeds import stream

#: Physicians, patients of each, mean steepness, and its relative standard deviation.
SIZES = (
    *((5, 200, 3.0, each) for each in (0.0, 0.3)),
    *((10, 100, 3.0, each) for each in (0.0, 0.3, 0.6)),
    *((40, 50, 6.0, each) for each in (0.0, 0.5)),
    *((100, 40, 1.5, each) for each in (0.0, 0.5)),
    *((500, 40, 3.0, each) for each in (0.0, 0.3)),
    *((82, 4600, 9.0, each) for each in (0.0, 0.06)),
)


def run(replicates: str = "100") -> None:
    """Print by size how often the interval holds, and what is said of the differences."""
    print("| physicians | patients of each | true spread | holds | differ | less than matters |")
    print("|---|---|---|---|---|---|")
    for n, panel, steep, relative in SIZES:
        found = [_drawn(n, panel, steep, relative, seed) for seed in range(int(replicates))]
        holds, words, true = zip(*found, strict=True)
        print(
            f"| {n} | {panel} | {np.mean(true):.4f} | {100 * np.mean(holds):.0f} % | "
            f"{words.count('differ')} | {words.count('less than matters')} |",
            flush=True,
        )


def _drawn(
    n: int, panel: int, steep: float, relative: float, seed: int
) -> tuple[bool, str | None, float]:
    random = stream(seed, "spread", str(n), str(panel), str(relative))
    own = steep * np.exp(relative * random.normal(size=n))
    p = expit(own[:, None] * random.normal(size=(n, panel)))
    y = random.random((n, panel)) < p
    loss = (y - p) ** 2
    mean = loss.mean(axis=1)
    # As many yes-or-no trials as would be as sure, the spread of losses being that of all.
    within = float(loss.var(axis=1).mean()) / max(float((mean * (1 - mean)).mean()), 1e-9)
    trials = np.full(n, panel / max(within, 1e-9))
    error = 2 * share_interval(mean * trials, trials).standard_error
    group = group_of(2 * mean, error, np.full(n, panel))
    assert group is not None
    # Nobody's own value but that of the patients they could have had.
    nodes = np.linspace(-6, 6, 2001)
    weight = norm.pdf(nodes)
    q = expit(own[:, None] * nodes)
    true = float(np.std(2 * (q * (1 - q)) @ weight / weight.sum(), ddof=1))
    return group.spread_low <= true <= group.spread_high, group.differences, true


if __name__ == "__main__":
    run(*sys.argv[1:])
