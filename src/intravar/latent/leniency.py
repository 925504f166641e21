"""Whether physicians differ in how they decide, or only in where they draw the line.

A physician who draws the line elsewhere treats more patients, or fewer, and may be as consistent as
anybody. Clear cases tell the two apart: among patients who are surely eligible a line no longer
matters, and a rate does. Without clear cases both look alike, and an order by rates would be one of
leniency. So both are tried on patients who were held out: rates of everybody's own, with or without
a line of their own, against one pair of rates for all and a line of everybody's own.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.calibration import calibrate, count
from intravar.observed import Observed
from intravar.seeds import stream

#: Strengths of the prior of the rates; the best is taken, lest rates lose for being estimated.
STRENGTHS = (2.0, 8.0, 30.0)
#: With a prior as strong all physicians have the same rates.
ALL_THE_SAME = 1e5
#: How often patients are dealt into halves.
N_SPLITS = 2
#: Physicians beyond which a sample is tried.
MOST_PHYSICIANS = 60


def rates_over_limits(score: FloatArray, decided: Observed, seed: int) -> float:
    """Return by how much own rates predict decisions better than own limits, in log-likelihood.

    `score` is the logit of being eligible, not informed by the patient's own decision; `seed` is
    that of the halves.

    Examples
    --------
    Half of ten physicians toss a coin for half of their patients, however clear they are:

    >>> who, score = np.repeat(np.arange(10), 200), np.tile(np.linspace(-6.0, 6.0, 200), 10)
    >>> tossed = np.random.default_rng(0).random(2000) < 0.5
    >>> y = np.where(who % 2 == 0, tossed, score > 0) & (score > 0)
    >>> rates_over_limits(score, Observed.of(score[:, None], y, who), 0) > 10
    True
    """
    random = stream(seed, "rates or limits")
    # The patients of some physicians, where there are many.
    chosen = random.permutation(len(decided))[:MOST_PHYSICIANS]
    rows = np.flatnonzero(np.isin(decided.code, chosen)).astype(np.int64)
    score, decided = score[rows], decided.take(rows)
    gains = []
    for _ in range(N_SPLITS):
        order = np.lexsort((random.random(len(score)), decided.code))
        odd = np.zeros(len(score), dtype=np.bool_)
        odd[order[1::2]] = True
        held_out = partial(_held_out, score, decided, (np.flatnonzero(odd), np.flatnonzero(~odd)))
        limits = held_out(ALL_THE_SAME, personal=True)
        rates = max(held_out(each, personal=False) for each in STRENGTHS)
        if rates <= limits:
            # They may differ in both.
            rates = max(rates, *(held_out(each, personal=True) for each in STRENGTHS[1:]))
        gains.append(rates - limits)
    return float(np.mean(gains))


def _held_out(
    score: FloatArray,
    decided: Observed,
    parts: tuple[IntArray, IntArray],
    strength: float,
    *,
    personal: bool,
) -> float:
    """Return the log-likelihood of each part's decisions, calibrated on the other."""
    total = 0.0
    for learned, other in (parts, parts[::-1]):
        counts = count(score, decided, learned)
        fit = calibrate(counts, tight=True, strength=min(strength, STRENGTHS[-1]))
        if personal:
            if strength == ALL_THE_SAME:
                high, low = (np.full_like(rate, rate.mean()) for rate in (fit.p_high, fit.p_low))
                fit = replace(fit, p_high=high, p_low=low)
            fit = calibrate(counts, fit, personal=True, tight=True, strength=strength)
        total += fit.log_likelihood_of(score, decided, other)
    return total
