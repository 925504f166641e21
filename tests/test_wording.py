"""Their words: what things are called, everywhere that anything is said."""

import html
import json
import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import intravar
from intravar import InputError, Request
from intravar.cli import app, commands
from intravar.documents import write_files
from intravar.errors import errors_in, option
from intravar.measurement.columns import COLUMNS
from intravar.publication import check_lines, unmeasurable
from intravar.request import read_request
from intravar.wording import Sentence, Words

pytestmark = pytest.mark.usefixtures("learned_once")

BASE: dict[str, Any] = {"physician": "physician", "decision": "decision"}
HOSPITALS: dict[str, Any] = {
    "decider_word": "hospital,hospitals",
    "case_word": "admission <b>,admissions <b>",
    "decision_word": "thrombolysis",
    "labels": {"age": "age of the patient", "sbp": "systolic <script>"},
    "title": "Stroke & <i>care</i>",
}
USUAL_NOUNS = re.compile(r"physician|patient", re.IGNORECASE)
#: Where the usual nouns stay: names of columns and files, and a label of the user's own.
KEPT = re.compile(r"physicians?\.(csv|html|parquet)|age of the patient|--physician|'physician'")


@pytest.fixture(scope="module")
def table() -> Any:
    return intravar.simulate("score2", n_patients=600, n_physicians=5, random_state=3).to_polars()


@pytest.fixture(scope="module")
def measured(table: Any) -> intravar.Measurement:
    return intravar.measure(table, **BASE, **HOSPITALS)


def usual_nouns(text: str) -> list[str]:
    return [
        text[max(0, found.start() - 40) : found.end() + 20]
        for found in USUAL_NOUNS.finditer(KEPT.sub("", text))
    ]


@given(st.text(max_size=60))
def test_text_of_theirs_stays_as_it_is(text: str) -> None:
    words = Words("judge", "judges", "patient visit", "patient visits", "bail")
    told = Sentence("{deciders_own} {cases} in '{text}': {decided_for}", text=text)
    assert told == f"physicians' patients in '{text}': decided for"
    assert words.said(told) == f"judges' patient visits in '{text}': decided for bail"
    assert words.said(text) == text
    nested = Sentence("{A_case}: {told}", told=pickle.loads(pickle.dumps(told)))
    assert words.said(nested) == f"A patient visit: {words.said(told)}"


def test_errors_are_said_in_their_words() -> None:
    words = Words("judge", "judges", "patient visit", "patient visits")
    told = Sentence("no {case} of {a_decider}; see {option}", option=option("physician"))
    with pytest.raises(InputError) as refused, errors_in(words), errors_in(words):
        raise InputError(told)
    assert str(refused.value) == "no patient visit of a judge; see physician"
    assert refused.value.on_command_line.endswith("see --physician")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"decider_word": "judge"}, "decider_word is 'judge'; give one and several"),
        ({"decider_word": "judge,"}, "decider_word is empty; give a word, or leave it out"),
        ({"case_word": " "}, "case_word is empty"),
        ({"decision_word": "a\x1b[2J"}, r"decision_word is 'a.x1b.2J'; it holds characters"),
        ({"decision_word": "a\u202eb"}, "it holds characters that are not text"),
        ({"title": "t" * 121}, "title has 121 letters"),
        ({"title": 3}, "title is 3; give a text"),
        ({"labels": {"age": ""}}, "labels is empty"),
        ({"labels": ["age"]}, "labels has 'age'; give COLUMN=label"),
        ({"labels": {"age": 3}}, "give COLUMN=label"),
    ],
)
def test_words_that_cannot_be_said_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Request(**(BASE | fields))


def test_a_file_gives_the_words_back(tmp_path: Path) -> None:
    request = Request(**BASE, **HOSPITALS)
    file = tmp_path / "study.toml"
    file.write_text(request.to_toml("patients.csv"), "utf-8")
    assert read_request(file)[1] == request
    assert Request(**BASE).differences(request.as_dict()) == []
    assert Words.of(request.as_dict()["words"]) == request.words


WORDS = """
decider_word = "hospital,hospitals"
case_word = "stay,stays"
title = "Ours"
[labels]
age = "age of the patient"
elsewhere = "not in this table"
"""


