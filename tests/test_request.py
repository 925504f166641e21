"""One request: made, checked, written and read; one for Python, the command line and a file."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import intravar
from intravar import InputError, Request
from intravar.request import read_request

BASE: dict[str, Any] = {"physician": "doctor", "decision": "statin"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"physician": ""}, "physician is not given; name a column of the table"),
        ({"min_panel": 1}, "min_panel is 1; a pair takes two, give 2 or more"),
        ({"min_reliability": 1.5}, "min_reliability is 1.5; it lies between 0 and 1"),
        ({"smallest_cell": 0}, r"smallest_cell is 0; give 1 \(hide nothing\), or 3 or more"),
        ({"random_state": "7"}, "random_state is '7'; give a whole number"),
        ({"table": 7}, "table is 7; give a text"),
        ({"exclude": [3]}, "exclude has 3; give a list of names"),
        ({"exclude": 3}, "exclude is 3; give a list of names"),
        ({"missing": "dropp"}, "unknown policy for missing values 'dropp'; did you mean 'drop'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Request(**(BASE | fields))


names = st.lists(st.text(min_size=1, max_size=8), max_size=3)


@given(exclude=names, query=st.none() | st.text(max_size=30), seed=st.integers(0, 2**31))
def test_a_file_gives_the_request_back(
    tmp_path_factory: pytest.TempPathFactory, exclude: list[str], query: str | None, seed: int
) -> None:
    request = Request(**BASE, exclude=exclude, query=query, random_state=seed)
    file = tmp_path_factory.getbasetemp() / "study.toml"
    file.write_text(request.to_toml("patients.csv"), "utf-8")
    source, found = read_request(file)
    assert found == request
    assert Path(source) == file.parent / "patients.csv"
    assert request.differences(found.as_dict()) == []


@pytest.mark.parametrize("period", ["year", "quarter", "month", "before/after 2024-03-01", None])
def test_a_file_holds_which_patients_which_year_and_which_decisions(
    tmp_path: Path, period: str | None
) -> None:
    request = Request(
        physician="doctor",
        decision="a drug,b,c",
        order=["c", "a drug", "b"],  # type: ignore[arg-type]
        where="age >= 75 and \"visit kind\" = 'F'",
        by="diabetes",
        date="visit",
        **({} if period is None else {"period": period}),
        labels={"a drug": "A, the drug"},  # type: ignore[arg-type]
    )
    file = tmp_path / "study.toml"
    file.write_text(request.to_toml("patients.csv"), "utf-8")
    again = read_request(file)[1]
    assert again == request
    assert again.decisions == ("c", "a drug", "b")
    assert request.differences(json.loads(json.dumps(again.as_dict()))) == []
    for name, alone in again.of_each().items():
        assert (alone.decision, alone.where, alone.by) == (name, request.where, "diabetes")
        assert (alone.date, alone.period, alone.order) == ("visit", request.period, ())
    changed = read_request(file, by="smoker", where="age < 40", decision="a drug", order=[])[1]
    assert (changed.by, changed.where, changed.decisions) == ("smoker", "age < 40", ("a drug",))


def test_changes_take_the_place_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(Request(**BASE).to_toml("postgresql://me@host/db"))
    source, found = read_request(file, random_state=3)
    assert (source, found.random_state) == ("postgresql://me@host/db", 3)
    assert Request(**BASE).differences(found.as_dict()) == ["random_state"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no source"),
        ("source = 3", "has no source"),
        ('source = "t.csv"\n[colums]\nphysician = "a"', "unknown section 'colums'; did you mean"),
        ('source = "t.csv"\n[columns]\nphysican = "a"', "unknown entry of .columns. 'physican'"),
        ('source = "t.csv"\nphysician = "a"', "unknown section 'physician'"),
        ("source = ", "is not a TOML file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InputError, match=words):
        read_request(tmp_path / "study.toml")
    with pytest.raises(InputError, match="cannot read"):
        read_request(tmp_path / "none.toml")


def test_python_shows_what_most_people_need_and_takes_every_field() -> None:
    common = {"physician", "decision", "covariates", "exclude", "decision_positive"}
    common |= {"where", "by", "method"}
    for function, more in ((intravar.check, set()), (intravar.measure, {"random_state"})):
        shown = inspect.signature(function).parameters
        assert set(shown) & {each.name for each in fields(Request)} == common | more
    with pytest.raises(TypeError, match="unknown argument 'physican'; did you mean 'physician'"):
        intravar.check({"a": [1]}, physican="a")
    with pytest.raises(InputError, match="min_panel is 1"):
        intravar.check({"a": [1]}, physician="a", decision="b", min_panel=1)
    with pytest.raises(InputError, match="min_panel is 1"):
        intravar.check({"a": [1]}, Request(**BASE), min_panel=1)


def test_the_old_name_of_a_field_is_taken_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="'seed' is called 'random_state' now") as caught:
        request = Request(**BASE, seed=3)  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="'seed' is called 'random_state' now"):
        assert request.seed == request.random_state == 3
    told = pytest.warns(DeprecationWarning, match="'seed' is called 'random_state' now")
    with told as caught, pytest.raises(InputError, match="one column only"):
        intravar.check({"a": [1]}, **BASE, seed=3)
    assert caught[0].filename == __file__
    stored = tmp_path / "study.toml"
    stored.write_text(request.to_toml("t.csv").replace("random_state", "seed"))
    assert read_request(stored)[1] == request
    assert (
        request.differences({**request.as_dict(), "methods": {"seed": 3, "sample": 100_000}}) == []
    )
