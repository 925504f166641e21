"""What may be read off a measurement, test by test; and that it claims no more than it should."""

import warnings
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from benchmarks._cohorts import (
    Case,
    coins_and_clockwork,
    no_clear_cases,
    own_exclusive_or,
    pure_noise,
)
from scipy.stats import spearmanr

import intravar
from dependent_rows import visits
from intravar.estimators import predictability
from intravar.estimators.evidence import (
    PAIR_SCHEMA,
    Decisions,
    EligibleRates,
    Pairs,
    Predictions,
    RepeatedCases,
)
from intravar.inference import Interval
from intravar.inference.group import Explained, Group, group_of
from intravar.inference.intervals import TwoHalves
from intravar.latent.rates import Anchors
from intravar.measurement import halves
from intravar.measurement import verdict as limits
from intravar.measurement.diagnostics import case_mix
from intravar.measurement.grounds import Appraisal, agreement_with, appraise, order_of_patients
from intravar.measurement.halves import Halves, doubts, widen
from intravar.measurement.measure import fit_method
from intravar.measurement.rule import suggest_rule
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import UNRANKED, Grounds, Level, RankCounts, judge
from intravar.observed import Observed
from intravar.preparation.check import checked
from intravar.request import Request

NOBODY = np.empty(0)
PREDICTIONS = Predictions(NOBODY, NOBODY, NOBODY, NOBODY)
GROUP = Group(
    *(0.2, 0.18, 0.22, 0.05, 0.03, 0.08, 0.001, 20),
    reliability=0.7,
    differences="differ",
    explained=Explained(0.4, 0.35, 0.45, 0.4),
)
HALVES = Halves(0.8, 1.0, 0.02, 0.0, 0.0)
SOUND = Grounds(PREDICTIONS, GROUP, HALVES, 12.0)


def rates(
    width: float = 0.0, *, follows: bool = True, rule: bool = True, clear: float = 0.8
) -> EligibleRates:
    """Return evidence of the latent rule, with a range of levels that fit equally well."""
    low = np.full(3, 0.2)
    anchors = Anchors(0.4, 0.4, clear, 0.8, low, low + width) if rule else None
    core = np.ones(3, dtype=np.bool_)
    return EligibleRates(low, low, low, low, core, anchors, follows)


def explaining(share: float) -> Group:
    """Return the group where the record explains so much."""
    return replace(GROUP, explained=Explained(share, share - 0.05, share + 0.05, share))


def ranking(n_ranked: int, *, of: int, width: float = 0.5) -> Grounds:
    """Return grounds in which some of the physicians with a figure have a rank."""
    counts = RankCounts(n_ranked=n_ranked, n_with_figure=of, median_width=width)
    return replace(SOUND, ranked=counts)


def pairs() -> Pairs:
    nobody = np.empty(0, dtype=np.int64)
    return Pairs(nobody, nobody, pl.DataFrame(schema=PAIR_SCHEMA), NOBODY, pl.DataFrame())


