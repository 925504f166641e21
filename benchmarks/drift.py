"""Drift: the headline limit with and without the date of the decision, beside the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

import intravar
from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.seeds import stream
from intravar.study.simulation import find_condition

#: Draws are counted from here, apart from those of the benchmark of courses.
FIRST_DRAW, DRAWS = 801, 5
CONDITIONS = ("drift-none", "drift-slow", "drift-step", "drift-guideline")
N_DAYS = 730


def run(*wanted: str) -> None:
    """Print a row per condition: means over the draws.

    `hold` is the share of physicians whose upper end is not below the discordance of two patients
    who are alike in the record and seen on the same day.
    """
    print("condition             truth   without the date, hold   with the date, hold")
    for name in wanted or (*CONDITIONS, *PERSONAL):
        rows = [_draw(name, FIRST_DRAW + number) for number in range(DRAWS)]
        truth, without, held_without, with_date, held_with = np.mean(rows, axis=0)
        print(
            f"{name:<20}  {truth:.3f}   {without:.3f}             {held_without:.3f}"
            f"   {with_date:.3f}          {held_with:.3f}",
            flush=True,
        )


def _draw(name: str, draw: int) -> tuple[float, ...]:
    observed, truth = PERSONAL[name](draw) if name in PERSONAL else _simulated(name, draw)
    figures = [float(truth.mean())]
    for each in (replace(observed, time=None, _learned={}), observed):
        model = intravar.Predictability(n_jobs=2).fit_observed(each)
        figures += [float(model.score_.mean()), float(np.mean(model.high_ >= truth))]
    return tuple(figures)


def _simulated(name: str, draw: int) -> tuple[Observed, FloatArray]:
    """Return a condition of the study, its day as the time of the decision."""
    cohort = intravar.simulate(name, random_state=find_condition(name).replicate_seed(draw))
    assert cohort.truth is not None
    day = cohort.covariates["day"].to_numpy().astype(np.float64)
    observed = Observed.of(
        cohort.covariates.drop("day"), cohort.decision, cohort.physician, time=day
    )
    return observed, _mean_by_physician(cohort.truth.comparable, observed.code)


def _mean_by_physician(values: FloatArray, code: IntArray) -> FloatArray:
    return np.asarray(np.bincount(code, values) / np.bincount(code))


def _own_drift(draw: int) -> tuple[Observed, FloatArray]:
    """Thresholds of physicians move evenly, each in a direction of its own."""
    random, x, code, time = _patients("own-drift", draw)
    pace = random.normal(0.0, 2.0, code.max() + 1)
    return _decided(random, x, code, time, pace[code] * (time / N_DAYS - 0.5))


def _own_step(draw: int) -> tuple[Observed, FloatArray]:
    """Thresholds of physicians move at once, each on a day and in a direction of its own."""
    random, x, code, time = _patients("own-step", draw)
    day = random.uniform(0.2, 0.8, code.max() + 1) * N_DAYS
    size = random.normal(0.0, 1.5, code.max() + 1)
    return _decided(random, x, code, time, np.where(time > day[code], size[code], 0.0))


def _steady(draw: int) -> tuple[Observed, FloatArray]:
    """Nothing moves, in panels of 100."""
    random, x, code, time = _patients("own-none", draw, panel=100)
    return _decided(random, x, code, time, np.zeros(len(code)))


def _patients(
    name: str, draw: int, panel: int = 200
) -> tuple[np.random.Generator, FloatArray, IntArray, FloatArray]:
    random = stream(draw, "benchmark", name)
    code = np.repeat(np.arange(30), panel)
    x = random.normal(size=(len(code), 5))
    return random, x, code, np.floor(random.uniform(0, N_DAYS, len(code)))


def _decided(
    random: np.random.Generator, x: FloatArray, code: IntArray, time: FloatArray, shift: FloatArray
) -> tuple[Observed, FloatArray]:
    """Draw decisions by a sharp rule around thresholds that are moved by `shift`."""
    level = random.normal(0.0, 0.5, code.max() + 1)
    p = expit(4 * (x[:, 0] + 0.5 * x[:, 1] + level[code] + shift))
    decision = (random.random(len(p)) < p).astype(np.int64)
    observed = Observed.of(x, decision, code, time=time)
    return observed, _mean_by_physician(2 * p * (1 - p), observed.code)


PERSONAL = {"own-drift": _own_drift, "own-step": _own_step, "own-none": _steady}
