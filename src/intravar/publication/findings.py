"""What else is told of a measurement: findings, diagnostics and cases seen twice.

Findings are where the discordance lies, how far unrecorded reasons could go, and what reviewers
found. Of diagnostics and cases seen twice no small count is told. Beside the size of a panel, an
exact number of cases seen twice tells how many were seen once; beside that number, an exact share
tells how many were decided differently. So both are rounded, for everybody alike: the number to
tens, and so far below the panel's size that few cases seen once cannot be told from none; the share
to two digits, with ends that follow from the rounded figures and carry nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import share_interval
from intravar.measurement.diagnostics import OfPairs, agreement, of_pairs
from intravar.measurement.result import Measurement
from intravar.measurement.scores import SeenTwice
from intravar.measurement.sentences import close_calls_sentence
from intravar.publication.group import group_digits, step_over_all
from intravar.publication.hiding import (
    coarse,
    few_of,
    fraction,
    is_small,
    named,
    part_is_safe,
    rounded_rows,
)
from intravar.publication.results import (
    Agreement,
    Anchors,
    Attrition,
    Balance,
    Calibration,
    Diagnostics,
    Difference,
    Distances,
    Group,
    KindOfPatients,
    LeftOut,
    Location,
    Overlap,
    Review,
    SweepStep,
    Unrecorded,
)
from intravar.publication.scores import ShownScores
from intravar.wording import USUAL, Words


def published_location(measurement: Measurement) -> Location | None:
    """Return close calls and kinds of patients; kinds in which few were decided one way are not."""
    found = measurement.location
    if found is None:
        return None
    step = max(step_over_all(measurement), 0.01)
    smallest = measurement.request.smallest_cell
    kinds = [
        KindOfPatients(
            row["when"], *(coarse(row[name], step) for name in ("patients", "discordance", "level"))
        )
        for row in found.kinds.iter_rows(named=True)
        if part_is_safe(row["n_for"], row["n_patients"], smallest)
    ]
    return Location(
        coarse(found.close_patients, step), coarse(found.close_discordance, step), tuple(kinds)
    )


def location_lines(location: Location | None, words: Words = USUAL) -> list[str]:
    """Say where the discordance lies.

    Examples
    --------
    >>> kind = KindOfPatients("age > 80", 0.2, 0.4, 0.36)
    >>> for line in location_lines(Location(0.27, 0.84, (kind,))):
    ...     print(line)
    84 % of the discordance lies in close calls, the 27 % of patients that could be decided \
either way.
    Most of it lies where age > 80: 20 % of patients, 40 % of the discordance.
    """
    if location is None or location.close_patients is None:
        return []
    lines = [
        words.said(close_calls_sentence(location.close_patients, location.close_discordance or 0.0))
    ]
    for number, kind in enumerate(location.kinds):
        much = "Much" if number else "Most"
        shares = (100 * (each or 0.0) for each in (kind.patients, kind.discordance))
        patients, discordance = (f"{each:.0f} %" for each in shares)
        lines.append(
            f"{much} of it lies where {kind.when}: {patients} of {words.cases}, {discordance} of "
            "the discordance."
        )
    return lines


#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3


def published_unrecorded(measurement: Measurement, group: Group | None) -> Unrecorded | None:
    """Return it as it may be handed on: in proportion to the figure that is told of all together.

    None where it was not looked at.
    """
    found = measurement.unrecorded
    told = None if group is None else group.discordance
    if found is None or told is None or not found.discordance > 0:
        return None
    digits = group_digits(measurement.request.smallest_cell)
    scale = told / found.discordance
    reasons = tuple(
        LeftOut(
            reason.covariate,
            fraction(scale * reason.without, digits),
            fraction(scale * reason.lowered, digits),
        )
        for reason in found.reasons
    )
    words = unrecorded_line(told, reasons, found.n_tried, measurement.request.words)
    return Unrecorded(words, reasons, found.n_tried)


def unrecorded_line(
    discordance: float, reasons: Sequence[LeftOut], n_tried: int, words: Words = USUAL
) -> str:
    """Say how far an unrecorded reason could go, measured by the recorded ones.

    Examples
    --------
    >>> unrecorded_line(0.23, [LeftOut("stroke severity", 0.3, 0.17)], 5)
    'An unrecorded reason as strong as stroke severity would bring 23 of 100 down to about 17.'
    """
    now = round(100 * discordance)
    if not reasons:
        tried = f"any one of {n_tried} covariates" if n_tried > 1 else "the covariate"
        return (
            f"How far an unrecorded reason could go cannot be said: without {tried}, decisions are "
            "predicted as well as with it."
        )
    told, so_far = "", ""
    for reason in reasons[:MOST_NAMED]:
        who = "An unrecorded reason" if not told else "; one"
        does = _does(round(100 * (reason.lowered or 0.0)), now)
        brings = f" would bring {now} of 100 down"  # is said once
        short = does.replace(brings, ",") if so_far.startswith(brings) else does
        told += f"{who} as strong as {words.label(reason.covariate)}{short}"
        so_far = does
    return f"{told}."


def _does(lowered: int, now: int) -> str:
    if lowered >= now:
        return f" would hardly lower {now} of 100"
    if lowered == 0:
        return f" could explain all {now} of 100"
    return f" would bring {now} of 100 down to about {lowered}"


#: Figures that are rounded to this or less need no word about it.
FINE = 0.01


def review_sentence(review: Review, words: Words = USUAL) -> str:
    """Say the reviewed discordance beside what the record alone tells of the same pairs.

    Examples
    --------
    >>> told = Review(0.13, 0.09, 0.18, 120, 0.21, 0.01, 0, None, (), None, None, {})
    >>> review_sentence(told).split("; ")[1]
    'on the record alone it was at most 21.'
    """
    middle, low, high, record = (
        round(100 * each) for each in (review.discordance, review.low, review.high, review.record)
    )
    if middle < record:
        alone = f"on the record alone it was at most {record}."
    else:
        # A review may lie at the record or above: most pairs that differ were decided alike.
        alone = f"of all pairs alike in the record, {record} were."
    return (
        f"Of 100 pairs of {words.cases} whom reviewers found comparable, {middle} [{low}, {high}] "
        f"were decided differently; {alone}"
    )


def review_lines(review: Review, words: Words = USUAL) -> list[str]:
    """Say what else a review found, one sentence each."""
    left = f"; {review.n_left:,} are left" if review.n_left else ""
    lines = [
        f"{review.n_pairs:,} pairs of the same {words.decider}, alike in the record, were judged "
        f"by reviewers who saw neither the decision nor the {words.decider}{left}."
    ]
    if review.step > FINE:
        step = round(100 * review.step)
        lines.append(
            f"Figures of the review are rounded to {step} of 100, because an exact value could "
            "reveal small numbers of pairs; with more pairs they are sharper."
        )
    if review.explained is not None:
        lines.append(
            f"Of 100 pairs that were decided differently, about {round(100 * review.explained)} "
            "differ in something that matters."
        )
    if review.reasons:
        shares = (f"{each.reason} ({round(100 * (each.share or 0))} %)" for each in review.reasons)
        lines.append(f"Reasons: {', '.join(shares)}.")
    if review.unsure is not None:
        low, high = round(100 * review.unsure.low), round(100 * review.unsure.high)
        lines.append(
            f"Counting unsure pairs as comparable or as different, it lies between {low} and "
            f"{high} of 100."
        )
    if review.agreement is not None and review.agreement.kappa is not None:
        lines.append(
            f"Two reviewers agree with a kappa of {review.agreement.kappa:.1f} (1 always, 0 as "
            "often as by chance)."
        )
    return lines


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
