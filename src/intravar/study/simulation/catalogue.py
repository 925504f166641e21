"""The conditions by name: the paper's 94, its grid of sizes, and the families after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from intravar.deprecation import renamed
from intravar.errors import unknown_name
from intravar.seeds import derived_seed
from intravar.study.cohort import Cohort
from intravar.study.simulation.courses import COURSE_SCENARIOS
from intravar.study.simulation.covariates import PAPER_COVARIATES, GaussianCopula, LogNormal
from intravar.study.simulation.departures import DrawnRule
from intravar.study.simulation.physicians import Continuum
from intravar.study.simulation.reviews import REVIEW_SCENARIOS
from intravar.study.simulation.rules import Rule, WindowRecipe
from intravar.study.simulation.scenario import Scenario
from intravar.study.simulation.several_decisions import MULTI_SCENARIOS
from intravar.study.simulation.stress import STRESS_SCENARIOS

Family = Literal[
    "score2",
    "continuous",
    "copula",
    "lognormal",
    "window",
    "grid",
    "stress",
    "course",
    "multi",
    "review",
]
PASSES = (1, 2)
GRID_PATIENTS = (5_000, 10_000, 20_000, 30_000)
GRID_PHYSICIANS = (5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Condition:
    """A named scenario with its seed.

    Parameters
    ----------
    name
        `score2`, `continuous`, `copula`, `lognormal`, or `pass1-w3-p2` for pass 1, width 3,
        second position (all counted from 1); `grid-n5000-j20` for SCORE2 with other sizes.
    family
        What kind of condition it is.
    scenario
        The recipe.
    seed
        The seed of its default draw.
    width, position, pass_number
        Window and pass of a progressive rule; None for the others.
    """

    name: str
    family: Family
    scenario: Scenario
    seed: int
    width: int | None = None
    position: int | None = None
    pass_number: int | None = None

    @property
    def rule(self) -> Rule | DrawnRule:
        """The rule of the default draw."""
        return self.scenario.realised_rule(self.seed)

    def replicate_seed(self, replicate: int) -> int:
        """Return the seed of a replicate; replicate 0 is the default draw."""
        return self.seed if replicate == 0 else derived_seed(self.seed, "replicate", str(replicate))


def _condition(scenario: Scenario, family: Family, **window: int) -> Condition:
    return Condition(scenario.name, family, scenario, derived_seed(0, scenario.name), **window)


@cache
def paper_conditions() -> Mapping[str, Condition]:
    """Return the 94 conditions of the paper by name.

    Examples
    --------
    >>> len(paper_conditions())
    94
    """
    found = [
        _condition(Scenario("score2"), "score2"),
        _condition(
            Scenario("continuous", physicians=Continuum(), n_patients=20_000, n_physicians=50),
            "continuous",
        ),
        _condition(
            Scenario(
                "copula",
                covariates=PAPER_COVARIATES.replace((GaussianCopula("non_hdl", "ldl", 0.8),)),
            ),
            "copula",
        ),
        _condition(
            Scenario(
                "lognormal",
                covariates=PAPER_COVARIATES.replace(hba1c=LogNormal(1.846, 0.228, 4, 12)),
            ),
            "lognormal",
        ),
    ]
    n_covariates = len(PAPER_COVARIATES.names)
    for pass_number in PASSES:
        for width in range(1, n_covariates + 1):
            for position in range(1, n_covariates - width + 2):
                scenario = Scenario(
                    f"pass{pass_number}-w{width}-p{position}",
                    rule=WindowRecipe(position, width),
                )
                found.append(
                    _condition(
                        scenario,
                        "window",
                        width=width,
                        position=position,
                        pass_number=pass_number,
                    )
                )
    return {condition.name: condition for condition in found}


@cache
def grid_conditions() -> Mapping[str, Condition]:
    """Return SCORE2 on the paper's grid of sizes, by name.

    Examples
    --------
    >>> len(grid_conditions())
    20
    """
    scenarios = [
        Scenario(f"grid-n{n_patients}-j{n_physicians}").resized(n_patients, n_physicians)
        for n_physicians in GRID_PHYSICIANS
        for n_patients in GRID_PATIENTS
    ]
    return {scenario.name: _condition(scenario, "grid") for scenario in scenarios}


@cache
def stress_conditions() -> Mapping[str, Condition]:
    """Return the stress family, one assumption broken at a time, by name.

    Examples
    --------
    >>> len(stress_conditions())
    25
    """
    return {scenario.name: _condition(scenario, "stress") for scenario in STRESS_SCENARIOS}


@cache
def course_conditions() -> Mapping[str, Condition]:
    """Return the conditions in which something changes with time or with the patient, by name.

    Examples
    --------
    >>> len(course_conditions())
    5
    """
    return {scenario.name: _condition(scenario, "course") for scenario in COURSE_SCENARIOS}


@cache
def multi_conditions() -> Mapping[str, Condition]:
    """Return the conditions with several decisions per patient, by name.

    Examples
    --------
    >>> list(multi_conditions())
    ['multi-independent', 'multi-correlated', 'multi-interacting']
    """
    return {scenario.name: _condition(scenario, "multi") for scenario in MULTI_SCENARIOS}


@cache
def review_conditions() -> Mapping[str, Condition]:
    """Return the conditions with reasons that only the charts tell, by name.

    Examples
    --------
    >>> len(review_conditions())
    6
    """
    return {scenario.name: _condition(scenario, "review") for scenario in REVIEW_SCENARIOS}


def all_conditions() -> Mapping[str, Condition]:
    """Return every condition that has a name."""
    return {
        **paper_conditions(),
        **grid_conditions(),
        **stress_conditions(),
        **course_conditions(),
        **multi_conditions(),
        **review_conditions(),
    }


def find_condition(name: str) -> Condition:
    """Return the condition of a name.

    Raises
    ------
    InputError
        If there is none; the message names the nearest.
    """
    conditions = all_conditions()
    if name not in conditions:
        raise unknown_name(
            "condition", name, conditions, remedy="'intravar conditions --all' lists all of them"
        )
    return conditions[name]


@renamed(seed="random_state")
def simulate(
    condition: str | Scenario,
    *,
    random_state: int | None = None,
    n_patients: int | None = None,
    n_physicians: int | None = None,
) -> Cohort:
    """Simulate a cohort with known truth.

    Parameters
    ----------
    condition
        Name of a condition (`intravar conditions` lists them), or a scenario of your own.
    random_state
        Seed of the draw; by default the condition's own, 0 for a scenario.
    n_patients, n_physicians
        Other sizes than the condition's.

    Examples
    --------
    >>> simulate("score2", random_state=7, n_patients=1000, n_physicians=10)
    score2: 1,000 patients of 10 physicians (95 to 105 each)
    ...
    """
    if isinstance(condition, Scenario):
        scenario, default = condition, 0
    else:
        found = find_condition(condition)
        scenario, default = found.scenario, found.seed
    seed = default if random_state is None else random_state
    return scenario.resized(n_patients, n_physicians).simulate(seed)
