"""What is published of a measurement, as types; every field says what makes it safe.

:class:`Published` is all that leaves the disclosure step; whatever is shown or kept is read from
it. A field is declared as `Annotated[type, rule]`, where the rule says why it tells on nobody;
rules that many fields have are in rules.toml. A test holds the rules against docs/privacy.md. To
add a field, declare it here and fill it where the measurement is published; files and reading
follow.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, TypeVar, dataclass_transform, get_args, get_type_hints

import polars as pl

from intravar.request import Request
from intravar.tables import MOST_DISCORDANCE, within
from intravar.wording import Words, declared_in

#: Rules in words, by their names.
RULES = SimpleNamespace(**declared_in(__package__, "rules"))


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """A part of what is published; whatever derives from it is a frozen dataclass."""

    def __init_subclass__(cls, *, eq: bool = True, kw_only: bool = False) -> None:
        dataclass(frozen=True, eq=eq, kw_only=kw_only)(cls)


class Band(Record):
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


class _Banded(Record):
    """A row that may tell a band in the place of its figure, which is `_most` at the most."""

    _most = MOST_DISCORDANCE

    @property
    def band(self) -> Band | None:
        """The band that stands in the place of the figure, where there is one."""
        low, high = (vars(self)[f"band_{end}"] for end in ("low", "high"))
        return None if low is None or high is None else Band(low, high, self._most)


class PhysicianRow(_Banded):
    """A decider's row of the main table; what is hidden is None. `COLUMNS` says what they mean."""

    physician: Annotated[str, RULES.pseudonym]
    n_patients: Annotated[int | None, RULES.always]
    discordance: Annotated[float | None, RULES.reportable]
    band_low: Annotated[float | None, RULES.band]
    band_high: Annotated[float | None, RULES.band]
    low: Annotated[float | None, RULES.reportable]
    high: Annotated[float | None, RULES.reportable]
    shrunken: Annotated[float | None, RULES.reportable]
    identified_low: Annotated[float | None, RULES.reportable]
    identified_high: Annotated[float | None, RULES.reportable]
    rate: Annotated[float | None, RULES.rates]
    explained: Annotated[float | None, RULES.rates]
    explained_low: Annotated[float | None, RULES.rates]
    explained_high: Annotated[float | None, RULES.rates]
    in_close_calls: Annotated[float | None, RULES.close]
    p_high: Annotated[float | None, RULES.reportable]
    p_low: Annotated[float | None, RULES.others]
    discrimination: Annotated[float | None, RULES.others]
    expected: Annotated[float | None, RULES.reportable]
    gain: Annotated[float | None, RULES.reportable]
    contradiction: Annotated[float | None, RULES.repeats]
    contradiction_low: Annotated[float | None, RULES.repeats]
    contradiction_high: Annotated[float | None, RULES.repeats]
    n_repeats: Annotated[int | None, RULES.repeats]
    n_pairs: Annotated[int | None, RULES.pairs]
    reliability: Annotated[float | None, RULES.always]
    rank: Annotated[float | None, RULES.reportable]
    rank_low: Annotated[int | None, RULES.reportable]
    rank_high: Annotated[int | None, RULES.reportable]
    reportable: Annotated[bool, RULES.always]
    reason: Annotated[str | None, RULES.always]


class MethodRow(Record):
    """A decider's score by one of several methods."""

    method: Annotated[str, RULES.asked]
    physician: Annotated[str, RULES.pseudonym]
    score: Annotated[float | None, RULES.reportable]
    scale: Annotated[str, "what the method measures"]
    n_pairs: Annotated[int | None, RULES.pairs]
    reason: Annotated[str | None, RULES.always]


class StratumRow(Record):
    """A decider in a subgroup or period; `stratified_by` is "by" or "period"."""

    stratified_by: Annotated[str, RULES.asked]
    physician: Annotated[str, RULES.pseudonym]
    stratum: Annotated[str, "a value of a column, or a period"]
    n_patients: Annotated[int, RULES.stratum]
    discordance: Annotated[float | None, RULES.stratum]
    low: Annotated[float | None, RULES.stratum]
    high: Annotated[float | None, RULES.stratum]


class ChangeRow(Record):
    """How a decider changed from the first to the last stratum."""

    stratified_by: Annotated[str, RULES.asked]
    physician: Annotated[str, RULES.pseudonym]
    change: Annotated[float, RULES.changed]
    low: Annotated[float, RULES.changed]
    high: Annotated[float, RULES.changed]
    shrunken: Annotated[float, RULES.changed]
    probability: Annotated[float, RULES.changed]


