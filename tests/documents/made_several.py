"""Several decisions as published: physicians with numbers, with bands and with nothing."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from intravar.publication.results import Joint, JointDecision, JointPair, Published
from intravar.request import Request
from made_published import made_published

DECISIONS = ["statin", "ace <inhibitor>", "metformin"]


def made_several(n: int = 30) -> Published:
    """Several decisions of physicians with numbers, with bands and with nothing."""
    names = [f"P-{at:04d}" for at in range(n)]
    joint = pl.DataFrame(
        [
            {
                "physician": name,
                "differ": 0.3 + 0.01 * at if at % 3 == 0 else None,
                "differ_low": 0.2 + 0.01 * at if at % 3 == 0 else None,
                "differ_high": 0.4 + 0.01 * at if at % 3 == 0 else None,
                "differ_apart": 0.35 + 0.01 * at if at % 3 == 0 else None,
                "n_differences": 0.5 if at % 3 == 0 else None,
                "n_differences_low": 0.4 if at % 3 == 0 else None,
                "n_differences_high": 0.6 if at % 3 == 0 else None,
                "band": ("0.20 to 0.45", "0.40 or more")[at % 2] if at % 3 == 1 else None,
                "reportable": at % 3 == 0,
                "reason": None if at % 3 == 0 else "few",
            }
            for at, name in enumerate(names)
        ],
        infer_schema_length=None,
    )
    decisions = pl.DataFrame(
        [
            {
                "physician": name,
                "decision": decision,
                "n_patients": 200,
                "discordance": None if at % 7 == 4 else 0.2,
                "low": None if at % 7 == 4 else 0.1,
                "high": None if at % 7 == 4 else 0.3,
                "band": "at most 0.25" if at % 7 == 4 else None,
                "reportable": at % 7 != 4,
                "across": 0.19,
                "given": 0.15 if at % 3 == 0 and decision != "statin" else None,
            }
            for at, name in enumerate(names)
            for decision in DECISIONS
        ],
        infer_schema_length=None,
    )
    listed = [("statin", "ace <inhibitor>", -0.3), ("statin", "metformin", 0.2)]
    pairs = [
        JointPair(first, second, 0.05, 0.1, value, value - 0.1, value + 0.1, 0.1)
        for first, second, value in [*listed, ("ace <inhibitor>", "metformin", 0.0)]
    ]
    of_each = tuple(
        JointDecision(name, 0.2, None if name == "statin" else 0.15) for name in DECISIONS
    )
    pairs_of_each = pl.DataFrame(
        {"physician": names[:1], "first": ["statin"], "second": ["metformin"]}
    ).with_columns(correlation=pl.lit(0.1), low=pl.lit(0.0), high=pl.lit(0.2))
    told = Joint(
        *(0.4, 0.35, 0.45, 0.43, 0.5, 0.45, 0.6),
        n_reportable=int(joint["reportable"].sum()),
        n_banded=joint["band"].count(),
        decisions=of_each,
        pairs=tuple(pairs),
        physicians=joint,
        by_physician=decisions,
        pairs_by_physician=pairs_of_each,
    )
    request = Request(physician="doctor", decision=",".join(DECISIONS))
    one = made_published(names, request)
    each = tuple(
        replace(one.first, decision=name, verdict="levels and ranks") for name in DECISIONS
    )
    return replace(one, decisions=each, joint=told)
