"""Checks of assumptions: one at a time, in their order, at their thresholds."""

from dataclasses import replace

import pytest

from intravar.estimators.assumptions import (
    ANCHORED,
    DETERMINED,
    LITTLE_EXPLAINED,
    Assumptions,
    Violation,
)

MET = Assumptions(explained=0.5, clear=0.6, differ=True, over_limits=10.0, width=0.02)


def test_none_is_violated_where_all_are_met() -> None:
    assert MET.met
    assert str(MET) == "no assumption was found violated"


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"rule_found": False}, Violation.NO_RULE),
        ({"explained": LITTLE_EXPLAINED - 0.01}, Violation.LITTLE_EXPLAINED),
        ({"follows": False}, Violation.OWN_RULES),
        ({"clear": ANCHORED - 0.01}, Violation.FEW_CLEAR),
        ({"over_limits": -0.1}, Violation.LENIENT),
        ({"width": DETERMINED + 0.01}, Violation.NOT_DETERMINED),
    ],
)
def test_each_is_violated_alone(change: dict[str, float], violation: Violation) -> None:
    found = replace(MET, **change)  # type: ignore[arg-type]
    assert found.violations == (violation,)
    assert violation in repr(found)


def test_limits_of_their_own_are_no_question_where_physicians_are_alike() -> None:
    assert replace(MET, over_limits=-0.1, differ=False).met


def test_without_clear_cases_limits_of_their_own_are_not_judged() -> None:
    found = replace(MET, clear=0.1, over_limits=-0.1)
    assert found.violations == (Violation.FEW_CLEAR,)
