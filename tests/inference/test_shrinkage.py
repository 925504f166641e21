"""Between variance and shrinkage, beside formulas, a peer and published numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.meta_analysis import combine_effects

from intravar.errors import InputError
from intravar.inference import (
    between_variance,
    rank_normal,
    share_interval,
    shrink,
    shrink_again,
)
from intravar.inference.shrinkage import effective_count, from_scale, to_scale

profiles = st.lists(st.tuples(st.floats(-3, 3), st.floats(0.05, 2.0)), min_size=2, max_size=30).map(
    lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True))
)

# The 13 trials of the BCG vaccine (Colditz et al., JAMA 1994;271:698-702): cases and others,
# vaccinated and not. The between variance of the log relative risk is the root of the equation of
# Paule and Mandel, in which statsmodels agrees.
BCG = np.array(
    [
        (4, 119, 11, 128),
        (6, 300, 29, 274),
        (3, 228, 11, 209),
        (62, 13536, 248, 12619),
        (33, 5036, 47, 5761),
        (180, 1361, 372, 1079),
        (8, 2537, 10, 619),
        (505, 87886, 499, 87892),
        (29, 7470, 45, 7232),
        (17, 1699, 65, 1600),
        (186, 50448, 141, 27197),
        (5, 2493, 3, 2338),
        (27, 16886, 29, 17825),
    ]
)


def test_published_numbers():
    a, b, c, d = BCG.T.astype(float)
    estimate = np.log(a / (a + b)) - np.log(c / (c + d))
    error = np.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d))
    assert between_variance(estimate, error) == pytest.approx(0.3181, abs=6e-5)


@settings(max_examples=60, deadline=None)
@given(profiles)
def test_equals_peer(profile):
    y, s = profile
    peer = combine_effects(y, s**2, method_re="iterated")
    assert between_variance(y, s) == pytest.approx(max(peer.tau2, 0), rel=1e-3, abs=1e-5)


def test_shrinkage_beats_raw_scores_and_its_intervals_hold():
    random = np.random.default_rng(1)
    raw, better, inside = [], [], []
    for _ in range(200):
        s = random.uniform(0.05, 0.25, 30)
        theta = random.normal(0.3, 0.1, 30)
        y = theta + s * random.standard_normal(30)
        found = shrink(y, s)
        raw.append(np.mean((y - theta) ** 2))
        better.append(np.mean((found.value - theta) ** 2))
        inside.append(np.mean((found.low <= theta) & (theta <= found.high)))
    assert np.mean(better) < 0.5 * np.mean(raw)
    # For known tau it would be 0.95; with 30 physicians tau is often taken for too small.
    assert 0.91 < np.mean(inside) < 0.97


def test_shares_are_best_shrunk_on_the_arcsine_scale():
    random = np.random.default_rng(2)
    error = {"raw": 0.0, "plain": 0.0, "discordance": 0.0}
    for _ in range(100):
        n, theta = random.integers(20, 90, 50), random.uniform(0.0, 0.2, 50)
        share = random.binomial(n, theta) / n
        noise = share_interval(share * n, n).standard_error
        error["raw"] += float(np.mean((share - theta) ** 2))
        for scale in ("plain", "discordance"):
            value = from_scale(shrink(*to_scale(share, noise, scale)).value, scale)
            error[scale] += float(np.mean((value - theta) ** 2))
    assert error["discordance"] < error["plain"] < error["raw"]


def test_scales_return():
    share, n = np.array([0.0, 0.1, 0.5, 1.0]), np.array([30, 400, 7, 12])
    noise = share_interval(share * n, n).standard_error
    np.testing.assert_allclose(effective_count(share, noise), n, rtol=1e-6)
    value, error = to_scale(share, noise, "discordance")
    np.testing.assert_allclose(error, 1 / np.sqrt(4 * n + 2))
    np.testing.assert_allclose(from_scale(value, "discordance"), share, atol=0.05)
    assert to_scale([0.2], [0.0], "discordance")[1].item() == 0
    log, error = to_scale([2.0], [0.1], "overdispersion")
    assert from_scale(log, "overdispersion").item() == pytest.approx(2)
    assert error.item() == pytest.approx(0.05)
    with pytest.raises(InputError, match="unknown scale"):
        to_scale([1], [1], "logit")


def test_edges():
    one = shrink([0.3], [0.1])
    assert one.value.tolist() == [0.3]
    assert np.isnan(one.between_variance)
    assert shrink([], []).value.size == 0
    equal = shrink([0.3] * 5, [0.1] * 5)
    assert equal.between_variance == 0
    np.testing.assert_allclose(equal.value, 0.3)
    assert (equal.spread == 0).all()
    assert (equal.standard_error > 0).all()
    exact = shrink([0.1, 0.3, 0.5], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(exact.value, [0.1, 0.3, 0.5])
    assert exact.between_variance == pytest.approx(0.04, rel=1e-6)
    same = shrink([0.2, 0.2], [0.0, 0.0])
    np.testing.assert_allclose(same.value, 0.2)
    assert same.between_variance == 0
    with pytest.raises(InputError, match="physician 1 has estimate nan"):
        shrink([0.1, np.nan], [0.1, 0.1])
    with pytest.raises(InputError, match="one entry of each"):
        shrink([0.1, 0.2], [0.1])


def shrunk_by_the_method(n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return true values, unshrunk scores, scores shrunk by their own errors, and the errors."""
    random = np.random.default_rng(seed)
    true = 0.3 + 0.04 * random.standard_normal(n)
    error = np.full(n, 0.06)
    raw = true + error * random.standard_normal(n)
    kept = 0.04**2 / (0.04**2 + error**2)
    return true, raw, 0.3 + kept * (raw - 0.3), error


def test_scores_that_a_method_has_shrunk_are_not_shrunk_twice():
    true, raw, score, error = shrunk_by_the_method(4000, seed=1)
    found = shrink_again(score, raw, error)
    assert np.polyfit(found.value, true, 1)[0] == pytest.approx(1, abs=0.12)
    np.testing.assert_allclose(found.value, score, atol=0.01)
    inside = (found.low <= true) & (true <= found.high)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)
    twice = shrink(score, error)
    assert twice.between_variance == 0  # what was done before


def test_scores_that_no_method_has_shrunk_are_shrunk_once():
    _, raw, _, error = shrunk_by_the_method(50, seed=2)
    once = shrink(raw, error)
    again = shrink_again(raw, raw, error)
    np.testing.assert_allclose(again.value, once.value)
    np.testing.assert_allclose(again.spread, once.spread)
    np.testing.assert_allclose(again.low, once.low)


def test_ranks_of_shrunk_scores_cover_true_ranks():
    held = []
    for seed in range(60):
        true, raw, score, error = shrunk_by_the_method(40, seed=100 + seed)
        found = shrink_again(score, raw, error)
        if found.between_variance == 0:
            continue
        ranks = rank_normal(found.value, found.spread, n_draws=1000, random_state=seed)
        place = true.argsort().argsort() + 1
        held.append(np.mean((ranks.low <= place) & (place <= ranks.high)))
    # Draws that ended without any spread are not ranked, and the spread of the others is uncertain.
    assert 0.9 < np.mean(held) < 0.99


def test_without_spread_all_shrunk_scores_are_alike():
    score = np.linspace(0.29, 0.31, 12)
    found = shrink_again(score, np.full(12, 0.3), np.full(12, 0.05))
    assert found.between_variance == 0
    assert np.ptp(found.value) == 0
    assert shrink_again([0.2], [0.3], [0.05]).value.tolist() == [0.2]
