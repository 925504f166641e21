"""Why this score: the cases behind a physician, side by side. Patient-level data.

Cases are decisions that show a score at work, each beside patients alike who were decided
otherwise. For predictions they are those that surprised most; for the latent rule, clear cases
decided against it; for methods that pair, discordant pairs. Nobody alike is better than somebody
who is not.

Two patients are alike if they agree in what the decisions depend on, and if the same would be
predicted for both. Covariates are standardised and weighed by how much the decisions depend on
them; predictions are compared as log odds. Both count in units of the farthest that is allowed: on
this distance 1 is the caliper. See docs/measure.md.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.spatial import cKDTree
from scipy.special import logit

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.estimators.evidence import PAIR, PAIR_SCHEMA, Evidence
from intravar.measurement.result import Measurement
from intravar.observed import Observed
from intravar.preparation.kinds import understand
from intravar.preparation.prepare import Portion, Prepared
from intravar.seeds import stream

#: Weighted covariates may differ by so much of what they differ by between two patients at random.
COVARIATES = 0.5
#: Predictions may differ by so much in log odds: 50 and 62 of 100, 90 and 94.
LOG_ODDS = 0.5
#: Beyond these log odds (5 and 95 of 100) a prediction is clear, and no clearer than another.
CLEAR = 3.0
#: Share of the weight that all covariates have alike, whatever decisions depend on.
EVEN = 0.1
#: Points within 1 of each other are alike; those at the limit are, whichever way it is rounded.
ALIKE = 1 + 1e-9
#: Neighbours of a patient that are looked at.
NEIGHBOURS = 6
#: A pair may lie so far apart, measured by what two patients at random do.
FAR = 0.5
#: Cases of a physician that are kept, those that tell most.
MOST_CASES = 50
#: Patients who are set beside each.
MOST_ALIKE = 3
CASE_SCHEMA = {
    "panel": pl.Int64,
    "kind": pl.String,
    **dict.fromkeys(("case", "patient", "other"), pl.Int64),
    **dict.fromkeys(("distance", "predicted"), pl.Float64),
}
#: Cases of a physician beyond the sample that are kept, those that tell most.
MOST_BEYOND = 5
#: Pairs to review that are kept of each, by lot.
MOST_REVIEWED = 8
#: Cases that can be asked for.
MOST_PAIRS = 1_000_000
SHOWN_SCHEMA = {
    "kind": pl.String,
    **dict.fromkeys(("case", "row", "pair"), pl.Int64),
    **dict.fromkeys(("predicted", "distance"), pl.Float64),
    **dict.fromkeys(("row_for", "row_against"), pl.Int64),
    **dict.fromkeys(("covariate", "decided_for", "decided_against", "difference"), pl.String),
}


@dataclass(frozen=True, eq=False)
class AlikeScale:
    """By how much covariates may differ, one entry per column.

    Columns are standardised by `mean` and `spread`, a gap counts as the mean; two patients at
    random lie `usual` apart.
    """

    mean: FloatArray
    spread: FloatArray
    weight: FloatArray
    usual: float

    @classmethod
    def of(
        cls, observed: Observed, origin: Sequence[str], importance: Mapping[str, float]
    ) -> AlikeScale:
        """Learn the scale from patients.

        `origin` names for every column its covariate, `importance` says how much decisions depend
        on each; what is negative or not known counts as 0.
        """
        x, gap = observed.covariates, np.isnan(observed.covariates)
        if gap.any():
            usual_values = np.nansum(x, axis=0) / np.maximum((~gap).sum(axis=0), 1)
            observed = replace(observed, covariates=np.where(gap, usual_values, x))
        names = list(dict.fromkeys(origin))
        given = np.nan_to_num([importance.get(name, 0.0) for name in names], posinf=0.0)
        given = np.maximum(given, 0.0)
        total = given.sum()
        share = given / total if total > 0 else np.full(len(names), 1 / len(names))
        by_name = dict(zip(names, (1 - EVEN) * share + EVEN / len(names), strict=True))
        weight = np.array([by_name[name] for name in origin])
        points = observed.standardised * np.sqrt(weight)
        # Two patients at random lie the root of twice the whole variance apart.
        usual = float(np.sqrt(2 * np.square(points).mean(axis=0).sum()))
        return cls(*observed.mean_and_spread, weight, usual)

    def points(self, covariates: FloatArray, probability: FloatArray | None = None) -> FloatArray:
        """Return patients as points; two of them are alike if they lie within 1 of each other.

        Without `probability` predictions do not count.

        Examples
        --------
        >>> observed = Observed.of([[0.0, 0], [0, 1], [2, 0], [2, 1]], [0, 1, 0, 1], list("aaaa"))
        >>> scale = AlikeScale.of(observed, ("age", "sex"), {"age": 1.0})
        >>> points = scale.points(observed.covariates)
        >>> np.abs(points[0] - points[1:]).max(axis=1).round(2).tolist()
        [0.63, 2.76, 2.76]
        """
        centred = np.where(np.isnan(covariates), 0.0, covariates - self.mean)
        points = centred / self.spread * np.sqrt(self.weight)
        points = points / (COVARIATES * self.usual) if self.usual > 0 else np.zeros_like(points)
        if probability is None:
            return points
        odds = np.clip(logit(np.clip(probability, 1e-9, 1 - 1e-9)), -CLEAR, CLEAR)
        return np.column_stack([points, odds / LOG_ODDS])


def nearest_within(
    points: FloatArray, patient: int, among: IntArray, most: int
) -> list[tuple[int, float]]:
    """Return those among some patients who are alike, the nearest first, with their distances.

    `among` are positions, rising, of those who may be set beside `patient`; equally near ones come
    in the order of their positions.

    Examples
    --------
    >>> nearest_within(np.array([[0.0], [0.5], [0.2], [3.0]]), 0, np.array([1, 2, 3]), 2)
    [(2, 0.2), (1, 0.5)]
    """
    apart = np.sqrt(np.square(points[among] - points[patient]).sum(axis=1))
    within = np.flatnonzero(apart <= ALIKE)
    nearest = within[np.argsort(apart[within], kind="stable")[:most]]
    return [(int(among[at]), float(apart[at])) for at in nearest]


def pairs_behind(evidence: Evidence, observed: Observed) -> pl.DataFrame:
    """Return the pairs: panel, positions of both patients, distance, discordant or not.

    A matching method has its own. Otherwise the patients of a physician are paired with their
    nearest neighbours: for the latent rule those to whom the rule surely applies, for other methods
    all of them. Pairs farther apart than two patients of the panel usually are, are left out: no
    pair is better than a bad one.
    """
    if evidence.pairs is not None:
        return evidence.pairs
    core, points = evidence.core, observed.standardised
    of_core = (panel if core is None else panel[core[panel]] for panel in observed.panels)
    # Standardised: two patients at random lie the root of twice the number of columns apart.
    return _paired(observed, of_core, points, FAR * float(np.sqrt(2 * points.shape[1])))


def pairs_to_review(observed: Observed, scale: AlikeScale) -> pl.DataFrame:
    """Return pairs that are alike in the record, each patient in one pair at the most.

    Predictions are left out: that of a patient is learned from the decisions on the others, so that
    two neighbours who were decided differently would be pushed apart. Patients who are alike in
    everything are taken in an order by lot: they are stored by their decisions.
    """
    by_lot = (
        panel[stream(0, "review", "pairs", str(name)).permutation(len(panel))]
        for name, panel in zip(observed.physicians, observed.panels, strict=True)
    )
    return _paired(observed, by_lot, scale.points(observed.covariates), 1.0)


def _paired(
    observed: Observed, panels: Iterable[IntArray], points: FloatArray, most_apart: float
) -> pl.DataFrame:
    """Pair patients of a panel that are each other's nearest among those left, by distance."""
    tables = [pl.DataFrame(schema=PAIR_SCHEMA)]
    for panel, rows in enumerate(panels):
        if len(rows) < 2:
            continue
        n_near = min(len(rows), NEIGHBOURS)
        distance, near = cKDTree(points[rows]).query(points[rows], k=n_near)
        first, second = np.repeat(np.arange(len(rows)), n_near), near.ravel()
        valid = np.flatnonzero((first < second) & (distance.ravel() <= most_apart))
        first, second, apart = first[valid], second[valid], distance.ravel()[valid]
        used = np.zeros(len(rows), dtype=np.bool_)
        taken = []
        for position in np.lexsort((second, first, apart)).tolist():
            a, b = first[position], second[position]
            if not (used[a] or used[b]):
                used[a] = used[b] = True
                taken.append(position)
        a, b = rows[first[taken]], rows[second[taken]]
        pairs = {"panel": [panel] * len(taken), "first": a, "second": b, "distance": apart[taken]}
        pairs["discordant"] = observed.decision[a] != observed.decision[b]
        tables.append(pl.DataFrame(pairs, schema=PAIR_SCHEMA))
    return pl.concat(tables)


