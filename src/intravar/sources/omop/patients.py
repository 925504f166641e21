"""A table of patients from OMOP CDM 5.4: one row per person, at the first eligible visit.

What is known about a patient is taken from before the visit, the decision from the visit on: a
covariate can then not give the decision away.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from intravar.errors import InputError, option
from intravar.inference.outcomes import MOST_DECISIONS
from intravar.request import WINDOW
from intravar.sources.omop.tables import OmopTables

Provider = Literal["visit", "drug"]
#: The column of one drug without a name.
DECISION = "treated"
PHYSICIAN = "provider_id"
_TAKEN = ("person_id", PHYSICIAN, "visit_start_date", "visit_occurrence_id", "drug_provider")
#: Table, column of the concept and column of the date per kind of event.
EVENTS = {
    "measurement": ("measurement", "measurement_concept_id", "measurement_date"),
    "condition": ("condition_occurrence", "condition_concept_id", "condition_start_date"),
    "drug": ("drug_exposure", "drug_concept_id", "drug_exposure_start_date"),
}
_VISIT = pl.col("visit_start_date")
#: An unknown month or day counts as the middle.
_BIRTHDAY = pl.col("month_of_birth").fill_null(7) * 100 + pl.col("day_of_birth").fill_null(1)
_HAD = _VISIT.dt.month().cast(pl.Int64) * 100 + _VISIT.dt.day() >= _BIRTHDAY
_AGE = _VISIT.dt.year() - pl.col("year_of_birth") - (~_HAD).cast(pl.Int64)
_SEX = {8507: "male", 8532: "female"}
#: What the table of persons tells, at the visit. Concepts are codes of a category, not numbers.
_OF_PERSON = {
    "age": _AGE.clip(lower_bound=0),  # shifted dates put some visits just before birth
    "sex": pl.col("gender_concept_id").replace_strict(_SEX, default=None, return_dtype=pl.String),
    "race": pl.lit("concept ") + pl.col("race_concept_id").cast(pl.String),
    "ethnicity": pl.lit("concept ") + pl.col("ethnicity_concept_id").cast(pl.String),
}


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
    drugs = _checked_drugs(drug, window, provider)
    with closing(OmopTables(source, schema)) as tables:
        exposures = {
            name: _exposures(tables, concepts, descendants=descendants)
            for name, concepts in drugs.items()
        }
        steps = [("persons", tables.read("person", ["person_id"])["person_id"].n_unique())]
        table = _index_visits(tables, visits, eligible, exposures, steps, new_users, same_day)
        table = _decided(table, exposures, window, new_users=new_users)
        if provider == "drug":
            table = table.with_columns(pl.coalesce("drug_provider", PHYSICIAN).alias(PHYSICIAN))
        table = table.select("person_id", PHYSICIAN, *drugs, _VISIT, "visit_occurrence_id")
        for text in covariates:
            table = _with_covariate(tables, table, text, same_day, steps)
    dated = [] if date is None else [_VISIT.alias(date)]
    if date is not None and not date.strip():
        raise InputError(f"{option('date')} is empty; name the column for the date of the visit")
    if date in (*table.columns, *_TAKEN):
        raise InputError(f"{option('date')} is '{date}', which another column is called")
    for name in drugs:
        steps.append((f"{name} within {window} days", int(table[name].sum() or 0)))
        if len(drugs) > 1 and table[name].null_count():
            steps.append((f"{name} had before", table[name].null_count()))
    first = ("person_id", PHYSICIAN, *drugs)
    others = pl.exclude(*first, "visit_start_date", "visit_occurrence_id")
    return OmopPatients(table.select(*first, *dated, others), steps, tuple(drugs))


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
    if not _is_concept(text):
        raise InputError(f"concept '{text}' is not a number; OMOP concepts are, such as 1545958")
    return int(text)


def _is_concept(text: str) -> bool:
    """Tell whether a text is a number of the type that the CDM gives to concepts."""
    return text.isascii() and text.isdigit() and int(text) < 2**31


def _checked_drugs(
    drug: Sequence[int] | Mapping[str, Sequence[int]], window: int, provider: str
) -> dict[str, list[int]]:
    """Return the concepts of every drug by the name of its column, if they can be decisions."""
    if window < 0:
        raise InputError(f"{option('window')} is {window}; give 0 days or more")
    if provider not in ("visit", "drug"):
        raise InputError(f"provider '{provider}' is not known; give visit or drug")
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
    if provider == "drug" and len(drugs) > 1:
        raise InputError(
            f"{option('provider')} drug is for one drug; several may have several prescribers, so "
            f"that decisions are those of the visit: give {option('provider')} visit"
        )
    return drugs


def _exposures(tables: OmopTables, drug: Sequence[int], *, descendants: bool) -> pl.DataFrame:
    """Return when a drug was given to whom, by which prescriber."""
    table, concept, date = EVENTS["drug"]
    wanted = set(drug)
    if descendants and tables.has("concept_ancestor"):
        column, ancestors = "descendant_concept_id", ("ancestor_concept_id", list(drug))
        wanted |= set(tables.read("concept_ancestor", [column], ancestors)[column].to_list())
    exposures = tables.read(
        table, ["person_id", date], (concept, sorted(wanted)), optional=["provider_id"]
    )
    if exposures.height:
        return exposures.rename({"provider_id": "drug_provider", date: "date"})
    common = tables.read(table, [concept])[concept].value_counts(sort=True)[concept].head(3)
    most = ", ".join(map(str, common))
    raise InputError(
        f"no drug exposure of '{tables.name}' has the concept {', '.join(map(str, drug))}"
        + (f"; the most frequent are {most}" if most else "; the table is empty")
    )


def _index_visits(
    tables: OmopTables,
    kinds: Sequence[int],
    eligible: Sequence[str],
    exposures: Mapping[str, pl.DataFrame],
    steps: list[tuple[str, int]],
    new_users: bool,
    same_day: bool,
) -> pl.DataFrame:
    """Return the first eligible visit of every person; count who is left after every step."""

    def count(words: str) -> None:
        steps.append((words, visits["person_id"].n_unique()))

    visits = tables.read(
        "visit_occurrence",
        ["visit_occurrence_id", "person_id", "visit_start_date", "provider_id"],
        ("visit_concept_id", list(kinds)) if kinds else None,
    ).drop_nulls(["visit_start_date", "person_id"])
    count("persons with a visit of the kind")
    visits = visits.drop_nulls("provider_id")
    count("persons with a visit whose provider is known")
    if new_users:
        new = pl.DataFrame([_new(visits, given).alias(name) for name, given in exposures.items()])
        visits = visits.filter(new.select(pl.any_horizontal(pl.all())).to_series())
        which = "the drug" if len(exposures) == 1 else "all of the drugs"
        count(f"persons with a visit before they ever had {which}")
    for text in eligible:
        wanted = _parsed(tables, text)
        if wanted.kind not in EVENTS:
            raise InputError(
                f"'{text}' cannot be a condition of eligibility; give condition:CONCEPT"
            )
        since = _events(tables, wanted).group_by("person_id").agg(pl.col("date").min())
        joined = visits.join(since, on="person_id", how="inner", maintain_order="left")
        visits = joined.filter(_known_before(same_day)).drop("date")
        count(f"persons with {wanted.name} before a visit")
    if not visits.height:
        listed = "; ".join(f"{words}: {count:,}" for words, count in steps)
        raise InputError(f"no visit of '{tables.name}' is eligible ({listed})")
    return visits.sort("person_id", "visit_start_date", "visit_occurrence_id").unique(
        "person_id", keep="first", maintain_order=True
    )


def _new(visits: pl.DataFrame, given: pl.DataFrame) -> pl.Series:
    """Tell of every visit whether the person has not had a drug before its day."""
    first = given.group_by("person_id").agg(pl.col("date").min())
    dated = visits.select("person_id", _VISIT)
    had = dated.join(first, on="person_id", how="left", maintain_order="left")
    return had["date"].is_null() | (had["visit_start_date"] <= had["date"]).fill_null(False)


def _decided(
    visits: pl.DataFrame, exposures: Mapping[str, pl.DataFrame], window: int, *, new_users: bool
) -> pl.DataFrame:
    """Add a column per drug: given within the window or not; missing if it was had before.

    The prescriber of the drug, `drug_provider`, is that of the first drug.
    """
    table = visits
    for name, given in exposures.items():
        within = (
            visits.select("person_id", _VISIT)
            .join(given, on="person_id", how="inner")
            .filter(pl.col("date").is_between(_VISIT, _VISIT + pl.duration(days=window)))
            .sort("person_id", "date", "drug_provider", nulls_last=True)
            .unique("person_id", keep="first", maintain_order=True)
            .select("person_id", pl.lit(1, dtype=pl.Int8).alias(name), "drug_provider")
        )
        table = table.join(within, on="person_id", how="left", maintain_order="left", suffix="*")
        table = table.with_columns(pl.col(name).fill_null(0)).select(pl.exclude("drug_provider*"))
        if new_users and len(exposures) > 1:
            table = table.with_columns(table[name].set(~_new(table, given), None))
    return table


@dataclass(frozen=True)
class _Covariate:
    """A covariate to be built: of a kind of event, or of what the person table says.

    Events have a concept. Of a measurement the unit that counts may be given by concept or name.
    """

    name: str
    kind: str
    concept: int = 0
    unit: str = ""


def _parsed(tables: OmopTables, text: str) -> _Covariate:
    """Understand `age`, `measurement:CONCEPT`, `name=condition:CONCEPT` or a bare concept."""
    name, named, wanted = (part.strip() for part in text.rpartition("="))
    if wanted in _OF_PERSON:
        return _Covariate(name or wanted, wanted)
    kind, colon, concept = wanted.partition(":") if ":" in wanted else ("", "", wanted)
    concept, _, unit = concept.partition(":")
    if not _is_concept(concept.strip()) or (colon and kind not in EVENTS):
        raise InputError(
            f"covariate '{text}' is not understood; give age, sex, race, ethnicity, "
            "measurement:CONCEPT, condition:CONCEPT or drug:CONCEPT"
        )
    if unit and kind != "measurement":
        raise InputError(f"covariate '{text}' names a unit, which measurements alone have")
    number, known_as, domain = int(concept), "", ""
    if tables.has("concept"):
        known = tables.read("concept", ["concept_name", "domain_id"], ("concept_id", [number]))
        known_as, domain = known.row(0) if known.height else ("", "")
    kind = kind if colon else (domain or "").lower()
    if kind not in EVENTS:
        raise InputError(
            f"what concept {number} is cannot be told from the table 'concept'; write "
            f"measurement:{number} or condition:{number}"
        )
    return _Covariate(name if named else known_as or f"{kind} {number}", kind, number, unit.strip())


def _events(tables: OmopTables, covariate: _Covariate) -> pl.DataFrame:
    """Return person_id, date and, of measurements, value and unit of all events."""
    table, concept, date = EVENTS[covariate.kind]
    columns, optional = ["person_id", date], []
    if covariate.kind == "measurement":
        columns.append("value_as_number")
        optional = ["unit_concept_id", "unit_source_value"]
    events = tables.read(table, columns, (concept, [covariate.concept]), optional=optional)
    if not events.height:
        raise InputError(
            f"no row of '{table}' in '{tables.name}' has the concept {covariate.concept}"
        )
    return events.rename({date: "date"}).drop_nulls("date")


def _known_before(same_day: bool) -> pl.Expr:
    """Tell whether a date lies before that of the visit, or on the same day where that counts."""
    return pl.col("date") <= _VISIT if same_day else pl.col("date") < _VISIT


def _with_covariate(
    tables: OmopTables,
    table: pl.DataFrame,
    text: str,
    same_day: bool,
    steps: list[tuple[str, int]],
) -> pl.DataFrame:
    """Add a column with what was known before each patient's visit."""
    covariate = _parsed(tables, text)
    if covariate.name in table.columns:
        raise InputError(f"two covariates are called '{covariate.name}'; name one with name=...")
    if covariate.kind not in EVENTS:
        joined = table.join(_persons(tables), on="person_id", how="left", maintain_order="left")
        return joined.select(*table.columns, _OF_PERSON[covariate.kind].alias(covariate.name))
    events = (
        table.select("person_id", _VISIT)
        .join(_events(tables, covariate), on="person_id", how="inner", maintain_order="left_right")
        .filter(_known_before(same_day))
    )
    if covariate.kind == "measurement":
        latest = (
            _in_one_unit(events.drop_nulls("value_as_number"), covariate, steps)
            # Of several values of one day the largest counts, whatever the order of rows.
            .sort("person_id", "date", "value_as_number")
            .unique("person_id", keep="last", maintain_order=True)
            .select("person_id", pl.col("value_as_number").alias(covariate.name))
        )
        return table.join(latest, on="person_id", how="left", maintain_order="left")
    ever = table["person_id"].is_in(events["person_id"].unique().implode())
    return table.with_columns(ever.cast(pl.Int8).alias(covariate.name))


