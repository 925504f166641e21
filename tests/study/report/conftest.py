"""Results made once for all tests of the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from intravar.estimators import PAPER_METHODS
from intravar.study.report import write_report
from intravar.study.simulation.conditions import conditions_of
from study.report.made_results import make_results

LONG = "Dr. " + "Very" * 49
SCRIPT = "<script>document.title='hacked'</script>"
HOSTILE = {
    "P01": SCRIPT,
    "P02": "\"double\" 'single' `back` & &amp; --> ]]>",
    "P03": "\u202eright to left\u202c \u200f",
    "P04": LONG,
    "P05": "\U0001fa7a \U0001f469\u200d\u2695\ufe0f",
    "P06": "</script><img src=x onerror=\"document.title='hacked'\">",
    "P07": "{{ 7 * 7 }} ${7*7} %s \\u003c \\",
    "pass1-w1-p1": "<b onclick=alert(1)>'own' \"condition\"</b>",
    "mutual-information": "</title><script>document.title='hacked'</script>",
}


@pytest.fixture(scope="session")
def score2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_results(tmp_path_factory.mktemp("score2") / "results")
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def whole_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole study: 94 conditions, the grid, and a ninth method that nothing knows."""
    folder = make_results(
        tmp_path_factory.mktemp("whole") / "results",
        [*conditions_of("paper"), *conditions_of("grid")],
        methods=[*PAPER_METHODS, "latent-rule"],
        undefined=True,
    )
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def several_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three conditions of the whole study: a page of every kind of part that opens at once."""
    folder = make_results(
        tmp_path_factory.mktemp("several") / "results",
        ["score2", "copula", "continuous"],
        methods=[*PAPER_METHODS, "latent-rule"],
        undefined=True,
    )
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_results(
        tmp_path_factory.mktemp("hostile") / "results",
        ["score2", "continuous", "pass1-w1-p1"],
        rename=HOSTILE,
    )
    write_report(folder)
    return folder
