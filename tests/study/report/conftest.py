"""Results made once for all tests of the report."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from intravar.estimators import PAPER_METHODS
from intravar.study.report import write_report
from intravar.study.simulation.conditions import conditions_of
from study.report.made_results import make_results

MadeOnce: TypeAlias = Callable[[str, Callable[[Path], object]], Path]
EVERY_METHOD = [*PAPER_METHODS, "latent-rule"]
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
def whole_folder(made_once: MadeOnce) -> Path:
    """The whole study: 94 conditions, the grid, and a ninth method that nothing knows."""
    conditions = [*conditions_of("paper"), *conditions_of("grid")]
    return made_once(
        "whole", partial(_reported, conditions=conditions, methods=EVERY_METHOD, undefined=True)
    )


@pytest.fixture(scope="session")
def several_folder(made_once: MadeOnce) -> Path:
    """Three conditions of the whole study: a page of every kind of part that opens at once."""
    conditions = ["score2", "copula", "continuous"]
    return made_once(
        "several", partial(_reported, conditions=conditions, methods=EVERY_METHOD, undefined=True)
    )


@pytest.fixture(scope="session")
def hostile_folder(made_once: MadeOnce) -> Path:
    conditions = ["score2", "continuous", "pass1-w1-p1"]
    return made_once("hostile", partial(_reported, conditions=conditions, rename=HOSTILE))


def _reported(folder: Path, **made: Any) -> None:
    write_report(make_results(folder, **made))