def cases_behind(
    evidence: Evidence,
    observed: Observed,
    scale: AlikeScale,
    pairs: pl.DataFrame,
    most: int = MOST_CASES,
) -> pl.DataFrame:
    """Return the cases of every panel, those that tell most first.

    `pairs` are those of comparable patients. There is one row per case and patient beside it:
    positions of the panel and of both patients, their distance (1 is the caliper), and what was
    predicted. Nobody beside: one row, without.
    """
    shown = evidence.cases()
    if shown is None:
        discordant = pairs.filter("discordant").sort("panel", "distance", "first", "second")
        numbered = pl.int_range(pl.len()).over("panel") + 1
        cases = discordant.rename({"first": "patient", "second": "other"}).with_columns(
            kind=pl.lit(PAIR), case=numbered, predicted=None
        )
        return cases.select(pl.col(name).cast(kind) for name, kind in CASE_SCHEMA.items())
    kind, probability, least = shown
    points = scale.points(observed.covariates, probability)
    away = np.abs(observed.decision - probability)
    rows: list[tuple[Any, ...]] = []
    for at, panel in enumerate(observed.panels):
        against = panel[away[panel] > least]
        order = against[np.lexsort((against, -away[against]))][:most]
        for number, patient in enumerate(order.tolist(), 1):
            otherwise = panel[observed.decision[panel] != observed.decision[patient]]
            alike = nearest_within(points, patient, otherwise, MOST_ALIKE)
            beside: list[tuple[Any, Any]] = [*alike] or [(None, None)]
            predicted = float(probability[patient])
            rows += [(at, kind, number, patient, *each, predicted) for each in beside]
    return pl.DataFrame(rows, schema=CASE_SCHEMA, orient="row")


