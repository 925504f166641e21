"""A peer: reliability without repeats, by extrapolating agreement to no difference at all.

Two patients of a physician who differ in fewer attributes are decided alike more often. Agreement
is regressed on the number of attributes in which pairs differ, and read where none differs. That is
how intra-respondent reliability is estimated in conjoint experiments without a repeated task.

References
----------
Clayton, Horiuchi, Kaufman, King and Komisarchik, Correcting measurement error bias in conjoint
survey experiments (the R package projoint, `predict_tau`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray
from intravar.estimators.base import Estimator
from intravar.observed import Observed
from intravar.seeds import stream

#: Covariates with more values are cut at their quantiles into so many levels.
LEVELS = 3
#: Pairs drawn per physician.
MOST_PAIRS = 20_000
TOO_FEW = "fewer than two patients"


class Extrapolation(Estimator):
    """Scores disagreement where two patients would differ in no attribute, by a straight line.

    Parameters
    ----------
    random_state
        Seed of the pairs that are drawn from large panels.

    Examples
    --------
    >>> import intravar
    >>> from benchmarks._extrapolation import Extrapolation
    >>> cohort = intravar.simulate("score2", n_patients=500, n_physicians=5)
    >>> Extrapolation().fit(*cohort.observed()).score_.shape
    (5,)
    """

    name = "extrapolation"
    label = "Extrapolation"
    idea = "extrapolates disagreement of pairs to pairs that differ in nothing"
    supervised = False
    shares = "extrapolation"

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def _fit(self, observed: Observed) -> None:
        levels = attribute_levels(observed.covariates)
        scores = [self._score(levels[panel], observed.decision[panel]) for panel in observed.panels]
        self.score_ = np.array(scores)
        self.reason_ = [None if np.isfinite(score) else TOO_FEW for score in scores]

    def _score(self, levels: npt.NDArray[np.int64], y: npt.NDArray[np.int8]) -> float:
        n = len(y)
        if n < 2:
            return float("nan")
        first, second = np.triu_indices(n, 1) if n * (n - 1) / 2 <= MOST_PAIRS else self._drawn(n)
        differ = (levels[first] != levels[second]).sum(axis=1).astype(np.float64)
        apart = (y[first] != y[second]).astype(np.float64)
        if np.ptp(differ) == 0:
            return float(apart.mean())
        _, intercept = np.polyfit(differ, apart, 1)
        return float(np.clip(intercept, 0.0, 1.0))

    def _drawn(self, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        random = stream(self.random_state, "extrapolation", str(n))
        first = random.integers(0, n, MOST_PAIRS)
        return first, (first + random.integers(1, n, MOST_PAIRS)) % n


def attribute_levels(covariates: FloatArray) -> npt.NDArray[np.int64]:
    """Return every covariate as one of a few levels.

    Examples
    --------
    >>> attribute_levels(np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])).ravel().tolist()
    [0, 0, 1, 1, 2, 2]
    """
    columns = []
    for values in covariates.T:
        known = np.unique(values)
        if len(known) > LEVELS:
            cuts = np.quantile(values, np.arange(1, LEVELS) / LEVELS)
            columns.append(np.searchsorted(cuts, values, side="left"))
        else:
            columns.append(np.searchsorted(known, values))
    return np.column_stack(columns).astype(np.int64)
