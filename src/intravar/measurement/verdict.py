"""How much the data bear: levels and ranks, ranks only, the group only, or nothing.

Every test has a threshold with a name; docs/verdict.md says why it is where it is, and shows how
often each verdict was right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.evidence import EligibleRates, Evidence, Pairs, Predictions
from intravar.measurement.group import Group
from intravar.measurement.halves import Halves
from intravar.observed import Observed
from intravar.preparation.check import Check

Level = Literal["levels and ranks", "ranks only", "group only", "not interpretable"]
#: Verdicts under which no physician is ranked.
UNRANKED: tuple[Level, ...] = ("group only", "not interpretable")

#: Standard errors by which covariates must improve the prediction of decisions.
RULE_FOUND = 4.0
#: Probability from which on physicians are said to differ.
DIFFER = 0.95
#: Reliability of the order, from halves, below which physicians are not ranked.
RANKABLE = 0.5
#: Fall of the level, when patients double, up to which the level counts as settled.
SETTLED = 0.03
#: Share of physicians whose halves must have overlapping intervals.
OVERLAP = 0.9
#: Median width of the range of levels that fit equally well, up to which a level is determined.
DETERMINED = 0.1


@dataclass(frozen=True)
class Verdict:
    """What may be read off a measurement.

    Attributes
    ----------
    level
        How much the data bear.
    reasons
        Why, in plain words, the gravest first.
    rule_found
        By how many standard errors covariates predict decisions better than none.
    """

    level: Level
    reasons: tuple[str, ...]
    rule_found: float

    def __str__(self) -> str:
        return f"{self.level}: {'; '.join(self.reasons)}"


def judge(check: Check, evidence: Evidence, group: Group | None, halves: Halves | None) -> Verdict:
    """Return the verdict, with the reasons for not going further, in the request's words."""
    found = _judged(check, evidence, group, halves)
    words = check.request.words
    return replace(found, reasons=tuple(words.said(reason) for reason in found.reasons))


def _judged(
    check: Check, evidence: Evidence, group: Group | None, halves: Halves | None
) -> Verdict:
    observed = check.prepared.observed
    found = rule_strength(evidence, observed)
    leak = [each.column for each in check.prepared.leaks if each.certain]
    if leak and check.request.covariates is None:
        words = (
            f"'{leak[0]}' gives the decision away: name it with --after, or, if it was known "
            "before, name the covariates one by one"
        )
        return Verdict("not interpretable", (words,), found)
    if group is None:
        return Verdict("not interpretable", ("nobody has a score",), found)
    against_ranks = _against_ranks(found, group, halves)
    if against_ranks:
        return Verdict("group only", tuple(against_ranks[:3]), found)
    against_levels = _against_levels(evidence, halves)
    if against_levels:
        return Verdict("ranks only", tuple(against_levels[:3]), found)
    return Verdict("levels and ranks", _for_levels(halves), found)


def _against_ranks(found: float, group: Group, halves: Halves | None) -> list[str]:
    reasons = []
    if found < RULE_FOUND:
        reasons.append(
            "no rule was found: these covariates hardly predict the decisions, and the numbers say "
            "little more than how often each physician says yes"
        )
    if group.n_physicians < 2:
        reasons.append("there is one physician only")
    elif group.differ < DIFFER:
        reasons.append("no difference between physicians can be told from chance")
    if halves is None:
        reasons.append("panels are too small to be halved and compared")
    elif halves.agreement < RANKABLE:
        reasons.append(
            f"two halves of the patients do not keep the physicians' order (reliability "
            f"{max(halves.agreement, 0.0):.2f})"
        )
    return reasons


def _against_levels(evidence: Evidence, halves: Halves | None) -> list[str]:
    reasons = []
    if halves is not None and halves.shift > SETTLED:
        reasons.append(
            f"the level still falls as patients are added (by {100 * halves.shift:.0f} of 100 when "
            "they double)"
        )
    if halves is not None and halves.overlap < OVERLAP:
        reasons.append(
            f"intervals from two halves of the patients overlap for {100 * halves.overlap:.0f} % "
            "of the physicians only"
        )
    if isinstance(evidence, Pairs):
        reasons.append("the level of a matching method leans: patients in a pair are never alike")
    if isinstance(evidence, EligibleRates):
        reasons += _undetermined(evidence)
    return reasons


def _undetermined(evidence: EligibleRates) -> list[str]:
    anchors = evidence.anchors
    if anchors is None:
        return ["no rule was found"]
    width = float(np.median(anchors.identified_high - anchors.identified_low))
    if width <= DETERMINED:
        return []
    return [
        "clear cases are missing: levels that differ by "
        f"{100 * width:.0f} of 100 fit these data equally well"
    ]


def _for_levels(halves: Halves | None) -> tuple[str, ...]:
    if halves is None:
        return ()
    return (
        f"two halves of the patients give the same order (reliability {halves.agreement:.2f}) and "
        "the same level",
    )


def rule_strength(evidence: Evidence, observed: Observed) -> float:
    """Return by how many standard errors covariates predict decisions better than rates alone.

    For predictions, the gain in held-out log-likelihood over each physician's own rate among the
    other patients. Other evidence has no held-out predictions; there the latent rule's own word
    counts, and matching is taken to have found one.
    """
    if isinstance(evidence, EligibleRates):
        return float("inf") if evidence.anchors is not None else 0.0
    if not isinstance(evidence, Predictions):
        return float("inf")
    y = observed.decision.astype(np.float64)
    gain = _log_likelihood(evidence.probability, y) - _log_likelihood(_rates(y, observed), y)
    error = gain.std() / np.sqrt(len(gain))
    return float(gain.mean() / error) if error > 0 else 0.0


def _rates(y: FloatArray, observed: Observed) -> FloatArray:
    """Return each physician's rate among the other patients, drawn to that of all."""
    n = np.bincount(observed.code, minlength=len(observed.physicians)).astype(np.float64)
    k = np.bincount(observed.code, y, minlength=len(observed.physicians))
    share = y.mean()
    rates: FloatArray = (k[observed.code] - y + 2 * share) / (n[observed.code] - 1 + 2)
    return rates


def _log_likelihood(probability: FloatArray, y: FloatArray) -> FloatArray:
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    return np.where(y == 1, np.log(p), np.log(1 - p))
