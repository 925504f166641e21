"""Several decisions as published: physicians with numbers, with bands and with nothing."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from intravar.publication.results import (
    DecisionRow,
    Figure,
    Joint,
    JointDecision,
    JointPair,
    JointRow,
    PairRow,
    Published,
    rows_of,
)
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
                "band_low": (0.2, 0.4)[at % 2] if at % 3 == 1 else None,
                "band_high": (0.45, 0.875)[at % 2] if at % 3 == 1 else None,
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
                "band_low": 0.0 if at % 7 == 4 else None,
                "band_high": 0.25 if at % 7 == 4 else None,
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
        JointPair(first, second, 0.05, 0.1, Figure(value, value - 0.1, value + 0.1), 0.1)
        for first, second, value in [*listed, ("ace <inhibitor>", "metformin", 0.0)]
    ]
    of_each = tuple(
        JointDecision(name, 0.2, None if name == "statin" else 0.15) for name in DECISIONS
    )
    told = Joint(
        differ=Figure(0.4, 0.35, 0.45),
        differ_apart=0.43,
        n_differences=Figure(0.5, 0.45, 0.6),
        n_reportable=int(joint["reportable"].sum()),
        n_banded=joint["band_low"].count(),
        decisions=of_each,
        pairs=tuple(pairs),
        physicians=rows_of(joint, JointRow),
        by_physician=rows_of(decisions, DecisionRow),
        pairs_by_physician=(PairRow(names[0], "statin", "metformin", 0.1, 0.0, 0.2),),
    )
    request = Request(physician="doctor", decision=",".join(DECISIONS))
    one = made_published(names, request)
    each = tuple(
        replace(one.first, decision=name, verdict="levels and ranks") for name in DECISIONS
    )
    return replace(one, decisions=each, joint=told)
