"""Physicians beyond the sample: how far their scores lie from a fit on everybody, and the seconds.

400 physicians with 100 to 500 patients each. The latent rule is fitted on a part of the physicians
and reads the others; beside it everybody is fitted. Differences are in standard errors of the
scores. Seconds are of the processor.
"""

from __future__ import annotations

import pickle
import time
import warnings

import numpy as np

import intravar
from intravar.arrays import FloatArray
from intravar.observed import Observed
from intravar.seeds import stream

SEED = 60_000
N_PHYSICIANS = 400
CONDITIONS = (
    "score2",
    "continuous",
    "stress-two-camps",
    "stress-own-conjunctions",
)
SHARES = (0.1, 0.25, 0.5)
#: Physicians and patients of each, for the seconds; 20 covariates.
SIZES = ((40, 500), (200, 100), (2000, 10))
N_COVARIATES = 20


def run(*names: str) -> None:
    warnings.simplefilter("ignore")
    print(f"{'condition':28}{'sample':>7}{'rule':>18}{'|d|/se':>8}{'d/se':>7}{'error':>8}", end="")
    print(f"{'of all':>8}{'cover':>7}{'of all':>8}{'width':>7}{'of all':>8}")
    for name in names or CONDITIONS:
        _accuracy(name)
    if not names:
        _seconds()


def uneven(name: str, n_physicians: int = N_PHYSICIANS) -> tuple[Observed, FloatArray]:
    """Return patients of physicians with 100 to 500 each, and what their scores should be."""
    n = 500 * n_physicians
    cohort = intravar.simulate(name, n_patients=n, n_physicians=n_physicians, random_state=SEED)
    observed = Observed.of(*cohort.observed(), keep_missing=True)
    random = stream(SEED, "benchmarks", "beyond", name)
    size = random.integers(100, 501, n_physicians)
    kept = [rows[: size[j]] for j, rows in enumerate(observed.panels)]
    truth = intravar.oracle(cohort)["d_star"].to_numpy()
    return observed.take(np.sort(np.concatenate(kept))), truth


def _accuracy(name: str) -> None:
    observed, truth = uneven(name)
    full = intravar.LatentRule().fit_observed(observed)
    order = stream(SEED, "benchmarks", "beyond", name, "sample").permutation(N_PHYSICIANS)
    for share in SHARES:
        sampled = np.isin(np.arange(N_PHYSICIANS), order[: int(share * N_PHYSICIANS)])
        sample, rest = (
            observed.take(np.flatnonzero(who[observed.code])) for who in (sampled, ~sampled)
        )
        model = intravar.LatentRule().fit_observed(sample)
        read = model.reader().read(rest)
        at = np.flatnonzero(~sampled)
        error = float(full.ends().standard_error[at].mean())
        away = read.score_ - full.score_[at]
        print(
            f"{name:28}{share:7.0%}{model.rule_:>18}{np.abs(away).mean() / error:8.2f}"
            f"{away.mean() / error:7.2f}{np.abs(read.score_ - truth[at]).mean():8.4f}"
            f"{np.abs(full.score_ - truth)[at].mean():8.4f}"
            f"{_covered(read, truth[at]).mean():7.2f}{_covered(full, truth)[at].mean():8.2f}"
            f"{(read.high_ - read.low_).mean():7.3f}{(full.high_ - full.low_)[at].mean():8.3f}",
            flush=True,
        )


def _covered(model: intravar.LatentRule, truth: FloatArray) -> FloatArray:
    return np.asarray((model.low_ <= truth) & (truth <= model.high_))


def _seconds() -> None:
    print(f"\n{'rule':20}{'panel':>6}{'ms a patient':>14}{'ms a panel':>12}{'MB kept':>9}")
    for rule in ("shared", "personal weights", "personal limits"):
        model = intravar.LatentRule().fit_observed(_made(rule, 60, 300))
        kept = pickle.dumps(model.reader())
        for n_physicians, panel in SIZES:
            observed = _made(rule, n_physicians, panel)
            light = pickle.loads(kept)
            light.read(observed.take(observed.panels[0]))
            begin = time.process_time()
            light.read(observed)
            taken = 1e3 * (time.process_time() - begin)
            print(
                f"{model.rule_:20}{panel:6}{taken / observed.n_patients:14.4f}"
                f"{taken / n_physicians:12.3f}{len(kept) / 1e6:9.2f}",
                flush=True,
            )


def _made(rule: str, n_physicians: int, panel: int) -> Observed:
    """Return physicians who share a rule, weigh covariates in two camps, or have two limits."""
    random = stream(SEED, "benchmarks", "beyond", rule, str(panel))
    who = np.repeat(np.arange(n_physicians), panel)
    x = random.normal(size=(len(who), N_COVARIATES))
    eligible = x[:, 0] + 0.7 * x[:, 1] > 0
    if rule == "personal weights":
        eligible = np.where(who % 2 == 0, eligible, x[:, 2] - 0.7 * x[:, 3] > 0)
    elif rule == "personal limits":
        pair = np.array([random.permutation(6)[:2] for _ in range(n_physicians)])[who]
        one, other = np.take_along_axis(x, pair, axis=1).T
        eligible = (one > -0.3) & (other > -0.3)
    high, low = random.beta(8, 2, n_physicians), random.beta(1, 15, n_physicians)
    y = random.random(len(who)) < np.where(eligible, high[who], low[who])
    return Observed.of(x, y.astype(int), who, keep_missing=True)
