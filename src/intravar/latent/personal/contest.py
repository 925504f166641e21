"""The contest between the rule that all share and rules of their own, by held-out decisions.

It is held only where it is asked for: where a score test finds that physicians use the covariates
differently, or where thresholds differ. One fold is held out; what the families predict for it is
compared with what the shared rule predicts. The winner is then fitted to everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.engines.threads import in_threads
from intravar.latent.decided import Decided
from intravar.latent.personal.families import (
    LONG,
    SHORT,
    Family,
    FittedFamily,
    LimitsFamily,
    WeightsFamily,
)
from intravar.latent.personal.heterogeneity import (
    MOST_MULTIPLIED,
    most_personal,
    most_personal_columns,
    own_rule_evidence,
    with_products,
)
from intravar.seeds import stream

#: Standard errors by which personal slopes must exceed chance.
EVIDENCE = 4.0
#: Gain in held-out log-likelihood that rules of their own must show over the shared one.
MARGIN = 10.0
#: Covariates that personal weights, and personal limits, may look at.
MOST_WEIGHED, MOST_LIMITED = 20, 16
#: Draws of the rules that the test of what is left is averaged over.
TESTED_DRAWS = 10


@dataclass(frozen=True)
class Field:
    """What a contest is held on.

    Parameters
    ----------
    z
        Standardised covariates.
    decided
        The decisions.
    shared
        Probability of a decision for, of every patient, under the shared rule.
    fold
        Fold of every patient.
    logit, nested
        Held-out logit of the shared rule, and the same as known without the first fold.
    seed
        Names the random streams.
    n_threads
        Threads; the result does not depend on it.
    """

    z: FloatArray
    decided: Decided
    shared: FloatArray
    fold: IntArray
    logit: FloatArray
    nested: FloatArray
    seed: int
    n_threads: int


@dataclass(frozen=True)
class Winner:
    """A family that predicts held-out decisions better than the shared rule does.

    Attributes
    ----------
    name
        Of the family.
    fitted
        Its posterior given all decisions.
    q, g
        Per patient, from the other folds only: probability of a decision for, and of being
        eligible.
    """

    name: str
    fitted: FittedFamily
    q: FloatArray
    g: FloatArray


def log_score(q: FloatArray, y: IntArray) -> float:
    """Return the log-likelihood of decisions under predicted probabilities.

    Examples
    --------
    >>> round(log_score(np.array([0.5, 0.5]), np.array([0, 1])), 3)
    -1.386
    """
    q = np.clip(q, 1e-9, 1 - 1e-9)
    return float(np.log(np.where(y == 1, q, 1 - q)).sum())


def hold_contest(field: Field, to_beat: float) -> tuple[Winner | None, dict[str, float]]:
    """Return the winner, None if the shared rule wins, and everybody's held-out log-likelihood.

    Parameters
    ----------
    field
        What the contest is held on.
    to_beat
        Log-likelihood of the first fold's decisions under the shared rule.
    """
    families: list[Family] = []
    if field.z.shape[1]:
        weighed, limited = (
            most_personal_columns(field.z, field.decided, field.shared, most)
            for most in (MOST_WEIGHED, MOST_LIMITED)
        )
        families.append(WeightsFamily(field.z, field.decided, weighed))
        if limited.size > 1:
            families.append(LimitsFamily.of(field.z, field.decided, limited))
    own = np.flatnonzero(field.fold == 0)
    first = in_threads([_held_out(family, field, 0) for family in families], field.n_threads)
    found = {
        family.name: log_score(q, field.decided.y[own])
        for family, (q, _) in zip(families, first, strict=True)
    }
    best = max(range(len(families)), key=lambda at: found[families[at].name], default=-1)
    if best < 0 or found[families[best].name] <= to_beat + MARGIN:
        return None, found
    return _fit_winner(families[best], first[best], field), found


def _held_out(
    family: Family, field: Field, fold: int
) -> Callable[[], tuple[FloatArray, FloatArray]]:
    """Return the work of predicting a fold by a family fitted to all others, then thrown away."""
    rows, own = np.flatnonzero(field.fold != fold), np.flatnonzero(field.fold == fold)
    shared = field.nested if fold == 0 else field.logit
    random = stream(field.seed, "latent-rule", family.name, f"without fold {fold}")
    return lambda: family.fit(rows, shared, SHORT, random).predict(own)


def _fit_winner(family: Family, first: tuple[FloatArray, FloatArray], field: Field) -> Winner:
    """Fit the winner to everybody, and without each fold for what is said of its patients."""
    everybody = np.arange(len(field.fold))
    random = stream(field.seed, "latent-rule", family.name, "everybody")
    folds = range(1, int(field.fold.max()) + 1)
    fitted: list[FittedFamily] = []

    def fit() -> tuple[FloatArray, FloatArray]:
        fitted.append(family.fit(everybody, field.logit, LONG, random))
        return np.empty(0), np.empty(0)

    work = [fit, *(_held_out(family, field, fold) for fold in folds)]
    _, *others = in_threads(work, field.n_threads)
    q, g = np.empty(len(field.fold)), np.empty(len(field.fold))
    for fold, held_out in enumerate([first, *others]):
        own = np.flatnonzero(field.fold == fold)
        q[own], g[own] = held_out
    return Winner(family.name, fitted[0], q, g)


def evidence_left(field: Field, winner: Winner) -> float:
    """Return the evidence of own rules that the winner's draws leave, products included.

    Draws, not means: residuals of a mean that was fitted to the same decisions are too small.
    """
    z = most_personal(field.z, field.decided, field.shared, MOST_MULTIPLIED)
    bases = (z, with_products(z))
    draws = winner.fitted.predict_draws(np.arange(len(z)), TESTED_DRAWS)
    found = [[own_rule_evidence(basis, field.decided, q) for basis in bases] for q in draws]
    return float(np.mean(found, axis=0).max())