@pytest.mark.parametrize(
    ("grounds", "level", "word"),
    [
        (SOUND, "upper limits and ranks", "same order"),
        (replace(SOUND, leaks=("dose",)), "not interpretable", "'dose' gives the decision away"),
        (replace(SOUND, group=None), "not interpretable", "nobody has a score"),
        (replace(SOUND, rule_found=3.9), "group only", "no rule was found"),
        (replace(SOUND, rule_found=3.9), "group only", "any two patients of one physician"),
        (
            replace(SOUND, group=replace(GROUP, differences="not known")),
            "group only",
            "too small to tell from chance",
        ),
        (
            replace(SOUND, group=replace(GROUP, differences="less than matters")),
            "group only",
            "smaller than the smallest relevant difference",
        ),
        (replace(SOUND, group=explaining(0.05)), "group only", "explains hardly anything"),
        (replace(SOUND, group=explaining(-0.02)), "group only", "explains hardly anything"),
        (
            Grounds(rates(), replace(GROUP, explained=None), HALVES, 12.0, explained=0.03),
            "group only",
            "explains hardly anything",
        ),
        (
            replace(SOUND, group=replace(GROUP, explained=Explained(0.6, 0.5, 0.7, 0.05))),
            "group only",
            "decisions of a usual physician vary",
        ),
        (
            replace(SOUND, group=explaining(0.15), with_rates=0.9),
            "group only",
            "told from one by rates, in which physicians whose rate is nearer to one half",
        ),
        (replace(SOUND, group=explaining(0.15), with_rates=0.7), "upper limits", "same order"),
        (
            replace(SOUND, group=replace(explaining(0.15), n_physicians=6), with_rates=0.7),
            "group only",
            "(rank correlation 0.7, and by chance as much as 0.9)",
        ),
        (
            replace(SOUND, group=replace(explaining(0.2), n_physicians=6), with_rates=0.7),
            "upper limits",
            "same order",
        ),
        (replace(SOUND, group=explaining(0.25), with_rates=0.9), "upper limits", "same order"),
        (replace(SOUND, evidence=Decisions()), "group only", "the rate alone"),
        (replace(SOUND, group=replace(GROUP, n_physicians=1)), "group only", "one physician"),
        (ranking(0, of=2), "group only", "too little is known of single physicians"),
        (ranking(1, of=1), "group only", "too little is known of single physicians"),
        (ranking(2, of=2), "upper limits", "same order"),
        (ranking(2, of=16), "group only", "too little is known of single physicians"),
        (ranking(7, of=15), "group only", "too little is known of single physicians"),
        (ranking(8, of=16), "upper limits", "same order"),
        (ranking(16, of=16, width=0.86), "group only", "span nearly all ranks"),
        (ranking(16, of=16, width=0.84), "upper limits", "same order"),
        (replace(SOUND, halves=None), "group only", "too small to be halved"),
        (
            replace(SOUND, halves=replace(HALVES, agreement=0.0)),
            "group only",
            "(reliability 0.47)",
        ),
        (replace(SOUND, halves=replace(HALVES, agreement=0.2)), "upper limits", "0.53"),
        (
            replace(SOUND, group=replace(GROUP, reliability=0.3)),
            "group only",
            "(reliability 0.47)",
        ),
        (replace(SOUND, case_mix=0.4), "group only", "see different patients"),
        (replace(SOUND, with_patients=0.9), "group only", "may come from which patients each sees"),
        (replace(SOUND, with_patients=0.6), "upper limits", "same order"),
        (replace(SOUND, agreement=0.2), "group only", "another order"),
        (replace(SOUND, evidence=rates(), over_limits=-1.0), "group only", "the lenient"),
        (replace(SOUND, evidence=rates(), over_limits=1.0), "levels and ranks", "same order"),
        (
            replace(SOUND, evidence=rates(clear=0.1)),
            "group only",
            "only 10 % of those",
        ),
        (replace(SOUND, agreement=0.4), "upper limits and ranks", "same order"),
        (replace(SOUND, halves=replace(HALVES, pull=0.12)), "upper limits", "same order"),
        (replace(SOUND, halves=replace(HALVES, overlap=0.8)), "ranks only", "overlap for 80 %"),
        (replace(SOUND, evidence=pairs()), "ranks only", "never quite alike"),
        (replace(SOUND, evidence=rates()), "levels and ranks", "same order"),
        (replace(SOUND, evidence=rates(0.2)), "ranks only", "clear cases are missing"),
        (replace(SOUND, evidence=rates(follows=False)), "group only", "rules of their own"),
        (replace(SOUND, evidence=rates(), halves=replace(HALVES, pull=0.12)), "levels", "same"),
        (
            Grounds(RepeatedCases(NOBODY, NOBODY), GROUP, None, np.inf),
            "levels and ranks",
            "decided twice",
        ),
    ],
)
def test_every_test_lowers_the_verdict(grounds: Grounds, level: str, word: str):
    found = judge(grounds)
    assert found.level.startswith(level)
    assert word in str(found)
    assert 1 <= len(found.reasons) <= limits.MOST_REASONS


