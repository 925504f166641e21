"""The conditions by name: the paper's 94, its grid of sizes, and the families after it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Literal, get_args

import numpy as np
import polars as pl

from intravar.errors import renamed, unknown_name
from intravar.seeds import derived_seed
from intravar.study.cohort import Cohort
from intravar.study.simulation import covariates, rules
from intravar.study.simulation.covariates import DAY, MIDDLE_DAY, PAPER_COVARIATES, CovariateModel
from intravar.study.simulation.physicians import CaseMix, Continuum, SteadinessTrait
from intravar.study.simulation.rules import Score2Rule
from intravar.study.simulation.scenario import Fall, Recording, Scenario

Family = Literal["paper", "grid", "stress", "course", "multi", "review"]
GRID_PATIENTS = (5_000, 10_000, 20_000, 30_000)
GRID_PHYSICIANS = (5, 10, 20, 50, 100)
#: Multiplies the SCORE2 thresholds so that 5 % of the patients are eligible.
RARE = 2.41


def _paper() -> Iterator[Scenario]:
    """SCORE2, its three variants, and the windows in two passes."""
    lognormal = PAPER_COVARIATES.replace(hba1c=covariates.LogNormal(1.846, 0.228, 4, 12))
    copula = PAPER_COVARIATES.replace((covariates.GaussianCopula("non_hdl", "ldl", 0.8),))
    yield Scenario("score2")
    yield Scenario("continuous", physicians=Continuum(), n_patients=20_000, n_physicians=50)
    yield Scenario("copula", covariates=copula)
    yield Scenario("lognormal", covariates=lognormal)
    last = len(PAPER_COVARIATES.names) + 1
    for number, width, position in product((1, 2), range(1, last), range(1, last)):
        if position + width <= last:
            name = f"pass{number}-w{width}-p{position}"
            yield Scenario(name, rule=rules.WindowRecipe(position, width), family="window")


def _grid() -> Iterator[Scenario]:
    """SCORE2 on the paper's grid of sizes."""
    for n_physicians, n_patients in product(GRID_PHYSICIANS, GRID_PATIENTS):
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
    own_rules: dict[str, rules.DrawnRule] = {
        "two-camps": rules.Camps(),
        "personal-weights": rules.PersonalWeights(rules.COMMON_RULE, weights_sd=0.3),
        "strong-thresholds": rules.PersonalWeights(rules.COMMON_RULE, threshold_sd=1.0),
        "own-rules": rules.PersonalWeights({}, weights_sd=1.0),
        "own-conjunctions": rules.OwnConjunctions(),
        "three-camps": rules.Camps(rules.THREE_CAMPS, drifters=0.2),
    }
    small = replace(own, n_patients=16_000, n_physicians=160)
    scenarios = {
        "hidden-weak": replace(base, recording=Recording(hidden=("hdl",))),
        "hidden-strong": replace(base, recording=Recording(hidden=("age",))),
        "personal-thresholds": replace(base, rule=rules.PersonalThresholds()),
        "graded": replace(base, rule=rules.GradedScore2()),
        "sparse-50": replace(sparse, n_physicians=200),
        "sparse-25": replace(sparse, n_physicians=400),
        "heterogeneous-p-low": replace(base, physicians=Continuum(p_low=(0.0, 0.3))),
        "noise": replace(base, recording=Recording(error=0.3)),
        "case-mix": replace(base, case_mix=CaseMix("age", 0.5)),
        "missing": replace(base, recording=Recording(missing=0.1)),
        "rare": replace(base, rule=rare),
        "exclusive-or": replace(base, rule=rules.ExclusiveOr({"age": 60, "sbp": 130})),
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
    days = CovariateModel({**PAPER_COVARIATES.marginals, DAY: covariates.WholeDays()})
    base = Scenario(
        *("drift-none", days), physicians=Continuum(), n_patients=20_000, n_physicians=40
    )
    late, stricter = pl.col(DAY) >= MIDDLE_DAY, Score2Rule(thresholds=(0.0125, 0.025, 0.0375))
    guideline = rules.Switch(Score2Rule(), f"day >= {MIDDLE_DAY}", late, stricter)
    yield base
    yield replace(base, name="drift-step", steadiness=Fall(DAY, since=MIDDLE_DAY))
    yield replace(base, name="drift-slow", steadiness=Fall(DAY, last=covariates.DAYS - 1))
    yield replace(base, name="drift-guideline", rule=guideline)
    yield replace(base, name="subgroup-harder", steadiness=Fall("male"))


def _multi() -> Iterator[Scenario]:
    """Several decisions per patient, by a rule each, as guidelines have them."""
    limits = ({"non_hdl": 3.6}, {"sbp": 130}, {"hba1c": 6.5}, {"egfr": 90})
    first, *others = (rules.ThresholdRule(limit) for limit in limits)
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
        reasons = {reason: covariates.Bernoulli(share) for reason, share in shares.items()}
        yield replace(
            base,
            name=f"review-{name}",
            covariates=CovariateModel({**PAPER_COVARIATES.marginals, **reasons}),
            rule=rules.Switch(Score2Rule(), " or ".join(reasons), pl.max_horizontal(*reasons) > 0),
            recording=Recording(hidden=tuple(reasons)),
            case_mix=CaseMix("contraindication", strength) if strength else None,
        )


_MAKERS = (_paper, _grid, _stress, _course, _multi, _review)
_FAMILIES = dict(zip(get_args(Family), _MAKERS, strict=True))


@cache
def conditions_of(family: Family) -> Mapping[str, Scenario]:
    """Return the conditions of a family by name: scenarios, each with a seed of its own.

    They are called `score2`, `continuous`, `copula`, `lognormal`, or `pass1-w3-p2` for pass 1,
    width 3, second position (all counted from 1); `grid-n5000-j20` for SCORE2 with other sizes. The
    `family` of the paper's is `window` or the condition's own name.

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
    known = {}
    for each in _FAMILIES[family]():
        own = (each.family or each.name) if family == "paper" else family
        known[each.name] = replace(each, family=own, seed=derived_seed(0, each.name))
    return known


def all_conditions() -> Mapping[str, Scenario]:
    """Return every condition that has a name."""
    return {
        name: each for family in get_args(Family) for name, each in conditions_of(family).items()
    }


def window_of(condition: str) -> tuple[int, int, int] | None:
    """Return pass, width and position of a window by its name; None for other conditions.

    Examples
    --------
    >>> window_of("pass1-w3-p2"), window_of("score2")
    ((1, 3, 2), None)
    """
    named = re.fullmatch(r"pass(\d)-w(\d)-p(\d)", condition)
    return (int(named[1]), int(named[2]), int(named[3])) if named else None


def main_conditions() -> list[str]:
    """Return the conditions of the paper's table across experiments: SCORE2 and the windows."""
    return [name for name in conditions_of("paper") if name == "score2" or window_of(name)]


def find_condition(name: str) -> Scenario:
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
        Seed of the draw; by default the condition's own.
    n_patients, n_physicians
        Other sizes than the condition's.

    Examples
    --------
    >>> simulate("score2", random_state=7, n_patients=1000, n_physicians=10)
    score2: 1,000 patients of 10 physicians (95 to 105 each)
    ...
    """
    scenario = find_condition(condition) if isinstance(condition, str) else condition
    seed = scenario.seed if random_state is None else random_state
    return scenario.resized(n_patients, n_physicians).simulate(seed)


def noise_truth(
    condition: str | Scenario,
    *,
    seed: int | None = None,
    n_patients: int | None = None,
    n_physicians: int | None = None,
) -> dict[str, float]:
    """Return the components of noise of the cohort that :func:`simulate` makes of the same.

    They are those of :class:`intravar.estimators.Noise`: system, level, pattern and occasion. Every
    patient with every physician: p_j(x) is known for all pairs. What is hidden from the record is
    not hidden here.

    Examples
    --------
    >>> truth = noise_truth("stress-two-camps", n_patients=400, n_physicians=4)
    >>> list(truth)
    ['system', 'level', 'pattern', 'occasion']
    """
    scenario = find_condition(condition) if isinstance(condition, str) else condition
    resized = scenario.resized(n_patients, n_physicians)
    p = np.stack(list(resized.probabilities(scenario.seed if seed is None else seed)))
    between, occasion = float(p.var(axis=0).mean()), float(np.mean(p * (1 - p)))
    level = float(p.mean(axis=1).var())
    whole = {"system": occasion + between, "level": level, "pattern": between - level}
    return {**whole, "occasion": occasion}
