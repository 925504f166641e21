"""Figures are those of everybody measured: bands count, and nothing is rounded twice."""

from functools import cache, partial

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intravar.estimators.evidence import Decisions
from intravar.estimators.noise import COMPONENTS, Noise, Unidentified
from intravar.inference import discordance_interval, rank_normal, ranking
from intravar.inference.group import Group, group_of
from intravar.measurement.scores import Scores, result_table
from intravar.measurement.sentences import differences_sentence
from intravar.publication.group import group_of_shown, published_noise, rounded_spread, spread_steps
from intravar.publication.hiding import PublishedScores, upwards
from intravar.publication.policy import FINE, STEPS


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


def shown(scores: Scores, secret: float = 0.5) -> PublishedScores:
    secrets = np.full(len(scores.physician), secret)
    return PublishedScores(scores, Decisions(), min_reliability=0.0, secrets=secrets)


def test_what_is_below_the_limit_of_reliability_is_not_published_as_the_limit() -> None:
    scores = counted([60, 80, 100, 120, 300, 400], [15, 30, 40, 70, 60, 200])
    exact = result_table(scores, min_panel=30, min_reliability=0.0, determined=scores.determined)
    values = exact["reliability"].to_list()
    (limit, *_) = [round(value, 3) for value in values if round(value, 3) > value]
    table = PublishedScores(scores, Decisions(), min_reliability=limit).table
    unranked = table.filter(pl.col("reason").str.contains("reliability below"))
    assert unranked.height
    assert (unranked["reliability"] < limit).all()


def noise(level: float, pattern: float, occasion: float) -> Noise:
    system, both = level + pattern + occasion, pattern + occasion
    values = dict(zip(COMPONENTS, (system, level, pattern, occasion, both), strict=True))
    rows = [(name, value, value, value) for name, value in values.items()]
    table = pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row")
    return Noise(**values, reason=None, patients_needed=100, table=table)


def unsplit_noise() -> Noise:
    rows = [
        ("system", 0.2, 0.19, 0.21),
        ("level", 0.02, 0.01, 0.03),
        ("pattern", None, 0.031, 0.21),
        ("occasion", None, 0.0, 0.152),
        ("pattern_and_occasion", 0.18, 0.17, 0.19),
    ]
    return Noise(
        system=0.2,
        level=0.02,
        pattern=None,
        occasion=None,
        pattern_and_occasion=0.18,
        reason=Unidentified.SMALL_PANELS,
        patients_needed=132,
        table=pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row"),
    )


def test_who_has_a_band_counts_in_ranks_and_shrinkage() -> None:
    few = [3] * 12  # decided for: hidden, and told as "at most 0.25"
    many = [60, 70, 80, 90, 100]
    told = shown(counted([60] * 12 + [200] * 5, few + many))
    assert told.table["band_low"].to_list()[:12] == [0.0] * 12
    assert told.table["band_high"].to_list()[:12] == [0.25] * 12
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


@given(st.floats(0.0, 0.5), st.sampled_from(STEPS), st.floats(0.0, 0.999))
def test_a_limit_is_never_rounded_down(limit: float, step: float, phase: float) -> None:
    rounded = upwards(limit, step, phase)
    assert rounded is not None
    assert limit - 1e-6 <= rounded <= min(limit + 2 * step + 1e-6, 0.5)
    plain = upwards(limit, step)
    assert plain is not None
    assert plain < limit + step + 1e-6


def test_noise_is_rounded_once() -> None:
    told = published_noise(noise(0.01, 0.02, 0.131), 0.001)
    assert told is not None
    assert told.occasion.value == 0.13
    assert round(200 * (told.occasion.value or 0)) == 26


def test_published_components_add_up_and_lie_in_their_intervals() -> None:
    told = published_noise(noise(0.017, 0.003, 0.118), 0.05)
    assert told is not None
    values = [figure.value or 0.0 for figure in told.parts.values()]
    assert told.system.value == pytest.approx(sum(values))
    for figure in (told.system, *told.parts.values()):
        assert (figure.low or 0.0) <= (figure.value or 0.0) <= (figure.high or 0.0) <= 0.25


