"""The report of a study on one page: findings, what was run, figures, tables, provenance.

Findings are plain words that follow from the numbers of a study and from nothing else.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from intravar.documents.colours import on_paper
from intravar.documents.html import render_html, script_json
from intravar.documents.typesetting import drawn, parse_formats
from intravar.study.grids import latex_table, number_text
from intravar.study.report.figures import Figure, figures_of
from intravar.study.report.marks import NARROW, WIDE, looks_of_study
from intravar.study.results import Study, read_study
from intravar.study.tables import FIGURE_TABLES
from intravar.study.units import CONSTANT, ORACLE
from intravar.writing import Ledger, digest

#: Tables that are long; they stand folded below their figure.
_FOLDED = ("rank_correlations", "grid", "glmm_groups", *FIGURE_TABLES)
#: Mean deltas within this distance of zero count as neither over nor under.
_NEARLY_ZERO = 0.005


def study_page(results: Study) -> str:
    """Return the report as one HTML page."""
    figures, manifest = figures_of(results), results.manifest
    data: dict[str, Any] = {
        "figures": {figure.name: figure.condition for figure in figures},
        "physicians": {name: results.physicians(name) for name in results.conditions},
        "methods": [{"name": m, "label": results.label(m)} for m in results.methods],
    }
    placed = {name for figure in figures for name in figure.tables} | {"seconds"}
    # What was run: conditions, seeds, methods and their parameters.
    chosen = [manifest["data_generating_mechanisms"], manifest["methods"]]
    content = {
        "data": script_json(data),
        "findings": findings(results),
        "sections": [_section(results, figure) for figure in figures],
        "further": [results.grid(name) for name in results.tables if name not in placed],
        "manifest": manifest,
        "results": results,
        "conditions": _conditions(results),
        "first": data["physicians"][results.conditions[0]],
        "configuration": digest(json.dumps(chosen, sort_keys=True).encode()),
    }
    filters, looks = {"number": number_text}, looks_of_study(results)
    return render_html("intravar.study.report", "study", content, filters=filters, looks=looks)


def _section(results: Study, figure: Figure) -> dict[str, Any]:
    grids = [results.grid(name) for name in figure.tables if name in results.tables]
    # The size grid resamples its draws: its bars are about all of them.
    means = [grid.draws for grid in grids if grid.has_paper]
    return {
        "figure": figure,
        "pictures": Markup("").join(figure.svg(width) for width in (WIDE, NARROW)),
        "open": [grid for grid in grids if grid.name not in _FOLDED],
        "folded": [grid for grid in grids if grid.name in _FOLDED],
        "draws": results.draws(figure.condition) if figure.condition else max([1, *means]),
    }


def _conditions(results: Study) -> list[dict[str, Any]]:
    """Return what the manifest says of every condition, with what its first cohort realised.

    A folder may hold conditions of earlier runs, which the last run's manifest does not name.
    """
    mechanisms = results.manifest["data_generating_mechanisms"]["conditions"]
    declared = {str(row["condition"]): row for row in mechanisms}
    conditions = []
    for name in results.conditions:
        cohort, oracle = results.method_details(name, "cohort"), results.of(name, [ORACLE])
        sizes = {"n_patients": oracle["n_patients"].sum(), "n_physicians": oracle.height}
        about = {"rule": "", "share_eligible": None, "physicians": "", "seed": None, **cohort}
        about |= sizes | declared.get(name, {})
        conditions.append(about | {"name": name, "draws": results.draws(name)})
    return conditions


# --- what a study found ---


def findings(results: Study) -> list[str]:
    """Return one sentence or two per thing found, the most important first."""
    writers = (closeness, order_kept, across, against_constant, against_paper, left_out)
    sentences = [say(results) for say in writers]
    return [sentence for sentence in sentences if sentence]


def closeness(results: Study) -> str | None:
    """Say which method comes closest on SCORE2, and which way the methods err."""
    cells = results.cells("score2_groups", ["mean_delta"], results.methods)
    if cells.is_empty():
        return None
    ranked = cells.sort(pl.col("value").abs(), "method").to_dicts()
    best, worst, n = ranked[0], ranked[-1], len(ranked)
    begin = f"On SCORE2, {best['label']} misses the true discordance by {_signed(best)} on average"
    if n == 1:
        return f"{begin}."
    over = sum(row["value"] > _NEARLY_ZERO for row in ranked)
    under = sum(row["value"] < -_NEARLY_ZERO for row in ranked)
    return (
        f"{begin}, the least of {n} methods; {worst['label']} misses it by {_signed(worst)}, the "
        f"most. Of {n} methods, {over} see more inconsistency than there is, {under} see less, "
        f"{n - over - under} lie within {_NEARLY_ZERO:.3f} of the oracle."
    )


def order_kept(results: Study) -> str | None:
    """Say how well the order of physicians is kept on SCORE2, and on the continuum."""
    parts = []
    for table, column, where in (
        ("score2_groups", "spearman_oracle", "With five groups of physicians"),
        ("continuum", "spearman_d_star", "When physicians lie on a continuum"),
    ):
        cells = results.cells(table, [column], results.methods).sort("value", "method").to_dicts()
        if cells:
            low, high = ("{value:.2f} ({label})".format(**cells[end]) for end in (0, -1))
            parts.append(f"{where}, rank correlations go from {low} to {high}.")
    return "How well is the order of the physicians kept? " + " ".join(parts) if parts else None


def across(results: Study) -> str | None:
    """Say which method errs least across conditions."""
    cells = results.cells("cross_experiment", ["mean_abs_delta"], results.methods)
    ranked, number = cells.sort("value", "method").to_dicts(), len(results.main_conditions)
    if len(ranked) < 2 or number < 2:
        return None
    least, most = ranked[0], ranked[-1]
    return (
        f"Across {number} rules, {least['label']} errs least (mean |delta| {least['value']:.3f}) "
        f"and {most['label']} most ({most['value']:.3f})."
    )


def against_constant(results: Study) -> str | None:
    """Say whether methods do better than one guess for all physicians."""
    condition = results.conditions[0]  # SCORE2 where it was run
    methods = [*results.rate_methods, CONSTANT]
    cells = results.cells("condition_errors", ["mean_physician_error"], methods)
    errors = dict(cells.filter(condition=condition).select("method", "value").iter_rows())
    constant = errors.pop(CONSTANT, None)
    if constant is None or not errors:
        return None
    better = sum(error < constant for error in errors.values())
    which = "SCORE2" if condition == "score2" else f"the condition “{condition}”"
    return (
        f"Guessing one figure for all physicians of {which} would be off by {constant:.3f} per "
        f"physician; {better} of {len(errors)} methods do better."
    )


def against_paper(results: Study) -> str | None:
    """Say how many of the paper's figures agree with ours."""
    inside = [
        value
        for name, table in results.tables.items()
        if "inside" in table.columns and name != "glmm_groups"
        for value in table["inside"].drop_nulls()
    ]
    if not inside:
        return None
    several = any(results.draws(name) > 1 for name in results.conditions)
    where = "where 95 % of single draws of ours fall" if several else "in the 95 % interval of ours"
    return (
        f"Of {len(inside)} published figures that can be compared, {sum(inside)} lie {where} and "
        f"{len(inside) - sum(inside)} do not; the tables mark those with an asterisk."
    )


