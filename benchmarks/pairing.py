"""Assignment solvers by panel size, and what Algorithm 1 loses against exact matching."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import intravar
from intravar.estimators import Observed
from intravar.matching.assignment import solve
from intravar.matching.distances import MatrixDistances, PointDistances
from intravar.matching.pairing import exact_matching, greedy_matching, pair_by_assignment

SIZES = (40, 500, 2_000, 6_000)


def run() -> None:
    _solvers()
    print()
    _loss()


def _solvers() -> None:
    z = Observed.of(*intravar.simulate("score2", n_patients=6_000).observed()).standardised
    print(f"{'panel size':>12}{'scipy s':>12}{'matrix s':>12}{'points s':>12}{'best ratio':>12}")
    for size in SIZES:
        points = z[:size]
        distances = cdist(points, points)
        barred = distances.copy()
        np.fill_diagonal(barred, 4 * distances.max())
        seconds = []
        for solver, given in (
            (lambda matrix: linear_sum_assignment(matrix), barred),
            (solve, MatrixDistances(distances)),
            (solve, PointDistances(points)),
        ):
            repeats = max(1, 1_000 // size)
            begin = time.process_time()
            for _ in range(repeats):
                solver(given)
            seconds.append((time.process_time() - begin) / repeats)
        best = seconds[0] / min(seconds[1:])
        print(f"{size:>12,}" + "".join(f"{each:>12.4f}" for each in seconds) + f"{best:>12.1f}")


def _loss() -> None:
    """Total distance of Algorithm 1 against exact matching, without and with the caliper."""
    observed = Observed.of(*intravar.simulate("score2").observed())
    z = observed.standardised / np.sqrt(observed.standardised.shape[1])
    print(f"{'Euclidean, SCORE2':28}{'pairs a panel':>16}{'mean distance':>16}{'total':>12}")
    for title, percentile in (("no caliper", 100.0), ("caliper at 25 %", 25.0)):
        for name, pair in (
            ("Algorithm 1", pair_by_assignment),
            ("exact", exact_matching),
            ("greedy", greedy_matching),
        ):
            found = [
                pair(MatrixDistances(cdist(z[rows], z[rows])), percentile)
                for rows in observed.panels
            ]
            pairs = sum(len(pairing.pairs) for pairing in found)
            total = sum(float(pairing.distances.sum()) for pairing in found)
            label = f"{title}, {name}"
            print(f"{label:28}{pairs / len(found):>16.2f}{total / pairs:>16.4f}{total:>12.1f}")
