"""Whether to believe a measurement: the pictures that users of matching software expect.

All of it is computed from everybody, small counts and all; what of it may be handed on is settled
in `intravar.publication`, which asks for the same tables of fewer panels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.inference import spearman_brown, split_half
from intravar.inference.ranking import rank_correlation
from intravar.measurement.scores import Fitted
from intravar.observed import Observed
from intravar.preparation.prepare import Prepared
from intravar.seeds import stream

#: Fractions of the caliper at which the pairs are looked at again.
SWEEP = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
#: Distances, over all panels, up to which pairing once more without a caliper takes seconds.
FEW_DISTANCES = 4e7
SPLITS = 20
#: Times that patients are dealt at random, to see how far panels overlap then.
DEALS = 5
DISTANCE_BINS = 20


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Tables that tell whether to believe a measurement, beside its evidence and its rule.

    Per covariate: `love`, the root mean squared standardised difference within pairs, and between
    two patients of the same physician drawn at random; `balance`, the share of its variance that
    lies between physicians. Per physician: `overlap`, how far the patients' predicted probabilities
    cover those of all patients. Of pairs: their number by `distances` over caliper; the `sweep`, by
    fraction of the caliper pairs, discordant ones, share of patients in pairs and mean discordance;
    `split_half`, the reliability from random halves, None where it cannot be had; `loose`, those
    without a caliper, None where pairing again would take long: then no fraction is above 1.
    """

    love: pl.DataFrame
    distances: pl.DataFrame
    sweep: pl.DataFrame
    split_half: float | None
    balance: pl.DataFrame
    overlap: pl.DataFrame
    loose: pl.DataFrame | None


def diagnose(
    prepared: Prepared, main: Fitted, pairs: pl.DataFrame, probability: FloatArray
) -> Diagnostics:
    """Compute all tables; `probability` is what the suggested rule predicts of every patient."""
    observed, method, loose = prepared.observed, main.estimator, None
    quick = sum(len(panel) ** 2 for panel in observed.panels) <= FEW_DISTANCES
    # A genetic search itself looks at the caliper.
    if quick and hasattr(method, "caliper") and not method.name.startswith("genetic"):
        again = clone(method).set_params(caliper=1.0).fit_observed(observed)
        loose = again.evidence(observed).pairs
    counts = _tenths(observed, probability, observed.code)
    overlap = _shared(counts, counts.sum(axis=0))
    return Diagnostics(
        **of_pairs(prepared, main.evidence, pairs, loose, np.arange(len(observed.physicians))),
        balance=_balance(prepared),
        overlap=pl.DataFrame({"physician": observed.named, "overlap": overlap}),
        loose=loose,
    )


def of_pairs(
    prepared: Prepared,
    evidence: Evidence,
    pairs: pl.DataFrame,
    loose: pl.DataFrame | None,
    panels: IntArray,
) -> dict[str, Any]:
    """Return the diagnostics that come from pairs, by name, of some panels.

    `pairs` and `loose`, those without a caliper, are of all panels; `panels` are the positions of
    the physicians that count.
    """
    counted = pl.col("panel").is_in(panels)
    pairs = pairs.filter(counted)
    loose = None if loose is None else loose.filter(counted)
    n_patients = int(prepared.observed.counts[0][panels].sum())
    return {
        "love": _love(prepared, pairs),
        "distances": _distances(pairs, evidence.caliper),
        "sweep": _sweep(pairs, loose, evidence.caliper, n_patients),
        "split_half": _split_half(pairs),
    }


