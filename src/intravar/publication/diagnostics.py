"""Diagnostics and cases seen twice, as far as they may be told: without small counts.

Beside the size of a panel, an exact number of cases seen twice tells how many were seen once;
beside that number, an exact share tells how many were decided differently. So both are rounded, for
everybody alike: the number to tens, and so far below the panel's size that few cases seen once
cannot be told from none; the share to two digits, with ends that follow from the rounded figures
and carry nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import share_interval
from intravar.measurement.diagnostics import OfPairs, agreement, of_pairs
from intravar.measurement.result import Measurement
from intravar.measurement.scores import SeenTwice
from intravar.publication.hiding import few_of, fraction, is_small, named, rounded_rows
from intravar.publication.results import (
    Agreement,
    Anchors,
    Attrition,
    Balance,
    Calibration,
    Diagnostics,
    Difference,
    Distances,
    Overlap,
    SweepStep,
)
from intravar.publication.scores import ShownScores


def shown_diagnostics(
    measurement: Measurement, published: Mapping[str, ShownScores], names: Mapping[str, str]
) -> Diagnostics:
    """Return the diagnostics that may be handed on; `published` is what methods show of scores.

    Rows are in the order of the pseudonyms: the order of the names would tell who is who.
    """
    tables, smallest = measurement.diagnostics, measurement.request.smallest_cell
    main = published[measurement.method]
    pairs = _pairs_of_shown(measurement, main)
    compared = {
        name: (measurement.fitted[name].scores.discordance, each.measured)
        for name, each in published.items()
    }
    anchors = tables.anchors
    with_size = measurement.among_learned(main.with_size)
    bins = without_small_bins(pairs.distances, smallest).rename({"from": "lower", "to": "upper"})
    overlap = named(tables.overlap[with_size], names).sort("physician")
    return Diagnostics(
        love=rounded_rows(pairs.love, Difference),
        distances=rounded_rows(bins, Distances),
        attrition=_attrition(tables.attrition, with_size, names, smallest),
        sweep=rounded_rows(_safe_sweep(pairs.sweep, smallest), SweepStep, 2),
        agreement=rounded_rows(agreement(compared), Agreement, 2),
        balance=rounded_rows(tables.balance.select("covariate", "between_physicians"), Balance),
        overlap=rounded_rows(overlap.select("physician", "overlap"), Overlap, 2),
        calibration=rounded_rows(_safe_calibration(tables.calibration, smallest), Calibration),
        split_half_reliability=fraction(pairs.split_half),
        anchor_mass=None
        if anchors is None
        else Anchors(round(float(anchors.sure_eligible), 2), round(float(anchors.sure_others), 2)),
    )


def _pairs_of_shown(measurement: Measurement, main: ShownScores) -> OfPairs:
    """Return what the pairs tell, without those of physicians whose scores are hidden."""
    if measurement.request.smallest_cell <= 1 or len(main.measured) == main.table.height:
        return measurement.diagnostics.pairs
    return of_pairs(
        measurement.check.prepared,
        measurement.main.evidence,
        measurement.pairs,
        measurement.diagnostics.loose,
        measurement.among_learned(main.measured),
    )


def without_small_bins(distances: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Return shares by bin, neighbours merged until no bin holds a small count.

    Examples
    --------
    >>> bins = {"from": [0.0, 1, 2, 3], "to": [1.0, 2, 3, 4], "n_pairs": [20, 3, 0, 9]}
    >>> without_small_bins(pl.DataFrame(bins), 11).rows()
    [(0.0, 1.0, 0.625), (1.0, 4.0, 0.375)]
    """
    edges = np.array([*distances["from"], *distances["to"].tail(1)])
    counts, edges = _merged(distances["n_pairs"].to_numpy(), edges, smallest)
    if not counts.sum() or is_small(int(counts.sum()), smallest):
        counts, edges = np.zeros(0, dtype=np.int64), np.zeros(1)
    return pl.DataFrame(
        {"from": edges[:-1], "to": edges[1:], "share": counts / max(1, counts.sum())}
    )


def _merged(counts: IntArray, edges: FloatArray, smallest: int) -> tuple[IntArray, FloatArray]:
    merged, kept, gathered = [], [float(edges[0])], 0
    for count, edge in zip(counts.tolist(), edges[1:].tolist(), strict=True):
        gathered += count
        if not is_small(gathered, smallest):
            merged.append(gathered)
            kept.append(edge)
            gathered = 0
    if gathered:  # what is left over joins the bins before it
        merged.append(gathered)
        kept.append(float(edges[-1]))
        while len(merged) > 1 and is_small(merged[-1], smallest):
            last = merged.pop()
            merged[-1] += last
            kept.pop(-2)
    return np.array(merged, dtype=np.int64), np.array(kept)


def _safe_sweep(sweep: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Leave out a step that would set few pairs apart."""
    kept, before = [], np.zeros(2, dtype=np.int64)
    for position, row in enumerate(sweep.iter_rows(named=True)):
        counts = np.array([row["n_discordant"], row["n_pairs"] - row["n_discordant"]])
        if not any(is_small(apart, smallest) for apart in (counts - before).tolist()):
            kept.append(position)
            before = counts
    return sweep[kept].select("fraction", "share_paired", "mean_discordance")


def _safe_calibration(table: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Keep the bins whose events are neither few nor nearly all."""
    n, events = pl.col("n_patients"), (pl.col("observed") * pl.col("n_patients")).round()
    safe = ((events == 0) | (events >= smallest)) & ((n - events == 0) | (n - events >= smallest))
    return table.filter(safe).select("predicted", "observed")


def _attrition(
    table: pl.DataFrame | None, with_size: IntArray, names: Mapping[str, str], smallest: int
) -> tuple[Attrition, ...]:
    """Keep the physicians none of whose parts is small; the parts add up to the panel."""
    if table is None:
        return ()
    rows = named(table[with_size].drop("n_patients"), names).sort("physician")
    parts = ((row.pop("physician"), row) for row in rows.to_dicts())
    return tuple(
        Attrition(name, own)
        for name, own in parts
        if not any(is_small(count, smallest) for count in own.values())
    )


#: Numbers of cases are rounded to this.
TENS = 10
#: In panels of as many a share of two digits fits every number of cases near the rounded one.
MANY = 100


def shown_repeats(seen: SeenTwice, n_patients: IntArray, smallest: int) -> Mapping[str, FloatArray]:
    """Return the columns of repeated cases as they may be told; as they are if nothing is hidden.

    Panel sizes are told beside them.
    """
    if smallest <= 1:
        return seen.columns()
    # Where one case or a few were seen once, the number says no more than "nearly all".
    most = TENS * np.floor((n_patients - smallest) / TENS)
    n = np.maximum(np.minimum(TENS * np.rint(seen.n_repeats / TENS), most), 0.0)
    share = np.round(seen.contradiction, 2)
    ends = share_interval(np.nan_to_num(share) * n, n)
    return {
        "contradiction": share,
        "contradiction_low": np.round(np.where(n > 0, ends.low, np.nan), 2),
        "contradiction_high": np.round(np.where(n > 0, ends.high, np.nan), 2),
        "n_repeats": n,
    }


def hidden_repeats(seen: SeenTwice, n_patients: IntArray, smallest: int) -> BoolArray:
    """Tell of whom nothing may be told: few contradictions or agreements, or too little to blur."""
    differ, once = seen.evidence.n_contradictions, n_patients - seen.n_repeats
    too_little = few_of(smallest, once) & (n_patients < MANY)  # the size is known
    return few_of(smallest, differ, seen.n_repeats - differ) | too_little
