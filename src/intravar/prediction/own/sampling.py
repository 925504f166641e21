"""What is common to the physicians, learned from draws of their parameters instead of modes.

Modes and the curvature around them say too little of how sharp rules are where panels are small:
common weights come out too flat, and a physician who follows a sharp rule of their own looks like
one who decides by chance. Draws from the posteriors do not have this fault. In each round every
physician's parameters are drawn, and mean and covariance of all are read from the draws.

Rounds are slow in one direction: how sharp all rules are. So everybody's weights are stretched
together once a round, to where the decisions are likeliest.

References
----------
Celeux and Diebolt, Comput Stat Q 1985;2:73-82 (stochastic EM).
Liu, Rubin and Wu, Biometrika 1998;85:755-770 (parameter expansion: the stretching).
"""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.own.rules import Hyper, held_back_covariance, sorted_panels
from intravar.prediction.own.sampling_kernel import draw_panels, stretched
from intravar.seeds import stream

#: Rounds, of which the later half is averaged; moves of every physician in each.
ROUNDS = 40
MOVES = 4
#: Random numbers per move: a level, an angle, and for how often an arc may be narrowed.
CHANCES = 32
#: Logits of common rates from which the search starts lie within these limits.
START_LIMIT = 4.0
#: Factors at which stretching is tried, on the log scale, and the largest step of a round.
TRIED = 0.1
LARGEST_STRETCH = 0.2
#: Weights are not stretched beyond this standard deviation, or this mean.
LARGEST_WEIGHT = 8.0


def sampled_hyper(
    Z: FloatArray,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    n_physicians: int,
    start: Hyper,
    seed: int,
) -> Hyper:
    """Estimate mean and covariance of the physicians' parameters from draws of them.

    Parameters
    ----------
    Z
        Columns of the rule, the constant first; one row per patient.
    y, code
        Decision and physician per patient.
    rows
        Patients to learn from; physicians without any are left out.
    n_physicians
        Number of physicians.
    start
        Where to begin.
    seed
        Of the draws.
    """
    random, Z = stream(seed, "prediction", "draws"), np.ascontiguousarray(Z)
    order, begin = sorted_panels(code, rows, n_physicians)
    begin = np.unique(begin)
    J, m = len(begin) - 1, len(start.mean)
    mean, covariance = start.mean.copy(), start.covariance
    mean[-2:] = np.clip(mean[-2:], -START_LIMIT, START_LIMIT)
    theta = np.tile(mean, (J, 1))
    kept = []
    for number in range(ROUNDS):
        root = np.linalg.cholesky(covariance)
        moves = random.standard_normal((J, MOVES, m)) @ root.T
        draw_panels(Z, y, order, begin, theta, mean, moves, random.random((J, MOVES, CHANCES)))
        theta[:, :-2] *= _stretch(Z, y, order, begin, theta)
        mean = theta.mean(axis=0)
        covariance = held_back_covariance(theta - mean, np.zeros((m, m)))
        if number >= ROUNDS // 2:
            kept.append((mean, covariance))
    means, covariances = zip(*kept, strict=True)
    return Hyper(np.mean(means, axis=0), np.mean(covariances, axis=0))


def _stretch(
    Z: FloatArray, y: IntArray, order: IntArray, begin: IntArray, theta: FloatArray
) -> float:
    """Return the factor of everybody's weights under which the decisions are likeliest, nearly."""
    below, here, above = stretched(Z, y, order, begin, theta, np.exp([-TRIED, 0.0, TRIED]))
    bend, slope = above - 2 * here + below, 0.5 * (above - below)
    step = -TRIED * slope / bend if bend < 0 else np.sign(slope) * TRIED
    weights = theta[:, :-2]
    largest = max(float(weights.std(axis=0).max()), float(np.abs(weights.mean(axis=0)).max()), 1e-9)
    return float(
        min(
            np.exp(np.clip(step, -LARGEST_STRETCH, LARGEST_STRETCH)),
            max(LARGEST_WEIGHT / largest, 1.0 - LARGEST_STRETCH),
        )
    )
