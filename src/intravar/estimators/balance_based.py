"""What the two genetic methods share: weights searched for balance, neighbours with replacement."""

from __future__ import annotations

from typing import Any

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.matching import MatchingEstimator
from intravar.estimators.work import Size, Work, growing, pairing
from intravar.learning.balance.balance_search import BalanceSearch, search_balance
from intravar.matching.comparison import Strategy
from intravar.observed import Observed

#: The search pairs this many times, by and large.
SEARCHES = 30


class BalanceBased(MatchingEstimator):
    """Gives each patient its nearest other patient, who may serve many."""

    supervised = True
    # Part of the methods, not a choice: they pair with replacement.
    strategy: Strategy = "nearest"

    generations: int
    random_state: int
    n_jobs: int | None
    weights_: FloatArray
    search_: BalanceSearch | None

    def _set_weights(self, observed: Observed, points: FloatArray, search: bool) -> None:
        """Set the weights of the columns of `points`: searched, or else all equal."""
        n_columns = points.shape[1]
        self.search_ = None
        self.weights_ = np.full(n_columns, 1 / max(n_columns, 1))
        if search and n_columns:
            self.search_ = search_balance(
                points,
                observed.decision,
                balance=observed.standardised,
                seed=self.random_state,
                generations=self.generations,
                workers=self.n_jobs or 1,
            )
            self.weights_ = self.search_.weights

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        return Work(SEARCHES * pairing(size), growing(size))

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        if self.search_ is None:
            return {}
        return {
            "weights": self._named_weights(),
            "balance_trace": self.search_.trace.tolist(),
            "evaluations": self.search_.n_evaluations,
        }

    def _named_weights(self) -> dict[str, float]:
        """Return the weights by the names of their columns."""
        return dict(zip(self.feature_names_in_.tolist(), self.weights_.tolist(), strict=True))
