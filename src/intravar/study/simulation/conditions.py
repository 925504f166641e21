"""The conditions by name: the paper's 94, its grid of sizes, and the families after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from intravar.errors import renamed, unknown_name
from intravar.seeds import derived_seed
from intravar.study.cohort import Cohort
from intravar.study.simulation.covariates import (
    DAY,
    DAYS,
    MIDDLE_DAY,
    PAPER_COVARIATES,
    Bernoulli,
    CovariateModel,
    GaussianCopula,
    LogNormal,
    WholeDays,
)
from intravar.study.simulation.own_rules import (
    COMMON_RULE,
    THREE_CAMPS,
    Camps,
    DrawnRule,
    GradedScore2,
    OwnConjunctions,
    PersonalThresholds,
    PersonalWeights,
)
from intravar.study.simulation.physicians import CaseMix, Continuum, SteadinessTrait
from intravar.study.simulation.rules import (
    ExclusiveOr,
    Rule,
    Score2Rule,
    Switch,
    ThresholdRule,
    WindowRecipe,
)
from intravar.study.simulation.scenario import Fall, Recording, Scenario

Family = Literal["paper", "grid", "stress", "course", "multi", "review"]
GRID_PATIENTS = (5_000, 10_000, 20_000, 30_000)
GRID_PHYSICIANS = (5, 10, 20, 50, 100)
#: Multiplies the SCORE2 thresholds so that 5 % of the patients are eligible.
RARE = 2.41


@dataclass(frozen=True)
class Condition:
    """A named scenario with its seed.

    Parameters
    ----------
    name
        `score2`, `continuous`, `copula`, `lognormal`, or `pass1-w3-p2` for pass 1, width 3,
        second position (all counted from 1); `grid-n5000-j20` for SCORE2 with other sizes.
    family
        What kind of condition it is; of the paper's, `score2`, `window` or its own name.
    scenario
        The recipe.
    seed
        The seed of its default draw.
    width, position, pass_number
        Window and pass of a progressive rule; None for the others.
    """

    name: str
    family: str
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


def _condition(scenario: Scenario, family: str, **window: int) -> Condition:
    return Condition(scenario.name, family, scenario, derived_seed(0, scenario.name), **window)


def _paper() -> Iterator[Condition]:
    lognormal = PAPER_COVARIATES.replace(hba1c=LogNormal(1.846, 0.228, 4, 12))
    copula = PAPER_COVARIATES.replace((GaussianCopula("non_hdl", "ldl", 0.8),))
    for scenario in (
        Scenario("score2"),
        Scenario("continuous", physicians=Continuum(), n_patients=20_000, n_physicians=50),
        Scenario("copula", covariates=copula),
        Scenario("lognormal", covariates=lognormal),
    ):
        yield _condition(scenario, scenario.name)
    n_covariates = len(PAPER_COVARIATES.names)
    for number in (1, 2):
        for width in range(1, n_covariates + 1):
            for position in range(1, n_covariates - width + 2):
                name = f"pass{number}-w{width}-p{position}"
                scenario = Scenario(name, rule=WindowRecipe(position, width))
                window = {"width": width, "position": position, "pass_number": number}
                yield _condition(scenario, "window", **window)


def _grid() -> Iterator[Scenario]:
    """SCORE2 on the paper's grid of sizes."""
    for n_physicians in GRID_PHYSICIANS:
        for n_patients in GRID_PATIENTS:
            name = f"grid-n{n_patients}-j{n_physicians}"
            yield Scenario(name, n_patients=n_patients, n_physicians=n_physicians)


