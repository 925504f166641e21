"""What a measurement hands on: results, diagnostics and rule without names and small counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray
from intravar.estimators.predictability import MOST_WORDS
from intravar.measurement.result import Measurement
from intravar.measurement.rule import SuggestedRule, in_places
from intravar.measurement.scores import RANKS, claim_of
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication import findings, hiding, results
from intravar.publication.checks import published_check
from intravar.publication.files import source_name
from intravar.publication.group import FINE, published_group, step_over_all
from intravar.publication.hiding import PublishedScores, published_scores
from intravar.publication.results import Decision, PhysicianRow, Published
from intravar.wording import Sentence

if TYPE_CHECKING:
    from intravar.publication.joint import HiddenAcross

#: What the secret of all physicians together is drawn for; nobody's name is empty.
ALL = ""
#: What is told of physicians where no figure may be read.
FACTS = ("physician", "n_patients", "rate")
UNREAD = "nothing may be read: see the verdict"
#: Why nobody is ranked in what is handed on, though the data would allow it.
FEW_SHOWN = Sentence(
    "the figures of single {deciders} that may be shown are too few, or too uncertain, to rank them"
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

    From a name `secret` gives a number between 0 and 1 that nobody can tell, the same at every run;
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
    if verdict not in UNRANKED and physicians["rank"].count() < 2:
        verdict, reasons = "group only", (words.said(FEW_SHOWN),)
    if verdict in UNRANKED:
        # What may not be read is not there: an order that is there is read.
        physicians = physicians.with_columns(pl.when(False).then(pl.col(*RANKS)))
    phase = 0.5 if secret is None else secret(ALL)
    group = published_group(measurement, main, phase)
    reportable = physicians.filter(pl.col("reportable"))["physician"].to_list()
    check = replace(
        published_check(measurement.check, several=across is not None),
        source=source_name(measurement.check.source),
        n_patients=main.n_patients,
        decision_share=_share(measurement, main, phase),
    )
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
        barred_by=main.barred_by,
        n_patients_shown=main.n_patients,
        group=group,
        location=findings.published_location(measurement),
        unrecorded=findings.published_unrecorded(measurement, group),
        rule=published_rule(measurement.rule, measurement.request.smallest_cell),
        own_rules=published_own_rules(measurement, set(reportable), names),
        warnings=tuple(measurement.warnings),
        seconds={name: round(value) for name, value in measurement.seconds.items()},
        check=check,
        diagnostics=findings.published_diagnostics(measurement, scores, names),
        physicians=results.rows_of(physicians, PhysicianRow),
        methods=() if len(scores) < 2 else _methods(measurement, scores, names),
        **strata,
    )
    return without_figures(decision) if verdict == NOTHING else decision


def without_figures(decision: Decision) -> Decision:
    """Return what is left of a decision where nothing may be read: facts about the table."""
    hidden = dict.fromkeys(name for name in results.schema_of(PhysicianRow) if name not in FACTS)
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
    repeats = None if measurement.repeats is None else measurement.repeats.scores
    main = measurement.main.scores
    parts = [
        hiding.hidden_parts(each.scores, each.evidence, smallest)
        for each in measurement.fitted.values()
    ]
    if across is not None:
        parts.append(across.parts)
    blurred: Mapping[str, FloatArray] = {}
    hide: dict[str, BoolArray] = {}
    if repeats is not None:
        blurred = findings.rounded_repeats(repeats, main.n_patients, smallest)
        few = findings.hidden_repeats(repeats, main.n_patients, smallest)
        hide["repeats"] = few | np.any([each.size for each in parts], axis=0)
        if across is not None:
            hide["repeats"] |= across.repeats
    if measurement.location is not None:
        learned = measurement.check.prepared.observed
        close = in_places(measurement.location.n_close.astype(np.float64), main, learned)
        few = hiding.any_few(smallest, close, main.n_patients - close)
        hide["close"] = few | np.isnan(close)  # of whom nothing is known nothing is told
    names = hiding.names_of(main)
    return {
        name: published_scores(
            each.scores.with_columns(**blurred),
            each.evidence,
            smallest_cell=smallest,
            min_panel=request.min_panel,
            min_reliability=request.min_reliability,
            beside=parts,
            hide=hide,
            secrets=None if secret is None else np.array([secret(each) for each in names]),
        )
        for name, each in measurement.fitted.items()
    }


def _share(measurement: Measurement, published: PublishedScores, phase: float) -> float | None:
    """Return the share decided for of everybody, or where patients are few of those shown.

    With rates per physician beside it, the exact share of all would tell the decisions of a hidden
    one; rounded from a secret point to what two dozen patients move it does not.
    """
    scores = measurement.main.scores
    step = step_over_all(measurement)
    if step <= FINE and (whole := int(scores.n_patients.sum())):
        return hiding.coarse(int(scores.n_for.sum()) / whole, max(step, 0.01), phase)
    decided_for = int(scores.n_for[published.measured].sum())
    n = int(scores.n_patients[published.measured].sum())
    if not n or not hiding.part_is_safe(decided_for, n, measurement.request.smallest_cell):
        return None
    return hiding.fraction(decided_for / n, 2)


def _methods(
    measurement: Measurement, published: Mapping[str, PublishedScores], names: Mapping[str, str]
) -> tuple[results.MethodRow, ...]:
    tables = [
        hiding.named(each.table, names).with_columns(
            method=pl.lit(name), scale=pl.lit(measurement.fitted[name].scores.scale)
        )
        for name, each in published.items()
    ]
    rows = pl.concat(tables, how="diagonal").rename({"discordance": "score"})
    # In the order of the pseudonyms: the order of the names would tell who is who.
    ordered = rows.select(*results.schema_of(results.MethodRow)).sort("method", "physician")
    return results.rows_of(ordered, results.MethodRow)


def published_rule(rule: SuggestedRule, smallest: int) -> results.Rule:
    """Return what may be told of the rule that the data suggest."""

    def leaf(when: str, n_patients: int, n_for: int) -> results.Leaf:
        about, share = hiding.two_digits(n_patients), n_for / n_patients
        if hiding.part_is_safe(n_for, n_patients, smallest):
            return results.Leaf(when, about, hiding.fraction(share, 2), f"{100 * share:.0f} %")
        few = "nearly none" if hiding.is_small(n_for, smallest) else "nearly all"
        return results.Leaf(when, about, None, few)

    return results.Rule(
        auc=hiding.fraction(rule.auc),
        importance=hiding.rounded_by(rule.importance, "covariate", "importance"),
        dependence=tuple(
            results.Dependence(
                row["covariate"], float(f"{row['value']:.3g}"), hiding.fraction(row["share"])
            )
            for row in rule.dependence.iter_rows(named=True)
            if not hiding.is_small(row["n_patients"], smallest)
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
    ordered = rows.select("physician", "covariate", "how").sort("physician", maintain_order=True)
    return results.rows_of(ordered, results.OwnRule)
