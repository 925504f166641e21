"""The same measurement in several strata: levels of a column, or periods.

One set of predictions serves all strata; each has its own losses. Patients fall into two classes,
those for whom the answer is mostly yes among these physicians and the others, found anew in every
stratum. Classes are weighed alike everywhere, so that a stratum in which more patients are
indicated, because of a guideline say, is not taken for one with less consistent physicians.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import joblib
import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.noise import Noise, noise_of
from intravar.estimators.predictability import TIME, cell_bound, losses_without
from intravar.inference.clusters import design_effect
from intravar.inference.contrasts import Effects, changes_together, stratum_effects, weighted_sum
from intravar.inference.intervals import LEVEL, Interval
from intravar.measurement.halves import some_panels
from intravar.measurement.result import OneDecision
from intravar.observed import Observed
from intravar.preparation.prepare import Prepared
from intravar.preparation.refusals import refuse_one_stratum
from intravar.request import MATTERS
from intravar.seeds import stream

#: Patients that a physician needs in a class of a stratum to be compared with themselves.
FEWEST_IN_A_CELL = 5
_CLASSES = 2
#: Standard errors by which predictions must gain from the period for the rule to have changed.
RULE_CHANGED = 3.0
#: Patients that a period needs for its noise to be taken apart.
FEWEST_FOR_NOISE = 500
#: Patients that suffice to see whether the time of a decision matters, and the folds.
MOST_FOR_TIME = 40_000
N_FOLDS = 5
_TINY = 1e-9
_Z = norm.ppf(0.5 + LEVEL / 2)


@dataclass(frozen=True, eq=False)
class Strata:
    """What several strata say, by their names in order.

    `levels` has one row per stratum: stratum, n_patients, rate, discordance as it is with its
    interval, and `alike`, with classes weighed alike and physicians compared with themselves.
    `cells` has the same per physician and stratum, where there are patients. `effects` are those of
    the strata on all physicians, patients alike; NaN where they cannot be compared. `changes` has
    one row per physician: change, low, high, shrunken, probability.
    """

    names: tuple[str, ...]
    levels: pl.DataFrame
    cells: pl.DataFrame
    effects: Effects
    changes: pl.DataFrame

    def compared(self, names: Sequence[str]) -> tuple[float, tuple[float, float, float]]:
        """Compare these strata, the others aside.

        Returned are the p-value of the test that they do not differ, NaN if some cannot be
        compared, and the change of all physicians from the first to the last with its interval.
        """
        place = np.array([self.names.index(name) for name in names], dtype=np.int64)
        effects, nan = self.effects.take(place), float("nan")
        if not np.isfinite(effects.p_value):
            return effects.p_value, (nan, nan, nan)
        weight = _trend(np.ones(len(place)), place)
        change = float(weight @ effects.value)
        half = float(_Z * np.sqrt(weight @ effects.covariance @ weight))
        return effects.p_value, (change, change - half, change + half)


def strata_of(patients: pl.DataFrame, physicians: pl.Series, names: tuple[str, ...]) -> Strata:
    """Compare strata by decisions and held-out predictions of their patients.

    `patients` has one row each: the decision, what was predicted by predictions that know the
    physician (own) and that do not (pooled), and the numbers of physician (code) and stratum; with
    sampling weights also the weight. Cells then count by their effective sample sizes. Rows that
    share a `unit`, if there is that column, depend on each other.
    """
    weight = _weights_of(patients)
    decision, own, pooled, code, stratum = (
        patients[name].to_numpy() for name in ("decision", "own", "pooled", "code", "stratum")
    )
    unit = units_of(patients)
    n_physicians, n_strata = len(physicians), len(names)
    shape = (_CLASSES, n_physicians, n_strata)
    kind = two_classes(pooled, stratum, n_strata)
    loss = 2 * (decision - own) ** 2
    place, within = kind * n_strata + stratum, code * n_strata + stratum
    cell = kind * n_physicians * n_strata + within
    sums, n = _sizes(cell, weight, shape)
    total = np.bincount(cell, _times(weight, loss), minlength=np.prod(shape)).reshape(shape)
    mean = np.divide(total, sums, out=np.full(shape, np.nan), where=n > 0)
    # Of a single loss within physicians, by class and stratum.
    square = (loss - mean.ravel()[cell]) ** 2
    inflation = design_effect(loss - mean.ravel()[cell], cell, unit)
    if weight is not None:
        # The variance of a mean is this over the effective sample size.
        to_effective = np.divide(n, sums, out=np.zeros(shape), where=n > 0).ravel()
        square *= (weight * to_effective[cell]) ** 2
    squares = inflation * np.bincount(place, square, minlength=_CLASSES * n_strata)
    free = np.maximum((n - (n > 0)).sum(axis=1), 1.0)
    share = sums.sum(axis=(1, 2)) / sums.sum()
    effects = stratum_effects(n, mean, squares.reshape(_CLASSES, n_strata) / free, share)
    # How losses scatter is another matter in each class.
    ends = np.full((len(Interval._fields), *shape), np.nan)
    for number in np.unique(kind):
        rows = np.flatnonzero(kind == number)
        bounds = cell_bound(
            own[rows],
            decision[rows],
            within[rows],
            n_physicians * n_strata,
            unit=None if unit is None else unit[rows],
            weight=None if weight is None else weight[rows],
        )
        ends[:, number] = np.reshape(bounds, (-1, *shape[1:]))
    changes = _changes(mean, n, share, Interval(*ends))
    patients = patients.with_columns(loss=pl.Series(loss), cell=pl.Series(within))
    return Strata(
        names,
        _levels(patients, names, effects),
        _cells(patients, physicians, names),
        effects,
        changes.insert_column(0, physicians.alias("physician")),
    )


def units_of(patients: pl.DataFrame) -> IntArray | None:
    """Return the number of every row's unit; None where rows are independent."""
    if "unit" not in patients.columns or patients["unit"].null_count():
        return None
    return patients["unit"].to_numpy().astype(np.int64)


