"""The compiled trees beside LightGBM with a custom objective: alone, and in whole measurements.

Alone both grow 150 trees of depth 4 on the likelihood of the latent rule with the rates known, on
one thread, and are judged on patients they were not grown on. Then whole measurements of 5,000
patients are made with either, each in a process of its own. Seconds are of the processor.
"""

from __future__ import annotations

import json
import time
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt

import intravar
from benchmarks._fresh import in_fresh_process
from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Observed
from intravar.latent.calibration import decision_log_likelihood
from intravar.latent.rule_learners import BoostedTrees
from intravar.learning import boosted_trees
from intravar.learning.boosted_trees import (
    Bins,
    Growth,
    Rates,
    Trees,
    _new_rates,
    _slopes,
    grow_trees,
)
from intravar.prediction import candidates
from intravar.processes import peak_memory_mb

SIZES = ((10_000, 20), (50_000, 100))
SEED = 50_000
#: Measurements of 5,000 patients of 20 physicians: the method, and a condition.
MEASUREMENTS = (
    ("predictability", "score2"),
    ("predictability", "stress-own-rules"),
    ("latent-rule", "score2"),
    ("latent-rule", "stress-own-rules"),
)
OURS, THEIRS = "intravar", "LightGBM"


def run() -> None:
    print(f"{'continuous':18}{'':12}{'s':>8}{'log-likelihood of a held-out decision':>40}")
    for n_patients, n_physicians in SIZES:
        cohort = intravar.simulate(
            "continuous", random_state=SEED, n_patients=n_patients, n_physicians=n_physicians
        )
        observed = Observed.of(*cohort.observed())
        high, low = (np.full(n_physicians, value) for value in (0.75, 0.02))
        half = np.sort(np.random.default_rng(SEED).permutation(n_patients)[: n_patients // 2])
        rest = np.setdiff1d(range(n_patients), half)
        for name in (OURS, THEIRS):
            _use(name)
            BoostedTrees().prepare(observed.covariates)(observed, half)
            begin = time.process_time()
            learned = BoostedTrees().prepare(observed.covariates)(observed, half)
            score = learned.logit(observed.covariates)
            seconds = time.process_time() - begin
            fit = decision_log_likelihood(score[rest], observed, rest, high, low)
            size = f"{n_patients:,} x {n_physicians}"
            print(f"{size:18}{name:12}{seconds:>8.2f}{fit / rest.size:>40.4f}", flush=True)
    print(f"\n{'measure':16}{'':18}{'intravar s':>12}{'LightGBM s':>12}{'ratio':>7}{'memory':>8}")
    for method, condition in MEASUREMENTS:
        ours, theirs = (
            in_fresh_process("boosting", "measured", name, method, condition)
            for name in (OURS, THEIRS)
        )
        slower, larger = (theirs[each] / ours[each] for each in ("seconds", "mb"))
        print(
            f"{method:16}{condition:18}{ours['seconds']:>12.1f}{theirs['seconds']:>12.1f}"
            f"{slower:>7.2f}{larger:>8.2f}",
            flush=True,
        )


def measured(name: str, method: str, condition: str) -> None:
    """Measure 5,000 patients twice; print what the second time took, compiling left out."""
    _use(name)
    cohort = intravar.simulate(condition, random_state=SEED, n_patients=5_000, n_physicians=20)
    table = cohort.to_polars(truth=False)
    for _ in range(2):
        begin = time.process_time()
        intravar.measure(table, physician="physician", decision="decision", method=method)
        seconds = time.process_time() - begin
    print(json.dumps({"seconds": seconds, "mb": peak_memory_mb()}))


class LightGBMTrees:
    """Trees of LightGBM that are used as ours are."""

    def __init__(self, growth: Growth, booster: lightgbm.Booster) -> None:
        self.growth, self.booster = growth, booster

    def scores(self, bins: Bins) -> FloatArray:
        """Return F of some rows."""
        values = _values(bins, self.growth)
        found = np.asarray(self.booster.predict(values, raw_score=True, num_threads=1))
        return np.clip(self.growth.start + found, -8.0, 8.0)

    def splits(self, n_columns: int) -> IntArray:
        """Return how often the trees look at every column."""
        return np.asarray(self.booster.feature_importance("split"), dtype=np.int64)


def lightgbm_trees(
    bins: Bins, y: npt.NDArray[Any], code: IntArray, rates: Rates, growth: Growth
) -> Trees | LightGBMTrees:
    """Boost F with LightGBM, rates learned on the way where growth asks for it."""
    high, low, outcome = rates.p_high, rates.p_low, y.astype(np.float64)
    gradient, curvature = np.zeros(len(y)), np.zeros(len(y))
    expected = np.zeros((2, len(high), 2))
    parameters = {
        "objective": "none",
        "learning_rate": growth.rate,
        "max_depth": growth.depth,
        "num_leaves": 2**growth.depth,
        "lambda_l2": growth.ridge,
        "min_sum_hessian_in_leaf": growth.least,
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "max_bin": 255,
        "max_delta_step": 1.0,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "feature_pre_filter": False,
        "boost_from_average": False,
        "verbose": -1,
    }
    data = lightgbm.Dataset(_values(bins, growth), label=outcome, params=parameters)
    booster = lightgbm.Booster(parameters, data)
    for number in range(growth.trees):
        learn = number >= growth.hold

        def slopes(
            score: FloatArray, _: lightgbm.Dataset, learn: bool = learn
        ) -> tuple[FloatArray, FloatArray]:
            nonlocal high, low
            told = growth.start + score, high, low
            _slopes(outcome, code, *told, gradient, curvature, learn, expected)
            if learn:
                high, low = (_new_rates(own, growth.strength) for own in expected)
                expected[:] = 0.0
            return -gradient, curvature

        if booster.update(fobj=slopes):
            break
    booster.free_dataset()
    return LightGBMTrees(growth, booster)


def _values(bins: Bins, growth: Growth) -> npt.NDArray[np.float32]:
    values = bins.astype(np.float32)
    values[bins == growth.missing] = np.nan
    return values


def _use(name: str) -> None:
    """Let all methods grow their trees by the one or the other."""
    for module in (boosted_trees, candidates):
        module.grow_trees = grow_trees if name == OURS else lightgbm_trees  # type: ignore[attr-defined]
