"""What was known about a patient before the visit, from OMOP tables."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from intravar.errors import InputError
from intravar.sources.omop.tables import OmopTables

#: Standard concepts of gender.
SEX = {8507: "male", 8532: "female"}
#: Table, column of the concept and column of the date per kind of event.
EVENTS = {
    "measurement": ("measurement", "measurement_concept_id", "measurement_date"),
    "condition": ("condition_occurrence", "condition_concept_id", "condition_start_date"),
    "drug": ("drug_exposure", "drug_concept_id", "drug_exposure_start_date"),
}
DOMAINS = {"Measurement": "measurement", "Condition": "condition", "Drug": "drug"}
_VISIT = pl.col("visit_start_date")
#: An unknown month or day counts as the middle.
_BIRTHDAY = pl.col("month_of_birth").fill_null(7) * 100 + pl.col("day_of_birth").fill_null(1)
_HAD = _VISIT.dt.month().cast(pl.Int64) * 100 + _VISIT.dt.day() >= _BIRTHDAY
_AGE = _VISIT.dt.year() - pl.col("year_of_birth") - (~_HAD).cast(pl.Int64)
#: What the table of persons tells, at the visit. Concepts are codes of a category, not numbers.
_OF_PERSON = {
    "age": _AGE.clip(lower_bound=0),  # shifted dates put some visits just before birth
    "sex": pl.col("gender_concept_id").replace_strict(SEX, default=None, return_dtype=pl.String),
    "race": pl.lit("concept ") + pl.col("race_concept_id").cast(pl.String),
    "ethnicity": pl.lit("concept ") + pl.col("ethnicity_concept_id").cast(pl.String),
}


@dataclass(frozen=True)
class OmopCovariate:
    """A covariate to be built: of a kind of event, or of what the person table says.

    Events have a concept. Of a measurement the unit that counts may be given by concept or name.
    """

    name: str
    kind: str
    concept: int | None = None
    unit: str | None = None

    @property
    def table(self) -> str | None:
        """The table of the events; None for what the person table says."""
        return EVENTS[self.kind][0] if self.kind in EVENTS else None

    def events(self, tables: OmopTables) -> pl.DataFrame:
        """Return person_id, date and, of measurements, value and unit of all events."""
        table, concept, date = EVENTS[self.kind]
        assert self.concept is not None
        columns, optional = ["person_id", date, concept], []
        if self.kind == "measurement":
            columns.append("value_as_number")
            optional = ["unit_concept_id", "unit_source_value"]
        events = tables.read(table, columns, (concept, [self.concept]), optional=optional)
        if not events.height:
            raise InputError(
                f"no row of '{table}' in '{tables.name}' has the concept {self.concept}"
            )
        return events.rename({date: "date"}).drop(concept).drop_nulls("date")


def parse_covariate(tables: OmopTables, text: str) -> OmopCovariate:
    """Understand `age`, `measurement:CONCEPT`, `name=condition:CONCEPT` or a bare concept."""
    name, named, wanted = text.rpartition("=")
    wanted = wanted.strip()
    if wanted in _OF_PERSON:
        return OmopCovariate(name.strip() or wanted, wanted)
    kind, colon, concept = wanted.partition(":")
    if not colon:
        kind, concept = "", wanted
    concept, _, unit = concept.partition(":")
    if not is_concept(concept.strip()) or (colon and kind not in EVENTS):
        raise InputError(
            f"covariate '{text}' is not understood; give age, sex, race, ethnicity, "
            "measurement:CONCEPT, condition:CONCEPT or drug:CONCEPT"
        )
    if unit and kind != "measurement":
        raise InputError(f"covariate '{text}' names a unit, which measurements alone have")
    number = int(concept)
    known_as, domain = "", ""
    if tables.has("concept"):
        known = tables.read("concept", ["concept_name", "domain_id"], ("concept_id", [number]))
        known_as, domain = known.row(0) if known.height else ("", "")
    if not colon:
        kind = DOMAINS.get(domain, "")
        if not kind:
            raise InputError(
                f"what concept {number} is cannot be told from the table 'concept'; write "
                f"measurement:{number} or condition:{number}"
            )
    called = name.strip() if named else known_as or f"{kind} {number}"
    return OmopCovariate(called, kind, number, unit.strip() or None)


def known_before(date: str, same_day: bool) -> pl.Expr:
    """Tell whether a date lies before that of the visit, or on the same day where that counts."""
    return pl.col(date) <= _VISIT if same_day else pl.col(date) < _VISIT


def is_concept(text: str) -> bool:
    """Tell whether a text is a number of the type that the CDM gives to concepts."""
    return text.isascii() and text.isdigit() and int(text) < 2**31


def add_covariate(
    tables: OmopTables,
    table: pl.DataFrame,
    covariate: OmopCovariate,
    same_day: bool,
    steps: list[tuple[str, int]],
) -> pl.DataFrame:
    """Add a column with what was known before each patient's visit."""
    if covariate.name in table.columns:
        raise InputError(f"two covariates are called '{covariate.name}'; name one with name=...")
    if covariate.table is None:
        return _from_person(tables, table, covariate)
    events = (
        table.select("person_id", "visit_start_date")
        .join(covariate.events(tables), on="person_id", how="inner", maintain_order="left_right")
        .filter(known_before("date", same_day))
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
    events: pl.DataFrame, covariate: OmopCovariate, steps: list[tuple[str, int]]
) -> pl.DataFrame:
    """Return the values of one unit; values of several are not numbers of one thing."""
    concept = pl.col("unit_concept_id").cast(pl.String).replace({"0": None})
    source = pl.col("unit_source_value").str.strip_chars().str.to_lowercase().replace({"": None})
    events = events.with_columns(pl.coalesce(concept, source).alias("unit"))
    units = events["unit"].drop_nulls().unique().sort().to_list()
    listed = ", ".join(units[:5]) or "no unit"
    if covariate.unit is not None:
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


def _from_person(tables: OmopTables, table: pl.DataFrame, covariate: OmopCovariate) -> pl.DataFrame:
    """Add what the table of persons tells; one who is described in two ways is nobody."""
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
    joined = table.join(persons, on="person_id", how="left", maintain_order="left")
    return joined.select(*table.columns, _OF_PERSON[covariate.kind].alias(covariate.name))
