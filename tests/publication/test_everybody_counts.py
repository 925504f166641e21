"""Figures are those of everybody measured: bands count, and nothing is rounded twice."""

import numpy as np
import polars as pl

from intravar.estimators.evidence import Decisions
from intravar.estimators.noise import Noise
from intravar.inference import discordance_interval
from intravar.measurement.measure import beside_bound
from intravar.measurement.scores import Scores, result_table
from intravar.publication.group import published_noise
from intravar.publication.scores import ShownScores, shown_scores


def counted(n: list[int], decided_for: list[int]) -> Scores:
    """Make scores that follow from how many were decided for."""
    size, k = np.array(n), np.array(decided_for)
    return Scores(
        physician=pl.Series([f"P{at:02d}" for at in range(len(n))]),
        n_patients=size,
        n_for=k,
        discordance=2 * k / size * (1 - k / size),
        reason=[None] * len(n),
        interval=discordance_interval(k, size),
        columns={},
        most=0.5,
    )


def shown(scores: Scores) -> ShownScores:
    secrets = np.full(len(scores.physician), 0.5)
    return shown_scores(scores, Decisions(), min_reliability=0.0, secrets=secrets)


def noise(level: float, pattern: float, occasion: float) -> Noise:
    parts = {"system": level + pattern + occasion, "level": level, "pattern": pattern}
    rows = [(name, value, value, value) for name, value in (parts | {"occasion": occasion}).items()]
    table = pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row")
    return Noise(level + pattern + occasion, level, pattern, occasion, table)


def test_who_has_a_band_counts_in_ranks_and_shrinkage() -> None:
    few = [3] * 12  # decided for: hidden, and told as "at most 0.25"
    many = [60, 70, 80, 90, 100]
    told = shown(counted([60] * 12 + [200] * 5, few + many))
    assert told.table["band"].to_list()[:12] == ["at most 0.25"] * 12
    ranked = told.table.filter(pl.col("rank").is_not_null())
    assert ranked.height == 5
    assert ranked["rank"].min() > 9, "twelve are more consistent than the first of those shown"
    alone = shown(counted([200] * 5, many)).table
    assert (alone["rank"] <= 5).all()
    assert (ranked["shrunken"].to_numpy() <= alone["shrunken"].to_numpy()).all()


def test_what_is_hidden_moves_no_rank_but_by_its_band() -> None:
    n, many = [60] * 12 + [200] * 5, [60, 70, 80, 90, 100]
    one, other = (shown(counted(n, few + many)).table for few in ([2] * 12, [4] * 12))
    assert one.equals(other)


def test_a_shrunken_value_lies_inside_its_interval() -> None:
    # The lower panel is drawn beyond its own interval towards the many.
    scores = counted([200] * 30 + [30], [100] * 30 + [3])
    table = result_table(scores).drop_nulls("shrunken")
    assert (table["shrunken"] <= table["high"]).all()
    assert (table["shrunken"] >= table["low"]).all()


def test_noise_is_rounded_once() -> None:
    told = published_noise(noise(0.01, 0.02, 0.131), 0.001)
    assert told.occasion.value == 0.13
    assert round(200 * (told.occasion.value or 0)) == 26


def test_occasion_is_the_bound_and_two_never_disagree_less_than_one() -> None:
    found = beside_bound(noise(0.0, 0.001, 0.12), 0.27)
    told = published_noise(found, 0.05, 0.27)
    assert told.occasion.value == 0.135
    assert (told.system.value or 0) >= 0.135
    assert found.system >= found.occasion == 0.135
