"""Whether data meet the assumptions of a method that estimates rates of eligible patients.

The latent rule is right in the worlds that it assumes: there is a rule, all that it looks at is
recorded, some patients on either side are clear cases, and physicians differ in how closely they
follow the rule and not in where they draw the line. Elsewhere its level can be wrong by a factor of
two or three. These checks are made when the method is fitted and when a measurement is judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from intravar.arrays import FloatArray
from intravar.estimators.evidence import EligibleRates, Evidence
from intravar.inference.group import group_of
from intravar.inference.intervals import Interval
from intravar.observed import Observed

#: Share of how decisions vary that the record must explain for physicians to be ranked.
LITTLE_EXPLAINED = 0.1
#: Share of the eligible, and of the others, who must be clear cases.
ANCHORED = 0.2
#: Gain in held-out log-likelihood of own rates over own limits, above which rates are told apart.
OVER_LIMITS = 0.0
#: Median width of the range of levels that fit equally well, up to which a level is determined.
DETERMINED = 0.1


class Violation(StrEnum):
    """An assumption that the data do not meet."""

    NO_RULE = "no rule"
    LITTLE_EXPLAINED = "little explained"
    OWN_RULES = "own rules"
    FEW_CLEAR = "few clear"
    LENIENT = "lenient"
    NOT_DETERMINED = "not determined"


#: What follows from each of them, as sentences for a warning.
CONSEQUENCES: dict[Violation, str] = {
    Violation.NO_RULE: "no rule was found, so that all patients count as eligible",
    Violation.LITTLE_EXPLAINED: "the rule explains hardly any of how decisions vary",
    Violation.OWN_RULES: "physicians follow rules of their own, which may look like inconsistency",
    Violation.FEW_CLEAR: "few patients are clear cases, so that the level is not known",
    Violation.LENIENT: (
        "physicians may only draw the line at different places, which looks like inconsistency"
    ),
    Violation.NOT_DETERMINED: "levels that differ by more than 0.1 fit the data equally well",
}


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the data say of the assumptions.

    Attributes
    ----------
    rule_found
        Whether a rule was found at all.
    explained
        Share of how the decisions of a usual physician vary that the rule explains.
    follows
        Whether the rule explains what physicians do differently.
    clear
        Share of clear cases among the eligible or among the others, the smaller of the two.
    differ
        Whether physicians differ by more than chance.
    over_limits
        By how much own rates predict decisions better than own limits, in held-out log-likelihood.
    width
        Median width of the range of levels that fit equally well.
    """

    rule_found: bool = True
    explained: float = float("inf")
    follows: bool = True
    clear: float = 1.0
    differ: bool = False
    over_limits: float = float("inf")
    width: float = 0.0

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Assumptions that the data do not meet, the gravest first."""
        if not self.rule_found:
            return (Violation.NO_RULE,)
        few_clear = self.clear < ANCHORED
        checks = {
            Violation.LITTLE_EXPLAINED: self.explained < LITTLE_EXPLAINED,
            Violation.OWN_RULES: not self.follows,
            Violation.FEW_CLEAR: few_clear,
            # Without clear cases the answer would be chance.
            Violation.LENIENT: (not few_clear and self.differ and self.over_limits <= OVER_LIMITS),
            Violation.NOT_DETERMINED: self.width > DETERMINED,
        }
        return tuple(violation for violation, holds in checks.items() if holds)

    @property
    def met(self) -> bool:
        """Whether no check failed. It does not prove that the assumptions hold."""
        return not self.violations

    def __str__(self) -> str:
        if self.met:
            return "no assumption was found violated"
        return "; ".join(CONSEQUENCES[violation] for violation in self.violations)

    def __repr__(self) -> str:
        found = ", ".join(self.violations) or "none found"
        return (
            f"Assumptions(violations: {found}; explained {self.explained:.2f}, "
            f"clear {self.clear:.2f}, over limits {self.over_limits:.2f}, width {self.width:.2f})"
        )


def check_assumptions(
    evidence: EligibleRates,
    observed: Observed,
    score: FloatArray,
    interval: Interval,
    seed: int,
) -> Assumptions:
    """Check the assumptions by what was fitted.

    Parameters
    ----------
    evidence
        Rates of eligible patients, and who they are.
    observed
        Patients who were fitted.
    score, interval
        Scores of the physicians and their intervals.
    seed
        Seed of the halves by which rates and limits compete.
    """
    anchors = evidence.anchors
    if anchors is None:
        return Assumptions(rule_found=False)
    sizes, _ = observed.counts
    group = group_of(score, interval.standard_error, sizes)
    return Assumptions(
        explained=evidence.explained(sizes),
        follows=evidence.follows,
        clear=anchors.clear,
        differ=group is not None and group.differ,
        over_limits=anchored_over_limits(evidence, observed, seed),
        width=float(np.median(anchors.identified_high - anchors.identified_low)),
    )


def anchored_over_limits(evidence: Evidence, observed: Observed, seed: int) -> float:
    """Return the gain of own rates over own limits; infinite where clear cases are too few."""
    if evidence.anchors is None or evidence.anchors.clear < ANCHORED:
        return float("inf")
    return evidence.over_limits(observed, seed)
