"""The report page of a measurement: one file that opens offline."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

import polars as pl
from jinja2 import Environment, StrictUndefined

from intravar.estimators import METHODS
from intravar.pages.measurement.measurement_charts import figures
from intravar.publication.outputs import Outputs

TEMPLATES = files("intravar.pages.measurement") / "templates"


def render_page(outputs: Outputs, pairs: dict[str, Any] | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    outputs
        What may be handed on; the page shows nothing else.
    pairs
        Discordant pairs per physician, for whoever asked; they make the page patient-level.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"number": _number, "share": _share, "count": _count}
    script = (TEMPLATES / "measurement.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    method = METHODS[outputs.summary["method"]]
    table = outputs.physicians
    filled = [name for name in table.columns if table[name].null_count() < table.height]
    page: str = environment.from_string(
        (TEMPLATES / "measurement.html.j2").read_text("utf-8")
    ).render(
        script=script,
        script_hash=f"sha256-{digest}",
        style=(TEMPLATES / "measurement.css").read_text("utf-8"),
        summary=outputs.summary,
        checks=outputs.checks,
        diagnostics=outputs.diagnostics,
        physicians=outputs.physicians.sort(
            "reportable", "rank", descending=[True, False]
        ).to_dicts(),
        findings=findings(outputs),
        figures=figures(outputs),
        method={"name": method.name, "label": method.label, "idea": method.idea},
        pairs=pairs,
        latent=bool(outputs.physicians["p_high"].is_not_null().any()),
        filled=filled,
        rates=[name for name in ("p_high", "p_low", "discrimination") if name in filled],
    )
    return page


def findings(outputs: Outputs) -> list[str]:
    """Say in plain words what was found; every number comes from the results."""
    table = outputs.physicians
    reportable = table.filter(pl.col("reportable"))
    n, total = reportable.height, table.height
    others = "" if n == total else "; for the others the table gives the reason"
    lines = [f"{n:,} of {total:,} physicians can be reported{others}."]
    if not n:
        return [f"None of {total:,} physicians can be reported; the table gives the reasons."]
    d = reportable["discordance"]
    middle = float(d.median())  # type: ignore[arg-type]
    lines.append(
        f"For the physician in the middle, of 100 pairs of comparable patients about "
        f"{100 * middle:.0f} get different decisions."
    )
    if n >= 2:
        low, high = float(d.min()), float(d.max())  # type: ignore[arg-type]
        lines.append(f"From the most to the least consistent: {100 * low:.0f} to {100 * high:.0f}.")
        outside = reportable.filter((pl.col("low") > middle) | (pl.col("high") < middle)).height
        lines.append(
            f"For {outside:,} of {n:,}, the 95 % interval leaves out the one in the middle; by "
            f"chance alone about {0.05 * n:.0f} would."
        )
    important = [row["covariate"] for row in outputs.summary["rule"]["importance"][:3]]
    if important:
        lines.append(f"Decisions depend most on {', '.join(important)}.")
    return lines


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
