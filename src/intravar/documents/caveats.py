"""What a discordance does not mean, in the same words wherever the number stands."""

from __future__ import annotations

NOT_MEANT = (
    "It says nothing about intent, and nothing about whether a decision was right: a physician who "
    "is always wrong is consistent.",
    "Reasons that are not in the record (a wish of the patient, an intolerance, a test not "
    "recorded) count as inconsistency here. A high number is a question to ask, not a finding "
    "against a person.",
    "Whoever sees more close calls can be expected to differ more.",
    "Small panels scatter. The interval belongs to the number; the number alone does not stand.",
)