def _love(prepared: Prepared, pairs: pl.DataFrame) -> pl.DataFrame:
    z, random = prepared.observed.standardised, stream(0, "love")
    shuffled = [random.permutation(panel) for panel in prepared.observed.panels]
    strangers = [panel[: len(panel) // 2 * 2].reshape(-1, 2) for panel in shuffled]
    paired = {
        "within_pairs": pairs.select("first", "second").to_numpy(),
        "at_random": np.concatenate([*strangers, np.empty((0, 2), dtype=np.int64)]),
    }
    columns = _columns(prepared)
    table = {"covariate": pl.Series(list(columns), dtype=pl.String)}
    for name, each in paired.items():
        squares = np.square(z[each[:, 0]] - z[each[:, 1]])
        sums = (squares[:, at].sum(axis=1) for at in columns.values())
        apart = [float(np.sqrt(total.mean())) if len(each) else None for total in sums]
        table[name] = pl.Series(apart, dtype=pl.Float64)
    return pl.DataFrame(table)


def _columns(prepared: Prepared) -> dict[str, list[int]]:
    """Return the encoded columns of every covariate."""
    columns: dict[str, list[int]] = {}
    for at, name in enumerate(prepared.origin):
        columns.setdefault(name, []).append(at)
    return columns


def _distances(pairs: pl.DataFrame, caliper: FloatArray | None) -> pl.DataFrame:
    edges = np.linspace(0, 1, DISTANCE_BINS + 1)
    counts = np.zeros(DISTANCE_BINS, dtype=np.int64)
    if caliper is not None:
        limit = caliper[pairs["panel"].to_numpy()]
        ratio = pairs["distance"].to_numpy() / np.where(limit > 0, limit, 1.0)
        counts, _ = np.histogram(np.clip(ratio, 0, 1), edges)
    return pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n_pairs": counts})


def _sweep(
    pairs: pl.DataFrame, loose: pl.DataFrame | None, caliper: FloatArray | None, n_patients: int
) -> pl.DataFrame:
    """Change the caliper: pairs are chosen by distance, so those within are those of a new run."""
    fractions = [fraction for fraction in SWEEP if loose is not None or fraction <= 1]
    pairs = pairs if loose is None else loose
    rows = []
    if caliper is not None and pairs.height:
        limit = caliper[pairs["panel"].to_numpy()]
        for fraction in fractions:
            kept = pairs.filter(pl.Series(pairs["distance"].to_numpy() <= fraction * limit))
            by_panel = kept.group_by("panel").agg(pl.col("discordant").mean())["discordant"]
            n, n_discordant = kept.height, int(kept["discordant"].sum())
            rows.append((fraction, n, n_discordant, 2 * n / n_patients, by_panel.sort().mean()))
    counts = dict.fromkeys(("n_pairs", "n_discordant"), pl.Int64)
    shares = dict.fromkeys(("share_paired", "mean_discordance"), pl.Float64)
    return pl.DataFrame(rows, {"fraction": pl.Float64, **counts, **shares}, orient="row")


def agreement(scores: Mapping[str, tuple[FloatArray, IntArray]]) -> pl.DataFrame:
    """Correlate every two methods over the physicians whom both measure.

    By method there are the scores of all physicians, and the positions of those that count.
    """
    rows = []
    for one, (first, of_first) in scores.items():
        for other, (second, of_second) in scores.items():
            both = np.intersect1d(of_first, of_second)
            value = rank_correlation(first[both], second[both])
            rows.append({"method": one, "other": other, "spearman": 1.0 if one == other else value})
    return pl.DataFrame(rows, schema_overrides={"spearman": pl.Float64})


def _balance(prepared: Prepared) -> pl.DataFrame:
    """Share of each covariate's variance between physicians: 0 if patients were dealt at random."""
    observed = prepared.observed
    z, sizes = observed.standardised, observed.counts[0]
    means = np.array([z[panel].mean(axis=0) for panel in observed.panels])
    between = (sizes[:, None] * np.square(means)).sum(axis=0) / observed.n_patients
    by_chance = (len(sizes) - 1) / observed.n_patients
    rows = []
    for name, columns in _columns(prepared).items():
        total = float(np.square(z[:, columns]).mean(axis=0).sum())
        share = float(between[columns].sum()) / total if total else 0.0
        rows.append({"covariate": name, "between_physicians": share, "by_chance": by_chance})
    return pl.DataFrame(rows)


def _tenths(observed: Observed, probability: FloatArray, code: IntArray) -> FloatArray:
    """Count the patients of every panel in each tenth of the probabilities."""
    edges = np.unique(np.quantile(probability, np.linspace(0.1, 0.9, 9)))
    counts = np.zeros((len(observed.physicians), len(edges) + 1))
    np.add.at(counts, (code, np.searchsorted(edges, probability, side="right")), 1.0)
    return counts


def _shared(counts: FloatArray, others: FloatArray) -> FloatArray:
    """Return how much of its distribution each panel shares with that of others."""
    own, theirs = (each / each.sum(axis=-1, keepdims=True) for each in (counts, others))
    return np.asarray(np.minimum(own, theirs).sum(axis=1))


def case_mix(observed: Observed, probability: FloatArray) -> float:
    """Return the overlap of a usual panel with the others, over what chance would give.

    Patients whom the rule gives the same probability are comparable as far as it goes. A small
    panel fills few tenths, whoever its patients are; dealing all patients at random makes up for
    that. 1 for a single physician.
    """
    if len(observed.physicians) < 2:
        return 1.0

    def usual(code: IntArray) -> float:
        counts = _tenths(observed, probability, code)
        return float(np.median(_shared(counts, counts.sum(axis=0) - counts)))

    shuffled = [
        usual(stream(0, "case mix", str(deal)).permutation(observed.code)) for deal in range(DEALS)
    ]
    return min(usual(observed.code) / float(np.mean(shuffled)), 1.0)


def _split_half(pairs: pl.DataFrame) -> float | None:
    """Correlate random halves of every physician's pairs, stepped up to the whole."""
    counts = pairs.group_by("panel", maintain_order=True).len()
    enough = counts.filter(pl.col("len") >= 4)["panel"]
    if len(enough) < 3:
        return None
    used = pairs.filter(pl.col("panel").is_in(enough.implode()))
    code = used["panel"].rank("dense").to_numpy().astype(np.int64) - 1
    discordant = used["discordant"].to_numpy().astype(np.float64)

    def shares(rows: IntArray) -> FloatArray:
        n = np.bincount(code[rows], minlength=len(enough))
        return np.asarray(np.bincount(code[rows], discordant[rows], len(enough)) / n)

    by_split = split_half(shares, code, n_splits=SPLITS).by_split
    known = by_split[np.isfinite(by_split) & (by_split > -1)]
    return float(spearman_brown(known).mean()) if len(known) else None
