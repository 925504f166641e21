"""Personal rules: kernels against their literal twins, posteriors, and what is said when lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from intravar.latent.decided import Decided
from intravar.latent.personal import chain_kernel as kernel
from intravar.latent.personal.contest import log_score
from intravar.latent.personal.heterogeneity import RIDGE, most_personal, own_rule_evidence
from intravar.latent.personal.limit_kernel import draw_rules, eligible_under, rule_log_evidence
from intravar.latent.personal.limit_rules import _drawn, level_of, weigh_limit_rules
from intravar.latent.personal.linear_rules import ChainSettings, sample_linear_rules
from intravar.latent.personal.panel_rows import by_physician, design_of, standardised
from intravar.latent.personal.unfollowed import safe_interval
from reference import personal as literal

SHORT = ChainSettings(burn_in=120, sweeps=120, n_camps=2)


def table(a, b, most):
    k = np.arange(most + 1)
    return np.stack([gammaln(c + k) - gammaln(c) for c in (a, b, a + b)])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30), levels=st.integers(1, 4))
def test_evidence_of_every_limit_rule(seed, n, levels):
    random = np.random.default_rng(seed)
    bins, y = random.integers(0, levels, (n, 3)), random.integers(0, 2, n)
    pairs = np.array([(1, 0), (2, 0), (2, 1)])
    high, low = (3.5, 1.2), (0.8, 7.0)
    found = rule_log_evidence(bins, y, pairs, levels, table(*high, n), table(*low, n))
    np.testing.assert_allclose(
        found, literal.rule_log_evidence(bins, y, pairs, levels, high, low), rtol=1e-9, atol=1e-9
    )
    rules = np.arange(len(found))
    expected = [[rule(row) for row in bins] for rule in literal.limit_rules(levels, pairs)]
    np.testing.assert_array_equal(eligible_under(bins, rules, pairs, levels), expected)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 120),
    levels=st.integers(1, 40),
    columns=st.integers(2, 5),
    point=st.floats(0, 1, exclude_max=True),
)
def test_rules_are_drawn_by_the_evidence_of_every_one(seed, n, levels, columns, point):
    """Rules with the same counts are weighed once, and each is drawn as if it had been weighed."""
    random = np.random.default_rng(seed)
    bins = random.integers(0, levels, (n, columns))
    y = (random.random(n) < np.where(2 * bins[:, 0] >= levels, 0.9, 0.1)).astype(np.int64)
    pairs = np.array([(a, b) for a in range(columns) for b in range(a)])
    tables = table(3.5, 1.2, n), table(0.8, 7.0, n)
    evidence = rule_log_evidence(bins, y, pairs, levels, *tables)
    expected, eligible = _drawn(evidence, point, bins, y, pairs, levels)
    rules, counts = draw_rules(bins, y, pairs, levels, *tables, point, len(expected))
    # Rounding may part two neighbours whose sum a draw hits exactly.
    assert np.mean(rules == expected) > 0.98
    np.testing.assert_array_equal(counts[rules == expected], eligible[rules == expected])


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 300),
    scale=st.sampled_from([0.1, 5.0, 60.0]),
    high=st.floats(0.3, 1 - 1e-6),
    low=st.floats(1e-6, 0.29),
)
def test_likelihood_of_a_panel(seed, n, scale, high, low):
    random = np.random.default_rng(seed)
    eta, y = scale * random.normal(size=n), random.integers(0, 2, n)
    expected = literal.panel_log_likelihood(eta, y, high, low)
    assert kernel.panel_log_likelihood(eta, y, high, low) == pytest.approx(expected, rel=1e-9)
    ellipse = (np.zeros(n), np.zeros(n), eta)
    found = kernel._along(ellipse, np.pi / 2, y, high, low, -np.inf)
    assert found == pytest.approx(expected, rel=1e-9)
    # Below its floor it may end early, but never claims to be above.
    assert kernel._along(ellipse, np.pi / 2, y, high, low, expected + 1) <= expected + 1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), panels=st.integers(1, 6), width=st.integers(1, 4))
def test_evidence_of_own_slopes(seed, panels, width):
    random = np.random.default_rng(seed)
    n = 12 * panels
    z, y = random.normal(size=(n, width)), random.integers(0, 2, n)
    who, q = random.integers(0, panels, n), random.uniform(0.05, 0.95, n)
    who = np.unique(who, return_inverse=True)[1]
    decided = Decided(y, who, int(who.max()) + 1)
    assert own_rule_evidence(z, decided, q) == pytest.approx(
        literal.own_rule_evidence(z, y, who, q, RIDGE), rel=1e-6, abs=1e-6
    )


def test_moves_leave_the_posterior_as_it_is():
    """Both kinds of ellipse and the draws of rates, against weighed draws from the prior."""
    random = np.random.default_rng(3)
    n, spread, laws = 40, 2.0, ((4.0, 1.5), (1.0, 6.0))
    x = random.normal(size=n)
    y = (random.random(n) < np.where(x > 0, 0.8, 0.1)).astype(np.int64)
    design = np.column_stack([np.ones(n), x])
    high, low, worth = literal.posterior_of_rates(design, y, spread, *laws, random)
    assert worth > 1_000
    rows = by_physician(design, Decided(y, np.zeros(n, dtype=np.int64), 1))
    chain = kernel.Chain(
        weights=np.zeros((1, 2)),
        eta=np.zeros(n),
        high=np.array([0.7]),
        low=np.array([0.2]),
        camp=np.zeros(1, dtype=np.int64),
        laws=np.ones((1, 5)),
    )
    population = kernel.Population(np.zeros((1, 2)), np.full((1, 2), spread), np.zeros(1))
    near = np.array([[[1.5, 0.3], [0.0, 1.2]]])
    cover = near @ np.swapaxes(near, 1, 2)
    factor = np.linalg.cholesky(cover)
    reference = kernel.Reference(np.array([[0.0, 2.0]]), factor, np.linalg.inv(cover))
    found = []
    for _ in range(12_000):
        kernel.move_by_prior(rows, chain, population, random)
        kernel.move_by_reference(rows, chain, population, reference, random)
        kernel.draw_rates(rows, chain, *laws, random)
        found.append((chain.high[0], chain.low[0]))
        np.testing.assert_allclose(chain.eta, rows.design @ chain.weights[0], atol=1e-6)
    mean = np.mean(found, axis=0)
    assert mean == pytest.approx([high, low], abs=0.012)


def two_camps(random, n_physicians=8, panel=250):
    n = n_physicians * panel
    x, who = random.normal(size=(n, 4)), np.repeat(np.arange(n_physicians), panel)
    eligible = np.where(who % 2, x[:, 0] + 0.5 * x[:, 1] > 0, x[:, 2] > 0.2)
    p = np.linspace(0.55, 1, n_physicians)
    y = (random.random(n) < np.where(eligible, p[who], 0.03)).astype(np.int64)
    return x, Decided(y, who, n_physicians), p


def test_camps_are_found():
    random = np.random.default_rng(5)
    x, decided, p = two_camps(random)
    rows = by_physician(np.column_stack([np.ones(len(x)), x]), decided)
    found = sample_linear_rules(rows, ChainSettings(160, 120, n_camps=3), random)
    assert len({*found.camp[::2]} & {*found.camp[1::2]}) == 0
    high, low = found.draws.mean_rates()
    assert np.abs(high - p).mean() < 0.03
    assert np.abs(low - 0.03).mean() < 0.02
    d_low, d_high = found.draws.eligible_discordance().interval(0.95)
    truth = 2 * p * (1 - p)
    assert np.mean((d_low <= truth) & (truth <= d_high)) >= 0.75


def test_limits_are_found():
    random = np.random.default_rng(6)
    n, p = 2_400, np.array([0.95, 0.85, 0.7, 0.6])
    x, who = random.normal(size=(n, 4)), np.repeat(np.arange(4), n // 4)
    limit = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])[who]
    eligible = (np.take_along_axis(x, limit, axis=1) > -0.3).all(axis=1)
    y = (random.random(n) < np.where(eligible, p[who], 0.03)).astype(np.int64)
    found = weigh_limit_rules(level_of(x), Decided(y, who, 4), random)
    assert np.abs(found.draws.mean_rates()[0] - p).max() < 0.06
    q, g = found.predict(level_of(x), who)
    assert np.mean((g > 0.5) == eligible) > 0.97
    assert log_score(q, y) > log_score(np.full(n, y.mean()), y) + 300


@pytest.mark.parametrize("settle", ["constant", "missing", "huge", "copied"])
def test_designs_of_all_sorts(settle):
    random = np.random.default_rng(7)
    x = random.normal(size=(60, 3))
    if settle == "constant":
        x[:, 1] = 0.1
    elif settle == "missing":
        x[random.random(x.shape) < 0.3] = np.nan
    elif settle == "huge":
        x *= 1e29
    else:
        x[:] = x[0]
    z = standardised(x)
    assert np.isfinite(z).all()
    design = design_of(z, np.zeros(60))
    decided = Decided(random.integers(0, 2, 60), np.repeat(np.arange(3), 20), 3)
    found = sample_linear_rules(by_physician(design, decided), SHORT, random)
    assert np.isfinite(found.predict(design, decided.physician)[0]).all()


@pytest.mark.parametrize("y", [np.zeros(9), np.ones(9), np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])])
def test_panels_of_one_patient(y):
    random = np.random.default_rng(8)
    decided = Decided(y.astype(np.int64), np.arange(9), 9)
    z = random.normal(size=(9, 2))
    design = design_of(z, np.zeros(9))
    chains = sample_linear_rules(by_physician(design, decided), SHORT, random)
    limits = weigh_limit_rules(level_of(z), decided, random)
    for found in (chains.draws, limits.draws):
        low, high = found.eligible_discordance().interval(0.95)
        assert (low <= high).all()
        assert (high - low > 0.2).all()


def test_columns_that_physicians_use_differently_come_first():
    random = np.random.default_rng(9)
    z, who = random.normal(size=(2_000, 6)), np.repeat(np.arange(10), 200)
    own = np.where(who % 2, 1, -1) * z[:, 4] + z[:, 1]
    y = (random.random(2_000) < 1 / (1 + np.exp(-2 * own))).astype(np.int64)
    kept = most_personal(z, Decided(y, who, 10), np.full(2_000, 0.5), 1)
    np.testing.assert_array_equal(kept[:, 0], z[:, 4])


def test_the_safe_interval_holds_whatever_the_rule():
    random = np.random.default_rng(10)
    held = []
    for _ in range(40):
        p = random.uniform(0.5, 1, 20)
        who = np.repeat(np.arange(20), 100)
        eligible = random.random(2_000) < 0.5
        y = (random.random(2_000) < np.where(eligible, p[who], 0.02)).astype(np.int64)
        # a prediction that knows half of the rule
        q = np.where(random.random(2_000) < 0.5, eligible, 0.5) * 0.8
        low, high = safe_interval(q, Decided(y, who, 20), 0.95)
        truth = 2 * p * (1 - p)
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(held) > 0.97
