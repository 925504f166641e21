"""Several decisions per patient: each of them, all together, and which go together.

Every decision is predicted on its own by :class:`Predictability`. Physicians' effects in all of
them then inform each other, and each decision is also explained by those before it. From the
held-out probability of every combination follow the bounds of :mod:`intravar.prediction.several`.
"""

from collections.abc import Mapping, Sequence
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
from intravar.prediction import several as models
from intravar.prediction.bound import Bound, Shrinkage, bound, losses_of, panel_means
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
        sentences = [
            f"Of 100 pairs of comparable patients, about {hundred(self.differ)} differ in at "
            f"least one of {len(self.decisions)} decisions; the expected number of differences "
            f"is about {number(self.n_differences)} (estimates of upper limits)."
        ]
        for row in nw.from_native(self.pairs).iter_rows(named=True):
            if row["low"] > 0 or row["high"] < 0:
                often = "more" if row["correlation"] > 0 else "less"
                sentences.append(
                    f"{row['first']} and {row['second']} are given together {often} often than "
                    f"covariates explain ({100 * row['together']:.0f} instead of "
                    f"{100 * row['expected']:.0f} of 100 patients)."
                )
        return " ".join(sentences)


@dataclass(frozen=True, eq=False)
class PredictedDecisions:
    """Held-out predictions of each decision on its own, one row per patient.

    Decisions have their names in the order in which they are taken; `decided` is 0 or 1 per patient
    and decision, `MISSING` where it is not known. `own` and `pooled` are P(yes) by predictions that
    know who decides, and that do not; any number where the decision is not known. `code` is the
    position of every patient's physician, `fold` the patient's fold. Per decision, `alone` is what
    it says by itself: score, low and high, one row per physician; NaN where there is none.
    Rows of one physician that share a `unit` depend on each other, the visits of a patient say.
    """

    names: tuple[str, ...]
    decided: IntArray
    own: FloatArray
    pooled: FloatArray
    code: IntArray
    physician: pl.Series
    fold: IntArray
    alone: tuple[FloatArray, ...]
    unit: IntArray | None = None

    @property
    def known(self) -> BoolArray:
        """Whether a decision is known, per patient and decision."""
        return np.asarray(self.decided != MISSING)


