"""The command `omop`: a table of patients from an OMOP CDM database."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import typer

import intravar
from intravar import cli, publication, sources
from intravar.cli.options import described, listed
from intravar.errors import InputError
from intravar.request import SMALLEST_CELL, WINDOW
from intravar.writing import checked_target, make_private, privacy_words, whole_file


@described(
    source="URL: Folder or zip of CSV files, DuckDB file, or postgresql:// URL.",
    drug="Concepts of the drug, with commas; NAME=CONCEPTS, once for each of several.",
    covariates="age, sex, race, ethnicity, measurement:CONCEPT, condition:CONCEPT, drug:CONCEPT; "
    "name=... names a column.",
    out="Table of patients to write (.parquet or .csv).",
    visits="Concepts of the visits that count.",
    eligible="What must be recorded before, as in --covariates.",
    window="Days within which the drug counts as given.",
    new_users="--new-users/--all-users: Leave out who had the drug before.",
    same_day="What was recorded on the visit's day counts.",
    provider="Whose decision: visit, or drug where there is one.",
    descendants="--descendants/--no-descendants: Descendants of the drug count.",
    date="Name of a column for the date of the visit.",
    schema="Schema of the tables.",
)
def omop(
    source: str,
    drug: list[str],
    covariates: str = "age,sex",
    out: Path = Path("patients.parquet"),
    visits: str | None = None,
    eligible: str | None = None,
    window: int = WINDOW,
    new_users: bool = True,
    same_day: bool = False,
    provider: str = "visit",
    descendants: bool = True,
    date: str | None = None,
    schema: str | None = None,
    as_json: bool = False,
) -> None:
    """Build a table of patients from OMOP CDM 5.4, ready for 'intravar check' and 'measure'.

    One row per person at the first eligible visit: who decided, whether each drug was given, and
    what was known before. The table is patient-level and readable by you alone.
    """
    if out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"unknown format '{out.suffix or out.name}'; end it in .parquet or .csv")
    checked_target(out)
    patients = intravar.omop_patients(
        source,
        drug=sources.parse_drugs(drug),
        covariates=listed(covariates),
        visits=[sources.parse_concept(text) for text in listed(visits)],
        eligible=listed(eligible),
        window=window,
        new_users=new_users,
        same_day=same_day,
        provider=provider,  # type: ignore[arg-type]
        descendants=descendants,
        date=date,
        schema=schema,
    )
    with whole_file(out) as beside:
        make_private(beside)
        if out.suffix.lower() == ".parquet":
            patients.table.write_parquet(beside)
        else:
            beside.write_text(publication.safe_csv(patients.table), "utf-8")
    steps = {words: publication.shown(count, SMALLEST_CELL) for words, count in patients.steps}
    if as_json:
        typer.echo(json.dumps({"out": str(out), "steps": steps}, indent=1))
        return
    for words, count in steps.items():
        cli.say(f"{words}: {count}")
    cli.say(f"table of patients (patient-level): {out}")
    if warning := privacy_words(out):
        cli.say(f"warning: {warning}")
    for name in patients.decisions:
        if patients.table[name].drop_nulls().n_unique() < 2:
            about = (
                "every decision" if len(patients.decisions) == 1 else f"every decision of '{name}'"
            )
            cli.say(
                f"{about} is the same: there is nothing to compare; a longer --window, another "
                "--drug or --all-users may help"
            )
            return
    dated = "" if date is None else f" --date {shlex.quote(date)}"
    decisions = shlex.quote(",".join(patients.decisions))
    typer.echo(
        f"next: intravar check {out} --physician {sources.PHYSICIAN} --decision {decisions}{dated}"
    )
