"""Own rules: how well the bound and the components of noise meet the truth, draw by draw.

    python -m benchmarks ownrules [rate] [CONDITION ...]

With `rate` only the order of 2 r (1 - r), what the rates alone would give, is held against the
truth: it takes seconds, and goes for every condition.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.stats import spearmanr

import intravar
from intravar.estimators.noise import noise_of
from intravar.inference.group import any_two
from intravar.observed import Observed
from intravar.study.simulation import find_condition
from reference.simulation import noise_truth

RULES = (
    *("two-camps", "personal-weights", "strong-thresholds"),
    *("own-rules", "own-conjunctions", "three-camps"),
)
CONDITIONS = tuple(f"stress-{name}{size}" for size in ("", "-small") for name in RULES)
#: Draws are counted from here: settings were chosen on other ones.
FIRST_DRAW, DRAWS = 702, 5
PARTS = ("system", "level", "pattern", "occasion")
WIDTHS = (34, 9, 8, 7, 8)


def run(*wanted: str) -> None:
    """Print a row per condition: means over the draws."""
    conditions = [name for name in wanted if name != "rate"] or CONDITIONS
    if "rate" in wanted:
        print("condition                          Spearman of the rate alone")
        for name in conditions:
            rho = [_rate_alone(name, FIRST_DRAW + number) for number in range(DRAWS)]
            print(f"{name:<34} {np.mean(rho):+.3f}", flush=True)
        return
    print(
        "condition                          Spearman  excess  holds  seconds  split  error (held)"
    )
    for name in conditions:
        rows = [_draw(name, FIRST_DRAW + number) for number in range(DRAWS)]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        parts = "  ".join(
            f"{part} {mean[part]:+.4f} ({100 * mean[part + ' held']:.0f} %)" for part in PARTS
        )
        print(
            f"{name:<34} {mean['rho']:.3f}     {mean['excess']:+.3f}  {mean['holds']:.3f}  "
            f"{mean['seconds']:6.1f}  {mean['split']:.2f}  {parts}; worst {_worst(rows):.4f}",
            flush=True,
        )


def _draw(name: str, draw: int) -> dict[str, float]:
    seed = find_condition(name).replicate_seed(draw)
    cohort = intravar.simulate(name, random_state=seed)
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    observed = Observed.of(*cohort.observed(), keep_missing=True)
    start = time.process_time()
    model = intravar.Predictability().fit_observed(observed)
    seconds = time.process_time() - start
    found: dict[str, float] = {
        "rho": float(spearmanr(model.score_, truth)[0]),
        "excess": float(np.mean(model.score_ - truth)),
        "holds": float(np.mean(model.high_ >= truth)),
        "seconds": seconds,
    }
    return found | _noise(observed, noise_truth(name, seed=seed))


def _rate_alone(name: str, draw: int) -> float:
    seed = find_condition(name).replicate_seed(draw)
    cohort = intravar.simulate(name, random_state=seed)
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    observed = Observed.of(*cohort.observed(), keep_missing=True)
    n = np.bincount(observed.code)
    alone = any_two(n, np.bincount(observed.code, observed.decision).astype(np.int64))
    return float(spearmanr(alone, truth)[0])


def _noise(observed: Observed, truth: dict[str, float]) -> dict[str, float]:
    noise = noise_of(observed)
    found = {"split": float(noise.identified)}
    for component, value, low, high in noise.table.iter_rows():
        if component not in truth:
            continue
        known = truth[component]
        found[component] = float("nan") if value is None else value - known
        found[component + " held"] = float(low <= known <= high)
        found[component + " size"] = known
    return found


def _worst(rows: list[dict[str, float]]) -> float:
    """Return the largest error beyond 15 % of a component, 0 where there is none."""
    beyond = [abs(row[part]) for row in rows for part in PARTS if _misses(row, part)]
    return max(beyond, default=0.0)


def _misses(row: dict[str, float], part: str) -> bool:
    return abs(row[part]) > max(0.015, 0.15 * row[part + " size"])


if __name__ == "__main__":
    run(*sys.argv[1:])
