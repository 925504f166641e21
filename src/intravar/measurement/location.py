"""Where inconsistency lies: in close calls, and in which kinds of patients.

A close call is a patient of whom the prediction says that either decision may well be. The kinds of
patients are leaves of a shallow tree over held-out losses. It is grown on one half of the patients
and read off the other, so that what it says was not made to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeRegressor

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence, Predictions
from intravar.measurement.rule import leaf_conditions
from intravar.measurement.scores import Scores
from intravar.observed import Observed
from intravar.preparation.prepare import Prepared
from intravar.seeds import stream
from intravar.wording import USUAL, Words

#: A close call: the less probable decision has at least this probability.
CLOSE = 0.2
#: Levels of the tree, and the smallest leaf: patients, and as a share of those it is grown on.
DEPTH, FEWEST_IN_A_LEAF, SMALLEST_LEAF = 2, 30, 0.05
#: Standard errors by which a kind must lie above all patients, among those it was not grown on.
STANDS_OUT = 2.0
MOST_KINDS = 3


@dataclass(frozen=True, eq=False)
class Location:
    """Where the discordance lies.

    Attributes
    ----------
    close_patients, close_discordance
        Share of the patients who are close calls, and of the discordance that lies in them.
    n_close, in_close
        Close calls of every physician, and the share of the physician's discordance in them; NaN
        where there is none.
    kinds
        Kinds of patients with more discordance than others, the largest part first: when (in
        words), n_patients and n_for (among those the tree was not grown on), patients and
        discordance (shares of all), level (discordance within).
    """

    close_patients: float
    close_discordance: float
    n_close: IntArray
    in_close: FloatArray
    kinds: pl.DataFrame


def location_of(
    prepared: Prepared, evidence: Evidence, seed: int = 0, words: Words = USUAL
) -> Location | None:
    """Return where the discordance lies; None for methods that do not predict.

    Parameters
    ----------
    prepared
        The patients that were learned from.
    evidence
        Of the method that measures.
    seed
        Deals patients into halves.
    words
        What covariates are called.
    """
    if not isinstance(evidence, Predictions):
        return None
    observed, q = prepared.observed, evidence.probability
    loss = 2 * (observed.decision - q) ** 2
    close = np.minimum(q, 1 - q) >= CLOSE
    n = len(observed.physicians)
    own = np.bincount(observed.code, loss, minlength=n)
    inside = np.bincount(observed.code[close], loss[close], minlength=n)
    return Location(
        float(close.mean()),
        float(loss[close].sum() / max(loss.sum(), 1e-12)),
        np.bincount(observed.code[close], minlength=n),
        np.divide(inside, own, out=np.full(n, np.nan), where=own > 0),
        _kinds(prepared, loss, seed, words),
    )


def located(scores: Scores, location: Location, observed: Observed) -> Scores:
    """Return scores with the share of discordance that lies in close calls.

    Physicians beyond the sample have none.
    """
    column = in_places(location.in_close, scores, observed)
    return replace(scores, columns={**scores.columns, "in_close_calls": column})


def in_places(values: FloatArray, scores: Scores, observed: Observed) -> FloatArray:
    """Return values of those who were learned from in the places of all; NaN elsewhere."""
    own = dict(zip((str(name) for name in observed.physicians), values.tolist(), strict=True))
    return np.array([own.get(str(name), np.nan) for name in scores.physician.to_list()])


def _kinds(prepared: Prepared, loss: FloatArray, seed: int, words: Words) -> pl.DataFrame:
    observed = prepared.observed
    grown: BoolArray = stream(seed, "location").random(len(loss)) < 0.5
    x, y = observed.covariates, observed.decision
    smallest = max(FEWEST_IN_A_LEAF, int(SMALLEST_LEAF * grown.sum()))
    rows = []
    if grown.sum() >= 2 * smallest and (~grown).sum() >= 2 * smallest:
        tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=smallest, random_state=0)
        tree.fit(x[grown], loss[grown])
        others = np.flatnonzero(~grown)
        leaf, mean = tree.apply(x[others]), float(loss[others].mean())
        for node, when in leaf_conditions(tree.tree_, prepared, words).items():
            there = others[leaf == node]
            if len(there) < FEWEST_IN_A_LEAF:
                continue
            level = float(loss[there].mean())
            error = float(loss[there].std() / np.sqrt(len(there)))
            if level - mean > STANDS_OUT * error:
                part = len(there) / len(others)
                rows.append(
                    (when, len(there), int(y[there].sum()), part, part * level / mean, level)
                )
    schema = {
        "when": pl.String,
        "n_patients": pl.Int64,
        "n_for": pl.Int64,
        "patients": pl.Float64,
        "discordance": pl.Float64,
        "level": pl.Float64,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.sort("discordance", descending=True).head(MOST_KINDS)
