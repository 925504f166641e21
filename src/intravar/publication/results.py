"""What is published of a measurement, as types; every field says what makes it safe.

:class:`Published` is all that leaves the disclosure step; whatever is shown or kept is read from
it. A field is declared as `Annotated[type, rule]`, where the rule says why it tells on nobody. A
test holds the rules against docs/privacy.md. To add a field, declare it here and fill it where the
measurement is published; files and reading follow.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Annotated, TypeVar, get_args, get_type_hints

import polars as pl

from intravar.request import Request
from intravar.tables import MOST_DISCORDANCE, within
from intravar.wording import Words

_ASKED = "what the user asked for"
_COLUMN = "name of a column"
_FIXED = "fixed words of the method"
_SHOWN = "of the physicians whose scores are shown"
_PSEUDONYM = "a pseudonym under a secret key, unless names were asked for; rows in its order"
_NOISE = "over all patients, rounded to what two dozen of them move"
_SPREAD = "over all physicians, rounded from a secret point to what one hidden physician moves"
_MEAN = f"{_NOISE}; with fewer than 1,200, two digits, from what is shown of each physician"
_SHARE = f"{_NOISE}; with fewer than 1,200, two digits, {_SHOWN}"
_ALL = "over all physicians, two digits"
_LEVELS = "two digits, coarser where somebody's are hidden; left out if few were decided one way"
_IN_TABLE = "counted in the table"
_SOME_BELOW = "hidden where few got both; rounded to what two dozen patients move"
_ALWAYS = "hidden with a small panel or small counts behind the score"
_REPORTABLE = "hidden unless reportable; rounded"
_RATES = "hidden unless reportable, and where it would tell a small count; rounded"
_OTHERS = "hidden unless reportable, and where those who are not eligible are few; rounded"
_REPEATS = "hidden where few were decided alike, or not; cases to tens, shares to two digits"
_BAND = "an end of one of two bands that overlap; a secret decides between them"
_CLOSE = "hidden unless reportable, and where close calls, or the others, are few; rounded"
_STRATUM = "all strata of a physician or none: none where a small count or hidden size follows"
_CHANGED = "of physicians whose strata are shown, and from them alone; rounded"
_JOINT = "hidden where few patients got a combination of decisions, or unless reportable; rounded"
_AS_ALONE = "as in the table of physicians"
_HELD_OUT = "three digits, over patients held out"
_COVARIATES = "three digits, over covariates alone"
_PARTS = "by pseudonym; left out with the physician where a part of the panel is small"
_OF_SIZES = "by pseudonym; two digits, of panels whose size is shown"
_OWN_RULE = (
    "one of five words; left out unless reportable, and where the covariate tells few patients of "
    "the panel apart"
)
_REVIEWED = "hidden where few pairs stand behind it; rounded so that no count follows"
_REASONS = f"reasons that reviewers chose from; {_REVIEWED}"
_KAPPA = "one digit; missing where few pairs were judged alike, or not"


@dataclass(frozen=True)
class Band:
    """Between which figures a hidden one lies; `high` is `most` where it is open."""

    low: float
    high: float
    most: float = MOST_DISCORDANCE

    def of_hundred(self, claim: str = "about") -> str:
        """Return the band of a figure of this claim as numbers of 100, in words."""
        return within(self.low, self.high, self.most, claim=claim)

    @property
    def middle(self) -> float:
        """What stands for the score where all are counted together."""
        return (self.low + self.high) / 2

    def error(self, n_patients: float) -> float:
        """How far the score may lie from the middle: chance, and the width of the band."""
        chance = 2 * self.middle * (1 - 2 * self.middle) / n_patients
        return math.sqrt(chance + (self.high - self.low) ** 2 / 12)


class _Banded:
    """A row that may tell a band in the place of its figure, which is `_most` at the most."""

    _most = MOST_DISCORDANCE

    @property
    def band(self) -> Band | None:
        """The band that stands in the place of the figure, where there is one."""
        low, high = (vars(self)[f"band_{end}"] for end in ("low", "high"))
        return None if low is None or high is None else Band(low, high, self._most)


@dataclass(frozen=True)
class PhysicianRow(_Banded):
    """A decider's row of the main table; what is hidden is None. `COLUMNS` says what they mean."""

    physician: Annotated[str, _PSEUDONYM]
    n_patients: Annotated[int | None, _ALWAYS]
    discordance: Annotated[float | None, _REPORTABLE]
    band_low: Annotated[float | None, _BAND]
    band_high: Annotated[float | None, _BAND]
    low: Annotated[float | None, _REPORTABLE]
    high: Annotated[float | None, _REPORTABLE]
    shrunken: Annotated[float | None, _REPORTABLE]
    identified_low: Annotated[float | None, _REPORTABLE]
    identified_high: Annotated[float | None, _REPORTABLE]
    rate: Annotated[float | None, _RATES]
    explained: Annotated[float | None, _RATES]
    explained_low: Annotated[float | None, _RATES]
    explained_high: Annotated[float | None, _RATES]
    in_close_calls: Annotated[float | None, _CLOSE]
    p_high: Annotated[float | None, _REPORTABLE]
    p_low: Annotated[float | None, _OTHERS]
    discrimination: Annotated[float | None, _OTHERS]
    expected: Annotated[float | None, _REPORTABLE]
    gain: Annotated[float | None, _REPORTABLE]
    contradiction: Annotated[float | None, _REPEATS]
    contradiction_low: Annotated[float | None, _REPEATS]
    contradiction_high: Annotated[float | None, _REPEATS]
    n_repeats: Annotated[int | None, _REPEATS]
    n_pairs: Annotated[int | None, _ALWAYS]
    reliability: Annotated[float | None, _ALWAYS]
    rank: Annotated[float | None, _REPORTABLE]
    rank_low: Annotated[int | None, _REPORTABLE]
    rank_high: Annotated[int | None, _REPORTABLE]
    reportable: Annotated[bool, _ALWAYS]
    reason: Annotated[str | None, _ALWAYS]


