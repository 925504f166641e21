"""Self-contradiction by its definition, and beside a bound."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import intravar
from intravar.errors import InputError
from intravar.estimators.repeats import one_occasion

rows = st.lists(
    st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.integers(0, 1)),
    min_size=1,
    max_size=30,
)


@given(rows)
def test_equals_the_count_of_pairs(table):
    who, case, y = (list(column) for column in zip(*table, strict=True))
    found = intravar.Repeats().fit(case, y, who)
    for name, score in zip(found.physicians_, found.score_, strict=True):
        shares = []
        for each in sorted({c for w, c, _ in table if w == name}):
            seen = [d for w, c, d in table if w == name and c == each]
            if len(seen) > 1:
                pairs = list(combinations(seen, 2))
                shares.append(sum(a != b for a, b in pairs) / len(pairs))
        assert score == pytest.approx(np.mean(shares)) if shares else np.isnan(score)


def test_intervals_cover():
    random = np.random.default_rng(0)
    p = random.uniform(0.5, 1, 300)
    who, case = np.repeat(np.arange(300), 100), np.tile(np.repeat(np.arange(50), 2), 300)
    y = (random.random(30_000) < p[who]).astype(int)
    found = intravar.Repeats().fit(case, y, who)
    truth = 2 * p * (1 - p)
    order = [int(name) for name in found.physicians_]
    held = (found.low_ <= truth[order]) & (truth[order] <= found.high_)
    assert 0.92 < held.mean() < 0.98
    assert found.overall_ == pytest.approx(truth.mean(), abs=0.01)


def test_beside_the_bound():
    model = intravar.Repeats().fit(list("aabb"), [0, 1, 1, 1], ["Ada"] * 4)
    profile = pl.DataFrame(
        {"physician": ["Ada", "Ben"], "score": [0.8, 0.1], "score_high": [0.9, 0.2]}
    )
    row = model.beside(profile).row(0, named=True)
    assert row["repeats"] == 0.5
    assert row["unexplained"] == pytest.approx(0.3)
    assert row["share_unexplained"] == pytest.approx(0.375)
    assert row["holds"]
    with pytest.raises(InputError, match="no column 'score_high'"):
        model.beside(profile.drop("score_high"))


def test_nothing_seen_twice_and_bad_input():
    model = intravar.Repeats().fit(["a", None, None], [0, 1, 1], ["Ada", "Ada", "Ada"])
    assert model.reason_ == ["no case was seen twice"]
    assert model.profile_["score"].to_list() == [None]
    with pytest.raises(InputError, match="case has 2 entries for 3 decisions"):
        intravar.Repeats().fit(["a", "b"], [0, 1, 1], ["Ada"] * 3)
    with pytest.raises(InputError, match="no decisions"):
        intravar.Repeats().fit([], [], [])
    assert one_occasion(["a", "a", "b"], ["Ada", "Ben", "Ada"]).tolist() == [0, 1, 2]
