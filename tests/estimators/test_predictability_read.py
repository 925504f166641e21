"""Physicians beyond the sample: everybody's result is that of the own panel."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import intravar
from intravar.errors import InputError
from intravar.estimators import CommonEstimator
from intravar.measurement.scores import scores_of
from intravar.observed import Observed

NAMES = ("a", "b", "c", "d", "e")
PER_PHYSICIAN = ("score_", "low_", "high_", "expected_", "ratio_", "gain_", "n_patients_")


def patients(seed, sizes, p=5, *, missing=0.05):
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(len(sizes)), sizes)
    X = random.standard_normal((len(code), p))
    X[:, 1] = X[:, 1].round()
    turned = random.random(len(sizes)) < 0.5
    along = np.where(turned[code], X[:, 0], X[:, 1] + X[:, 2])
    high = random.uniform(0.6, 1.0, len(sizes))[code]
    y = (random.random(len(code)) < np.where(along > 0, high, 0.05)).astype(int)
    X[random.random(X.shape) < missing] = np.nan
    return X, y, np.array([f"P{number:03d}" for number in code])


def observed(X, y, who, names=NAMES):
    table = pl.DataFrame(X, schema=list(names)).fill_nan(None)
    return Observed.of(table, y, who, keep_missing=True)


@pytest.fixture(scope="module")
def light():
    sample = observed(*patients(1, [450] * 10))
    return intravar.Predictability().fit_observed(sample).reader()


@pytest.fixture(scope="module")
def bucket():
    sizes = [40, 1, 2, 3, 120, 10, 10, 5, 60, 33, 7, 90]
    X, y, who = patients(2, sizes)
    y[who == "P005"] = 1
    y[who == "P006"] = 0
    X[who == "P007"] = 1.0
    X[who == "P008", 3] = np.nan
    X[who == "P009"] = 1e29
    return X, y, who


def same(read, at, other, place):
    for name in PER_PHYSICIAN:
        one, two = getattr(read, name)[at], getattr(other, name)[place]
        assert one.tobytes() == two.tobytes(), name
    assert read.words_[at] == other.words_[place]
    assert read.reason_[at] == other.reason_[place]
    ends = (each.ends(0.9) for each in (read, other))
    assert (
        len(
            {
                tuple(column[k].tobytes() for column in end)
                for end, k in zip(ends, (at, place), strict=True)
            }
        )
        == 1
    )


def test_everything_that_a_fit_sets_is_set(light, bucket):
    table = observed(*bucket)
    read = light.read(table)
    assert isinstance(read, intravar.Predictability)
    assert read is not light
    found = scores_of(read, read.evidence(table), table)
    assert len(found.discordance) == 12
    assert read.physicians_.tolist() == [f"P{number:03d}" for number in range(12)]
    assert read.profile_.height == 12
    assert read.interval().height == 12
    assert len(read.predicted_) == len(read.pooled_) == table.n_patients
    assert ((read.predicted_ > 0) & (read.predicted_ < 1)).all()
    assert set(read.candidates_) > {"best", "pooled", "personal", "2 camps"}
    assert np.isnan(read.score_[1])
    assert read.reason_[1] is not None
    enough = read.n_patients_ >= 2
    for name in ("score_", "low_", "high_", "expected_", "ratio_", "gain_"):
        assert np.isfinite(getattr(read, name)[enough]).all(), name
    assert ((read.low_ <= read.score_) & (read.score_ <= read.high_))[enough].all()
    assert read.weights_["physician"].n_unique() == 12


def test_what_is_common_is_small_and_holds_no_patient(light):
    assert len(pickle.dumps(light)) < 3e6
    assert not hasattr(light, "score_")
    found = set()

    def walk(item):
        if isinstance(item, np.ndarray):
            found.update(item.shape)
        elif isinstance(item, dict):
            [walk(each) for each in item.values()]
        elif isinstance(item, tuple | list):
            [walk(each) for each in item]
        elif hasattr(item, "__dict__"):
            walk(vars(item))

    walk(light)
    assert max(found) < 450


@pytest.mark.parametrize("seed", range(6))
def test_neither_bucket_nor_order_nor_name_reaches_a_result(light, bucket, seed):
    X, y, who = bucket
    read = light.read(observed(X, y, who))
    random = np.random.default_rng(seed)
    sent = pickle.loads(pickle.dumps(light))
    part = random.integers(0, seed + 1, 12)
    renamed = random.permutation(12)
    code = np.array([int(name[1:]) for name in who])
    columns = random.permutation(5)
    for number in np.unique(part):
        rows = random.permutation(np.flatnonzero(part[code] == number))
        names = np.array([f"Q{renamed[each]:02d}" for each in code[rows]])
        table = observed(X[rows][:, columns], y[rows], names, [NAMES[at] for at in columns])
        other = sent.read(table)
        for place, name in enumerate(other.physicians_):
            same(read, int(np.flatnonzero(renamed == int(name[1:]))[0]), other, place)
        # Of patients who are alike in everything nobody can say which is which.
        tell = ~np.isin(code[rows], (7, 9))
        assert np.array_equal(other.predicted_[tell], read.predicted_[rows[tell]])
        assert np.array_equal(other.pooled_[tell], read.pooled_[rows[tell]])


@pytest.mark.parametrize(
    "sample",
    [
        patients(3, [6, 7, 8]),
        (patients(3, [60, 70])[0], np.ones(130, dtype=int), patients(3, [60, 70])[2]),
        patients(3, [200]),
        patients(3, [45, 50, 40]),
        (np.ones((90, 5)), np.tile([0, 1], 45), np.repeat(["a", "b", "c"], 30)),
    ],
    ids=["few", "all yes", "one physician", "several deals", "constant"],
)
def test_a_poor_sample_reads_others_all_the_same(sample, bucket):
    light = intravar.Predictability().fit_observed(observed(*sample)).reader()
    X, y, who = bucket
    read = light.read(observed(X, y, who))
    enough = read.n_patients_ >= 2
    assert np.isfinite(read.score_[enough]).all()
    assert np.isnan(read.score_[~enough]).all()
    for number in (2, 4, 9):
        rows = np.flatnonzero(who == f"P{number:03d}")[::-1]
        same(read, number, light.read(observed(X[rows], y[rows], who[rows])), 0)


def test_physicians_without_patients_have_no_score(light, bucket):
    table = observed(*bucket)
    named = pl.concat([table.named, pl.Series(["P999"])])
    more = Observed(table.covariates, table.names, table.decision, table.code, named)
    read, whole = light.read(more), light.read(table)
    assert np.isnan(read.score_[12])
    assert np.array_equal(read.score_[:12], whole.score_, equal_nan=True)


def test_other_columns_and_a_method_that_learned_nothing_are_refused(light, bucket):
    X, y, who = bucket
    with pytest.raises(InputError, match=r"than those learned from \(e, z\)"):
        light.read(observed(X, y, who, ("a", "b", "c", "d", "z")))
    with pytest.raises(InputError, match=r"than those learned from \(e\)"):
        light.read(observed(X[:, :4], y, who, NAMES[:4]))
    with pytest.raises(NotFittedError):
        intravar.Predictability().reader()
    # What has nothing to learn in common says so by its type.
    assert issubclass(intravar.Predictability, CommonEstimator)
    assert not issubclass(intravar.estimators.Euclidean, CommonEstimator)


def test_fitting_is_learning_and_reading():
    table = observed(*patients(4, [60] * 8))
    model = intravar.Predictability()
    common = pickle.loads(pickle.dumps(model.learn(table)))
    read, fitted = model.read(common, table), model.fit_observed(table)
    # The same weights by the same common part; only held-out predictions are handed in.
    assert read.weights_.equals(fitted.weights_)
    assert not hasattr(model.reader().method, "score_")


def test_the_sample_is_read_as_it_was_fitted_nearly():
    table = observed(*patients(4, [150] * 40))
    model = intravar.Predictability().fit_observed(table)
    read = model.reader().read(table)
    error = model.ends().standard_error.mean()
    assert np.abs(read.score_ - model.score_).mean() < 0.6 * error
    assert np.corrcoef(read.score_, model.score_)[0, 1] > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["score2", "continuous", "stress-own-rules"])
def test_others_score_nearly_what_a_fit_on_everybody_says(condition):
    """Another seed of a fit on everybody moves scores by a quarter of their standard error."""
    cohort = intravar.simulate(condition, random_state=5, n_patients=520 * 400, n_physicians=400)
    everybody = Observed.of(*cohort.observed(), keep_missing=True)
    sizes = np.random.default_rng(5).integers(100, 501, 400)
    rows = [panel[:size] for panel, size in zip(everybody.panels, sizes, strict=True)]
    everybody = everybody.take(np.sort(np.concatenate(rows)))
    full = intravar.Predictability().fit_observed(everybody)
    chosen = np.isin(np.arange(400), np.random.default_rng(1).permutation(400)[:200])
    inside = chosen[everybody.code]
    light = intravar.Predictability().fit_observed(everybody.take(np.flatnonzero(inside))).reader()
    read = light.read(everybody.take(np.flatnonzero(~inside)))
    away = (read.score_ - full.score_[~chosen]) / full.ends().standard_error.mean()
    assert np.abs(away).mean() < 0.33
    assert abs(away.mean()) < 0.2
