"""A scenario: covariates x rule x physicians x sizes, the recipe of a cohort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.checks import PHYSICIAN
from intravar.deprecation import renamed
from intravar.errors import InputError
from intravar.memory import check_memory
from intravar.seeds import stream
from intravar.study.cohort import Cohort, Truth
from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel
from intravar.study.simulation.departures import (
    CaseMix,
    DrawnRule,
    IntArray,
    Observation,
    Settled,
    Shared,
    Steadiness,
)
from intravar.study.simulation.physicians import (
    FiveGroups,
    FloatArray,
    PhysicianModel,
    Physicians,
    allocate,
    feasible_minimum,
)
from intravar.study.simulation.rules import Rule, RuleRecipe, Score2Rule, check_covariates

#: Panel size that the paper assures to every physician.
MINIMUM_PANEL = 90

#: Memory at the height of a simulation with nine covariates, as measured on a million patients.
BYTES_PER_PATIENT = 160


@dataclass(frozen=True)
class Scenario:
    """The recipe of a cohort; with a seed it gives the same cohort anywhere.

    Parameters
    ----------
    name
        Part of the key of every random stream: two scenarios with one seed share no draw.
    covariates, rule, physicians
        The three models.
    n_patients, n_physicians
        Sizes of the cohort.
    case_mix
        How physicians come to see different patients; by default they do not.
    observation
        What happens to the covariates between the decision and the record, in order; by default
        they are recorded as they are.
    minimum_panel
        Patients that every physician is given before the rest is spread at random; lowered to
        n_patients / n_physicians where it does not fit, and then noted in the cohort.
    steadiness
        By how much p_high is lower for some patients; by default for none.

    Examples
    --------
    >>> scenario = Scenario("example", n_patients=500, n_physicians=5)
    >>> scenario.simulate(random_state=1).n_patients
    500
    """

    name: str
    covariates: CovariateModel = PAPER_COVARIATES
    rule: Rule | RuleRecipe | DrawnRule = Score2Rule()  # noqa: RUF009 -- immutable
    physicians: PhysicianModel = FiveGroups()  # noqa: RUF009 -- immutable
    n_patients: int = 10_000
    n_physicians: int = 20
    minimum_panel: int = MINIMUM_PANEL
    case_mix: CaseMix | None = None
    observation: tuple[Observation, ...] = ()
    steadiness: Steadiness | None = None

    def resized(self, n_patients: int | None, n_physicians: int | None) -> Scenario:
        """Return the scenario with other sizes where they are given."""
        return replace(
            self,
            n_patients=self.n_patients if n_patients is None else n_patients,
            n_physicians=self.n_physicians if n_physicians is None else n_physicians,
        )

    def realised_rule(self, seed: int) -> Rule | DrawnRule:
        """Return the rule that a seed gives, its thresholds drawn."""
        rule = self.rule
        if isinstance(rule, RuleRecipe):
            rule = rule.realise(self.covariates, self._stream(seed, "thresholds"))
        check_covariates(rule, self.covariates.names)
        return rule

    @renamed(seed="random_state")
    def simulate(self, random_state: int) -> Cohort:
        """Draw the cohort that belongs to a seed."""
        if random_state < 0:
            raise InputError(f"seed {random_state} is negative; use 0 or a positive whole number")
        minimum = feasible_minimum(self.n_patients, self.n_physicians, self.minimum_panel)
        check_memory(
            self.n_patients * BYTES_PER_PATIENT, f"{self.n_patients:,} patients", "ask for fewer"
        )
        rule = self.realised_rule(random_state)
        physicians = self.physicians.draw(
            self.n_physicians, self._stream(random_state, "physicians")
        )
        covariates = self._patients(random_state)
        assigned = self._allocate(covariates, minimum, self._stream(random_state, "allocation"))
        random = self._stream(random_state, "eligibility")
        settled = self._settled(rule, random)
        share = settled.chance(covariates, assigned)
        # A sharp rule has shares of 0 and 1, for which any draw gives the same.
        eligible = random.random(self.n_patients) < share
        p_high = self._p_high(physicians.p_high[assigned], covariates)
        p_low = physicians.p_low[assigned]
        probability = np.where(eligible, p_high, p_low)
        decision = self._stream(random_state, "decision").random(self.n_patients) < probability
        return Cohort(
            self._recorded(covariates, random_state),
            decision,
            _named(physicians, assigned),
            Truth(eligible, p_high, p_low, physicians.group[assigned], rule, share),
            name=self.name,
            notes=self._notes(minimum),
        )

    def probabilities(self, seed: int) -> Iterator[FloatArray]:
        """Yield for every physician P(yes) of all patients of the cohort that belongs to a seed.

        All patients, not only the physician's own: what would have become of them there.
        """
        physicians = self.physicians.draw(self.n_physicians, self._stream(seed, "physicians"))
        settled = self._settled(self.realised_rule(seed), self._stream(seed, "eligibility"))
        covariates = self._patients(seed)
        for number in range(self.n_physicians):
            share = settled.chance(covariates, np.full(self.n_patients, number, dtype=np.int32))
            own = np.full(self.n_patients, physicians.p_high[number])
            yield share * self._p_high(own, covariates) + (1 - share) * physicians.p_low[number]

    def _p_high(self, p_high: FloatArray, covariates: pl.DataFrame) -> FloatArray:
        if self.steadiness is None:
            return p_high
        return np.clip(p_high - self.steadiness.fall(covariates), 0.0, 1.0)

    def _patients(self, seed: int) -> pl.DataFrame:
        return self.covariates.draw(
            self.n_patients, lambda name: self._stream(seed, "covariate", name)
        )

    def _settled(self, rule: Rule | DrawnRule, random: np.random.Generator) -> Settled:
        if isinstance(rule, DrawnRule):
            return rule.settle(self.covariates, self.n_physicians, random)
        return Shared(rule)

    def describe(self) -> str:
        """Say what is out of the ordinary about who sees whom and what is recorded."""
        parts = [observation.describe() for observation in self.observation]
        if self.case_mix is not None:
            parts.append(f"physicians see patients of different {self.case_mix.covariate}")
        if self.steadiness is not None:
            parts.append(self.steadiness.describe())
        return "; ".join(parts)

    def _allocate(
        self, covariates: pl.DataFrame, minimum: int, random: np.random.Generator
    ) -> IntArray:
        if self.case_mix is None:
            return allocate(self.n_patients, self.n_physicians, minimum, random)
        return self.case_mix.allocate(covariates, self.n_physicians, minimum, random)

    def _recorded(self, covariates: pl.DataFrame, seed: int) -> pl.DataFrame:
        for position, observation in enumerate(self.observation):
            random = self._stream(seed, "observation", str(position))
            covariates = observation.observe(covariates, random)
        return covariates

    def _stream(self, seed: int, *purpose: str) -> np.random.Generator:
        return stream(seed, self.name, *purpose)

    def _notes(self, minimum: int) -> tuple[str, ...]:
        if minimum == self.minimum_panel:
            return ()
        return (
            f"{self.n_patients:,} patients do not give {self.n_physicians} physicians "
            f"{self.minimum_panel} each; every physician is assured {minimum} instead",
        )


def _named(physicians: Physicians, assigned: IntArray) -> pl.Series:
    names = pl.Series(physicians.names, dtype=pl.Categorical)
    return names.gather(assigned).alias(PHYSICIAN)
