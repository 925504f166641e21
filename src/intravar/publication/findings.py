"""What else is told of a measurement: findings, diagnostics and cases seen twice.

Beside the size of a panel, an exact number of cases seen twice tells how many were seen once;
beside that number, an exact share tells how many were decided differently. So both are rounded, for
everybody alike: the number to tens, and so far below the panel's size that few cases seen once
cannot be told from none; the share to two digits, with ends that follow from the rounded figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import share_interval
from intravar.measurement.diagnostics import agreement, of_pairs
from intravar.measurement.result import Measurement
from intravar.measurement.scores import Scores
from intravar.publication import hiding, results
from intravar.publication.group import group_digits, step_over_all
from intravar.publication.hiding import PublishedScores
from intravar.publication.results import KindOfPatients, LeftOut, Location, Review
from intravar.tables import hundred, hundredths
from intravar.wording import USUAL, Words


def published_location(measurement: Measurement) -> Location | None:
    """Return close calls and kinds of patients; kinds in which few were decided one way are not."""
    measured, smallest = measurement.location, measurement.request.smallest_cell
    shares = "patients", "discordance", "level"
    if measured is None:
        return None
    rounded = partial(hiding.coarse, step=max(step_over_all(measurement), 0.01))
    kinds = [
        KindOfPatients(row["when"], *(rounded(row[each]) for each in shares))
        for row in measured.kinds.iter_rows(named=True)
        if hiding.part_is_safe(row["n_for"], row["n_patients"], smallest)
    ]
    close = rounded(measured.close_patients), rounded(measured.close_discordance)
    return Location(*close, tuple(kinds))


def location_lines(location: Location | None, words: Words = USUAL) -> list[str]:
    """Say where the discordance lies."""
    if location is None or location.close_patients is None:
        return []
    lines = [
        f"{hundred(location.close_discordance or 0.0)} % of the discordance lies in close calls, "
        f"the {hundred(location.close_patients)} % of {words.cases} that could be decided either "
        "way."
    ]
    for number, kind in enumerate(location.kinds):
        part = "Most" if (kind.discordance or 0.0) > 0.5 else "The largest part"
        part = "Another part" if number else part
        lines.append(
            f"{part} of it lies where {kind.when}: {hundred(kind.patients)} % of {words.cases}, "
            f"{hundred(kind.discordance)} % of the discordance."
        )
    return lines


#: Covariates that are named in words, the strongest first.
MOST_NAMED = 3


def published_unrecorded(
    measurement: Measurement, group: results.Group | None
) -> results.Unrecorded | None:
    """Return it in proportion to the figure of all; None where it was not looked at."""
    measured = measurement.unrecorded
    level = None if group is None else group.discordance.value
    if measured is None or level is None or not measured.discordance > 0:
        return None
    scale = level / measured.discordance
    rounded = partial(hiding.fraction, digits=group_digits(measurement.request.smallest_cell))
    reasons = tuple(
        LeftOut(each.covariate, rounded(scale * each.without), rounded(scale * each.lowered))
        for each in measured.reasons
    )
    words = unrecorded_line(level, reasons, measured.n_tried, measurement.request.words)
    return results.Unrecorded(words, reasons, measured.n_tried)


def unrecorded_line(
    discordance: float, reasons: Sequence[LeftOut], n_tried: int, words: Words = USUAL
) -> str:
    """Say how far an unrecorded reason could go, measured by the recorded ones."""
    if not reasons:
        tried = f"any one of {n_tried} covariates" if n_tried > 1 else "the covariate"
        return (
            f"How far an unrecorded reason could go cannot be said: without {tried}, decisions are "
            "predicted as well as with it."
        )
    now = hundredths(discordance, "at most")
    left = [(words.label(each.covariate), hundredths(each.lowered or 0)) for each in reasons]
    (strongest, least), *others = left[:MOST_NAMED]
    reason = f"An unrecorded reason as strong as {strongest} would"
    if least >= now:
        return f"{reason} hardly lower {now} of 100."
    does = {name: f", to about {n}" if n < now else " would hardly lower it" for name, n in others}
    rest = "".join(f"; one as strong as {name}{what}" for name, what in does.items())
    return f"{reason} bring {now} of 100 down to about {least}{rest}."


def review_sentence(review: Review, words: Words = USUAL) -> str:
    """Say the reviewed discordance beside what the record alone tells of the same pairs."""
    figure = review.discordance
    middle, low, high = map(hundred, (figure.value, figure.low, figure.high))
    if (figure.value or 0.0) < review.record:
        alone = f"on the record alone it was at most {hundred(review.record, 'at most')}."
    else:
        # A review may lie at the record or above: most pairs that differ were decided alike.
        alone = f"of all pairs alike in the record, {hundred(review.record)} were."
    return (
        f"Of 100 pairs of {words.cases} that reviewers found comparable, {middle} [{low}, {high}] "
        f"were decided differently; {alone}"
    )


def review_lines(review: Review, words: Words = USUAL) -> list[str]:
    """Say what else a review found, one sentence each."""
    left = f"; {review.n_left:,} are left" if review.n_left else ""
    lines = [
        f"{review.n_pairs:,} pairs of the same {words.decider}, alike in the record, were judged "
        f"by reviewers who saw neither the decision nor the {words.decider}{left}."
    ]
    if review.step > 0.01:  # finer rounding needs no word
        lines.append(
            f"Figures of the review are rounded to {hundred(review.step)} of 100, because an exact "
            "value could reveal small numbers of pairs; with more pairs they are sharper."
        )
    if review.explained is not None:
        lines.append(
            f"Of 100 pairs that were decided differently, about {hundred(review.explained)} differ "
            "in something that matters."
        )
    if review.reasons:
        shares = (f"{why} ({hundred(share)} %)" for why, share in review.reasons.items())
        lines.append(f"Reasons: {', '.join(shares)}.")
    if review.unsure is not None:
        lines.append(
            "Counting unsure pairs as comparable or as different, it lies between "
            f"{hundred(review.unsure.low)} and {hundred(review.unsure.high)} of 100."
        )
    if review.agreement is not None and review.agreement.value is not None:
        lines.append(
            f"Two reviewers agree with a kappa of {review.agreement.value:.1f} (1 always, 0 as "
            "often as by chance)."
        )
    return lines


def published_diagnostics(
    measurement: Measurement, published: Mapping[str, PublishedScores], names: Mapping[str, str]
) -> results.Diagnostics:
    """Return the diagnostics that may be handed on; `published` is what methods show of scores.

    Pairs of physicians whose scores are hidden do not count, parts of a panel are told where none
    is small, bins where events are neither few nor nearly all. Rows are in the order of the
    pseudonyms: the order of the names would tell who is who.
    """
    tables, smallest = measurement.diagnostics, measurement.request.smallest_cell
    main, evidence = published[measurement.method], measurement.main.evidence
    if smallest > 1 and len(main.measured) < main.table.height:
        measured = measurement.among_learned(main.measured)
        prepared = measurement.check.prepared
        pairs = of_pairs(prepared, evidence, measurement.pairs, tables.loose, measured)
        tables = replace(tables, **pairs)
    compared = {
        name: (measurement.fitted[name].scores.discordance, each.measured)
        for name, each in published.items()
    }
    with_size = measurement.among_learned(main.with_size)
    bins = without_small_bins(tables.distances, smallest).rename({"from": "lower", "to": "upper"})
    n, events = pl.col("n_patients"), (pl.col("observed") * pl.col("n_patients")).round()
    safe = ((events == 0) | (events >= smallest)) & ((n - events == 0) | (n - events >= smallest))
    calibration = measurement.rule.calibration.filter(safe)
    parts: list[dict[str, Any]] = []
    if evidence.attrition is not None:
        counted = hiding.named(evidence.attrition[with_size].drop("n_patients"), names)
        parts = counted.sort("physician").to_dicts()
    attrition = {row.pop("physician"): row for row in parts}
    clear = evidence.anchors
    return results.Diagnostics(
        love=hiding.rounded_rows(tables.love, results.Difference),
        distances=hiding.rounded_rows(bins, results.Distances),
        attrition={
            name: row
            for name, row in attrition.items()
            if not any(hiding.is_small(count, smallest) for count in row.values())
        },
        sweep=hiding.rounded_rows(_safe_sweep(tables.sweep, smallest), results.SweepStep, 2),
        agreement=hiding.rounded_rows(agreement(compared), results.Agreement, 2),
        balance=hiding.rounded_by(tables.balance, "covariate", "between_physicians"),
        overlap=hiding.rounded_by(
            hiding.named(tables.overlap[with_size], names).sort("physician"),
            *("physician", "overlap", 2),
        ),
        calibration=hiding.rounded_rows(calibration, results.Calibration),
        split_half_reliability=hiding.fraction(tables.split_half),
        surely_eligible=None if clear is None else round(float(clear.sure_eligible), 2),
        surely_not_eligible=None if clear is None else round(float(clear.sure_others), 2),
    )


def without_small_bins(distances: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Return shares by bin, neighbours merged until neither a bin nor the rest is a small count."""
    rest = whole = int(distances["n_pairs"].sum())
    gathered, low, rows = 0, distances["from"][0] if len(distances) else 0.0, []
    for count, edge in distances.select("n_pairs", "to").iter_rows():
        gathered, rest = gathered + count, rest - count
        if whole and not (hiding.is_small(gathered, smallest) or hiding.is_small(rest, smallest)):
            rows.append((low, edge, gathered / whole))
            gathered, low = 0, edge
    return pl.DataFrame(rows, dict.fromkeys(("from", "to", "share"), pl.Float64), orient="row")


