"""The contest between the rule that all share and rules of their own, by held-out decisions.

It is held only where it is asked for: where a score test finds that physicians use the covariates
differently, or where thresholds differ. One fold is held out; what the families predict for it is
compared with what the shared rule predicts. What is common to the winner's rules is then learned
from everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.decided import Decided
from intravar.latent.personal.heterogeneity import (
    MOST_MULTIPLIED,
    most_personal,
    most_personal_columns,
    own_rule_evidence,
    with_products,
)
from intravar.latent.personal.limits import CommonLimits
from intravar.latent.personal.own_rules import OwnRules, read_own_rules
from intravar.latent.personal.weights import ChainSettings, CommonWeights
from intravar.panels import Panels
from intravar.processes import in_threads
from intravar.seeds import stream

#: Standard errors by which personal slopes must exceed chance.
EVIDENCE = 4.0
#: Gain in held-out log-likelihood that rules of their own must show over the shared one.
MARGIN = 10.0
#: Covariates that personal weights, and personal limits, may look at.
MOST_WEIGHED, MOST_LIMITED = 20, 16
#: Draws of the rules that the test of what is left is averaged over.
TESTED_DRAWS = 10
#: A chain for a contest need not be as long as the one that physicians are read by.
SHORT, LONG = ChainSettings(burn_in=240, sweeps=200), ChainSettings()


@dataclass(frozen=True)
class Field:
    """What a contest is held on.

    Parameters
    ----------
    z
        Standardised covariates.
    panels
        The patients.
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
    panels: Panels
    shared: FloatArray
    fold: IntArray
    logit: FloatArray
    nested: FloatArray
    seed: int
    n_threads: int

    @property
    def decided(self) -> Decided:
        """The decisions."""
        return Decided(self.panels.y, self.panels.code, len(self.panels))

    def columns(self, most: int) -> IntArray:
        """Return the columns that physicians use most differently, at most so many."""
        return most_personal_columns(self.z, self.decided, self.shared, most)


def log_score(q: FloatArray, y: IntArray) -> float:
    """Return the log-likelihood of decisions under predicted probabilities.

    Examples
    --------
    >>> round(log_score(np.array([0.5, 0.5]), np.array([0, 1])), 3)
    -1.386
    """
    q = np.clip(q, 1e-9, 1 - 1e-9)
    return float(np.log(np.where(y == 1, q, 1 - q)).sum())


def hold_contest(field: Field, to_beat: float) -> tuple[OwnRules | None, dict[str, float]]:
    """Return the winner, None if the shared rule wins, and everybody's held-out log-likelihood.

    Parameters
    ----------
    field
        What the contest is held on.
    to_beat
        Log-likelihood of the first fold's decisions under the shared rule.
    """
    families = _families(field)
    own = field.fold == 0
    work = [_held_out(name, learn, field) for name, learn in families.items()]
    first = in_threads(work, field.n_threads)
    found = {
        name: log_score(q[own], field.panels.y[own])
        for name, q in zip(families, first, strict=True)
    }
    best = max(found, key=lambda name: found[name], default=None)
    if best is None or found[best] <= to_beat + MARGIN:
        return None, found
    everybody = np.ones(len(own), dtype=np.bool_)
    random = stream(field.seed, "latent-rule", best, "everybody")
    return families[best](everybody, field.logit, LONG, random), found


#: Learns what is common: patients whose decisions count, the shared rule's logit, length, stream.
_Learn = Callable[[BoolArray, FloatArray, ChainSettings, np.random.Generator], OwnRules]


def _families(field: Field) -> dict[str, _Learn]:
    """Return the families of own rules that these covariates allow."""
    if not field.z.shape[1]:
        return {}
    weighed, limited = field.columns(MOST_WEIGHED), field.columns(MOST_LIMITED)

    def weights(
        known: BoolArray, logit: FloatArray, length: ChainSettings, random: np.random.Generator
    ) -> OwnRules:
        return CommonWeights.learn(field.z, weighed, logit, field.panels, known, length, random)

    def limits(
        known: BoolArray, logit: FloatArray, length: ChainSettings, random: np.random.Generator
    ) -> OwnRules:
        return CommonLimits.learn(field.z, limited, field.panels, known, random)

    found: dict[str, _Learn] = {CommonWeights.name: weights}
    if limited.size > 1:
        found[CommonLimits.name] = limits
    return found


def _held_out(name: str, learn: _Learn, field: Field) -> Callable[[], FloatArray]:
    """Return the work of predicting the first fold by what all others teach."""
    random = stream(field.seed, "latent-rule", name, "without fold 0")
    known = field.fold != 0

    def predict() -> FloatArray:
        common = learn(known, field.nested, SHORT, random)
        read, _ = read_own_rules(
            common, field.z, field.nested, field.panels, field.seed, known=known
        )
        return read.q

    return predict


def evidence_left(field: Field, drawn: FloatArray) -> float:
    """Return the evidence of own rules that the winner's draws leave, products included.

    Draws, not means: residuals of a mean that was fitted to the same decisions are too small.
    """
    z = most_personal(field.z, field.decided, field.shared, MOST_MULTIPLIED)
    bases = (z, with_products(z))
    found = [[own_rule_evidence(basis, field.decided, q) for basis in bases] for q in drawn]
    return float(np.mean(found, axis=0).max())
