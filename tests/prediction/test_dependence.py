"""Rows of the same patients: limits hold with identifiers and without, and the test finds them."""

import numpy as np
import pytest

import intravar
from dependent_rows import coarse, independent, near_copies, other_case_mix, typical, visits
from intravar.observed import Observed
from intravar.panels import Layout
from intravar.prediction.dependence import detect_dependence, telling_covariates
from intravar.prediction.tasks import View


def dependence_of(rows):
    observed = Observed.of(rows.X, rows.y, rows.physician)
    return detect_dependence(Layout.of(observed).panels(observed))


def share_of_limits_that_hold(model, rows):
    return np.mean(model.high_ >= rows.truth)


@pytest.mark.parametrize("world", [independent, coarse, typical, other_case_mix])
@pytest.mark.parametrize("seed", [11, 12])
def test_rows_of_different_patients_are_not_taken_for_repeat_visits(world, seed):
    assert not dependence_of(world(seed)).detected


@pytest.mark.parametrize("size", [(30, 200), (100, 50), (8, 500)])
def test_repeat_visits_are_detected(size):
    found = dependence_of(visits(21, *size))

    assert found.detected
    assert found.share > 0.5


def test_many_visits_of_few_patients_are_detected():
    found = dependence_of(visits(22, of_a_patient=(15, 25)))

    assert found.detected
    assert found.cluster_size > 15


def test_near_copies_are_detected():
    assert dependence_of(near_copies(23)).detected


def test_a_single_physician_with_repeat_visits_is_detected():
    rows = visits(24, n_physicians=1, panel=600)

    assert dependence_of(rows).detected


def test_identified_patients_are_not_tested():
    rows = visits(25, n_physicians=5)
    observed = Observed.of(rows.X, rows.y, rows.physician, patient=rows.patient)

    found = detect_dependence(Layout.of(observed).panels(observed))

    assert not found.detected


@pytest.mark.parametrize("world", [visits, near_copies])
@pytest.mark.parametrize("identified", [True, False])
def test_limits_hold_for_rows_of_the_same_patients(world, identified):
    rows = world(31)
    patient = rows.patient if identified else None

    model = intravar.Predictability().fit(rows.X, rows.y, rows.physician, patient=patient)

    assert np.average(model.score_) >= rows.truth.mean() - 0.005
    assert share_of_limits_that_hold(model, rows) >= 0.95
    assert model.dependence_.detected != identified


def test_limits_stay_close_for_independent_rows():
    rows = independent(32)

    model = intravar.Predictability().fit(rows.X, rows.y, rows.physician)

    assert np.average(model.score_) == pytest.approx(rows.truth.mean(), abs=0.02)
    assert share_of_limits_that_hold(model, rows) >= 0.95


def test_all_rows_of_a_patient_are_in_one_fold_with_every_physician():
    rows = independent(33, n_physicians=6, panel=50)
    patient = np.random.default_rng(0).integers(0, 40, len(rows.y))
    observed = Observed.of(rows.X, rows.y, rows.physician, patient=patient)

    task = View.of(observed).task(observed, 5, 0)

    for assigned in (task.fold, task.half, task.lone_half):
        given = task.as_given(np.asarray(assigned, dtype=np.int64))
        assert all(len(np.unique(given[patient == number])) == 1 for number in range(40))


def test_a_patient_is_in_the_same_fold_in_every_part_of_a_table():
    rows = independent(34, n_physicians=8, panel=50)
    names = np.array([f"patient {n}" for n in np.random.default_rng(1).integers(0, 60, 400)])
    whole = Observed.of(rows.X, rows.y, rows.physician, patient=names)
    view = View.of(whole)
    part = whole.take(np.flatnonzero(rows.physician < 3))

    def folds(observed, patient):
        task = view.task(observed, 5, 0)
        return dict(zip(patient, task.as_given(task.fold), strict=True))

    of_whole = folds(whole, names)
    of_part = folds(part, names[rows.physician < 3])

    assert of_part.items() <= of_whole.items()


def test_intervals_use_patients_as_independent_units():
    """Rows that are repeated as they are make no limit surer."""
    rows = independent(35, n_physicians=10, panel=100)
    again = np.repeat(np.arange(len(rows.y)), 4)

    once = intravar.Predictability().fit(rows.X, rows.y, rows.physician, patient=rows.patient)
    four_times = intravar.Predictability().fit(
        rows.X[again], rows.y[again], rows.physician[again], patient=rows.patient[again]
    )

    width_once = np.mean(once.high_ - once.low_)
    width_four_times = np.mean(four_times.high_ - four_times.low_)
    assert width_four_times == pytest.approx(width_once, rel=0.15)