def _stress() -> Iterator[Scenario]:
    """Break one assumption at a time, with the continuum of physicians.

    Six of them leave one rule for all: physicians follow rules of their own, 40 of them with 500
    patients each, and once more, as `-small`, 160 of them with 100 each.
    """
    base = Scenario("stress", physicians=Continuum(), n_patients=20_000, n_physicians=50)
    sparse = replace(base, n_patients=10_000, minimum_panel=20)
    own = replace(base, physicians=Continuum(p_low=0.02), n_physicians=40)
    rare = Score2Rule(thresholds=(0.025 * RARE, 0.05 * RARE, 0.075 * RARE))
    own_rules: dict[str, DrawnRule] = {
        "two-camps": Camps(),
        "personal-weights": PersonalWeights(COMMON_RULE, weights_sd=0.3),
        "strong-thresholds": PersonalWeights(COMMON_RULE, threshold_sd=1.0),
        "own-rules": PersonalWeights({}, weights_sd=1.0),
        "own-conjunctions": OwnConjunctions(),
        "three-camps": Camps(THREE_CAMPS, drifters=0.2),
    }
    small = replace(own, n_patients=16_000, n_physicians=160)
    scenarios = {
        "hidden-weak": replace(base, recording=Recording(hidden=("hdl",))),
        "hidden-strong": replace(base, recording=Recording(hidden=("age",))),
        "personal-thresholds": replace(base, rule=PersonalThresholds()),
        "graded": replace(base, rule=GradedScore2()),
        "sparse-50": replace(sparse, n_physicians=200),
        "sparse-25": replace(sparse, n_physicians=400),
        "heterogeneous-p-low": replace(base, physicians=Continuum(p_low=(0.0, 0.3))),
        "noise": replace(base, recording=Recording(error=0.3)),
        "case-mix": replace(base, case_mix=CaseMix("age", 0.5)),
        "missing": replace(base, recording=Recording(missing=0.1)),
        "rare": replace(base, rule=rare),
        "exclusive-or": replace(base, rule=ExclusiveOr({"age": 60, "sbp": 130})),
        "irrelevant": replace(base, recording=Recording(irrelevant=30)),
        **{name: replace(own, rule=rule) for name, rule in own_rules.items()},
        **{f"{name}-small": replace(small, rule=rule) for name, rule in own_rules.items()},
    }
    for name, scenario in scenarios.items():
        yield replace(scenario, name=f"stress-{name}")


def _course() -> Iterator[Scenario]:
    """Something changes with time or with the patient: steadiness, or the rule itself.

    Patients come over two years. Physicians become less steady, at once or slowly; a guideline
    changes the rule while physicians stay as they are; some patients are harder to decide on.
    """
    days = CovariateModel({**PAPER_COVARIATES.marginals, DAY: WholeDays()})
    base = Scenario(
        *("drift-none", days), physicians=Continuum(), n_patients=20_000, n_physicians=40
    )
    late, stricter = pl.col(DAY) >= MIDDLE_DAY, Score2Rule(thresholds=(0.0125, 0.025, 0.0375))
    guideline = Switch(Score2Rule(), f"day >= {MIDDLE_DAY}", late, stricter)
    yield base
    yield replace(base, name="drift-step", steadiness=Fall(DAY, since=MIDDLE_DAY))
    yield replace(base, name="drift-slow", steadiness=Fall(DAY, last=DAYS - 1))
    yield replace(base, name="drift-guideline", rule=guideline)
    yield replace(base, name="subgroup-harder", steadiness=Fall("male"))


def _multi() -> Iterator[Scenario]:
    """Several decisions per patient, by a rule each, as guidelines have them."""
    limits = ({"non_hdl": 3.6}, {"sbp": 130}, {"hba1c": 6.5}, {"egfr": 90})
    first, *others = (ThresholdRule(limit) for limit in limits)
    base = Scenario(
        "multi-independent",
        rule=first,
        physicians=SteadinessTrait(4, 0.0),
        n_patients=6_000,
        n_physicians=100,
        minimum_panel=60,
        further_rules=tuple(others),
    )
    yield base
    yield replace(base, name="multi-correlated", physicians=SteadinessTrait(4, 0.7))
    yield replace(
        base,
        name="multi-interacting",
        physicians=SteadinessTrait(3, 0.0),
        n_patients=20_000,
        n_physicians=50,
        further_rules=tuple(others[:2]),
        less=(0.3, 1.0),
    )