@dataclass(frozen=True)
class MethodRow:
    """A decider's score by one of several methods."""

    method: Annotated[str, _ASKED]
    physician: Annotated[str, _PSEUDONYM]
    score: Annotated[float | None, _REPORTABLE]
    scale: Annotated[str, "what the method measures"]
    n_pairs: Annotated[int | None, _ALWAYS]
    reason: Annotated[str | None, _ALWAYS]


@dataclass(frozen=True)
class StratumRow:
    """A decider in a subgroup or period; `stratified_by` is "by" or "period"."""

    stratified_by: Annotated[str, _ASKED]
    physician: Annotated[str, _PSEUDONYM]
    stratum: Annotated[str, "a value of a column, or a period"]
    n_patients: Annotated[int, _STRATUM]
    discordance: Annotated[float | None, _STRATUM]
    low: Annotated[float | None, _STRATUM]
    high: Annotated[float | None, _STRATUM]


@dataclass(frozen=True)
class ChangeRow:
    """How a decider changed from the first to the last stratum."""

    stratified_by: Annotated[str, _ASKED]
    physician: Annotated[str, _PSEUDONYM]
    change: Annotated[float, _CHANGED]
    low: Annotated[float, _CHANGED]
    high: Annotated[float, _CHANGED]
    shrunken: Annotated[float, _CHANGED]
    probability: Annotated[float, _CHANGED]


@dataclass(frozen=True)
class JointRow(_Banded):
    """A decider's decisions together; see :class:`Joint`."""

    physician: Annotated[str, _PSEUDONYM]
    differ: Annotated[float | None, _JOINT]
    differ_low: Annotated[float | None, _JOINT]
    differ_high: Annotated[float | None, _JOINT]
    differ_apart: Annotated[float | None, _JOINT]
    n_differences: Annotated[float | None, _JOINT]
    n_differences_low: Annotated[float | None, _JOINT]
    n_differences_high: Annotated[float | None, _JOINT]
    band_low: Annotated[float | None, "follows from what is told of the decisions"]
    band_high: Annotated[float | None, "follows from what is told of the decisions"]
    reportable: Annotated[bool, "whether the figures are shown"]
    reason: Annotated[str | None, "fixed words"]
    _most = 1.0


@dataclass(frozen=True)
class DecisionRow(_Banded):
    """A decider in one of several decisions."""

    physician: Annotated[str, _PSEUDONYM]
    decision: Annotated[str, _COLUMN]
    n_patients: Annotated[int | None, _AS_ALONE]
    discordance: Annotated[float | None, _AS_ALONE]
    low: Annotated[float | None, _AS_ALONE]
    high: Annotated[float | None, _AS_ALONE]
    band_low: Annotated[float | None, _AS_ALONE]
    band_high: Annotated[float | None, _AS_ALONE]
    reportable: Annotated[bool, _AS_ALONE]
    across: Annotated[float | None, "hidden unless reportable in this decision; rounded"]
    given: Annotated[float | None, _JOINT]


