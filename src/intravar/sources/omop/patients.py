"""A table of patients from OMOP CDM 5.4: one row per person, at the first eligible visit.

What is known about a patient is taken from before the visit, the decision from the visit on: a
covariate can then not give the decision away.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from intravar.errors import InputError, option
from intravar.request import WINDOW
from intravar.sources.omop.covariates import add_covariate, known_before, parse_covariate
from intravar.sources.omop.drugs import (
    PHYSICIAN,
    checked_date,
    checked_drugs,
    decided,
    exposures_of,
    without_earlier_drugs,
)
from intravar.sources.omop.tables import OmopTables

Provider = Literal["visit", "drug"]


@dataclass(frozen=True)
class OmopPatients:
    """A table of patients, and how many persons were left after every step, in words.

    Its columns are person_id, provider_id, those of the drugs, which are the decisions, the date
    where it was asked for, and the covariates.
    """

    table: pl.DataFrame
    steps: list[tuple[str, int]] = field(default_factory=list)
    decisions: tuple[str, ...] = ()


def omop_patients(
    source: str | os.PathLike[str],
    *,
    drug: Sequence[int] | Mapping[str, Sequence[int]],
    covariates: Sequence[str] = ("age", "sex"),
    visits: Sequence[int] = (),
    eligible: Sequence[str] = (),
    window: int = WINDOW,
    new_users: bool = True,
    same_day: bool = False,
    provider: Provider = "visit",
    descendants: bool = True,
    date: str | None = None,
    schema: str | None = None,
) -> OmopPatients:
    """Build a table of patients from an OMOP database.

    Parameters
    ----------
    source
        Folder or zip of CSV files, DuckDB or SQLite file, or PostgreSQL URL.
    drug
        Concepts of the drug; their descendants count as well where `concept_ancestor` has them. Of
        several drugs, the concepts of each by the name of its column: a decision each.
    covariates
        `age`, `sex`, `race`, `ethnicity`, `measurement:CONCEPT` (the latest value before the
        visit; `measurement:CONCEPT:UNIT` where there are several units), `condition:CONCEPT` and
        `drug:CONCEPT` (ever before the visit); `name=...` names the column.
    visits
        Concepts of the visits that count; any by default.
    eligible
        Conditions, measurements or drugs that must have been recorded before the visit.
    window
        Days from the visit on within which the drug counts as given.
    new_users
        Leave out visits of persons who had the drug before. Of several drugs, those of persons who
        had all of them; a decision about a drug that was had before is missing.
    same_day
        Count what was recorded on the day of the visit as known before it.
    provider
        Whose decision it is: the visit's provider, or the prescription's where there is one. Of
        several drugs it is the visit's.
    descendants
        Whether to look for descendants of the drug.
    date
        What to call a column with the date of the visit; there is none by default.
    schema
        Schema of the tables in a database.
    """
    if window < 0:
        raise InputError(f"{option('window')} is {window}; give 0 days or more")
    if provider not in ("visit", "drug"):
        raise InputError(f"provider '{provider}' is not known; give visit or drug")
    drugs = checked_drugs(drug)
    if provider == "drug" and len(drugs) > 1:
        raise InputError(
            f"{option('provider')} drug is for one drug; several may have several prescribers, so "
            f"that decisions are those of the visit: give {option('provider')} visit"
        )
    with closing(OmopTables(source, schema)) as tables:
        exposures = exposures_of(tables, drugs, descendants=descendants)
        steps = [("persons", tables.read("person", ["person_id"])["person_id"].n_unique())]
        candidates = _visits(tables, visits, steps)
        if new_users:
            candidates = without_earlier_drugs(candidates, exposures)
            which = "the drug" if len(drugs) == 1 else "all of the drugs"
            left = candidates["person_id"].n_unique()
            steps.append((f"persons with a visit before they ever had {which}", left))
        for text in eligible:
            candidates = _with_event(tables, candidates, text, same_day, steps)
        index = candidates.sort("person_id", "visit_start_date", "visit_occurrence_id").unique(
            "person_id", keep="first", maintain_order=True
        )
        if not index.height:
            listed = "; ".join(f"{words}: {count:,}" for words, count in steps)
            raise InputError(f"no visit of '{tables.name}' is eligible ({listed})")
        table = decided(index, exposures, window, new_users=new_users)
        if provider == "drug":
            table = table.with_columns(pl.coalesce("drug_provider", PHYSICIAN).alias(PHYSICIAN))
        table = table.select(
            "person_id", PHYSICIAN, *drugs, "visit_start_date", "visit_occurrence_id"
        )
        for text in covariates:
            covariate = parse_covariate(tables, text)
            table = add_covariate(tables, table, covariate, same_day, steps)
    checked_date(date, table.columns)
    for name in drugs:
        given = name if isinstance(drug, Mapping) else "treated"
        steps.append((f"{given} within {window} days", int(table[name].sum() or 0)))
        if len(drugs) > 1 and table[name].null_count():
            steps.append((f"{name} had before", table[name].null_count()))
    dated = [] if date is None else [pl.col("visit_start_date").alias(date)]
    first = ("person_id", PHYSICIAN, *drugs)
    others = pl.exclude(*first, "visit_start_date", "visit_occurrence_id")
    return OmopPatients(table.select(*first, *dated, others), steps, tuple(drugs))


def _visits(
    tables: OmopTables, visits: Sequence[int], steps: list[tuple[str, int]]
) -> pl.DataFrame:
    found = tables.read(
        "visit_occurrence",
        ["visit_occurrence_id", "person_id", "visit_start_date", "provider_id"],
        ("visit_concept_id", list(visits)) if visits else None,
    )
    known = found.drop_nulls(["visit_start_date", "person_id"])
    steps.append(("persons with a visit of the kind", known["person_id"].n_unique()))
    known = known.drop_nulls("provider_id")
    steps.append(("persons with a visit whose provider is known", known["person_id"].n_unique()))
    return known


def _with_event(
    tables: OmopTables,
    visits: pl.DataFrame,
    text: str,
    same_day: bool,
    steps: list[tuple[str, int]],
) -> pl.DataFrame:
    wanted = parse_covariate(tables, text)
    if wanted.table is None:
        raise InputError(f"'{text}' cannot be a condition of eligibility; give condition:CONCEPT")
    dates = wanted.events(tables).group_by("person_id").agg(pl.col("date").min().alias("since"))
    joined = visits.join(dates, on="person_id", how="inner", maintain_order="left")
    left = joined.filter(known_before("since", same_day)).drop("since")
    steps.append((f"persons with {wanted.name} before a visit", left["person_id"].n_unique()))
    return left
