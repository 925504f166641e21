"""What the tests of the commands on a user's own table share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from intravar.cli import main

COLUMNS = ["--physician", "physician", "--decision", "decision"]
FAST = ["--method", "euclidean"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str) -> Outcome:
    """Run a command in this process and return how it ended, and what it printed."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    printed = capsys.readouterr()
    assert isinstance(left.value.code, int)
    # An option that is named in a text and not in a message would show its mark.
    assert "\ue000" not in printed.out + printed.err, printed
    return Outcome(left.value.code, printed.out, printed.err)


def refused(run: Run, *arguments: str) -> str:
    """Run a command that must be refused in one line, with nothing written; return the words."""
    before = sorted(os.listdir())
    outcome = run(*arguments)
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("intravar: ")
    assert outcome.err.count("\n") == 1
    assert sorted(os.listdir()) == before
    return outcome.err.removeprefix("intravar: ").rstrip("\n")


def refused_table(run: Run, text: str, *options: str, name: str = "t.csv") -> str:
    Path(name).write_text(text)
    words = refused(run, "measure", name, *COLUMNS, *options)
    assert refused(run, "check", name, *COLUMNS, *options) == words
    return words


ROWS = "".join(f"{n % 3},{n % 2},{20 + n % 37}\n" for n in range(120))
GOOD = "physician,decision,age\n" + ROWS
