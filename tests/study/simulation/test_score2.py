import csv
import math
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar.errors import InputError
from intravar.study.simulation import score2_risk
from intravar.study.simulation.score2 import REGIONS, Region
from reference.score2 import score2_of_one_person

VECTORS = Path(__file__).with_name("score2_vectors.csv")


@cache
def vectors() -> list[dict[str, str]]:
    with VECTORS.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def half_a_unit(printed: str) -> float:
    """Half a unit of the last printed decimal."""
    _, _, decimals = printed.partition(".")
    return float(0.5 * 10.0 ** -len(decimals))


def test_there_are_143_vectors_of_both_models_and_all_regions() -> None:
    rows = vectors()
    assert len(rows) == 143
    assert {row["region"] for row in rows} == set(REGIONS)
    assert len({row["model"] for row in rows}) == 2


@pytest.mark.parametrize("number", range(143))
def test_vector_holds_to_half_a_unit_of_its_last_decimal(number: int) -> None:
    row = vectors()[number]
    risk = score2_risk(
        age=float(row["age"]),
        male=row["sex"] == "male",
        smoker=float(row["smoker"]),
        sbp=float(row["sbp"]),
        total_cholesterol=float(row["tchol"]),
        hdl=float(row["hdl"]),
        region=cast(Region, row["region"]),
    )
    distance = abs(100 * float(risk) - float(row["risk_percent"]))
    assert distance <= half_a_unit(row["risk_percent"]) + 1e-9, row


def test_half_a_unit_reads_the_decimals() -> None:
    assert [half_a_unit(text) for text in ("5.9", "5.93", "6")] == [0.05, 0.005, 0.5]


person = st.fixed_dictionaries(
    {
        "age": st.floats(40, 90),
        "male": st.booleans(),
        "smoker": st.integers(0, 1),
        "sbp": st.floats(90, 200),
        "total_cholesterol": st.floats(1.4, 10.8),
        "hdl": st.floats(0.4, 2.8),
        "diabetes": st.integers(0, 1),
    }
)


@given(
    st.lists(person, min_size=1, max_size=8),
    st.sampled_from(REGIONS),
    st.sampled_from(["published", "unrounded"]),
)
def test_equals_the_formula_person_by_person(
    people: list[dict[str, float]], region: Region, coefficients: str
) -> None:
    columns = {name: np.array([one[name] for one in people]) for name in people[0]}
    risk = score2_risk(**columns, region=region, coefficients=coefficients)  # type: ignore[arg-type]
    twin = [
        score2_of_one_person(**one, region=region, coefficients=coefficients)  # type: ignore[arg-type]
        for one in people
    ]
    assert risk == pytest.approx(twin, rel=1e-9, abs=1e-12)


def test_the_older_persons_model_begins_at_70() -> None:
    one = {"male": 1, "smoker": 0, "sbp": 130, "total_cholesterol": 5.0, "hdl": 1.3}
    below, at = score2_risk(age=[69.999, 70.0], **one)  # type: ignore[arg-type]
    assert below == pytest.approx(score2_of_one_person(69.999, True, 0, 130, 5.0, 1.3))
    assert at == pytest.approx(score2_of_one_person(70.0, True, 0, 130, 5.0, 1.3))
    assert abs(below - at) > 0.002


def test_keeps_the_shape_and_broadcasts() -> None:
    risk = score2_risk(
        age=np.array([[45.0], [75.0]]),
        male=np.array([0, 1, 1]),
        smoker=1,
        sbp=140,
        total_cholesterol=5.5,
        hdl=1.3,
    )
    assert risk.shape == (2, 3)
    assert risk[0, 1] == risk[0, 2]
    scalar = score2_risk(age=50, male=1, smoker=1, sbp=140, total_cholesterol=5.5, hdl=1.3)
    assert scalar.shape == ()
    assert math.isfinite(float(scalar))


def test_no_patients_no_risks() -> None:
    empty = np.array([])
    risk = score2_risk(
        age=empty, male=empty, smoker=empty, sbp=empty, total_cholesterol=empty, hdl=empty
    )
    assert risk.shape == (0,)


def test_unknown_region_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'moderate'"):
        score2_risk(
            age=50,
            male=1,
            smoker=1,
            sbp=140,
            total_cholesterol=5.5,
            hdl=1.3,
            region="moderat",  # type: ignore[arg-type]
        )