def _in_one_unit(
    events: pl.DataFrame, covariate: _Covariate, steps: list[tuple[str, int]]
) -> pl.DataFrame:
    """Return the values of one unit; values of several are not numbers of one thing."""
    concept = pl.col("unit_concept_id").cast(pl.String).replace({"0": None})
    source = pl.col("unit_source_value").str.strip_chars().str.to_lowercase().replace({"": None})
    events = events.with_columns(pl.coalesce(concept, source).alias("unit"))
    units = events["unit"].drop_nulls().unique().sort().to_list()
    listed = ", ".join(units[:5]) or "no unit"
    if covariate.unit:
        chosen = events.filter(pl.col("unit") == covariate.unit.lower())
        if not chosen.height:
            raise InputError(
                f"no value of measurement {covariate.concept} before a visit is in the unit "
                f"'{covariate.unit}'; it is in {listed}"
            )
        return chosen
    if len(units) > 1:
        raise InputError(
            f"the values of measurement {covariate.concept} are in {len(units)} units "
            f"({listed}); take those of one unit with "
            f"measurement:{covariate.concept}:{units[0]}"
        )
    without = events["unit"].null_count()
    if units and without:
        steps.append((f"values of {covariate.name} without a unit, taken for {units[0]}", without))
    return events


def _persons(tables: OmopTables) -> pl.DataFrame:
    """Return what the table of persons tells; one who is described in two ways is nobody."""
    persons = tables.read(
        "person",
        ["person_id", "gender_concept_id", "year_of_birth"],
        optional=["month_of_birth", "day_of_birth", "race_concept_id", "ethnicity_concept_id"],
    ).unique()
    twice = persons.filter(pl.col("person_id").is_duplicated())["person_id"]
    if len(twice):
        raise InputError(
            f"table 'person' of '{tables.name}' describes {twice.n_unique():,} persons in two ways "
            f"(person_id {twice.sort()[0]} among them); keep one row of each"
        )
    return persons
