"""The rule that the data suggest, in words; and where decisions do not follow it.

It describes what the physicians did on the whole, not what they should have done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.inference.clusters import standard_error_of_mean
from intravar.learning.boosted_trees import MOST_SEEN, coarse_bins, telling
from intravar.learning.level_encoding import learn_encoding
from intravar.measurement.scores import Scores
from intravar.observed import Observed
from intravar.preparation.coding import ABSENT
from intravar.preparation.prepare import Prepared
from intravar.seeds import derived_seed, stream
from intravar.wording import USUAL, Words

#: Patients that suffice to learn from and to test on.
LEARN, TEST = 20_000, 10_000
DEPTH = 3
#: Patients over whom the dependence on a covariate is averaged.
DRAWN = 1_000
#: Points at which a covariate is looked at.
GRID = 9
CALIBRATION_BINS = 10
#: Groups of rows; levels are encoded for one of them by the decisions in the others.
ENCODING_GROUPS = 5
#: A close call: the less probable decision has at least this probability.
CLOSE = 0.2
#: Levels of the tree, and the smallest leaf: patients, and as a share of those it is grown on.
KIND_DEPTH, FEWEST_IN_A_LEAF, SMALLEST_LEAF = 2, 30, 0.05
#: Standard errors by which a kind must lie above all patients, among those it was not grown on.
STANDS_OUT = 2.0
MOST_KINDS = 3


@dataclass(frozen=True, eq=False)
class SuggestedRule:
    """What the data say about how decisions depend on covariates.

    The `auc` says how well the decisions of patients held out are ranked, `auc_of_columns` the same
    without what is known of pooled levels, as methods that pair patients see them; `importance` per
    covariate how much worse that gets if its values are shuffled, `dependence` per covariate and
    value the mean predicted share decided for, and the patients behind it. The `tree` has its
    leaves in words: patients, and those of them who were decided for. `calibration` sets predicted
    against observed shares of patients held out; `probability` is predicted of every patient.
    """

    auc: float
    auc_of_columns: float
    importance: pl.DataFrame
    dependence: pl.DataFrame
    tree: list[dict[str, Any]]
    calibration: pl.DataFrame
    probability: FloatArray

    @property
    def weights(self) -> dict[str, float]:
        """How much decisions depend on each covariate, the most important first."""
        return dict(self.importance.select("covariate", "importance").iter_rows())


def suggest_rule(prepared: Prepared, seed: int = 0, words: Words = USUAL) -> SuggestedRule:
    """Learn how the decisions depend on the covariates, over all physicians."""
    observed = prepared.observed
    x, y = observed.covariates, observed.decision
    order = stream(seed, "rule", "rows").permutation(len(y))
    n_test = min(TEST, max(1, len(y) // 3))
    test, learn = order[:n_test], order[n_test : n_test + LEARN]
    if len(np.unique(y[learn])) < 2:
        learn = order
    used = np.arange(x.shape[1])
    if x.shape[1] > MOST_SEEN:
        used = telling(coarse_bins(x[learn]), y[learn], np.arange(len(learn)))
        x = np.ascontiguousarray(x[:, used])
    origin = [prepared.origin[at] for at in used]
    encoded = encoded_levels(observed, learn, seed)
    # One thread: the model is small, and threads that wait for each other cost more than they do.
    with threadpool_limits(limits=1):
        plain = _boosted(x[learn], y[learn], seed)
        model, seen = plain, x
        if encoded.shape[1]:
            # Dependence on a frequent level would hide behind the encoding of all levels.
            seen = np.hstack([x, encoded])
            origin += observed.category_names
            model = _boosted(seen[learn], y[learn], seed)

        def auc(values: FloatArray) -> float:
            return _auc(model, values, y[test])

        return SuggestedRule(
            auc=auc(seen[test]),
            auc_of_columns=_auc(plain, x[test], y[test]),
            importance=_importance(auc, prepared, origin, seen[test], seed),
            dependence=_dependence(plain, prepared, used, learn[:DRAWN]),
            tree=_short_tree(prepared, words),
            calibration=_calibration(y[test], model.predict_proba(seen[test])[:, 1]),
            probability=model.predict_proba(seen)[:, 1],
        )


def encoded_levels(observed: Observed, learn: IntArray, seed: int) -> FloatArray:
    """Return a column per category with many levels.

    A patient of `learn` is encoded without the own decision.
    """
    if observed.categories is None:
        return np.empty((observed.n_patients, 0))
    group = stream(seed, "rule", "levels").permutation(len(learn)) % ENCODING_GROUPS
    columns = []
    for levels in observed.categories.T:
        encoding, seen = learn_encoding(levels[learn], observed.y[learn], group)
        encoded = encoding.encode(levels)
        encoded[learn] = seen
        columns.append(encoded)
    return np.column_stack(columns)


def _boosted(x: FloatArray, y: npt.NDArray[np.int8], seed: int) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        max_iter=80,
        max_leaf_nodes=15,
        early_stopping=False,
        random_state=derived_seed(seed, "rule"),
    )
    return model.fit(x, y)


def _auc(
    model: HistGradientBoostingClassifier, values: FloatArray, y: npt.NDArray[np.int8]
) -> float:
    if len(np.unique(y)) < 2:
        return float("nan")
    return float(roc_auc_score(y, model.predict_proba(values)[:, 1]))


def _importance(
    auc: Callable[[FloatArray], float],
    prepared: Prepared,
    origin: Sequence[str],
    x: FloatArray,
    seed: int,
) -> pl.DataFrame:
    """Shuffle one covariate at a time, all its columns together.

    `x` holds the columns that the model looks at, `origin` their covariates.
    """
    whole, lost = auc(x), dict.fromkeys(prepared.covariates, 0.0)
    for name in dict.fromkeys(origin):
        columns = [n for n, covariate in enumerate(origin) if covariate == name]
        shuffled = x.copy()
        shuffled[:, columns] = x[stream(seed, "shuffle", name).permutation(len(x))][:, columns]
        lost[name] = whole - auc(shuffled)
    return pl.DataFrame({"covariate": list(lost), "importance": list(lost.values())}).sort(
        "importance", descending=True, maintain_order=True
    )


def _dependence(model: Any, prepared: Prepared, used: IntArray, rows: IntArray) -> pl.DataFrame:
    x = prepared.observed.covariates[rows]
    known = x[:, used]
    usual = float(model.predict_proba(known)[:, 1].mean())
    place = {int(at): n for n, at in enumerate(used)}
    points = []
    for column, name in enumerate(prepared.observed.names):
        grid = grid_points(x[:, column])
        shares = np.full(len(grid), usual)
        if column in place:
            # All values of a covariate at once: every call has its price.
            changed = np.tile(known, (len(grid), 1))
            changed[:, place[column]] = np.repeat([value for value, _ in grid], len(known))
            predicted = model.predict_proba(changed)[:, 1]
            shares = predicted.reshape(len(grid), -1).mean(axis=1)
        for (value, n_patients), share in zip(grid, shares.tolist(), strict=True):
            points.append((name, value, share, n_patients))
    return pl.DataFrame(points, ["covariate", "value", "share", "n_patients"], orient="row")


def grid_points(values: FloatArray) -> list[tuple[float, int]]:
    """Return where to look at a covariate: means of neighbours, and how many there are of each.

    Equal values stay together, so that the few who differ from all others make a point of their
    own, with their number beside it.

    Examples
    --------
    >>> grid_points(np.array([0.0] * 30 + [2.0, 4.0]))
    [(0.0, 30), (3.0, 2)]
    """
    ordered = np.sort(values)
    cuts = np.quantile(ordered, np.linspace(0, 1, GRID + 1)[1:-1], method="nearest")
    group = np.searchsorted(np.unique(cuts), ordered, side="left")
    return [
        (float(ordered[group == at].mean()), int((group == at).sum())) for at in np.unique(group)
    ]


def _calibration(y: npt.NDArray[np.int8], predicted: FloatArray) -> pl.DataFrame:
    order = np.argsort(predicted, kind="stable")
    bins = np.array_split(order, min(CALIBRATION_BINS, max(1, len(order) // 50)))
    return pl.DataFrame(
        {
            "predicted": [float(predicted[rows].mean()) for rows in bins],
            "observed": [float(y[rows].mean()) for rows in bins],
            "n_patients": [len(rows) for rows in bins],
        }
    )


def _short_tree(prepared: Prepared, words: Words) -> list[dict[str, Any]]:
    observed = prepared.observed
    smallest = max(30, observed.n_patients // 50)
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=smallest, random_state=0)
    inner = tree.fit(observed.covariates, observed.decision).tree_
    leaves: list[dict[str, Any]] = []
    for node, when in leaf_conditions(inner, prepared, words).items():
        n = int(inner.n_node_samples[node])
        decided_for = round(float(inner.value[node][0][1]) * n)
        leaves.append({"when": when, "n_patients": n, "n_for": decided_for})
    return sorted(leaves, key=lambda leaf: -leaf["n_for"] / leaf["n_patients"])


def leaf_conditions(tree: Any, prepared: Prepared, words: Words = USUAL) -> dict[int, str]:
    """Return the leaves of a tree of scikit-learn, each with its conditions in words.

    `tree` is the `tree_` of one that was fitted to the prepared covariates.
    """
    observed, leaves = prepared.observed, dict[int, str]()
    kinds = {each.column: each.kind for each in prepared.columns if each.kind == "date"}
    for position, name in enumerate(observed.names):
        if set(np.unique(observed.covariates[:1000, position])) <= {0.0, 1.0}:
            kinds[name] = "binary"

    def walk(node: int, bounds: dict[int, tuple[float, float]]) -> None:
        if tree.children_left[node] == -1:
            conditions = []
            for column, (above, below) in bounds.items():
                name, covariate = observed.names[column], prepared.origin[column]
                label, kind = words.label(covariate), kinds.get(name, "")
                conditions.append(_condition(name, covariate, label, kind, above, below))
            leaves[node] = " and ".join(conditions) or f"all {words.cases}"
            return
        column, cut = int(tree.feature[node]), float(tree.threshold[node])
        above, below = bounds.get(column, (-np.inf, np.inf))
        walk(int(tree.children_left[node]), {**bounds, column: (above, cut)})
        walk(int(tree.children_right[node]), {**bounds, column: (cut, below)})

    walk(0, {})
    return leaves


def day_of(number: float) -> str:
    """Write days since 1970 as a date."""
    return str(np.datetime64(round(number), "D"))


def _condition(name: str, covariate: str, label: str, kind: str, above: float, below: float) -> str:
    """Say between which bounds a column lies; a coded one has the label of its covariate."""
    code = name.removeprefix(covariate)
    if code in (f" {ABSENT}", f"={ABSENT}"):
        return f"{label} is {'missing' if above > -np.inf else 'known'}"
    if code.startswith("="):
        return f"{label} is {'' if above > -np.inf else 'not '}{code[1:]}"
    if kind == "binary":
        return f"{label}{code} is {1 if above > -np.inf else 0}"
    # Dates are days since 1970, as coarse as other numbers.
    low, high = (
        day_of(float(f"{cut:.4g}")) if kind == "date" and np.isfinite(cut) else f"{cut:.4g}"
        for cut in (above, below)
    )
    if np.isfinite(above) and np.isfinite(below):
        return f"{label}{code} is {low} to {high}"
    return f"{label}{code} > {low}" if np.isfinite(above) else f"{label}{code} ≤ {high}"


@dataclass(frozen=True, eq=False)
class Location:
    """Where the discordance lies.

    `close_patients` is the share of the patients who are close calls, `close_discordance` that of
    the discordance in them; `n_close` and `in_close` are the close calls of every physician, and
    the share of the physician's discordance in them, NaN where there is none. `kinds` of patients
    have more discordance than others, the largest part first: when (in words), n_patients and n_for
    (among those the tree was not grown on), patients and discordance (shares of all), level
    (discordance within).
    """

    close_patients: float
    close_discordance: float
    n_close: IntArray
    in_close: FloatArray
    kinds: pl.DataFrame


def location_of(
    prepared: Prepared, evidence: Evidence, seed: int = 0, words: Words = USUAL
) -> Location | None:
    """Return where the discordance lies; None for methods that do not predict."""
    if (predicted := evidence.predicted()) is None:
        return None
    observed, (q, _) = prepared.observed, predicted
    loss = 2 * (observed.decision - q) ** 2
    counts = np.ones(len(loss))
    if observed.weight is not None:
        # Means and shares of weighted losses are those of the population.
        counts = observed.weight / observed.weight.mean()
    close = np.minimum(q, 1 - q) >= CLOSE
    n = len(observed.physicians)
    weighted = counts * loss
    own = np.bincount(observed.code, weighted, minlength=n)
    inside = np.bincount(observed.code[close], weighted[close], minlength=n)
    unit = np.arange(len(loss)) if evidence.unit is None else evidence.unit
    return Location(
        float((counts * close).mean()),
        float(weighted[close].sum() / max(weighted.sum(), 1e-12)),
        np.bincount(observed.code[close], minlength=n),
        np.divide(inside, own, out=np.full(n, np.nan), where=own > 0),
        _kinds(prepared, loss, unit, seed, words),
    )


def in_places(values: FloatArray, scores: Scores, observed: Observed) -> FloatArray:
    """Return values of those who were learned from in the places of all; NaN elsewhere."""
    own = dict(zip((str(name) for name in observed.physicians), values.tolist(), strict=True))
    return np.array([own.get(str(name), np.nan) for name in scores.physician.to_list()])


def _kinds(
    prepared: Prepared, loss: FloatArray, unit: IntArray, seed: int, words: Words
) -> pl.DataFrame:
    weight = prepared.observed.weight
    # A patient's rows are all in the same half.
    grown: BoolArray = (stream(seed, "location").random(unit.max() + 1) < 0.5)[unit]
    x, y = prepared.observed.covariates, prepared.observed.decision
    smallest = max(FEWEST_IN_A_LEAF, int(SMALLEST_LEAF * grown.sum()))
    rows = []
    if grown.sum() >= 2 * smallest and (~grown).sum() >= 2 * smallest:
        tree = DecisionTreeRegressor(
            max_depth=KIND_DEPTH, min_samples_leaf=smallest, random_state=0
        )
        tree.fit(x[grown], loss[grown], sample_weight=None if weight is None else weight[grown])
        others = np.flatnonzero(~grown)
        counts = np.ones(len(loss)) if weight is None else weight
        everyone = float(counts[others].sum())
        leaf, mean = tree.apply(x[others]), float(np.average(loss[others], weights=counts[others]))
        for node, when in leaf_conditions(tree.tree_, prepared, words).items():
            there = others[leaf == node]
            if len(there) < FEWEST_IN_A_LEAF:
                continue
            part = float(counts[there].sum()) / everyone
            level = float(np.average(loss[there], weights=counts[there]))
            error = standard_error_of_mean(loss[there], unit[there], weight=counts[there])
            if level - mean > STANDS_OUT * error:
                n_for = int(y[there].sum())
                rows.append((when, len(there), n_for, part, part * level / mean, level))
    counted = {"when": pl.String, "n_patients": pl.Int64, "n_for": pl.Int64}
    shares = dict.fromkeys(("patients", "discordance", "level"), pl.Float64)
    table = pl.DataFrame(rows, schema={**counted, **shares}, orient="row")
    return table.sort("discordance", descending=True).head(MOST_KINDS)