def left_out(results: Study) -> str | None:
    """Say what is undefined and what failed."""
    undefined, failed = results.undefined.height, results.failures.height
    parts = [f"{undefined:,} of {results.scores.height:,} scores are undefined"] * (undefined > 0)
    parts += [f"{failed:,} of {results.runs.height:,} runs failed"] * (failed > 0)
    if not parts:
        return None
    return f"Left out of all means: {' and '.join(parts)}; “Provenance” lists why."


def _signed(cell: dict[str, Any]) -> str:
    text, low, high = (
        "" if cell[name] is None else number_text(cell[name], signed=True)
        for name in ("value", "low", "high")
    )
    if (cell["draws"] or 1) > 1:
        return f"{text} (mean of {cell['draws']} draws)"
    return f"{text} (95\N{NO-BREAK SPACE}% interval {low} to {high})" if low and high else text


# --- files ---

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
    results = read_study(folder)  # a folder that is missing is the first thing to report
    chosen = parse_formats(formats, FORMATS)
    files: dict[str, bytes] = {}
    if "html" in chosen:
        files["report.html"] = study_page(results).encode()
    pictures = [name for name in chosen if name in ("svg", "png", "pdf")]
    for figure in figures_of(results) if pictures else ():
        svg = on_paper(figure.svg(WIDE), looks_of_study(results), CENTIMETRES)
        own = {name: svg.encode() if name == "svg" else drawn(svg, name) for name in pictures}
        files |= {f"figures/{figure.name}.{name}": content for name, content in own.items()}
    for name in results.tables if "latex" in chosen else ():
        files[f"tables/{name}.tex"] = latex_table(results.grid(name)).encode()
    return Ledger(results.folder).write_all(files)
