"""What the data support: levels and ranks, upper limits and ranks, ranks only, the group, nothing.

Verdicts go by the size of what is explained, not by its significance: with enough patients any
trace of a rule is significant. Every test has a threshold with a name; docs/verdict.md says why it
is where it is, and shows how often each verdict was right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from intravar.estimators.evidence import Evidence
from intravar.inference.group import RANKABLE, Group
from intravar.measurement.halves import Halves
from intravar.wording import Sentence

Level = Literal[
    "levels and ranks",
    "upper limits and ranks",
    "ranks only",
    "group only",
    "not interpretable",
]
#: The verdict under which nothing may be read, and those under which no physician is ranked.
NOTHING: Level = "not interpretable"
UNRANKED: tuple[Level, ...] = ("group only", NOTHING)

#: Standard errors by which covariates must improve the prediction of decisions.
RULE_FOUND = 4.0
#: Share of how decisions vary that the record must explain for physicians to be ranked.
LITTLE_EXPLAINED = 0.1
#: Share from which on a low rate can be told from consistency: an order that is also that of the
#: rates may stand.
ENOUGH_EXPLAINED = 1 / 6
#: Rank correlation with the rates' own discordance from which on an order says no more than rates;
#: and from which on what it may be by chance, 90 % sure, is too much.
SAME_AS_RATES, SAME_BY_CHANCE = 0.8, 0.9
#: Weight of the spread against the errors of scores in the reliability of an order; halves of so
#: few physicians as there usually are have the rest.
WEIGHT_OF_SPREAD = 2 / 3
#: Rank correlation with what the average colleague would have on the same patients, from which on
#: an order is one of patients.
SAME_AS_PATIENTS = 0.8
#: Overlap of a usual panel with those of the others, as a share of what chance would give.
COMPARABLE = 0.5
#: Rank correlation with the other methods that tell physicians apart.
AGREE = 0.3
#: Share of physicians whose halves must have overlapping intervals.
OVERLAP = 0.9
#: Median width of the range of levels that fit equally well, up to which a level is determined.
DETERMINED = 0.1
#: Share of the eligible, and of the others, who must be clear cases.
ANCHORED = 0.2
#: Gain in held-out log-likelihood of own rates over own limits, above which rates are told apart.
OVER_LIMITS = 0.0
#: Reasons that are told, the gravest.
MOST_REASONS = 3
_Z = float(norm.ppf(0.9))
_TINY = 1e-9

NO_RULE = Sentence(
    "no rule was found in these covariates: they hardly predict the "
    "decisions, and the figure says little more than how often any two {cases} of one "
    "{decider}, comparable or not, are decided differently"
)
#: The same where somebody is too small and where somebody is not sure: it tells no size.
FEW_RANKED = Sentence("too little is known of single {deciders} to rank them")
HARDLY_TOLD = Sentence(
    "pairs of {cases} alike in what is recorded, which hardly tells {cases} apart"
)


@dataclass(frozen=True)
class Verdict:
    """What may be read off a measurement.

    `reasons` are in plain words, the gravest first; `rule_found` says by how many standard errors
    covariates predict decisions better than none.
    """

    level: Level
    reasons: tuple[str, ...]
    rule_found: float

    def __str__(self) -> str:
        return f"{self.level}: {'; '.join(self.reasons)}"


@dataclass(frozen=True, eq=False)
class Grounds:
    """What a verdict rests on.

    Attributes
    ----------
    evidence
        Behind the scores of the method that measures.
    group, halves
        What all physicians, and two halves of the patients, say; None where there is nothing.
    rule_found
        By how many standard errors covariates predict decisions better than none.
    leak
        A column that gives the decision away, and that nobody vouched for.
    case_mix
        Overlap of a usual panel with those of the others, as a share of what chance would give.
    agreement
        Median rank correlation with the other methods that tell physicians apart; None where there
        are none.
    with_rates
        Rank correlation of scores with 2 r (1 - r), what the rates r alone would give; None where
        it cannot be told.
    over_limits
        By how much rates of their own predict decisions better than limits of their own, in
        held-out log-likelihood; infinite where a method asks for neither.
    with_patients
        Rank correlation of scores with what the average colleague would have on the same patients;
        None where that hardly differs.
    n_ranked
        Physicians with a rank; None where nobody counted them.
    explained
        Share of how the decisions of a usual physician vary that is explained; infinite where a
        method cannot tell.
    """

    evidence: Evidence
    group: Group | None
    halves: Halves | None
    rule_found: float
    leak: str | None = None
    case_mix: float = 1.0
    agreement: float | None = None
    with_rates: float | None = None
    over_limits: float = float("inf")
    with_patients: float | None = None
    n_ranked: int | None = None
    explained: float = float("inf")


def judge(grounds: Grounds) -> Verdict:
    """Return the verdict, with the reasons for not going further."""
    limits = grounds.evidence.upper_limit
    level: Level = "upper limits and ranks" if limits else "levels and ranks"
    if grounds.leak is not None:
        level = NOTHING
        reasons = [
            f"'{grounds.leak}' gives the decision away: leave it out or, if it was known before, "
            "name the covariates one by one"
        ]
    elif grounds.group is None:
        level, reasons = NOTHING, ["nobody has a score"]
    elif reasons := _against_ranks(grounds, grounds.group):
        level = "group only"
    elif reasons := _against_levels(grounds.evidence, grounds.halves):
        level = "ranks only"
    elif grounds.halves is None:
        reasons = ["the same cases were decided twice"]
    else:
        words = "two halves of the {cases} give the same order (reliability {reliability:.2f})"
        words += "" if limits else " and the same level"
        reliability = ranking_reliability(grounds.group, grounds.halves)
        reasons = [Sentence(words, reliability=reliability)]
    return Verdict(level, tuple(reasons[:MOST_REASONS]), grounds.rule_found)


def compared_in(evidence: Evidence, judged: Verdict | None = None) -> str:
    """Return what a score compares, to stand behind "of 100".

    Parameters
    ----------
    evidence
        What stands behind the score.
    judged
        The verdict; where no rule was found, nothing tells patients apart.

    Examples
    --------
    >>> from intravar.estimators.evidence import Predictions
    >>> evidence = Predictions(*np.zeros((4, 2)))
    >>> compared_in(evidence)
    'pairs of patients alike in what is recorded'
    >>> compared_in(evidence, Verdict("group only", (), rule_found=1.0))
    'pairs of patients alike in what is recorded, which hardly tells patients apart'
    """
    no_rule = judged is not None and judged.rule_found < RULE_FOUND
    if no_rule and evidence.learned:
        return HARDLY_TOLD
    return evidence.compared


def ranking_reliability(group: Group, halves: Halves | None) -> float:
    """Return the reliability of the order of physicians.

    Two halves of the patients tell it from the ranks themselves, but of ten physicians only
    roughly; the spread of true values against the errors of scores tells it more surely, and has
    the larger weight. NaN without halves.

    Examples
    --------
    >>> group = Group(0.2, 0.18, 0.22, 0.05, 0.03, 0.08, 0.001, 20, reliability=0.8)
    >>> round(ranking_reliability(group, Halves(0.5, 1.0, 0.02, 0.0, 0.0)), 2)
    0.7
    """
    if halves is None:
        return float("nan")
    own = group.reliability if np.isfinite(group.reliability) else halves.agreement
    return WEIGHT_OF_SPREAD * own + (1 - WEIGHT_OF_SPREAD) * halves.agreement


def _against_ranks(grounds: Grounds, group: Group) -> list[str]:
    """Say why there is no order, or one of something else than consistency; the gravest first."""
    anchors = grounds.evidence.anchors
    reliability = ranking_reliability(group, grounds.halves)
    values = {
        "explained": grounds.explained if group.explained is None else group.explained.usual,
        # Rounded it must not look like the limit that it is below.
        "reliability": min(max(reliability, 0.0), RANKABLE - 0.01),
        "with_rates": -1.0 if grounds.with_rates is None else grounds.with_rates,
        "by_chance": _at_most(grounds.with_rates, group.n_physicians),
        "with_patients": -1.0 if grounds.with_patients is None else grounds.with_patients,
        "case_mix": 100 * grounds.case_mix,
        "clear": 100 * (1.0 if anchors is None else anchors.clear),
        "agreement": 1.0 if grounds.agreement is None else grounds.agreement,
    }
    tests = [
        *_without_an_order(grounds, group, values["explained"], reliability),
        *_with_other_meanings(grounds, group, values),
    ]
    reasons: list[str] = [Sentence(words, **values) for holds, words in tests if holds]
    few = grounds.n_ranked is not None and grounds.n_ranked < 2
    return reasons or [FEW_RANKED] * few


def _without_an_order(
    grounds: Grounds, group: Group, explained: float, reliability: float
) -> list[tuple[bool, str]]:
    evidence = grounds.evidence
    rule = not evidence.by_rate and grounds.rule_found >= RULE_FOUND
    several, little = group.n_physicians > 1, group.differences == "less than matters"
    learned = several and evidence.learned  # what was counted needs no halves
    return [
        (
            evidence.by_rate,
            "the score is that of the rate alone: it says nothing about comparable {cases}",
        ),
        (not evidence.by_rate and not rule, NO_RULE.template),
        (
            rule and explained < LITTLE_EXPLAINED,
            "what is recorded explains hardly anything of how decisions of a usual {decider} vary: "
            "{cases} alike in the record are hardly more alike than any two {cases}",
        ),
        (
            rule and not evidence.follows,
            "{deciders} follow rules of their own that this method cannot follow: to decide by "
            "another rule looks like deciding inconsistently (predictability asks for no rule)",
        ),
        (not several, "there is one {decider} only"),
        (several and little, "{deciders} differ by less than matters"),
        (
            several and not little and not group.differ,
            "the differences between {deciders} are too small to tell from chance",
        ),
        (learned and grounds.halves is None, "panels are too small to be halved and compared"),
        (
            learned and reliability < RANKABLE,
            "two halves of the {cases} do not keep the {deciders_own} order (reliability "
            "{reliability:.2f})",
        ),
    ]


def _with_other_meanings(
    grounds: Grounds, group: Group, values: Mapping[str, float]
) -> list[tuple[bool, str]]:
    like_rates = values["with_rates"] >= SAME_AS_RATES or values["by_chance"] >= SAME_BY_CHANCE
    anchors = grounds.evidence.anchors
    few_clear = anchors is not None and anchors.clear < ANCHORED
    return [
        (
            like_rates and values["explained"] < ENOUGH_EXPLAINED,
            "the order cannot be told from one by rates, in which {deciders} whose rate is nearer "
            "to one half have the higher score (rank correlation {with_rates:.1f}, and by chance "
            "as much as {by_chance:.1f}): what is recorded explains too little to tell a low rate "
            "from consistency",
        ),
        (
            values["with_patients"] >= SAME_AS_PATIENTS,
            "the order may come from which {cases} each sees: the average {decider} would have "
            "nearly the same order on the same {cases} (rank correlation {with_patients:.1f})",
        ),
        (
            grounds.case_mix < COMPARABLE,
            "{deciders} see different {cases}: panels overlap by {case_mix:.0f} % of what they "
            "would if dealt at random, and ranks would compare {cases}",
        ),
        (
            few_clear,
            "only {clear:.0f} % of those who are eligible, or of those who are not, are clear "
            "cases: a line drawn elsewhere cannot be told from inconsistency",
        ),
        (
            not few_clear and group.differ and grounds.over_limits <= OVER_LIMITS,
            "{deciders} that only draw the line at different places would decide like this: the "
            "lenient cannot be told from the inconsistent",
        ),
        (
            values["agreement"] < AGREE,
            "other methods that tell the {deciders} apart put them into another order (rank "
            "correlation {agreement:.2f})",
        ),
    ]


def _at_most(correlation: float | None, n: int) -> float:
    """Return what a rank correlation of so many may be, 90 % sure (Fisher's transform).

    Examples
    --------
    >>> [round(_at_most(0.4, n), 2) for n in (4, 10, 100)]
    [0.94, 0.72, 0.5]
    """
    if correlation is None:
        return -1.0
    near = min(max(correlation, -1 + _TINY), 1 - _TINY)
    return float(np.tanh(np.arctanh(near) + _Z / np.sqrt(max(n - 3, 1))))


def _against_levels(evidence: Evidence, halves: Halves | None) -> list[str]:
    overlap = 1.0 if halves is None else halves.overlap
    width = 0.0
    if evidence.anchors is not None:
        ends = evidence.anchors.identified_low, evidence.anchors.identified_high
        width = float(np.median(ends[1] - ends[0]))
    tests = (
        (
            overlap < OVERLAP,
            "intervals from two halves of the {cases} overlap for {overlap:.0f} % of the "
            "{deciders} only",
        ),
        (
            evidence.caliper is not None,
            "a matching method gives biased figures: the two {cases} of a pair are never quite "
            "alike",
        ),
        (
            width > DETERMINED,
            "clear cases are missing: levels that differ by {width:.0f} of 100 fit these data "
            "equally well",
        ),
    )
    values = {"overlap": 100 * overlap, "width": 100 * width}
    return [Sentence(words, **values) for holds, words in tests if holds]
