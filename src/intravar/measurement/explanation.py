"""Why this score: the discordant pairs behind a physician, side by side. Patient-level data."""

from __future__ import annotations

from typing import Any

import polars as pl

from intravar.errors import InputError, option
from intravar.measurement.result import Measurement
from intravar.preparation.kinds import understand

#: Pairs that can be asked for.
MOST_PAIRS = 1_000_000
_KEPT = ("row", "physician", "decision")


def patients_of(measurement: Measurement) -> pl.DataFrame:
    """Return the patients that were measured: source row, physician, decision, covariates."""
    prepared = measurement.check.prepared
    observed = prepared.observed
    renamed = {name: f"{name} (covariate)" for name in prepared.raw.columns if name in _KEPT}
    return pl.DataFrame(
        [
            pl.Series("row", prepared.rows + 1),
            observed.named[observed.code].cast(pl.String).alias("physician"),
            pl.Series("decision", observed.decision),
        ]
    ).hstack(prepared.raw.rename(renamed))


def pairs_of(measurement: Measurement) -> pl.DataFrame:
    """Return the pairs: physician, rows of the source, distance, discordant."""
    prepared, pairs = measurement.check.prepared, measurement.pairs
    names = prepared.observed.named.cast(pl.String)
    return pairs.select(
        names[pairs["panel"]].alias("physician"),
        *(
            pl.Series(name, prepared.rows[pairs[name].to_numpy()] + 1)
            for name in ("first", "second")
        ),
        "distance",
        "discordant",
    )


def side_by_side(
    pairs: pl.DataFrame, patients: pl.DataFrame, physician: str, *, most: int = 5
) -> pl.DataFrame:
    """Set the two patients of each discordant pair side by side, the closest pair first."""
    if not 1 <= most <= MOST_PAIRS:
        raise InputError(f"{option('most')} is {most}; give 1 to {MOST_PAIRS:,}")
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