def look_in_bucket(
    scale: AlikeScale,
    kinds: Mapping[str, str],
    evidence: Evidence,
    portion: Portion,
    rows: IntArray,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return cases of a bucket, pairs to review, and the patients in them.

    `scale` says by how much patients may differ, learned from the sample; `kinds` what covariates
    hold, the most important first. The evidence is that of the method that measures; `rows` are
    those of the source.
    """
    observed, no_pairs = portion.observed, pl.DataFrame(schema=PAIR_SCHEMA)
    cases = cases_behind(evidence, observed, scale, no_pairs, MOST_BEYOND)
    # So many pairs of every panel at the most, by lot, with the number that each stands for.
    alike = pairs_to_review(observed, scale)
    pairs = alike.clear().with_columns(weight=pl.lit(1.0))
    for (panel,), own in alike.group_by("panel", maintain_order=True):
        name = str(observed.physicians[int(panel)])
        lot = stream(0, "review", "kept", name).permutation(own.height)[:MOST_REVIEWED]
        pairs.extend(own[np.sort(lot)].with_columns(weight=own.height / len(lot)))
    listed = [cases["patient"], cases["other"], pairs["first"], pairs["second"]]
    shown = pl.concat(listed).drop_nulls().unique().sort().to_numpy()
    return (
        _in_source(cases, observed, rows),
        _in_source(pairs, observed, rows),
        patient_table(portion, rows, kinds)[shown],
    )


def _in_source(table: pl.DataFrame, observed: Observed, rows: IntArray) -> pl.DataFrame:
    """Name the physicians of cases or pairs, and give patients by their rows of the source."""
    names, source = observed.named.cast(pl.String), pl.Series(rows + 1, dtype=pl.Int64)
    positions = [each for each in ("patient", "other", "first", "second") if each in table.columns]
    placed = table.with_columns(source.gather(table[name]).alias(name) for name in positions)
    named = names.gather(table["panel"]).alias("physician")
    renamed = placed.rename({"discordant": "different"}, strict=False)
    return renamed.select(named, pl.exclude("panel"))


def patients_of(measurement: Measurement) -> pl.DataFrame:
    """Return the patients: source row, physician, decision, covariates by importance."""
    prepared = measurement.check.prepared
    kinds = ranked_kinds(prepared, measurement.rule.weights)
    patients = patient_table(prepared, prepared.rows, kinds)
    beyond = measurement.beyond_cases
    if beyond is None:
        return patients
    more = beyond["patients"].filter(~pl.col("row").is_in(patients["row"].implode()))
    return pl.concat([patients, more.select(patients.columns)], how="vertical_relaxed")


def ranked_kinds(prepared: Prepared, importance: Mapping[str, float]) -> dict[str, str]:
    """Return what the columns hold; covariates come first, the most important at the top."""
    return dict.fromkeys(importance, "") | {each.column: each.kind for each in prepared.columns}


def patient_table(portion: Portion, rows: IntArray, kinds: Mapping[str, str]) -> pl.DataFrame:
    """Return patients as a reader sees them.

    `rows` are those of the source; `kinds` says what covariates hold, in the order in which they
    are shown.
    """
    observed, raw = portion.observed, portion.raw
    columns = {
        "row": rows + 1,
        "physician": observed.named[observed.code].cast(pl.String),
        "decision": observed.decision,
    }
    for name in dict.fromkeys([*(name for name in kinds if name in raw.columns), *raw.columns]):
        shown = f"{name} (covariate)" if name in columns else name
        columns[shown] = typed(raw[name], kinds.get(name, ""))
    return pl.DataFrame(columns)


def typed(column: pl.Series, kind: str) -> pl.Series:
    """Return numbers and dates as such, and codes of a category as labels."""
    if kind == "category":
        return column.cast(pl.String)
    if column.dtype != pl.String or kind not in ("number", "date", "yes/no"):
        return column
    try:
        values = understand(column, chosen=True).values
    except InputError:
        return column
    if values.dtype != pl.Float64:
        return column
    return values.cast(pl.Int32).cast(pl.Date) if kind == "date" else values


def cases_of(measurement: Measurement) -> pl.DataFrame:
    """Return the cases: physician, kind, number, rows of the source, distance, predicted."""
    return _with_beyond(measurement, "cases", measurement.cases)


def review_pairs_of(measurement: Measurement) -> pl.DataFrame:
    """Return the pairs that reviewers may be shown, by the rows of the source.

    Columns: physician, first, second, distance, different (whether they were decided differently)
    and weight (of how many pairs it is one that was kept).
    """
    prepared = measurement.check.prepared
    scale = AlikeScale.of(prepared.observed, prepared.origin, measurement.rule.weights)
    pairs = pairs_to_review(prepared.observed, scale).with_columns(weight=1.0)
    return _with_beyond(measurement, "pairs", pairs)


def _with_beyond(measurement: Measurement, name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Join what is known of the sample and of those beyond it, by the rows of the source.

    Whoever is in the sample with a part of the patients was looked at as a whole beyond it.
    """
    prepared, beyond = measurement.check.prepared, measurement.beyond_cases
    sampled = _in_source(table, prepared.observed, prepared.rows)
    if beyond is None:
        return sampled
    again = beyond[name]["physician"].unique()
    return pl.concat([sampled.filter(~pl.col("physician").is_in(again.implode())), beyond[name]])


def side_by_side(
    cases: pl.DataFrame, patients: pl.DataFrame, physician: str, *, most: int = 5
) -> pl.DataFrame:
    """Set each case beside patients who were decided otherwise, what tells most first.

    Where nobody alike was decided otherwise, the patient stands alone.
    """
    if not 1 <= most <= MOST_PAIRS:
        raise InputError(f"{option('most')} is {most}; give 1 to {MOST_PAIRS:,}")
    chosen = cases.filter((pl.col("physician") == physician) & (pl.col("case") <= most))
    covariates = patients.drop("row", "physician", "decision", strict=False).columns
    wanted = pl.concat([chosen["patient"], chosen["other"]]).drop_nulls()
    by_row = {
        row["row"]: row
        for row in patients.filter(pl.col("row").is_in(wanted.implode())).iter_rows(named=True)
    }
    rows: list[tuple[Any, ...]] = []
    for number, case in enumerate(chosen.sort("case", maintain_order=True).to_dicts(), 1):
        one, other = by_row[case["patient"]], by_row.get(case["other"])
        both = (one, other) if one["decision"] else (other, one)
        shared = case["kind"], case["case"], one["row"], number, case["predicted"], case["distance"]
        placed = [each and each["row"] for each in both]
        for name in covariates:
            texts = [each and as_text(each[name]) for each in both]
            apart = other and _difference(*(each[name] for each in both if each))
            rows.append((*shared, *placed, name, *texts, apart))
    return pl.DataFrame(rows, schema=SHOWN_SCHEMA, orient="row")


def as_text(value: Any) -> str:
    """Write a value for a reader: four digits that count, and what is missing as such."""
    if value is None:
        return "missing"
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float, sign: str = "") -> str:
    """Return a whole number as it is, another with four digits that count."""
    whole = value.is_integer() and abs(value) < 1e15
    return f"{value:{sign}.0f}" if whole else f"{value:{sign}.4g}"


def _difference(one: Any, other: Any) -> str:
    """Return by how much one lies above the other, in the unit of the covariate."""
    if one == other:
        return "same"
    if isinstance(one, datetime.date) and isinstance(other, datetime.date):
        return f"{(one - other) / datetime.timedelta(days=1):+.4g} days"
    kinds = {type(one), type(other)}
    return _digits(float(f"{one - other:.3g}"), "+") if kinds <= {int, float} else "differs"