class JointRow(_Banded):
    """A decider's decisions together; see :class:`Joint`."""

    physician: Annotated[str, RULES.pseudonym]
    differ: Annotated[float | None, RULES.joint]
    differ_low: Annotated[float | None, RULES.joint]
    differ_high: Annotated[float | None, RULES.joint]
    differ_apart: Annotated[float | None, RULES.joint]
    n_differences: Annotated[float | None, RULES.joint]
    n_differences_low: Annotated[float | None, RULES.joint]
    n_differences_high: Annotated[float | None, RULES.joint]
    band_low: Annotated[float | None, "follows from what is told of the decisions"]
    band_high: Annotated[float | None, "follows from what is told of the decisions"]
    reportable: Annotated[bool, "whether the figures are shown"]
    reason: Annotated[str | None, "fixed words"]
    _most = 1.0


class DecisionRow(_Banded):
    """A decider in one of several decisions."""

    physician: Annotated[str, RULES.pseudonym]
    decision: Annotated[str, RULES.column]
    n_patients: Annotated[int | None, RULES.as_alone]
    discordance: Annotated[float | None, RULES.as_alone]
    low: Annotated[float | None, RULES.as_alone]
    high: Annotated[float | None, RULES.as_alone]
    band_low: Annotated[float | None, RULES.as_alone]
    band_high: Annotated[float | None, RULES.as_alone]
    reportable: Annotated[bool, RULES.as_alone]
    across: Annotated[float | None, "hidden unless reportable in this decision; rounded"]
    given: Annotated[float | None, RULES.joint]


class PairRow(Record):
    """How a decider takes two decisions together."""

    physician: Annotated[str, RULES.pseudonym]
    first: Annotated[str, RULES.column]
    second: Annotated[str, RULES.column]
    correlation: Annotated[float | None, f"{RULES.joint} to 0.05"]
    low: Annotated[float | None, f"{RULES.joint} to 0.05"]
    high: Annotated[float | None, f"{RULES.joint} to 0.05"]


Row = TypeVar("Row")


_DTYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def rows_of(table: pl.DataFrame, kind: type[Row]) -> tuple[Row, ...]:
    """Return the rows of a table as their type; what that does not declare is left out."""
    return tuple(kind(*row) for row in table.select(*schema_of(kind)).iter_rows())


def schema_of(kind: type) -> dict[str, type[pl.DataType]]:
    """Return the columns of a type of rows, and what they hold in a table."""
    hints = get_type_hints(kind).items()  # what may be missing is declared as `type | None`
    return {name: _DTYPES[(get_args(hint) or (hint,))[0]] for name, hint in hints}


