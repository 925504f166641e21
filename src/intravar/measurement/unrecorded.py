"""What the record does not hold: how far a reason could go that nobody wrote down.

Every recorded covariate tells how strong a reason can be: without it, decisions are predicted
worse. The covariate is left out and the prediction is learned again, so that the others take over
what they know of it; what is lost is what it alone told. A reason that is not recorded, as strong
and as much on its own, would take as much away from what is left.

"As much" is meant on the scale of what decides: a quantity behind every decision, whose variance is
1 and of which a record explains a share. Two decisions on one record then differ as often as two
normal variables, correlated by that share, fall on different sides of a threshold. On this scale
reasons add up; on the scale of discordance itself the last reason does more than the first.
docs/unrecorded.md compares scales.

The prediction is a cheaper one than that of Predictability: common trees, and rates of each
physician around them. Only its losses are compared with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import owens_t
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.prediction.canonical import canonical
from intravar.prediction.cross_fitting import PredictionTask, prepare
from intravar.prediction.personal import fit_rules, learn_hyper
from intravar.prediction.pooled import common_score
from intravar.seeds import stream

#: With fewer patients nothing is said.
FEWEST_PATIENTS = 200
#: Patients that suffice; of more, the panels of some physicians are looked at.
MOST_PATIENTS = 10_000
#: Cohorts up to this size are dealt to folds more than once.
SMALL_COHORT, DEALS = 3_000, 3
#: Covariates that are left out in turn, the most important first.
MOST_COVARIATES = 6
N_FOLDS = 4
#: A covariate counts as a reason if the loss rises by so many standard errors without it.
SURE = 3.0
_CLOSE = 1e-9


@dataclass(frozen=True)
class Reason:
    """A recorded covariate as a yardstick.

    Attributes
    ----------
    covariate
        Its name.
    without
        Discordance if it were not recorded.
    lowered
        Discordance if one more reason were recorded that is as strong.
    """

    covariate: str
    without: float
    lowered: float


@dataclass(frozen=True)
class Unrecorded:
    """How far an unrecorded reason could go.

    Attributes
    ----------
    discordance
        Of all physicians together.
    reasons
        The covariates that tell something which the others do not, the strongest first.
    n_tried
        Covariates that were left out in turn.
    """

    discordance: float
    reasons: tuple[Reason, ...]
    n_tried: int


def unrecorded_reasons(
    observed: Observed,
    origin: Sequence[str],
    important: Sequence[str],
    discordance: float,
    seed: int = 0,
) -> Unrecorded | None:
    """Leave the most important covariates out in turn; None with too few patients to tell.

    Parameters
    ----------
    observed
        The patients.
    origin
        For every column the covariate that it comes from.
    important
        The covariates, the most important first.
    discordance
        Of all physicians together, which such a reason would lower.
    seed
        Of samples and folds.
    """
    y = observed.decision
    tried = important[:MOST_COVARIATES]
    if observed.n_patients < FEWEST_PATIENTS or y.min() == y.max() or not tried:
        return None
    rows = _sample(observed, seed)
    cohort = canonical(observed.covariates[rows], y[rows], _dense(observed.code[rows]))
    if cohort.decision.min() == cohort.decision.max():
        return None
    owner = np.array(origin)[cohort.column]
    deals = DEALS if len(rows) <= SMALL_COHORT else 1
    with threadpool_limits(limits=1, user_api="blas"):
        tasks = [prepare(cohort, N_FOLDS, seed + 1000 * deal) for deal in range(deals)]
        whole = _losses(tasks, np.ones(len(owner), dtype=np.bool_))
        rises = {name: _losses(tasks, owner != name) - whole for name in tried}
    share = float(cohort.decision.mean())
    explained = share_explained(float(whole.mean()), share)
    found = []
    for name, rise in rises.items():
        mean, error = float(rise.mean()), float(rise.std() / np.sqrt(len(rise)))
        if mean > SURE * error:
            strength = explained - share_explained(float(whole.mean()) + mean, share)
            here = share_explained(discordance, share)
            found.append(
                Reason(
                    name,
                    max(discordance, discordance_at(here - strength, share)),
                    min(discordance, discordance_at(here + strength, share)),
                )
            )
    strongest_first = sorted(found, key=lambda reason: (reason.lowered, reason.covariate))
    return Unrecorded(discordance, tuple(strongest_first), len(tried))


def discordance_at(explained: float, share: float) -> float:
    """Return how often two decisions on one record differ.

    Parameters
    ----------
    explained
        Share of the variance behind decisions that the record explains.
    share
        Share of patients decided for.

    Examples
    --------
    >>> [round(discordance_at(explained, 0.5), 3) for explained in (0.0, 0.5, 1.0)]
    [0.5, 0.333, 0.0]
    """
    rho = float(np.clip(explained, 0.0, 1.0))
    return 4 * float(owens_t(norm.isf(share), np.sqrt((1 - rho) / (1 + rho))))


def share_explained(discordance: float, share: float) -> float:
    """Return the share of variance at which decisions differ so often; the inverse of the above.

    Examples
    --------
    >>> round(share_explained(1 / 3, 0.5), 3), share_explained(0.4, 0.2)
    (0.5, 0.0)
    """
    if discordance >= discordance_at(0.0, share) - _CLOSE:
        return 0.0
    if discordance <= 0:
        return 1.0
    return float(brentq(lambda rho: discordance_at(rho, share) - discordance, 0.0, 1.0))


def _sample(observed: Observed, seed: int) -> IntArray:
    """Return all patients, or those of some physicians where they are many."""
    if observed.n_patients <= MOST_PATIENTS:
        return np.arange(observed.n_patients)
    random = stream(seed, "unrecorded", "sample")
    order = random.permutation(len(observed.panels))
    rows = np.concatenate([random.permutation(observed.panels[at]) for at in order])
    return np.sort(rows[:MOST_PATIENTS])


def _dense(code: IntArray) -> IntArray:
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def _losses(tasks: Sequence[PredictionTask], columns: FloatArray) -> FloatArray:
    """Return twice the squared error of held-out predictions, per patient, over the deals."""
    decision = tasks[0].cohort.decision
    predicted = [_predictions(task, columns) for task in tasks]
    return np.asarray(2 * (decision - np.mean(predicted, axis=0)) ** 2)


def _predictions(task: PredictionTask, columns: FloatArray) -> FloatArray:
    """Predict every patient from the other folds, by some of the columns."""
    bins = np.ascontiguousarray(task.bins[:, columns])
    y, code, n_physicians = task.cohort.decision, task.cohort.code, task.cohort.n_physicians
    everyone = np.arange(len(y))
    found = np.empty(len(y))
    for fold in range(task.n_folds):
        own, others = np.flatnonzero(task.fold == fold), np.flatnonzero(task.fold != fold)
        score = common_score(bins, y, others, task.half, everyone)
        Z = np.column_stack([np.ones(len(y)), score])
        hyper = learn_hyper(Z, y, code, others, n_physicians)
        found[own] = fit_rules(Z, y, code, others, n_physicians, hyper).predict(Z, code, own)
    return found