@dataclass(frozen=True)
class PairRow:
    """How a decider takes two decisions together."""

    physician: Annotated[str, _PSEUDONYM]
    first: Annotated[str, _COLUMN]
    second: Annotated[str, _COLUMN]
    correlation: Annotated[float | None, f"{_JOINT} to 0.05"]
    low: Annotated[float | None, f"{_JOINT} to 0.05"]
    high: Annotated[float | None, f"{_JOINT} to 0.05"]


Row = TypeVar("Row")


_DTYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def rows_of(table: pl.DataFrame, kind: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a table as their type."""
    return tuple(kind(**row) for row in table.iter_rows(named=True))


def schema_of(kind: type) -> dict[str, type[pl.DataType]]:
    """Return the columns of a type of rows, and what they hold in a table."""
    schema = {}
    for name, hint in get_type_hints(kind).items():
        (own,) = (each for each in get_args(hint) or (hint,) if each is not NoneType)
        schema[name] = _DTYPES[own]
    return schema


def frame_of(rows: Sequence[object], kind: type) -> pl.DataFrame:
    """Return rows of one type as a table."""
    schema = schema_of(kind)
    columns = {name: [getattr(row, name) for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=schema)


@dataclass(frozen=True)
class Figure:
    """A figure with the ends of its interval, of 95 % unless said otherwise; None where unknown.

    It has the rule of the field that it is.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Noise:
    """Why two deciders decide differently for one patient: system = level + pattern + occasion."""

    system: Annotated[Figure, _NOISE]
    level: Annotated[Figure, _NOISE]
    pattern: Annotated[Figure, _NOISE]
    occasion: Annotated[Figure, _NOISE]


@dataclass(frozen=True)
class Group:
    """All deciders together.

    `discordance` is the mean over their patients, `spread` the standard deviation of their true
    values. `differences` is "differ", "not known" or "less than matters"; `matters` is the spread
    below which they do not, `needed` how many patients of each it would take. `with_rate` and
    `with_half` are rank correlations of scores with rates, and with their distance from one half.
    `explained` is of methods that predict. Of cases seen twice, `contradiction` is the share that
    was decided differently, and `share_not_inconsistency` what of the discordance it leaves.
    """

    discordance: Annotated[Figure, _MEAN]
    spread: Annotated[Figure, _SPREAD]
    differences: Annotated[str | None, "one of three words, over all physicians"]
    matters: Annotated[float, _ASKED]
    needed: Annotated[int | None, "a number of patients, two digits"]
    explained: Annotated[Figure | None, _NOISE]
    noise: Annotated[Noise | None, f"{_NOISE}; missing where that is more than 0.05"]
    contradiction: Annotated[float | None, _ALL]
    share_not_inconsistency: Annotated[float | None, _ALL]
    with_rate: Annotated[float | None, f"one digit, {_SHOWN}"]
    with_half: Annotated[float | None, f"one digit, {_SHOWN}"]


@dataclass(frozen=True)
class KindOfPatients:
    """A kind of patients, its shares of patients and of the discordance, and its own level."""

    when: Annotated[str, "cuts between groups of 30 patients or more"]
    patients: Annotated[float | None, f"{_NOISE}; left out where few were decided one way"]
    discordance: Annotated[float | None, f"{_NOISE}; left out where few were decided one way"]
    level: Annotated[float | None, f"{_NOISE}; left out where few were decided one way"]


@dataclass(frozen=True)
class Location:
    """Where the discordance lies: in close calls, who could be decided either way, and in kinds."""

    close_patients: Annotated[float | None, _NOISE]
    close_discordance: Annotated[float | None, _NOISE]
    kinds: tuple[KindOfPatients, ...]


@dataclass(frozen=True)
class LeftOut:
    """The group's discordance without a covariate, and with one more reason as strong as it."""

    covariate: Annotated[str, _COLUMN]
    without: Annotated[float | None, "in proportion to the group's figure, two digits"]
    lowered: Annotated[float | None, "in proportion to the group's figure, two digits"]


@dataclass(frozen=True)
class Unrecorded:
    """How far a reason could go that is not recorded, the strongest covariate first."""

    words: Annotated[str, "the same in words"]
    reasons: tuple[LeftOut, ...]
    n_tried: Annotated[int, "a number of columns"]


@dataclass(frozen=True)
class Stratum:
    """A subgroup or period over all deciders.

    `alike` is as if as many were decided for in every stratum; periods may have their `noise`.
    """

    stratum: Annotated[str, _LEVELS]
    rate: Annotated[float | None, _LEVELS]
    discordance: Annotated[Figure, _LEVELS]
    alike: Annotated[Figure, _LEVELS] = Figure()
    noise: Annotated[Noise | None, _LEVELS] = None


@dataclass(frozen=True)
class Strata:
    """Subgroups of a column, or periods, compared; `strata` are those that may be shown.

    `p_value` is of the test that they do not differ. The `change` is from the first to the last,
    `probability` that it matters. From `rule_changed` on fields are of periods alone.
    """

    strata: tuple[Stratum, ...]
    n_left_out: Annotated[int, _LEVELS]
    p_value: Annotated[float | None, _LEVELS]
    change: Annotated[Figure, _LEVELS] = Figure()
    probability: Annotated[float | None, _LEVELS] = None
    lines: Annotated[tuple[str, ...], "the same in words"] = ()
    rule_changed: Annotated[bool | None, _LEVELS] = None
    n_changed: Annotated[int | None, _LEVELS] = None


@dataclass(frozen=True)
class Dependence:
    """Predicted share decided for at a value of a covariate."""

    covariate: Annotated[str, _COLUMN]
    value: Annotated[float, "mean of as many patients as the smallest count, three digits"]
    share: Annotated[float | None, "mean prediction over a sample, three digits"]


@dataclass(frozen=True)
class Leaf:
    """A leaf of the tree that sums the rule up; `words` say a share that is hidden."""

    when: Annotated[str, "cuts between groups of 30 patients or more"]
    about_n_patients: Annotated[int, "two digits"]
    share: Annotated[float | None, "two digits; hidden where few were decided one way"]
    words: Annotated[str, "the same in words"]


@dataclass(frozen=True)
class Rule:
    """The rule that the data suggest: how well it predicts, by what, and as a small tree.

    The `importance` of a covariate is how much worse decisions are predicted without it (area under
    ROC).
    """

    auc: Annotated[float | None, _HELD_OUT] = None
    importance: Annotated[Mapping[str, float], _HELD_OUT] = field(default_factory=dict)
    dependence: tuple[Dependence, ...] = ()
    tree: tuple[Leaf, ...] = ()


@dataclass(frozen=True)
class OwnRule:
    """A covariate that a decider weighs in another way than the others, and how."""

    physician: Annotated[str, _PSEUDONYM]
    covariate: Annotated[str, _COLUMN]
    how: Annotated[str, _OWN_RULE]


@dataclass(frozen=True)
class Column:
    """A column of the table: what it was used as, and what was done to it."""

    column: Annotated[str, _COLUMN]
    use: Annotated[str, "one of a few words"]
    kind: Annotated[str | None, "one of a few words"]
    missing: Annotated[str, "a range where it, or the rest, is small"]
    distinct: Annotated[str | int | None, "100 at the most"]
    note: Annotated[str, "what was done to the column; no count below the smallest"]


@dataclass(frozen=True)
class DecisionColumn:
    """The column of the decision, the value that counts as yes, and the other."""

    column: Annotated[str, _COLUMN]
    positive: Annotated[str, "a value of the column"]
    negative: Annotated[str, "values of the column"]


@dataclass(frozen=True)
class Check:
    """What the check of the table found; counts are rounded or given as ranges.

    `leaks` are columns that may give the decision away, and why.
    """

    source: Annotated[str, "name of the file, or the address without a password"]
    read_with: Annotated[tuple[str, ...], "what was found out while reading"]
    n_patients: Annotated[int, "sum of the panel sizes that are shown"]
    n_physicians: Annotated[int, "all physicians"]
    n_physicians_with_few_patients: Annotated[int, "how many, not who"]
    n_physicians_measurable: Annotated[int, "how many, not who"]
    min_panel: Annotated[int, _ASKED]
    smallest_cell: Annotated[int, _ASKED]
    decision: DecisionColumn
    decision_share: Annotated[float | None, _SHARE]
    covariates: Annotated[tuple[str, ...], _COLUMN]
    columns: tuple[Column, ...]
    missing_policy: Annotated[str, _ASKED]
    missing: Annotated[str, "'some' where a part of it is small"]
    dropped: Annotated[tuple[str, ...], "a range where it is small"]
    leaks: Annotated[Mapping[str, str], "by column, why it is suspicious; two digits at the most"]
    method: Annotated[str, _ASKED]
    estimated_seconds: Annotated[float, "follows from rounded sizes"]
    estimated_memory_mb: Annotated[int, "follows from rounded sizes"]


@dataclass(frozen=True)
class Difference:
    """How far patients of a pair differ in a covariate, and patients drawn at random."""

    covariate: Annotated[str, _COLUMN]
    within_pairs: Annotated[float | None, f"three digits, {_SHOWN}"]
    at_random: Annotated[float | None, _COVARIATES]


@dataclass(frozen=True)
class Distances:
    """Share of pairs whose distance lies between two edges."""

    lower: Annotated[float, "edge of a bin"]
    upper: Annotated[float, "edge of a bin"]
    share: Annotated[float, "bins merged until none is small"]


@dataclass(frozen=True)
class SweepStep:
    """What other calipers would have given."""

    fraction: Annotated[float, "steps that set few pairs apart are left out; two digits"]
    share_paired: Annotated[float | None, "two digits"]
    mean_discordance: Annotated[float | None, "two digits"]


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of two methods."""

    method: Annotated[str, _ASKED]
    other: Annotated[str, _ASKED]
    spearman: Annotated[float | None, f"two digits, {_SHOWN}"]


@dataclass(frozen=True)
class Calibration:
    """Predicted and observed share of a bin."""

    predicted: Annotated[float, "bins with few or nearly all are left out; three digits"]
    observed: Annotated[float, "bins with few or nearly all are left out; three digits"]


@dataclass(frozen=True)
class Diagnostics:
    """Tables that tell whether to believe the result; empty where they do not apply.

    `attrition` is what became of each decider's patients when pairs were formed: patients by part.
    `balance` is the share of each covariate's variance that lies between deciders, `overlap` how
    far each decider's patients cover those of all. `surely_eligible` and `surely_not_eligible` are
    the shares of clear cases on both sides of a latent rule.
    """

    love: tuple[Difference, ...] = ()
    distances: tuple[Distances, ...] = ()
    attrition: Annotated[Mapping[str, Mapping[str, int]], _PARTS] = field(default_factory=dict)
    sweep: tuple[SweepStep, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    balance: Annotated[Mapping[str, float | None], _COVARIATES] = field(default_factory=dict)
    overlap: Annotated[Mapping[str, float], _OF_SIZES] = field(default_factory=dict)
    calibration: tuple[Calibration, ...] = ()
    split_half_reliability: Annotated[float | None, f"three digits, {_SHOWN}"] = None
    surely_eligible: Annotated[float | None, "two digits, over all patients"] = None
    surely_not_eligible: Annotated[float | None, "two digits, over all patients"] = None


@dataclass(frozen=True)
class Review:
    """What blind review of pairs found: the discordance among pairs judged comparable.

    `n_pairs` were judged, `n_left` have no answer. `record` is the discordance of all pairs alike
    in the record, `step` to which figures are rounded, `explained` the share of the pairs decided
    differently that reviewers did not find comparable. `reasons` are their shares of the pairs
    judged not comparable. `unsure` pairs, counted as comparable or as different, move the figure
    between two ends. `agreement` is the kappa of two reviewers. `physicians` are by what they are
    called.
    """

    discordance: Annotated[Figure, _REVIEWED]
    n_pairs: Annotated[int, "told in blocks of twenty or more"]
    record: Annotated[float, "two digits, over all pairs"]
    step: Annotated[float, "how far the figure was rounded"]
    n_left: Annotated[int, "told in blocks of twenty or more"] = 0
    explained: Annotated[float | None, _REVIEWED] = None
    reasons: Annotated[Mapping[str, float | None], _REASONS] = field(default_factory=dict)
    unsure: Annotated[Figure | None, f"{_REVIEWED}; missing where unsure pairs are few"] = None
    agreement: Annotated[Figure | None, _KAPPA] = None
    physicians: Annotated[Mapping[str, Figure], _REVIEWED] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Decision:
    """What is published of one decision; what does not apply or was not asked for is None.

    `claim` is how the method's figure is read ("at most", "about"), `compared` what stands behind
    "of 100". `n_reportable` deciders have a number, `n_ranked` a rank, `n_banded` a range;
    `barred_by` names the limits of the request that keep others without. `seconds` are what steps
    took. Rows have files of their own: `physicians` in the order of pseudonyms, `methods`, `strata`
    and `changes`.
    """

    decision: Annotated[str, _COLUMN]
    verdict: Annotated[str, "one of five words"]
    verdict_reasons: Annotated[tuple[str, ...], _ALL]
    method: Annotated[str, _ASKED]
    claim: Annotated[str, _FIXED]
    compared: Annotated[str, _FIXED]
    n_physicians: Annotated[int, "all physicians"]
    n_reportable: Annotated[int, _IN_TABLE] = 0
    n_ranked: Annotated[int, _IN_TABLE] = 0
    n_banded: Annotated[int, _IN_TABLE] = 0
    barred_by: Annotated[tuple[str, ...], "names of limits that were asked for"] = ()
    n_patients_shown: Annotated[int, "sum of the panel sizes that are shown"]
    group: Annotated[Group | None, "missing where nobody has a score"] = None
    location: Annotated[Location | None, "missing for methods that do not predict"] = None
    unrecorded: Annotated[Unrecorded | None, "missing where it was not looked at"] = None
    by: Annotated[Strata | None, "missing where it was not asked for"] = None
    course: Annotated[Strata | None, "missing where it was not asked for"] = None
    rule: Rule = Rule()
    own_rules: tuple[OwnRule, ...] = ()
    warnings: Annotated[tuple[str, ...], "fixed words of the methods"]
    seconds: Annotated[Mapping[str, int], "whole seconds"]
    check: Check
    diagnostics: Diagnostics = Diagnostics()
    review: Annotated[Review | None, "missing where nothing was reviewed"] = None
    physicians: tuple[PhysicianRow, ...]
    methods: tuple[MethodRow, ...] = ()
    strata: tuple[StratumRow, ...] = ()
    changes: tuple[ChangeRow, ...] = ()

    @property
    def ranged(self) -> bool:
        """Whether levels are not determined: ranges stand in the place of all figures."""
        reportable = [row for row in self.physicians if row.reportable]
        return bool(reportable) and all(row.discordance is None for row in reportable)

    @property
    def table(self) -> pl.DataFrame:
        """The deciders as a table."""
        return frame_of(self.physicians, PhysicianRow)


@dataclass(frozen=True)
class JointDecision:
    """A decision over all patients; `given` is among those also alike in the ones before it."""

    decision: Annotated[str, _COLUMN]
    discordance: Annotated[float | None, _NOISE]
    given: Annotated[float | None, _NOISE]


@dataclass(frozen=True)
class JointPair:
    """Two decisions: the share that got both, and what covariates explain of it.

    `correlation` is of what they leave unexplained; `steadiness` the correlation over deciders of
    how closely they go with colleagues.
    """

    first: Annotated[str, _COLUMN]
    second: Annotated[str, _COLUMN]
    together: Annotated[float | None, _SOME_BELOW] = None
    expected: Annotated[float | None, _SOME_BELOW] = None
    correlation: Annotated[Figure, _NOISE] = Figure()
    steadiness: Annotated[float | None, "over all physicians, one digit"] = None


@dataclass(frozen=True, eq=False)
class Joint:
    """What several decisions say together.

    `differ` is the probability that two comparable patients differ in at least one decision,
    `differ_apart` the same if decisions were independent of each other, `n_differences` in how many
    they differ. `n_reportable` deciders have joint figures, `n_banded` a range. Rows of
    :class:`DecisionRow` are as published, with `across` (pulled together across decisions) and
    `given` (see :class:`JointDecision`).
    """

    differ: Annotated[Figure, _NOISE]
    differ_apart: Annotated[float | None, _NOISE]
    n_differences: Annotated[Figure, _NOISE]
    n_reportable: Annotated[int, _IN_TABLE]
    n_banded: Annotated[int, _IN_TABLE]
    decisions: tuple[JointDecision, ...]
    pairs: tuple[JointPair, ...]
    physicians: tuple[JointRow, ...]
    by_physician: tuple[DecisionRow, ...]
    pairs_by_physician: tuple[PairRow, ...]


@dataclass(frozen=True, eq=False)
class Published:
    """All that is published of a measurement.

    Attributes
    ----------
    version
        Of intravar.
    source
        What was measured, without folders and passwords.
    request
        What was asked for.
    decisions
        One entry per decision, in the order in which they are taken; usually one.
    joint
        What several decisions say together; None with one.
    """

    version: Annotated[str, "of intravar"]
    source: Annotated[str, "name of the file, or the address without a password"]
    request: Annotated[Request, _ASKED]
    decisions: tuple[Decision, ...]
    joint: Annotated[Joint | None, "missing with one decision"] = None

    @property
    def words(self) -> Words:
        """What whoever asked calls things."""
        return self.request.words

    @property
    def first(self) -> Decision:
        """The decision, or the first of several."""
        return self.decisions[0]