@pytest.mark.parametrize("kind", ["nothing", "rates"])
def test_limits_do_not_exceed_the_discordance_of_any_two_patients(kind):
    random = np.random.default_rng(36)
    physician = np.repeat(np.arange(20), 60)
    rate = np.full(20, 0.3) if kind == "nothing" else np.linspace(0.05, 0.6, 20)
    y = (random.random(len(physician)) < rate[physician]).astype(np.int64)

    model = intravar.Predictability().fit(random.normal(size=(len(y), 5)), y, physician)

    observed_rate = np.bincount(physician, y) / 60
    any_two = 2 * observed_rate * (1 - observed_rate) * 60 / 59
    assert (model.score_ <= any_two + 1e-12).all()


@pytest.mark.parametrize("named", [0.0, 0.5])
def test_limits_hold_where_many_rows_have_no_identifier(named):
    rows = visits(35)
    has_name = np.random.default_rng(2).random(len(rows.y)) < named
    patient = rows.patient.astype(str).astype(object)
    patient[~has_name] = None

    model = intravar.Predictability().fit(rows.X, rows.y, rows.physician, patient=patient)

    assert model.dependence_.detected
    assert share_of_limits_that_hold(model, rows) >= 0.95


def test_identifiers_of_visits_do_not_prevent_the_test():
    rows = visits(36)
    observed = Observed.of(rows.X, rows.y, rows.physician, patient=np.arange(len(rows.y)))

    assert detect_dependence(Layout.of(observed).panels(observed)).detected


def test_rows_without_an_identifier_are_dealt_by_content():
    rows = visits(37, n_physicians=6, panel=50)
    patient = np.array([f"patient {number}" for number in rows.patient], dtype=object)
    patient[::40] = None
    shuffled = np.random.default_rng(3).permutation(len(rows.y))

    folds = []
    for order in (np.arange(len(rows.y)), shuffled):
        observed = Observed.of(
            rows.X[order], rows.y[order], rows.physician[order], patient=patient[order]
        )
        task = View.of(observed).task(observed, 5, 0)
        folds.append(task.as_given(task.fold))

    assert (folds[0][shuffled] == folds[1]).all()


def test_missing_numbers_of_patients_are_not_one_patient():
    patient = np.array([1.0, 1.0, *np.arange(2.0, 60.0), np.nan, np.nan])

    numbers = Observed.of(np.arange(62.0)[:, None], [0, 1] * 31, ["a"] * 62, patient=patient)
    laid_out = Layout.of(numbers).panels(numbers)

    assert laid_out.patient is not None
    assert len(np.unique(laid_out.patient)) == 61


def _with_new_values(rows, n_columns):
    """Return covariates with columns that change at every visit and say nothing of the decision."""
    random = np.random.default_rng(4)
    return np.column_stack([rows.X, random.normal(size=(len(rows.y), n_columns))])


@pytest.mark.parametrize("n_columns", [3, 8])
def test_repeat_visits_are_detected_beside_columns_that_change_at_every_visit(n_columns):
    rows = visits(38)
    observed = Observed.of(_with_new_values(rows, n_columns), rows.y, rows.physician)

    assert detect_dependence(Layout.of(observed).panels(observed)).detected


def test_limits_hold_for_repeat_visits_beside_a_category_that_changes_at_every_visit():
    rows = visits(39)
    category = np.random.default_rng(5).integers(0, 8, len(rows.y))
    X = np.column_stack([rows.X, *(category == level for level in range(8))])

    model = intravar.Predictability().fit(X, rows.y, rows.physician)

    assert model.dependence_.detected
    assert np.average(model.score_) >= rows.truth.mean() - 0.005
    assert share_of_limits_that_hold(model, rows) >= 0.95


@pytest.mark.parametrize("world", [independent, coarse, typical, other_case_mix])
def test_independent_rows_are_not_flagged_beside_columns_of_chance(world):
    rows = world(40)
    observed = Observed.of(_with_new_values(rows, 4), rows.y, rows.physician)

    assert not detect_dependence(Layout.of(observed).panels(observed)).detected


def test_telling_covariates_are_those_that_go_with_decisions():
    rows = independent(41)
    observed = Observed.of(_with_new_values(rows, 6), rows.y, rows.physician)
    panels = Layout.of(observed).panels(observed)

    columns, categories = telling_covariates(panels)

    names = {panels.names[column] for column in columns}
    assert {f"x{number}" for number in range(6)} >= names
    assert len(names) >= 3
    assert categories == ()
