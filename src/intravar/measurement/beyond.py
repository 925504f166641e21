"""From the physicians of the sample and those read beyond it to all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.estimators import CommonEstimator
from intravar.inference import Interval
from intravar.measurement.cases.behind import REVIEW, CaseFinder
from intravar.measurement.cases.pairs import AlikeScale
from intravar.measurement.result import BeyondCases, Fitted
from intravar.measurement.scores import Scores
from intravar.preparation.check import Beyond, Check
from intravar.preparation.physicians import Panels
from intravar.preparation.prepare import Prepared
from intravar.runs.buckets import read_others
from intravar.runs.readings import Others, panel_table, with_n_apart
from intravar.runs.settings import RunSettings


@dataclass(frozen=True, eq=False)
class Everybody:
    """All physicians, in the sample and beyond it.

    Attributes
    ----------
    check
        What was found in the table, all rows counted.
    fitted
        Methods by name with the scores of all, the one that measures first.
    cases
        Cases of physicians beyond the sample; None where all were learned from.
    """

    check: Check
    fitted: dict[str, Fitted]
    cases: BeyondCases | None


def with_everybody(
    fitted: dict[str, Fitted],
    found: Check,
    importance: Mapping[str, float],
    settings: RunSettings,
    told: Callable[[int, int], None],
) -> Everybody:
    """Score everybody by what was learned from the sample.

    Parameters
    ----------
    fitted
        Methods by name, fitted on the sample.
    found
        What was found in the table.
    importance
        How much decisions depend on each covariate.
    settings
        With what it is done.
    told
        Hears how many buckets of how many are read.
    """
    beyond = found.beyond
    assert beyond is not None
    models = {
        name: each.estimator
        for name, each in fitted.items()
        if isinstance(each.estimator, CommonEstimator)
    }
    prepared = found.prepared
    look = CaseFinder(
        prepared.origin,
        importance,
        {report.column: report.kind for report in prepared.columns},
        AlikeScale.of(prepared.observed, prepared.origin, importance),
    )
    others = read_others(found, beyond, models, look, settings, told)
    whole = {
        name: of_everybody(name, each, others, prepared, beyond) for name, each in fitted.items()
    }
    # Physicians of whom a part is in the sample were read as a whole: they count there.
    once = whole_share(beyond)
    counted = counted_once(beyond.dropped, others.dropped, once, beyond.census.dropped)
    filled = counted_once(prepared.filled, others.filled, once)
    scores = next(iter(whole.values())).scores
    panels = Panels.of(scores.physician, scores.n_patients, scores.n_for, found.request.min_panel)
    accounted = replace(prepared, dropped=counted, filled=filled)
    both = named(others.cases, beyond.census.named)
    pairs = both.filter(pl.col("kind") == REVIEW).select(
        "physician",
        pl.col("patient").alias("first"),
        pl.col("other").alias("second"),
        "distance",
        "different",
        "weight",
    )
    cases = BeyondCases(
        both.filter(pl.col("kind") != REVIEW).drop("different", "weight"),
        pairs,
        named(others.patients, beyond.census.named),
    )
    return Everybody(replace(found, prepared=accounted, panels=panels), whole, cases)


def of_everybody(
    name: str, fitted: Fitted, others: Others, prepared: Prepared, beyond: Beyond
) -> Fitted:
    """Return a method's scores of all physicians; what it says of patients stays the sample's.

    Parameters
    ----------
    name
        Of the method.
    fitted
        On the sample.
    others
        What was read beyond it.
    prepared, beyond
        The sample, and everybody.
    """
    model, evidence, observed = fitted.estimator, fitted.evidence, prepared.observed
    assert isinstance(model, CommonEstimator)
    census = beyond.census
    place = {str(each): code for code, each in enumerate(census.named.to_list())}
    sampled = np.array([place[str(each)] for each in observed.physicians], dtype=np.int64)
    whole = np.isin(sampled, beyond.drawn.codes[beyond.drawn.whole])
    own = panel_table(name, model, evidence, observed, codes=sampled).filter(whole)
    read = others.panels.filter(pl.col("method") == name)
    table = pl.concat([own, read], how="diagonal_relaxed").sort("code")
    evidence = evidence.with_physicians(table)
    if evidence.differences is not None:
        evidence = evidence.with_differences(
            _differences(evidence.differences, others, prepared, beyond, sampled[whole])
        )
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


def _differences(
    differences: pl.DataFrame,
    others: Others,
    prepared: Prepared,
    beyond: Beyond,
    whole: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> pl.DataFrame:
    inside = beyond.census.named.cast(pl.String)[whole].to_list()
    own = with_n_apart(differences, prepared.observed)
    own = own.with_columns(pl.col("physician").cast(pl.String))
    own = own.filter(pl.col("physician").is_in(inside))
    read = named(others.differences, beyond.census.named)
    return pl.concat([own, read.select(own.columns)], how="vertical_relaxed")


def named(table: pl.DataFrame, physicians: pl.Series) -> pl.DataFrame:
    """Return a table whose physicians, told by number, bear their names."""
    codes = table["physician"].cast(pl.Int64)
    return table.with_columns(physicians.cast(pl.String)[codes].alias("physician"))


def whole_share(beyond: Beyond) -> float:
    """Return the share of the sample's patients whose physicians are in it with all patients."""
    drawn, sizes = beyond.drawn, beyond.census.n_patients
    inside = np.minimum(sizes[drawn.codes], drawn.most)
    return float(inside[drawn.whole].sum() / max(inside.sum(), 1))


def counted_once(
    sampled: Mapping[str, int],
    read: Mapping[str, int],
    share: float,
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Add up counts of the sample and of those read beyond it.

    Parameters
    ----------
    sampled, read
        Counts by name.
    share
        Of the sample that was not read again.
    known
        Counts of all rows, which need no adding.

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
