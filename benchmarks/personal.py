"""The Latent Rule where physicians follow rules of their own, and where there are few of them.

Spearman correlation with D* of the oracle and of the Latent Rule, mean error of the score, and the
share of 95 % intervals that hold D*; means over draws. Seeds are apart from those that settings
were chosen on.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace

import numpy as np

import intravar
from intravar.study.cohort import Cohort
from intravar.study.simulation import find_condition
from intravar.study.simulation.physicians import Continuum
from intravar.study.tables.cells import spearman

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


def run() -> None:
    print(f"{'condition':34}{'oracle':>8}{'rule':>8}{'error':>9}{'hold':>7}{'width':>7}  found")
    for name in [f"stress-{rule}{size}" for size in ("", "-small") for rule in RULES]:
        seeds = range(FIRST_SEED, FIRST_SEED + DRAWS)
        _row(name, [intravar.simulate(name, random_state=seed) for seed in seeds])
    for n_physicians, panel, draws in FEW:
        scenario = replace(
            find_condition("score2").scenario,
            physicians=Continuum(),
            n_patients=n_physicians * panel,
            n_physicians=n_physicians,
        )
        cohorts = [scenario.simulate(seed) for seed in range(FEW_SEED, FEW_SEED + draws)]
        _row(f"score2, {n_physicians} x {panel:,}", cohorts)


def _row(name: str, cohorts: list[Cohort]) -> None:
    figures, found = [], Counter[str]()
    for cohort in cohorts:
        truth = intravar.oracle(cohort)
        d_star, oracle = truth["d_star"].to_numpy(), truth["oracle"].to_numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = intravar.LatentRule(n_jobs=2).fit(*cohort.observed())
        held = (model.low_ <= d_star) & (d_star <= model.high_)
        ranks = [spearman(score, d_star) for score in (oracle, model.score_)]
        width = np.mean(model.high_ - model.low_)
        figures.append([*ranks, np.mean(model.score_ - d_star), np.mean(held), width])
        found[model.rule_ if model.follows_ else f"{model.rule_}, not followed"] += 1
    # One physician has no rank correlation.
    mean = np.array(figures).mean(axis=0)
    said = ", ".join(f"{rule} {count}" for rule, count in found.items())
    cells = f"{mean[0]:>8.3f}{mean[1]:>8.3f}{mean[2]:>+9.3f}{100 * mean[3]:>6.0f}%{mean[4]:>7.2f}"
    print(f"{name:34}{cells}  {said}", flush=True)
