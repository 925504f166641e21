"""What the two feature-weighted methods share: weights that stretch the standardised space."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.matching import MatchingEstimator
from intravar.matching.comparison import Points
from intravar.observed import Observed


class WeightedEstimator(MatchingEstimator):
    """Pairs patients close on the covariates that matter for the decision.

    d(i, k) = |diag(sqrt(w)) (z_i - z_k)| with weights w that sum to 1.

    Attributes
    ----------
    weights_
        Weight of every covariate.
    """

    weights_: FloatArray

    @abstractmethod
    def _raw_weights(self, observed: Observed) -> FloatArray:
        """Return weights that need not sum to 1."""

    def _comparison(self, observed: Observed) -> Points:
        raw = self._raw_weights(observed)
        total = raw.sum()
        if total <= 0:
            warnings.warn(
                f"{self.label}: no covariate tells anything about the decision; "
                "all get the same weight",
                stacklevel=4,
            )
            raw, total = np.ones_like(raw), float(len(raw))
        self.weights_ = raw / total
        return Points(observed.standardised * np.sqrt(self.weights_))

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {"weights": dict(zip(self.feature_names_in_, self.weights_, strict=True))}
