"""Messages of errors: options as Python and as the command line name them."""

import pickle

import pytest

from intravar.errors import InputError, RowError, errors_in, option
from intravar.wording import Sentence, Words


def test_what_a_user_wrote_is_never_taken_for_a_place() -> None:
    error = InputError("column '{}' is odd; leave {} out", "{0} {name} \ue000x\ue002", option("by"))
    assert str(error) == "column '{0} {name} \ue000x\ue002' is odd; leave by out"
    assert error.on_command_line == "column '{0} {name} \ue000x\ue002' is odd; leave --by out"
    assert str(InputError("{as it is}")) == "{as it is}"


def test_a_message_within_a_message_keeps_its_options() -> None:
    remedy = Sentence("name it with {}", option("exclude", "a b"))
    error = InputError(Sentence("no {case} is left; {remedy}", remedy=remedy))
    assert str(error) == "no patient is left; name it with exclude=['a b']"
    assert error.on_command_line == "no patient is left; name it with --exclude 'a b'"
    with pytest.raises(InputError) as met, errors_in(Words(case="claim", cases="claims")):
        raise error
    assert str(met.value) == "no claim is left; name it with exclude=['a b']"
    assert met.value.on_command_line == "no claim is left; name it with --exclude 'a b'"


def test_errors_come_back_whole_from_another_process() -> None:
    error = RowError(4, "column '{}' is infinite {row}; use {}", "age", option("exclude"))
    back = pickle.loads(pickle.dumps(error))
    assert str(back.among([9, 9, 9, 9, 99])) == (
        "column 'age' is infinite in data row 100; use exclude"
    )
    assert back.on_command_line.endswith("in data row 5; use --exclude")
    other = pickle.loads(pickle.dumps(InputError("give {}", option("out"))))
    assert other.on_command_line == "give --out"
