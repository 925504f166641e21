"""Several decisions per patient: a rule for each, a trait of steadiness, and interactions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logit

from intravar.errors import InputError
from intravar.inference.outcomes import chained, positions
from intravar.study.cohort import FURTHER, Truth
from intravar.study.simulation.physicians import Physicians, physician_names
from intravar.study.simulation.rules import ThresholdRule
from intravar.study.simulation.scenario import Scenario


@dataclass(frozen=True)
class SteadinessTrait:
    """How closely a physician follows the rule of each decision, with a trait behind all of them.

    Parameters
    ----------
    n_decisions
        Number of decisions.
    correlation
        Of the logits of p_high of any two decisions of one physician.
    typical, spread
        p_high of the physician in the middle, and the standard deviation of its logit.
    p_low
        How often anyone decides for a patient who is not eligible.

    Examples
    --------
    >>> found = SteadinessTrait(2, 0.7).draw_all(1000, np.random.default_rng(0))
    >>> first, second = (logit(each.p_high) for each in found)
    >>> round(float(np.corrcoef(first, second)[0, 1]), 1)
    0.7
    """

    n_decisions: int
    correlation: float
    typical: float = 0.8
    spread: float = 1.0
    p_low: float = 0.05

    def draw_all(self, n_physicians: int, random: np.random.Generator) -> tuple[Physicians, ...]:
        """Draw the behaviour of every physician in every decision."""
        trait = random.standard_normal((n_physicians, 1))
        own = random.standard_normal((n_physicians, self.n_decisions))
        mixed = np.sqrt(self.correlation) * trait + np.sqrt(1 - self.correlation) * own
        p_high = expit(logit(self.typical) + self.spread * mixed)
        names = physician_names(n_physicians)
        p_low, group = np.full(n_physicians, self.p_low), np.zeros(n_physicians, dtype=np.int16)
        return tuple(Physicians(names, column, p_low, group) for column in p_high.T)

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """Draw the physicians of the first decision."""
        return self.draw_all(n_physicians, random)[0]

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.physicians.PhysicianModel`."""
        return (
            f"{self.n_decisions} decisions, logit p_high ~ N({logit(self.typical):.2f}, "
            f"{self.spread:g}) with correlation {self.correlation:g}, p_low = {self.p_low:g}"
        )


@dataclass(frozen=True)
class SeveralDecisions(Scenario):
    """A scenario in which every patient gets several decisions of the same physician.

    Parameters
    ----------
    further_rules
        Rules of the second decision and of those after it.
    less
        What P(yes) of each of them is multiplied by where the decision before it was a yes; empty
        where decisions are independent of each other.

    Examples
    --------
    >>> from intravar.study.simulation import simulate
    >>> cohort = simulate("multi-independent", n_patients=200, n_physicians=5)
    >>> cohort.decisions.columns
    ['decision', 'decision_2', 'decision_3', 'decision_4']
    >>> cohort.truth.outcomes.shape
    (200, 16)
    """

    further_rules: tuple[ThresholdRule, ...] = ()
    less: tuple[float, ...] = ()
    physicians: SteadinessTrait = SteadinessTrait(1, 0.0)

    def _further(
        self,
        seed: int,
        covariates: pl.DataFrame,
        assigned: npt.NDArray[np.int32],
        decision: npt.NDArray[np.bool_],
        truth: Truth,
    ) -> tuple[pl.DataFrame | None, Truth]:
        n_rules = 1 + len(self.further_rules)
        if self.physicians.n_decisions != n_rules:
            raise InputError(
                f"there are {self.physicians.n_decisions} decisions and {n_rules} rules; give one "
                "rule per decision"
            )
        behaviour = self.physicians.draw_all(self.n_physicians, self._stream(seed, "physicians"))
        # P(yes) of each decision given those before it, a column per combination.
        conditional, decided = [truth.probability[:, None]], decision[:, None].astype(np.int64)
        for number, rule in enumerate(self.further_rules, start=1):
            own = behaviour[number]
            eligible = rule.eligible(covariates)
            alone = np.where(eligible, own.p_high[assigned], own.p_low[assigned])
            factor = self.less[number - 1] if self.less else 1.0
            # Combinations of the decisions so far: the last of them is a yes in the upper half.
            chance = alone[:, None] * np.repeat([1.0, factor], 2 ** (number - 1))
            conditional.append(chance)
            draw = self._stream(seed, "decision", str(number + 1)).random(self.n_patients)
            yes = draw < chance[np.arange(len(chance)), positions(decided)]
            decided = np.column_stack([decided, yes])
        further = pl.DataFrame(dict(zip(FURTHER, decided.T[1:].astype(np.int8), strict=False)))
        return further, replace(truth, outcomes=chained(conditional))

    def describe(self) -> str:
        """Say what is out of the ordinary about the decisions."""
        rules = " | ".join(rule.describe() for rule in self.further_rules)
        parts = [super().describe(), f"further decisions by {rules}"]
        if any(factor != 1 for factor in self.less):
            factors = ", ".join(f"{factor:g}" for factor in self.less)
            parts.append(f"after a yes P(yes) of the next is multiplied by {factors}")
        return "; ".join(part for part in parts if part)
