"""Messages of errors: options as Python and as the command line name them."""

import pickle
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar.errors import InputError, RowError, errors_in, option
from intravar.wording import Sentence, Words, naming, with_options

#: Any text, often with what f-strings, templates and the marks of options are made of.
TEXTS = st.text(max_size=30) | st.lists(
    st.sampled_from(
        ["{", "}", "{0}", "\ue000", "\ue001", "0f" * 8, '["by", null]', "'", "\\", "\0"]
    )
).map("".join)


@given(TEXTS, TEXTS)
def test_what_a_user_wrote_is_never_taken_for_an_option(text: str, value: str) -> None:
    given = option("table", value)
    error = InputError(f"'{text}' is odd{text}; leave {option('min_panel')} out or use {given}")
    for known in (error, pickle.loads(pickle.dumps(error))):
        assert str(known) == f"'{text}' is odd{text}; leave min_panel out or use table={value!r}"
        assert known.on_command_line == (
            f"'{text}' is odd{text}; leave --min-panel out or use --table {shlex.quote(value)}"
        )
    assert str(InputError(text)) == InputError(text).on_command_line == text


@given(TEXTS, TEXTS)
def test_a_text_with_options_can_be_a_value_of_a_sentence(text: str, value: str) -> None:
    remedy = f"{text} with {option('table', value)}"
    error = InputError("no {case} in '{text}'; {remedy}", text=text, remedy=remedy)
    words = Words(case="claim")
    with pytest.raises(InputError) as met, errors_in(words):
        raise error
    assert str(met.value) == f"no claim in '{text}'; {text} with table={value!r}"
    flags = f"no claim in '{text}'; {text} with --table {shlex.quote(value)}"
    assert met.value.on_command_line == flags
    assert naming(words.said(with_options(remedy)), lambda each: each.name) == f"{text} with table"


def test_a_mark_of_another_process_is_text() -> None:
    command = "from intravar.errors import option; print(ascii(f\"{option('by')}\"))"
    asked = [sys.executable, "-c", command]
    printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    text = printed.strip().strip("'").encode().decode("unicode_escape")
    assert "by" in text
    error = InputError(f"column '{text}'; leave {option('by')} out")
    assert str(error) == f"column '{text}'; leave by out"
    assert error.on_command_line == f"column '{text}'; leave --by out"


def test_a_message_within_a_message_keeps_its_options() -> None:
    remedy = f"name it with {option('exclude', 'a b')}"
    error = InputError(Sentence("no {case} is left; {remedy}", remedy=remedy))
    assert str(error) == "no patient is left; name it with exclude=['a b']"
    assert error.on_command_line == "no patient is left; name it with --exclude 'a b'"
    with pytest.raises(InputError) as met, errors_in(Words(case="claim", cases="claims")):
        raise error
    assert str(met.value) == "no claim is left; name it with exclude=['a b']"
    assert met.value.on_command_line == "no claim is left; name it with --exclude 'a b'"


def test_errors_come_back_whole_from_another_process() -> None:
    command = (
        "import pickle, sys; from intravar.errors import InputError, RowError, option; "
        "row = RowError(4, \"column 'age' is infinite\", f\"; use {option('exclude')}\"); "
        "both = row, InputError(f\"give {option('out')}\"); "
        "sys.stdout.buffer.write(pickle.dumps(both))"
    )
    asked = [sys.executable, "-c", command]
    row, other = pickle.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    assert isinstance(row, RowError)
    assert str(row.among([9, 9, 9, 9, 99])) == (
        "column 'age' is infinite in data row 100; use exclude"
    )
    assert row.on_command_line.endswith("in data row 5; use --exclude")
    assert other.on_command_line == "give --out"
