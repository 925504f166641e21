"""Panels dealt into two halves, each of them input of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intravar.arrays import IntArray
from intravar.observed import Observed

#: A half of a panel must hold as many patients for its physician to be compared.
FEWEST_IN_A_HALF = 5
#: Physicians that must be there twice.
FEWEST_PHYSICIANS = 3
#: Patients beyond which a sample of physicians is halved.
MOST_PATIENTS = 60_000


def deal(observed: Observed, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Deal every panel into two; of many patients only the panels of some physicians.

    Parameters
    ----------
    observed
        The whole.
    random
        Says who falls into which half.
    """
    panels = [panel for panel in observed.panels if len(panel) >= 2 * FEWEST_IN_A_HALF]
    panels = some_panels(panels, MOST_PATIENTS, random)
    first, second = [], []
    for panel in panels:
        dealt = random.permutation(panel)
        half = len(dealt) // 2
        first.append(dealt[:half])
        second.append(dealt[half:])
    nobody = np.empty(0, dtype=np.int64)
    return np.sort(np.concatenate([nobody, *first])), np.sort(np.concatenate([nobody, *second]))


def some_panels(panels: list[IntArray], most: int, random: np.random.Generator) -> list[IntArray]:
    """Return panels by lot with no more patients than so many; all where there are no more."""
    if sum(len(panel) for panel in panels) <= most:
        return panels
    order = random.permutation(len(panels))
    sizes = np.cumsum([len(panels[at]) for at in order])
    return [panels[at] for at in order[: max(FEWEST_PHYSICIANS, int((sizes < most).sum()))]]


def subset(observed: Observed, rows: IntArray) -> Observed | None:
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
