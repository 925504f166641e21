"""A table of patients from OMOP CDM 5.4: one row per person, at the first eligible visit.

What is known about a patient is taken from before the visit, the decision from the visit on: a
covariate can then not give the decision away.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from intravar.defaults import WINDOW
from intravar.errors import InputError, option
from intravar.sources.omop_covariates import add_covariate, parse_covariate
from intravar.sources.omop_tables import OmopTables

Provider = Literal["visit", "drug"]
PHYSICIAN, DECISION = "provider_id", "treated"


@dataclass(frozen=True)
class OmopPatients:
    """A table of patients and how it came about.

    Attributes
    ----------
    table
        person_id, provider_id, treated and the covariates.
    steps
        How many persons were left after every step, in words.
    """

    table: pl.DataFrame
    steps: list[tuple[str, int]] = field(default_factory=list)


def omop_patients(
    source: str | os.PathLike[str],
    *,
    drug: Sequence[int],
    covariates: Sequence[str] = ("age", "sex"),
    visits: Sequence[int] = (),
    eligible: Sequence[str] = (),
    window: int = WINDOW,
    new_users: bool = True,
    same_day: bool = False,
    provider: Provider = "visit",
    descendants: bool = True,
    schema: str | None = None,
) -> OmopPatients:
    """Build a table of patients from an OMOP database.

    Parameters
    ----------
    source
        Folder or zip of CSV files, DuckDB or SQLite file, or PostgreSQL URL.
    drug
        Concepts of the drug; their descendants count as well where `concept_ancestor` has them.
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
        Leave out visits of persons who had the drug before.
    same_day
        Count what was recorded on the day of the visit as known before it.
    provider
        Whose decision it is: the visit's provider, or the prescription's where there is one.
    descendants
        Whether to look for descendants of the drug.
    schema
        Schema of the tables in a database.
    """
    if window < 0:
        raise InputError(f"{option('window')} is {window}; give 0 days or more")
    if provider not in ("visit", "drug"):
        raise InputError(f"provider '{provider}' is not known; give visit or drug")
    with OmopTables(source, schema) as tables:
        concepts = _with_descendants(tables, drug) if descendants else list(drug)
        exposures = _exposures(tables, concepts, drug)
        steps = [("persons", tables.read("person", ["person_id"])["person_id"].n_unique())]
        candidates = _visits(tables, visits, steps)
        if new_users:
            candidates = _without_earlier_drug(candidates, exposures, steps)
        for text in eligible:
            candidates = _with_event(tables, candidates, text, same_day, steps)
        index = candidates.sort("person_id", "visit_start_date", "visit_occurrence_id").unique(
            "person_id", keep="first", maintain_order=True
        )
        if not index.height:
            listed = "; ".join(f"{words}: {count:,}" for words, count in steps)
            raise InputError(f"no visit of '{tables.name}' is eligible ({listed})")
        table = _decided(index, exposures, window, provider)
        for text in covariates:
            covariate = parse_covariate(tables, text)
            table = add_covariate(tables, table, covariate, same_day, steps)
    steps.append((f"treated within {window} days", int(table[DECISION].sum())))
    return OmopPatients(table.drop("visit_start_date", "visit_occurrence_id"), steps)


def _with_descendants(tables: OmopTables, drug: Sequence[int]) -> list[int]:
    if not tables.has("concept_ancestor"):
        return list(drug)
    found = tables.read(
        "concept_ancestor", ["descendant_concept_id"], ("ancestor_concept_id", list(drug))
    )
    return sorted({*drug, *found["descendant_concept_id"].to_list()})


def _exposures(tables: OmopTables, concepts: Sequence[int], drug: Sequence[int]) -> pl.DataFrame:
    columns = ["person_id", "drug_concept_id", "drug_exposure_start_date"]
    found = tables.read(
        "drug_exposure", columns, ("drug_concept_id", concepts), optional=["provider_id"]
    )
    if found.height:
        return found.rename({"provider_id": "drug_provider"})
    common = (
        tables.read("drug_exposure", ["drug_concept_id"])["drug_concept_id"]
        .value_counts(sort=True)
        .head(3)["drug_concept_id"]
        .to_list()
    )
    listed = ", ".join(str(concept) for concept in drug)
    most = ", ".join(str(concept) for concept in common)
    raise InputError(
        f"no drug exposure of '{tables.name}' has the concept {listed}"
        + (f"; the most frequent are {most}" if common else "; the table is empty")
    )


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


def _without_earlier_drug(
    visits: pl.DataFrame, exposures: pl.DataFrame, steps: list[tuple[str, int]]
) -> pl.DataFrame:
    first = exposures.group_by("person_id").agg(
        pl.col("drug_exposure_start_date").min().alias("first_drug")
    )
    left = (
        visits.join(first, on="person_id", how="left", maintain_order="left")
        .filter(
            pl.col("first_drug").is_null() | (pl.col("visit_start_date") <= pl.col("first_drug"))
        )
        .drop("first_drug")
    )
    steps.append(
        ("persons with a visit before they ever had the drug", left["person_id"].n_unique())
    )
    return left


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
    before = pl.col("since") < pl.col("visit_start_date")
    if same_day:
        before = pl.col("since") <= pl.col("visit_start_date")
    left = joined.filter(before).drop("since")
    steps.append((f"persons with {wanted.name} before a visit", left["person_id"].n_unique()))
    return left


def _decided(
    index: pl.DataFrame, exposures: pl.DataFrame, window: int, provider: Provider
) -> pl.DataFrame:
    within = (
        index.select("person_id", "visit_start_date")
        .join(exposures, on="person_id", how="inner")
        .filter(
            (pl.col("drug_exposure_start_date") >= pl.col("visit_start_date"))
            & (
                pl.col("drug_exposure_start_date")
                <= pl.col("visit_start_date") + pl.duration(days=window)
            )
        )
        .sort("person_id", "drug_exposure_start_date", "drug_provider", nulls_last=True)
        .unique("person_id", keep="first", maintain_order=True)
        .select("person_id", pl.lit(1, dtype=pl.Int8).alias(DECISION), "drug_provider")
    )
    table = index.join(within, on="person_id", how="left", maintain_order="left").with_columns(
        pl.col(DECISION).fill_null(0)
    )
    if provider == "drug":
        table = table.with_columns(pl.coalesce("drug_provider", "provider_id").alias("provider_id"))
    return table.select("person_id", PHYSICIAN, DECISION, "visit_start_date", "visit_occurrence_id")
