"""Panels of physicians beyond the sample, made ready as the sample was.

Columns, bins and scales are those that the sample taught. Folds are dealt panel by panel, by what
the panel holds: neither the other panels, nor the order of rows, nor names can reach a result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.observed import Observed
from intravar.prediction.canonical import RICH, alike_are_copies
from intravar.prediction.column_bins import ColumnScale, scaled_columns
from intravar.prediction.cross_fitting import PredictionTask
from intravar.prediction.dealing_kernel import deal_panels, panel_patterns
from intravar.prediction.fold_common import OtherPanels
from intravar.prediction.forests import filled
from intravar.prediction.personal import sorted_panels
from intravar.prediction.trees import binned
from intravar.seeds import derived_seed


@dataclass(frozen=True, eq=False)
class Ready:
    """How panels are made ready.

    Attributes
    ----------
    names
        Covariates in the order in which they are looked at.
    scales, edges
        How columns and bins come from covariates.
    copies
        Whether rows of a panel that are alike are copies of one patient.
    """

    names: tuple[str, ...]
    scales: tuple[ColumnScale, ...]
    edges: list[FloatArray]
    copies: bool

    @classmethod
    def of(cls, task: PredictionTask, names: tuple[str, ...]) -> Ready:
        """Learn it from a sample; `names` are those of the covariates as they were given."""
        cohort = task.cohort
        ordered = tuple(names[at] for at in cohort.column)
        return cls(ordered, task.scales, task.edges, alike_are_copies(cohort))

    def panels(self, observed: Observed, n_folds: int, seed: int) -> OtherPanels:
        """Make other physicians' patients ready and deal them to the folds."""
        given = observed.covariates[:, _positions(self.names, observed.names)]
        code, J = observed.code, len(observed.physicians)
        order, begin = sorted_panels(code, np.arange(len(code)), J)
        y = observed.decision.astype(np.int64)
        pattern = panel_patterns(filled(given), binned(given, self.edges), order, begin)
        row = np.lexsort((y, pattern, code))
        given, y, code = np.ascontiguousarray(given[row]), y[row], code[row]
        key = np.uint64(derived_seed(seed, "prediction", "others"))
        fold: IntArray = deal_panels(pattern[row], y, begin, n_folds, key, self.copies, RICH)
        columns, _ = scaled_columns(given, self.scales)
        bins = binned(given, self.edges)
        return OtherPanels(filled(given), columns, bins, y, code, fold, row, J)


def _positions(wanted: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    for name in names:
        if name not in wanted:
            raise InputError(f"column '{name}' was not in the sample; drop it or fit again")
    for name in wanted:
        if name not in names:
            raise InputError(f"column '{name}' of the sample is missing; add it or fit again")
    return [names.index(name) for name in wanted]
