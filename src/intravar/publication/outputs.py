"""What a measurement hands on: results, diagnostics and rule without names and small counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray
from intravar.errors import theirs
from intravar.measurement.group import Group
from intravar.measurement.repeated import SeenTwice
from intravar.measurement.result import Measurement
from intravar.measurement.rule import SuggestedRule
from intravar.measurement.scores import RANKS, claim_of, in_their_words, in_words
from intravar.measurement.strata import Strata
from intravar.measurement.verdict import UNRANKED
from intravar.publication.check_words import check_json
from intravar.publication.folders import shown_source
from intravar.publication.group_words import group_json
from intravar.publication.hiding import hidden_parts
from intravar.publication.publish import Published, publish
from intravar.publication.rounding import fraction, rows, significant, two_digits
from intravar.publication.shown_diagnostics import shown_diagnostics
from intravar.publication.shown_group import shown_group
from intravar.publication.strata_words import (
    SURE,
    course_json,
    course_lines,
    strata_json,
    strata_lines,
    strata_tables,
    unsafe_physicians,
)
from intravar.publication.suppression import is_few, is_small, part_is_safe
from intravar.publication.unrecorded_words import unrecorded_json
from intravar.publication.weighing import shown_differences
from intravar.wording import Words

#: What the secret of all physicians together is drawn for; nobody's name is empty.
ALL = ""


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
    strata, changes
        Physicians in subgroups and periods, and how they changed, where that was asked for.
    """

    physicians: pl.DataFrame
    methods: pl.DataFrame | None
    summary: dict[str, Any]
    checks: dict[str, Any]
    diagnostics: dict[str, Any]
    strata: pl.DataFrame | None = None
    changes: pl.DataFrame | None = None

    @property
    def words(self) -> Words:
        """What whoever asked calls things."""
        return Words.in_summary(self.summary)


