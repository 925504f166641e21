"""Conditions for blind review: reasons that are not recorded, and reviewers who look for them.

A patient who would be eligible by the recorded covariates is not if one of the reasons applies. The
reasons stand in the charts: physicians know them, the table does not hold them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.study.cohort import Truth
from intravar.study.simulation.covariates import PAPER_COVARIATES, Bernoulli, CovariateModel
from intravar.study.simulation.departures import CaseMix, Hidden
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.rules import Rule, Score2Rule
from intravar.study.simulation.scenario import Scenario


@dataclass(frozen=True)
class Unless:
    """A rule that does not apply where there is a reason against it.

    Examples
    --------
    >>> from intravar.study.simulation.departures import ExclusiveOr
    >>> rule = Unless(ExclusiveOr({"age": 60, "sbp": 130}), ("frail",))
    >>> rule.eligible(pl.DataFrame({"age": [70, 70], "sbp": [120, 120], "frail": [0, 1]})).tolist()
    [True, False]
    """

    rule: Rule
    reasons: tuple[str, ...]

    @property
    def covariates(self) -> tuple[str, ...]:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        return (*self.rule.covariates, *self.reasons)

    def eligible(self, covariates: pl.DataFrame) -> BoolArray:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        against = covariates.select(pl.max_horizontal(*self.reasons) > 0).to_series().to_numpy()
        return np.asarray(self.rule.eligible(covariates) & ~against)

    def describe(self) -> str:
        """See :class:`intravar.study.simulation.rules.Rule`."""
        return f"{self.rule.describe()}; unless {' or '.join(self.reasons)}"


def _with_reasons(name: str, concentrated: float = 0.0, **shares: float) -> Scenario:
    reasons = tuple(shares)
    marginals = {each: Bernoulli(share) for each, share in shares.items()}
    rule: Rule = Unless(Score2Rule(), reasons) if reasons else Score2Rule()
    return replace(
        _BASE,
        name=f"review-{name}",
        covariates=CovariateModel({**PAPER_COVARIATES.marginals, **marginals}),
        rule=rule,
        observation=(Hidden(reasons),) if reasons else (),
        case_mix=CaseMix(reasons[0], concentrated) if concentrated else None,
    )


_BASE = Scenario("review", physicians=Continuum(), n_patients=8_000, n_physicians=20)

REVIEW_SCENARIOS: tuple[Scenario, ...] = (
    _with_reasons("none"),
    _with_reasons("common", contraindication=0.25),
    _with_reasons("rare", contraindication=0.05),
    _with_reasons("two", contraindication=0.2, frailty=0.15),
    _with_reasons("concentrated", 1.0, contraindication=0.25),
    _with_reasons("two-concentrated", 1.0, contraindication=0.2, frailty=0.1),
)


@dataclass(frozen=True)
class PairTruth:
    """What is true of pairs of patients, given everything that matters.

    Attributes
    ----------
    comparable
        Whether the physician would decide on both with the same probability.
    differ
        Probability that the two are decided differently.
    """

    comparable: BoolArray
    differ: FloatArray

    @classmethod
    def of(cls, truth: Truth, first: IntArray, second: IntArray) -> PairTruth:
        """Return the truth of pairs by the positions of their patients."""
        one, two = truth.probability[first], truth.probability[second]
        return cls(np.abs(one - two) < 1e-9, one * (1 - two) + two * (1 - one))

    @property
    def discordance(self) -> float:
        """Discordance among comparable pairs: what a review without errors aims at."""
        return float(self.differ[self.comparable].mean())


@dataclass(frozen=True)
class Reviewer:
    """Somebody who judges pairs, with errors.

    Parameters
    ----------
    sensitivity
        How often two patients who differ in something that matters are found different.
    specificity
        How often two comparable patients are found comparable.
    """

    sensitivity: float = 1.0
    specificity: float = 1.0

    def judge(self, comparable: BoolArray, random: np.random.Generator) -> BoolArray:
        """Return which pairs are found comparable.

        Examples
        --------
        >>> Reviewer().judge(np.array([True, False]), np.random.default_rng(0)).tolist()
        [True, False]
        """
        chance = np.where(comparable, self.specificity, 1 - self.sensitivity)
        return np.asarray(random.random(len(comparable)) < chance)
