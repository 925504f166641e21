"""Physicians beyond the sample by `Predictability`: what reading them takes, and what it is worth.

Speed: 20 covariates, learned from 40 physicians of 500 patients each; panels of 500, 100 and 10.
Worth: 400 physicians of 100 to 500 patients each. Scores of those outside the sample are held
against a fit on everybody, in standard errors of the scores, and against the truth. The last row
is another fit on everybody, which differs by its seed alone.
"""

from __future__ import annotations

import pickle
import time

import numpy as np
import polars as pl
from scipy.stats import spearmanr

import intravar
from intravar.arrays import BoolArray, FloatArray
from intravar.estimators.predictability import Predictability
from intravar.observed import Observed

COVARIATES = 20
PANELS = ((40, 500), (100, 100), (1000, 10))
CONDITIONS = ("score2", "continuous", "stress-own-rules")
PHYSICIANS = 400
SHARES = (0.1, 0.25, 0.5)


def run(*conditions: str) -> None:
    """Print both tables; conditions may be named."""
    if not conditions:
        _speed()
    for condition in conditions or CONDITIONS:
        _worth(condition)


def _speed() -> None:
    light = Predictability().fit_observed(_patients(40, 500, seed=1)).reader()
    print(f"common part: {len(pickle.dumps(light)) / 1e6:.2f} MB\n")
    print(f"{'panels':>10}{'of':>8}{'CPU ms a patient':>20}{'CPU ms a panel':>18}")
    for n_physicians, size in PANELS:
        patients = _patients(n_physicians, size, seed=2)
        light.read(patients)
        begin = time.process_time()
        light.read(patients)
        spent = 1e3 * (time.process_time() - begin)
        n = patients.n_patients
        print(f"{n_physicians:>10}{size:>8}{spent / n:>20.4f}{spent / n_physicians:>18.2f}")
    print()


def _patients(n_physicians: int, size: int, seed: int) -> Observed:
    """Make panels of one size: the covariates of the continuum, and others without a meaning."""
    n = n_physicians * size
    cohort = intravar.simulate(
        "continuous", n_patients=max(n, 4000), n_physicians=40, random_state=seed
    )
    X, y, physician = cohort.observed()
    random = np.random.default_rng(seed)
    noise = {f"other{at}": random.normal(size=X.height) for at in range(COVARIATES - X.width)}
    rows = np.argsort(physician.to_numpy(), kind="stable")[:n]
    table = X.with_columns(**{name: pl.Series(values) for name, values in noise.items()})
    return Observed.of(table[rows], y[rows], np.repeat(np.arange(n_physicians), size))


def _worth(condition: str) -> None:
    everybody, truth = _cohort(condition)
    full = Predictability().fit_observed(everybody)
    error = float(full.ends().standard_error.mean())
    print(f"{condition}: {everybody.n_patients:,} patients, standard error {error:.4f}")
    print(f"{'learned from':>22}{'|d| / se':>10}{'d / se':>9}{'Spearman':>10}{'excess':>9}")

    def say(label: str, score: FloatArray, who: BoolArray) -> None:
        away, beyond = (score - full.score_[who]) / error, float(np.mean(score - truth[who]))
        order = float(spearmanr(score, truth[who]).statistic)
        print(
            f"{label:>22}{np.abs(away).mean():>10.3f}{away.mean():>+9.3f}{order:>10.3f}"
            f"{beyond:>+9.4f}",
            flush=True,
        )

    all_of_them = np.ones(PHYSICIANS, dtype=np.bool_)
    say("everybody", full.score_, all_of_them)
    for share in SHARES:
        drawn = np.random.default_rng(1).permutation(PHYSICIANS)[: int(share * PHYSICIANS)]
        chosen = np.isin(np.arange(PHYSICIANS), drawn)
        inside = chosen[everybody.code]
        sample = everybody.take(np.flatnonzero(inside))
        light = Predictability().fit_observed(sample).reader()
        read = light.read(everybody.take(np.flatnonzero(~inside)))
        say(f"{sample.n_patients:,} patients", read.score_, ~chosen)
    again = Predictability(random_state=7).fit_observed(everybody)
    say("everybody, other seed", again.score_, all_of_them)
    print()


def _cohort(condition: str) -> tuple[Observed, FloatArray]:
    cohort = intravar.simulate(
        condition, random_state=5, n_patients=520 * PHYSICIANS, n_physicians=PHYSICIANS
    )
    everybody = Observed.of(*cohort.observed(), keep_missing=True)
    sizes = np.random.default_rng(5).integers(100, 501, PHYSICIANS)
    rows = [panel[:size] for panel, size in zip(everybody.panels, sizes, strict=True)]
    truth = intravar.oracle(cohort)["comparable"].to_numpy()
    return everybody.take(np.sort(np.concatenate(rows))), truth