def outputs_of(
    measurement: Measurement,
    names: Mapping[str, str],
    secret: Callable[[str], float] | None = None,
) -> Outputs:
    """Return what may be handed on.

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
    words = measurement.request.words
    published = _published(measurement, secret)
    main = published[measurement.method]
    scales = {name: each.scores.scale for name, each in measurement.fitted.items()}
    physicians = _named(main.table, names).sort("physician")
    if measurement.verdict in UNRANKED:
        # Whoever cannot be ranked is not: an order that is there is read.
        physicians = physicians.with_columns(
            pl.lit(None, physicians.schema[name]).alias(name) for name in RANKS
        )
    group = group_json(measurement, _group(measurement, main, secret), main.measured)
    hidden = _hidden_strata(measurement, main)
    strata, changes = _strata(measurement, hidden, names)
    return Outputs(
        in_their_words(physicians, words),
        None if len(published) < 2 else _methods(published, scales, names, words),
        _summary(measurement, main, physicians)
        | {
            "by": _by(measurement, hidden),
            "course": _course(measurement, hidden, changes),
            "group": group,
            "unrecorded": unrecorded_json(measurement, group),
            "own_rules": shown_differences(measurement, _reportable(physicians), names),
        },
        check_json(measurement.check)
        | {
            "source": shown_source(measurement.check.source),
            "n_patients": main.n_patients,
            "decision_share": _share(measurement, main),
        },
        shown_diagnostics(measurement, published, names),
        strata,
        changes,
    )


def _asked(measurement: Measurement) -> dict[str, Strata]:
    """Return the subgroups and periods that were asked for."""
    course = measurement.course
    found = {"by": measurement.by, "period": None if course is None else course.strata}
    return {name: strata for name, strata in found.items() if strata is not None}


def _hidden_strata(measurement: Measurement, published: Published) -> dict[str, set[str]]:
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
        dealt: (set(every) - shown) | unsafe_physicians(strata, panels, smallest)
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


def _published(
    measurement: Measurement, secret: Callable[[str], float] | None
) -> dict[str, Published]:
    """Publish the scores of every method; a size that one of them must hide, all hide."""
    request = measurement.request
    seen = measurement.repeats
    parts = [
        hidden_parts(each.scores, each.evidence, request.smallest_cell)
        for each in measurement.fitted.values()
    ]
    no_size = np.any([each.size for each in parts], axis=0)
    names = measurement.main.scores.physician.cast(pl.String).to_list()
    return {
        name: publish(
            each.scores,
            each.evidence,
            smallest_cell=request.smallest_cell,
            min_panel=request.min_panel,
            min_reliability=request.min_reliability,
            beside=parts,
            hide_repeats=None if seen is None else _hidden_repeats(measurement, seen, no_size),
            secrets=None if secret is None else np.array([secret(each) for each in names]),
        )
        for name, each in measurement.fitted.items()
    }


def _hidden_repeats(measurement: Measurement, seen: SeenTwice, no_size: BoolArray) -> BoolArray:
    """Tell of whom few cases were seen twice, or once, or were decided alike, or differently."""
    smallest = measurement.request.smallest_cell
    scores = measurement.main.scores
    once = scores.n_patients - seen.n_repeats
    return (
        hidden_parts(scores, seen.evidence, smallest).score
        | no_size
        | np.array([is_few(count, smallest) for count in once.tolist()], dtype=np.bool_)
    )


def _reportable(physicians: pl.DataFrame) -> set[str]:
    return set(physicians.filter(pl.col("reportable"))["physician"].to_list())


def _named(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    called = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
    return table.with_columns(called)


def _group(
    measurement: Measurement, published: Published, secret: Callable[[str], float] | None
) -> Group | None:
    smallest, main = measurement.request.smallest_cell, measurement.main
    if smallest <= 1:
        return measurement.group
    phase = 0.5 if secret is None else secret(ALL)
    return shown_group(main.scores, main.evidence, published, smallest, phase)


def _share(measurement: Measurement, published: Published) -> float | None:
    """Return the share decided for among the physicians whose scores are shown.

    With rates per physician beside it, that of all would tell the decisions of a hidden one.
    """
    scores = measurement.main.scores
    decided_for = int(scores.n_for[published.measured].sum())
    n = int(scores.n_patients[published.measured].sum())
    if not n or not part_is_safe(decided_for, n, measurement.request.smallest_cell):
        return None
    return fraction(decided_for / n, 2)


def _methods(
    published: Mapping[str, Published],
    scales: Mapping[str, str],
    names: Mapping[str, str],
    words: Words,
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
    return in_their_words(pl.concat(tables).sort("method", "physician"), words)


def _summary(
    measurement: Measurement, published: Published, physicians: pl.DataFrame
) -> dict[str, Any]:
    reportable = physicians.filter(pl.col("reportable"))
    claim, words = claim_of(measurement.main.evidence), measurement.request.words
    return {
        "what": "measurement",
        "verdict": measurement.verdict,
        "verdict_reasons": list(measurement.judged.reasons) if measurement.judged else [],
        "version": version("intravar"),
        "source": shown_source(measurement.check.source),
        "request": measurement.request.as_dict(),
        "method": measurement.method,
        "n_physicians": physicians.height,
        "n_reportable": reportable.height,
        "n_ranked": physicians["rank"].count(),
        "n_banded": physicians["band"].count(),
        "banded": _banded(measurement, published, words),
        "n_patients_shown": published.n_patients,
        "n_physicians_partly_hidden": published.n_hidden,
        "median_discordance": _middle(measurement, published),
        "claim": claim,
        "compared": words.said(measurement.compared),
        "lines": {
            row["physician"]: in_words(row, claim, words, measurement.compared)
            for row in in_their_words(physicians, words).iter_rows(named=True)
        },
        "leaks": [
            {"column": leak.column, "why": leak.why} for leak in measurement.check.prepared.leaks
        ],
        "rule": shown_rule(measurement.rule, measurement.request.smallest_cell),
        "warnings": list(measurement.warnings),
        "seconds": {name: round(value) for name, value in measurement.seconds.items()},
    }


def _told(measurement: Measurement, published: Published) -> tuple[FloatArray, FloatArray]:
    """Return the scores that are shown, and the middles of the bands."""
    values = measurement.main.scores.discordance[published.measured]
    middles = [band.middle for band in published.bands if band is not None]
    return values[np.isfinite(values)], np.array(middles, dtype=np.float64)


def _middle(measurement: Measurement, published: Published) -> float | None:
    """Return the median over all who have a value or a band, those with a band by its middle."""
    if not measurement.main.scores.determined:
        return None
    both = np.concatenate(_told(measurement, published))
    digits = 2 if measurement.request.smallest_cell > 1 else 6
    return fraction(float(np.median(both)), digits) if len(both) else None


def _banded(measurement: Measurement, published: Published, words: Words) -> str | None:
    """Say how many have a band, and whether they are more consistent than the others."""
    values, middles = _told(measurement, published)
    if not len(middles):
        return None
    n = words.counted(published.table.height)
    told = f"{len(middles):,} of {n} have a band in place of a number"
    lower = len(values) and float(np.mean(middles < np.median(values))) > 0.5
    who = ": most of them are more consistent than the middle one of the others" if lower else ""
    return f"{told}, because small counts stand behind their scores{who}"


def _by(measurement: Measurement, hidden: Mapping[str, set[str]]) -> dict[str, Any] | None:
    if measurement.by is None:
        return None
    smallest = measurement.request.smallest_cell
    found = strata_json(measurement.by, smallest, hidden=bool(hidden["by"]))
    words, column = measurement.request.words, str(measurement.request.by)
    lines = strata_lines(found, theirs(words.label(column)))
    return found | {"lines": [words.said(line) for line in lines]}


def _course(
    measurement: Measurement, hidden: Mapping[str, set[str]], changes: pl.DataFrame | None
) -> dict[str, Any] | None:
    course = measurement.course
    if course is None or changes is None:
        return None
    smallest = measurement.request.smallest_cell
    found = course_json(course, smallest, hidden=bool(hidden["period"]))
    words, column = measurement.request.words, str(measurement.request.date)
    of_periods = changes.filter(pl.col("dealt_by") == "period")
    sure = of_periods.filter(pl.col("probability") >= SURE)
    n_changed = sure.height if of_periods.height else None
    lines = course_lines(found, theirs(words.label(column)), n_changed=n_changed)
    return found | {"n_changed": n_changed, "lines": [words.said(line) for line in lines]}


def shown_rule(rule: SuggestedRule, smallest: int) -> dict[str, Any]:
    """Return what may be told of the rule that the data suggest."""
    return {
        "auc": fraction(rule.auc),
        "importance": rows(rule.importance),
        "dependence": [
            {
                "covariate": row["covariate"],
                "value": significant(row["value"]),
                "share": fraction(row["share"]),
            }
            for row in rule.dependence.iter_rows(named=True)
            if not is_small(row["n_patients"], smallest)
        ],
        "tree": [_leaf(leaf, smallest) for leaf in rule.tree],
    }


def _leaf(leaf: Mapping[str, Any], smallest: int) -> dict[str, Any]:
    n, decided_for = leaf["n_patients"], leaf["n_for"]
    safe = part_is_safe(decided_for, n, smallest)
    few = "nearly none" if is_small(decided_for, smallest) else "nearly all"
    return {
        "when": leaf["when"],
        "about_n_patients": two_digits(n),
        "share": fraction(decided_for / n, 2) if safe else None,
        "words": f"{100 * decided_for / n:.0f} %" if safe else few,
    }
