"""Whether to believe a measurement: the pictures that users of matching software expect."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import spearmanr
from sklearn.base import clone

from intravar.arrays import FloatArray
from intravar.estimators import Estimator, Observed
from intravar.estimators.matching import MatchingEstimator
from intravar.measurement.evidence import pairs_behind
from intravar.measurement.rule import SuggestedRule
from intravar.preparation.prepare import Prepared
from intravar.publication.suppression import is_small
from intravar.seeds import stream

#: Fractions of the caliper at which the pairs are looked at again.
SWEEP = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
#: Distances, over all panels, up to which pairing once more without a caliper takes seconds.
FEW_DISTANCES = 4e7
SPLITS = 20


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Tables that tell whether to believe a measurement.

    Attributes
    ----------
    love
        Per covariate: root mean squared standardised difference within pairs, and between two
        patients of the same physician drawn at random.
    distances
        Share of pairs by distance over caliper.
    attrition
        Per physician: patients paired, outside the caliper, lost in a cycle of the assignment.
    sweep
        Per fraction of the caliper: share of patients in pairs and mean discordance. Fractions
        above 1 only where pairing again is quick.
    agreement
        Rank correlation of every two methods.
    balance
        Per covariate: share of its variance that lies between physicians.
    overlap
        Per physician: how far the patients' predicted probabilities cover those of all patients.
    calibration
        Predicted against observed shares.
    split_half
        Reliability from random halves of the pairs; None where it cannot be had.
    anchor
        What the latent rule says about its anchors; None for other methods.
    loose
        Pairs formed without a caliper, for the sweep; None where pairing again would take long.
    """

    love: pl.DataFrame
    distances: pl.DataFrame
    attrition: pl.DataFrame
    sweep: pl.DataFrame
    agreement: pl.DataFrame
    balance: pl.DataFrame
    overlap: pl.DataFrame
    calibration: pl.DataFrame
    split_half: float | None
    anchor: Any = None
    loose: pl.DataFrame | None = None


def diagnose(
    prepared: Prepared,
    estimators: dict[str, Estimator],
    pairs: pl.DataFrame,
    rule: SuggestedRule,
    smallest_cell: int,
) -> Diagnostics:
    """Compute all tables."""
    observed = prepared.observed
    main = next(iter(estimators.values()))
    loose = _without_caliper(main, observed)
    return Diagnostics(
        **_of_pairs(prepared, main, pairs, loose, smallest_cell, list(observed.physicians)),
        attrition=_attrition(main),
        agreement=_agreement(estimators, {}),
        balance=_balance(prepared),
        overlap=_overlap(observed, rule.probability),
        calibration=_safe_calibration(rule.calibration, smallest_cell),
        anchor=_anchor(main),
        loose=loose,
    )


def of_measured(
    found: Diagnostics,
    prepared: Prepared,
    estimators: dict[str, Estimator],
    pairs: pl.DataFrame,
    smallest_cell: int,
    measured: dict[str, list[str]],
) -> Diagnostics:
    """Compute what depends on decisions again, from the physicians whose scores are shown.

    Parameters
    ----------
    found
        Of all physicians.
    prepared, estimators, pairs, smallest_cell
        As for :func:`diagnose`.
    measured
        Per method the physicians whose scores are shown.
    """
    name, main = next(iter(estimators.items()))
    shown = pl.col("physician").is_in(measured[name])
    loose = None if found.loose is None else found.loose.filter(shown)
    return replace(
        found,
        **_of_pairs(prepared, main, pairs.filter(shown), loose, smallest_cell, measured[name]),
        agreement=_agreement(estimators, measured),
    )


def _of_pairs(
    prepared: Prepared,
    main: Estimator,
    pairs: pl.DataFrame,
    loose: pl.DataFrame | None,
    smallest_cell: int,
    physicians: list[str],
) -> dict[str, Any]:
    sizes = dict(zip(main.physicians_.tolist(), main.n_patients_.tolist(), strict=True))
    n_patients = sum(sizes[name] for name in physicians)
    return {
        "love": _love(prepared, pairs),
        "distances": _distances(pairs, _calipers(main, pairs), smallest_cell),
        "sweep": _sweep(main, pairs, loose, n_patients, smallest_cell),
        "split_half": _split_half(pairs),
    }


def _calipers(main: Estimator, pairs: pl.DataFrame) -> FloatArray | None:
    """Return the caliper of every pair; None for a method that has none."""
    caliper: Any = getattr(main, "caliper_", None)
    if caliper is None or not pairs.height:
        return None
    by_name = dict(zip(main.physicians_.tolist(), np.asarray(caliper).tolist(), strict=True))
    return np.array([by_name[name] for name in pairs["physician"].to_list()])


