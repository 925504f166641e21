"""A table of patients from OMOP CDM 5.4: one row per person, at the first eligible visit.

What is known about a patient is taken from before the visit, the decision from the visit on: a
covariate can then not give the decision away.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import polars as pl

from intravar.errors import InputError, option
from intravar.inference.outcomes import MOST_DECISIONS
from intravar.request import WINDOW
from intravar.sources.omop.covariates import (
    add_covariate,
    is_concept,
    known_before,
    parse_covariate,
)
from intravar.sources.omop.tables import OmopTables

Provider = Literal["visit", "drug"]
#: The column of one drug without a name.
DECISION = "treated"
PHYSICIAN = "provider_id"
_TAKEN = ("person_id", PHYSICIAN, "visit_start_date", "visit_occurrence_id", "drug_provider")
_DATE = "drug_exposure_start_date"


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
        raise InputError("{} is {}; give 0 days or more", option("window"), window)
    if provider not in ("visit", "drug"):
        raise InputError(f"provider '{provider}' is not known; give visit or drug")
    drugs = checked_drugs(drug)
    if provider == "drug" and len(drugs) > 1:
        raise InputError(
            "{} drug is for one drug; several may have several prescribers, so that "
            "decisions are those of the visit: give {} visit",
            option("provider"),
            option("provider"),
        )
    with closing(OmopTables(source, schema)) as tables:
        exposures = {
            name: _exposures(tables, concepts, descendants=descendants)
            for name, concepts in drugs.items()
        }
        steps = [("persons", tables.read("person", ["person_id"])["person_id"].n_unique())]
        candidates = _visits(tables, visits, steps)
        if new_users:
            new = [_new(candidates, given) for given in exposures.values()]
            candidates = candidates.filter(reduce(operator.or_, new))
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
    table = tables.read(
        "visit_occurrence",
        ["visit_occurrence_id", "person_id", "visit_start_date", "provider_id"],
        ("visit_concept_id", list(visits)) if visits else None,
    )
    known = table.drop_nulls(["visit_start_date", "person_id"])
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


def parse_drugs(texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the concepts of every drug by the name of its column.

    Examples
    --------
    >>> parse_drugs(["1545958,1539403"])
    {'treated': [1545958, 1539403]}
    >>> parse_drugs(["statin=1545958", "metformin=1503297"])
    {'statin': [1545958], 'metformin': [1503297]}
    """
    drugs: dict[str, list[int]] = {}
    for text in texts:
        name, given, concepts = text.rpartition("=")
        name = name.strip() if given else DECISION
        if len(texts) > 1 and not given:
            raise InputError(
                f"drug '{text}' has no name; with several drugs name each of them, such as "
                f"statin={text.strip() or '1545958'}"
            )
        if name in drugs:
            raise InputError(
                f"two drugs are called '{name}'; give the concepts of one drug with commas, such "
                f"as {name}=1545958,1539403"
            )
        listed = filter(None, map(str.strip, concepts.split(",")))
        drugs[name] = [parse_concept(concept) for concept in listed]
    return drugs


def parse_concept(text: str) -> int:
    """Return a concept."""
    if not is_concept(text):
        raise InputError(f"concept '{text}' is not a number; OMOP concepts are, such as 1545958")
    return int(text)


def checked_drugs(drug: Sequence[int] | Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Return the concepts of every drug by the name of its column, if they can be decisions."""
    named = drug if isinstance(drug, Mapping) else {DECISION: drug}
    drugs = {name: list(concepts) for name, concepts in named.items()}
    if not 1 <= len(drugs) <= MOST_DECISIONS:
        raise InputError(f"{len(drugs)} drugs are named; give 1 to {MOST_DECISIONS}")
    for name, concepts in drugs.items():
        if not name.strip() or "," in name:
            raise InputError(f"a drug is called '{name}'; give it a name, and leave out commas")
        if name in _TAKEN:
            raise InputError(f"a drug cannot be called '{name}', which is a column; name another")
        if not concepts:
            raise InputError(f"drug '{name}' has no concept; give one, such as {name}=1545958")
    return drugs


def _exposures(tables: OmopTables, drug: Sequence[int], *, descendants: bool) -> pl.DataFrame:
    """Return when a drug was given to whom."""
    wanted = set(drug)
    if descendants and tables.has("concept_ancestor"):
        column, ancestors = "descendant_concept_id", ("ancestor_concept_id", list(drug))
        wanted |= set(tables.read("concept_ancestor", [column], ancestors)[column].to_list())
    columns = ["person_id", "drug_concept_id", _DATE]
    exposures = tables.read(
        "drug_exposure", columns, ("drug_concept_id", sorted(wanted)), optional=["provider_id"]
    )
    if exposures.height:
        return exposures.rename({"provider_id": "drug_provider"})
    every = tables.read("drug_exposure", ["drug_concept_id"])["drug_concept_id"]
    common = every.value_counts(sort=True)["drug_concept_id"].head(3)
    most = ", ".join(str(concept) for concept in common)
    raise InputError(
        f"no drug exposure of '{tables.name}' has the concept {', '.join(map(str, drug))}"
        + (f"; the most frequent are {most}" if most else "; the table is empty")
    )


def _new(visits: pl.DataFrame, given: pl.DataFrame) -> pl.Series:
    """Tell of every visit whether the person has not had a drug before its day."""
    first = given.group_by("person_id").agg(pl.col(_DATE).min())
    had = visits.join(first, on="person_id", how="left", maintain_order="left")
    return had[_DATE].is_null() | (had["visit_start_date"] <= had[_DATE]).fill_null(False)


def decided(
    index: pl.DataFrame, exposures: Mapping[str, pl.DataFrame], window: int, *, new_users: bool
) -> pl.DataFrame:
    """Add a column per drug: given within the window or not; missing if it was had before.

    The prescriber of the drug, `drug_provider`, is that of one drug alone.
    """
    table = index
    for name, given in exposures.items():
        within = (
            index.select("person_id", "visit_start_date")
            .join(given, on="person_id", how="inner")
            .filter(
                (pl.col(_DATE) >= pl.col("visit_start_date"))
                & (pl.col(_DATE) <= pl.col("visit_start_date") + pl.duration(days=window))
            )
            .sort("person_id", _DATE, "drug_provider", nulls_last=True)
            .unique("person_id", keep="first", maintain_order=True)
            .select("person_id", pl.lit(1, dtype=pl.Int8).alias(name), "drug_provider")
        )
        if len(exposures) > 1:
            within = within.drop("drug_provider")
        table = table.join(within, on="person_id", how="left", maintain_order="left")
        table = table.with_columns(pl.col(name).fill_null(0))
        if new_users and len(exposures) > 1:
            table = table.with_columns(table[name].set(~_new(table, given), None))
    return table


def checked_date(name: str | None, taken: Sequence[str]) -> None:
    """Refuse a name for the column of the visit's date that another column has."""
    if name is None:
        return
    if not name.strip():
        raise InputError("{} is empty; name the column for the date of the visit", option("date"))
    if name in taken or name in _TAKEN:
        raise InputError("{} is '{}', which another column is called", option("date"), name)
