"""`intravar explain` without a physician: the rule, and where decisions do not follow it."""

from dataclasses import replace

from intravar import Request
from intravar.cli import Console
from intravar.documents import rule_blocks
from intravar.publication.disclosure import without_figures
from intravar.publication.results import KindOfPatients, Leaf, Location, Rule
from intravar.wording import USUAL
from made_published import made_published


def test_the_rule_and_where_the_discordance_lies_are_said() -> None:
    made = made_published(["P-1"], Request(physician="doctor", decision="statin"))
    weights = {"age": 0.123, "sex": 0.01}
    leaf = Leaf("age > 80", 1200, 0.31, "31 %")
    decision = replace(
        made.first,
        location=Location(0.27, 0.84, (KindOfPatients("age > 80", 0.2, 0.4, 0.36),)),
        rule=Rule(0.8, weights, (), (leaf,)),
    )
    console = Console(width=200, record=True)
    console.show(rule_blocks(decision, USUAL), "elsewhere")
    told = console.export_text()
    assert "What the decisions depend on" in told
    assert "in this order: age 0.123, sex 0.010." in told
    assert "31 %" in told
    assert "84 % of the discordance lies in close calls" in told
    assert "The largest part of it lies where age > 80" in told
    unread = rule_blocks(without_figures(replace(decision, verdict="not interpretable")), USUAL)
    assert len(unread) == 1
