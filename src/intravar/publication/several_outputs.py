"""What several decisions hand on: the joint figures without names and small counts.

Nobody has joint figures of whom few of the patients with all decisions were decided one way in one
of them, nor whose panel or reliability is below the request's limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.inference import assess
from intravar.measurement.measure_several import SeveralMeasured
from intravar.publication.folders import shown_source
from intravar.publication.outputs import Outputs
from intravar.publication.rounding import DIGITS, coarse, coarse_step, fraction
from intravar.publication.suppression import is_few

#: Figures of all patients are no finer than what so many of them move.
MOVED = 24
NOT_SHOWN = "few patients with all decisions, small counts, or low reliability"


@dataclass(frozen=True)
class SeveralOutputs:
    """All that is written for others to read, beside what each decision hands on.

    Attributes
    ----------
    joint
        One row per physician: the decisions together.
    decisions
        One row per physician and decision.
    pairs
        One row per physician and two decisions: which go together.
    summary
        In a form that fits into JSON.
    """

    joint: pl.DataFrame
    decisions: pl.DataFrame
    pairs: pl.DataFrame
    summary: dict[str, Any]


def several_outputs(
    found: SeveralMeasured,
    names: Mapping[str, str],
    alone: Mapping[str, Outputs],
    folders: Mapping[str, str],
) -> SeveralOutputs:
    """Return what may be handed on.

    Parameters
    ----------
    found
        With everything in it.
    names
        What to call each physician.
    alone
        What each decision hands on by itself.
    folders
        Names of their folders.
    """
    counts = _complete(found)
    told = _named(found.together.physicians.drop("differ_error", "n_patients"), names)
    shown = _shown(found, counts)
    joint = told.with_columns(
        pl.when(pl.Series(shown)).then(pl.col(pl.Float64)),
        reportable=pl.Series(shown),
        reason=pl.Series([None if each else NOT_SHOWN for each in shown], dtype=pl.String),
    )
    visible = dict(zip(told["physician"].to_list(), shown.tolist(), strict=True))
    return SeveralOutputs(
        _rounded(found, joint.sort("physician")),
        _rounded(found, _decisions(found, names, alone, visible)),
        _rounded(found, _pairs(found, names, visible)),
        _summary(found, joint, folders),
    )


def _rounded(found: SeveralMeasured, table: pl.DataFrame) -> pl.DataFrame:
    if found.request.smallest_cell == 1:
        return table
    return table.with_columns(pl.col(pl.Float64).round(DIGITS))


def _named(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    called = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
    return table.with_columns(called)


def _complete(found: SeveralMeasured) -> IntArray:
    """Return per physician the patients with all decisions, and those decided for in each."""
    predicted = found.predicted
    rows = predicted.known.all(axis=1)
    code, J = predicted.code[rows], len(predicted.physician)
    decided = predicted.decided[rows].T
    return np.column_stack(
        [
            np.bincount(code, minlength=J),
            *(np.bincount(code, values, minlength=J).astype(np.int64) for values in decided),
        ]
    )


def _shown(found: SeveralMeasured, counts: IntArray) -> BoolArray:
    """Tell whose joint figures are shown; reliabilities are of those whose counts allow it."""
    smallest = found.request.smallest_cell
    safe = [
        n >= max(found.request.min_panel, 2)
        and not any(is_few(part, smallest) or is_few(n - part, smallest) for part in parts)
        for n, *parts in counts.tolist()
    ]
    rows = np.flatnonzero(safe)
    shown = np.zeros(len(safe), dtype=np.bool_)
    if len(rows):
        table = found.together.physicians[rows].rename(
            {
                "differ": "score",
                "differ_low": "low",
                "differ_high": "high",
                "differ_error": "standard_error",
            }
        )
        reliable = assess(table).table["reliability"].fill_null(0.0).to_numpy()
        shown[rows] = ~(reliable < found.request.min_reliability)
    return shown


def _decisions(
    found: SeveralMeasured,
    names: Mapping[str, str],
    alone: Mapping[str, Outputs],
    visible: Mapping[str, bool],
) -> pl.DataFrame:
    """Return the published discordance of each decision with what the others add to it."""
    more = _named(found.together.by_decision, names).select(
        "physician", "decision", "across", "given"
    )
    published = pl.concat(
        outputs.physicians.select(
            "physician",
            pl.lit(name).alias("decision"),
            *("n_patients", "discordance", "low", "high", "reportable"),
        )
        for name, outputs in alone.items()
    )
    joint = pl.col("physician").replace_strict(visible, return_dtype=pl.Boolean)
    return (
        published.join(more, on=["physician", "decision"], how="left")
        .with_columns(
            pl.when("reportable").then(pl.col("across")),
            pl.when(joint).then(pl.col("given")),
        )
        .sort("physician", "decision")
    )


def _pairs(
    found: SeveralMeasured, names: Mapping[str, str], visible: Mapping[str, bool]
) -> pl.DataFrame:
    table = _named(found.together.pairs_by_physician, names)
    safe = [
        not is_few(both, found.request.smallest_cell)
        for pair in found.together.pairs.iter_rows(named=True)
        for both in _both(found, pair).tolist()
    ]
    joint = pl.col("physician").replace_strict(visible, return_dtype=pl.Boolean)
    shown = joint & pl.Series(safe)
    return (
        table.with_columns(pl.when(shown).then(pl.col("correlation", "low", "high")))
        .drop("n_patients")
        .sort("physician", "first", "second")
    )


def _both(found: SeveralMeasured, pair: Mapping[str, Any]) -> IntArray:
    """Return how many patients of every physician got both decisions."""
    predicted, J = found.predicted, len(found.predicted.physician)
    a, b = (predicted.names.index(pair[end]) for end in ("first", "second"))
    rows = predicted.known[:, a] & predicted.known[:, b]
    code = predicted.code[rows]
    both = predicted.decided[rows, a] * predicted.decided[rows, b]
    return np.bincount(code, both, minlength=J).astype(np.int64)


def _summary(
    found: SeveralMeasured, joint: pl.DataFrame, folders: Mapping[str, str]
) -> dict[str, Any]:
    together = found.together
    first = next(iter(found.measurements.values()))
    return {
        "what": "several",
        "version": version("intravar"),
        "source": shown_source(first.check.source),
        "request": found.request.as_dict(),
        "decisions": list(together.decisions),
        "folders": dict(folders),
        "n_physicians": joint.height,
        "n_reportable": int(joint["reportable"].sum()),
        **{name: _mean(joint[name]) for name in ("differ", "differ_apart", "n_differences")},
        "pairs": [_pair(found, row) for row in together.pairs.iter_rows(named=True)],
        "verdicts": {name: each.verdict for name, each in found.measurements.items()},
    }


def _mean(values: pl.Series) -> float | None:
    """Return the mean over physicians of what is shown."""
    return fraction(float(values.drop_nulls().to_numpy().mean()), 2) if values.count() else None


def _pair(found: SeveralMeasured, row: dict[str, Any]) -> dict[str, Any]:
    smallest, n = found.request.smallest_cell, row["n_patients"]
    both = int(_both(found, row).sum())
    kept = {"first": row["first"], "second": row["second"]}
    share = coarse_step(MOVED / n)
    for name in ("together", "expected"):
        kept[name] = None if is_few(both, smallest) else coarse(row[name], share)
    # A residual weighs several times as much as a patient.
    step = max(coarse_step(4 * MOVED / n), 0.01)
    for name in ("correlation", "low", "high"):
        kept[name] = coarse(row[name], step)
    kept["steadiness"] = fraction(row["steadiness"], 1)
    return kept


def joint_lines(summary: Mapping[str, Any]) -> list[str]:
    """Say what the decisions tell together, a line each.

    Examples
    --------
    >>> joint_lines({"decisions": ["a", "b"], "differ": 0.4, "differ_apart": 0.43,
    ...     "n_differences": 0.5, "pairs": []})[0]
    'of 100 pairs of comparable patients, at most about 40 differ in at least one of 2 decisions'
    """
    if summary["differ"] is None:
        lines = ["the decisions together can be shown of nobody"]
    else:
        lines = _together(summary)
    for pair in summary["pairs"]:
        if pair["low"] > 0 or pair["high"] < 0:
            lines.append(_together_more_or_less(pair))
    return lines


def _together(summary: Mapping[str, Any]) -> list[str]:
    return [
        f"of 100 pairs of comparable patients, at most about {100 * summary['differ']:.0f} differ "
        f"in at least one of {len(summary['decisions'])} decisions",
        f"expected number of differences: at most about {summary['n_differences']:.2f}",
        f"as if decisions did not look at each other: {100 * summary['differ_apart']:.0f} of 100",
    ]


def _together_more_or_less(pair: Mapping[str, Any]) -> str:
    often = "more" if pair["correlation"] > 0 else "less"
    shares = ""
    if pair["together"] is not None:
        together, expected = (f"{100 * pair[name]:.3g}" for name in ("together", "expected"))
        shares = f" ({together} instead of {expected} of 100 patients)"
    return (
        f"{pair['first']} and {pair['second']} are given together {often} often than covariates "
        f"explain{shares}"
    )
