"""`intravar explain` without a physician: the rule, and where decisions do not follow it."""

from types import SimpleNamespace
from typing import Any

from intravar.cli import Console
from intravar.cli.stored import _print_rule
from intravar.publication.results import KindOfPatients, Location
from intravar.wording import USUAL


def test_where_the_discordance_lies_is_said() -> None:
    location = Location(0.27, 0.84, (KindOfPatients("age > 80", 0.2, 0.4, 0.36),))
    rule = SimpleNamespace(importance=(), tree=())
    decision: Any = SimpleNamespace(rule=rule, decision="statin", location=location)
    console = Console(width=200, record=True)
    _print_rule(console, decision, USUAL)
    told = console.export_text()
    assert "84 % of the discordance lies in close calls" in told
    assert "Most of it lies where age > 80" in told
