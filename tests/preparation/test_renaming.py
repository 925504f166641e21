"""What physicians are called moves nothing but their names."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intravar
from intravar.observed import Observed
from intravar.panels import in_content_order

ASKED = {"physician": "physician", "decision": "decision"}


def renamed(table: pl.DataFrame, seed: int) -> tuple[pl.DataFrame, dict[str, str]]:
    names = table["physician"].unique().sort().to_list()
    order = np.random.default_rng(seed).permutation(len(names))
    others = {name: f"doctor {place}" for name, place in zip(names, order, strict=True)}
    return table.with_columns(pl.col("physician").replace_strict(others)), others


@pytest.mark.parametrize("method", ["euclidean", "predictability"])
def test_renaming_physicians_moves_no_figure(method: str) -> None:
    table = intravar.simulate("score2", n_patients=360, n_physicians=6, random_state=3).to_polars()
    other, names = renamed(table, 1)
    found = intravar.measure(table, method=method, **ASKED)
    again = intravar.measure(other, method=method, **ASKED)
    told = found.physicians.with_columns(pl.col("physician").replace_strict(names))
    assert told.sort("physician").equals(again.physicians.sort("physician"))
    assert str(found.halves) == str(again.halves)
    assert found.verdict == again.verdict
    assert str(found.noise) == str(again.noise)
    # For a reader they stand in the order of their names.
    assert found.physicians["physician"].is_sorted()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), min_size=2))
def test_order_by_content_alone(rows: list[tuple[int, int, int]]) -> None:
    x, y, who = (np.array(each) for each in zip(*rows, strict=True))
    one, kept = in_content_order(Observed.of(x[:, None].astype(float), y, who))
    # Other names, in another order, of the same panels.
    other, _ = in_content_order(Observed.of(x[::-1, None].astype(float), y[::-1], 9 - who[::-1]))
    assert one.covariates.tolist() == other.covariates.tolist()
    assert one.decision.tolist() == other.decision.tolist()
    assert one.code.tolist() == other.code.tolist()
    assert [one.physicians[code] for code in one.code] == who[kept].tolist()


def test_renaming_draws_the_same_panels() -> None:
    table = intravar.simulate(
        "score2", n_patients=3_000, n_physicians=60, random_state=3
    ).to_polars()
    # Panels of one size: what they hold tells them apart.
    table = table.group_by("physician").head(40)
    other, names = renamed(table, 2)
    drawn = []
    for each in (table, other):
        found = intravar.check(each, sample=1_000, **ASKED)
        assert found.beyond is not None
        drawn.append({*found.prepared.observed.physicians})
    assert {names[name] for name in drawn[0]} == drawn[1]