@renamed(seed="random_state")
def several_decisions(
    X: Any,
    decisions: Any,
    physician: Any = None,
    *,
    groups: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
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
    n_jobs
        Threads to learn with; results do not depend on it.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("multi-interacting", n_patients=200, n_physicians=4)
    >>> X, _, physician = cohort.observed()
    >>> several = intravar.estimators.several_decisions(X, cohort.decisions[:, :2], physician)
    >>> several.by_decision["decision"].unique(maintain_order=True).to_list()
    ['decision', 'decision_2']
    """
    who = physician_or_groups(physician, groups)
    several = several_of(predict_decisions(X, decisions, who, random_state, n_jobs))
    return as_they_came(several, as_pandas=is_pandas(X, decisions, who))


def predict_decisions(
    X: Any, decisions: Any, physician: Any, seed: int, n_jobs: int | None = None
) -> PredictedDecisions:
    """Predict each decision on its own; see :func:`several_decisions`."""
    table = nw.from_native(decisions, eager_only=True).to_polars()
    names, coded = checked_names(table.columns), table.cast(pl.Float64).fill_nan(None)
    for name in names:
        if not coded[name].drop_nulls().is_in([0.0, 1.0]).all():
            raise InputError(f"column '{name}' takes 0 and 1 only, and nothing where missing")
    values = coded.fill_null(float(MISSING)).to_numpy(order="c").astype(np.int64)
    everybody = Observed.of(X, np.zeros(len(values)), physician, keep_missing=True)
    own, pooled = (np.full(values.shape, 0.5) for _ in range(2))
    alone = []
    for k, name in enumerate(names):
        rows = np.flatnonzero(values[:, k] != MISSING)
        if len(np.unique(values[rows, k])) < 2:
            raise InputError(
                f"every decision in column '{name}' is the same; there is nothing to compare"
            )
        model = Predictability(random_state=seed, n_jobs=n_jobs).fit(
            everybody.covariates[rows], values[rows, k], everybody.named[everybody.code[rows]]
        )
        own[rows, k], pooled[rows, k] = model.predicted_, model.pooled_
        scored = np.full((len(everybody.named), 3), np.nan)
        scored[np.unique(everybody.code[rows])] = np.c_[model.score_, model.low_, model.high_]
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


def refuse_few_rows(n_rows: int) -> None:
    """Refuse several decisions that are all known in too few rows."""
    if n_rows < FEWEST_PATIENTS:
        raise InputError(
            f"all decisions are known in {n_rows} rows only; at least {FEWEST_PATIENTS} are "
            "needed to measure them together"
        )


def common_folds(covariates: FloatArray, values: IntArray, code: IntArray, seed: int) -> IntArray:
    """Deal patients to folds by what they hold: their order in the table changes nothing."""
    digits = values @ 3 ** np.arange(values.shape[1])
    names = tuple(map(str, range(covariates.shape[1])))
    observed = Observed(covariates, names, digits, code, pl.Series(range(int(code.max()) + 1)))
    panels = Layout.of(observed).panels(observed)
    return panels.as_given(panels.deal(N_FOLDS, seed))


def several_of(predicted: PredictedDecisions) -> Several:
    """Say what predictions of each decision tell together; see :func:`several_decisions`."""
    J, n_decisions = len(predicted.physician), len(predicted.names)
    across = models.across_decisions(
        predicted.own,
        predicted.pooled,
        predicted.decided.astype(np.float64),
        predicted.known,
        predicted.code,
        predicted.fold,
    )
    rows = np.flatnonzero(predicted.known.all(axis=1))
    refuse_few_rows(len(rows))
    code, decided, chance = predicted.code[rows], predicted.decided[rows], across.predicted[rows]
    chain = models.conditionals(chance, decided, code, predicted.fold[rows])
    at, table = positions(decided), chained(chain)
    unit = None
    if predicted.unit is not None:
        pairs_of_units = np.column_stack([code, predicted.unit[rows]])
        unit = np.unique(pairs_of_units, axis=0, return_inverse=True)[1].astype(np.int64)
    differ = models.differ_bound(table, at, code, J, unit=unit)
    apart = models.if_apart(chance, decided, code, J)
    number = models.difference_bound(chance, table, at, code, J, unit=unit)
    most = 1 - 0.5**n_decisions
    physicians = _frame(
        {
            "physician": predicted.physician,
            "n_patients": np.bincount(code, minlength=J),
            **_limited("differ", differ, most),
            "differ_error": differ.interval(LEVEL).standard_error,
            "differ_apart": np.minimum(apart.score, most),
            **_limited("n_differences", number, 0.5, n_decisions),
        }
    )
    by_decision = [_of_decision(predicted, across, k, chain, rows) for k in range(n_decisions)]
    known = physicians.filter(pl.col("differ").is_not_null())
    figures = known.select("differ", "differ_apart", "n_differences").iter_columns()
    of_all = (float(np.average(each.to_numpy(), weights=known["n_patients"])) for each in figures)
    pairs = _pairs(predicted, across)
    return Several(predicted.names, physicians, pl.concat(by_decision), *pairs, *of_all)


def _limited(name: str, limit: Bound, most: float, times: int = 1) -> dict[str, FloatArray]:
    """Return the columns of a bound with its ends, none above the most that it can be."""
    low, high, _ = limit.interval(LEVEL)
    values = {name: limit.score, f"{name}_low": low, f"{name}_high": high}
    return {column: times * np.minimum(value, most) for column, value in values.items()}


def _frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _of_decision(
    predicted: PredictedDecisions,
    across: models.Across,
    k: int,
    chain: Sequence[FloatArray],
    complete: IntArray,
) -> pl.DataFrame:
    J = len(predicted.physician)
    rows = np.flatnonzero(predicted.known[:, k])
    code, y = predicted.code[rows], predicted.decided[rows, k]
    alone = np.minimum(predicted.alone[k], 0.5)
    # Chance is held back in full: this is an estimate, beside the bound that is none.
    shrunk = bound(
        losses_of(across.predicted[rows, k], y, code, J), shrinkage=Shrinkage(least_kept=0.0)
    )
    given = np.full(J, np.nan)
    if k:
        before = positions(predicted.decided[complete, :k])
        chance = chain[k][np.arange(len(complete)), before]
        whose = predicted.code[complete]
        given = bound(losses_of(chance, predicted.decided[complete, k], whose, J)).score
    return _frame(
        {
            "physician": predicted.physician,
            "decision": [predicted.names[k]] * J,
            "n_patients": np.bincount(code, minlength=J),
            **dict(zip(("discordance", "low", "high"), alone.T, strict=True)),
            "across": np.clip(shrunk.score - across.excess[:, k], 0.0, 0.5),
            "given": np.minimum(given, 0.5),
        }
    )


def _pairs(
    predicted: PredictedDecisions, across: models.Across
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return how two decisions go together, over all patients and by physician."""
    everybody, each = [], []
    J, z = len(predicted.physician), float(norm.ppf((1 + LEVEL) / 2))
    decided, likely = predicted.decided, across.predicted
    residual, spread = decided - likely, likely * (1 - likely)
    for pair in combinations(range(len(predicted.names)), 2):
        rows = np.flatnonzero(predicted.known[:, pair].all(axis=1))
        code, at = predicted.code[rows], (rows[:, None], list(pair))
        product, noise, both, expected = (
            values[at].prod(axis=1) for values in (residual, spread, decided, likely)
        )
        scale = float(np.sqrt(np.prod([spread[rows, k].mean() for k in pair])))
        correlation = float(product.mean()) / scale
        reach = z * float(product.std()) / scale / np.sqrt(len(rows))
        named = {"first": predicted.names[pair[0]], "second": predicted.names[pair[1]]}
        of_all = {
            "together": float(both.mean()),
            "expected": float(expected.mean()),
            "correlation": correlation,
            "low": correlation - reach,
            "high": correlation + reach,
            "steadiness": float(across.correlation[pair]),
        }
        everybody.append(named | {"n_patients": len(rows)} | of_all)
        size = np.bincount(code, minlength=J)
        present = np.flatnonzero(size)
        own, chance = (panel_means(values, code, J)[present] for values in (product, noise))
        shrunk = shrink(own / scale, np.sqrt(chance / size[present]) / scale)
        columns = np.full((3, J), np.nan)
        columns[:, present] = shrunk.value, shrunk.low, shrunk.high
        figures = dict(zip(("correlation", "low", "high"), columns, strict=True))
        pairs = {name: [decision] * J for name, decision in named.items()}
        own_pair = {"physician": predicted.physician, **pairs, "n_patients": size, **figures}
        each.append(_frame(own_pair))
    return pl.DataFrame(everybody), pl.concat(each)
