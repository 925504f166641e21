"""Write the report of a study in the formats asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from intravar.documents.charts import on_paper
from intravar.documents.typesetting import drawn, parse_formats
from intravar.errors import InputError
from intravar.ledger import Ledger
from intravar.study.report.figures import figures_of
from intravar.study.report.figures.marks import WIDE, looks_of_study
from intravar.study.report.page import study_page
from intravar.study.report.stored_results import read_results
from intravar.study.tables.grids import latex_table

#: What each format gives.
FORMATS = {
    "html": "report.html, the page",
    "svg": "figures/*.svg",
    "png": "figures/*.png",
    "pdf": "figures/*.pdf",
    "latex": "tables/*.tex",
}


def missing_packages() -> list[str]:
    """Return the packages that figures as PNG or PDF need and that are not installed."""
    return [name for name in ("typst",) if find_spec(name) is None]


def write_report(
    folder: str | os.PathLike[str], formats: str | Sequence[str] = "html"
) -> list[Path]:
    """Make the report of a study from its stored results, beside them.

    Everything is made before anything is written, and every file is written as a whole.

    Parameters
    ----------
    folder
        Folder that `intravar benchmark` wrote.
    formats
        Some of :data:`FORMATS`.

    Returns
    -------
    list of Path
        The files, the page first.

    Raises
    ------
    InputError
        If the folder does not hold results, a file is damaged or a package is missing.
    """
    chosen = parse_formats(formats, FORMATS)
    if {"png", "pdf"} & set(chosen) and (missing := missing_packages()):
        raise InputError(
            f"PNG and PDF need {', '.join(missing)}; get it with: pip install 'intravar[files]'"
        )
    results = read_results(folder)
    made: dict[str, bytes] = {}
    if "html" in chosen:
        made["report.html"] = study_page(results).encode()
    pictures = [name for name in chosen if name in ("svg", "png", "pdf")]
    for figure in figures_of(results) if pictures else ():
        svg = on_paper(figure.svg(results, WIDE), looks_of_study(results))
        for name in pictures:
            content = svg.encode() if name == "svg" else drawn(svg, name)
            made[f"figures/{figure.name}.{name}"] = content
    for name in results.tables if "latex" in chosen else ():
        made[f"tables/{name}.tex"] = latex_table(results.grid(name)).encode()
    ledger = Ledger(results.folder)
    ledger.check(made)  # all of them before the first is written
    for name, content in made.items():
        with ledger.writing(name) as beside:
            beside.write_bytes(content)
    return [ledger.folder / name for name in made]
