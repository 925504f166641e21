"""What the helper does: each function takes and returns what fits into JSON."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import intravar
from intravar import documents, publication, sources
from intravar.app.guess import at_first_sight
from intravar.preparation.check import folder_for_now
from intravar.request import Request
from intravar.sources.scanning import ROW, scan_source
from intravar.wording import Words
from intravar.writing import make_private_folder, whole_file

#: The table of the example, as in the README.
EXAMPLE, EXAMPLE_PATIENTS, EXAMPLE_PHYSICIANS = "stress-two-camps", 4_800, 16
#: Rows beyond which only the first are looked at before the check.
MANY_ROWS = 200_000
FIRST_ROWS = 20_000
#: Physicians whose change is listed.
MOST_CHANGES = 50


def ready() -> bool:
    """Load what nearly every question needs."""
    return callable(intravar.check) and callable(intravar.compare)


def example(path: str) -> str:
    """Write the example's table, if it is not there."""
    target = Path(path)
    if not target.exists():
        cohort = intravar.simulate(
            EXAMPLE, n_patients=EXAMPLE_PATIENTS, n_physicians=EXAMPLE_PHYSICIANS
        )
        with whole_file(target) as beside:
            cohort.to_polars().write_csv(beside)
    return str(target)


def look(source: str, reading: Mapping[str, str], changed: float) -> dict[str, Any]:
    """Return the first rows of a table and what its columns seem to be.

    `changed` is when the file was; another version of it is another question.
    """
    large = scan_source(source, folder_for_now, least=MANY_ROWS, **reading)
    if large is None:
        read = sources.read_source(source, **reading)
        return at_first_sight(read.table, read.table.height) | {"notes": list(read.notes)}
    first = large.lazy.drop(ROW).head(FIRST_ROWS).collect()
    notes = [*large.notes, f"only the first {FIRST_ROWS:,} rows were looked at here"]
    plain = sources.read_source(first).table
    return at_first_sight(plain, large.n_rows) | {"notes": notes}


def check(source: str, asked: Mapping[str, Any], changed: float) -> list[dict[str, Any]]:
    """Return what a check finds, for each decision; nobody is named."""
    told = []
    for decision, alone in Request(**asked).of_each().items():
        found = intravar.check(source, alone)
        told.append(
            publication.plain(publication.published_check(found))
            | {
                "decision": decision,
                "lines": publication.check_lines(found),
                "leak_lines": found.leak_lines(),
                "cannot": publication.unmeasurable(found),
                "time": found.cost.in_words(),
            }
        )
    return told


def report(folder: str, name: str) -> str:
    """Write the report of a measurement in a format; return the file."""
    written = documents.write_measurement_files(folder, [name])
    return str(written[0])


def sheets(folder: str, out: str, physician: str | None) -> str:
    """Write the sheet of one physician, or those of all in an archive; return the file."""
    formats = [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
    place = make_private_folder(Path(out))
    chosen = formats[-1:] if physician else formats
    written = documents.write_sheets(folder, place, physician=physician, formats=chosen)
    if physician:
        return str(written.files[0])
    archive = place.with_suffix(".zip")
    with (
        whole_file(archive) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for file in written.files:
            packed.write(file, file.name)
    return str(archive)


def compare(first: str, second: str, changed: list[float]) -> dict[str, Any]:
    """Return what changed from one measurement to another; `changed` is when they were written."""
    found = intravar.compare(first, second)
    rows = found.physicians.sort("probability", descending=True, nulls_last=True)
    return {
        "lines": found.lines(),
        "rows": rows.head(MOST_CHANGES).to_dicts(),
        "more": max(rows.height - MOST_CHANGES, 0),
    }


def explain(folder: str, physician: str) -> dict[str, Any]:
    """Return the cases behind a physician's score. Patient-level."""
    summary = publication.read_summary(Path(folder)) or {}
    words = Words.in_summary(summary)
    with words.in_errors():
        table = intravar.explain(folder, physician)
    decision = summary["request"]["columns"]["decision"]
    cases = publication.cases_shown(table, decision, words, 3)
    return {
        "warning": words.said(publication.WARNING),
        "none": words.said(publication.NO_CASES),
        "alone": publication.NOBODY_ALIKE,
        "cases": [vars(case) for case in cases],
    }
