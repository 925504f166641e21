"""Who is ranked, and what stands where physicians are not."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from intravar.estimators.evidence import Predictions
from intravar.inference import Interval
from intravar.measurement.grounds import Appraisal, concluded
from intravar.measurement.halves import Halves
from intravar.measurement.scores import Scores, rank_counts, result_table, without_ranks
from intravar.measurement.verdict import Grounds
from intravar.request import Request

REQUEST = Request(physician="physician", decision="decision")


def drawn(n_physicians: int, spread: float, *, error: float = 0.06, seed: int = 0) -> Scores:
    """Draw limits as Predictability gives them: shrunk, with the errors of the unshrunk ones."""
    random = np.random.default_rng(seed)
    true = np.clip(0.25 + spread * random.standard_normal(n_physicians), 0.02, 0.48)
    raw = true + error * random.standard_normal(n_physicians)
    kept = max(spread**2 / (spread**2 + error**2), 0.2)
    score = 0.25 + kept * (raw - 0.25)
    n = np.full(n_physicians, 40)
    errors = np.full(n_physicians, error)
    return Scores(
        physician=pl.Series([f"P{number:04d}" for number in range(n_physicians)]),
        n_patients=n,
        n_for=n // 2,
        discordance=score,
        reason=[None] * n_physicians,
        interval=Interval(score - 2 * error, score + 2 * error, errors),
        columns={},
        most=0.5,
        upper=True,
        raw=raw,
    )


def appraised(scores: Scores, *, matters: float = 0.02) -> Appraisal:
    nobody = np.empty(0)
    evidence = Predictions(nobody, nobody, nobody, nobody, raw=scores.raw)
    halves = Halves(0.6, 1.0, 0.0, 0.0, 0.0)
    return concluded(
        Grounds(evidence, None, halves, rule_found=12.0), scores, replace(REQUEST, matters=matters)
    )


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.08])
def test_physicians_are_as_reliable_as_the_group(spread: float) -> None:
    """Two thousand small panels, whose limits are shrunk towards expectations."""
    scores = drawn(2000, spread)
    found = appraised(scores)
    group = found.grounds.group
    assert group is not None
    own = found.table["reliability"].to_numpy()
    assert own.mean() == pytest.approx(group.reliability, abs=0.01)
    assert own.mean() == pytest.approx(spread**2 / (spread**2 + 0.06**2), abs=0.06)


def test_many_small_panels_that_differ_are_ranked() -> None:
    found = appraised(drawn(2000, 0.08))
    assert found.verdict.level == "upper limits and ranks", str(found.verdict)
    assert found.table["rank"].null_count() == 0


def test_nobody_is_ranked_where_nothing_differs() -> None:
    for seed in range(20):
        found = appraised(drawn(200, 0.0, seed=seed))
        assert found.verdict.level == "group only"
        assert found.table["rank"].null_count() == 200


def test_the_table_in_memory_has_no_ranks_unless_the_verdict_allows_them() -> None:
    found = appraised(drawn(200, 0.08), matters=0.2)
    assert found.verdict.level == "group only"
    assert result_table(found.scores)["rank"].null_count() == 0, "their reliability is enough"
    for name in ("rank", "rank_low", "rank_high"):
        assert found.table[name].null_count() == 200
    assert set(found.table["reason"]) == {"cannot be ranked: the verdict is group only"}


def test_reasons_that_were_there_stay() -> None:
    table = result_table(drawn(4, 0.1))
    reasons = [None, "too few", "cannot be ranked: reliability below 0.4", "a range"]
    table = table.with_columns(
        reason=pl.Series(reasons), reportable=pl.Series([True, False, True, True])
    )
    assert without_ranks(table, "group only")["reason"].to_list() == [
        "cannot be ranked: the verdict is group only",
        *reasons[1:3],
        "a range; cannot be ranked: the verdict is group only",
    ]
    assert without_ranks(table, "ranks only").equals(table)


def test_ranks_are_counted_among_those_with_a_figure() -> None:
    table = result_table(drawn(16, 0.1), min_reliability=0.0)
    first = pl.int_range(16) < 2
    ranks = {"rank": (8.0, None), "rank_low": (1.0, None), "rank_high": (16.0, None)}
    table = table.with_columns(
        pl.when(first).then(pl.lit(value)).cast(table.schema[name]).alias(name)
        for name, (value, _) in ranks.items()
    )
    counts = rank_counts(table)
    assert (counts.n_ranked, counts.n_with_figure, counts.median_width) == (2, 16, 1.0)
    assert counts.few
    assert counts.wide
    nobody = rank_counts(without_ranks(table, "group only"))
    assert nobody.few
    assert not nobody.wide
