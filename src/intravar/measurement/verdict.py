"""What the data support: levels and ranks, upper limits and ranks, ranks only, the group, nothing.

Verdicts go by the size of what is explained, not by its significance: with enough patients any
trace of a rule is significant. Every test has a threshold with a name; docs/verdict.md says why it
is where it is, and shows how often each verdict was right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from intravar.estimators.assumptions import Assumptions, Violation
from intravar.estimators.evidence import Evidence
from intravar.estimators.predictability import Dependence
from intravar.inference.group import RANKABLE, Group
from intravar.measurement.halves import Halves
from intravar.wording import USUAL, Sentence, Words, agree, declared_in

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
#: Share of the physicians with a figure who must have a rank.
SHARE_RANKED = 0.5
#: Median width of the 95 % intervals of ranks, as a share of all ranks, up to which they say enough
#: about who comes before whom; `python -m benchmarks rankwidths` shows where that is.
WIDEST_RANKS = 0.85
#: Reasons that are told, the gravest.
MOST_REASONS = 3
NOT_DEPENDENT = Dependence()
_Z = float(norm.ppf(0.9))
_TINY = 1e-9

#: Sentences by their use, templates for :meth:`intravar.wording.Words.fill`.
SAID = declared_in(__package__, "words")
NO_RULE = Sentence(SAID["reasons"]["no rule"])


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


@dataclass(frozen=True, kw_only=True)
class RankCounts:
    """How many physicians have a rank, and how much their ranks say.

    Attributes
    ----------
    n_ranked
        Physicians with a rank.
    n_with_figure
        Physicians with a figure.
    median_width
        Median width of the intervals of ranks, as a share of all ranks; 0 without ranks.
    """

    n_ranked: int = 2
    n_with_figure: int = 2
    median_width: float = 0.0

    @property
    def few(self) -> bool:
        """Whether too few of the physicians with a figure have a rank."""
        return self.n_ranked < max(2.0, SHARE_RANKED * self.n_with_figure)

    @property
    def wide(self) -> bool:
        """Whether the intervals of ranks span nearly all ranks."""
        return self.median_width > WIDEST_RANKS


@dataclass(frozen=True, eq=False)
class Grounds:
    """What a verdict rests on, beside the evidence of the method that measures.

    The `group` of all physicians and two `halves` of the patients; None where there is nothing.
    `rule_found` says by how many standard errors covariates predict decisions better than none,
    `leaks` are columns that give the decision away and that the user did not confirm, `case_mix`
    the overlap of a usual panel with those of the others, as a share of what chance would give.

    Rank correlations, None where they cannot be told: `agreement`, in the median, with the other
    methods that tell physicians apart; `with_rates`, of scores with 2 r (1 - r), what the rates r
    alone would give; `with_patients`, with what the average colleague would have on the same
    patients, where that differs. `ranked` counts who has a rank.

    `over_limits` is by how much rates of their own predict decisions better than limits of their
    own, in held-out log-likelihood, `explained` the share of how the decisions of a usual physician
    vary that is explained; both are infinite where a method cannot tell. `dependence` is the result
    of the test of whether rows belong to the same patients.
    """

    evidence: Evidence
    group: Group | None
    halves: Halves | None
    rule_found: float
    leaks: tuple[str, ...] = ()
    case_mix: float = 1.0
    agreement: float | None = None
    with_rates: float | None = None
    over_limits: float = float("inf")
    with_patients: float | None = None
    ranked: RankCounts = RankCounts()
    explained: float = float("inf")
    dependence: Dependence = NOT_DEPENDENT


def judge(grounds: Grounds, words: Words = USUAL) -> Verdict:
    """Return the verdict, with the reasons for not going further."""
    group, figures = grounds.group, dict[str, float]()
    tests: list[tuple[Level, dict[str, bool]]] = [
        (NOTHING, {"leak": bool(grounds.leaks)}),
        (NOTHING, {"no score": group is None}),
    ]
    if group is not None:
        figures = _figures(grounds, group)
        tests += _tests(grounds, group, figures)
    listed = ((level, [name for name, holds in each.items() if holds]) for level, each in tests)
    level, names = next((level, names) for level, names in listed if names)
    told = [SAID["reasons"][name] for name in names[:MOST_REASONS]]
    columns = ", ".join(f"'{column}'" for column in grounds.leaks)
    give = agree(len(grounds.leaks), "gives", "give")
    known = agree(len(grounds.leaks), "it was", "they were")
    reasons = [
        Sentence(each, leaks=columns, give=give, known=known, **figures).in_words(words)
        for each in told
    ]
    return Verdict(level, tuple(reasons), grounds.rule_found)


def _figures(grounds: Grounds, group: Group) -> dict[str, float]:
    """Return what tests look at, and what sentences say."""
    anchors, halves = grounds.evidence.anchors, grounds.halves
    reliability, width, by_chance = float("nan"), 0.0, -1.0
    if halves is not None:
        # Halves tell it from the ranks themselves, but of ten physicians only roughly; the spread
        # of true values against the errors of scores tells it more surely.
        own = group.reliability if np.isfinite(group.reliability) else halves.agreement
        reliability = WEIGHT_OF_SPREAD * own + (1 - WEIGHT_OF_SPREAD) * halves.agreement
    if anchors is not None:
        width = float(np.median(anchors.identified_high - anchors.identified_low))
    if grounds.with_rates is not None:
        # What a rank correlation of so many may be, 90 % sure: Fisher's transform.
        near = min(max(grounds.with_rates, -1 + _TINY), 1 - _TINY)
        error = _Z / np.sqrt(max(group.n_physicians - 3, 1))
        by_chance = float(np.tanh(np.arctanh(near) + error))
    return {
        "explained": grounds.explained if group.explained is None else group.explained.usual,
        "reliability": reliability,
        # Rounded it must not look like the limit that it is below.
        "below_rankable": min(max(reliability, 0.0), RANKABLE - 0.01),
        "with_rates": -1.0 if grounds.with_rates is None else grounds.with_rates,
        "by_chance": by_chance,
        "with_patients": -1.0 if grounds.with_patients is None else grounds.with_patients,
        "case_mix": 100 * grounds.case_mix,
        "clear": 100 * (1.0 if anchors is None else anchors.clear),
        "agreement": 1.0 if grounds.agreement is None else grounds.agreement,
        "overlap": 100 * (1.0 if halves is None else halves.overlap),
        "related": 100 * grounds.dependence.share,
        "width": width,
        "levels_apart": 100 * width,
    }


def _tests(
    grounds: Grounds, group: Group, figures: Mapping[str, float]
) -> list[tuple[Level, dict[str, bool]]]:
    """Return the reasons for each verdict and whether they hold; the lowest verdict first."""
    evidence, halves = grounds.evidence, grounds.halves
    rule = not evidence.by_rate and grounds.rule_found >= RULE_FOUND
    several, little = group.n_physicians > 1, group.differences == "less than matters"
    learned = several and evidence.learned  # what was counted needs no halves
    like_rates = figures["with_rates"] >= SAME_AS_RATES or figures["by_chance"] >= SAME_BY_CHANCE
    violated = Assumptions(
        explained=figures["explained"],
        follows=evidence.follows,
        clear=1.0 if evidence.anchors is None else evidence.anchors.clear,
        differ=group.differ,
        over_limits=grounds.over_limits,
        width=figures["width"],
    ).violations
    against_ranks = {
        "dependent rows": grounds.dependence.detected and several,
        "dependent rows of one": grounds.dependence.detected and not several,
        "rate alone": evidence.by_rate,
        "no rule": not evidence.by_rate and not rule,
        "little explained": rule and Violation.LITTLE_EXPLAINED in violated,
        "own rules": rule and Violation.OWN_RULES in violated,
        "one": not several,
        "less than matters": several and little,
        "chance": several and not little and not group.differ,
        "no halves": learned and halves is None,
        "other order": learned and figures["reliability"] < RANKABLE,
        "rates": like_rates and figures["explained"] < ENOUGH_EXPLAINED,
        "patients": figures["with_patients"] >= SAME_AS_PATIENTS,
        "case mix": grounds.case_mix < COMPARABLE,
        "few clear": Violation.FEW_CLEAR in violated,
        "lenient": Violation.LENIENT in violated,
        "methods": figures["agreement"] < AGREE,
    }
    against_levels = {
        "overlap": halves is not None and halves.overlap < OVERLAP,
        "matching": evidence.caliper is not None,
        "not determined": Violation.NOT_DETERMINED in violated,
    }
    limits, compared = evidence.upper_limit, halves is not None
    for_all = {
        "seen twice": not compared,
        "same order": compared and limits,
        "same level": compared and not limits,
    }
    return [
        ("group only", against_ranks),
        ("group only", {"few ranked": grounds.ranked.few, "wide ranks": grounds.ranked.wide}),
        ("ranks only", against_levels),
        ("upper limits and ranks" if limits else "levels and ranks", for_all),
    ]


def compared_in(evidence: Evidence, judged: Verdict) -> str:
    """Return what a score compares, to stand behind "of 100".

    By the verdict, where no rule was found, nothing tells patients apart.

    Examples
    --------
    >>> from intravar.estimators.evidence import Predictions
    >>> evidence = Predictions(*np.zeros((4, 2)))
    >>> compared_in(evidence, Verdict("group only", (), rule_found=5.0))
    'pairs of patients alike in what is recorded'
    >>> compared_in(evidence, Verdict("group only", (), rule_found=1.0))
    'pairs of patients alike in what is recorded, which hardly tells patients apart'
    """
    no_rule = judged.rule_found < RULE_FOUND and evidence.learned
    return Sentence(SAID["without_a_rule"]) if no_rule else evidence.compared