def _weights_of(patients: pl.DataFrame) -> FloatArray | None:
    """Return the sampling weights of patients; None without any."""
    if "weight" not in patients.columns or patients["weight"].null_count():
        return None
    return patients["weight"].to_numpy()


def _times(weight: FloatArray | None, values: FloatArray) -> FloatArray:
    return values if weight is None else weight * values


def _sizes(
    cell: IntArray, weight: FloatArray | None, shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return the sum of weights and the effective sample size of every cell."""
    size = int(np.prod(shape))
    sums = np.bincount(cell, weight, minlength=size).astype(np.float64).reshape(shape)
    if weight is None:
        return sums, sums
    squares = np.bincount(cell, weight**2, minlength=size).reshape(shape)
    return sums, np.divide(sums**2, squares, out=np.zeros(shape), where=squares > 0)


def two_classes(pooled: FloatArray, stratum: IntArray, n_strata: int) -> IntArray:
    """Tell for every patient whether the answer is mostly yes, in each stratum by itself.

    The predictions of a stratum are cut in two where the parts are most alike within themselves.

    Examples
    --------
    >>> q = np.array([0.1, 0.12, 0.7, 0.75, 0.2, 0.4])
    >>> two_classes(q, np.array([0, 0, 0, 0, 1, 1]), 2).tolist()
    [0, 0, 1, 1, 0, 1]
    """
    mostly_yes = np.zeros(len(pooled), dtype=np.int64)
    for number in range(n_strata):
        rows = np.flatnonzero(stratum == number)
        ordered = np.sort(pooled[rows])
        if len(rows) < 2 or ordered[0] == ordered[-1]:
            continue
        count = np.arange(1, len(rows))
        lower = np.cumsum(ordered)[:-1]
        upper = ordered.sum() - lower
        between = lower**2 / count + upper**2 / (len(rows) - count)
        # A cut between equal values is none.
        between[ordered[1:] == ordered[:-1]] = -np.inf
        cut = int(np.argmax(between))
        mostly_yes[rows] = pooled[rows] > ordered[cut]
    return mostly_yes


def _levels(patients: pl.DataFrame, names: tuple[str, ...], effects: Effects) -> pl.DataFrame:
    decision, loss, stratum = (
        patients[name].to_numpy() for name in ("decision", "loss", "stratum")
    )
    weight = _weights_of(patients)
    n = np.bincount(stratum, minlength=len(names))
    sums, size = _sizes(stratum, weight, (len(names),))
    rate, mean, square = (
        np.bincount(stratum, _times(weight, values), minlength=len(names))
        / np.where(sums > 0, sums, 1.0)
        for values in (decision, loss, loss**2)
    )
    variance = np.maximum(square - mean**2, 0.0)
    if weight is not None:
        apart = (weight * (loss - mean[stratum])) ** 2
        squares = np.bincount(stratum, weight**2, minlength=len(names))
        variance = np.bincount(stratum, apart, minlength=len(names)) / np.maximum(squares, _TINY)
    variance = variance * design_effect(loss - mean[stratum], stratum, units_of(patients))
    half = _Z * np.sqrt(variance / np.maximum(size, 1.0))
    known = np.isfinite(effects.value)
    share = sums * known / max(float(sums[known].sum()), _TINY)
    centred = np.eye(len(names)) - share
    alike = share @ mean + centred @ np.where(known, effects.value, 0.0)
    error = np.sqrt(np.diag(centred @ effects.covariance @ centred.T))
    alike = np.where(known, alike, np.nan)
    return pl.DataFrame(
        {
            "stratum": names,
            "n_patients": n.astype(np.int64),
            "rate": rate,
            "discordance": mean,
            "low": np.maximum(mean - half, 0.0),
            "high": mean + half,
            "alike": alike,
            "alike_low": np.maximum(alike - _Z * error, 0.0),
            "alike_high": alike + _Z * error,
        }
    ).fill_nan(None)


def _cells(patients: pl.DataFrame, physicians: pl.Series, names: tuple[str, ...]) -> pl.DataFrame:
    decision, own, loss, cell = (
        patients[name].to_numpy() for name in ("decision", "own", "loss", "cell")
    )
    n_cells, n_strata = len(physicians) * len(names), len(names)
    weight = _weights_of(patients)
    n = np.bincount(cell, minlength=n_cells)
    sums, _ = _sizes(cell, weight, (n_cells,))
    total = np.bincount(cell, _times(weight, loss), minlength=n_cells)
    mean = total / np.where(sums > 0, sums, 1.0)
    ends = cell_bound(own, decision, cell, n_cells, weight=weight, unit=units_of(patients))
    filled = np.flatnonzero(n)
    return pl.DataFrame(
        {
            "physician": physicians[filled // n_strata],
            "stratum": [names[number] for number in filled % n_strata],
            "n_patients": n[filled],
            "n_for": np.bincount(cell, decision, minlength=n_cells).astype(np.int64)[filled],
            "discordance": np.minimum(mean[filled], 0.5),
            "low": ends.low[filled],
            "high": np.minimum(ends.high[filled], 0.5),
        }
    )


def _trend(n: FloatArray, place: IntArray) -> FloatArray:
    """Return weights of the means of strata whose sum is the change from the first to the last.

    Of two strata it is their difference; of more the slope through all of them, in order of their
    `place` and each weighed by its patients, times the way.
    """
    time = place - (n * place).sum(axis=-1, keepdims=True) / n.sum(axis=-1, keepdims=True)
    way = place[-1] - place[0]
    return np.asarray(way * n * time / (n * time**2).sum(axis=-1, keepdims=True))


def _changes(mean: FloatArray, n: FloatArray, share: FloatArray, ends: Interval) -> pl.DataFrame:
    """Return the change of every physician, compared with themselves on patients alike."""
    used = share > 0
    enough: BoolArray = np.asarray((n[used] >= FEWEST_IN_A_CELL).all(axis=(0, 2)))
    counted = used[:, None, None] & enough[None, :, None]
    trend = _trend(np.where(counted, n, 1.0), np.arange(n.shape[2]))
    weight = share[:, None, None] * trend * counted

    def by_physician(values: FloatArray) -> FloatArray:
        return np.nan_to_num(np.moveaxis(values, 1, 0).reshape(n.shape[1], -1))

    parts = Interval(*(by_physician(end) for end in ends))
    moves = weighted_sum(by_physician(weight), parts, by_physician(mean))
    change, low, high = np.array(moves) + np.where(enough, 0.0, np.nan)
    moved = changes_together(change, (high - low) / (2 * _Z), MATTERS)
    return pl.DataFrame({"change": change, "low": low, "high": high, **moved}).fill_nan(None)


@dataclass(frozen=True, eq=False)
class Course:
    """Physicians over time: what the periods say, as strata.

    `gain` is by how much twice the squared error of held-out predictions falls if they know the
    time of a decision; if `rule_changed`, by more than chance: what is decided depends on when.
    `noise` has level, pattern and occasion of every period, None where it has too few patients.
    """

    strata: Strata
    gain: float
    rule_changed: bool
    noise: tuple[Noise | None, ...]


def compare_strata(one: OneDecision) -> tuple[Strata | None, Course | None]:
    """Compare the subgroups and the periods of one decision that were asked for."""
    by = "by" in one.check.prepared.dealt
    return (
        _compared(one, one.patients, "by") if by else None,
        course_of(one) if "date" in one.check.prepared.dealt else None,
    )


def course_of(one: OneDecision) -> Course:
    """Compare periods.

    Predictions know the time of every decision, so that each period is measured by its own rule.
    Noise is decomposed among the patients that were prepared: all, or the sample of a large table.
    """
    prepared, patients = one.check.prepared, one.patients
    assert patients is not None
    places, periods = prepared.dealt["date"], prepared.recipe.strata["date"].names
    seed = one.check.request.random_state
    strata = _compared(one, patients.filter(pl.col("date") >= 0), "date")
    inside = [places == periods.index(name) for name in strata.names]
    gain, error = gain_from_time(prepared, seed)
    return Course(
        strata,
        gain,
        gain > RULE_CHANGED * max(error, _TINY),
        tuple(_noise(prepared.observed, each, seed) for each in inside),
    )


def gain_from_time(prepared: Prepared, seed: int) -> tuple[float, float]:
    """Return by how much predictions improve if they know the time, and the standard error.

    Compared are the losses of cheaper predictions than those of the scores: common trees, and rates
    of each physician, with the physician's own weight of the time.

    Parameters
    ----------
    prepared
        Patients with dates. Of many, the panels of some physicians are looked at.
    seed
        Seed of the folds and of the choice of panels.

    Returns
    -------
    tuple of float
        Mean fall of twice the squared error, and its standard error.
    """
    observed = prepared.observed
    if observed.n_patients > MOST_FOR_TIME:
        random = stream(seed, "time", "sample")
        panels = some_panels(list(observed.panels), MOST_FOR_TIME, random)
        observed = observed.take(np.sort(np.concatenate(panels)))
    n_threads = int(joblib.cpu_count())
    losses = losses_without(observed, prepared.origin, [(TIME,)], N_FOLDS, [seed], n_threads)
    gained = losses[(TIME,)] - losses[()]
    return float(gained.mean()), float(gained.std() / np.sqrt(len(gained)))


def _compared(one: OneDecision, patients: pl.DataFrame | None, stratified_by: str) -> Strata:
    """Compare the strata and physicians that have patients."""
    assert patients is not None
    assert one.physicians is not None
    names = one.check.prepared.recipe.strata[stratified_by].names
    strata, stratum = np.unique(patients[stratified_by].to_numpy(), return_inverse=True)
    present = tuple(names[at] for at in strata)
    refuse_one_stratum(present, stratified_by)
    physicians, code = np.unique(patients["code"].to_numpy(), return_inverse=True)
    stratified = patients.select(
        pl.col("decision").cast(pl.Float64),
        "own",
        "pooled",
        "weight",
        code=pl.Series(code, dtype=pl.Int64),
        stratum=pl.Series(stratum, dtype=pl.Int64),
        unit="unit",
    )
    return strata_of(stratified, one.physicians[physicians], present)


def _noise(observed: Observed, chosen: BoolArray, seed: int) -> Noise | None:
    rows = np.flatnonzero(chosen)
    if len(rows) < FEWEST_FOR_NOISE:
        return None
    part = observed.take(rows)
    if len(part.physicians) < 2 or part.decision.min() == part.decision.max():
        return None
    return noise_of(part, seed=seed)
