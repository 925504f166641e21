"""A scenario: covariates x rule x physicians x sizes x record, the recipe of a cohort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.arrays import FloatArray
from intravar.errors import InputError, renamed
from intravar.inference.outcomes import chained, positions
from intravar.observed import PHYSICIAN
from intravar.processes import check_memory
from intravar.request import checked_seed
from intravar.seeds import derived_seed, stream
from intravar.study.cohort import FURTHER, PATIENT, SAMPLING_WEIGHT, Cohort, Truth
from intravar.study.simulation.collection import CaseControl, FilledIn, Visits
from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel
from intravar.study.simulation.physicians import (
    CaseMix,
    FiveGroups,
    PhysicianModel,
    Physicians,
    allocate,
    feasible_minimum,
)
from intravar.study.simulation.rules import Chance, DrawnRule, Rule, RuleRecipe, Score2Rule

#: Panel size that the paper assures to every physician.
MINIMUM_PANEL = 90

#: Memory at the height of a simulation with nine covariates, as measured on a million patients.
BYTES_PER_PATIENT = 160


@dataclass(frozen=True)
class Recording:
    """What the analyst gets to see of the covariates that decisions were based on.

    Parameters
    ----------
    hidden
        Covariates that are not recorded.
    error
        Covariates with more than two values are recorded with an error of so many SD.
    missing
        Share of values that are missing, whatever they are.
    irrelevant
        How many covariates that have nothing to do with anything are recorded as well.
    as_text
        Covariates that are recorded as codes of a category: text beside the numeric covariates, in
        the table alone.
    """

    hidden: tuple[str, ...] = ()
    error: float = 0.0
    missing: float = 0.0
    irrelevant: int = 0
    as_text: tuple[str, ...] = ()

    def observe(self, covariates: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
        """Return the covariates as recorded."""
        columns = list(covariates.drop(self.hidden, self.as_text))
        n = covariates.height
        for at, column in enumerate(columns if self.error else ()):
            if column.n_unique() > 2:
                spread = self.error * column.to_numpy().std()
                columns[at] = column + spread * random.standard_normal(n)
        for at, column in enumerate(columns if self.missing else ()):
            columns[at] = column.set(pl.Series(random.random(n) < self.missing), None)
        noise = (f"noise_{number:02d}" for number in range(1, self.irrelevant + 1))
        columns += [pl.Series(name, random.standard_normal(n)) for name in noise]
        return pl.DataFrame(columns)

    def texts(self, covariates: pl.DataFrame) -> list[pl.Series]:
        """Return the covariates that are recorded as text: codes such as C017."""
        return [
            pl.Series(name, [f"C{code:03.0f}" for code in covariates[name]])
            for name in self.as_text
        ]

    def describe(self) -> str:
        """Say what happens, in words."""
        parts = {
            f"{', '.join(self.hidden)} not recorded": self.hidden,
            f"recorded with an error of {self.error:g} SD": self.error,
            f"{100 * self.missing:g} % of the values missing": self.missing,
            f"{self.irrelevant} irrelevant covariates besides": self.irrelevant,
            f"{', '.join(self.as_text)} recorded as codes": self.as_text,
        }
        return "; ".join(words for words, given in parts.items() if given)


@dataclass(frozen=True)
class Fall:
    """By how much p_high is lower for some patients.

    Parameters
    ----------
    covariate, size
        What it depends on, and by how much it falls.
    since
        The value from which on p_high is lower; by default it falls evenly.
    last
        The value at which all of the fall is reached, if it is even.
    """

    covariate: str
    size: float = 0.15
    since: float | None = None
    last: float = 1.0

    def fall(self, covariates: pl.DataFrame) -> FloatArray:
        """Return the fall of p_high, one entry per patient."""
        values = covariates[self.covariate].to_numpy()
        if self.since is not None:
            return np.where(values >= self.since, self.size, 0.0)
        return np.asarray(self.size * values / self.last)

    def describe(self) -> str:
        """Say it in words."""
        where = f"from the first {self.covariate} to the last, evenly"
        if self.since is not None:
            where = f"from {self.covariate} {self.since:g} on"
        elif self.last == 1:
            where = f"where {self.covariate} is 1"
        return f"p_high lower by {self.size:g} {where}"


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
    recording
        What happens to the covariates between the decision and the record; by default they are
        recorded as they are.
    minimum_panel
        Patients that every physician is given before the rest is spread at random; lowered to
        n_patients / n_physicians where it does not fit, and then noted in the cohort.
    steadiness
        By how much p_high is lower for some patients; by default for none.
    further_rules
        Where every patient gets several decisions of the same physician: the rules of the second
        decision and of those after it. `physicians` is then a :class:`SteadinessTrait`.
    less
        What P(yes) of each of them is multiplied by where the decision before it was a yes; empty
        where decisions are independent of each other.
    visits
        Patients who come several times, if they do; `n_patients` then counts rows.
    filled_in
        A column that is filled in after the decision, if there is one.
    sampling
        How rows are sampled from the `n_patients` of the population; by default all are kept.
    family
        What kind of condition it is.
    seed
        The seed of its default draw.

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
    recording: Recording = Recording()
    steadiness: Fall | None = None
    further_rules: tuple[Rule, ...] = ()
    less: tuple[float, ...] = ()
    visits: Visits | None = None
    filled_in: FilledIn | None = None
    sampling: CaseControl | None = None
    family: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.visits is not None and (self.steadiness is not None or self.further_rules):
            raise InputError(
                "repeat visits cannot be combined with changing steadiness or several decisions; "
                "leave one out"
            )

    def resized(self, n_patients: int | None, n_physicians: int | None) -> Scenario:
        """Return the scenario with other sizes where they are given."""
        sizes: dict[str, Any] = {"n_patients": n_patients, "n_physicians": n_physicians}
        return replace(self, **{name: n for name, n in sizes.items() if n is not None})

    def replicate_seed(self, replicate: int) -> int:
        """Return the seed of a replicate; replicate 0 is the default draw."""
        return self.seed if replicate == 0 else derived_seed(self.seed, "replicate", str(replicate))

    def realised_rule(self, seed: int | None = None) -> Rule | DrawnRule:
        """Return the rule that a seed gives, its thresholds drawn; by default its own seed."""
        rule, seed = self.rule, self.seed if seed is None else seed
        if isinstance(rule, RuleRecipe):
            rule = rule.realise(self.covariates, stream(seed, self.name, "thresholds"))
        for name in rule.covariates:
            self.covariates.marginal(name)  # refuses one that patients do not have
        return rule

    @renamed(seed="random_state")
    def simulate(self, random_state: int) -> Cohort:
        """Draw the cohort that belongs to a seed."""
        random_state = checked_seed(random_state)
        minimum = feasible_minimum(self.n_patients, self.n_physicians, self.minimum_panel)
        check_memory(
            self.n_patients * BYTES_PER_PATIENT, f"{self.n_patients:,} patients", "ask for fewer"
        )
        draw = partial(stream, random_state, self.name)
        rule, physicians, covariates = self._drawn(random_state)
        n_decisions = 1 + (0 if physicians.further is None else physicians.further.shape[1])
        if n_decisions != 1 + len(self.further_rules):
            raise InputError(
                f"there are {n_decisions} decisions and {1 + len(self.further_rules)} rules; give "
                "one rule per decision"
            )
        sizes = (self.n_physicians, minimum, draw("allocation"))
        if self.case_mix is None:
            assigned = allocate(self.n_patients, *sizes)
        else:
            assigned = self.case_mix.allocate(covariates, *sizes)
        plan = None
        if self.visits is not None:
            plan = self.visits.plan(assigned.astype(np.int64), draw("visits"))
            covariates = self.visits.records(covariates, plan, draw("visits", "records"))
        random = draw("eligibility")
        chance = self._settled(rule, random)
        share = chance(covariates, assigned)
        # A sharp rule has shares of 0 and 1, for which any draw gives the same.
        eligible = random.random(self.n_patients) < share
        p_high = self._p_high(physicians.p_high[assigned], covariates)
        p_low = physicians.p_low[assigned]
        decision = draw("decision").random(self.n_patients) < np.where(eligible, p_high, p_low)
        if self.visits is not None and plan is not None:
            decision = self.visits.carry_over(decision, plan, draw("visits", "decisions"))
            share = self.visits.share_given_record(
                lambda records: chance(records, assigned), covariates, plan, draw("visits", "truth")
            )
        fewer = (
            f"{self.n_patients:,} patients do not give {self.n_physicians} physicians "
            f"{self.minimum_panel} each; every physician is assured {minimum} instead"
        )
        truth = Truth(eligible, p_high, p_low, physicians.group[assigned], rule, share)
        further = None
        if physicians.further is not None:
            p_high = physicians.further[assigned]
            further, truth = self._further(random_state, covariates, p_high, decision, truth)
        recorded = self.recording.observe(covariates, draw("observation", "0"))
        if self.filled_in is not None:
            late = self.filled_in.record(decision, draw("filled in"))
            recorded = recorded.with_columns(late)
        extras = self.recording.texts(covariates)
        if plan is not None:
            extras.append(pl.Series(PATIENT, plan.patient))
        rows = np.arange(self.n_patients)
        if self.sampling is not None:
            rows, weight = self.sampling.draw(decision, assigned.astype(np.int64), draw("sampling"))
            every = np.zeros(self.n_patients)
            every[rows] = weight
            extras.append(pl.Series(SAMPLING_WEIGHT, every))
        cohort = Cohort(
            recorded,
            decision,
            pl.Series(PHYSICIAN, physicians.names, pl.Categorical).gather(assigned),
            truth,
            self.name,
            (fewer,) if minimum < self.minimum_panel else (),
            further,
            pl.DataFrame(extras),
        )
        return cohort if self.sampling is None else cohort.take(rows)

    def _further(
        self,
        seed: int,
        covariates: pl.DataFrame,
        p_high: FloatArray,
        decision: npt.NDArray[np.bool_],
        truth: Truth,
    ) -> tuple[pl.DataFrame, Truth]:
        """Return the decisions after the first, and what is known of all together."""
        # P(yes) of each decision given those before it, a column per combination.
        conditional, decided = [truth.probability[:, None]], decision[:, None].astype(np.int64)
        for number, rule in enumerate(self.further_rules, start=1):
            alone = np.where(rule.eligible(covariates), p_high[:, number - 1], truth.p_low)
            factor = self.less[number - 1] if self.less else 1.0
            # Combinations of the decisions so far: the last of them is a yes in the upper half.
            chance = alone[:, None] * np.repeat([1.0, factor], 2 ** (number - 1))
            conditional.append(chance)
            drawn = stream(seed, self.name, "decision", str(number + 1)).random(self.n_patients)
            yes = drawn < chance[np.arange(len(chance)), positions(decided)]
            decided = np.column_stack([decided, yes])
        further = pl.DataFrame(dict(zip(FURTHER, decided.T[1:].astype(np.int8), strict=False)))
        return further, replace(truth, outcomes=chained(conditional))

    def probabilities(self, seed: int) -> Iterator[FloatArray]:
        """Yield for every physician P(yes) of all patients of the cohort that belongs to a seed.

        All patients, not only the physician's own: what would have become of them there.
        """
        if self.visits is not None:
            raise InputError(
                "patients who come several times have no decisions of other physicians; leave out "
                "the visits"
            )
        rule, physicians, covariates = self._drawn(seed)
        chance = self._settled(rule, stream(seed, self.name, "eligibility"))
        for number in range(self.n_physicians):
            share = chance(covariates, np.full(self.n_patients, number, dtype=np.int32))
            own = np.full(self.n_patients, physicians.p_high[number])
            yield share * self._p_high(own, covariates) + (1 - share) * physicians.p_low[number]

    def _drawn(self, seed: int) -> tuple[Rule | DrawnRule, Physicians, pl.DataFrame]:
        """Draw the rule, the physicians and the patients that belong to a seed."""
        draw, rule = partial(stream, seed, self.name), self.realised_rule(seed)
        physicians = self.physicians.draw(self.n_physicians, draw("physicians"))
        return rule, physicians, self.covariates.draw(self.n_patients, partial(draw, "covariate"))

    def _p_high(self, p_high: FloatArray, covariates: pl.DataFrame) -> FloatArray:
        if self.steadiness is None:
            return p_high
        return np.clip(p_high - self.steadiness.fall(covariates), 0.0, 1.0)

    def _settled(self, rule: Rule | DrawnRule, random: np.random.Generator) -> Chance:
        if isinstance(rule, DrawnRule):
            return rule.settle(self.covariates, self.n_physicians, random)
        return lambda covariates, _: rule.eligible(covariates).astype(np.float64)

    def describe(self) -> str:
        """Say what is out of the ordinary: who sees whom, what is recorded, further decisions."""
        parts = [self.recording.describe()]
        if self.case_mix is not None:
            parts.append(f"physicians see patients of different {self.case_mix.covariate}")
        if self.steadiness is not None:
            parts.append(self.steadiness.describe())
        collected = (self.visits, self.filled_in, self.sampling)
        parts += [each.describe() for each in collected if each is not None]
        if rules := " | ".join(rule.describe() for rule in self.further_rules):
            parts.append(f"further decisions by {rules}")
        if any(factor != 1 for factor in self.less):
            factors = ", ".join(f"{factor:g}" for factor in self.less)
            parts.append(f"after a yes P(yes) of the next is multiplied by {factors}")
        return "; ".join(filter(None, parts))
