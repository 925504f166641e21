"""From the physicians of the sample and those read beyond it to all of them."""

from __future__ import annotations

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
from intravar.measurement.result import BeyondCases, OneDecision
from intravar.measurement.scores import Fitted, Scores
from intravar.preparation.check import Beyond
from intravar.preparation.decisions import Panels
from intravar.preparation.prepare import Prepared
from intravar.runs.buckets import read_others
from intravar.runs.readings import Others, ReadBy, panel_table, patient_table
from intravar.runs.settings import RunSettings


def with_patients(one: OneDecision) -> OneDecision:
    """Return the same with the predictions of the patients that were learned from."""
    observed = one.check.prepared.observed
    codes = np.arange(len(observed.named))
    patients = _predicted(one, codes)
    return replace(one, patients=patients, learned_from=patients, physicians=observed.named)


def _predicted(one: OneDecision, codes: IntArray) -> pl.DataFrame | None:
    """Return predictions of the patients that were learned from, if they are needed."""
    if one.predicting is None:
        return None
    prepared, dated = one.check.prepared, one.dated
    return patient_table(
        one.predicting[1].evidence,
        prepared.observed,
        prepared.rows,
        codes,
        prepared.dealt,
        None if dated is None else lambda _: dated,
    )


def read_by(one: OneDecision) -> ReadBy:
    """Return what physicians beyond the sample are read by."""
    prepared, beyond = one.check.prepared, one.check.beyond
    dated: Any = one.dated
    assert beyond is not None
    models: dict[str, Any] = {name: each.estimator for name, each in one.fitted.items()}
    if one.predicting is not None:
        models.setdefault(one.predicting[0], one.predicting[1].estimator)
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
        None if one.predicting is None else one.predicting[0],
        None if dated is None else dated.reader(),
    )


def with_others(one: OneDecision, others: Others) -> OneDecision:
    """Return the same with everybody: scores, counts, cases and predictions of all."""
    check, beyond = one.check, one.check.beyond
    assert beyond is not None
    prepared, named = check.prepared, beyond.census.named
    place = {str(each): code for code, each in enumerate(named.to_list())}
    sampled = np.array([place[str(each)] for each in prepared.observed.physicians])
    whole = np.isin(sampled, beyond.drawn.codes[beyond.drawn.whole])
    fitted = {
        name: of_everybody(name, each, others, prepared, beyond, sampled, whole)
        for name, each in one.fitted.items()
    }
    # Physicians of whom a part is in the sample were read as a whole: they count there.
    inside = np.minimum(beyond.counts.n_patients[beyond.drawn.codes], beyond.drawn.most)
    once = float(inside[beyond.drawn.whole].sum() / max(inside.sum(), 1))
    counted = counted_once(beyond.dropped, others.dropped, once, beyond.counts.dropped)
    filled = counted_once(prepared.filled, others.filled, once)
    scores = next(iter(fitted.values())).scores
    patients = learned_from = _predicted(one, sampled)
    if learned_from is not None:
        own = learned_from.filter(pl.col("code").is_in(sampled[whole].tolist()))
        patients = pl.concat([own, others.predicted])
    return replace(
        one,
        check=replace(
            check,
            prepared=replace(prepared, dropped=counted, filled=filled),
            panels=Panels.of(
                scores.physician, scores.n_patients, scores.n_for, check.request.min_panel
            ),
        ),
        fitted=fitted,
        patients=patients,
        learned_from=learned_from,
        physicians=named,
        cases=BeyondCases(
            *(named_in(each, named) for each in (others.cases, others.pairs, others.patients))
        ),
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


def of_everybody(
    name: str,
    fitted: Fitted,
    others: Others,
    prepared: Prepared,
    beyond: Beyond,
    sampled: IntArray,
    whole: BoolArray,
) -> Fitted:
    """Return a method's scores of all physicians; what it says of patients stays the sample's.

    `sampled` are the numbers of the sample's physicians, `whole` tells whether all of their
    patients are in it.
    """
    model, evidence, observed = fitted.estimator, fitted.evidence, prepared.observed
    assert isinstance(model, CommonEstimator)
    census = beyond.census
    own = panel_table(name, model, evidence, observed, codes=sampled).filter(whole)
    read = others.panels.filter(pl.col("method") == name)
    table = pl.concat([own, read], how="diagonal_relaxed").sort("code")
    evidence = evidence.with_physicians(table)
    if evidence.differences is not None:
        inside = census.named.cast(pl.String)[sampled[whole]].to_list()
        weighed = evidence.differences.with_columns(pl.col("physician").cast(pl.String))
        weighed = weighed.filter(pl.col("physician").is_in(inside))
        more = named_in(others.differences, census.named).select(weighed.columns)
        evidence = evidence.with_differences(pl.concat([weighed, more], how="vertical_relaxed"))
    scores = Scores(
        census.named[table["code"]],
        table["n_patients"].to_numpy(),
        table["n_for"].to_numpy(),
        table["score"].fill_null(float("nan")).to_numpy(),
        table["reason"].to_list(),
        Interval(*(table[end].to_numpy() for end in Interval._fields)),
        evidence.columns(),
        model.scale,
        model.most,
        evidence.upper_limit,
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
