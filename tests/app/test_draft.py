"""Choices on screens become the request and the command that do the same."""

import re
from dataclasses import fields
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar.app.desk import screen
from intravar.app.draft import (
    ON_SCREEN,
    OPERATORS,
    Draft,
    at_first_sight,
    condition,
    on_screen,
    opened,
)
from intravar.app.places import Measured
from intravar.errors import InputError, Option
from intravar.request import Request
from intravar.where import columns_of, read_population

NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(NAMES, st.sampled_from(["=", "!=", ">=", "<"]), NAMES)
def test_every_condition_is_read_as_it_was_chosen(column: str, operator: str, value: str) -> None:
    read = read_population(condition(column, operator, value), lambda *compared: compared)
    assert read[:2] == (column, operator)
    assert isinstance(read[2], str | int | float)
    assert not isinstance(read[2], str) or read[2] == value


@given(NAMES, st.sampled_from(list(OPERATORS)), st.lists(NAMES, min_size=1, max_size=3))
def test_a_condition_names_its_column_alone(column: str, operator: str, values: list[str]) -> None:
    try:
        text = condition(column, operator, ",".join(values))
    except InputError:
        assert not [part for part in ",".join(values).split(",") if part.strip()]
        return
    assert columns_of(text) == [column]


def chosen(**form: str) -> Draft:
    draft = Draft(Path("/data/a b.csv"))
    draft.choose({"physician": "doctor", "decision": "statin"} | form)
    return draft


def test_the_request_says_what_was_chosen() -> None:
    draft = chosen(
        **{
            "use:los": "after",
            "use:id": "exclude",
            "use:doctor": "after",  # is the physician, whatever its menu says
            "label:sbp": "blood pressure",
            "column-0": "age",
            "operator-0": ">=",
            "value-0": "75",
            "where": "sex = 'F' or sex = 'M'",
            "decider_word": "judge,judges",
            "min_panel": "20",
        }
    )
    assert draft.request() == Request(
        physician="doctor",
        decision="statin",
        exclude=("id",),
        after=("los",),
        where="age >= 75 and (sex = 'F' or sex = 'M')",
        min_panel=20,
        decider_word="judge,judges",
        labels={"sbp": "blood pressure"},
    )
    assert chosen(**{"use:a, b": "after"}).request().after == ("a, b",)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"min_panel": "many"}, "is 'many'; give a whole number"),
        ({"min_panel": "30.5"}, "is '30.5'; give a whole number"),
        ({"min_panel": "-5"}, "is -5; a pair takes two, give 2 or more"),
        ({"column-0": "age", "operator-0": ">=", "value-0": ""}, "has no value"),
        ({"column-0": "age", "operator-0": "; drop", "value-0": "1"}, "no comparison"),
        ({"where": "age >"}, "cannot be read"),
    ],
)
def test_what_cannot_be_is_said(form: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        chosen(**form).request()


def test_screens_ask_under_the_names_that_messages_use() -> None:
    seen = at_first_sight(pl.DataFrame({"doctor": ["Ann", "Ben"], "statin": [0, 1]}), 2)
    draft, shown = Draft(Path("/data/a.csv")), seen | {"notes": []}
    html = unescape(
        bytes(screen("table", draft=draft, preview=shown, error="", asked={}).body).decode()
    )
    earlier = [Measured(Path("/data/before"), "2026", "group only")]
    content: dict[str, Any] = {"draft": draft, "checks": [], "earlier": earlier, "job": None}
    html += unescape(bytes(screen("check", name="mine", **content).body).decode())
    for label in set(ON_SCREEN.values()) - {"Which patients?"}:
        assert re.search(f'[">]{label}["<]', html), label
    assert "<legend>Which patients?<" in html
    flags = {f"--{each.name.replace('_', '-')}" for each in fields(Request)} | {"--label"}
    assert set(ON_SCREEN) - {"--out", "--key"} <= flags
    assert on_screen(Option("out")) == "“Name of the result”"


def test_a_study_file_opens_with_its_choices(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("doctor,statin\nA,1\n")
    draft = chosen(**{"use:los": "after", "where": "age > 40"})
    draft.source = tmp_path / "patients.csv"
    study = tmp_path / "study.toml"
    study.write_text(draft.request().to_toml(str(draft.source)))
    again = opened(study, Path)
    assert again.request() == draft.request()
    assert again.written == "age > 40"


def test_a_query_stays_when_the_table_is_read_again() -> None:
    draft = Draft(Path("/data/a.db"), {"physician": "doctor", "query": "SELECT 1"})

    draft.reread({"encoding": "latin-1", "physician": "doctor"})

    assert draft.reading == {"encoding": "latin-1", "query": "SELECT 1"}
    assert draft.waits_for_confirmation


def test_what_no_screen_asks_for_stays_as_the_study_file_says() -> None:
    asked = {"physician": "doctor", "decision": "statin", "after": ["los"]}
    kept = {"method": "euclidean", "covariates": ["age"], "sample": 5_000, "random_state": 3}
    draft = Draft(Path("/data/a.csv"), asked | kept)
    draft.choose({"physician": "doctor", "decision": "drug"})
    assert draft.asked == {"physician": "doctor", "decision": "drug"} | kept


@pytest.mark.parametrize(
    ("columns", "physician", "decision"),
    [
        ({"judge": list("abcde") * 20, "rater": ["no", "yes"] * 50}, "judge", "rater"),
        (
            {"thrombolysis": [0, 1] * 50, "afib": [0, 1] * 50, "team": list("abcde") * 20},
            "team",
            "thrombolysis",
        ),
        ({"who": [f"W{at % 6}" for at in range(100)], "x": range(100)}, "who", None),
        ({"x": range(100), "y": range(100)}, None, None),
    ],
)
def test_guesses(columns: dict[str, list[object]], physician: str, decision: str) -> None:
    found = at_first_sight(pl.DataFrame(columns), 100)
    assert found["physician"]["column"] == physician
    assert found["decision"]["column"] == decision
    assert all(found[role]["why"] for role in ("physician", "decision"))