def _review() -> Iterator[Scenario]:
    """Reasons against the drug that stand in the charts: physicians know them, the table does not.

    Where they are concentrated, some physicians see more of such patients than others.
    """
    base = Scenario("review-none", physicians=Continuum(), n_patients=8_000, n_physicians=20)
    yield base
    for name, shares, strength in (
        ("common", {"contraindication": 0.25}, 0.0),
        ("rare", {"contraindication": 0.05}, 0.0),
        ("two", {"contraindication": 0.2, "frailty": 0.15}, 0.0),
        ("concentrated", {"contraindication": 0.25}, 1.0),
        ("two-concentrated", {"contraindication": 0.2, "frailty": 0.1}, 1.0),
    ):
        reasons = {reason: Bernoulli(share) for reason, share in shares.items()}
        yield replace(
            base,
            name=f"review-{name}",
            covariates=CovariateModel({**PAPER_COVARIATES.marginals, **reasons}),
            rule=Switch(Score2Rule(), " or ".join(reasons), pl.max_horizontal(*reasons) > 0),
            recording=Recording(hidden=tuple(reasons)),
            case_mix=CaseMix("contraindication", strength) if strength else None,
        )


_FAMILIES = {
    "grid": _grid,
    "stress": _stress,
    "course": _course,
    "multi": _multi,
    "review": _review,
}


@cache
def conditions_of(family: Family) -> Mapping[str, Condition]:
    """Return the conditions of a family by name.

    Parameters
    ----------
    family
        "paper" for its 94; "grid" for SCORE2 on its grid of sizes; "stress", one assumption broken
        at a time; "course", something changes with time or with the patient; "multi", several
        decisions per patient; "review", reasons that only the charts tell.

    Examples
    --------
    >>> {family: len(conditions_of(family)) for family in get_args(Family)}
    {'paper': 94, 'grid': 20, 'stress': 25, 'course': 5, 'multi': 3, 'review': 6}
    """
    if family == "paper":
        return {condition.name: condition for condition in _paper()}
    return {scenario.name: _condition(scenario, family) for scenario in _FAMILIES[family]()}


def all_conditions() -> Mapping[str, Condition]:
    """Return every condition that has a name."""
    return {
        name: each for family in get_args(Family) for name, each in conditions_of(family).items()
    }


def main_conditions() -> list[str]:
    """Return the conditions of the paper's table across experiments: SCORE2 and the windows."""
    known = conditions_of("paper").items()
    return [name for name, each in known if each.family in ("score2", "window")]


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


def _asked(
    condition: str | Scenario, seed: int | None, n_patients: int | None, n_physicians: int | None
) -> tuple[Scenario, int]:
    """Return the scenario that is asked for, and its seed."""
    if isinstance(condition, Scenario):
        scenario, default = condition, 0
    else:
        found = find_condition(condition)
        scenario, default = found.scenario, found.seed
    return scenario.resized(n_patients, n_physicians), default if seed is None else seed


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
    scenario, own_seed = _asked(condition, random_state, n_patients, n_physicians)
    return scenario.simulate(own_seed)


class NoiseTruth(NamedTuple):
    """Variances of a decision for one patient and a physician drawn at random.

    Attributes
    ----------
    system
        All of it: occasion + level + pattern.
    level
        Some physicians say yes more often than others.
    pattern
        They weigh patients differently.
    occasion
        The same physician would decide differently on another occasion.
    """

    system: float
    level: float
    pattern: float
    occasion: float


def noise_truth(
    condition: str | Scenario,
    *,
    seed: int | None = None,
    n_patients: int | None = None,
    n_physicians: int | None = None,
) -> NoiseTruth:
    """Return the components of noise of the cohort that :func:`simulate` makes of the same.

    Every patient with every physician: p_j(x) is known for all pairs. What is hidden from the
    record is not hidden here.

    Examples
    --------
    >>> truth = noise_truth("stress-two-camps", n_patients=400, n_physicians=4)
    >>> bool(abs(truth.system - truth.level - truth.pattern - truth.occasion) < 1e-12)
    True
    """
    scenario, own_seed = _asked(condition, seed, n_patients, n_physicians)
    p = np.stack(list(scenario.probabilities(own_seed)))
    between, occasion = float(p.var(axis=0).mean()), float(np.mean(p * (1 - p)))
    level = float(p.mean(axis=1).var())
    return NoiseTruth(occasion + between, level, between - level, occasion)
