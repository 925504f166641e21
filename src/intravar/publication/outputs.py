"""What a measurement hands on: results, diagnostics and rule without names and small counts."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.estimators import METHODS
from intravar.measurement.diagnostics import Diagnostics, of_measured
from intravar.measurement.scores import in_words, scores_of
from intravar.publication.publish import Published, hidden_parts, publish
from intravar.publication.suppression import is_small, part_is_safe

if TYPE_CHECKING:
    from intravar.measurement.measure import Measurement


@dataclass(frozen=True)
class Outputs:
    """All that is written for others to read.

    Attributes
    ----------
    physicians
        The result columns; names are pseudonyms unless asked otherwise.
    methods
        Scores of all methods fitted, if there are several.
    summary, checks, diagnostics
        In a form that fits into JSON.
    """

    physicians: pl.DataFrame
    methods: pl.DataFrame | None
    summary: dict[str, Any]
    checks: dict[str, Any]
    diagnostics: dict[str, Any]


def outputs_of(measurement: Measurement, names: dict[str, str]) -> Outputs:
    """Return what may be handed on.

    Parameters
    ----------
    measurement
        With everything in it.
    names
        What to call each physician.
    """
    limits = {
        name: measurement.settings[name]
        for name in ("smallest_cell", "min_panel", "min_reliability")
    }
    smallest = limits["smallest_cell"]
    observed = measurement.check.prepared.observed
    every = {
        name: scores_of(estimator, observed) for name, estimator in measurement.estimators.items()
    }
    hide = np.any([hidden_parts(scores, smallest).size for scores in every.values()], axis=0)
    published = {
        name: publish(scores, **limits, also_hide_size=hide.tolist())
        for name, scores in every.items()
    }
    main = published[measurement.method]
    renamed = pl.col("physician").replace_strict(names, return_dtype=pl.String)
    # In the order of the pseudonyms: the order of the names would tell something about them.
    physicians = main.table.with_columns(renamed).sort("physician")
    return Outputs(
        physicians,
        _methods(published).with_columns(renamed).sort("method", "physician")
        if len(every) > 1
        else None,
        _summary(measurement, main, physicians),
        measurement.check.as_json()
        | {"n_patients": main.n_patients, "decision_share": _share(measurement, main)},
        _diagnostics(measurement, published, names, smallest),
    )


def _share(measurement: Measurement, published: Published) -> float | None:
    """Return the share of positive decisions among the physicians whose scores are shown.

    With rates per physician beside it, that of all would tell the decisions of a hidden one.
    """
    panels = measurement.check.panels.table
    kept = panels.filter(pl.col("physician").is_in(published.measured))
    positive, n = int(kept["n_positive"].sum()), int(kept["n_patients"].sum())
    if not n or not part_is_safe(positive, n, measurement.settings["smallest_cell"]):
        return None
    return round(positive / n, 3)


def _methods(published: dict[str, Published]) -> pl.DataFrame:
    return pl.concat(
        [
            result.table.select(
                pl.lit(name).alias("method"),
                "physician",
                pl.col("discordance").alias("score"),
                pl.lit(METHODS[name].scale).alias("scale"),
                "n_pairs",
                "reason",
            )
            for name, result in published.items()
        ]
    )


def _summary(
    measurement: Measurement, published: Published, physicians: pl.DataFrame
) -> dict[str, Any]:
    reportable = physicians.filter(pl.col("reportable"))
    middle = reportable["discordance"].median() if reportable.height else None
    return {
        "what": "measurement",
        "version": version("intravar"),
        "source": measurement.check.source,
        "settings": measurement.settings,
        "method": measurement.method,
        "n_physicians": physicians.height,
        "n_reportable": reportable.height,
        "n_patients_shown": published.n_patients,
        "n_physicians_partly_hidden": published.n_hidden,
        "median_discordance": middle,
        "lines": {row["physician"]: in_words(row) for row in physicians.iter_rows(named=True)},
        "leaks": [
            {"column": leak.column, "why": leak.why} for leak in measurement.check.prepared.leaks
        ],
        "rule": _rule(measurement),
        "warnings": list(measurement.warnings),
        "seconds": {name: round(value, 2) for name, value in measurement.seconds.items()},
    }


def _rule(measurement: Measurement) -> dict[str, Any]:
    rule, smallest = measurement.rule, measurement.settings["smallest_cell"]
    leaves = []
    for leaf in rule.tree:
        n, positive = leaf["n_patients"], leaf["n_positive"]
        safe = part_is_safe(positive, n, smallest)
        few = "nearly none" if is_small(positive, smallest) else "nearly all"
        leaves.append(
            {
                "when": leaf["when"],
                "about_n_patients": _two_digits(n),
                "share": round(positive / n, 2) if safe else None,
                "words": f"{100 * positive / n:.0f} %" if safe else few,
            }
        )
    return {
        "auc": _rounded(rule.auc),
        "importance": _rows(rule.importance),
        # To four digits: the exact value would be that of one patient.
        "dependence": [
            row | {"value": float(f"{row['value']:.4g}")} for row in _rows(rule.dependence)
        ],
        "tree": leaves,
    }


def _diagnostics(
    measurement: Measurement, published: dict[str, Published], names: dict[str, str], smallest: int
) -> dict[str, Any]:
    found = _of_shown(measurement, published, smallest)
    main = published[measurement.method]
    with_size = set(main.table.drop_nulls("n_patients")["physician"].to_list())
    overlap = found.overlap.filter(pl.col("physician").is_in(list(with_size)))
    return {
        "love": _rows(found.love),
        "distances": _rows(found.distances),
        "attrition": _safe_attrition(found.attrition, with_size, names, smallest),
        "sweep": _rows(found.sweep, 2),
        "agreement": _rows(found.agreement, 2),
        "balance": _rows(found.balance),
        "overlap": [
            {"physician": names[row["physician"]], "overlap": round(row["overlap"], 2)}
            for row in overlap.iter_rows(named=True)
        ],
        "calibration": _rows(found.calibration),
        "split_half_reliability": _rounded(found.split_half),
        "anchor_mass": found.anchor,
    }


def _of_shown(
    measurement: Measurement, published: dict[str, Published], smallest: int
) -> Diagnostics:
    """Return the diagnostics without the physicians whose scores are hidden."""
    everyone = set(measurement.scores.physician)
    if smallest <= 1 or all(set(each.measured) == everyone for each in published.values()):
        return measurement.diagnostics
    rows = measurement.check.prepared.rows
    positions = measurement.pairs.with_columns(
        pl.Series(name, np.searchsorted(rows, measurement.pairs[name].to_numpy() - 1))
        for name in ("first", "second")
    )
    return of_measured(
        measurement.diagnostics,
        measurement.check.prepared,
        measurement.estimators,
        positions,
        smallest,
        {name: each.measured for name, each in published.items()},
    )


def _safe_attrition(
    table: pl.DataFrame, with_size: set[str], names: dict[str, str], smallest: int
) -> list[dict[str, Any]]:
    """Keep the physicians none of whose parts is small; the parts add up to the panel."""
    parts = [name for name in table.columns if name not in ("physician", "n_patients")]
    return [
        {"physician": names[row["physician"]], **{part: row[part] for part in parts}}
        for row in table.iter_rows(named=True)
        if row["physician"] in with_size
        and not any(is_small(row[part], smallest) for part in parts)
    ]


def _rows(table: pl.DataFrame, digits: int = 3) -> list[dict[str, Any]]:
    floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    if "value" in floats:  # a value of a covariate keeps its digits
        floats.remove("value")
    return table.with_columns(pl.col(floats).round(digits)).to_dicts()


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 3)


def _two_digits(count: int) -> int:
    """Round to two digits: exact leaves would add up to an exact total.

    Examples
    --------
    >>> _two_digits(1234), _two_digits(47)
    (1200, 50)
    """
    return round(count, -max(1, len(str(count)) - 2))
