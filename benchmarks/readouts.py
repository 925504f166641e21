"""Ways to read a physician's discordance from the same held-out scores of the latent rule.

soft: rates fitted to g as the learner gives it; core: share of discordant pairs among patients with
g above 0.8; calibrated core: the same after calibration; posterior: what LatentRule does. Each
figure is a mean over draws with its Monte-Carlo standard error; delta is against the oracle.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

import intravar
from intravar.estimators import Observed
from intravar.latent.calibration import calibrate, count, starting_rates
from intravar.latent.rule_learners import BoostedTrees
from intravar.latent.shared_rule import learn_shared
from intravar.panels import Layout, Panels
from intravar.study.cohort import Cohort
from intravar.study.oracle import pair_discordance
from intravar.study.tables import spearman

FloatArray = NDArray[np.float64]
CONDITIONS = ("score2", "continuous", "stress-graded", "stress-noise")
FIRST_SEED, DRAWS = 40_000, 4


def run() -> None:
    print(f"{'condition':16}{'read-out':18}{'delta':>18}{'error':>18}{'Spearman, D*':>18}")
    for condition in CONDITIONS:
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(FIRST_SEED, FIRST_SEED + DRAWS):
            cohort = intravar.simulate(condition, random_state=seed)
            truth = intravar.oracle(cohort)
            oracle, d_star = truth["oracle"].to_numpy(), truth["d_star"].to_numpy()
            for name, score in {**_readouts(cohort), "oracle": oracle}.items():
                measures = (
                    float(np.nanmean(score - oracle)),
                    float(np.nanmean(np.abs(score - d_star))),
                    spearman(score, d_star),
                )
                found.setdefault(name, []).append(measures)
        for name, values in found.items():
            mean = np.mean(values, axis=0)
            error = np.std(values, axis=0, ddof=1) / np.sqrt(DRAWS)
            cells = [f"{m:+.4f} ({e:.4f})" for m, e in zip(mean, error, strict=True)]
            print(f"{condition:16}{name:18}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def _readouts(cohort: Cohort) -> dict[str, FloatArray]:
    observed = Observed.of(*cohort.observed(), keep_missing=True)
    panels = Layout.of(observed).panels(observed)
    y, who, n_physicians = panels.y, panels.code, len(panels)
    score = _held_out(panels)
    fit = calibrate(count(score, panels))
    found = {
        "soft": _soft(expit(score), panels),
        "core": _core(expit(score), y, who, n_physicians),
        "calibrated core": _core(expit(fit.logit(score)), y, who, n_physicians),
        "posterior": learn_shared(score, panels, False).read(score, panels, "eligible").score,
    }
    return {name: panels.by_physician(values) for name, values in found.items()}


def _held_out(panels: Panels) -> FloatArray:
    fold = panels.deal(4, 0, "latent-rule")
    learn = BoostedTrees().prepare(panels.covariates)
    score = np.empty(len(panels.y))
    for left_out in range(4):
        rule = learn(panels, np.flatnonzero(fold != left_out))
        score[fold == left_out] = rule.logit(panels.covariates[fold == left_out])
    return score


def _soft(g: FloatArray, panels: Panels) -> FloatArray:
    y, who = panels.y, panels.code
    high, low = starting_rates(panels, np.arange(len(y)))
    bounded: Callable[[FloatArray], FloatArray] = lambda p: np.clip(p, 1e-6, 1 - 1e-6)  # noqa: E731
    for _ in range(500):
        h, lo = high[who], low[who]
        q = lo + (h - lo) * g
        r = g * np.where(y == 1, h / q, (1 - h) / (1 - q))
        high = bounded(np.bincount(who, r * y) / np.bincount(who, r))
        low = bounded(np.bincount(who, (1 - r) * y) / np.bincount(who, 1 - r))
    return 2 * high * (1 - high)


def _core(
    g: FloatArray, y: NDArray[np.int64], who: NDArray[np.int64], n_physicians: int
) -> FloatArray:
    inside = g > 0.8
    n = np.bincount(who[inside], minlength=n_physicians)
    return pair_discordance(n, np.bincount(who[inside], y[inside], minlength=n_physicians))
