"""The same measurement on two halves of every panel, to see whether it says the same twice.

Halves tell three things that no interval of a method knows. Whether physicians keep their order;
whether the two intervals of a physician overlap as often as they should; and whether the level
moves with the number of patients, which a bound that is still loose does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import clone

from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Estimator
from intravar.observed import Observed
from intravar.seeds import stream

#: A half of a panel must hold as many patients for its physician to be compared.
FEWEST_IN_A_HALF = 5
#: Physicians that must be there twice.
FEWEST_PHYSICIANS = 3
#: A gap between intervals that nobody would act on.
NEARLY = 0.005
#: Patients beyond which a sample of physicians is halved.
MOST_PATIENTS = 60_000


@dataclass(frozen=True, eq=False)
class Halves:
    """What two halves of the patients say.

    Attributes
    ----------
    agreement
        Reliability of the order: the rank correlation of the halves, stepped up to the whole.
    overlap
        Share of physicians whose two intervals overlap.
    shift
        Mean of the halves less the whole: by so much the level falls when patients double.
    n_physicians
        Physicians that were compared.
    """

    agreement: float
    overlap: float
    shift: float
    n_physicians: int


def compare_halves(estimator: Estimator, observed: Observed, seed: int) -> Halves | None:
    """Measure both halves with the same method; None where panels are too small for it."""
    rows = _rows(observed, seed)
    parts = [_subset(observed, half) for half in rows]
    if parts[0] is None or parts[1] is None:
        return None
    fitted = [clone(estimator).fit_observed(part) for part in parts]
    first, second = (_by_name(model, observed) for model in fitted)
    both = np.flatnonzero(np.isfinite(first.score) & np.isfinite(second.score))
    if len(both) < FEWEST_PHYSICIANS:
        return None
    whole = np.asarray(estimator.score_, dtype=np.float64)[both]
    shift = float(np.nanmean((first.score[both] + second.score[both]) / 2 - whole))
    # What falls by so much from half to whole lies above its limit by twice that in a half.
    loose = 2 * max(shift, 0.0) + NEARLY
    apart = (first.low - loose > second.high) | (second.low - loose > first.high)
    return Halves(
        _stepped_up(first.score[both], second.score[both]),
        float(1 - apart[both].mean()),
        shift,
        len(both),
    )


@dataclass(frozen=True, eq=False)
class _Half:
    score: FloatArray
    low: FloatArray
    high: FloatArray


def _by_name(model: Estimator, observed: Observed) -> _Half:
    """Put a half's results into the places of all physicians."""
    place = {name: at for at, name in enumerate(observed.physicians)}
    at = [place[name] for name in model.physicians_.tolist()]
    ends = model.ends()
    columns = []
    for values in (model.score_, ends.low, ends.high):
        column = np.full(len(observed.physicians), np.nan)
        column[at] = values
        columns.append(column)
    return _Half(*columns)


def _rows(observed: Observed, seed: int) -> tuple[IntArray, IntArray]:
    """Deal every panel into two; of many patients only the panels of some physicians."""
    panels = [panel for panel in observed.panels if len(panel) >= 2 * FEWEST_IN_A_HALF]
    random = stream(seed, "halves")
    if sum(len(panel) for panel in panels) > MOST_PATIENTS:
        order = random.permutation(len(panels))
        sizes = np.cumsum([len(panels[at]) for at in order])
        panels = [
            panels[at] for at in order[: max(FEWEST_PHYSICIANS, int((sizes < MOST_PATIENTS).sum()))]
        ]
    first, second = [], []
    for panel in panels:
        dealt = random.permutation(panel)
        half = len(dealt) // 2
        first.append(dealt[:half])
        second.append(dealt[half:])
    nobody = np.empty(0, dtype=np.int64)
    return np.sort(np.concatenate([nobody, *first])), np.sort(np.concatenate([nobody, *second]))


def _subset(observed: Observed, rows: IntArray) -> Observed | None:
    """Return some patients as input of their own; None if nothing is left to compare."""
    decision = observed.decision[rows]
    present, code = np.unique(observed.code[rows], return_inverse=True)
    if len(present) < FEWEST_PHYSICIANS or decision.min() == decision.max():
        return None
    return replace(
        observed,
        covariates=observed.covariates[rows],
        decision=decision,
        code=code.astype(np.int64),
        named=observed.named[present],
        _learned={},
    )


def _stepped_up(first: FloatArray, second: FloatArray) -> float:
    if min(np.ptp(first), np.ptp(second)) == 0:
        return 0.0
    found = float(spearmanr(first, second)[0])
    return 2 * found / (1 + found) if found > -1 else -1.0
