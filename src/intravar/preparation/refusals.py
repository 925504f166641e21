"""Requests and tables that cannot be measured: one place for `check` and `measure`.

Whatever `measure` would refuse after the table was read, `check` refuses in the same words.
"""

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from intravar.errors import InputError, option
from intravar.estimators import METHODS, default_method, make_estimator
from intravar.estimators.base import REPEATS
from intravar.request import Request
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.preparation.check import Check
    from intravar.preparation.prepare import Prepared

#: With fewer patients in every panel there is nothing to compare.
FEWEST_IN_A_PANEL = 5


def chosen_methods(request: Request) -> list[str]:
    """Return the methods to fit, the one that measures first.

    Raises
    ------
    InputError
        If a method is unknown, needs repeated cases that are not named, or cannot measure.
    """
    main = request.method or default_method()
    listed = METHODS if request.methods == ("all",) else request.methods
    names = list(dict.fromkeys([main, *listed]))
    for name in names:
        if name != REPEATS:
            make_estimator(name)
        elif request.case is None:
            raise InputError(
                f"method '{REPEATS}' counts cases that were seen twice; say which case was seen "
                f"with {option('case')}"
            )
    if main != REPEATS and METHODS[main].estimand == "order":
        raise InputError(
            "method '{main}' ranks {deciders} but does not measure a discordance; "
            "choose another with {method} and set it beside with {methods}",
            main=main,
            method=option("method"),
            methods=option("methods", main),
        )
    return names


def check_request(request: Request) -> None:
    """Refuse methods, and several decisions, that cannot be measured, before a table is read."""
    chosen_methods(request)
    if len(request.decisions) > 1:
        # Loaded where it is asked for: one decision needs nothing of it.
        from intravar.estimators.several import checked_names

        names = checked_names(request.decisions)
        for field in ("covariates", "after"):
            for name in set(names) & set(getattr(request, field) or ()):
                raise InputError(
                    f"{option(field)} names '{name}', which is one of the decisions; leave it out"
                )


def refuse_unmeasurable(checks: Mapping[str, "Check"]) -> None:
    """Refuse a table of which no decision, or one of several decisions, can be measured.

    Parameters
    ----------
    checks
        The check of every decision, by its name.

    Raises
    ------
    InputError
        If all panels are tiny, no case was seen twice, one subgroup or period is left, or several
        decisions are hardly ever known of the same patient.
    """
    for check in checks.values():
        largest = int(check.panels.table["n_patients"].max())  # type: ignore[arg-type]
        if largest < FEWEST_IN_A_PANEL and names_are_decimals(check.panels.table["physician"]):
            raise InputError(
                "column '{column}' holds decimals, which do not name {deciders}; name another "
                "column with {physician}",
                column=check.request.physician,
                physician=option("physician"),
            )
        if largest < FEWEST_IN_A_PANEL:
            raise InputError(
                "no {decider} has {fewest_in_a_panel} {cases} or more (the largest panel "
                "has {largest}); there is nothing to compare: name another column with "
                "{physician}, one of groups or hospitals say",
                fewest_in_a_panel=FEWEST_IN_A_PANEL,
                largest=largest,
                physician=option("physician"),
            )
        refuse_cases_seen_once(check.prepared)
        if check.beyond is None:
            _refuse_single_stratum(check.prepared)
    if len(checks) > 1 and all(check.beyond is None for check in checks.values()):
        _refuse_few_in_common([check.prepared for check in checks.values()])


def names_are_decimals(names: pl.Series) -> bool:
    """Return whether most names are decimal numbers, as measurements are.

    Examples
    --------
    >>> names_are_decimals(pl.Series(["61.5", "70"])), names_are_decimals(pl.Series(["7", "8.1.2"]))
    (True, False)
    """
    decimals = names.cast(pl.String).str.contains(r"^-?[0-9]*\.[0-9]*[1-9][0-9]*$")
    return 2 * int(decimals.sum()) >= len(names)


def ask_about_deciders(names: pl.Series, request: Request) -> list[Sentence]:
    """Return questions about a column of physicians that is probably not one."""
    if len(names) == 1:
        return [
            Sentence(
                "column '{column}' names one {decider} only: there is nobody to compare with",
                column=request.physician,
            )
        ]
    if names_are_decimals(names):
        return [
            Sentence(
                "column '{column}' holds decimals: does it name {deciders}?",
                column=request.physician,
            )
        ]
    return []


def refuse_cases_seen_once(prepared: "Prepared") -> None:
    """Refuse cases that were named, if nobody saw one of them twice."""
    if prepared.cases is None:
        return
    cases = prepared.cases.drop_nulls("case").select("physician", "case")
    if not cases.is_duplicated().any():
        raise InputError(
            "no {decider} saw a case of column {case_column} twice; name the column "
            "that is equal where the same case was seen again",
            case_column=option("case"),
        )


def refuse_one_stratum(names: tuple[str, ...], stratified_by: str) -> None:
    """Refuse to compare subgroups or periods if patients of one only are left."""
    if len(names) < 2:
        raise InputError(
            f"all rows that are left lie in one stratum ({', '.join(names)}); leave "
            f"{option(stratified_by)} out"
        )


def _refuse_single_stratum(prepared: "Prepared") -> None:
    for stratified_by, places in prepared.dealt.items():
        names = prepared.recipe.strata[stratified_by].names
        present = np.unique(places[places >= 0])
        refuse_one_stratum(tuple(names[place] for place in present), stratified_by)


def _refuse_few_in_common(prepared: "list[Prepared]") -> None:
    from intravar.estimators.several import refuse_few_rows

    refuse_few_rows(len(reduce(np.intersect1d, (each.rows for each in prepared))))
