"""Sampling: the limit from case-control and stratified samples, beside the population's truth."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

import intravar
from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.observed import Observed
from intravar.seeds import stream

DRAWS = 5
N_PHYSICIANS = 30
#: Share of the "no" that is kept in a case-control sample, and of a stratum.
KEPT = 0.1
DESIGNS = ("case-control", "stratified", "both", "random")


def run(*wanted: str) -> None:
    """Print a row per design: means over the draws.

    `hold` is the share of physicians whose upper end is not below their truth in the population.
    `rate` is the error of the mean prediction against the rate of the population.
    """
    print("design        truth   without weights, hold   with weights, hold   rate")
    for design in wanted or DESIGNS:
        rows = [_draw(design, number) for number in range(DRAWS)]
        truth, without, held_without, weighted, held, rate = np.mean(rows, axis=0)
        print(
            f"{design:<12}  {truth:.3f}   {without:.3f}            {held_without:.3f}"
            f"   {weighted:.3f}         {held:.3f}   {rate:+.4f}",
            flush=True,
        )


class Population(NamedTuple):
    """Patients, their decisions and physicians, and the probability of "yes"."""

    x: FloatArray
    y: IntArray
    code: IntArray
    p: FloatArray


def population(draw: int, panel: int = 1_200) -> Population:
    """Draw a population in which about one decision of ten is "yes"."""
    random = stream(draw, "benchmark", "sampling")
    code = np.repeat(np.arange(N_PHYSICIANS), panel)
    x = random.normal(size=(len(code), 5))
    steep = random.uniform(0.8, 3.0, N_PHYSICIANS)
    own = random.normal(0.0, 0.4, (N_PHYSICIANS, 2))
    weights = np.array([1.0, 0.6]) + own[code]
    score = (x[:, :2] * weights).sum(axis=1) - 1.6
    p = expit(steep[code] * score)
    return Population(x, (random.random(len(p)) < p).astype(np.int64), code, p)


def sampled(patients: Population, design: str, draw: int) -> tuple[BoolArray, FloatArray]:
    """Return which patients are in the sample, and the weights of all."""
    random = stream(draw, "benchmark", "sampling", design)
    rare = patients.y == 1
    stratum = patients.x[:, 0] > 0.5
    chances = {
        "case-control": np.where(rare, 1.0, KEPT),
        "stratified": np.where(stratum, 0.5, KEPT),
        "both": np.where(rare, np.where(stratum, 0.5, 1.0), np.where(stratum, 0.4, KEPT)),
        "random": np.full(len(rare), 0.2),
    }
    chance = chances[design]
    return random.random(len(chance)) < chance, 1 / chance


def _draw(design: str, draw: int) -> tuple[float, ...]:
    patients = population(draw)
    chosen, weight = sampled(patients, design, draw)
    discordance = np.bincount(patients.code, 2 * patients.p * (1 - patients.p))
    truth = discordance / np.bincount(patients.code)
    weight = weight[chosen]
    weighted = Observed.of(
        patients.x[chosen], patients.y[chosen], patients.code[chosen], weight=weight
    )
    figures = [float(truth.mean())]
    for observed in (replace(weighted, weight=None, _learned={}), weighted):
        model = intravar.Predictability(n_jobs=2).fit_observed(observed)
        figures += [float(model.score_.mean()), float(np.mean(model.high_ >= truth))]
    off = np.average(model.predicted_, weights=weight) - float(patients.y.mean())
    return (*figures, float(off))
