"""What a measurement hands on: results, diagnostics and rule without names and small counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray
from intravar.estimators.predictability import MOST_WORDS
from intravar.inference.group import Group
from intravar.measurement.result import Measurement
from intravar.measurement.rule import SuggestedRule, in_places
from intravar.measurement.scores import RANKS, claim_of
from intravar.measurement.strata import Strata as MeasuredStrata
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.checks import published_check, published_leaks
from intravar.publication.diagnostics import hidden_repeats, shown_diagnostics, shown_repeats
from intravar.publication.findings import published_location, published_unrecorded
from intravar.publication.folders import shown_source
from intravar.publication.group import FINE, published_group, shown_group, step_over_all
from intravar.publication.hiding import (
    HiddenAcross,
    coarse,
    fraction,
    hidden_across,
    hidden_parts,
    is_few,
    is_small,
    part_is_safe,
    rows,
    significant,
    two_digits,
)
from intravar.publication.joint import published_joint
from intravar.publication.results import (
    Decision,
    Dependence,
    Importance,
    Leaf,
    OwnRule,
    Published,
    Rule,
    Strata,
)
from intravar.publication.scores import ShownScores, shown_scores
from intravar.publication.strata import (
    SURE,
    course_lines,
    published_course,
    published_strata,
    strata_lines,
    strata_tables,
    unsafe_physicians,
)
from intravar.wording import Words, agree

#: What the secret of all physicians together is drawn for; nobody's name is empty.
ALL = ""
#: What is told of physicians where no figure may be read.
FACTS = frozenset({"physician", "n_patients", "rate", "reason"})


def published_of(
    measurement: Measurement, names: Mapping[str, str], secret: Callable[[str], float] | None = None
) -> Published:
    """Return what may be handed on of a measurement.

    Parameters
    ----------
    measurement
        With everything in it.
    names
        What to call each physician.
    secret
        From a name to a number between 0 and 1 that nobody can tell, the same at every run; see
        :class:`intravar.publication.pseudonyms.Pseudonyms`. Without it there are no bands.
    """
    together = measurement.together
    across = {} if together is None else hidden_across(together)
    decisions = tuple(
        _decision(name, each, names, secret, across.get(name))
        for name, each in measurement.decisions.items()
    )
    return Published(
        version=version("intravar"),
        source=shown_source(measurement.check.source),
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
    """Return what may be handed on of one decision; see :func:`published_of`.

    What several decisions would tell together is hidden in each.
    """
    words = measurement.request.words
    shown = _shown_scores(measurement, secret, across)
    main = shown[measurement.method]
    scales = {name: each.scores.scale for name, each in measurement.fitted.items()}
    physicians = _named(main.table, names).sort("physician")
    nothing = measurement.verdict == NOTHING
    if measurement.verdict in UNRANKED:
        # What may not be read is not there: an order, or any figure, that is there is read.
        dropped = set(physicians.columns) - FACTS if nothing else RANKS
        physicians = physicians.with_columns(
            pl.lit(None, physicians.schema[name]).alias(name) for name in dropped
        ).with_columns(pl.col("reportable").fill_null(False))
    phase = 0.5 if secret is None else secret(ALL)
    told = None if nothing else _group(measurement, main, phase)
    group = published_group(measurement, told, main, phase)
    hidden = _hidden_strata(measurement, main, across)
    strata, changes = _strata(measurement, hidden, names)
    reportable = physicians.filter(pl.col("reportable"))["physician"].to_list()
    return Decision(
        decision=name,
        verdict=measurement.verdict,
        verdict_reasons=measurement.judged.reasons if measurement.judged else (),
        method=measurement.method,
        claim=claim_of(measurement.main.evidence),
        compared=words.said(measurement.compared),
        n_physicians=physicians.height,
        n_reportable=len(reportable),
        n_ranked=physicians["rank"].count(),
        n_banded=physicians["band"].count(),
        banded=None if nothing else _banded(measurement, main, words),
        n_patients_shown=main.n_patients,
        n_physicians_partly_hidden=main.n_hidden,
        median_discordance=None if nothing else _middle(measurement, main),
        group=group,
        location=None if nothing else published_location(measurement),
        unrecorded=published_unrecorded(measurement, group),
        by=_by(measurement, hidden),
        course=_course(measurement, hidden, changes),
        rule=published_rule(measurement.rule, measurement.request.smallest_cell),
        own_rules=shown_differences(measurement, set(reportable), names),
        leaks=published_leaks(measurement.check),
        warnings=tuple(measurement.warnings),
        seconds={name: round(value) for name, value in measurement.seconds.items()},
        check=replace(
            published_check(measurement.check, several=across is not None),
            source=shown_source(measurement.check.source),
            n_patients=main.n_patients,
            decision_share=_share(measurement, main, phase),
        ),
        diagnostics=shown_diagnostics(measurement, shown, names),
        review=None,
        physicians=physicians,
        methods=None if len(shown) < 2 or nothing else _methods(shown, scales, names),
        strata=strata,
        changes=changes,
    )


def _asked(measurement: Measurement) -> dict[str, MeasuredStrata]:
    """Return the subgroups and periods that were asked for."""
    course = measurement.periods
    found = {"by": measurement.levels, "period": None if course is None else course.strata}
    return {name: strata for name, strata in found.items() if strata is not None}


def _hidden_strata(
    measurement: Measurement, published: ShownScores, across: HiddenAcross | None
) -> dict[str, set[str]]:
    """Tell of whom subgroups and periods may not be told."""
    every = measurement.main.scores.physician.cast(pl.String).to_list()
    shown = {every[position] for position in published.measured.tolist()}
    scores = measurement.main.scores
    counts = zip(scores.n_patients.tolist(), scores.n_for.tolist(), strict=True)
    panels = {
        name: None if no_size else panel
        for name, panel, no_size in zip(every, counts, published.hidden.size.tolist(), strict=True)
    }
    smallest = measurement.request.smallest_cell
    return {
        dealt: (set(every) - shown)
        | unsafe_physicians(strata, panels, smallest)
        | (set() if across is None else across.strata[dealt])
        for dealt, strata in _asked(measurement).items()
    }


def _strata(
    measurement: Measurement, hidden: Mapping[str, set[str]], names: Mapping[str, str]
) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """Return the tables of subgroups and periods; None where none were asked for."""
    asked = _asked(measurement)
    if not asked:
        return None, None
    return strata_tables(asked, names, hidden, measurement.request.smallest_cell)


def _shown_scores(
    measurement: Measurement, secret: Callable[[str], float] | None, across: HiddenAcross | None
) -> dict[str, ShownScores]:
    """Publish the scores of every method; a size that one of them must hide, all hide."""
    request = measurement.request
    seen = measurement.repeats
    parts = [
        hidden_parts(each.scores, each.evidence, request.smallest_cell)
        for each in measurement.fitted.values()
    ]
    if across is not None:
        parts.append(across.parts)
    no_size = np.any([each.size for each in parts], axis=0)
    n_patients = measurement.main.scores.n_patients
    blurred: Mapping[str, FloatArray] = {}
    no_repeats = None
    if seen is not None:
        blurred = shown_repeats(seen, n_patients, request.smallest_cell)
        no_repeats = no_size | hidden_repeats(seen, n_patients, request.smallest_cell)
        if across is not None:
            no_repeats |= across.repeats
    names = measurement.main.scores.physician.cast(pl.String).to_list()
    return {
        name: shown_scores(
            each.scores.with_columns(blurred),
            each.evidence,
            smallest_cell=request.smallest_cell,
            min_panel=request.min_panel,
            min_reliability=request.min_reliability,
            beside=parts,
            hide_repeats=no_repeats,
            hide_close=_hidden_close(measurement),
            secrets=None if secret is None else np.array([secret(each) for each in names]),
        )
        for name, each in measurement.fitted.items()
    }


def _hidden_close(measurement: Measurement) -> BoolArray | None:
    """Tell of whom close calls, or the others, are few; None where nobody has any."""
    if measurement.location is None:
        return None
    smallest, scores = measurement.request.smallest_cell, measurement.main.scores
    learned = measurement.check.prepared.observed
    close = in_places(measurement.location.n_close.astype(np.float64), scores, learned)
    least = np.minimum(close, scores.n_patients - close)
    # Of whom nothing is known nothing is told.
    return np.array([not each >= 0 or is_few(each, smallest) for each in least], dtype=np.bool_)


def _named(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    called = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
    return table.with_columns(called)


def _group(measurement: Measurement, published: ShownScores, phase: float) -> Group | None:
    smallest, main = measurement.request.smallest_cell, measurement.main
    if smallest <= 1:
        return measurement.group
    return shown_group(main.scores, main.evidence, published, smallest, phase)


def _share(measurement: Measurement, published: ShownScores, phase: float) -> float | None:
    """Return the share decided for of everybody, or where patients are few of those shown.

    With rates per physician beside it, the exact share of all would tell the decisions of a hidden
    one; rounded from a secret point to what two dozen patients move it does not.
    """
    scores = measurement.main.scores
    step = step_over_all(measurement)
    if step <= FINE and (whole := int(scores.n_patients.sum())):
        return coarse(int(scores.n_for.sum()) / whole, max(step, 0.01), phase)
    decided_for = int(scores.n_for[published.measured].sum())
    n = int(scores.n_patients[published.measured].sum())
    if not n or not part_is_safe(decided_for, n, measurement.request.smallest_cell):
        return None
    return fraction(decided_for / n, 2)


def _methods(
    published: Mapping[str, ShownScores], scales: Mapping[str, str], names: Mapping[str, str]
) -> pl.DataFrame:
    tables = [
        _named(result.table, names).select(
            pl.lit(name).alias("method"),
            "physician",
            pl.col("discordance").alias("score"),
            pl.lit(scales[name]).alias("scale"),
            "n_pairs",
            "reason",
        )
        for name, result in published.items()
    ]
    # In the order of the pseudonyms: the order of the names would tell who is who.
    return pl.concat(tables).sort("method", "physician")


def _told(measurement: Measurement, published: ShownScores) -> tuple[FloatArray, FloatArray]:
    """Return the scores that are shown, and the middles of the bands."""
    values = measurement.main.scores.discordance[published.measured]
    middles = [band.middle for band in published.bands if band is not None]
    return values[np.isfinite(values)], np.array(middles, dtype=np.float64)


def _middle(measurement: Measurement, published: ShownScores) -> float | None:
    """Return the median over all who have a value or a band, those with a band by its middle."""
    if not measurement.main.scores.determined:
        return None
    both = np.concatenate(_told(measurement, published))
    digits = 2 if measurement.request.smallest_cell > 1 else 6
    return fraction(float(np.median(both)), digits) if len(both) else None


def _banded(measurement: Measurement, published: ShownScores, words: Words) -> str | None:
    """Say how many have a band, and whether they are more consistent than the others."""
    values, middles = _told(measurement, published)
    if not len(middles):
        return None
    n = words.counted(published.table.height)
    have = agree(len(middles), "has", "have")
    told = f"{len(middles):,} of {n} {have} a range in place of a number"
    lower = len(middles) > 1 and len(values) and np.mean(middles < np.median(values)) > 0.5
    who = ": most of them are more consistent than the middle one of the others" if lower else ""
    return f"{told}, because an exact value could reveal small numbers of {words.cases}{who}"


def _by(measurement: Measurement, hidden: Mapping[str, set[str]]) -> Strata | None:
    if measurement.levels is None:
        return None
    found = published_strata(
        measurement.levels, measurement.request.smallest_cell, hidden=bool(hidden["by"])
    )
    words, column = measurement.request.words, str(measurement.request.by)
    return replace(found, lines=tuple(strata_lines(found, words.label(column), words)))


def _course(
    measurement: Measurement, hidden: Mapping[str, set[str]], changes: pl.DataFrame | None
) -> Strata | None:
    course = measurement.periods
    if course is None or changes is None:
        return None
    words, column = measurement.request.words, str(measurement.request.date)
    of_periods = changes.filter(pl.col("dealt_by") == "period")
    sure = of_periods.filter(pl.col("probability") >= SURE)
    found = replace(
        published_course(course, measurement.request.smallest_cell, hidden=bool(hidden["period"])),
        n_changed=sure.height if of_periods.height else None,
    )
    return replace(found, lines=tuple(course_lines(found, words.label(column), words)))


def published_rule(rule: SuggestedRule, smallest: int) -> Rule:
    """Return what may be told of the rule that the data suggest."""
    return Rule(
        auc=fraction(rule.auc),
        importance=tuple(Importance(**row) for row in rows(rule.importance)),
        dependence=tuple(
            Dependence(row["covariate"], significant(row["value"]), fraction(row["share"]))
            for row in rule.dependence.iter_rows(named=True)
            if not is_small(row["n_patients"], smallest)
        ),
        tree=tuple(_leaf(leaf, smallest) for leaf in rule.tree),
    )


def _leaf(leaf: Mapping[str, Any], smallest: int) -> Leaf:
    n, decided_for = leaf["n_patients"], leaf["n_for"]
    safe = part_is_safe(decided_for, n, smallest)
    few = "nearly none" if is_small(decided_for, smallest) else "nearly all"
    return Leaf(
        when=leaf["when"],
        about_n_patients=two_digits(n),
        share=fraction(decided_for / n, 2) if safe else None,
        words=f"{100 * decided_for / n:.0f} %" if safe else few,
    )


def shown_differences(
    measurement: Measurement, reportable: Collection[str], names: Mapping[str, str]
) -> tuple[OwnRule, ...]:
    """Return what each physician weighs otherwise than the others: physician, covariate, how.

    Parameters
    ----------
    measurement
        With everything in it.
    reportable
        What those are called whose result is shown.
    names
        What to call each physician.
    """
    evidence = measurement.main.evidence
    if evidence.differences is None:
        return ()
    smallest = measurement.request.smallest_cell
    told: dict[str, list[OwnRule]] = {}
    rows = evidence.differences.select("physician", "covariate", "how", "n_apart")
    for physician, covariate, how, n_apart in rows.iter_rows():
        shown = told.setdefault(names[str(physician)], [])
        known = {row.covariate for row in shown}
        if (
            names[str(physician)] not in reportable
            or covariate in known
            or len(shown) == MOST_WORDS
        ):
            continue
        if not is_few(n_apart, smallest):
            shown.append(OwnRule(names[str(physician)], covariate, how))
    # In the order of the pseudonyms: the order of the names would tell who is who.
    return tuple(row for name in sorted(told) for row in told[name])
