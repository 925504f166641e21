"""Columns that give the decision away: known only after it, or made from it.

Comparing patients by such a column makes every physician look consistent. They are flagged and
never dropped in silence: a rule that everyone follows also predicts well, and only the user knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from intravar.preparation.encoding import encode
from intravar.preparation.kinds import Column
from intravar.seeds import stream

#: A single column that ranks the decisions this well is hardly known before them.
NEAR_PERFECT = 0.975
#: Rows that suffice to see it.
SAMPLE = 20_000
_TELLING_NAMES = re.compile(
    r"(^|[_\W])(after|post|discharge[d]?|outcomes?|death|died|dead|mortality|survival|los|"
    r"length_of_stay|follow_?up|readmi\w*|complications?|adverse|days_to|time_to|result|response|"
    r"dose|dosage|refills?|stop_reason)([_\W]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Leak:
    """A column that may give the decision away.

    Attributes
    ----------
    column
        Its name.
    why
        What makes it suspicious.
    auc
        How well it alone ranks the decisions (0.5 not at all, 1 perfectly); None if only its name
        is suspicious.
    """

    column: str
    why: str
    auc: float | None = None

    @property
    def certain(self) -> bool:
        """Whether the values, and not only the name, are suspicious."""
        return self.auc is not None


def find_leaks(
    columns: Sequence[Column], decision: npt.NDArray[np.int8], decision_name: str
) -> list[Leak]:
    """Return the columns that predict the decision nearly perfectly or are named like it.

    Examples
    --------
    >>> import polars as pl
    >>> y = np.tile(np.array([0, 1], dtype=np.int8), 50)
    >>> told = Column("stay", "number", pl.Series("stay", y * 3.0))
    >>> find_leaks([told], y, "drug")[0].why
    'predicts the decision nearly perfectly (AUC 1.00)'
    """
    rows = np.arange(len(decision))
    if len(rows) > SAMPLE:
        rows = np.sort(stream(0, "leaks").choice(rows, SAMPLE, replace=False))
    leaks = []
    for column in columns:
        sampled = Column(column.name, column.kind, column.values[rows])
        auc = _auc(sampled, decision[rows])
        if auc >= NEAR_PERFECT:
            how = "predicts the decision nearly perfectly"
            missing = column.values.is_null().to_numpy()[rows]
            if missing.any() and _separates(missing, decision[rows]):
                how = "is missing for one decision and present for the other"
            leaks.append(Leak(column.name, f"{how} (AUC {auc:.2f})", auc))
        elif _named_like(column.name, decision_name):
            leaks.append(Leak(column.name, f"its name contains the decision's, '{decision_name}'"))
        elif found := _TELLING_NAMES.search(column.name):
            word = found[2]
            leaks.append(Leak(column.name, f"its name ('{word}') suggests what came afterwards"))
    return leaks


def _auc(column: Column, decision: npt.NDArray[np.int8]) -> float:
    if decision.min() == decision.max():
        return 0.5
    table = encode([column], "indicator", smallest_level=1).table.to_numpy()
    smallest = max(5, len(decision) // 200)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=smallest, random_state=0)
    return float(roc_auc_score(decision, tree.fit(table, decision).predict_proba(table)[:, 1]))


def _separates(missing: npt.NDArray[np.bool_], decision: npt.NDArray[np.int8]) -> bool:
    agreement = float(np.mean(missing == (decision == 1)))
    return max(agreement, 1 - agreement) >= NEAR_PERFECT


def _named_like(name: str, decision_name: str) -> bool:
    short = decision_name.lower()
    return len(short) >= 4 and short in name.lower() and name.lower() != short
