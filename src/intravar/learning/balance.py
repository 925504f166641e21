"""The weight search of Genetic Mahalanobis matching.

Diamond and Sekhon (2013) search covariate weights under which treated patients and their matched
controls are alike. Here the candidates are drawn and selected by SciPy's differential evolution,
and each is judged by the largest mean difference that is left after matching every treated patient
to the nearest control.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import differential_evolution
from scipy.spatial import KDTree
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray

LARGEST_WEIGHT = 10.0
POPULATION_PER_COVARIATE = 15
GENERATIONS = 10


@dataclass(frozen=True)
class BalanceSearch:
    """What the search found.

    The best weights, scaled to sum to one, and their largest absolute mean difference; equal
    weights and NaN if there was nothing to search. `trace` is the best loss of the first population
    and after each generation. Ten generations rarely suffice for the population to agree
    (`converged`).
    """

    weights: FloatArray
    loss: float
    trace: FloatArray
    n_evaluations: int
    converged: bool
    message: str


def search_balance(
    covariates: FloatArray,
    decisions: ArrayLike,
    *,
    seed: int | np.random.Generator,
    generations: int = GENERATIONS,
    workers: int = 1,
) -> BalanceSearch:
    """Search weights that balance treated patients and their nearest controls.

    Covariates are standardised and without gaps. The first population has 15 weightings per
    covariate; the number of threads that evaluate one does not change the result.

    Examples
    --------
    >>> covariates = np.random.default_rng(0).normal(size=(60, 2))
    >>> search = search_balance(covariates, covariates[:, 0] > 0, seed=1, generations=2)
    >>> search.n_evaluations, len(search.trace)
    (90, 3)
    """
    array, treated = np.ascontiguousarray(covariates), np.asarray(decisions) == 1
    p = array.shape[1]
    if p == 0 or not treated.any() or treated.all():
        what = "covariates" if p == 0 else "treated patients" if not treated.any() else "controls"
        equal = np.full(p, 1.0 / max(p, 1))
        return BalanceSearch(equal, float("nan"), np.empty(0), 0, False, f"there are no {what}")
    trace: list[float] = []
    # The products are small: threads of BLAS would only get in each other's way.
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:

        def evaluate(
            loss: Callable[[FloatArray], float], population: Iterable[FloatArray]
        ) -> list[float]:
            losses = list(pool.map(loss, population) if workers > 1 else map(loss, population))
            trace.append(min([*losses, *trace[-1:]]))
            return losses

        result = differential_evolution(
            partial(balance_loss, treated=array[treated], controls=array[~treated]),
            bounds=[(0.0, LARGEST_WEIGHT)] * p,
            popsize=POPULATION_PER_COVARIATE,
            maxiter=generations,
            polish=False,
            # A whole generation is drawn before it is judged: the path cannot depend on the
            # workers.
            updating="deferred",
            workers=evaluate,
            rng=np.random.default_rng(seed),
        )
    return BalanceSearch(
        normalised(result.x),
        float(result.fun),
        np.array(trace),
        int(result.nfev),
        bool(result.success),
        str(result.message),
    )


def balance_loss(weights: FloatArray, treated: FloatArray, controls: FloatArray) -> float:
    """Return the largest absolute mean difference between treated patients and nearest controls.

    The scale of the weights does not matter.

    Examples
    --------
    >>> treated, controls = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> [balance_loss(np.array(weights), treated, controls) for weights in ([9.0, 1], [1.0, 9])]
    [2.0, 1.0]
    """
    scale = np.sqrt(normalised(weights))
    # Sliding midpoints: medians would degrade when many patients share one point.
    tree = KDTree(controls * scale, balanced_tree=False, compact_nodes=False)
    matched = controls[tree.query(treated * scale)[1]]
    return float(np.abs(treated.mean(axis=0) - matched.mean(axis=0)).max())


def normalised(weights: FloatArray) -> FloatArray:
    """Scale weights to sum to one; weights that are all zero become equal."""
    total = weights.sum()
    even = np.full(len(weights), 1.0 / len(weights))
    return np.asarray(weights / total) if total else even
