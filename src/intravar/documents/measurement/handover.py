"""From a measurement to the folders that are handed on and kept: tables, JSON and the page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from intravar.documents.measurement.measurement_page import ANNEX, render_annex, render_page
from intravar.errors import InputError
from intravar.measurement.explanation import cases_of, patients_of, side_by_side
from intravar.measurement.result import Measurement
from intravar.publication.disclosure import published_of
from intravar.publication.explain import CASES_FILE, PATIENTS_FILE
from intravar.publication.files import files_of, parquet_bytes, read_published
from intravar.publication.folders import (
    checked_out,
    private_folder,
    write_folders,
)
from intravar.publication.outputs import Outputs, outputs_from
from intravar.publication.pseudonyms import KEY_FILE, Pseudonyms, read_key
from intravar.publication.results import Published

PAGE = "report.html"
REQUEST = "request.toml"
PRIVATE_NOTE = "Patient-level data and the key of the pseudonyms. Do not hand this folder on.\n"
#: Cases of a physician that are embedded in the page on request.
PAIRS_IN_PAGE = 2


def write_measurement(
    measurement: Measurement,
    out: str | os.PathLike[str],
    *,
    show_names: bool = False,
    key: str | os.PathLike[str] | bytes | None = None,
    pairs_in_report: bool = False,
    replace: bool = False,
) -> Outputs:
    """Write what may be handed on to a folder, and what may not to a private one beside it.

    Parameters
    ----------
    measurement
        With everything in it.
    out
        The folder to hand on; the private one has its name and "-private" behind it.
    show_names
        Whether real names are written instead of pseudonyms.
    key
        Key of the pseudonyms, or key file of an earlier measurement. By default that of the
        measurement which is there already, else a new one.
    pairs_in_report
        Whether the page embeds the cases behind the scores; it is patient-level then.
    replace
        Whether the result of another request may be overwritten.

    Returns
    -------
    Outputs
        What was written for others.
    """
    source = measurement.check.source
    path = checked_out(out, measurement.request, source, replace=replace)
    listed = measurement.table["physician"].cast(pl.String).to_list()
    pseudonyms = pseudonyms_of(listed, private_folder(path), key)
    names = {name: name for name in pseudonyms.by_name} if show_names else pseudonyms.by_name
    published = published_of(measurement, names, pseudonyms.secret)
    pairs = _pairs_for_page(measurement, published, names) if pairs_in_report else None
    public = _public_files(published, pairs)
    public[REQUEST] = measurement.request.to_toml(from_folder(source, path)).encode()
    write_folders(path, public, _private_files(measurement, pseudonyms))
    return outputs_from(published)


def from_folder(source: str, folder: Path) -> str | None:
    """Return a source as it is seen from a folder; None if it was a frame in memory."""
    if "://" in source:
        return source
    if not Path(source).exists():
        return None
    try:
        return Path(os.path.relpath(source, folder)).as_posix()
    except ValueError:  # on another drive
        return Path(source).absolute().as_posix()


def pseudonyms_of(
    names: list[str], private: Path, key: str | os.PathLike[str] | bytes | None
) -> Pseudonyms:
    """Return the pseudonyms of physicians: under a given key, the one that is there, or a new."""
    if isinstance(key, bytes):
        return Pseudonyms.of(names, key)
    if key is not None:
        return Pseudonyms.of(names, read_key(Path(key)))
    if (private / KEY_FILE).is_file():  # the same physician keeps a pseudonym from run to run
        return Pseudonyms.of(names, read_key(private / KEY_FILE))
    return Pseudonyms.of(names)


def _private_files(measurement: Measurement, pseudonyms: Pseudonyms) -> dict[str, bytes]:
    return {
        KEY_FILE: pseudonyms.as_json().encode(),
        CASES_FILE: parquet_bytes(cases_of(measurement)),
        PATIENTS_FILE: parquet_bytes(patients_of(measurement)),
        "README.txt": measurement.request.words.said(PRIVATE_NOTE).encode(),
    }


def _public_files(published: Published, pairs: Mapping[str, Any] | None) -> dict[str, bytes]:
    outputs, files = outputs_from(published), files_of(published)
    files[PAGE] = render_page(outputs, None if pairs is None else dict(pairs)).encode()
    files[ANNEX] = render_annex(outputs).encode()
    return files


def _pairs_for_page(
    measurement: Measurement, published: Published, names: Mapping[str, str]
) -> dict[str, Any]:
    """Return the cases that tell most of every reportable physician, for whoever asked."""
    reportable = {row.physician for row in published.first.rows if row.reportable}
    cases, patients = cases_of(measurement), patients_of(measurement)
    return {
        shown: side_by_side(cases, patients, name, most=PAIRS_IN_PAGE).to_dicts()
        for name, shown in sorted(names.items(), key=lambda item: item[1])
        if shown in reportable
    }


def stored_outputs(folder: str | os.PathLike[str]) -> Outputs:
    """Read what a stored measurement hands on."""
    return outputs_from(read_published(folder))


def stored_pages(path: Path, outputs: Outputs) -> dict[str, bytes]:
    """Return the page of a stored measurement and its annex by their names.

    Both come from what was published. Pairs that were embedded in the page on request are not
    published, and not in the new one.
    """
    try:
        pages = {PAGE: render_page(outputs), ANNEX: render_annex(outputs)}
    except (ValueError, KeyError, TypeError, AttributeError, jinja2.UndefinedError) as error:
        raise damaged(path) from error
    return {name: page.encode() for name, page in pages.items()}


def damaged(path: Path) -> InputError:
    """Say that what is stored cannot be used."""
    return InputError(
        f"the measurement in '{path}' is damaged or of another version; measure again"
    )