def test_an_institution_keeps_its_words_in_a_file(table: Any, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(WORDS, "utf-8")
    kept = tmp_path / "words.toml"
    found = intravar.check(table, **BASE, words=kept, title="This one", labels={"sbp": "pressure"})
    words = found.request.words
    assert (words.deciders, words.cases, words.title) == ("hospitals", "stays", "This one")
    assert words.labels == (("age", "age of the patient"), ("sbp", "pressure"))
    table.write_csv(tmp_path / "t.csv")
    study = tmp_path / "study.toml"
    columns = 'source = "t.csv"\n[columns]\nphysician = "physician"\ndecision = "decision"\n'
    study.write_text(f'{columns}[words]\nfile = "words.toml"\ncase_word = "visit,visits"\n')
    words = read_request(study)[1].words
    assert (words.deciders, words.cases, words.title) == ("hospitals", "visits", "Ours")
    asked = ["--physician", "physician", "--decision", "decision", "--words", str(kept)]
    said = CliRunner().invoke(app, ["check", str(tmp_path / "t.csv"), *asked])
    assert "5 hospitals" in said.output
    kept.write_text("decider = 'judge'")
    with pytest.raises(InputError, match="unknown entry of .words. 'decider'.*words.toml"):
        intravar.check(table, **BASE, words=kept)


def test_a_label_for_no_column_is_refused(table: Any) -> None:
    with pytest.raises(InputError, match="there is no column 'agee'; did you mean 'age'"):
        intravar.check(table, **BASE, labels={"agee": "age"})


def test_everything_in_memory_speaks_their_words(measured: intravar.Measurement) -> None:
    shown = [
        repr(measured),
        str(measured.judged),
        repr(measured.check),
        *measured.warnings,
        *check_lines(measured.check),
        json.dumps(unmeasurable(measured.check)),
    ]
    assert usual_nouns(re.sub("<[^b>]*>", "", measured._repr_html_())) == []
    assert usual_nouns("\n".join(shown)) == []
    assert "hospital" in shown[0]
    assert "admissions <b>" in shown[0]


def test_everything_that_is_handed_on_speaks_their_words(
    measured: intravar.Measurement, tmp_path: Path
) -> None:
    outputs = intravar.write_measurement(measured, tmp_path / "out", pairs_in_report=True)
    first = (tmp_path / "out" / "report.html").read_text("utf-8")
    second = write_files(tmp_path / "out")[0].read_text("utf-8")
    for page in (first, second):
        assert "<script>systolic" not in page
        assert "systolic <script>" not in page
        assert "<i>care" not in page
        assert "admissions <b>" not in page
        body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
        text = html.unescape(re.sub(r"<(?!title|desc)[^>]*>", " ", body))
        labels = " ".join(re.findall(r'aria-label="([^"]*)"', body))
        told = text + labels
        # The table of the file's columns names them as the file does.
        assert usual_nouns(re.sub(r"\bphysician\s+hospital\b", "", told)) == []
        assert "Stroke & <i>care</i>" in text
        assert "systolic <script>" in text
    told_of = outputs.first
    lines = [*told_of.verdict_reasons, *told_of.warnings]
    lines += [*told_of.check.dropped, told_of.check.missing]
    assert usual_nouns("\n".join(lines)) == []
    assert told_of.table.columns == [column.name for column in COLUMNS]


def test_the_terminal_speaks_their_words(table: Any, tmp_path: Path) -> None:
    table.write_csv(tmp_path / "t.csv")
    asked = ["--physician", "physician", "--decision", "decision"]
    asked += ["--decider-word", "hospital,hospitals", "--case-word", "stay,stays"]
    asked += ["--label", "age=age of the patient", "--label", "sbp=systolic = pressure"]
    source, out = str(tmp_path / "t.csv"), str(tmp_path / "out")
    run = CliRunner().invoke
    said = [
        run(app, ["check", source, *asked]),
        run(app, ["measure", source, *asked, "--out", out, "--method", "mahalanobis"]),
    ]
    said += [run(app, ["explain", out])]
    names = pl.read_parquet(tmp_path / "out" / "physicians.parquet")["physician"]
    said += [run(app, ["explain", out, "--physician", names[0]])]
    for result in said:
        assert result.exit_code in (0, commands.NOBODY_REPORTABLE), result.output
        rest = re.sub(r"^physician +hospital.*$", "", result.output, flags=re.MULTILINE)
        assert usual_nouns(" ".join(rest.split())) == []
    assert "age of the patient" in " ".join(said[2].output.split())
    assert "hospitals" in said[0].output
    refused = run(app, ["explain", out, "--physician", "nobody"])
    assert isinstance(refused.exception, InputError)
    assert "unknown hospital 'nobody'" in str(refused.exception)


def test_deciders_are_counted():
    assert [Words().counted(n) for n in (1, 2000)] == ["1 physician", "2,000 physicians"]
