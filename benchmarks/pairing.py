"""Assignment solvers by panel size, and what Algorithm 1 loses against exact matching."""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import intravar
from intravar.estimators import Observed
from intravar.matching.assignment import solve
from intravar.matching.distances import matrix_distances, point_distances
from intravar.matching.pairing import Strategy, pair_panel

SIZES = (40, 500, 2_000, 6_000)
STRATEGIES: dict[str, Strategy] = {
    "Algorithm 1": "algorithm-1",
    "exact": "exact",
    "greedy": "greedy",
}


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
            (solve, matrix_distances(distances)),
            (solve, point_distances(points)),
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
    for title, caliper in (("no caliper", 1.0), ("caliper at 25 %", 0.25)):
        for name, strategy in STRATEGIES.items():
            found = [
                pair_panel(point_distances(z[rows]), caliper=caliper, strategy=strategy)
                for rows in observed.panels
            ]
            pairs = sum(len(pairing.pairs) for pairing in found)
            total = sum(float(pairing.distances.sum()) for pairing in found)
            label = f"{title}, {name}"
            print(f"{label:28}{pairs / len(found):>16.2f}{total / pairs:>16.4f}{total:>12.1f}")
