"""In what way a physician's rule differs, as far as it may be told.

That somebody weighs a covariate otherwise can rest on a handful of patients: on the three smokers
of a panel, say. It is told only where the covariate tells enough patients of the panel apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from intravar.estimators.predictability import MOST_WORDS
from intravar.measurement.result import Measurement
from intravar.publication.results import OwnRule
from intravar.publication.suppression import is_few


def shown_differences(
    measurement: Measurement, reportable: Collection[str], names: Mapping[str, str]
) -> tuple[OwnRule, ...]:
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
    if evidence.differences is None:
        return ()
    smallest = measurement.request.smallest_cell
    told: dict[str, list[OwnRule]] = {}
    rows = evidence.differences.select("physician", "covariate", "how", "n_apart")
    for physician, covariate, how, n_apart in rows.iter_rows():
        shown = told.setdefault(names[str(physician)], [])
        known = {row.covariate for row in shown}
        if (
            names[str(physician)] not in reportable
            or covariate in known
            or len(shown) == MOST_WORDS
        ):
            continue
        if not is_few(n_apart, smallest):
            shown.append(OwnRule(names[str(physician)], covariate, how))
    # In the order of the pseudonyms: the order of the names would tell who is who.
    return tuple(row for name in sorted(told) for row in told[name])