def _without_caliper(main: Estimator, observed: Observed) -> pl.DataFrame | None:
    """Pair again without a caliper, where it is quick."""
    distances = sum(len(panel) ** 2 for panel in observed.panels)
    if not isinstance(main, MatchingEstimator) or distances > FEW_DISTANCES:
        return None
    if main.name.startswith("genetic"):  # the search itself looks at the caliper
        return None
    return pairs_behind(clone(main).set_params(caliper=1.0).fit_observed(observed), observed)


def _love(prepared: Prepared, pairs: pl.DataFrame) -> pl.DataFrame:
    observed = prepared.observed
    z = observed.standardised
    random = stream(0, "love")
    shuffled = [random.permutation(panel) for panel in observed.panels]
    even = [panel[: len(panel) // 2 * 2].reshape(-1, 2) for panel in shuffled]
    strangers = np.concatenate([*even, np.empty((0, 2), dtype=np.int64)])
    matched = pairs.select("first", "second").to_numpy()
    rows = []
    for name in prepared.covariates:
        columns = [n for n, origin in enumerate(prepared.origin) if origin == name]
        rows.append(
            {
                "covariate": name,
                "within_pairs": _root_mean_square(z, matched, columns),
                "at_random": _root_mean_square(z, strangers, columns),
            }
        )
    return pl.DataFrame(rows, schema_overrides={"within_pairs": pl.Float64})


def _root_mean_square(
    z: FloatArray, pairs: npt.NDArray[np.int64], columns: list[int]
) -> float | None:
    if not len(pairs):
        return None
    difference = z[pairs[:, 0]][:, columns] - z[pairs[:, 1]][:, columns]
    return float(np.sqrt(np.square(difference).sum(axis=1).mean()))


def _distances(pairs: pl.DataFrame, caliper: FloatArray | None, smallest_cell: int) -> pl.DataFrame:
    edges = np.linspace(0, 1, 21)
    if caliper is None or pairs.height < smallest_cell:
        return pl.DataFrame(schema={"from": pl.Float64, "to": pl.Float64, "share": pl.Float64})
    ratio = pairs["distance"].to_numpy() / np.where(caliper > 0, caliper, 1.0)
    counts, _ = np.histogram(np.clip(ratio, 0, 1), edges)
    counts, edges = without_small_bins(counts, edges, smallest_cell)
    return pl.DataFrame(
        {"from": edges[:-1], "to": edges[1:], "share": counts / max(1, counts.sum())}
    )


def without_small_bins(
    counts: npt.NDArray[np.int64], edges: FloatArray, smallest_cell: int
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Merge neighbours until no bin holds a small count.

    Examples
    --------
    >>> counts, edges = without_small_bins(np.array([20, 3, 0, 9]), np.arange(5.0), 11)
    >>> counts.tolist(), edges.tolist()
    ([20, 12], [0.0, 1.0, 4.0])
    """
    merged, kept, gathered = [], [float(edges[0])], 0
    for count, edge in zip(counts.tolist(), edges[1:].tolist(), strict=True):
        gathered += count
        if not is_small(gathered, smallest_cell):
            merged.append(gathered)
            kept.append(edge)
            gathered = 0
    if gathered:  # what is left over joins the bins before it
        merged.append(gathered)
        kept.append(float(edges[-1]))
        while len(merged) > 1 and is_small(merged[-1], smallest_cell):
            last = merged.pop()
            merged[-1] += last
            kept.pop(-2)
    return np.array(merged, dtype=np.int64), np.array(kept)


def _attrition(main: Estimator) -> pl.DataFrame:
    found: Any = getattr(main, "attrition_", None)
    if found is None:
        return pl.DataFrame(schema={"physician": pl.String, "n_patients": pl.Int64})
    table: pl.DataFrame = found
    return table


def _sweep(
    main: Estimator,
    pairs: pl.DataFrame,
    loose: pl.DataFrame | None,
    n_patients: int,
    smallest_cell: int,
) -> pl.DataFrame:
    """Change the caliper: pairs are chosen by distance, so those within are those of a new run.

    A step that would set few pairs apart is left out.
    """
    fractions = [fraction for fraction in SWEEP if loose is not None or fraction <= 1]
    pairs = pairs if loose is None else loose
    caliper = _calipers(main, pairs)
    rows: list[dict[str, Any]] = []
    before = np.zeros(2)
    limit = np.zeros(0) if caliper is None else caliper
    for fraction in fractions if len(limit) else ():
        kept = pairs.filter(pl.Series(pairs["distance"].to_numpy() <= fraction * limit))
        discordant = int(kept["discordant"].sum())
        counts = np.array([discordant, kept.height - discordant])
        if any(is_small(apart, smallest_cell) for apart in (counts - before).tolist()):
            continue
        before = counts
        mean = kept.group_by("physician").agg(pl.col("discordant").mean())["discordant"].mean()
        rows.append(
            {
                "fraction": fraction,
                "share_paired": 2 * kept.height / n_patients,
                "mean_discordance": mean,
            }
        )
    schema = dict.fromkeys(("fraction", "share_paired", "mean_discordance"), pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def _agreement(estimators: dict[str, Estimator], measured: dict[str, list[str]]) -> pl.DataFrame:
    """Correlate every two methods over the physicians whom both measure."""
    kept = {
        name: np.isfinite(method.score_)
        & np.isin(method.physicians_, measured.get(name, method.physicians_))
        for name, method in estimators.items()
    }
    rows = []
    for one, first in estimators.items():
        for other, second in estimators.items():
            both = kept[one] & kept[other]
            enough = both.sum() >= 3 and all(
                np.ptp(method.score_[both]) > 0 for method in (first, second)
            )
            value = float(spearmanr(first.score_[both], second.score_[both])[0]) if enough else None
            rows.append({"method": one, "other": other, "spearman": 1.0 if one == other else value})
    return pl.DataFrame(rows, schema_overrides={"spearman": pl.Float64})


def _balance(prepared: Prepared) -> pl.DataFrame:
    """Share of each covariate's variance between physicians: 0 if patients were dealt at random."""
    observed = prepared.observed
    z = observed.standardised
    sizes = np.array([len(panel) for panel in observed.panels])
    means = np.array([z[panel].mean(axis=0) for panel in observed.panels])
    between = (sizes[:, None] * np.square(means)).sum(axis=0) / observed.n_patients
    by_chance = (len(sizes) - 1) / observed.n_patients
    rows = []
    for name in prepared.covariates:
        columns = [n for n, origin in enumerate(prepared.origin) if origin == name]
        total = float(np.square(z[:, columns]).mean(axis=0).sum())
        share = float(between[columns].sum()) / total if total else 0.0
        rows.append({"covariate": name, "between_physicians": share, "by_chance": by_chance})
    return pl.DataFrame(rows)


def _overlap(observed: Observed, probability: FloatArray) -> pl.DataFrame:
    """Overlap of each panel's predicted probabilities with those of all, in tenths."""
    edges = np.unique(np.quantile(probability, np.linspace(0.1, 0.9, 9)))
    bins = np.searchsorted(edges, probability, side="right")
    everyone = np.bincount(bins, minlength=len(edges) + 1) / len(bins)
    return pl.DataFrame(
        {
            "physician": list(observed.physicians),
            "overlap": [
                float(
                    np.minimum(
                        np.bincount(bins[panel], minlength=len(edges) + 1) / len(panel), everyone
                    ).sum()
                )
                for panel in observed.panels
            ],
        }
    )


def _safe_calibration(table: pl.DataFrame, smallest_cell: int) -> pl.DataFrame:
    """Keep the bins whose events are neither few nor nearly all."""
    n, events = pl.col("n_patients"), (pl.col("observed") * pl.col("n_patients")).round()
    safe = ((events == 0) | (events >= smallest_cell)) & (
        (n - events == 0) | (n - events >= smallest_cell)
    )
    return table.filter(safe).select("predicted", "observed")


def _split_half(pairs: pl.DataFrame) -> float | None:
    """Correlate random halves of every physician's pairs, stepped up to the whole."""
    counts = pairs.group_by("physician", maintain_order=True).len()
    enough = counts.filter(pl.col("len") >= 4)["physician"]
    if len(enough) < 3:
        return None
    used = pairs.filter(pl.col("physician").is_in(enough.implode()))
    code = used["physician"].rank("dense").to_numpy().astype(np.int64) - 1
    discordant = used["discordant"].to_numpy().astype(np.float64)
    found = []
    for split in range(SPLITS):
        order = stream(0, "split", str(split)).permutation(len(code))
        position = np.empty(len(code), dtype=np.int64)
        by_code = order[np.argsort(code[order], kind="stable")]
        position[by_code] = np.arange(len(code))
        half = position % 2 == 0
        means = [
            np.bincount(code[side], discordant[side]) / np.maximum(np.bincount(code[side]), 1)
            for side in (half, ~half)
        ]
        if min(np.ptp(mean) for mean in means) == 0:
            continue
        correlation = float(np.corrcoef(means[0], means[1])[0, 1])
        found.append(2 * correlation / (1 + correlation) if correlation > -1 else -1.0)
    return float(np.mean(found)) if found else None


def _anchor(main: Estimator) -> Any:
    """Return what pins the level of the latent rule: shares of patients who are surely so."""
    found: Any = getattr(main, "anchors_", None)
    if found is None or not getattr(main, "two_classes_", True):
        return None
    return {
        "surely_eligible": round(float(found.sure_eligible), 2),
        "surely_not_eligible": round(float(found.sure_others), 2),
    }
