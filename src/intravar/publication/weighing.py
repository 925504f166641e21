"""In what way a physician's rule differs, as far as it may be told.

That somebody weighs a covariate otherwise can rest on a handful of patients: on the three smokers
of a panel, say. It is told only where the covariate tells enough patients of the panel apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.evidence import Predictions
from intravar.measurement.result import Measurement
from intravar.prediction.weights import MOST_WORDS
from intravar.publication.suppression import is_few


def shown_differences(
    measurement: Measurement, reportable: Collection[str], names: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return what each physician weighs otherwise than the others: physician, covariate, how.

    Parameters
    ----------
    measurement
        With everything in it.
    reportable
        What those are called whose result is shown.
    names
        What to call each physician.
    """
    evidence = measurement.main.evidence
    if not isinstance(evidence, Predictions):
        return []
    observed, smallest = measurement.check.prepared.observed, measurement.request.smallest_cell
    column = {name: at for at, name in enumerate(observed.names)}
    panel = dict(zip(observed.physicians, observed.panels, strict=True))
    told: dict[str, list[dict[str, str]]] = {}
    for physician, covariate, how in evidence.differences.iter_rows():
        shown = told.setdefault(names[physician], [])
        known = {row["covariate"] for row in shown}
        if names[physician] not in reportable or covariate in known or len(shown) == MOST_WORDS:
            continue
        if tells_enough_apart(observed.covariates[panel[physician], column[covariate]], smallest):
            shown.append({"physician": names[physician], "covariate": covariate, "how": how})
    # In the order of the pseudonyms: the order of the names would tell who is who.
    return [row for name in sorted(told) for row in told[name]]


def tells_enough_apart(values: FloatArray, smallest: int) -> bool:
    """Tell whether not few patients have another value than most.

    Examples
    --------
    >>> tells_enough_apart(np.array([0.0] * 40 + [1.0] * 11), 11)
    False
    >>> tells_enough_apart(np.array([0.0] * 40 + [1.0] * 12), 11)
    True
    """
    _, counts = np.unique(values, return_counts=True)
    return not is_few(len(values) - int(counts.max(initial=0)), smallest)
