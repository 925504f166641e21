"""Why this score: the discordant pairs behind a physician, side by side. Patient-level data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.preparation.kinds import understand
from intravar.publication.pseudonyms import KEY_FILE

WARNING = "PATIENT-LEVEL: single patients can be recognised from this; keep it where the data are"
_KEPT = ("row", "physician", "decision")


def explain(folder: str | os.PathLike[str], physician: str, *, most: int = 5) -> pl.DataFrame:
    """Return the discordant pairs behind a physician of a stored measurement.

    Parameters
    ----------
    folder
        What `intravar measure --out` wrote.
    physician
        The pseudonym, or the name for whoever has the key.
    most
        Pairs to show, the closest first.

    Returns
    -------
    polars.DataFrame
        One row per pair and covariate: the two patients' rows in the source and their values. The
        result is patient-level.
    """
    _, private = measurement_folders(folder)
    try:
        pairs = pl.read_parquet(private / "pairs.parquet")
        patients = pl.read_parquet(private / "patients.parquet")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"the pairs of '{folder}' are kept in '{private}', which cannot be read; explain where "
            "the measurement was made"
        ) from error
    return side_by_side(pairs, patients, real_name(private, physician, pairs), most=most)


def measurement_folders(folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the folder of a measurement and the private one beside it."""
    path = Path(folder)
    try:
        summary = json.loads((path / "summary.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"'{path}' is not the folder of a measurement; name what 'intravar measure --out' wrote"
        ) from error
    if summary.get("what") != "measurement":
        raise InputError(f"'{path}' is not the folder of a measurement but of something else")
    return path, path.resolve().with_name(f"{path.resolve().name}-private")


def real_name(private: Path, given: str, pairs: pl.DataFrame) -> str:
    """Return the name behind a pseudonym, or the name itself."""
    names: dict[str, str] = {}
    if (private / KEY_FILE).is_file():
        names = json.loads((private / KEY_FILE).read_text("utf-8"))["physicians"]
    if given in names:
        return names[given]
    known = set(pairs["physician"].to_list()) | set(names.values())
    if given in known:
        return given
    candidates = sorted(names) or sorted(known)
    raise unknown_name("physician", given, candidates, remedy="physicians.csv lists them")


def side_by_side(
    pairs: pl.DataFrame, patients: pl.DataFrame, physician: str, *, most: int = 5
) -> pl.DataFrame:
    """Set the two patients of each discordant pair side by side, the closest pair first."""
    if most < 1:
        raise InputError(f"{option('most')} is {most}; give 1 or more")
    chosen = (
        pairs.filter((pl.col("physician") == physician) & pl.col("discordant"))
        .sort("distance", "first", "second")
        .head(most)
    )
    covariates = [name for name in patients.columns if name not in _KEPT]
    spread = {name: _spread(patients[name]) for name in covariates}
    wanted = patients.filter(
        pl.col("row").is_in(pl.concat([chosen["first"], chosen["second"]]).implode())
    )
    by_row = {row["row"]: row for row in wanted.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    for number, pair in enumerate(chosen.iter_rows(named=True), 1):
        one, other = by_row[pair["first"]], by_row[pair["second"]]
        if one["decision"] < other["decision"]:
            one, other = other, one
        rows += [
            {
                "pair": number,
                "distance": pair["distance"],
                "row_for": one["row"],
                "row_against": other["row"],
                "covariate": name,
                "decided_for": _text(one[name]),
                "decided_against": _text(other[name]),
                "difference": _difference(one[name], other[name], spread[name]),
            }
            for name in covariates
        ]
    schema = {
        "pair": pl.Int64,
        "distance": pl.Float64,
        "row_for": pl.Int64,
        "row_against": pl.Int64,
        "covariate": pl.String,
        "decided_for": pl.String,
        "decided_against": pl.String,
        "difference": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def _spread(column: pl.Series) -> float | None:
    """Return the standard deviation of a number column; None for a category."""
    understood = understand(column)
    if understood.kind not in ("number", "date"):
        return None
    found: Any = understood.values.std()
    return float(found) if found else None


def _text(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _difference(one: Any, other: Any, spread: float | None) -> str:
    if one == other:
        return "same"
    if one is None or other is None or spread is None:
        return "differs"
    try:
        apart = (float(one) - float(other)) / spread
    except (TypeError, ValueError):
        return "differs"
    return f"{apart:+.2f} SD"
