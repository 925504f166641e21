"""What the candidates of one fold learned in common, kept for physicians beyond the sample.

Nothing here belongs to a patient. A physician who was not learned from is read by it as one who
was: the common trees score the patients, the physician's own rule and forest are learned from the
patients of the other folds. No result depends on who else is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.average_kernel import average_rows
from intravar.prediction.axes import clipped_logit, personal_axes
from intravar.prediction.camps import CampRules
from intravar.prediction.forests import own_forests
from intravar.prediction.personal import Hyper, PersonalRules, fit_rules
from intravar.prediction.personal_kernel import FLATTEN
from intravar.prediction.pooled import CommonTrees
from intravar.prediction.stacking import Level
from intravar.prediction.trees import Bins

POOLED, COLLEAGUES = "pooled", "colleagues"
PERSONAL, OWN = "personal", "own forest"


@dataclass(frozen=True, eq=False)
class OtherPanels:
    """Panels of physicians who were not learned from, made ready; sorted by physician.

    Attributes
    ----------
    covariates, columns, bins
        Covariates without gaps, columns of a rule, binned covariates.
    decision, code, fold
        Per patient.
    row
        Position of every patient in the table that was given.
    n_physicians
        How many there are.
    """

    covariates: FloatArray
    columns: FloatArray
    bins: Bins
    decision: IntArray
    code: IntArray
    fold: IntArray
    row: IntArray
    n_physicians: int


@dataclass(frozen=True, eq=False)
class AverageColleague:
    """Some physicians' rules side by side; see :func:`average_rows`."""

    weights: FloatArray
    spreads: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, rules: PersonalRules, among: IntArray) -> AverageColleague:
        """Take the rules of some physicians."""
        theta, covariance = rules.theta[among], rules.covariance[among]
        d = theta.shape[1] - 2
        k, h = np.tril_indices(d)
        spreads = np.where(k == h, 0.5, 1.0) * (covariance[:, k, h] + covariance[:, h, k])
        flat = np.sqrt(1 + FLATTEN * np.einsum("jkk->jk", covariance)[:, d:])
        rates = expit(theta[:, d:] / flat)
        return cls(
            np.ascontiguousarray(theta[:, :d].T),
            np.ascontiguousarray(spreads.T),
            rates[:, 0].copy(),
            rates[:, 1].copy(),
        )

    def predict(self, Z: FloatArray, rows: IntArray) -> FloatArray:
        """Return P(yes) of some rows with one of the physicians, drawn at random."""
        found: FloatArray = average_rows(Z, rows, self.weights, self.spreads, self.low, self.high)
        return found


@dataclass(frozen=True, eq=False)
class FoldCommon:
    """What is common, learned without one fold.

    Attributes
    ----------
    chosen
        Columns that rules weigh.
    first, second
        Common trees, blind to who decided and weighed by rates.
    hyper
        Mean and covariance of the physicians' parameters.
    colleagues
        The average colleague.
    share
        P(yes) of whoever has no patients to grow a forest on.
    camps
        Camps by name.
    own
        Covariates that forests look at.
    """

    chosen: IntArray
    first: CommonTrees
    second: CommonTrees
    hyper: Hyper
    colleagues: AverageColleague
    share: float
    camps: Mapping[str, CampRules]
    own: IntArray

    def read(self, panels: OtherPanels, out: npt.NDArray[np.bool_]) -> Level:
        """Predict the patients of `out` from the others of the same physicians."""
        y, code, J = panels.decision, panels.code, panels.n_physicians
        rows, wanted = np.flatnonzero(~out), np.flatnonzero(out)
        Z = np.column_stack(
            [np.ones(len(y)), self.second.scores(panels.bins), panels.columns[:, self.chosen]]
        )
        rules = fit_rules(Z, y, code, rows, J, self.hyper)
        own = own_forests(panels.covariates, y, code, rows, wanted, J, self.share, self.own)
        logits = {
            POOLED: self.first.scores(panels.bins[wanted]),
            COLLEAGUES: clipped_logit(self.colleagues.predict(Z, wanted)),
            PERSONAL: clipped_logit(rules.predict(Z, code, wanted)),
            OWN: clipped_logit(own),
        }
        for name, camps in self.camps.items():
            logits[name] = clipped_logit(camps.predict(Z, y, code, rows, wanted, rules))
        panel = np.bincount(code[rows], minlength=J)
        return Level(logits, personal_axes(Z, code, wanted, rules, 1, panel))