def scores_of(values: list[float], error: float = 0.01) -> Scores:
    score = np.array(values)
    n = np.full(len(score), 100)
    names = pl.Series([f"P{at}" for at in range(len(score))])
    interval = Interval(score - 2 * error, score + 2 * error, np.full(len(score), error))
    return Scores(names, n, n // 2, score, [None] * len(score), interval, {})


def test_only_methods_that_tell_physicians_apart_are_asked():
    main = scores_of([0.1, 0.2, 0.3, 0.4])
    assert agreement_with(main, []) is None
    assert agreement_with(main, [scores_of([0.4, 0.3, 0.2, 0.1], error=0.3)]) is None
    assert agreement_with(main, [scores_of([0.4, 0.3, 0.2, 0.1])]) == pytest.approx(-1)
    assert agreement_with(main, [scores_of([0.1, 0.2, 0.25, 0.4])]) == pytest.approx(1)


def test_an_order_of_patients_is_told_where_panels_differ() -> None:
    scores = scores_of([0.1, 0.2, 0.3, 0.4])

    def found(*expected: float) -> float | None:
        return order_of_patients(replace(scores, columns={"expected": np.array(expected)}))

    assert order_of_patients(scores) is None
    assert found(0.12, 0.19, 0.3, 0.38) == pytest.approx(1)
    assert found(0.24, 0.25, 0.26, 0.27) is None
    assert found(0.4, 0.3, 0.2, 0.1) == pytest.approx(-1)


def test_doubt_is_what_halves_show_beyond_their_errors():
    """Doubt that was put in is found again, as it is for the whole: with half the variance."""
    random = np.random.default_rng(0)
    n, error, own, common = 4000, 0.03, 0.04, 0.05
    shift = np.array([[common], [-common]])
    score = 0.25 + shift + random.normal(0, np.hypot(error, own), (2, n))
    interval = Interval(score, score, np.full((2, n), error))
    halves = TwoHalves(score, interval, score[0], is_bound=False)
    found = doubts([halves])
    assert found[0] == pytest.approx(own / np.sqrt(2), rel=0.05)
    assert found[1] == pytest.approx(common, rel=0.05)
    assert doubts([halves._replace(score=score * 0 + 0.2)]) == (0.0, 0.0)


def test_doubt_widens_and_a_fall_reaches_down():
    given = Interval(np.array([0.18, 0.48]), np.array([0.22, 0.5]), np.full(2, 0.01))
    score = np.array([0.2, 0.49])
    same = widen(score, given, np.zeros(2), 0.0)
    np.testing.assert_allclose(same.low, given.low)
    np.testing.assert_allclose(same.high, given.high)
    wide = widen(score, given, np.full(2, 0.05), 0.02)
    assert (wide.low <= given.low - 0.05).all()
    assert (wide.high >= given.high).all()
    assert wide.high.max() <= 0.5


def test_the_group_keeps_what_all_have_in_common():
    score, error, n = np.full(200, 0.2), np.full(200, 0.05), np.full(200, 50)
    alone = group_of(score, error, n)
    doubted = group_of(score, error, n, doubt=0.03, fall=np.full(200, 0.02))
    assert alone is not None
    assert doubted is not None
    assert alone.high - alone.low < 0.02
    assert doubted.high - doubted.discordance > 1.9 * 0.03
    assert doubted.discordance - doubted.low > 1.9 * 0.03 + 0.02


def appraised(case: Case, method: str) -> Appraisal:
    request = Request(method=method, **case.roles)  # type: ignore[arg-type]
    found = checked(case.table, request)
    fitted, _ = fit_method(method, found.prepared.observed, request.random_state)
    return appraise(found, {method: fitted}, suggest_rule(found.prepared, request.random_state))


@pytest.mark.parametrize("method", ["predictability", "latent-rule"])
def test_noise_bears_no_ranks_and_extremes_bear_levels(
    method: str, monkeypatch: pytest.MonkeyPatch
):
    # One draw of noise, and halves dealt once; a hundred with `-m slow`, below.
    monkeypatch.setattr(halves, "SPLITS", 1)
    monkeypatch.setattr(predictability, "REPETITIONS", 1)
    assert appraised(pure_noise(0, n_physicians=5), method).verdict.level in UNRANKED
    verdict = appraised(coins_and_clockwork(0, n_physicians=10, panel=100), method).verdict
    best = "levels and ranks" if method == "latent-rule" else "upper limits and ranks"
    assert verdict.level == best, str(verdict)


def test_who_is_lenient_is_not_ranked(monkeypatch: pytest.MonkeyPatch):
    """Nobody is a clear case and physicians draw lines elsewhere: no order, and any level fits."""
    monkeypatch.setattr(halves, "SPLITS", 1)
    scores, _, grounds, verdict = appraised(no_clear_cases(0, 1.0), "latent-rule")
    assert verdict.level == "group only", str(verdict)
    assert grounds.group is not None
    assert grounds.group.low == 0
    ends = scores.identified
    assert ends is not None
    assert (scores.interval.low <= ends[0]).all()


def test_rules_that_cannot_be_followed_are_not_ranked(monkeypatch: pytest.MonkeyPatch):
    """Everybody has an exclusive-or of their own: another rule looks like inconsistency."""
    monkeypatch.setattr(halves, "SPLITS", 1)
    verdict = appraised(own_exclusive_or(0, n_physicians=6), "latent-rule").verdict
    assert verdict.level == "group only", str(verdict)
    assert "rules of their own" in str(verdict)


def test_several_deals_are_averaged_where_patients_are_few(monkeypatch: pytest.MonkeyPatch):
    dealt = []
    once = halves._split

    def counted(*given: Any) -> Any:
        dealt.append(once(*given))
        return dealt[-1]

    monkeypatch.setattr(halves, "_split", counted)
    observed = checked(
        coins_and_clockwork(0, n_physicians=6, panel=60).table,
        Request(physician="physician", decision="decision"),
    ).prepared.observed
    model = intravar.estimators.Euclidean().fit_observed(observed)
    found = halves.compare_halves(model, observed, 0)
    assert found is not None
    assert len(dealt) == halves.SPLITS
    ranks = [spearmanr(*deal.score)[0] for deal, _ in dealt]
    rank = np.mean(ranks)
    assert found.agreement == pytest.approx(2 * rank / (1 + rank) if rank > 0 else rank)
    monkeypatch.setattr(halves, "FEW_PATIENTS", 100)
    assert halves.compare_halves(model, observed, 0) is not None
    assert len(dealt) == halves.SPLITS + 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["predictability", "latent-rule"])
