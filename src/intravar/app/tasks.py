"""What the helper does: questions that take long."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import intravar
from intravar import documents, publication, sources
from intravar import review as pair_review
from intravar.app.draft import at_first_sight, on_screen
from intravar.documents.blocks import Heading, Note, Paragraph
from intravar.errors import errors_in
from intravar.preparation.check import checked_each, folder_for_now
from intravar.request import Request
from intravar.review.store import read_stored
from intravar.sources.reading import ROW, scan_source
from intravar.writing import make_private_folder, whole_file

#: The table of the example, as in the README.
EXAMPLE, EXAMPLE_PATIENTS, EXAMPLE_PHYSICIANS = "stress-two-camps", 4_800, 16
#: Rows beyond which only the first are looked at before the check.
MANY_ROWS = 200_000
FIRST_ROWS = 20_000


def ready() -> bool:
    """Load what nearly every question needs."""
    return callable(intravar.check) and callable(intravar.compare)


def example(target: Path) -> None:
    """Write the example's table, if it is not there."""
    if not target.exists():
        cohort = intravar.simulate(
            EXAMPLE, n_patients=EXAMPLE_PATIENTS, n_physicians=EXAMPLE_PHYSICIANS
        )
        with whole_file(target) as beside:
            cohort.to_polars().write_csv(beside)


def look(source: Path, reading: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows of a table and what its columns seem to be."""
    large = scan_source(str(source), folder_for_now, least=MANY_ROWS, **reading)
    if large is None:
        read = sources.read_source(str(source), **reading)
        return at_first_sight(read.table, read.table.height) | {"notes": list(read.notes)}
    first = large.lazy.drop(ROW).head(FIRST_ROWS).collect()
    notes = [*large.notes, f"only the first {FIRST_ROWS:,} rows were looked at here"]
    plain = sources.read_source(first).table
    return at_first_sight(plain, large.n_rows) | {"notes": notes}


def check(source: Path, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a check finds, for each decision; nobody is named."""
    checks, request = [], Request(**asked)
    several = len(request.decisions) > 1
    for decision, checked in checked_each(str(source), request).items():
        checks.append(
            publication.plain(publication.published_check(checked, several=several))
            | {
                "decision": decision,
                "lines": publication.check_lines(checked, several=several),
                "cannot": publication.unmeasurable(checked),
                "columns": documents.as_fragment(
                    [
                        documents.columns_table(
                            publication.column_rows(checked, several=several), request.words
                        )
                    ]
                ),
                "time": checked.cost.here().in_words(),
            }
        )
    return checks


def sheets(folder: Path, place: Path, physician: str | None) -> Path:
    """Write the sheet of one physician, or those of all in an archive; return the file."""
    formats = [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
    make_private_folder(place)
    chosen = formats[-1:] if physician else formats
    written = documents.write_sheets(folder, place, physician=physician, formats=chosen)
    if physician:
        return written.files[0]
    archive = place.with_suffix(".zip")
    with (
        whole_file(archive) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for file in written.files:
            packed.write(file, file.name)
    return archive


def compare(first: Path, second: Path) -> str:
    """Return what changed from one measurement to another."""
    compared = publication.compare_each(first, second)
    comparisons = {name: each.naming(on_screen) for name, each in compared.items()}
    return documents.as_fragment(documents.comparison_blocks(comparisons))


def explain(folder: Path, physician: str) -> str:
    """Return the cases behind a physician's score, for each decision. Patient-level."""
    published = publication.read_published(folder)
    with errors_in(published.words):
        cases = documents.cases_of_each(folder, physician, published, beside=3)
    warning, heading = Note("", publication.WARNING, "alarm"), Heading("Decisions that surprised")
    return documents.as_fragment([warning, heading, *(cases or [Paragraph(documents.NO_CASES)])])


def review(folder: Path, reviewer: str | None, pair: str | None) -> dict[str, Any]:
    """Return the pair that a reviewer is to answer next, or the plan before any were drawn."""
    stored = read_stored(publication.measurement_folders(folder)[1])
    if not stored.pairs:
        return {"plan": asdict(pair_review.plan(folder))}
    who = reviewer or stored.reviewers[0]
    pairs = pair_review.pairs(folder, who)
    left = [each.pair for each in pairs if who not in each.answers]
    known = {each.pair: at for at, each in enumerate(pairs)}
    at = known.get(pair or "", known[left[0]] if left else len(pairs) - 1)
    current = asdict(pairs[at])
    return {
        "plan": None,
        "question": pair_review.QUESTION,
        "cases": publication.read_published(folder).words.cases,
        "reasons": pair_review.REASONS,
        "reviewer": who,
        "reviewers": stored.reviewers,
        "n_pairs": len(pairs),
        "n_left": len(left),
        "at": at,
        "before": pairs[at - 1].pair if at else None,
        "after": pairs[at + 1].pair if at + 1 < len(pairs) else None,
        "pair": current,
        "given": current["answers"].get(who),
    }


def read_review(folder: Path) -> dict[str, Any]:
    """Add what the answers tell to the measurement; return it in words."""
    words = publication.read_published(folder).words
    review = pair_review.read(folder)
    return {"lines": review.lines(words), "n_left": review.n_left}
