"""The same physicians in subgroups of their patients, and over time.

A subgroup or a period is measured with the predictions of all patients. Whether periods follow
rules of their own is asked of held-out patients: predictions that know the period compete with
those that do not, so that a rule that was changed, by a guideline say, is not taken for
inconsistency.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from sklearn.base import clone

from intravar.arrays import BoolArray, FloatArray
from intravar.estimators import Estimator
from intravar.estimators.evidence import Evidence
from intravar.estimators.noise import Noise, noise_of
from intravar.measurement.strata import DealtPatients, Strata, strata_of
from intravar.observed import Observed
from intravar.preparation.periods import Dealt
from intravar.preparation.prepare import Prepared

#: Standard errors by which predictions must gain from the period for the rule to have changed.
RULE_CHANGED = 3.0
#: Patients that a period needs for its noise to be taken apart.
FEWEST_FOR_NOISE = 500
_TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Course:
    """Physicians over time.

    Attributes
    ----------
    strata
        What the periods say.
    gain
        How much better decisions are predicted by whoever knows the period, in nats a patient.
    rule_changed
        Whether that is more than chance: what is decided depends on when.
    noise
        Level, pattern and occasion of every period; None where it has too few patients.
    n_undated
        Patients without a date.
    """

    strata: Strata
    gain: float
    rule_changed: bool
    noise: tuple[Noise | None, ...]
    n_undated: int


def subgroups(prepared: Prepared, evidence: Evidence) -> Strata | None:
    """Compare the levels of the column that was asked for; None if none was.

    Parameters
    ----------
    prepared
        The patients.
    evidence
        With the predictions of the method that measures.
    """
    predicted = evidence.predicted()
    if prepared.by is None or predicted is None:
        return None
    return _compared(prepared.observed, predicted, prepared.by)


def course_of(prepared: Prepared, method: object, evidence: Evidence, seed: int) -> Course | None:
    """Compare periods; None if there is no date.

    Parameters
    ----------
    prepared
        The patients.
    method, evidence
        The method that measures, and its predictions.
    seed
        Of noise.
    """
    dealt, everybody = prepared.period, evidence.predicted()
    if dealt is None or everybody is None or not isinstance(method, Estimator):
        return None
    known = np.flatnonzero(dealt.place >= 0)
    n_undated = len(dealt.place) - len(known)
    observed = prepared.observed if not n_undated else prepared.observed.take(known)
    dealt = Dealt(dealt.column, dealt.names, dealt.place[known])
    blind = everybody[0][known], everybody[1][known]
    with_period = _with_period(observed, dealt)
    model = clone(method).fit_observed(with_period)
    knowing = model.evidence(with_period).predicted()
    assert knowing is not None
    gained = _log_likelihood(knowing[0], observed) - _log_likelihood(blind[0], observed)
    gain = float(gained.mean())
    error = float(gained.std() / np.sqrt(len(gained)))
    return Course(
        _compared(observed, knowing if gain > 0 else blind, dealt),
        gain,
        gain > RULE_CHANGED * max(error, _TINY),
        tuple(_noise(observed, dealt.place == number, seed) for number in range(len(dealt.names))),
        n_undated,
    )


def _with_period(observed: Observed, dealt: Dealt) -> Observed:
    """Return the input with one covariate more, the period."""
    # One column in its order: trees cut it where the rule changed.
    period = dealt.place.astype(np.float64)[:, None]
    return replace(
        observed,
        covariates=np.hstack([observed.covariates, period]),
        names=(*observed.names, f"period of {dealt.column}"),
        _learned={},
    )


def _log_likelihood(predicted: FloatArray, observed: Observed) -> FloatArray:
    """Return the log-likelihood of every decision."""
    p = np.clip(predicted, _TINY, 1 - _TINY)
    return np.asarray(np.log(np.where(observed.decision == 1, p, 1 - p)))


def _compared(observed: Observed, predicted: tuple[FloatArray, FloatArray], dealt: Dealt) -> Strata:
    decided = observed.decision.astype(np.float64)
    patients = DealtPatients(decided, *predicted, observed.code, dealt.place)
    return strata_of(patients, pl.Series(observed.named), dealt.names)


def _noise(observed: Observed, chosen: BoolArray, seed: int) -> Noise | None:
    rows = np.flatnonzero(chosen)
    if len(rows) < FEWEST_FOR_NOISE:
        return None
    part = observed.take(rows)
    if len(part.physicians) < 2 or part.decision.min() == part.decision.max():
        return None
    return noise_of(part, seed=seed)
