"""What was known about a patient before the visit, from OMOP tables."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from intravar.errors import InputError
from intravar.sources.omop_tables import OmopTables

#: Standard concepts of gender.
SEX = {8507: "male", 8532: "female"}
#: Table, column of the concept and column of the date per kind of event.
EVENTS = {
    "measurement": ("measurement", "measurement_concept_id", "measurement_date"),
    "condition": ("condition_occurrence", "condition_concept_id", "condition_start_date"),
    "drug": ("drug_exposure", "drug_concept_id", "drug_exposure_start_date"),
}
DOMAINS = {"Measurement": "measurement", "Condition": "condition", "Drug": "drug"}
PERSON = ("age", "sex", "race", "ethnicity")


@dataclass(frozen=True)
class OmopCovariate:
    """A covariate to be built.

    Attributes
    ----------
    name
        Name of its column.
    kind
        "age", "sex", "race", "ethnicity", "measurement", "condition" or "drug".
    concept
        Concept of the event; None for what the person table says.
    """

    name: str
    kind: str
    concept: int | None = None

    @property
    def table(self) -> str | None:
        """The table of the events; None for what the person table says."""
        return EVENTS[self.kind][0] if self.kind in EVENTS else None

    def events(self, tables: OmopTables) -> pl.DataFrame:
        """Return person_id, date and value of all events with the concept."""
        table, concept, date = EVENTS[self.kind]
        assert self.concept is not None
        columns = ["person_id", date, concept]
        value = ["value_as_number"] if self.kind == "measurement" else []
        found = tables.read(table, [*columns, *value], (concept, [self.concept]))
        if not found.height:
            raise InputError(
                f"no row of '{table}' in '{tables.name}' has the concept {self.concept}"
            )
        return found.rename({date: "date"}).drop(concept).drop_nulls("date")


def parse_covariate(tables: OmopTables, text: str) -> OmopCovariate:
    """Understand `age`, `measurement:CONCEPT`, `name=condition:CONCEPT` or a bare concept."""
    name, named, wanted = text.rpartition("=")
    wanted = wanted.strip()
    if wanted in PERSON:
        return OmopCovariate(name.strip() or wanted, wanted)
    kind, colon, concept = wanted.rpartition(":")
    if not concept.strip().isdigit() or (colon and kind not in EVENTS):
        raise InputError(
            f"covariate '{text}' is not understood; give age, sex, race, ethnicity, "
            "measurement:CONCEPT, condition:CONCEPT or drug:CONCEPT"
        )
    number = int(concept)
    known = _concept(tables, number)
    if not colon:
        kind = DOMAINS.get(known[1] if known else "", "")
        if not kind:
            raise InputError(
                f"what concept {number} is cannot be told from the table 'concept'; write "
                f"measurement:{number} or condition:{number}"
            )
    default = known[0] if known and known[0] else f"{kind} {number}"
    return OmopCovariate(name.strip() if named else default, kind, number)


def _concept(tables: OmopTables, concept: int) -> tuple[str, str] | None:
    if not tables.has("concept"):
        return None
    found = tables.read("concept", ["concept_name", "domain_id"], ("concept_id", [concept]))
    return (found["concept_name"][0], found["domain_id"][0]) if found.height else None


def add_covariate(
    tables: OmopTables, table: pl.DataFrame, covariate: OmopCovariate, same_day: bool
) -> pl.DataFrame:
    """Add a column with what was known before each patient's visit."""
    if covariate.name in table.columns:
        raise InputError(f"two covariates are called '{covariate.name}'; name one with name=...")
    if covariate.table is None:
        return _from_person(tables, table, covariate)
    events = (
        table.select("person_id", "visit_start_date")
        .join(covariate.events(tables), on="person_id", how="inner", maintain_order="left_right")
        .filter(
            pl.col("date") <= pl.col("visit_start_date")
            if same_day
            else pl.col("date") < pl.col("visit_start_date")
        )
    )
    if covariate.kind == "measurement":
        latest = (
            events.drop_nulls("value_as_number")
            .sort("person_id", "date", maintain_order=True)
            .unique("person_id", keep="last", maintain_order=True)
            .select("person_id", pl.col("value_as_number").alias(covariate.name))
        )
        return table.join(latest, on="person_id", how="left", maintain_order="left")
    ever = table["person_id"].is_in(events["person_id"].unique().implode())
    return table.with_columns(ever.cast(pl.Int8).alias(covariate.name))


def _from_person(tables: OmopTables, table: pl.DataFrame, covariate: OmopCovariate) -> pl.DataFrame:
    persons = tables.read(
        "person",
        ["person_id", "gender_concept_id", "year_of_birth"],
        optional=["month_of_birth", "day_of_birth", "race_concept_id", "ethnicity_concept_id"],
    )
    joined = table.join(persons, on="person_id", how="left", maintain_order="left")
    if covariate.kind == "age":
        value = _age()
    elif covariate.kind == "sex":
        value = pl.col("gender_concept_id").replace_strict(
            SEX, default=None, return_dtype=pl.String
        )
    else:
        # A concept is a code of a category, not a number.
        value = pl.lit("concept ") + pl.col(f"{covariate.kind}_concept_id").cast(pl.String)
    return joined.with_columns(value.alias(covariate.name)).select(*table.columns, covariate.name)


def _age() -> pl.Expr:
    """Completed years at the visit; an unknown month or day counts as the middle."""
    visit = pl.col("visit_start_date")
    month = pl.col("month_of_birth").fill_null(7)
    day = pl.col("day_of_birth").fill_null(1)
    had_birthday = (visit.dt.month() * 100 + visit.dt.day()) >= (month * 100 + day)
    years = visit.dt.year() - pl.col("year_of_birth") - (~had_birthday).cast(pl.Int64)
    return years.clip(lower_bound=0)  # shifted dates put some visits just before birth
