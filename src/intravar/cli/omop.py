"""The command `omop`: a table of patients from an OMOP CDM database."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import intravar
from intravar import cli, publication, sources
from intravar.cli.options import Answer, listed
from intravar.errors import InputError
from intravar.request import SMALLEST_CELL, WINDOW
from intravar.writing import checked_target, make_private, privacy_words, whole_file


def omop(
    source: Annotated[str, "URL: Folder or zip of CSV files, DuckDB file, or postgresql:// URL."],
    drug: Annotated[list[str], "Concepts of the drug, with commas; NAME=CONCEPTS where several."],
    covariates: Annotated[
        str,
        "age, sex, race, ethnicity, measurement:CONCEPT, condition:CONCEPT, drug:CONCEPT; "
        "name=... names a column.",
    ] = "age,sex",
    out: Annotated[Path, "Table to write (.parquet or .csv)."] = Path("patients.parquet"),
    visits: Annotated[str | None, "Concepts of the visits that count."] = None,
    eligible: Annotated[str | None, "What must be recorded before, as in --covariates."] = None,
    window: Annotated[int, "Days within which the drug counts as given."] = WINDOW,
    new_users: Annotated[
        bool, "--new-users/--all-users: Leave out earlier users of the drug."
    ] = True,
    same_day: Annotated[bool, "What was recorded on the visit's day counts."] = False,
    provider: Annotated[str, "Whose decision: visit, or drug where there is one."] = "visit",
    descendants: Annotated[bool, "--descendants/--no-descendants: Count descendants."] = True,
    date: Annotated[str | None, "Name of a column for the date of the visit."] = None,
    schema: Annotated[str | None, "Schema of the tables."] = None,
) -> Answer:
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
    yield {"out": str(out), "steps": steps}
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
    cli.say(
        f"next: intravar check {out} --physician {sources.PHYSICIAN} --decision {decisions}{dated}"
    )
