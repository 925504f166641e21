"""The page of a measurement and its annex: two files that open offline."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from intravar.documents.colours import Look
from intravar.documents.html import render_html
from intravar.documents.measurement.first_page import first_page
from intravar.documents.measurement.packed_table import ROWS_AT_ONCE, packed_rows
from intravar.documents.measurement.physician_table import physician_table
from intravar.documents.measurement.picture_register import pictures_of
from intravar.estimators.registry import described
from intravar.publication.outputs import Outputs

#: Name of the annex beside the page.
ANNEX = "physicians.html"
#: Physicians up to which the table is printed with the page; the annex prints all.
MOST_PRINTED = 40
#: What is shown first, second and so on in a picture; how grave a verdict is, and its ground.
LOOKS = {
    "one": Look("#0b62a4", "#69b3f0"),
    "two": Look("#c77400", "#f0b04f"),
    "three": Look("#7a7f87", "#9aa3ad"),
    "four": Look("#aa3333", "#f08a8a"),
    "shade-0": Look("#e1edf7", "#1d3040"),
    "shade-1": Look("#c3dbee", "#244560"),
    "shade-2": Look("#a0c6e3", "#2c5b80"),
    "shade-3": Look("#7bb0d8", "#3572a0"),
    "shade-4": Look("#5498ca", "#428abf"),
    "shade-5": Look("#3381ba", "#569fd6"),
    "on-one": Look("#ffffff", "#10141a"),
    "on-two": Look("#1c1c1e", "#10141a"),
    "good": Look("#13653a", "#8fdcae"),
    "good-ground": Look("#e8f5ed", "#14291c"),
    "care": Look("#7a4a00", "#f3c775"),
    "care-ground": Look("#fdf3e2", "#2f2512"),
    "card": Look("#f7f7f9", "#1e1e23"),
}
_PACKAGE = "intravar.documents.measurement"


def render_page(outputs: Outputs, pairs: dict[str, Any] | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    outputs
        What may be handed on; the page shows nothing else.
    pairs
        Discordant pairs per physician, for whoever asked; they make the page patient-level.
    """
    method = described(outputs.summary["method"])
    table = physician_table(outputs)
    packed = packed_rows(table)
    return _render(
        "measurement",
        outputs,
        parts=(*_parts(packed), "measurement"),
        packed=packed,
        checks=outputs.checks,
        diagnostics=outputs.diagnostics,
        first=first_page(outputs),
        table=table,
        printed=len(table.rows) <= MOST_PRINTED,
        pictures=pictures_of(outputs),
        method={"name": method.name, "label": method.label, "idea": method.idea},
        pairs=pairs,
        annex=ANNEX,
    )


def render_annex(outputs: Outputs) -> str:
    """Return the annex: the table of all physicians with every column, to search or to print."""
    table = physician_table(outputs, whole=True)
    packed = packed_rows(table)
    return _render("annex", outputs, _parts(packed), table=table, packed=packed)


def _parts(packed: Markup | None) -> tuple[str, ...]:
    """Return the styles and scripts of the table, and of packed rows where it has them."""
    return ("table",) if packed is None else ("table", "packed")


def _render(name: str, outputs: Outputs, parts: tuple[str, ...], **content: Any) -> str:
    label = outputs.words.label
    return render_html(
        _PACKAGE,
        name,
        {"summary": outputs.summary, "first_rows": ROWS_AT_ONCE, **content},
        filters={"number": _number, "share": _share, "count": _count, "label": label},
        looks=LOOKS,
        parts=parts,
        words=outputs.words,
    )


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