def _safe_sweep(sweep: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Leave out a step that would set few pairs apart."""
    kept, before = [], np.zeros(2, dtype=np.int64)
    for position, row in enumerate(sweep.iter_rows(named=True)):
        counts = np.array([row["n_discordant"], row["n_pairs"] - row["n_discordant"]])
        if not any(hiding.is_small(apart, smallest) for apart in (counts - before).tolist()):
            kept.append(position)
            before = counts
    return sweep[kept]


#: Numbers of cases are rounded to this.
TENS = 10
#: In panels of as many a share of two digits fits every number of cases near the rounded one.
MANY = 100


def rounded_repeats(
    repeats: Scores, n_patients: IntArray, smallest: int
) -> Mapping[str, FloatArray]:
    """Return the columns of repeated cases as they may be told beside panel sizes."""
    if smallest <= 1:
        return repeats.columns
    # Where one case or a few were seen once, the number says no more than "nearly all".
    most = TENS * np.floor((n_patients - smallest) / TENS)
    n = np.maximum(np.minimum(TENS * np.rint(repeats.columns["n_repeats"] / TENS), most), 0.0)
    share = np.round(repeats.discordance, 2)
    ends = share_interval(np.nan_to_num(share) * n, n)
    return {
        "contradiction": share,
        "contradiction_low": np.round(np.where(n > 0, ends.low, np.nan), 2),
        "contradiction_high": np.round(np.where(n > 0, ends.high, np.nan), 2),
        "n_repeats": n,
    }


def hidden_repeats(repeats: Scores, n_patients: IntArray, smallest: int) -> BoolArray:
    """Tell of whom nothing may be told: few contradictions or agreements, or too little to blur."""
    twice = repeats.columns["n_repeats"]
    differ = np.rint(np.nan_to_num(repeats.discordance) * twice)
    few = hiding.any_few(smallest, differ, twice - differ)
    # In small panels, and beside the bar, hardly any other number of cases fits a share.
    near = (n_patients < MANY) | hiding.any_few(smallest + 2, differ, twice - differ)
    return few | (hiding.any_few(smallest, n_patients - twice) & near)
