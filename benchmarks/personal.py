"""The Latent Rule where physicians follow rules of their own, and where there are few of them.

    python -m benchmarks personal [CONDITION[:PHYSICIANSxPATIENTS] ...] [DRAWS]
    python -m benchmarks personal parts [PART ...] [CONDITION ...]

Spearman correlation with D* of the oracle and of the Latent Rule, mean error of the score, and the
share of 95 % intervals that hold D*; means over draws. Seeds are apart from those that settings
were chosen on. With `parts` the rule is fitted to the same cohorts with each of its parts switched
off: differences of distance, rank correlation and coverage, and their Monte-Carlo errors.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

import intravar
from intravar.arrays import FloatArray
from intravar.latent import families, own_rules, rates, rule_learners, shared_rule
from intravar.latent.rule_learners import BoostedTrees, SplineLogit
from intravar.study.cohort import Cohort
from intravar.study.simulation import find_condition
from intravar.study.simulation.physicians import Continuum
from intravar.study.tables import spearman

RULES = (
    "two-camps",
    "three-camps",
    "personal-weights",
    "strong-thresholds",
    "own-rules",
    "own-conjunctions",
)
FIRST_SEED, DRAWS = 91_001, 5
#: Physicians and patients each, and the draws of them.
FEW = ((1, 1_000, 40), (2, 500, 20), (5, 200, 10))
FEW_SEED = 93_000


def run(*wanted: str) -> None:
    if wanted and wanted[0] == "parts":
        chosen = [name for name in wanted[1:] if name in PARTS] or list(PARTS)
        conditions = [name for name in wanted[1:] if name not in PARTS] or list(PART_CONDITIONS)
        _parts(chosen, conditions)
        return
    names = [name for name in wanted if not name.isdigit()]
    draws = next((int(name) for name in wanted if name.isdigit()), DRAWS)
    columns = f"{'oracle':>8}{'rule':>8}{'error':>9}{'distance':>10}{'hold':>7}{'width':>7}"
    print(f"{'condition':34}{columns}{'seconds':>9}  found")
    for name in names or [f"stress-{rule}{size}" for size in ("", "-small") for rule in RULES]:
        seeds = range(FIRST_SEED, FIRST_SEED + draws)
        _row(name, [_cohort(name, seed) for seed in seeds])
    for n_physicians, panel, draws in () if names else FEW:
        cohorts = [_few(n_physicians, panel, FEW_SEED + draw) for draw in range(draws)]
        _row(f"score2, {n_physicians} x {panel:,}", cohorts)


def _cohort(name: str, seed: int) -> Cohort:
    """Simulate a condition, or `score2:40x500` with so many physicians and patients of each."""
    name, _, size = name.partition(":")
    if not size:
        return intravar.simulate(name, random_state=seed)
    n_physicians, panel = (int(number) for number in size.split("x"))
    scenario = find_condition(name)
    return replace(scenario, n_patients=n_physicians * panel, n_physicians=n_physicians).simulate(
        seed
    )


def _few(n_physicians: int, panel: int, seed: int) -> Cohort:
    scenario = replace(
        find_condition("score2"),
        physicians=Continuum(),
        n_patients=n_physicians * panel,
        n_physicians=n_physicians,
    )
    return scenario.simulate(seed)


def _row(name: str, cohorts: list[Cohort]) -> None:
    figures, found, start = [], Counter[str](), time.perf_counter()
    for cohort in cohorts:
        truth = intravar.oracle(cohort)
        d_star, oracle = truth["d_star"].to_numpy(), truth["oracle"].to_numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = intravar.LatentRule(n_jobs=1).fit(*cohort.observed())
        held = (model.low_ <= d_star) & (d_star <= model.high_)
        ranks = [spearman(score, d_star) for score in (oracle, model.score_)]
        width = np.mean(model.high_ - model.low_)
        away = model.score_ - d_star
        figures.append([*ranks, away.mean(), np.abs(away).mean(), np.mean(held), width])
        found[model.rule_ if model.follows_ else f"{model.rule_}, not followed"] += 1
    # One physician has no rank correlation.
    mean = np.array(figures).mean(axis=0)
    said = ", ".join(f"{rule} {count}" for rule, count in found.items())
    cells = f"{mean[0]:>8.3f}{mean[1]:>8.3f}{mean[2]:>+9.3f}{mean[3]:>10.4f}{100 * mean[4]:>6.0f}%"
    seconds = (time.perf_counter() - start) / len(cohorts)
    print(f"{name:34}{cells}{mean[5]:>7.2f}{seconds:>9.1f}  {said}", flush=True)


def _only(family: str) -> tuple[Any, ...]:
    return tuple(each for each in own_rules.FAMILIES if each[0].name == family)


def _choose_one(inner: dict[str, FloatArray], *rest: Any) -> Any:
    """Choose among the learners, never their mean."""
    found = [_CHOOSE({name: score}, *rest) for name, score in inner.items()]
    return max(found, key=lambda each: each[1].log_likelihood)


_CHOOSE = rule_learners._choose
#: Options without a part, and what is put in its place: module, name, value.
PARTS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "splines": ({"learners": [BoostedTrees()]}, ()),
    "trees": ({"learners": [SplineLogit()]}, ()),
    "blend": ({}, (rule_learners, "_choose", _choose_one)),
    "thresholds": ({"personal_thresholds": "never"}, ()),
    "weights": ({}, (own_rules, "FAMILIES", _only("personal limits"))),
    "limits": ({}, (own_rules, "FAMILIES", _only("personal weights"))),
    "camps": ({}, (families, "MOST_CAMPS", 1)),
    "weak-laws": ({}, (rates, "no_stronger", lambda law, _: law)),
    "doubt": ({}, (shared_rule, "SCORES_TOO", 0.0)),
}
PART_CONDITIONS = (
    *("score2", "few-1", "few-2", "few-5", "stress-rare", "stress-hidden-strong"),
    *("stress-personal-thresholds", "stress-graded"),
    *(f"stress-{rule}-small" for rule in RULES),
)
PART_DRAWS = 2


def _parts(parts: list[str], conditions: list[str]) -> None:
    print(f"{'condition':32}{'without':14}{'distance':>10}{'more':>17}{'Spearman':>19}{'hold':>19}")
    sizes = {f"few-{n_physicians}": (n_physicians, panel) for n_physicians, panel, _ in FEW}
    for name in conditions:
        found: dict[str, list[tuple[FloatArray, FloatArray, float]]] = {}
        for draw in range(6 if name in sizes else PART_DRAWS):
            if name in sizes:
                cohort = _few(*sizes[name], FEW_SEED + draw)
            else:
                cohort = intravar.simulate(name, random_state=FIRST_SEED + draw)
            for part in ("nothing", *parts):
                found.setdefault(part, []).append(_without(part, cohort))
        for part, without in found.items():
            _difference(name, part, without, found["nothing"])


def _without(part: str, cohort: Cohort) -> tuple[FloatArray, FloatArray, float]:
    """Return distances to D*, which intervals hold it, and the rank correlation."""
    options, other = PARTS.get(part, ({}, ()))
    d_star = intravar.oracle(cohort)["d_star"].to_numpy()
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if other:
            stack.enter_context(patch.object(*other))
        model = intravar.LatentRule(**options).fit(*cohort.observed())
    held = (model.low_ <= d_star) & (d_star <= model.high_)
    rank = spearman(model.score_, d_star) if len(d_star) > 2 else np.nan
    return np.abs(model.score_ - d_star), held.astype(np.float64), rank


def _difference(name: str, part: str, without: list[Any], full: list[Any]) -> None:
    cells = ""
    for at in (0, 2, 1):
        own, all_parts = (np.hstack([each[at] for each in some]) for some in (without, full))
        away = own - all_parts
        error = away.std(ddof=1) / np.sqrt(len(away))
        digits = 4 if at == 0 else 3
        cells += f"{own.mean():>10.{digits}f}{away.mean():>+9.{digits}f} ({error:.{digits}f})"
    print(f"{name:32}{part:14}{cells}", flush=True)
