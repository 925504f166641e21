"""What a measurement hands on: results, diagnostics and rule without names and small counts.

Beside the size of a panel, an exact number of cases seen twice tells how many were seen once;
beside that number, an exact share tells how many were decided differently. So both are rounded, for
everybody alike: the number to tens, and so far below the panel's size that few cases seen once
cannot be told from none; the share to two digits, with ends that follow from the rounded figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.predictability import MOST_WORDS
from intravar.inference.intervals import share_interval
from intravar.measurement.diagnostics import agreement, of_pairs
from intravar.measurement.result import Measurement
from intravar.measurement.rule import SuggestedRule, in_places
from intravar.measurement.scores import Scores, claim_of, rank_counts, without_ranks
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication import hiding, results
from intravar.publication.checks import published_check
from intravar.publication.files import source_name
from intravar.publication.group import group_digits, published_group, step_over_all
from intravar.publication.hiding import PublishedScores
from intravar.publication.policy import FINE, is_small, part_is_safe
from intravar.publication.results import Decision, PhysicianRow, Published
from intravar.publication.sentences import unrecorded_line
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.publication.joint import HiddenAcross

#: What is told of physicians where no figure may be read.
FACTS = ("physician", "n_patients", "rate")
UNREAD = "nothing may be read: see the verdict"
#: Why nobody is ranked in what is handed on, though the data would allow it.
FEW_SHOWN = Sentence(
    "the figures of single {deciders} that may be shown are too few, or too uncertain, to rank them"
)
#: Why figures of all physicians are rounded coarsely.
DOMINATED = Sentence(
    "one {decider}, whose figure is not published, makes up most of the figures of all {deciders}; "
    "these are rounded to 10 of 100, or left out, so that they do not reveal that figure"
)
#: What is then told of a decision.
KEPT = (
    *("decision", "verdict", "verdict_reasons", "method", "claim", "compared"),
    *("n_physicians", "n_patients_shown", "warnings", "seconds", "check"),
)


def published_of(
    measurement: Measurement, names: Mapping[str, str], secret: Callable[[str], float] | None = None
) -> Published:
    """Return what may be handed on of a measurement, physicians called by `names`.

    From a text `secret` gives a number between 0 and 1 that nobody can tell, the same at every run;
    see :class:`intravar.publication.pseudonyms.Pseudonyms`. Without it there are no bands.
    """
    together = measurement.together
    across: dict[str, HiddenAcross] = {}
    if together is not None:
        # Loaded where it is asked for: one decision needs nothing of it.
        from intravar.publication.joint import hidden_across, published_joint

        across = hidden_across(together)
    decisions = tuple(
        _decision(name, each, names, secret, across.get(name))
        for name, each in measurement.decisions.items()
    )
    return Published(
        version=version("intravar"),
        source=source_name(measurement.check.source),
        request=measurement.request if together is None else together.request,
        decisions=decisions,
        joint=None if together is None else published_joint(together, names, decisions),
    )


def _decision(
    name: str,
    measurement: Measurement,
    names: Mapping[str, str],
    secret: Callable[[str], float] | None,
    across: HiddenAcross | None,
) -> Decision:
    """Return what may be handed on of one decision, without what the others would tell with it."""
    words = measurement.request.words
    scores = _scores_by_method(measurement, secret, across)
    main = scores[measurement.method]
    physicians = hiding.named(main.table, names).sort("physician")
    verdict, reasons = measurement.verdict, measurement.judged.reasons
    ranked = rank_counts(physicians)
    if verdict not in UNRANKED and (ranked.few or ranked.wide):
        verdict, reasons = "group only", (words.said(FEW_SHOWN),)
    physicians = without_ranks(physicians, verdict)
    group = published_group(measurement, main, rounding_point(measurement, "group", secret))
    reportable = physicians.filter(pl.col("reportable"))["physician"].to_list()
    n_patients = int(physicians["n_patients"].sum())
    strata: dict[str, Any] = {}
    if asked := hiding.asked_strata(measurement):
        # Loaded where it is asked for: few compare subgroups or periods.
        from intravar.publication.strata import published_subgroups

        strata = published_subgroups(asked, measurement, main, across, names)
    decision = Decision(
        decision=name,
        verdict=verdict,
        verdict_reasons=reasons,
        method=measurement.method,
        claim=claim_of(measurement.main.evidence),
        compared=words.said(measurement.compared),
        n_physicians=physicians.height,
        n_reportable=len(reportable),
        n_ranked=physicians["rank"].count(),
        n_banded=physicians["band_low"].count(),
        barred_by=tuple(sorted({limit for limit, _ in main.barred.values()})),
        n_patients_shown=n_patients,
        group=group,
        location=published_location(measurement, dominated=main.dominated),
        unrecorded=None if main.dominated else published_unrecorded(measurement, group),
        rule=published_rule(measurement.rule, measurement.request.smallest_cell),
        own_rules=published_own_rules(measurement, set(reportable), names),
        warnings=(*measurement.warnings, *([words.said(DOMINATED)] if main.dominated else ())),
        seconds={name: round(value) for name, value in measurement.seconds.items()},
        check=replace(
            published_check(
                measurement.check,
                several=across is not None,
                point=partial(rounding_point, measurement, secret=secret),
            ),
            source=source_name(measurement.check.source),
            n_patients=n_patients,
            decision_share=_share(
                measurement, main, rounding_point(measurement, "decision share", secret)
            ),
        ),
        diagnostics=published_diagnostics(measurement, scores, names),
        physicians=results.rows_of(physicians, PhysicianRow),
        methods=_methods(scores, names) if len(scores) > 1 else (),
        **strata,
    )
    return without_figures(decision) if verdict == NOTHING else decision


def rounding_point(
    measurement: Measurement, figure: str, secret: Callable[[str], float] | None
) -> float:
    """Return the point, between 0 and 1, from which a figure over all patients is rounded.

    It follows from the secret key and from the number of patients and decisions of every physician,
    hidden ones included: the same data give the same point, whatever was asked of them, and other
    data another one. See :mod:`intravar.publication.rounding_key`.
    """
    if secret is None:
        return 0.5
    scores = measurement.main.scores
    names, n, n_for = hiding.names_of(scores), scores.n_patients.tolist(), scores.n_for.tolist()
    panels = sorted(zip(names, n, n_for, strict=True))
    # No name of a physician begins with this character.
    return secret("\x00" + json.dumps([figure, panels]))


def without_figures(decision: Decision) -> Decision:
    """Return what is left of a decision where nothing may be read: facts about the table."""
    hidden = dict.fromkeys(results.schema_of(PhysicianRow).keys() - FACTS)
    unread: dict[str, Any] = hidden | {"reportable": False, "reason": UNREAD}
    rows = tuple(replace(row, **unread) for row in decision.physicians)
    kept = {name: getattr(decision, name) for name in KEPT}
    trust = results.Diagnostics(balance=decision.diagnostics.balance)
    return Decision(**kept, physicians=rows, diagnostics=trust)


def _scores_by_method(
    measurement: Measurement,
    secret: Callable[[str], float] | None,
    across: HiddenAcross | None,
) -> dict[str, PublishedScores]:
    """Publish the scores of every method; a size that one of them must hide, all hide."""
    request, smallest = measurement.request, measurement.request.smallest_cell
    main, fitted = measurement.main.scores, measurement.fitted.items()
    parts = [hiding.hidden_parts(each.scores, each.evidence, smallest) for _, each in fitted]
    blurred: Mapping[str, FloatArray] = {}
    hide: dict[str, BoolArray] = {}
    if (repeats := measurement.repeats) is not None:
        blurred, hide["repeats"] = published_repeats(repeats.scores, main.n_patients, smallest)
    if across is not None:
        parts.append(across.parts)
        hide["pairs"] = across.parts.size
        hide["repeats"] = hide.get("repeats", across.repeats) | across.repeats
    if measurement.location is not None:
        learned = measurement.check.prepared.observed
        close = in_places(measurement.location.n_close.astype(np.float64), main, learned)
        few = hiding.any_few(smallest, close, main.n_patients - close)
        hide["close"] = few | np.isnan(close)  # of whom nothing is known nothing is told
    limits = smallest, request.min_panel, request.min_reliability
    secrets = None if secret is None else np.array([*map(secret, hiding.names_of(main))])
    return {
        name: PublishedScores(
            each.scores.with_columns(**blurred), each.evidence, *limits, parts, hide, secrets
        )
        for name, each in fitted
    }


def _share(measurement: Measurement, published: PublishedScores, phase: float) -> float | None:
    """Return the share decided for of everybody, or where patients are few of those shown.

    With rates per physician beside it, the exact share of all would tell the decisions of a hidden
    one; rounded from a secret point to what two dozen patients move it does not.
    """
    scores, evidence = measurement.main.scores, measurement.main.evidence
    step = step_over_all(measurement, dominated=published.dominated)
    represented = evidence.represented(scores.n_patients)

    def share_of(rows: IntArray | slice, decided_for: int, n: int) -> float:
        """Return the share decided for among physicians; that of the population if weighted."""
        if evidence.rate is None:
            return decided_for / n
        return float(represented[rows] @ evidence.rate[rows] / represented[rows].sum())

    if (step <= FINE or published.dominated) and (whole := int(scores.n_patients.sum())):
        share = share_of(slice(None), int(scores.n_for.sum()), whole)
        rounded = hiding.coarse(share, max(step, 0.01), phase)
        if rounded is None or not published.dominated:
            return rounded
        # A coarse step must not claim that all or none were decided for.
        return round(min(max(rounded, step / 2), 1 - step / 2), 6)
    decided_for = int(scores.n_for[published.measured].sum())
    n = int(scores.n_patients[published.measured].sum())
    if not n or not part_is_safe(decided_for, n, measurement.request.smallest_cell):
        return None
    return hiding.fraction(share_of(published.measured, decided_for, n), 2)


def _methods(
    published: Mapping[str, PublishedScores], names: Mapping[str, str]
) -> tuple[results.MethodRow, ...]:
    tables = [
        each.table.with_columns(
            method=pl.lit(name), score="discordance", scale=pl.lit(each.scores.scale)
        )
        for name, each in published.items()
    ]
    # In the order of the pseudonyms: the order of the names would tell who is who.
    ordered = hiding.named(pl.concat(tables), names).sort("method", "physician")
    return results.rows_of(ordered, results.MethodRow)


def published_rule(rule: SuggestedRule, smallest: int) -> results.Rule:
    """Return what may be told of the rule that the data suggest."""

    def leaf(when: str, n_patients: int, n_for: int) -> results.Leaf:
        about, share = hiding.two_digits(n_patients), n_for / n_patients
        if part_is_safe(n_for, n_patients, smallest):
            return results.Leaf(when, about, hiding.fraction(share, 2), f"{100 * share:.0f} %")
        few = "nearly none" if is_small(n_for, smallest) else "nearly all"
        return results.Leaf(when, about, None, few)

    return results.Rule(
        auc=hiding.fraction(rule.auc),
        importance=hiding.rounded_by(rule.importance, "covariate", "importance"),
        dependence=tuple(
            results.Dependence(
                row["covariate"], float(f"{row['value']:.3g}"), hiding.fraction(row["share"])
            )
            for row in rule.dependence.iter_rows(named=True)
            if not is_small(row["n_patients"], smallest)
        ),
        tree=tuple(leaf(**row) for row in rule.tree),
    )


def published_own_rules(
    measurement: Measurement, reportable: Collection[str], names: Mapping[str, str]
) -> tuple[results.OwnRule, ...]:
    """Return what each of those whose result is shown weighs otherwise than the others."""
    differences = measurement.main.evidence.differences
    if differences is None:
        return ()
    few = hiding.any_few(measurement.request.smallest_cell, differences["n_apart"].to_numpy())
    named = hiding.named(differences, names).filter(
        pl.col("physician").is_in(list(reportable)), ~pl.Series(few)
    )
    strongest = named.unique(["physician", "covariate"], keep="first", maintain_order=True)
    rows = strongest.group_by("physician", maintain_order=True).head(MOST_WORDS)
    # In the order of the pseudonyms: the order of the names would tell who is who.
    return results.rows_of(rows.sort("physician", maintain_order=True), results.OwnRule)


def published_location(
    measurement: Measurement, *, dominated: bool = False
) -> results.Location | None:
    """Return close calls and kinds of patients; kinds in which few were decided one way are not."""
    measured, smallest = measurement.location, measurement.request.smallest_cell
    if measured is None:
        return None
    step = step_over_all(measurement, dominated=dominated)
    rounded = partial(hiding.coarse, step=max(step, 0.01))
    kinds = measured.kinds.select("when", "patients", "discordance", "level", "n_for", "n_patients")
    shown = tuple(
        results.KindOfPatients(when, *map(rounded, shares))
        for when, *shares, n_for, n in kinds.iter_rows()
        if part_is_safe(n_for, n, smallest)
    )
    close = rounded(measured.close_patients), rounded(measured.close_discordance)
    return results.Location(*close, shown)


def published_unrecorded(
    measurement: Measurement, group: results.Group | None
) -> results.Unrecorded | None:
    """Return it in proportion to the figure of all; None where it was not looked at."""
    measured = measurement.unrecorded
    level = None if group is None else group.discordance.value
    if measured is None or level is None or not measured.discordance > 0:
        return None
    digits, scale = group_digits(measurement.request.smallest_cell), level / measured.discordance
    reasons = tuple(
        results.LeftOut(
            each.covariate,
            *(hiding.fraction(scale * share, digits) for share in (each.without, each.lowered)),
        )
        for each in measured.reasons
    )
    words = unrecorded_line(level, reasons, measured.n_tried, measurement.request.words)
    return results.Unrecorded(words, reasons, measured.n_tried)


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
        measured, prepared = measurement.among_learned(main.measured), measurement.check.prepared
        pairs = of_pairs(prepared, evidence, measurement.pairs, tables.loose, measured)
        tables = replace(tables, **pairs)
    compared = {name: (each.scores.discordance, each.measured) for name, each in published.items()}
    n, events = pl.col("n_patients"), (pl.col("observed") * pl.col("n_patients")).round()
    safe = ((events == 0) | (events >= smallest)) & ((n - events == 0) | (n - events >= smallest))

    def by_pseudonym(table: pl.DataFrame) -> pl.DataFrame:
        with_size = measurement.among_learned(np.flatnonzero(~main.hidden.size))
        return hiding.named(table[with_size], names).sort("physician")

    attrition: dict[str, dict[str, int]] = {}
    if evidence.attrition is not None:
        parts = by_pseudonym(evidence.attrition.drop("n_patients"))
        attrition = parts.rows_by_key("physician", named=True, unique=True)
    clear = evidence.anchors
    return results.Diagnostics(
        love=hiding.rounded_rows(tables.love, results.Difference),
        distances=hiding.rounded_rows(
            without_small_bins(tables.distances, smallest), results.Distances
        ),
        attrition={
            name: row
            for name, row in attrition.items()
            if not any(is_small(count, smallest) for count in row.values())
        },
        sweep=hiding.rounded_rows(_safe_sweep(tables.sweep, smallest), results.SweepStep, 2),
        agreement=hiding.rounded_rows(agreement(compared), results.Agreement, 2),
        balance=hiding.rounded_by(tables.balance, "covariate", "between_physicians"),
        overlap=hiding.rounded_by(by_pseudonym(tables.overlap), "physician", "overlap", 2),
        calibration=hiding.rounded_rows(
            measurement.rule.calibration.filter(safe), results.Calibration
        ),
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
        if whole and not (is_small(gathered, smallest) or is_small(rest, smallest)):
            rows.append((low, edge, gathered / whole))
            gathered, low = 0, edge
    return pl.DataFrame(rows, results.schema_of(results.Distances), orient="row")


def _safe_sweep(sweep: pl.DataFrame, smallest: int) -> pl.DataFrame:
    """Leave out a step that would set few pairs apart."""
    kept, before = [], np.zeros(2, dtype=np.int64)
    for position, row in enumerate(sweep.iter_rows(named=True)):
        counts = np.array([row["n_discordant"], row["n_pairs"] - row["n_discordant"]])
        if not any(is_small(apart, smallest) for apart in (counts - before).tolist()):
            kept.append(position)
            before = counts
    return sweep[kept]


#: Numbers of cases are rounded to this.
TENS = 10
#: In panels of as many a share of two digits fits every number of cases near the rounded one.
MANY = 100


def published_repeats(
    repeats: Scores, n_patients: IntArray, smallest: int
) -> tuple[Mapping[str, FloatArray], BoolArray]:
    """Return the columns of repeated cases as they may be told beside panel sizes, and of whom not.

    Nothing is told of few contradictions or agreements, or where there is too little to blur.
    """
    share, twice = repeats.discordance, repeats.columns["n_repeats"]
    differ = np.rint(np.nan_to_num(share) * twice)
    few = hiding.any_few(smallest, differ, twice - differ)
    # In small panels, and beside the bar, hardly any other number of cases fits a share.
    near = (n_patients < MANY) | hiding.any_few(smallest + 2, differ, twice - differ)
    hidden = few | (hiding.any_few(smallest, n_patients - twice) & near)
    if smallest <= 1:
        return repeats.columns, hidden
    # Where one case or a few were seen once, the number says no more than "nearly all".
    most = TENS * np.floor((n_patients - smallest) / TENS)
    n = np.maximum(np.minimum(TENS * np.rint(twice / TENS), most), 0.0)
    share = np.round(share, 2)
    ends = share_interval(np.nan_to_num(share) * n, n)
    low, high = (np.round(np.where(n > 0, end, np.nan), 2) for end in (ends.low, ends.high))
    names = "contradiction", "contradiction_low", "contradiction_high", "n_repeats"
    return dict(zip(names, (share, low, high, n), strict=True)), hidden
