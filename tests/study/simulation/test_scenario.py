import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar import InputError, simulate
from intravar.seeds import stream
from intravar.study import Scenario
from intravar.study.simulation import PAPER_COVARIATES, Bernoulli, FiveGroups, GaussianCopula
from intravar.study.simulation.physicians import allocate
from reference.fingerprint import SMALL, fingerprint, fingerprint_of
from reference.simulation import score2_cohort

SOME = ["score2", "continuous", "copula", "lognormal", "pass1-w3-p2", "pass2-w3-p2"]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(5, 12), st.integers(0, 200))
def test_equals_the_cohort_made_patient_by_patient(seed: int, n_physicians: int, more: int) -> None:
    n_patients = 2 * n_physicians + more
    scenario = Scenario("twin", n_patients=n_patients, n_physicians=n_physicians, minimum_panel=2)
    cohort = scenario.simulate(seed)
    assigned = allocate(n_patients, n_physicians, 2, stream(seed, "twin", "allocation"))
    model = FiveGroups().draw(n_physicians, stream(0, "unused"))
    twin = score2_cohort(
        seed, "twin", assigned.tolist(), model.p_high.tolist(), model.p_low.tolist()
    )
    assert cohort.covariates.to_dicts() == [patient.covariates for patient in twin]
    assert cohort.decision.tolist() == [patient.decision for patient in twin]
    assert cohort.truth is not None
    assert cohort.truth.eligible.tolist() == [patient.eligible for patient in twin]
    assert cohort.physician.to_list() == [model.names[one] for one in assigned]


# --- seeds ---


def test_same_seed_same_cohort_other_seed_another() -> None:
    assert fingerprint(simulate("score2", random_state=7)) == fingerprint(
        simulate("score2", random_state=7)
    )
    assert fingerprint(simulate("score2", random_state=7)) != fingerprint(
        simulate("score2", random_state=8)
    )


def test_same_bytes_alone_or_among_others() -> None:
    forwards = {name: fingerprint_of(name) for name in SOME}
    backwards = {name: fingerprint_of(name) for name in reversed(SOME)}
    assert forwards == backwards
    assert len(set(forwards.values())) == len(SOME)


def test_the_global_generator_plays_no_part() -> None:
    before = fingerprint_of("score2")
    np.random.seed(1)  # noqa: NPY002
    assert fingerprint_of("score2") == before


def test_same_bytes_in_another_process() -> None:
    """Another order, another hash seed."""
    names = ["pass1-w3-p2", "score2"]
    printed = subprocess.run(
        [sys.executable, "-m", "reference.fingerprint", *names],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout
    assert printed.split() == [fingerprint_of(name) for name in names]


def test_same_bytes_on_two_workers() -> None:
    # spawn, not fork: polars has threads, and a fork of them hangs.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        cohorts = list(pool.map(partial(simulate, **SMALL), SOME[:2]))
    assert [fingerprint(cohort) for cohort in cohorts] == [fingerprint_of(one) for one in SOME[:2]]


def test_drawing_one_more_thing_does_not_shift_the_others() -> None:
    plain = Scenario("s", **SMALL)
    richer = Scenario(
        "s",
        covariates=PAPER_COVARIATES.replace(
            (GaussianCopula("non_hdl", "ldl", 0.8),), male=Bernoulli(0.3)
        ),
        **SMALL,
    )
    one, other = plain.simulate(1), richer.simulate(1)
    kept = [name for name in one.covariate_names if name not in ("ldl", "male")]
    assert one.covariates.select(kept).equals(other.covariates.select(kept))
    assert one.physician.equals(other.physician)


def test_two_scenarios_with_one_seed_share_no_draw() -> None:
    one, other = (Scenario(name, **SMALL).simulate(1) for name in ("a", "b"))
    hdl = one.covariates["hdl"].to_numpy()
    inside = hdl[(hdl > 0.4) & (hdl < 2.8)]  # the ends are where all cohorts are clipped
    assert not np.isin(inside, other.covariates["hdl"]).any()
    assert not one.physician.equals(other.physician)


def test_negative_seeds_are_refused() -> None:
    with pytest.raises(InputError, match="random_state is -1; give a whole number"):
        simulate("score2", random_state=-1)


# --- sizes ---


def test_sizes_and_minimum_of_the_paper() -> None:
    cohort = simulate("score2")
    assert (cohort.n_patients, cohort.n_physicians) == (10_000, 20)
    assert cohort.panel_sizes["n_patients"].to_numpy().min() >= 90
    assert cohort.notes == ()


def test_a_lowered_minimum_is_said() -> None:
    cohort = simulate("score2", n_patients=5_000, n_physicians=100)
    assert cohort.panel_sizes["n_patients"].to_list() == [50] * 100
    (note,) = cohort.notes
    assert note == (
        "5,000 patients do not give 100 physicians 90 each; every physician is assured 50 instead"
    )
    assert f"note: {note}" in repr(cohort)


@pytest.mark.parametrize("n_physicians", [5, 10, 20, 50, 100])
def test_any_number_of_physicians_is_seen(n_physicians: int) -> None:
    cohort = simulate("score2", n_patients=9_000, n_physicians=n_physicians)
    assert cohort.n_physicians == n_physicians


def test_resizing_keeps_what_is_not_given() -> None:
    scenario = Scenario("s", n_patients=500, n_physicians=5)
    assert scenario.resized(None, None) == scenario
    assert scenario.resized(900, None).n_physicians == 5
    assert scenario.resized(None, 9).n_patients == 500


# --- the model ---


def test_decisions_follow_eligibility_and_physician() -> None:
    cohort = simulate("score2", n_patients=200_000, random_state=5)
    truth = cohort.truth
    assert truth is not None
    for eligible, probability in ((True, truth.p_high), (False, truth.p_low)):
        for group in range(1, 6):
            rows = (truth.eligible == eligible) & (truth.group == group)
            expected = float(probability[rows][0])
            error = np.sqrt(expected * (1 - expected) / rows.sum())
            assert abs(cohort.decision[rows].mean() - expected) <= 4.5 * error


def test_continuous_condition_has_a_continuum() -> None:
    cohort = simulate("continuous")
    assert (cohort.n_patients, cohort.n_physicians) == (20_000, 50)
    assert cohort.truth is not None
    assert len(set(cohort.truth.p_high)) == 50
    assert set(cohort.truth.group) == {0}
