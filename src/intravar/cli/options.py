"""Options that the commands on a user's own table share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, Parquet, Excel, DuckDB or SQLite file, folder of Parquet parts, or "
        "postgresql:// URL.",
        show_default=False,
    ),
]
Physician = Annotated[
    str,
    typer.Option("--physician", help="Column of whoever decides.", show_default=False),
]
Decision = Annotated[
    str, typer.Option("--decision", help="Column of the decision.", show_default=False)
]
Covariates = Annotated[
    str | None,
    typer.Option(
        "--covariates", help="Columns to compare patients by, with commas between. Default: all."
    ),
]
Exclude = Annotated[
    str | None, typer.Option("--exclude", help="Columns not to compare patients by.")
]
After = Annotated[
    str | None,
    typer.Option("--after", help="Columns that are known only after the decision."),
]
Categorical = Annotated[
    str | None,
    typer.Option("--categorical", help="Columns of numbers that are codes of categories."),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--decision-positive",
        metavar="VALUE",
        help="Value of the decision that counts, or a comparison such as '>=4'.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        help="Missing covariates: indicator (fill and mark), drop (the patients), impute (fill).",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", help="The method that measures. Default: latent-rule where it is there."
    ),
]
MinPanel = Annotated[
    int, typer.Option("--min-panel", help="Patients below which nothing is reported.")
]
SmallestCell = Annotated[
    int,
    typer.Option(
        "--smallest-cell", help="Smallest count of patients or events that is shown; 1 hides none."
    ),
]
ShowNames = Annotated[bool, typer.Option("--show-names", help="Write names instead of pseudonyms.")]
Key = Annotated[
    Path | None,
    typer.Option("--key", help="Key file of an earlier run, for the same pseudonyms."),
]
TableName = Annotated[
    str | None, typer.Option("--table", help="Table of a database.", show_default=False)
]
Query = Annotated[
    str | None, typer.Option("--query", help="Query of a database.", show_default=False)
]
Separator = Annotated[
    str | None, typer.Option("--separator", help="Separator of a text file. Default: found out.")
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of a text file. Default: UTF-8.")
]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook.")]


#: Options of `check` and `measure` that say what to read and how to understand it.
_READ = (
    "physician",
    "decision",
    "decision_positive",
    "missing",
    "method",
    "min_panel",
    "smallest_cell",
    "table",
    "query",
    "separator",
    "encoding",
    "sheet",
)
_LISTED = ("exclude", "after", "categorical")


def reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `intravar.check` and `intravar.measure` take, from the options of a command."""
    covariates = given["covariates"]
    return {
        **{name: given[name] for name in _READ},
        **{name: listed(given[name]) for name in _LISTED},
        "covariates": None if covariates is None else listed(covariates),
    }


def listed(names: str | None) -> list[str]:
    """Split names given with commas between.

    Examples
    --------
    >>> listed("age, sex,")
    ['age', 'sex']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]
