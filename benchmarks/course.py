"""Courses: how well changes and subgroups are told from held-out predictions, draw by draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import intravar
from intravar.arrays import FloatArray, IntArray
from intravar.measurement.measure import fit_method
from intravar.measurement.result import OneDecision
from intravar.measurement.wider.beyond import with_patients
from intravar.measurement.wider.strata import Strata, compare_strata
from intravar.preparation.check import checked
from intravar.publication.sentences import SURE
from intravar.publication.strata import published_strata
from intravar.request import Request
from intravar.study.cohort import Cohort
from intravar.study.simulation import find_condition
from intravar.study.simulation.covariates import MIDDLE_DAY

CONDITIONS = ("drift-step", "drift-slow", "drift-guideline", "drift-none", "subgroup-harder")
#: Draws are counted from here: settings were chosen on earlier ones.
FIRST_DRAW, DRAWS = 401, 5
FIRST_DAY = pl.date(2023, 1, 1)


def run(*wanted: str) -> None:
    """Print a row per condition: means over the draws."""
    print(
        "condition           truth   group  found  held  |error|  physicians held  called  "
        "rule changed"
    )
    for name in wanted or CONDITIONS:
        rows = [_draw(name, FIRST_DRAW + number) for number in range(DRAWS)]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        print(
            f"{name:<18} {mean['truth']:+.3f}  {mean['group']:+.3f}  {mean['found']:.2f}   "
            f"{mean['group held']:.2f}  {mean['error']:.3f}    {mean['held']:.3f}            "
            f"{mean['called']:.3f}   {mean['changed']:.2f}",
            flush=True,
        )


def _draw(name: str, draw: int) -> dict[str, float]:
    cohort = intravar.simulate(name, random_state=find_condition(name).replicate_seed(draw))
    late = (cohort.covariates["day"].to_numpy() >= MIDDLE_DAY).astype(np.int64)
    table = cohort.to_polars().with_columns(seen=FIRST_DAY + pl.duration(days="day")).drop("day")
    asked: dict[str, Any] = {"physician": "physician", "decision": "decision"}
    changed = float("nan")
    if name.startswith("drift"):
        day = f"before/after {pl.select(FIRST_DAY + pl.duration(days=MIDDLE_DAY)).item()}"
        _, course = compare_strata(_predicted(Request(date="seen", period=day, **asked), table))
        assert course is not None
        strata, stratum, changed = course.strata, late, float(course.rule_changed)
    else:
        levels, _ = compare_strata(_predicted(Request(by="male", **asked), table.drop("seen")))
        assert levels is not None
        strata, stratum = levels, cohort.covariates["male"].to_numpy().astype(np.int64)
    return _held(strata, _truth(cohort, stratum)) | {"changed": changed}


def _truth(cohort: Cohort, stratum: IntArray) -> FloatArray:
    """Return the change of every physician on patients alike: eligible ones, and others."""
    truth = cohort.truth
    assert truth is not None
    named = cohort.physician.cast(pl.String)
    table = pl.DataFrame(
        {
            "physician": named,
            "eligible": truth.eligible,
            "stratum": stratum,
            "comparable": truth.comparable,
        }
    )
    means = table.group_by("physician", "eligible", "stratum").agg(pl.col("comparable").mean())
    both = means.filter(pl.col("stratum") == 1).join(
        means.filter(pl.col("stratum") == 0), on=["physician", "eligible"], suffix="_before"
    )
    share = truth.share_eligible
    change = (pl.col("comparable") - pl.col("comparable_before")) * pl.when("eligible").then(
        share
    ).otherwise(1 - share)
    summed = both.group_by("physician").agg(change.sum().alias("change")).sort("physician")
    return summed["change"].to_numpy()


def _predicted(request: Request, table: pl.DataFrame) -> OneDecision:
    check = checked(table, request)
    prepared, name = check.prepared, intravar.Predictability.name
    fitted, _ = fit_method(name, prepared.observed, 0)
    return with_patients(OneDecision(check, {name: fitted}, predicting=fitted))


def _held(strata: Strata, truth: FloatArray) -> dict[str, float]:
    changes = strata.changes.sort("physician")
    low, high = (changes[end].to_numpy() for end in ("low", "high"))
    _, (value, group_low, group_high) = strata.compared(strata.names)
    told = published_strata(strata, 11)
    return {
        "truth": float(truth.mean()),
        "group": value,
        "found": float((told.probability or 0.0) >= SURE),
        "group held": float(group_low <= truth.mean() <= group_high),
        "error": abs(value - float(truth.mean())),
        "held": float(np.mean((low <= truth) & (truth <= high))),
        "called": float(np.mean(changes["probability"].to_numpy() >= SURE)),
    }