def frame_of(rows: Sequence[object], kind: type) -> pl.DataFrame:
    """Return rows of one type as a table."""
    schema = schema_of(kind)
    columns = {name: [getattr(row, name) for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=schema)


class Figure(Record):
    """A figure with the ends of its interval, of 95 % unless said otherwise; None where unknown.

    It has the rule of the field that it is.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Noise(Record):
    """Why two deciders decide differently for one patient: system = level + pattern + occasion.

    Where pattern and occasion are not identified, they have no value, and their ends are the least
    and the most that the data allow; `reason` says why, `patients_needed` how many patients of each
    decider a personal rule takes.
    """

    system: Annotated[Figure, RULES.noise]
    level: Annotated[Figure, RULES.noise]
    pattern: Annotated[Figure, RULES.noise]
    occasion: Annotated[Figure, RULES.noise]
    pattern_and_occasion: Annotated[Figure, RULES.noise]
    reason: Annotated[str | None, "one of two reasons, over all patients"] = None
    patients_needed: Annotated[int, "follows from the number of columns"] = 0

    @property
    def parts(self) -> dict[str, Figure]:
        """Parts that add up to the whole, by name: pattern and occasion together or apart."""
        split = ("pattern", "occasion") if self.reason is None else ("pattern_and_occasion",)
        return {name: getattr(self, name) for name in ("level", *split)}


class Group(Record):
    """All deciders together.

    `discordance` is the mean over their patients, `spread` the standard deviation of their true
    values. `differences` is "differ", "not known" or "less than matters"; `matters` is the spread
    below which they do not, `needed` how many patients of each it would take. `with_rate` and
    `with_half` are rank correlations of scores with rates, and with their distance from one half.
    `explained` is of methods that predict. Of cases seen twice, `contradiction` is the share that
    was decided differently, and `share_not_inconsistency` what of the discordance it leaves.
    `dominated` figures are those that one physician without a published figure makes up; they are
    rounded coarsely.
    """

    discordance: Annotated[Figure, RULES.mean]
    spread: Annotated[Figure, RULES.spread]
    differences: Annotated[str | None, "one of three words, over all physicians"]
    matters: Annotated[float, RULES.asked]
    needed: Annotated[int | None, "a number of patients, two digits"]
    explained: Annotated[Figure | None, RULES.noise]
    noise: Annotated[Noise | None, f"{RULES.noise}; missing where that is more than 0.05"]
    contradiction: Annotated[float | None, RULES.all]
    share_not_inconsistency: Annotated[float | None, RULES.all]
    with_rate: Annotated[float | None, f"one digit, {RULES.shown}"]
    with_half: Annotated[float | None, f"one digit, {RULES.shown}"]
    dominated: Annotated[bool, RULES.dominated] = False


class KindOfPatients(Record):
    """A kind of patients, its shares of patients and of the discordance, and its own level."""

    when: Annotated[str, "cuts between groups of 30 patients or more"]
    patients: Annotated[float | None, f"{RULES.noise}; left out where few were decided one way"]
    discordance: Annotated[float | None, f"{RULES.noise}; left out where few were decided one way"]
    level: Annotated[float | None, f"{RULES.noise}; left out where few were decided one way"]


class Location(Record):
    """Where the discordance lies: in close calls, who could be decided either way, and in kinds."""

    close_patients: Annotated[float | None, RULES.noise]
    close_discordance: Annotated[float | None, RULES.noise]
    kinds: tuple[KindOfPatients, ...]


class LeftOut(Record):
    """The group's discordance without a covariate, and with one more reason as strong as it."""

    covariate: Annotated[str, RULES.column]
    without: Annotated[float | None, "in proportion to the group's figure, two digits"]
    lowered: Annotated[float | None, "in proportion to the group's figure, two digits"]


class Unrecorded(Record):
    """How far a reason could go that is not recorded, the strongest covariate first."""

    words: Annotated[str, "the same in words"]
    reasons: tuple[LeftOut, ...]
    n_tried: Annotated[int, "a number of columns"]


class Stratum(Record):
    """A subgroup or period over all deciders.

    `alike` is as if as many were decided for in every stratum; periods may have their `noise`.
    """

    stratum: Annotated[str, RULES.levels]
    rate: Annotated[float | None, RULES.levels]
    discordance: Annotated[Figure, RULES.levels]
    alike: Annotated[Figure, RULES.levels] = Figure()
    noise: Annotated[Noise | None, RULES.levels] = None


class Strata(Record):
    """Subgroups of a column, or periods, compared; `strata` are those that may be shown.

    `p_value` is of the test that they do not differ. The `change` is from the first to the last,
    `probability` that it matters. From `rule_changed` on fields are of periods alone.
    """

    strata: tuple[Stratum, ...]
    n_left_out: Annotated[int, RULES.levels]
    p_value: Annotated[float | None, RULES.levels]
    change: Annotated[Figure, RULES.levels] = Figure()
    probability: Annotated[float | None, RULES.levels] = None
    lines: Annotated[tuple[str, ...], "the same in words"] = ()
    rule_changed: Annotated[bool | None, RULES.levels] = None
    n_changed: Annotated[int | None, RULES.levels] = None


class Dependence(Record):
    """Predicted share decided for at a value of a covariate."""

    covariate: Annotated[str, RULES.column]
    value: Annotated[float, "mean of as many patients as the smallest count, three digits"]
    share: Annotated[float | None, "mean prediction over a sample, three digits"]


class Leaf(Record):
    """A leaf of the tree that sums the rule up; `words` say a share that is hidden."""

    when: Annotated[str, "cuts between groups of 30 patients or more"]
    about_n_patients: Annotated[int, "two digits"]
    share: Annotated[float | None, "two digits; hidden where few were decided one way"]
    words: Annotated[str, "the same in words"]


class Rule(Record):
    """The rule that the data suggest: how well it predicts, by what, and as a small tree.

    The `importance` of a covariate is how much worse decisions are predicted without it (area under
    ROC).
    """

    auc: Annotated[float | None, RULES.held_out] = None
    importance: Annotated[Mapping[str, float], RULES.held_out] = field(default_factory=dict)
    dependence: tuple[Dependence, ...] = ()
    tree: tuple[Leaf, ...] = ()


class OwnRule(Record):
    """A covariate that a decider weighs in another way than the others, and how."""

    physician: Annotated[str, RULES.pseudonym]
    covariate: Annotated[str, RULES.column]
    how: Annotated[str, RULES.own_rule]


class Column(Record):
    """A column of the table: what it was used as, and what was done to it."""

    column: Annotated[str, RULES.column]
    use: Annotated[str, "one of a few words"]
    kind: Annotated[str | None, "one of a few words"]
    missing: Annotated[str, RULES.rows]
    distinct: Annotated[str | int | None, "100 at the most"]
    note: Annotated[str, "what was done to the column; no count below the smallest"]


class DecisionColumn(Record):
    """The column of the decision, the value that counts as yes, and the other."""

    column: Annotated[str, RULES.column]
    positive: Annotated[str, "a value of the column"]
    negative: Annotated[str, "values of the column"]


class Check(Record):
    """What the check of the table found; counts are rounded or given as ranges.

    `leaks` are columns that may give the decision away, and why.
    """

    source: Annotated[str, "name of the file, or the address without a password"]
    read_with: Annotated[tuple[str, ...], "what was found out while reading"]
    n_patients: Annotated[int, "sum of the panel sizes that are shown"]
    n_physicians: Annotated[int, "all physicians"]
    n_physicians_with_few_patients: Annotated[int, "how many, not who"]
    n_physicians_measurable: Annotated[int, "how many, not who"]
    min_panel: Annotated[int, RULES.asked]
    smallest_cell: Annotated[int, RULES.asked]
    decision: DecisionColumn
    decision_share: Annotated[float | None, RULES.share]
    covariates: Annotated[tuple[str, ...], RULES.column]
    columns: tuple[Column, ...]
    missing_policy: Annotated[str, RULES.asked]
    missing: Annotated[str, RULES.rows]
    dropped: Annotated[tuple[str, ...], f"{RULES.rows}; reasons of few rows are not listed"]
    leaks: Annotated[Mapping[str, str], "by column, why it is suspicious; two digits at the most"]
    questions: Annotated[tuple[str, ...], "how rows were selected; no counts"]
    method: Annotated[str, RULES.asked]
    estimated_seconds: Annotated[float, "follows from rounded sizes"]
    estimated_memory_mb: Annotated[int, "follows from rounded sizes"]


class Difference(Record):
    """How far patients of a pair differ in a covariate, and patients drawn at random."""

    covariate: Annotated[str, RULES.column]
    within_pairs: Annotated[float | None, f"three digits, {RULES.shown}"]
    at_random: Annotated[float | None, RULES.covariates]


class Distances(Record):
    """Share of pairs whose distance lies between two edges."""

    lower: Annotated[float, "edge of a bin"]
    upper: Annotated[float, "edge of a bin"]
    share: Annotated[float, "bins merged until none is small"]


class SweepStep(Record):
    """What other calipers would have given."""

    fraction: Annotated[float, "steps that set few pairs apart are left out; two digits"]
    share_paired: Annotated[float | None, "two digits"]
    mean_discordance: Annotated[float | None, "two digits"]


class Agreement(Record):
    """Rank correlation of two methods."""

    method: Annotated[str, RULES.asked]
    other: Annotated[str, RULES.asked]
    spearman: Annotated[float | None, f"two digits, {RULES.shown}"]


class Calibration(Record):
    """Predicted and observed share of a bin."""

    predicted: Annotated[float, "bins with few or nearly all are left out; three digits"]
    observed: Annotated[float, "bins with few or nearly all are left out; three digits"]


class Diagnostics(Record):
    """Tables that tell whether to believe the result; empty where they do not apply.

    `attrition` is what became of each decider's patients when pairs were formed: patients by part.
    `balance` is the share of each covariate's variance that lies between deciders, `overlap` how
    far each decider's patients cover those of all. `surely_eligible` and `surely_not_eligible` are
    the shares of clear cases on both sides of a latent rule.
    """

    love: tuple[Difference, ...] = ()
    distances: tuple[Distances, ...] = ()
    attrition: Annotated[Mapping[str, Mapping[str, int]], RULES.parts] = field(default_factory=dict)
    sweep: tuple[SweepStep, ...] = ()
    agreement: tuple[Agreement, ...] = ()
    balance: Annotated[Mapping[str, float | None], RULES.covariates] = field(default_factory=dict)
    overlap: Annotated[Mapping[str, float], RULES.of_sizes] = field(default_factory=dict)
    calibration: tuple[Calibration, ...] = ()
    split_half_reliability: Annotated[float | None, f"three digits, {RULES.shown}"] = None
    surely_eligible: Annotated[float | None, "two digits, over all patients"] = None
    surely_not_eligible: Annotated[float | None, "two digits, over all patients"] = None


class Review(Record):
    """What blind review of pairs found: the discordance among pairs judged comparable.

    `n_pairs` were judged, `n_left` have no answer. `record` is the discordance of all pairs alike
    in the record, `step` to which figures are rounded, `explained` the share of the pairs decided
    differently that reviewers did not find comparable. `reasons` are their shares of the pairs
    judged not comparable. `unsure` pairs, counted as comparable or as different, move the figure
    between two ends. `agreement` is the kappa of two reviewers. `physicians` are by what they are
    called.
    """

    discordance: Annotated[Figure, RULES.reviewed]
    n_pairs: Annotated[int, "told in blocks of twenty or more"]
    record: Annotated[float, "two digits, over all pairs"]
    step: Annotated[float, "how far the figure was rounded"]
    n_left: Annotated[int, "told in blocks of twenty or more"] = 0
    explained: Annotated[float | None, RULES.reviewed] = None
    reasons: Annotated[Mapping[str, float | None], RULES.reasons] = field(default_factory=dict)
    unsure: Annotated[Figure | None, f"{RULES.reviewed}; missing where unsure pairs are few"] = None
    agreement: Annotated[Figure | None, RULES.kappa] = None
    physicians: Annotated[Mapping[str, Figure], RULES.reviewed] = field(default_factory=dict)


class Decision(Record, eq=False, kw_only=True):
    """What is published of one decision; what does not apply or was not asked for is None.

    `claim` is how the method's figure is read ("at most", "about"), `compared` what stands behind
    "of 100". `n_reportable` deciders have a number, `n_ranked` a rank, `n_banded` a range;
    `barred_by` names the limits of the request that keep others without. `seconds` are what steps
    took. Rows have files of their own: `physicians` in the order of pseudonyms, `methods`, `strata`
    and `changes`.
    """

    decision: Annotated[str, RULES.column]
    verdict: Annotated[str, "one of five words"]
    verdict_reasons: Annotated[tuple[str, ...], RULES.all]
    method: Annotated[str, RULES.asked]
    claim: Annotated[str, RULES.fixed]
    compared: Annotated[str, RULES.fixed]
    n_physicians: Annotated[int, "all physicians"]
    n_reportable: Annotated[int, RULES.in_table] = 0
    n_ranked: Annotated[int, RULES.in_table] = 0
    n_banded: Annotated[int, RULES.in_table] = 0
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


class JointDecision(Record):
    """A decision over all patients; `given` is among those also alike in the ones before it."""

    decision: Annotated[str, RULES.column]
    discordance: Annotated[float | None, RULES.noise]
    given: Annotated[float | None, RULES.noise]


class JointPair(Record):
    """Two decisions: the share that got both, and what covariates explain of it.

    `correlation` is of what they leave unexplained; `steadiness` the correlation over deciders of
    how closely they go with colleagues.
    """

    first: Annotated[str, RULES.column]
    second: Annotated[str, RULES.column]
    together: Annotated[float | None, RULES.some_below] = None
    expected: Annotated[float | None, RULES.some_below] = None
    correlation: Annotated[Figure, RULES.noise] = Figure()
    steadiness: Annotated[float | None, "over all physicians, one digit"] = None


class Joint(Record, eq=False):
    """What several decisions say together.

    `differ` is the probability that two comparable patients differ in at least one decision,
    `differ_apart` the same if decisions were independent of each other, `n_differences` in how many
    they differ. `n_reportable` deciders have joint figures, `n_banded` a range. Rows of
    :class:`DecisionRow` are as published, with `across` (pulled together across decisions) and
    `given` (see :class:`JointDecision`).
    """

    differ: Annotated[Figure, RULES.noise]
    differ_apart: Annotated[float | None, RULES.noise]
    n_differences: Annotated[Figure, RULES.noise]
    n_reportable: Annotated[int, RULES.in_table]
    n_banded: Annotated[int, RULES.in_table]
    decisions: tuple[JointDecision, ...]
    pairs: tuple[JointPair, ...]
    physicians: tuple[JointRow, ...]
    by_physician: tuple[DecisionRow, ...]
    pairs_by_physician: tuple[PairRow, ...]


class Published(Record, eq=False):
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
    request: Annotated[Request, RULES.asked]
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