def test_noise_that_is_not_split_is_published_with_its_reason_and_limits() -> None:
    told = published_noise(unsplit_noise(), 0.001)
    assert told is not None
    assert (told.pattern.value, told.occasion.value) == (None, None)
    assert told.reason == "small panels"
    assert list(told.parts) == ["level", "pattern_and_occasion"]
    assert told.system.value == pytest.approx(0.2)
    assert (told.pattern.low or 0.0) <= 0.031
    assert (told.occasion.high or 0.0) >= 0.152


@st.composite
def groups(draw: st.DrawFn) -> tuple[Group, float]:
    """Draw what was found of all physicians, and what matters."""
    n = draw(st.integers(2, 12))
    score = np.array(draw(st.lists(st.floats(0.0, 0.5), min_size=n, max_size=n)))
    size = np.array(draw(st.lists(st.integers(20, 100_000), min_size=n, max_size=n)))
    near = draw(st.sampled_from([1.0, 0.1, 0.02]))
    matters = draw(st.sampled_from([0.005, 0.02, 0.1]))
    error = np.sqrt(0.1 / size)
    found = group_of(0.2 + near * (score - 0.2), error, size, matters=matters)
    assert found is not None
    return found, matters


@given(groups(), groups(), st.sampled_from([0.001, 0.005, 0.01, 0.1]), st.floats(0.0, 0.999))
@settings(max_examples=60, deadline=None)
def test_spread_word_test_and_sentence_never_contradict_each_other(
    drawn: tuple[Group, float], other: tuple[Group, float], step: float, phase: float
) -> None:
    found, matters = drawn
    told = rounded_spread(found, other[0], (step, step, 2 * step), phase, matters)
    if told.value is None:  # what may be told of each shows no differences
        assert 2 * step > FINE
        assert found.spread_low > 0 == other[0].spread_low
        return
    spread, low, high = told.value, told.low or 0.0, told.high or 0.0
    assert 0 <= low <= spread <= high
    assert (low > 0) == (found.p_value < 0.05)
    if found.differences == "less than matters":
        assert spread < matters
    else:
        assert (found.differences == "differ") == (low > 0)
        assert high >= matters
        assert found.differences != "differ" or spread >= matters
    if 2 * step <= FINE:
        assert abs(spread - found.spread) <= step + 1e-9
    assert found.differences is not None
    said = differences_sentence(found.differences, spread, low, high, matters=matters)
    if "standard deviation" in said:
        begins = float(said.split("[")[1].split(",")[0])
        assert (begins > 0) == (low > 0)
        assert ("if at all" in said) <= (low == 0)


@given(
    st.lists(st.tuples(st.integers(120, 900), st.integers(20, 80)), min_size=2, max_size=8),
    st.integers(30, 600),
    st.integers(1, 10),
    st.floats(0.0, 0.999),
)
@example(
    [(126, 79), (261, 69), (265, 57), (276, 20), (573, 33), (560, 56), (597, 63), (787, 67)],
    50,
    5,
    0.0,
)
@settings(max_examples=25, deadline=None)
def test_the_spread_of_everybody_tells_no_hidden_count(
    others: list[tuple[int, int]], n: int, k: int, phase: float
) -> None:
    """The attacker knows everybody else, and tries all small counts and secrets."""

    @cache
    def measured(guess: int, secret: float) -> tuple[Group, Group, tuple[float, ...]]:
        scores = counted([n, *(size for size, _ in others)], [guess, *(few for _, few in others)])
        found = group_of(scores.discordance, scores.interval.standard_error, scores.n_patients)
        assert found is not None
        with pytest.MonkeyPatch.context() as patch:  # nobody looks at ranks here
            patch.setattr(ranking, "rank_normal", partial(rank_normal, n_draws=2))
            told = shown(scores, secret)
        steps = spread_steps(told)
        return found, group_of_shown(told, 0.5) or found, steps

    def published(guess: int, point: float, secret: float = 0.5) -> object:
        found, known, steps = measured(guess, secret)
        return found.differences, rounded_spread(found, known, steps, point, 0.02)

    seen = published(k, phase)
    near = [guess for guess in (k - 1, k + 1, k - 2, k + 2) if guess >= 0]
    # The attacker knows no point and goes through all of them.
    points = (phase, *np.linspace(0.0, 0.999, 400).tolist())
    assert any(
        published(guess, point, secret) == seen
        for guess in near
        for secret in (0.5, 0.0, 0.999)
        for point in points
    )
