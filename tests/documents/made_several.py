"""Several decisions as published: physicians with numbers, with bands and with nothing."""

from __future__ import annotations

import polars as pl

from intravar.publication.several_outputs import SeveralOutputs

DECISIONS = ["statin", "ace <inhibitor>", "metformin"]


def made_several(n: int = 30) -> SeveralOutputs:
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
        {
            "first": first,
            "second": second,
            "together": 0.05,
            "expected": 0.1,
            "correlation": value,
            "low": value - 0.1,
            "high": value + 0.1,
            "steadiness": 0.1,
        }
        for first, second, value in [*listed, ("ace <inhibitor>", "metformin", 0.0)]
    ]
    summary = {
        "what": "several",
        "version": "0",
        "source": "patients.csv",
        "request": {"columns": {"physician": "doctor", "decision": ",".join(DECISIONS)}},
        "decisions": DECISIONS,
        "folders": {name: f"out-{at}" for at, name in enumerate(DECISIONS)},
        "verdicts": dict.fromkeys(DECISIONS, "levels and ranks"),
        "n_physicians": n,
        "n_reportable": joint["reportable"].sum(),
        "n_banded": joint["band"].count(),
        "differ": 0.4,
        "differ_low": 0.35,
        "differ_high": 0.45,
        "differ_apart": 0.43,
        "n_differences": 0.5,
        "n_differences_low": 0.45,
        "n_differences_high": 0.6,
        "by_decision": [
            {"decision": name, "discordance": 0.2, "given": None if name == "statin" else 0.15}
            for name in DECISIONS
        ],
        "pairs": pairs,
    }
    pairs_of_each = pl.DataFrame(
        {"physician": names[:1], "first": ["statin"], "second": ["metformin"]}
    ).with_columns(correlation=pl.lit(0.1), low=pl.lit(0.0), high=pl.lit(0.2))
    return SeveralOutputs(joint, decisions, pairs_of_each, summary)
