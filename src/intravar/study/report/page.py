"""The report of a study on one page: findings, what was run, figures, tables, provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from intravar.documents.colours import on_paper
from intravar.documents.html import render_html, script_json
from intravar.documents.typesetting import drawn, parse_formats
from intravar.study.grids import latex_table, number_text
from intravar.study.report.figures import Figure, figures_of
from intravar.study.report.findings import findings
from intravar.study.report.marks import NARROW, WIDE, looks_of_study
from intravar.study.results import Study, read_study
from intravar.study.tables import FIGURE_TABLES
from intravar.study.units import ORACLE
from intravar.writing import Ledger, digest

#: Tables that are long; they stand folded below their figure.
_FOLDED = ("rank_correlations", "grid", "glmm_groups", *FIGURE_TABLES)


def study_page(results: Study) -> str:
    """Return the report as one HTML page."""
    figures = figures_of(results)
    physicians = {name: results.physicians(name) for name in results.conditions}
    data = {
        "figures": {figure.name: figure.condition for figure in figures},
        "physicians": physicians,
        "methods": [{"name": m, "label": results.label(m)} for m in results.methods],
    }
    placed = {name for figure in figures for name in figure.tables} | {"seconds"}
    declared = {
        str(row["condition"]): row
        for row in results.manifest["data_generating_mechanisms"]["conditions"]
    }
    content = {
        "data": script_json(data),
        "findings": findings(results),
        "sections": [_section(results, figure) for figure in figures],
        "seconds": results.grid("seconds") if "seconds" in results.tables else None,
        "further": [results.grid(name) for name in results.tables if name not in placed],
        "manifest": results.manifest,
        "results": results,
        "conditions": [_condition(results, n, declared.get(n, {})) for n in results.conditions],
        "physicians": physicians,
        "undefined": results.undefined_reasons(),
        "failures": results.failures.to_dicts(),
        "configuration": configuration_hash(results),
    }
    filters, looks = {"number": number_text}, looks_of_study(results)
    return render_html("intravar.study.report", "study", content, filters=filters, looks=looks)


def _section(results: Study, figure: Figure) -> dict[str, Any]:
    grids = [results.grid(name) for name in figure.tables if name in results.tables]
    # The size grid resamples its draws: its bars are about all of them.
    means = [grid.draws for grid in grids if grid.has_paper]
    return {
        "figure": figure,
        "alternative": figure.alternative,
        "pictures": Markup("").join(figure.svg(width) for width in (WIDE, NARROW)),
        "open": [grid for grid in grids if grid.name not in _FOLDED],
        "folded": [grid for grid in grids if grid.name in _FOLDED],
        "draws": results.draws(figure.condition) if figure.condition else max([1, *means]),
    }


def _condition(results: Study, name: str, declared: dict[str, Any]) -> dict[str, Any]:
    """Return what the manifest says of a condition, with what its first cohort realised.

    A folder may hold conditions of earlier runs, which the last run's manifest does not name.
    """
    cohort, oracle = results.method_details(name, "cohort"), results.of(name, [ORACLE])
    sizes = {"n_patients": oracle["n_patients"].sum(), "n_physicians": oracle.height}
    realised = {"rule": "", "share_eligible": None, "physicians": "", "seed": None, **cohort}
    return {**realised, **sizes, **declared, "name": name, "draws": results.draws(name)}


def configuration_hash(results: Study) -> str:
    """Return a fingerprint of what was run: conditions, seeds, methods and their parameters."""
    manifest = results.manifest
    chosen = [manifest["data_generating_mechanisms"], manifest["methods"]]
    return digest(json.dumps(chosen, sort_keys=True).encode())


#: Width of a figure in a file of its own.
CENTIMETRES = 18
#: What each format gives.
FORMATS = {
    "html": "report.html, the page",
    "svg": "figures/*.svg",
    "png": "figures/*.png",
    "pdf": "figures/*.pdf",
    "latex": "tables/*.tex",
}


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
    results = read_study(folder)
    files: dict[str, bytes] = {}
    if "html" in chosen:
        files["report.html"] = study_page(results).encode()
    pictures = [name for name in chosen if name in ("svg", "png", "pdf")]
    for figure in figures_of(results) if pictures else ():
        svg = on_paper(figure.svg(WIDE), looks_of_study(results), CENTIMETRES)
        for name in pictures:
            content = svg.encode() if name == "svg" else drawn(svg, name)
            files[f"figures/{figure.name}.{name}"] = content
    for name in results.tables if "latex" in chosen else ():
        files[f"tables/{name}.tex"] = latex_table(results.grid(name)).encode()
    ledger = Ledger(results.folder)
    ledger.check(files)  # all of them before the first is written
    for name, content in files.items():
        with ledger.writing(name) as beside:
            beside.write_bytes(content)
    return [ledger.folder / name for name in files]
