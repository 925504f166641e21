"""Published results of as many physicians as one likes, with every column filled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from intravar.publication.results import PhysicianRow, Published, rows_of


def many_physicians(published: Published, n: int) -> Published:
    """Return a publication of the same form with `n` physicians."""
    rng = np.random.default_rng(1)
    decision = published.first
    few = decision.table.filter(pl.col("reportable"))
    score = np.clip(0.22 + 0.05 * rng.standard_normal(n), 0.02, 0.6)
    size = rng.integers(60, 600, n)
    half = 0.8 / np.sqrt(size)
    names = [f"P-{number:04d}-XYZ" for number in range(n)]
    rank = np.argsort(np.argsort(score)) + 1
    columns = {
        "physician": names,
        "n_patients": size,
        "n_pairs": size // 2,
        "discordance": score.round(3),
        "low": (score - half).clip(0).round(3),
        "high": (score + half).round(3),
        "shrunken": (0.22 + 0.7 * (score - 0.22)).round(3),
        "expected": (score * 0.9).round(3),
        "gain": (score * 0.1).round(3),
        "contradiction": (score * 0.7).round(3),
        "contradiction_low": (score * 0.5).round(3),
        "contradiction_high": (score * 0.9).round(3),
        "rank": rank.astype(float),
        "rank_low": np.maximum(1, rank - n // 10),
        "rank_high": np.minimum(n, rank + n // 10),
    }
    table = few[np.zeros(n, dtype=int)].with_columns(
        pl.Series(name, values).cast(few.schema[name]) for name, values in columns.items()
    )
    hidden = pl.int_range(n) % 10 == 9
    table = table.with_columns(
        *(pl.when(~hidden).then(pl.col(name)).alias(name) for name in table.columns[1:-2]),
        reportable=~hidden,
        reason=pl.when(hidden).then(pl.lit("1 to 10 discordant pairs, too few to publish")),
    )
    overlap = dict(zip(names, rng.uniform(0.6, 1, n).round(2).tolist(), strict=True))
    parts = {
        name: {"paired": int(m * 0.9), "outside_caliper": int(m * 0.06), "lost": 12}
        for name, m in zip(names, size.tolist(), strict=True)
    }
    changed = replace(
        decision,
        physicians=rows_of(table, PhysicianRow),
        verdict="levels and ranks",
        verdict_reasons=("halves of the data agree",),
        n_physicians=n,
        n_reportable=n - n // 10,
        diagnostics=replace(decision.diagnostics, overlap=overlap, attrition=parts),
    )
    return replace(published, decisions=(changed,))
