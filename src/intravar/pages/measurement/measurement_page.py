"""The report page of a measurement: one file that opens offline."""

from __future__ import annotations

from typing import Any

from intravar.estimators import DESCRIBED
from intravar.pages.colours import Look
from intravar.pages.html import render_html
from intravar.pages.measurement.measurement_findings import findings
from intravar.pages.measurement.picture_register import pictures_of
from intravar.publication.outputs import Outputs

#: What is shown first, second and so on in a picture.
LOOKS = {
    "one": Look("#0b62a4", "#69b3f0"),
    "two": Look("#d98200", "#f0b04f"),
    "three": Look("#7a7f87", "#9aa3ad"),
    "four": Look("#aa3333", "#f08a8a"),
}
#: Columns that the table has only where a method fills them.
RATES = ("p_high", "p_low", "discrimination")


def render_page(outputs: Outputs, pairs: dict[str, Any] | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    outputs
        What may be handed on; the page shows nothing else.
    pairs
        Discordant pairs per physician, for whoever asked; they make the page patient-level.
    """
    method, table = DESCRIBED[outputs.summary["method"]], outputs.physicians
    filled = [name for name in table.columns if table[name].null_count() < table.height]
    content = {
        "summary": outputs.summary,
        "checks": outputs.checks,
        "diagnostics": outputs.diagnostics,
        "physicians": table.sort("reportable", "rank", descending=[True, False]).to_dicts(),
        "findings": findings(outputs),
        "pictures": pictures_of(outputs),
        "method": {
            "name": method.name,
            "label": method.label,
            "idea": outputs.words.said(method.idea),
        },
        "pairs": pairs,
        "filled": filled,
        "rates": [name for name in RATES if name in filled],
    }
    return render_html(
        "intravar.pages.measurement",
        "measurement",
        content,
        filters={"number": _number, "share": _share, "count": _count},
        looks=LOOKS,
        words=outputs.words,
    )


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
