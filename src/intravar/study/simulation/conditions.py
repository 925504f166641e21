"""The conditions by name: the paper's 94, its grid of sizes, and the families after it.

conditions.toml lists them.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, Literal, get_args

import polars as pl

from intravar.errors import renamed, unknown_name
from intravar.seeds import derived_seed
from intravar.study.cohort import Cohort
from intravar.study.simulation import collection, covariates, physicians, rules, scenario
from intravar.study.simulation.covariates import PAPER_COVARIATES, CovariateModel, Marginal
from intravar.study.simulation.scenario import Scenario
from intravar.wording import declared_in

Family = Literal["paper", "grid", "stress", "course", "multi", "review"]


def _paper_with(copulas: tuple[Any, ...] = (), **marginals: Marginal) -> CovariateModel:
    return CovariateModel({**PAPER_COVARIATES.marginals, **marginals}, copulas)


#: What the kinds of conditions.toml are made by.
_KINDS: dict[str, Any] = {"Paper": _paper_with, "sql_expr": pl.sql_expr}
_KINDS |= vars(collection) | vars(covariates) | vars(physicians) | vars(rules) | vars(scenario)


def _made(entry: Any) -> Any:
    """Return what an entry of conditions.toml stands for: objects of their kinds, and tuples."""
    if isinstance(entry, list):
        return tuple(map(_made, entry))
    if not isinstance(entry, dict):
        return entry
    parts = {name: _made(each) for name, each in entry.items()}
    return _KINDS[parts.pop("kind")](**parts) if "kind" in parts else parts


@cache
def _families() -> Mapping[str, Mapping[str, Scenario]]:
    """Return all conditions by family and name."""
    listed = declared_in(__package__, "conditions")
    last = len(PAPER_COVARIATES.names) + 1
    for number, width, position in product((1, 2), range(1, last), range(1, last)):
        if position + width <= last:
            window = {"rule": rules.WindowRecipe(position, width)}
            listed["paper"][f"pass{number}-w{width}-p{position}"] = window
    listed["grid"] = {
        f"grid-n{n}-j{k}": {"n_patients": n, "n_physicians": k}
        for k, n in product((5, 10, 20, 50, 100), (5_000, 10_000, 20_000, 30_000))
    }
    known: dict[str, Scenario] = {}
    for family in get_args(Family):
        for name, entry in listed[family].items():
            parts = _made(entry)
            base = known[parts.pop("like")] if "like" in parts else Scenario(name)
            own = family if family != "paper" else "window" if window_of(name) else name
            new = {"name": name, "family": own, "seed": derived_seed(0, name)}
            known[name] = replace(base, **new, **parts)
    return {family: {name: known[name] for name in listed[family]} for family in get_args(Family)}


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
    {'paper': 94, 'grid': 20, 'stress': 36, 'course': 5, 'multi': 3, 'review': 6}
    """
    return _families()[family]


def all_conditions() -> Mapping[str, Scenario]:
    """Return every condition that has a name."""
    return {name: each for family in _families().values() for name, each in family.items()}


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
    chosen = find_condition(condition) if isinstance(condition, str) else condition
    seed = chosen.seed if random_state is None else random_state
    return chosen.resized(n_patients, n_physicians).simulate(seed)
