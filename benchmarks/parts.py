"""Parts of Predictability: what each is worth, on the same cohorts with it and without it.

    python -m benchmarks parts [PART ...]

A part stays if one world needs it; that world stands beside it. See docs/methods/predictability.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import spearmanr

import intravar
from intravar.arrays import FloatArray
from intravar.estimators import predictability
from intravar.estimators.noise import noise_of
from intravar.learning import personal_rules
from intravar.observed import Observed
from intravar.prediction import candidates, held_out
from intravar.prediction.bound import Shrinkage, learn_reader
from intravar.prediction.candidates import common_trees
from intravar.study.simulation import find_condition
from reference.simulation import noise_truth

#: Draws are counted from here: settings were chosen on other ones.
FIRST_DRAW, DRAWS = 702, 2
#: Sizes of cohorts where they are not those of the condition; in a small one deals are averaged.
SIZES = {
    "three deals": {"n_patients": 1_000, "n_physicians": 10},
    "trees weighed by rates": {"n_patients": 20_000, "n_physicians": 40},
}


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Leave candidates out of the predictions that are put together."""
    predict = candidates.Candidates.predict

    def predicted(*given: Any, **named: Any) -> candidates.Level:
        level = predict(*given, **named)
        n_axes = level.values.shape[1] - len(level.names)
        left_out = [n_axes + at for at, name in enumerate(level.names) if name in names]
        kept = tuple(name for name in level.names if name not in names)
        return candidates.Level(kept, np.delete(level.values, left_out, axis=1))

    blind = tuple(name for name in candidates.BLIND if name not in names)
    with (
        patch.object(candidates.Candidates, "predict", predicted),
        patch.object(candidates, "BLIND", blind),
    ):
        yield


def _blind_trees() -> Any:
    """Let the common trees know nothing of who discriminates."""
    return patch.object(candidates, "common_trees", lambda *given: common_trees(*given[:5]))


def _set(owner: object, name: str, value: Any) -> Callable[[], Any]:
    return lambda: patch.object(owner, name, value)


#: Parts whose world is looked at for its components of noise as well.
OF_NOISE = ("colleagues",)
#: By name: the world that needs the part, and how it is switched off.
PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "own forests": ("stress-own-conjunctions", lambda: _without(candidates.OWN)),
    "camps": ("stress-two-camps-small", lambda: _without("2 camps", "3 camps")),
    "axes": ("stress-own-rules-small", _set(candidates, "MIXTURES", (0.0,))),
    "colleagues": ("stress-two-camps", lambda: _without(candidates.COLLEAGUES)),
    "chance held back": (
        "stress-two-camps-small",
        _set(held_out, "learn_reader", partial(learn_reader, shrinkage=Shrinkage(least_kept=1.0))),
    ),
    "rules from all patients": (
        "stress-personal-weights-small",
        _set(held_out, "learn_own_rules", lambda *given: (None, None)),
    ),
    "parameters drawn": (
        "stress-personal-weights-small",
        _set(personal_rules, "sampled_hyper", lambda table, start, seed: start),
    ),
    "weights stretched": (
        "stress-personal-weights-small",
        _set(personal_rules, "_stretch", lambda *given: 1.0),
    ),
    "trees weighed by rates": ("score2", _blind_trees),
    "three deals": ("stress-two-camps", _set(predictability, "REPETITIONS", 1)),
}


def run(*wanted: str) -> None:
    """Print a row per part: means over the draws with it, without it, and the paired error."""
    print(
        "part                      world                             with     without  (± paired)"
    )
    kept: dict[str, list[dict[str, float]]] = {}
    for name, (world, off) in PARTS.items():
        if wanted and name not in wanted:
            continue
        size, noisy = SIZES.get(name, {}), name in OF_NOISE
        key = f"{world} {size} {noisy}"
        draws = range(FIRST_DRAW, FIRST_DRAW + DRAWS)
        if key not in kept:
            kept[key] = [_measured(world, draw, size, noisy) for draw in draws]
        with off():
            without = [_measured(world, draw, size, noisy) for draw in draws]
        for figure in kept[key][0]:
            one, other = (np.array([row[figure] for row in rows]) for rows in (kept[key], without))
            error = (other - one).std(ddof=1) / np.sqrt(DRAWS)
            print(
                f"{name:<25} {world:<33} {one.mean():+.4f}  {other.mean():+.4f}  ± {error:.4f}  "
                f"{figure}",
                flush=True,
            )


def _measured(world: str, draw: int, size: dict[str, int], noisy: bool) -> dict[str, float]:
    seed = find_condition(world).replicate_seed(draw)
    cohort = intravar.simulate(world, random_state=seed, **size)
    truth: FloatArray = intravar.oracle(cohort)["comparable"].to_numpy()
    observed = Observed.of(*cohort.observed(), keep_missing=True)
    model = intravar.Predictability().fit_observed(observed)
    found = {
        "rank correlation": float(spearmanr(model.score_, truth)[0]),
        "excess": float(np.mean(model.score_ - truth)),
        "holds": float(np.mean(model.high_ >= truth)),
    }
    if not noisy:
        return found
    known = noise_truth(world, seed=seed)
    for component, value, low, high in noise_of(observed).table.iter_rows():
        if component not in known:
            continue
        true = known[component]
        found[f"{component}, |error|"] = float("nan") if value is None else abs(value - true)
        found[f"{component}, held"] = float(low <= true <= high)
    return found
