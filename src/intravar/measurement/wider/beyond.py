"""From the physicians of the sample and those read beyond it to all of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.estimators import CommonEstimator
from intravar.inference import Interval
from intravar.measurement.cases import AlikeScale, look_in_bucket, ranked_kinds
from intravar.measurement.result import OneDecision
from intravar.measurement.scores import Fitted
from intravar.observed import Observed
from intravar.preparation.decisions import Panels
from intravar.runs.buckets import Others, ReadBy, panel_table, patient_table, read_others
from intravar.runs.settings import RunSettings


def with_patients(one: OneDecision, codes: IntArray | None = None) -> OneDecision:
    """Return the same with predictions of the patients that were learned from, if they are needed.

    `codes` are the numbers of their physicians; by default their places.
    """
    if one.predicting is None:
        return one
    prepared = one.check.prepared
    observed = prepared.observed
    patients = patient_table(
        one.predicting.evidence,
        observed,
        prepared.rows,
        np.arange(len(observed)) if codes is None else codes,
        prepared.dealt,
    )
    return replace(one, patients=patients, physicians=observed.named)


def read_by(one: OneDecision) -> ReadBy:
    """Return what physicians beyond the sample are read by."""
    prepared, beyond = one.check.prepared, one.check.beyond
    assert beyond is not None
    predicting = None if one.predicting is None else one.predicting.estimator
    models: dict[str, Any] = {name: each.estimator for name, each in one.fitted.items()}
    if predicting is not None:
        models.setdefault(predicting.name, predicting)
    importance = {} if one.rule is None else one.rule.weights
    look = partial(
        look_in_bucket,
        AlikeScale.of(prepared.observed, prepared.origin, importance),
        ranked_kinds(prepared, importance),
    )
    return ReadBy(
        prepared.recipe,
        beyond.counts.column,
        {name: model.reader() for name, model in models.items()},
        look,
        None if predicting is None else predicting.name,
    )


def with_others(one: OneDecision, others: Others) -> OneDecision:
    """Return the same with everybody: scores, counts, cases and predictions of all."""
    check, beyond = one.check, one.check.beyond
    assert beyond is not None
    prepared, named = check.prepared, beyond.census.named
    place = {str(each): code for code, each in enumerate(named.to_list())}
    sampled = np.array([place[str(each)] for each in prepared.observed.physicians])
    whole = np.isin(sampled, beyond.codes[beyond.whole])
    fitted = {
        name: _of_everybody(each, others, prepared.observed, named, sampled, whole)
        for name, each in one.fitted.items()
    }
    # Physicians of whom a part is in the sample were read as a whole: they count there.
    inside = np.minimum(beyond.counts.n_patients[beyond.codes], beyond.most)
    once = float(inside[beyond.whole].sum() / max(inside.sum(), 1))
    dropped = counted_once(beyond.dropped, others.dropped, once, beyond.counts.dropped)
    filled = counted_once(prepared.filled, others.filled, once)
    scores = next(iter(fitted.values())).scores
    counts = scores.physician, scores.n_patients, scores.n_for
    panels = Panels.of(*counts, check.request.min_panel)
    prepared = replace(prepared, dropped=dropped, filled=filled)
    one = with_patients(one, sampled)
    patients = one.patients
    if patients is not None:
        own = patients.filter(pl.col("code").is_in(sampled[whole].tolist()))
        patients = pl.concat([own, others.predicted])
    shown = {"cases": others.cases, "pairs": others.pairs, "patients": others.patients}
    return replace(
        one,
        check=replace(check, prepared=prepared, panels=panels),
        fitted=fitted,
        patients=patients,
        physicians=named,
        beyond_cases={name: named_in(each, named) for name, each in shown.items()},
    )


def with_everybody(
    decisions: Mapping[str, OneDecision],
    settings: RunSettings,
    progress: Callable[[int, int], None],
) -> dict[str, OneDecision]:
    """Score everybody by what was learned from the sample, every decision in one pass.

    `progress` hears how many buckets of how many are read.
    """
    checks = {name: each.check for name, each in decisions.items()}
    by = {name: read_by(each) for name, each in decisions.items()}
    others = read_others(checks, by, settings, progress)
    return {name: with_others(each, others[name]) for name, each in decisions.items()}


def _of_everybody(
    fitted: Fitted,
    others: Others,
    observed: Observed,
    named: pl.Series,
    sampled: IntArray,
    whole: BoolArray,
) -> Fitted:
    """Return a method's scores of all physicians; what it says of patients stays the sample's.

    `sampled` are the numbers of the sample's physicians, `whole` tells whether all of their
    patients are in it.
    """
    model, evidence = fitted.estimator, fitted.evidence
    assert isinstance(model, CommonEstimator)
    own = panel_table(model.name, model, evidence, observed, codes=sampled).filter(whole)
    read = others.panels.filter(pl.col("method") == model.name)
    table = pl.concat([own, read], how="diagonal_relaxed").sort("code")
    evidence = evidence.with_physicians(table)
    if evidence.differences is not None:
        inside = named.cast(pl.String)[sampled[whole]].to_list()
        weighed = evidence.differences.with_columns(pl.col("physician").cast(pl.String))
        weighed = weighed.filter(pl.col("physician").is_in(inside))
        more = named_in(others.differences, named).select(weighed.columns)
        weighed = pl.concat([weighed, more], how="vertical_relaxed")
        evidence = replace(evidence, differences=weighed)  # type: ignore[type-var]
    scores = replace(
        fitted.scores,
        physician=named[table["code"]],
        n_patients=table["n_patients"].to_numpy(),
        n_for=table["n_for"].to_numpy(),
        discordance=table["score"].fill_null(float("nan")).to_numpy(),
        reason=table["reason"].to_list(),
        interval=Interval(*(table[end].to_numpy() for end in Interval._fields)),
        columns=evidence.columns(),
        raw=evidence.raw,
    )
    return Fitted(model, evidence, scores)


def named_in(table: pl.DataFrame, physicians: pl.Series) -> pl.DataFrame:
    """Return a table whose physicians, told by number, bear their names."""
    codes = table["physician"].cast(pl.Int64)
    return table.with_columns(physicians.cast(pl.String)[codes].alias("physician"))


def counted_once(
    sampled: Mapping[str, int],
    read: Mapping[str, int],
    share: float,
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Add up counts, by name, of the sample and of those read beyond it.

    `share` is that of the sample that was not read again; counts that are `known` of all rows need
    no adding.

    Examples
    --------
    >>> counted_once({"copies": 10}, {"copies": 5}, 0.5, {"undecided": 3})
    {'undecided': 3, 'copies': 10}
    """
    whole = dict(known or {})
    for name in {**sampled, **read}:
        if name not in whole:
            whole[name] = round(share * sampled.get(name, 0)) + read.get(name, 0)
    return whole