def test_noise_bears_no_ranks_in_95_of_100_draws(method: str):
    levels = [appraised(pure_noise(seed), method).verdict.level for seed in range(100)]
    assert sum(level in UNRANKED for level in levels) >= 95


def test_names_that_others_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(halves, "SPLITS", 1)
    monkeypatch.setattr(predictability, "REPETITIONS", 1)
    cohort = intravar.simulate("score2", n_patients=600, n_physicians=5)
    found = intravar.measure(cohort.to_polars(), physician="physician", decision="decision")
    group = found.group
    assert found.verdict in get_args(Level)
    assert group is not None
    assert group.low <= group.discordance <= group.high
    assert group.spread >= 0
    assert (group.p_value < 0.05) == (group.spread_low > 0)
    assert group.explained is not None
    assert 0 < group.explained.share < 1
    assert found.physicians["explained"].is_not_null().all()
    assert found.noise is not None


def test_panels_without_patients_in_common_are_not_ranked():
    """Each physician sees patients of an age of their own: an order would be one of the ages."""
    random = np.random.default_rng(0)
    code = np.repeat(np.arange(6), 60)
    age = 10 * code + random.uniform(0, 8, len(code))
    table = pl.DataFrame(
        {
            "physician": code.astype(str),
            "decision": (random.random(len(code)) < age / 60).astype(int),
            "age": age,
        }
    )
    observed = checked(table, Request(physician="physician", decision="decision")).prepared.observed
    chance = observed.covariates[:, 0] / 60
    assert case_mix(observed, chance) < limits.COMPARABLE
    dealt = replace(observed, code=random.permutation(observed.code), _learned={})
    assert case_mix(dealt, chance) > 0.9


def test_panels_that_share_no_patients_do_not_overlap() -> None:
    chance = np.repeat([0.1, 0.9], 50)
    for named, overlap in ((np.repeat(["A", "B"], 50), 0.0), (np.tile(["A", "B"], 50), 1.0)):
        observed = Observed.of(chance[:, None], np.tile([0, 1], 50), named)
        assert round(case_mix(observed, chance), 1) == overlap


def test_what_a_rule_explains_is_the_variance_between_those_whom_it_tells_apart() -> None:
    random = np.random.default_rng(3)
    high, low = random.uniform(0.05, 0.95, (2, 5))
    eligible, n = random.integers(1, 400, 5), np.full(5, 400)
    evidence = replace(rates(), p_high=high, p_low=low, n_eligible=eligible.astype(float))
    literal = []
    for at in range(5):
        p = np.repeat((high[at], low[at]), (eligible[at], 400 - eligible[at]))
        literal.append(p.var() / (p.mean() * (1 - p.mean())))
    assert evidence.explained(n) == pytest.approx(np.median(literal))


@pytest.mark.usefixtures("learned_once")
def test_the_latent_rule_ranks_nobody_where_the_record_explains_next_to_nothing() -> None:
    """17 hospitals whose rates differ, three yes/no columns that move a rate by a fifth."""
    random = np.random.default_rng(1)
    n, who = 17 * 260, np.repeat(np.arange(17), 260)
    x = random.integers(0, 2, (n, 3))
    rate = random.uniform(0.25, 0.75, 17)[who] + 0.2 * ((x.sum(axis=1) >= 2) - 0.5)
    y = (random.random(n) < rate).astype(int)
    table = pl.DataFrame({"who": who, "y": y, **{f"x{at}": x[:, at] for at in range(3)}})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = intravar.measure(table, physician="who", decision="y", method="latent-rule")
    assert found.verdict in UNRANKED


@pytest.mark.parametrize("method", ["predictability", "euclidean", "latent-rule"])
def test_physicians_are_not_ranked_where_rows_belong_to_the_same_patients(method: str) -> None:
    rows = visits(41, n_physicians=12, panel=150)
    table = pl.DataFrame(rows.X).with_columns(
        doctor=pl.Series(rows.physician), drug=pl.Series(rows.y)
    )

    measured = intravar.measure(table, physician="doctor", decision="drug", method=method)

    assert measured.verdict in ("group only", "not interpretable")
    assert "identifies the patient" in measured.judged.reasons[0]
