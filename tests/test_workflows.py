"""What runs at the code host runs fixed versions with no more rights than it needs."""

import re
from pathlib import Path

import pytest

WORKFLOWS = sorted((Path(__file__).parents[1] / ".github" / "workflows").glob("*.yml"))
#: A commit and the version that it is: tags can be moved.
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_digest(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text("utf-8"))

    assert used
    assert [action for action in used if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_and_no_more(workflow: Path) -> None:
    text = workflow.read_text("utf-8")

    assert "\npermissions:\n  contents: read\njobs:" in text
    assert text.count("permissions:") == 1
