"""The compiled trees of the latent rule beside LightGBM with a custom objective.

Both grow 150 trees of depth 4 on the same likelihood with the rates known, on one thread, and are
judged on patients they were not grown on. Seconds are of the processor.
"""

from __future__ import annotations

import time

import lightgbm
import numpy as np
from scipy.special import expit

import intravar
from intravar.arrays import FloatArray
from intravar.estimators import Observed
from intravar.latent.calibration import decision_log_likelihood
from intravar.latent.rule_learners import BoostedTrees, Task
from intravar.learning.boosted_trees import Rates
from intravar.panels import PanelDecisions

SIZES = ((10_000, 20), (50_000, 100))
SEED = 50_000
PARAMETERS = {
    "learning_rate": 0.1,
    "max_depth": 4,
    "num_leaves": 16,
    "lambda_l2": 5.0,
    "min_sum_hessian_in_leaf": 10.0,
    "min_data_in_leaf": 1,
    "max_bin": 254,
    "num_threads": 1,
    "boost_from_average": False,
    "verbose": -1,
}


def run() -> None:
    print(f"{'continuous':18}{'':12}{'s':>8}{'log-likelihood of a held-out decision':>40}")
    for n_patients, n_physicians in SIZES:
        cohort = intravar.simulate(
            "continuous", random_state=SEED, n_patients=n_patients, n_physicians=n_physicians
        )
        observed = Observed.of(*cohort.observed())
        decided = PanelDecisions(observed.decision.astype(np.int64), observed.code, n_physicians)
        task = Task(_half(n_patients), decided, _rates(n_physicians), 0.0, False)
        for name, learner in {"intravar": _ours, "LightGBM": _theirs}.items():
            learner(observed.covariates, task)
            begin = time.process_time()
            score = learner(observed.covariates, task)
            seconds = time.process_time() - begin
            rest = np.setdiff1d(np.arange(n_patients), task.rows)
            fit = decision_log_likelihood(
                score[rest], decided.take(rest), task.rates.p_high, task.rates.p_low
            )
            size = f"{n_patients:,} x {n_physicians}"
            print(f"{size:18}{name:12}{seconds:>8.2f}{fit / rest.size:>40.4f}", flush=True)


def _half(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(SEED).permutation(n)[: n // 2])


def _rates(n_physicians: int) -> Rates:
    return Rates(np.full(n_physicians, 0.75), np.full(n_physicians, 0.02), np.zeros(n_physicians))


def _ours(x: FloatArray, task: Task) -> FloatArray:
    return BoostedTrees().prepare(x)(task).logit


def _theirs(x: FloatArray, task: Task) -> FloatArray:
    own = task.decided.take(task.rows)
    y, high, low = own.y, task.rates.p_high[own.physician], task.rates.p_low[own.physician]

    def objective(score: FloatArray, _: lightgbm.Dataset) -> tuple[FloatArray, FloatArray]:
        g = expit(score)
        q = low + (high - low) * g
        r = g * np.where(y == 1, high / q, (1 - high) / (1 - q))
        return g - r, ((high - low) * g * (1 - g)) ** 2 / (q * (1 - q))

    data = lightgbm.Dataset(x[task.rows], label=y, params=PARAMETERS)
    model = lightgbm.train({**PARAMETERS, "objective": objective}, data, num_boost_round=150)
    return np.asarray(model.predict(x, num_threads=1))
