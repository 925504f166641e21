"""The cases behind a physician's score, put side by side and in words. Patient-level."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.measurement.cases import cases_of, patients_of, side_by_side
from intravar.measurement.result import Measurement
from intravar.observed import handed_back
from intravar.publication import files
from intravar.publication.pseudonyms import Addresses, as_known
from intravar.table_files import read_parquet

WARNING = "CASE-LEVEL: people can be recognised from this; keep it where the data are"


def explain(
    measurement: Measurement | str | os.PathLike[str],
    physician: Any,
    *,
    most: int = 5,
    decision: str | None = None,
) -> Any:
    """Return the decisions behind a physician's score, beside patients alike decided otherwise.

    With predictions they are the decisions that surprised most; with the latent rule, clear cases
    that were decided against it; with methods that pair, discordant pairs.

    Parameters
    ----------
    measurement
        In memory, or the folder that `intravar measure --out` wrote.
    physician
        The name; or the pseudonym, if the measurement is stored.
    most
        Cases to show, those that tell most first; pairs by how close they are.
    decision
        Which one, where several were measured.

    Returns
    -------
    frame
        Of pandas if a frame of pandas was measured, else of polars. One row per pair and
        covariate, the most important first: the two patients' rows in the
        source, their values, and by how much they differ. A case beside which nobody alike was
        decided otherwise stands alone. The result is patient-level.
    """
    as_pandas = False
    if isinstance(measurement, Measurement):
        listed = measurement.decisions
        measured = listed[list(listed)[chosen_decision(list(listed), decision)]]
        cases, patients, as_pandas = cases_of(measured), patients_of(measured), measured.as_pandas
        names = measured.table["physician"].cast(pl.String).to_list()
        name = called = as_known(str(physician), names)
        if name not in names:
            decider = measured.request.words.decider
            raise unknown_name(decider, name, names, remedy="physicians lists them")
    else:
        path, private = files.measurement_folders(measurement)
        published = files.read_published(path)
        at = chosen_decision([each.decision for each in published.decisions], decision)
        remedy = "explain where the measurement was made"
        cases, patients = (
            private_table(path, files.file_of(file, at), "cases", remedy)
            for file in (files.CASES_FILE, files.PATIENTS_FILE)
        )
        every = [row.physician for row in published.decisions[at].physicians]
        known = Addresses.of(every, private, published.words.decider)
        name, called = known.name_of(known.published_name(str(physician))), str(physician)
    if not (patients["physician"] == name).any():
        raise InputError(
            "no cases of '{value}' are kept: of a large table they are kept of the {deciders} that "
            "were learned from; {sample} says how many {cases} these have",
            value=called,
            sample=option("sample"),
        )
    pairs = side_by_side(cases, patients, name, most=most)
    return handed_back(pairs, as_pandas=as_pandas)


def chosen_decision(listed: Sequence[str], decision: str | None) -> int:
    """Return the place of a decision among those that were measured."""
    if decision is None and len(listed) > 1:
        raise InputError(
            f"several decisions were measured; name one of {', '.join(listed)} with "
            f"{option('decision')}"
        )
    if decision is None or decision in listed:
        return 0 if decision is None else list(listed).index(decision)
    raise unknown_name("decision", decision, listed, remedy=", ".join(listed))


def private_table(folder: Path, name: str, what: str, remedy: str) -> pl.DataFrame:
    """Return a table that the private folder of a measurement keeps."""
    private = files.private_folder(folder.resolve())
    try:
        return read_parquet(private / name)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the {what} of '{folder}' are kept in '{private}', which cannot be read; {remedy}"
        ) from error
