"""One HTML file that holds everything: findings, what was run, figures, tables, provenance.

Nothing is fetched: scripts, styles and data lie in the page, and its Content-Security-Policy
allows these scripts and styles by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from intravar import __version__
from intravar.benchmarking.units import ORACLE
from intravar.pages.study.canvas import NARROW, WIDE, Canvas, token
from intravar.pages.study.figures import Figure, figures_of
from intravar.pages.study.palette import GROUPS, INKS, LOOKS, Look, looks_of
from intravar.pages.study.physician_rows import physicians_of, undefined_reasons
from intravar.pages.study.stored_results import Results
from intravar.pages.study.study_findings import findings
from intravar.pages.study.table_grids import Grid, grid_of, number_text

#: Tables that are long; they stand folded below their figure.
_FOLDED = ("rank_correlations", "grid", "glmm_groups")


def page(results: Results) -> str:
    """Return the report as one HTML page."""
    shown = figures_of(results)
    figures, datasets = _specifications(results, shown)
    physicians = {name: physicians_of(results, name) for name in results.conditions}
    style = colours(results) + _text("study.css")
    scripts = [_library(), _text("study.js")]
    data = {
        "figures": figures,
        "datasets": datasets,
        "physicians": physicians,
        "methods": [{"name": m, "label": results.label(m)} for m in results.methods],
    }
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number_text
    template = environment.from_string(_text("study.html.j2"))
    return template.render(
        policy=policy(scripts, [style]),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        data=Markup(script_json(data)),
        findings=findings(results),
        sections=[_section(results, figure) for figure in shown],
        seconds=grid_of(results, "seconds") if "seconds" in results.tables else None,
        manifest=results.manifest,
        results=results,
        conditions=_conditions(results),
        physicians=physicians,
        undefined=undefined_reasons(results),
        failures=results.runs.filter(results.runs["error"].is_not_null()).to_dicts(),
        configuration=configuration_hash(results),
        version=__version__,
    )


def _section(results: Results, figure: Figure) -> dict[str, Any]:
    grids = [grid_of(results, name) for name in figure.tables if name in results.tables]
    # The size grid resamples its draws: its bars are about all of them.
    means = [grid.draws for grid in grids if grid.has_paper and figure.name != "cross-experiment"]
    draws = results.draws(figure.condition) if figure.condition else max([1, *means])
    return {
        "figure": figure,
        "alternative": figure.alternative(results),
        "open": [grid for grid in grids if not _is_folded(grid)],
        "folded": [grid for grid in grids if _is_folded(grid)],
        "draws": draws,
    }


def _is_folded(grid: Grid) -> bool:
    return grid.name in _FOLDED


def _conditions(results: Results) -> list[dict[str, Any]]:
    """Return what the manifest says of every condition, with what its first cohort realised."""
    told = {
        str(row["condition"]): row
        for row in results.manifest["data_generating_mechanisms"]["conditions"]
    }
    return [_condition(results, name, told.get(name, {})) for name in results.conditions]


def _condition(results: Results, name: str, told: dict[str, Any]) -> dict[str, Any]:
    # A folder may hold conditions of earlier runs, which the last run's manifest does not name.
    cohort, oracle = results.cohort_details(name), results.of(name, [ORACLE])
    return {
        "name": name,
        "rule": told.get("rule") or cohort.get("rule") or "",
        "physicians": told.get("physicians", ""),
        "seed": told.get("seed"),
        "n_patients": told.get("n_patients") or oracle["n_patients"].sum(),
        "n_physicians": told.get("n_physicians") or oracle.height,
        "share_eligible": cohort.get("share_eligible"),
        "draws": results.draws(name),
    }


def _specifications(
    results: Results, shown: list[Figure]
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return every figure for both widths, and the data of all once each."""
    figures: dict[str, Any] = {}
    datasets: dict[str, list[Any]] = {}
    for figure in shown:
        layouts = {}
        for layout, width in (("wide", WIDE), ("narrow", NARROW)):
            spec = figure.draw(results, Canvas(width, live=True))
            own = spec.pop("datasets", {})
            datasets |= own
            spec.pop("$schema", None)
            layouts[layout] = {"spec": spec, "datasets": list(own)}
        figures[figure.name] = layouts | {"condition": figure.condition}
    return figures, {name: _columns(rows) for name, rows in datasets.items()}


def _columns(rows: list[dict[str, Any]]) -> Any:
    """Return rows as columns where all have the same fields: names are then written once."""
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        return {"rows": rows}
    return {"columns": {name: [row[name] for row in rows] for name in rows[0]}}


def colours(results: Results) -> str:
    """Return the colours of light and dark as custom properties of the page."""
    looks = dict(INKS)
    looks |= {f"group-{number}": look for number, look in enumerate(GROUPS, 1)}
    looks |= {token(results.methods, m): look for m, look in looks_of(results.methods).items()}
    looks |= {name: LOOKS[name] for name in ("oracle", "constant")}
    light, dark = _properties(looks, "light"), _properties(looks, "dark")
    return (
        f":root{{color-scheme:light;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}"
        f"@media screen{{:root[data-theme=light]{{color-scheme:light;{light}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )


def _properties(looks: dict[str, Look], theme: str) -> str:
    return "".join(f"--{name}:{getattr(look, theme)};" for name, look in looks.items())


def policy(scripts: list[str], styles: list[str]) -> str:
    """Return a Content-Security-Policy that allows these scripts and styles alone."""
    script_hashes = " ".join(_hash(text) for text in scripts)
    style_hashes = " ".join(_hash(text) for text in styles)
    return (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(data: Any) -> str:
    r"""Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> script_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def configuration_hash(results: Results) -> str:
    """Return a fingerprint of what was run: conditions, seeds, methods and their parameters."""
    manifest = results.manifest
    chosen = [manifest["data_generating_mechanisms"], manifest["methods"]]
    return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()


@cache
def _library() -> str:
    # Wrapped, because the bundle would otherwise put hundreds of short names into the page.
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return "(() => {" + bundle.replace("</script", "<\\/script") + "})();"


def _text(name: str) -> str:
    return files("intravar.pages.study").joinpath("templates", name).read_text("utf-8")
