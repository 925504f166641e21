"""Physicians beyond the sample: each by the own panel alone, and as a fit on everybody has them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import intravar
from intravar.errors import InputError
from intravar.estimators.base import Reader
from intravar.estimators.latent_rule import LatentRule
from intravar.latent.rule_learners import BoostedTrees, SplineLogit
from intravar.measurement.scores import scores_of
from intravar.observed import Observed

SMALL = [BoostedTrees(trees=40), SplineLogit(iterations=20)]
N_SAMPLE, N_OTHERS = 10, 12
WORLDS = ("shared", "thresholds", "one class", "camps", "limits", "unfollowed")


def world(kind, *, seed=3, panel=120):
    """Physicians of one kind; those beyond the sample have from one patient to many."""
    random = np.random.default_rng(seed)
    n = N_SAMPLE + N_OTHERS
    sizes = np.full(n, panel)
    sizes[N_SAMPLE:] = np.resize([1, 2, 5, 30, panel], N_OTHERS)
    who = np.repeat(np.arange(n), sizes)
    x = random.normal(size=(len(who), 4))
    if kind == "limits":
        pair = np.array([random.permutation(4)[:2] for _ in range(n)])[who]
        one, other = np.take_along_axis(x, pair, axis=1).T
        eligible = (one > -0.3) & (other > -0.3)
    elif kind == "camps":
        eligible = np.where(who % 2 == 0, x[:, 0] + x[:, 1] > 0, x[:, 2] - x[:, 3] > 0)
    elif kind == "unfollowed":
        pair = np.array([random.permutation(4)[:2] for _ in range(n)])[who]
        one, other = np.take_along_axis(x, pair, axis=1).T
        eligible = (one > 0) != (other > 0)
    else:
        line = np.linspace(-1.5, 1.5, n)[random.permutation(n)] * (kind == "thresholds")
        eligible = x[:, 0] + 0.7 * x[:, 1] > line[who]
    if kind == "one class":
        eligible[:] = True
    high = random.beta(9, 2, n)
    high[N_SAMPLE + 4] = 1.0
    y = random.random(len(who)) < np.where(eligible, high[who], 0.03)
    # One of the others decides for everybody.
    y[who == N_SAMPLE + 3] = True
    x[random.random(x.shape) < 0.02] = np.nan
    everybody = Observed.of(x, y, who, keep_missing=True)
    return tuple(everybody.take(np.flatnonzero(part)) for part in (who < N_SAMPLE, who >= N_SAMPLE))


def quick(**parameters):
    return LatentRule(**{"learners": SMALL, **parameters})


@pytest.fixture(scope="module", params=WORLDS)
def fitted(request):
    kind = request.param
    sample, others = world(kind, panel=400 if kind == "thresholds" else 160)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Personal weights would do for lines of their own as well.
        own = "never" if kind == "thresholds" else "auto"
        model = quick(personal_rules=own).fit_observed(sample)
    assert model.two_classes_ == (kind != "one class")
    assert model.personal_ == (kind == "thresholds")
    assert model.follows_ == (kind != "unfollowed")
    expected = {"camps": "personal weights", "limits": "personal limits"}
    assert model.rule_ == expected.get(kind, model.rule_)
    return model, others


def results(read, observed):
    """All that is said of physicians, and of patients, as bytes by name."""
    scores = scores_of(read, read.evidence(observed), observed)
    evidence = read.evidence(observed)
    per_physician = [
        *(read.score_, read.p_high_, read.p_low_, read.shift_, read.camp_, read.n_core_),
        *(read.low_, read.high_, *read.ends(0.8), read.n_patients_, *scores.interval),
        *(evidence.n_eligible, evidence.n_eligible_for, *scores.columns.values()),
        *(read.anchors_.identified_low, read.anchors_.identified_high),
    ]
    return {
        name: np.array([float(values[j]) for values in per_physician]).tobytes()
        for j, name in enumerate(read.physicians_)
    }


def same(read, other):
    assert read.keys() <= other.keys()
    for name, said in read.items():
        assert said == other[name], name


def test_what_is_said_depends_on_the_own_panel_alone(fitted):
    model, others = fitted
    light = pickle.loads(pickle.dumps(model.reader()))
    together = results(light.read(others), others)
    random = np.random.default_rng(1)
    bucket = random.integers(0, 3, N_OTHERS)
    for number in range(3):
        rows = random.permutation(np.flatnonzero(bucket[others.code] == number))
        if len(rows):
            part = others.take(rows)
            same(results(light.read(part), part), together)
    for j in range(N_OTHERS):
        alone = others.take(np.flatnonzero(others.code == j))
        same(results(light.read(alone), alone), together)


def test_names_and_the_order_of_columns_do_not_matter(fitted):
    model, others = fitted
    light = model.reader()
    one = results(light.read(others), others)
    columns = [2, 0, 3, 1]
    renamed = Observed(
        others.covariates[:, columns],
        tuple(others.names[c] for c in columns),
        others.decision,
        N_OTHERS - 1 - others.code,
        others.named,
    )
    other = results(light.read(renamed), renamed)
    assert list(one.values()) == list(other.values())[::-1]


def test_results_are_complete(fitted):
    model, others = fitted
    read = model.reader().read(others)
    fits = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert fits <= set(vars(read))
    assert np.isfinite(read.score_).all()
    assert ((read.low_ <= read.score_) & (read.score_ <= read.high_)).all()
    assert read.profile_["n_patients"].to_list() == read.n_patients_.tolist()
    assert read.details().keys() == model.details().keys()
    assert ((read.eligible_probability_ >= 0) & (read.eligible_probability_ <= 1)).all()
    assert read.rule_ == model.rule_
    if not model.follows_:
        assert (read.low_ == 0).all()


def test_whole_panels_too(fitted):
    model, others = fitted
    light = Reader(model.reader().method.set_params(within="panel"), model.common_)
    together = results(light.read(others), others)
    for j in (0, 3, 4):
        alone = others.take(np.flatnonzero(others.code == j))
        same(results(light.read(alone), alone), together)


def test_nothing_of_the_sample_is_sent(fitted):
    model, _ = fitted
    assert len(pickle.dumps(model.reader())) < 1_000_000
    assert not hasattr(model.reader().method, "score_")


@pytest.mark.parametrize("condition", ["score2", "stress-two-camps"])
def test_others_are_scored_as_if_they_had_been_fitted(condition):
    apart = []
    for seed in (21, 22, 23):
        cohort = intravar.simulate(condition, n_patients=6_000, n_physicians=20, random_state=seed)
        observed = Observed.of(*cohort.observed())
        first = observed.code % 2 == 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            everybody = LatentRule().fit_observed(observed)
            model = LatentRule().fit_observed(observed.take(np.flatnonzero(first)))
        read = model.reader().read(observed.take(np.flatnonzero(~first)))
        at = np.arange(20) % 2 == 1
        error = everybody.ends().standard_error[at].mean()
        apart.append(np.abs(read.score_ - everybody.score_[at]).mean() / error)
        assert read.ends().standard_error.mean() == pytest.approx(error, rel=0.15)
    # One cohort in three exceeded it before rule and rates were learned in one pass, too.
    assert np.mean(apart) < 0.25


def test_bad_input(fitted):
    model, others = fitted
    named = Observed(
        others.covariates, ("a", "b", "c", "d"), others.decision, others.code, others.named
    )
    with pytest.raises(InputError, match="other covariates than those learned from"):
        model.reader().read(named)
    with pytest.raises(NotFittedError):
        LatentRule().reader()


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition", ["score2", "continuous", "stress-two-camps", "stress-own-conjunctions"]
)
def test_a_tenth_of_the_physicians_is_enough(condition):
    n = 400
    cohort = intravar.simulate(condition, n_patients=500 * n, n_physicians=n, random_state=22)
    observed = Observed.of(*cohort.observed())
    size = np.random.default_rng(22).integers(100, 501, n)
    kept = [panel[: size[j]] for j, panel in enumerate(observed.panels)]
    observed = observed.take(np.sort(np.concatenate(kept)))
    first = np.random.default_rng(23).permutation(n) < n // 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        everybody = LatentRule().fit_observed(observed)
        model = LatentRule().fit_observed(observed.take(np.flatnonzero(first[observed.code])))
    read = model.reader().read(observed.take(np.flatnonzero(~first[observed.code])))
    error = everybody.ends().standard_error[~first]
    assert np.abs(read.score_ - everybody.score_[~first]).mean() < 0.2 * error.mean()
