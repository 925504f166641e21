"""How the rows of a table may have been selected: sampling weights, and sampling by the decision.

Two questions are asked and never answered by the program.

*Weights.* A column of sampling or inverse probability weights describes how a row came into the
table, not the patient. Patients must not be compared by it.

*Sampling by the decision.* In a case-control table the share of "yes" is the designer's choice.
Either there are exactly m patients of one decision for each of the other, in all rows or in every
panel, or the shares of physicians are more alike than independent decisions can be: Pearson's
statistic of homogeneity is then in the lower tail of its chi-squared distribution. Differences
between physicians only make it larger, so that the false-positive rate is at most `TOO_ALIKE`. It
does not apply where physicians see the same cases.

With n rows and a share of "yes" of which nothing is known beforehand, one of the seven ratios holds
exactly with probability 7 / (n + 1): 0.7 % with 1,000 rows.
"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
from scipy.stats import chi2

from intravar.arrays import IntArray
from intravar.preparation.kinds import words_in
from intravar.request import Request
from intravar.wording import Sentence

#: Patients of one decision for each of the other, in the designs that are looked for.
MOST_CONTROLS = 4
#: Rows from which on an exact ratio of all decisions is no accident.
ENOUGH_ROWS = 1_000
#: Physicians who must have the same exact ratio, or shares that are too much alike.
ENOUGH_PHYSICIANS = 5
#: Patients of a physician of whom an exact ratio says something.
ENOUGH_PATIENTS = 10
#: Expected decisions of either kind from which on Pearson's statistic follows its distribution.
ENOUGH_EXPECTED = 5.0
#: Probability of asking about shares that only chance made alike.
TOO_ALIKE = 0.001


def ask_about_weights(covariates: Sequence[str], request: Request) -> list[Sentence]:
    """Return a question for every covariate that is named like a sampling weight.

    Examples
    --------
    >>> request = Request(physician="doctor", decision="drug")
    >>> len(ask_about_weights(["survey_weight", "ipw", "body_weight", "birth weight"], request))
    2
    """
    known = {each.name for each in fields(request)}
    as_weight = ", or name it as a weight (option weight)" if "weight" in known else ""
    return [
        Sentence(
            "column '{column}' looks like a sampling weight, and {cases} are compared by it; "
            "exclude it (option exclude){as_weight}",
            column=column,
            as_weight=as_weight,
        )
        for column in covariates
        if words_in(column, "weighting") is not None
    ]


def ask_about_sampling(
    n_patients: IntArray, n_for: IntArray, request: Request, *, same_cases: bool
) -> list[Sentence]:
    """Return a question if rows may have been selected by the decision.

    Parameters
    ----------
    n_patients, n_for
        Decisions, and those of them that are "yes", per physician.
    request
        The request; with a column of weights the question is answered.
    same_cases
        Whether physicians decided about the same cases, which makes their shares alike.

    Examples
    --------
    >>> request = Request(physician="doctor", decision="drug")
    >>> n, half = np.full(8, 40), np.full(8, 20)
    >>> print(*ask_about_sampling(n, half, request, same_cases=False))
    the shares of "yes" are rounder, or more alike between physicians, than chance makes them. Were
    rows selected by the decision (case-control)? Then figures hold for the selected patients only
    """
    if getattr(request, "weight", None) is not None:
        return []
    large = n_patients >= ENOUGH_PATIENTS
    ratios = {_ratio(*each) for each in zip(n_for[large], n_patients[large], strict=True)}
    same_ratio = large.sum() >= ENOUGH_PHYSICIANS and len(ratios) == 1 and None not in ratios
    n = int(n_patients.sum())
    round_overall = n >= ENOUGH_ROWS and _ratio(int(n_for.sum()), n) is not None
    alike = not same_cases and probability_of_alike(n_patients, n_for) < TOO_ALIKE
    if not (same_ratio or round_overall or alike):
        return []
    # One sentence for all of them: which one holds would give exact counts away.
    return [
        Sentence(
            'the shares of "yes" are rounder, or more alike between {deciders}, than chance makes '
            "them. Were rows selected by the decision (case-control)? Then figures hold for the "
            "selected {cases} only"
        )
    ]


def _ratio(n_for: int, n: int) -> tuple[int, int] | None:
    """Return the ratio of "yes" to "no" if it is exactly that of a case-control design."""
    against = n - n_for
    for controls in range(1, MOST_CONTROLS + 1):
        if n_for and n_for * controls == against:
            return 1, controls
        if against and against * controls == n_for:
            return controls, 1
    return None


def probability_of_alike(n_patients: IntArray, n_for: IntArray) -> float:
    """Return how probable shares that are so much alike are, if decisions are independent.

    Physicians of whom too few decisions of either kind are expected are left out. Returns 1 if
    there are not enough others.
    """
    share = n_for.sum() / max(n_patients.sum(), 1)
    used = n_patients * min(share, 1 - share) >= ENOUGH_EXPECTED
    if used.sum() < ENOUGH_PHYSICIANS:
        return 1.0
    n, yes = n_patients[used].astype(np.float64), n_for[used]
    share = float(yes.sum() / n.sum())
    variance = n * share * (1 - share)
    statistic = float(((yes - n * share) ** 2 / np.maximum(variance, 1e-9)).sum())
    return float(chi2.cdf(statistic, len(n) - 1))
