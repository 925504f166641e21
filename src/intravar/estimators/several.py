"""Several decisions per patient: each of them, all together, and which go together.

Every decision is predicted on its own by :class:`Predictability`. Physicians' effects in all of
them then inform each other (:mod:`intravar.prediction.several.effects`), and each decision
is also explained by those before it (:mod:`intravar.prediction.several.joint`). From the held-out
probability of every combination follow the bounds of
:mod:`intravar.prediction.several.joint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError, renamed
from intravar.estimators.predictability import Predictability
from intravar.inference.intervals import LEVEL
from intravar.inference.outcomes import MOST_DECISIONS, chained, positions
from intravar.inference.shrinkage import shrink
from intravar.observed import Observed, as_they_came, is_pandas, physician_or_groups
from intravar.panels import Layout
from intravar.prediction.bound import Bound, bound, losses_of, panel_means
from intravar.prediction.several.effects import Across, across_decisions
from intravar.prediction.several.joint import conditionals, differ_bound, difference_bound, if_apart
from intravar.tables import hundred, number

N_FOLDS = 5
#: With fewer patients of whom all decisions are known nothing is said of them together.
FEWEST_PATIENTS = 40
#: Stands for a decision that is not known.
MISSING = 2


@dataclass(frozen=True, eq=False)
class Several:
    """What several decisions say about each physician.

    Attributes
    ----------
    decisions
        Their names, in the order in which they are taken.
    physicians
        One row per physician: physician, n_patients (all decisions known), differ (two comparable
        patients differ in at least one decision), differ_low, differ_high, differ_error (its
        standard error), differ_apart (the same if decisions were independent of each other),
        n_differences (the expected number of decisions in which they differ),
        n_differences_low, n_differences_high.
    by_decision
        One row per physician and decision: physician, decision, n_patients, discordance, low, high
        (of the decision on its own), across (shrunk across decisions), given (among patients who
        are also alike in the decisions before it; null for the first).
    pairs
        One row per two decisions: first, second, n_patients, together (share that got both),
        expected (by covariates), correlation (of what covariates leave unexplained), low, high,
        steadiness (correlation over physicians of how closely they go with colleagues).
    pairs_by_physician
        physician, first, second, n_patients, correlation (shrunk towards that of all), low, high.
    differ, differ_apart, n_differences
        Of all physicians' patients.
    """

    decisions: tuple[str, ...]
    physicians: pl.DataFrame
    by_decision: pl.DataFrame
    pairs: pl.DataFrame
    pairs_by_physician: pl.DataFrame
    differ: float
    differ_apart: float
    n_differences: float

    def describe(self) -> str:
        """Say it in words, per hundred pairs of comparable patients."""
        said = [
            f"Of 100 pairs of comparable patients, at most {hundred(self.differ, 'at most')} "
            f"differ in at least one of {len(self.decisions)} decisions; the expected number of "
            f"differences is at most {number(self.n_differences, 'at most')}."
        ]
        for row in nw.from_native(self.pairs).iter_rows(named=True):
            if row["low"] > 0 or row["high"] < 0:
                often = "more" if row["correlation"] > 0 else "less"
                said.append(
                    f"{row['first']} and {row['second']} are given together {often} often than "
                    f"covariates explain ({100 * row['together']:.0f} instead of "
                    f"{100 * row['expected']:.0f} of 100 patients)."
                )
        return " ".join(said)


@dataclass(frozen=True, eq=False)
class PredictedDecisions:
    """Held-out predictions of each decision on its own, one row per patient.

    Attributes
    ----------
    names
        Of the decisions, in the order in which they are taken.
    decided
        0 or 1 per patient and decision, `MISSING` where it is not known.
    own, pooled
        P(yes) by predictions that know who decides, and that do not; any number where the decision
        is not known.
    code, physician
        Position of every patient's physician, and the physicians.
    fold
        Fold of every patient.
    alone
        Per decision, what it says by itself: score, low and high, one row per physician; NaN where
        there is none.
    """

    names: tuple[str, ...]
    decided: IntArray
    own: FloatArray
    pooled: FloatArray
    code: IntArray
    physician: pl.Series
    fold: IntArray
    alone: tuple[FloatArray, ...]

    @property
    def known(self) -> BoolArray:
        """Whether a decision is known, per patient and decision."""
        return np.asarray(self.decided != MISSING)


@renamed(seed="random_state")
def several_decisions(
    X: Any, decisions: Any, physician: Any = None, *, groups: Any = None, random_state: int = 0
) -> Several:
    """Measure several decisions at once.

    Parameters
    ----------
    X
        Covariates, one row per patient; may have gaps.
    decisions
        A frame with one column of 0 and 1 per decision, in the order in which they are taken;
        missing where one was not taken. Such a patient counts for the others.
    physician, groups
        Physician per patient, by any name; give it as either.
    random_state
        Of the folds; nothing else is random.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("multi-interacting", n_patients=200, n_physicians=4)
    >>> X, _, physician = cohort.observed()
    >>> found = intravar.estimators.several_decisions(X, cohort.decisions[:, :2], physician)
    >>> found.by_decision["decision"].unique(maintain_order=True).to_list()
    ['decision', 'decision_2']
    """
    who = physician_or_groups(physician, groups)
    found = several_of(predict_decisions(X, decisions, who, random_state))
    return as_they_came(found, as_pandas=is_pandas(X, decisions, who))


def predict_decisions(X: Any, decisions: Any, physician: Any, seed: int) -> PredictedDecisions:
    """Predict each decision on its own; see :func:`several_decisions`."""
    table = nw.from_native(decisions, eager_only=True).to_polars()
    names = checked_names(table.columns)
    values = np.column_stack([_coded(table[name]) for name in names])
    everybody = Observed.of(X, np.zeros(len(values)), physician, keep_missing=True)
    own, pooled = (np.full(values.shape, 0.5) for _ in range(2))
    alone = []
    for k, name in enumerate(names):
        rows = np.flatnonzero(values[:, k] != MISSING)
        if len(np.unique(values[rows, k])) < 2:
            raise InputError(
                f"every decision in column '{name}' is the same; there is nothing to compare"
            )
        model = Predictability(random_state=seed).fit(
            everybody.covariates[rows], values[rows, k], everybody.named[everybody.code[rows]]
        )
        own[rows, k], pooled[rows, k] = model.predicted_, model.pooled_
        scored = np.full((len(everybody.named), 3), np.nan)
        scored[np.unique(everybody.code[rows])] = np.column_stack(
            [model.score_, model.low_, model.high_]
        )
        alone.append(scored)
    fold = common_folds(everybody.covariates, values, everybody.code, seed)
    return PredictedDecisions(
        names, values, own, pooled, everybody.code, everybody.named, fold, tuple(alone)
    )


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of decisions if there are neither too few nor too many."""
    if not 2 <= len(names) <= MOST_DECISIONS:
        raise InputError(
            f"{len(names)} decision(s) are named; give 2 to {MOST_DECISIONS} to measure together"
        )
    return tuple(names)


