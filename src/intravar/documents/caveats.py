"""What a discordance does not mean, in the same words wherever the figure stands."""

from __future__ import annotations

from intravar.wording import Words

_NOT_MEANT = (
    "It says nothing about intent, and nothing about whether a decision was right: {a_decider} who "
    "is always wrong is consistent.",
    "Reasons that are not in the record (a preference, an exception, a test that was not recorded) "
    "count as inconsistency here. A high figure is a question to ask, not a finding against a "
    "person.",
    "{Deciders} who see more close calls can be expected to differ more.",
    "With few {cases} the figure is uncertain; always read it with its interval.",
)


def not_meant(words: Words) -> list[str]:
    """Return what the figure does not mean."""
    return [words.fill(line) for line in _NOT_MEANT]
