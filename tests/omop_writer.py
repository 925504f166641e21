"""Writes a cohort as OMOP CDM 5.4 tables, so that reading them must give the cohort again."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl

from intravar import Cohort

DRUG = 1545958
#: Of the second decision, of the third, and so on.
FURTHER_DRUGS = (1503297, 1308216)
FIRST_MEASUREMENT = 3_000_000
VISIT = date(2020, 6, 1)


def omop_frames(cohort: Cohort) -> dict[str, pl.DataFrame]:
    """Return person, visit, drug, measurement and concept tables of a cohort."""
    n = cohort.n_patients
    person = pl.int_range(1, n + 1, eager=True).alias("person_id")
    provider = cohort.physician.cast(pl.String).str.strip_prefix("P").cast(pl.Int64)
    decisions = cohort.decisions
    drugs = dict(zip((DRUG, *FURTHER_DRUGS), decisions.iter_columns(), strict=False))
    visits = pl.DataFrame(
        {
            "visit_occurrence_id": person + 1000,
            "person_id": person,
            "visit_concept_id": [9202] * n,
            "visit_start_date": [VISIT] * n,
            "provider_id": provider,
        }
    )
    # A later visit elsewhere, and one without a provider before: neither counts.
    later = visits.with_columns(
        pl.col("visit_occurrence_id") + n,
        pl.lit(date(2021, 1, 1)).alias("visit_start_date"),
        pl.lit(1, dtype=pl.Int64).alias("provider_id"),
    )
    earlier = visits.with_columns(
        pl.col("visit_occurrence_id") + 2 * n,
        pl.lit(date(2019, 1, 1)).alias("visit_start_date"),
        pl.lit(None, dtype=pl.Int64).alias("provider_id"),
    )
    return {
        "person": pl.DataFrame(
            {
                "person_id": person,
                "gender_concept_id": [8507, 8532] * (n // 2) + [8507] * (n % 2),
                "year_of_birth": [1960] * n,
                "month_of_birth": [6] * n,
                "day_of_birth": [2] * n,
            }
        ),
        "visit_occurrence": pl.concat([later, visits, earlier]),
        "drug_exposure": pl.concat(
            pl.DataFrame(
                {
                    "drug_exposure_id": person + n * place,
                    "person_id": person,
                    "drug_concept_id": [drug] * n,
                    "drug_exposure_start_date": [date(2020, 6, 10)] * n,
                    "provider_id": provider,
                }
            ).filter(given == 1)
            for place, (drug, given) in enumerate(drugs.items())
        ),
        "measurement": pl.concat(
            [
                _measured(person, FIRST_MEASUREMENT + position, cohort.covariates[name])
                for position, name in enumerate(cohort.covariate_names)
            ]
        ),
        "condition_occurrence": pl.DataFrame(
            {
                "condition_occurrence_id": [1, 2],
                "person_id": [1, 2],
                "condition_concept_id": [201826, 201826],
                "condition_start_date": [date(2020, 1, 1), date(2020, 7, 1)],
            }
        ),
        "concept": pl.DataFrame(
            {
                "concept_id": [FIRST_MEASUREMENT, 201826],
                "concept_name": ["First covariate", "Type 2 diabetes"],
                "domain_id": ["Measurement", "Condition"],
            }
        ),
    }


def _measured(person: pl.Series, concept: int, values: pl.Series) -> pl.DataFrame:
    """Measure everyone three times: only the second value was the latest before the visit."""
    numbers = values.cast(pl.Float64)
    times = [(date(2020, 1, 1), -1.0), (date(2020, 5, 1), None), (date(2020, 6, 2), -2.0)]
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "measurement_id": person,
                    "person_id": person,
                    "measurement_concept_id": [concept] * len(person),
                    "measurement_date": [when] * len(person),
                    "value_as_number": numbers if other is None else [other] * len(person),
                }
            )
            for when, other in times
        ]
    )


def covariates_of(cohort: Cohort) -> list[str]:
    """Return how to ask for the cohort's covariates."""
    return [
        f"{name}=measurement:{FIRST_MEASUREMENT + position}"
        for position, name in enumerate(cohort.covariate_names)
    ]


def write_csv_folder(cohort: Cohort, folder: Path) -> Path:
    """Write upper-case CSV files and what macOS leaves beside them."""
    (folder / "__MACOSX").mkdir(parents=True)
    for name, table in omop_frames(cohort).items():
        table.write_csv(folder / f"{name.upper()}.csv")
        (folder / "__MACOSX" / f"._{name.upper()}.csv").write_bytes(b"\x00\x05\x16\x07")
    return folder
