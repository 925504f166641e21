from itertools import product

import pytest

from intravar import InputError, oracle, simulate
from intravar.study.simulation import (
    Continuum,
    FiveGroups,
    ThresholdRule,
    WindowRecipe,
    all_conditions,
    conditions_of,
    find_condition,
    window_of,
)

STRUCTURE = [(width, start) for width in range(1, 10) for start in range(1, 11 - width)]


def test_there_are_94_conditions_with_the_expected_names() -> None:
    windows = [
        f"pass{number}-w{width}-p{start}" for number, (width, start) in product((1, 2), STRUCTURE)
    ]
    assert len(windows) == 90
    assert set(conditions_of("paper")) == {"score2", "continuous", "copula", "lognormal", *windows}
    assert len(conditions_of("paper")) == 94


def test_names_and_conditions_agree() -> None:
    for name, condition in conditions_of("paper").items():
        assert condition.name == name
        window = window_of(name)
        assert (window is not None) == (condition.family == "window")
        if window:
            assert name == "pass{}-w{}-p{}".format(*window)
            assert condition.rule == WindowRecipe(start=window[2], width=window[1])


def test_every_condition_has_a_seed_of_its_own() -> None:
    assert len({condition.seed for condition in conditions_of("paper").values()}) == 94


def test_a_condition_is_written_the_same_in_every_process() -> None:
    """A study is continued where its conditions are written as they were."""
    assert not [name for name, each in all_conditions().items() if " at 0x" in repr(each)]


def test_pass1_w3_p2_is_width_3_at_the_second_position() -> None:
    assert find_condition("pass1-w3-p2").realised_rule().covariates == ("hba1c", "non_hdl", "hdl")


@pytest.mark.parametrize(("width", "start"), STRUCTURE)
def test_passes_share_the_structure_and_nothing_else(width: int, start: int) -> None:
    first, second = (find_condition(f"pass{number}-w{width}-p{start}") for number in (1, 2))
    one, other = first.realised_rule(), second.realised_rule()
    assert one.covariates == other.covariates
    assert isinstance(one, ThresholdRule)
    assert isinstance(other, ThresholdRule)
    assert one.target_share != other.target_share
    assert first.covariates == second.covariates
    assert first.physicians == second.physicians
    assert first.seed != second.seed


def test_passes_differ_in_cohort() -> None:
    first, second = (simulate(f"pass{number}-w3-p2") for number in (1, 2))
    assert not first.covariates.equals(second.covariates)
    assert not first.physician.equals(second.physician)


def test_target_shares_cover_their_range() -> None:
    shares = [
        rule.target_share
        for rule in (condition.realised_rule() for condition in conditions_of("paper").values())
        if isinstance(rule, ThresholdRule) and rule.target_share is not None
    ]
    assert len(shares) == 90
    assert 0.2 <= min(shares) < 0.3
    assert 0.7 < max(shares) <= 0.8


def test_models_of_the_four_score2_conditions() -> None:
    assert find_condition("continuous").physicians == Continuum()
    for name in ("score2", "copula", "lognormal"):
        assert find_condition(name).physicians == FiveGroups()
        assert find_condition(name).rule == find_condition("score2").rule


def test_every_physician_of_every_condition_has_an_eligible_stratum() -> None:
    """As the paper says of its 94 experiments."""
    for name in conditions_of("paper"):
        assert oracle(simulate(name))["oracle"].null_count() == 0, name


def test_replicates_have_seeds_of_their_own() -> None:
    condition = find_condition("score2")
    seeds = [condition.replicate_seed(number) for number in range(20)]
    assert seeds[0] == condition.seed
    assert len(set(seeds)) == 20


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("scor2", "score2"), ("SCORE2", "score2"), ("pass1-w3-p22", "pass1-w3-p2")],
)
def test_unknown_condition_names_the_nearest(wrong: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{nearest}'"):
        simulate(wrong)


def test_unknown_condition_far_from_all_guesses_nothing() -> None:
    with pytest.raises(InputError) as caught:
        find_condition("zzzzzzzzzzzz")
    assert "did you mean" not in str(caught.value)
    assert "'intravar conditions --all' lists all of them" in str(caught.value)


def test_the_grid_of_sizes() -> None:
    for name, condition in conditions_of("grid").items():
        sizes = (condition.n_patients, condition.n_physicians)
        assert name == "grid-n{}-j{}".format(*sizes)
        assert find_condition(name) == condition
    cohort = simulate("grid-n5000-j100")
    assert (cohort.n_patients, cohort.n_physicians) == (5_000, 100)