def _coded(column: pl.Series) -> IntArray:
    """Return 0, 1, and 2 where the decision is missing."""
    values = column.cast(pl.Float64).fill_nan(None)
    if not values.drop_nulls().is_in([0.0, 1.0]).all():
        raise InputError(f"column '{column.name}' takes 0 and 1 only, and nothing where missing")
    return values.fill_null(float(MISSING)).to_numpy().astype(np.int64)


def common_folds(covariates: FloatArray, values: IntArray, code: IntArray, seed: int) -> IntArray:
    """Deal patients to folds by what they hold: their order in the table changes nothing."""
    digits = values @ 3 ** np.arange(values.shape[1])
    names = tuple(str(number) for number in range(covariates.shape[1]))
    named = pl.Series(np.arange(int(code.max()) + 1))
    observed = Observed(covariates, names, digits, code, named)
    panels = Layout.of(observed).panels(observed)
    return panels.as_given(panels.deal(N_FOLDS, seed))


def several_of(found: PredictedDecisions) -> Several:
    """Say what predictions of each decision tell together; see :func:`several_decisions`."""
    J = len(found.physician)
    across = across_decisions(
        found.own,
        found.pooled,
        found.decided.astype(np.float64),
        found.known,
        found.code,
        found.fold,
    )
    rows = np.flatnonzero(found.known.all(axis=1))
    if len(rows) < FEWEST_PATIENTS:
        raise InputError(
            f"all decisions are known in {len(rows)} rows only; at least {FEWEST_PATIENTS} are "
            "needed to measure them together"
        )
    code, decided, predicted = found.code[rows], found.decided[rows], across.predicted[rows]
    chain = conditionals(predicted, decided, code, found.fold[rows])
    at, table = positions(decided), chained(chain)
    size = np.bincount(code, minlength=J)
    joint = differ_bound(table, at, code, J)
    ignoring = if_apart(predicted, decided, code, J)
    number = difference_bound(predicted, table, at, code, J)
    n_decisions = len(found.names)
    most = 1 - 0.5**n_decisions
    low, high = _ends(joint, most)
    few, many = _ends(number, 0.5)
    physicians = pl.DataFrame(
        {
            "physician": found.physician,
            "n_patients": size,
            "differ": np.minimum(joint.score, most),
            "differ_low": low,
            "differ_high": high,
            "differ_error": joint.interval(LEVEL).standard_error,
            "differ_apart": np.minimum(ignoring.score, most),
            "n_differences": n_decisions * np.minimum(number.score, 0.5),
            "n_differences_low": n_decisions * few,
            "n_differences_high": n_decisions * many,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return Several(
        found.names,
        physicians,
        pl.concat(_of_decision(found, across, k, chain, rows) for k in range(n_decisions)),
        *_pairs(found, across),
        *(
            _mean(physicians[name], physicians["n_patients"])
            for name in ("differ", "differ_apart", "n_differences")
        ),
    )


def _ends(found: Bound, most: float) -> tuple[FloatArray, FloatArray]:
    low, high, _ = found.interval(LEVEL)
    return np.minimum(low, most), np.minimum(high, most)


def _mean(values: pl.Series, n_patients: pl.Series) -> float:
    known = values.is_not_null().to_numpy()
    weights = n_patients.to_numpy()[known]
    return float(np.average(values.to_numpy()[known], weights=weights))


def _of_decision(
    found: PredictedDecisions,
    across: Across,
    k: int,
    chain: Sequence[FloatArray],
    complete: IntArray,
) -> pl.DataFrame:
    J = len(found.physician)
    rows = np.flatnonzero(found.known[:, k])
    code, y = found.code[rows], found.decided[rows, k]
    alone = np.minimum(found.alone[k], 0.5)
    # Chance is held back in full: this is an estimate, beside the bound that is none.
    shrunk = bound(losses_of(across.predicted[rows, k], y), code, J, None, 0.0)
    given = np.full(J, np.nan)
    if k:
        before = positions(found.decided[complete, :k])
        chance = chain[k][np.arange(len(complete)), before]
        last = found.decided[complete, k]
        given = bound(losses_of(chance, last), found.code[complete], J).score
    return pl.DataFrame(
        {
            "physician": found.physician,
            "decision": [found.names[k]] * J,
            "n_patients": np.bincount(code, minlength=J),
            "discordance": alone[:, 0],
            "low": alone[:, 1],
            "high": alone[:, 2],
            "across": np.clip(shrunk.score - across.excess[:, k], 0.0, 0.5),
            "given": np.minimum(given, 0.5),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _pairs(found: PredictedDecisions, across: Across) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how two decisions go together, over all patients and by physician."""
    everybody, each = [], []
    J, z = len(found.physician), float(norm.ppf((1 + LEVEL) / 2))
    residual = found.decided - across.predicted
    spread = across.predicted * (1 - across.predicted)
    for a, b in combinations(range(len(found.names)), 2):
        rows = np.flatnonzero(found.known[:, a] & found.known[:, b])
        named = {"first": found.names[a], "second": found.names[b]}
        product = residual[rows, a] * residual[rows, b]
        noise = spread[rows, a] * spread[rows, b]
        scale = float(np.sqrt(spread[rows, a].mean() * spread[rows, b].mean()))
        correlation = float(product.mean()) / scale
        reach = z * float(product.std()) / scale / np.sqrt(len(rows))
        both = found.decided[rows, a] * found.decided[rows, b]
        everybody.append(
            named
            | {
                "n_patients": len(rows),
                "together": float(both.mean()),
                "expected": float((across.predicted[rows, a] * across.predicted[rows, b]).mean()),
                "correlation": correlation,
                "low": correlation - reach,
                "high": correlation + reach,
                "steadiness": float(across.correlation[a, b]),
            }
        )
        present, size = np.unique(found.code[rows], return_counts=True)
        own, chance = (panel_means(each, found.code[rows], J)[present] for each in (product, noise))
        shrunk = shrink(own / scale, np.sqrt(chance / size) / scale)
        columns = {"correlation": shrunk.value, "low": shrunk.low, "high": shrunk.high}
        counts = np.bincount(found.code[rows], minlength=J)
        table = {"n_patients": counts} | {name: np.full(J, np.nan) for name in columns}
        for name, values in columns.items():
            table[name][present] = values
        each.append(
            pl.DataFrame({"physician": found.physician} | {k: [v] * J for k, v in named.items()})
            .with_columns(**{name: pl.Series(values) for name, values in table.items()})
            .with_columns(pl.col(pl.Float64).fill_nan(None))
        )
    return pl.DataFrame(everybody), pl.concat(each)
