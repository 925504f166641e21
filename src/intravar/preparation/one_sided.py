"""Values, and missing values, that occur (almost) only with one decision.

A column that is filled in for treated patients only records the treatment, however few of them
have it filled in. The area under the curve misses that: filled in for 60 % of the treated and for
nobody else, it is 0.8. Two things are looked at instead, for every column and every frequent value:

*How one-sided.* How many times as often the value occurs with one decision as with the other,
within physicians (the relative frequency of Mantel and Haenszel). It does not depend on how many
rows have the value. Illness makes a test two or five times as likely; a record of the treatment is
more than twenty times as frequent with it.

*Whether chance can explain it.* Given how many patients of each physician have the value and how
many are treated, the number of treated ones among them is hypergeometric (Fisher), or noncentral
hypergeometric for a given odds ratio; physicians are independent. The distribution of the sum is
computed exactly. A column limits the verdict only if the odds ratio is surely above an ordinary
one, adjusted for the number of tests (Bonferroni).

What the other covariates explain is no leak: a test that is only made above an age, for a decision
that is only taken above that age. Columns that stand out are therefore tested once more, given
predictions of every decision from the other covariates.

References: Mantel and Haenszel (1959); Fisher (1935); Fog (2008) on the noncentral distributions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import gammaln

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.preparation.coding import encode_with, learn_codings
from intravar.preparation.kinds import Column
from intravar.request import SMALLEST_CELL

#: Probability of flagging any column of a table in which nothing depends on the decision.
FALSE_ALARM = 0.001
#: Odds ratio that illness, age or a ward may bring about between what is recorded and the decision.
ORDINARY_ODDS = 5.0
#: Relative frequency from which on a column is asked about: recorded or not, and single values.
ASKED_RECORDED = 5.0
ASKED_VALUE = 20.0
#: Difference of the shares with a value from which on a column is asked about as well.
ASKED_DIFFERENCE = 0.5
#: Relative frequency from which on being recorded gives the decision away. One row in twenty allows
#: for errors of documentation.
LEAK_RECORDED = 20.0
#: The same for a value. An indication that nearly everyone follows makes a value one-sided as well,
#: with a few exceptions in a hundred.
LEAK_VALUE = 50.0
#: Relative odds that must be left once the other covariates are taken into account.
LEFT_BY_OTHERS = 2.0
#: Fewer rows with a value, or without it, are hardly ever significant; and the value is named.
FEWEST_ROWS = SMALLEST_CELL
#: Share of rows from which on the most frequent number may stand for "not recorded".
PLACEHOLDER = 0.1
#: Folds of the predictions from other covariates.
FOLDS = 5
#: Probabilities of predictions are kept this far from 0 and 1.
_SURE = 1e-4

Group = Literal["recorded", "missing", "value", "not value"]


@dataclass(frozen=True, kw_only=True)
class OneSided:
    """A set of rows of a column that occurs almost only with one decision.

    Parameters
    ----------
    column
        Name of the column.
    group
        Whether the rows are those with any value, without one, with `value` or with another one.
    value
        The value, as text; "" where any value counts.
    decision
        The decision with which the rows occur, 0 or 1.
    shares
        Share of the patients decided against, and for, who are in the set.
    certain
        Whether the column gives the decision away, or is only asked about.
    """

    column: str
    group: Group
    value: str
    decision: int
    shares: tuple[float, float]
    certain: bool

    @property
    def is_of_record(self) -> bool:
        """Whether the rows are told by being recorded, not by a value."""
        return self.group in ("recorded", "missing")

    def in_words(self) -> str:
        """Return the finding as a clause that follows the name of the column."""
        often = f"{self.shares[self.decision]:.0%}"
        with_this, other = ("yes", "no") if self.decision else ("no", "yes")
        what = {
            "recorded": "recorded",
            "missing": "missing",
            "value": f"'{self.value}'",
            "not value": f"other than '{self.value}'",
        }[self.group]
        # No number: it may stand for few patients.
        seldom = "almost never" if self.shares[1 - self.decision] < 0.05 else "much less often"
        first = f"is {what} in {often} of the rows with '{with_this}'"
        return f"{first} and {seldom} with '{other}'"


@dataclass(frozen=True, eq=False, kw_only=True)
class _RowSet:
    """Rows to test: those `within` which the set is looked at, and those that are in it."""

    column: str
    group: Group
    value: str
    within: BoolArray | None
    member: BoolArray

    def restrict(self, values: IntArray) -> IntArray:
        return values if self.within is None else values[self.within]

    @property
    def inside(self) -> BoolArray:
        return self.member if self.within is None else self.member[self.within]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Suspect:
    """A set of rows that is one-sided within physicians."""

    rows: _RowSet
    finding: OneSided


def find_one_sided(
    columns: Sequence[Column], decision: npt.NDArray[np.integer], physician: IntArray
) -> list[OneSided]:
    """Return columns that are recorded, or have a value, almost only with one decision.

    Parameters
    ----------
    columns
        Covariates as they were understood.
    decision
        0 or 1 per patient.
    physician
        Code of the physician per patient; comparisons are made within physicians.

    Returns
    -------
    list of OneSided
        At most one finding per column, the certain ones first.

    Examples
    --------
    >>> decision = np.tile([0, 1], 200)
    >>> given = np.where(np.arange(400) % 4 == 1, 1.5, np.nan)
    >>> dose = Column("dose", "number", pl.Series("dose", given).fill_nan(None))
    >>> (found,) = find_one_sided([dose], decision, np.zeros(400, dtype=int))
    >>> found.certain, found.in_words()
    (True, "is recorded in 50% of the rows with 'yes' and almost never with 'no'")
    """
    if decision.min() == decision.max():
        return []
    decided = np.asarray(decision, dtype=np.int64)
    sets = [rows for column in columns for rows in _row_sets(column, decided)]
    n_tests = sum(2 * _n_groups(column) for column in columns)
    level = FALSE_ALARM / max(n_tests, 1)
    suspects: dict[str, _Suspect] = {}
    for rows in sets:
        found = _within_physicians(rows, decided, physician, level)
        earlier = suspects.get(rows.column)
        if found and (earlier is None or _graver(found, earlier.finding)):
            suspects[rows.column] = _Suspect(rows=rows, finding=found)
    if not suspects:
        return []
    left = _not_explained(list(suspects.values()), columns, decided, level)
    return sorted(left, key=lambda each: (not each.certain, each.column))


def _graver(found: OneSided, earlier: OneSided) -> bool:
    """Return whether a finding says more than an earlier one on the same column."""
    return (found.certain, found.is_of_record) > (earlier.certain, earlier.is_of_record)


def _n_groups(column: Column) -> int:
    """Return how many sets of rows of a column are tested, whatever the decisions are."""
    counts = column.values.drop_nulls().value_counts()["count"]
    return 2 + int((counts >= FEWEST_ROWS).sum()) if _has_levels(column) else 4


def _has_levels(column: Column) -> bool:
    return column.kind in ("category", "yes/no")


def _row_sets(column: Column, decision: IntArray) -> Iterator[_RowSet]:
    """Return the sets of rows that are worth an exact test, by their plain counts."""
    known = column.values.is_not_null().to_numpy()
    yield from _both_sides(column.name, known, None, "", decision, ("recorded", "missing"))
    within = None if known.all() else known
    present = pl.DataFrame({"value": column.values, "decision": decision}).drop_nulls("value")
    counts = present.group_by("value").agg(
        pl.len().alias("n"), pl.col("decision").sum().alias("n_yes")
    )
    counts = counts.sort(["n", "value"], descending=[True, False])
    if counts.height < 2:
        return
    if column.kind != "yes/no" and counts["n"][0] >= PLACEHOLDER * present.height:
        # 0, 999 or "none" may stand for "not recorded".
        mode = counts["value"][0]
        same = (column.values == mode).fill_null(False).to_numpy()
        yield from _both_sides(
            column.name, same, within, _as_text(mode), decision, ("value", "not value")
        )
    if not _has_levels(column):
        return
    n_rows, n_yes = present.height, int(present["decision"].sum())
    for value, n, n_for in counts.filter(pl.col("n") >= FEWEST_ROWS).iter_rows():
        shares = (n - n_for) / max(n_rows - n_yes, 1), n_for / max(n_yes, 1)
        if min(shares) * ASKED_RECORDED <= max(shares):
            member = (column.values == value).fill_null(False).to_numpy()
            yield _RowSet(
                column=column.name,
                group="value",
                value=_as_text(value),
                within=within,
                member=member,
            )


def _as_text(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 30 else f"{text[:29]}…"


def _both_sides(
    column: str,
    member: BoolArray,
    within: BoolArray | None,
    value: str,
    decision: IntArray,
    names: tuple[Group, Group],
) -> Iterator[_RowSet]:
    """Return rows that are in a set, and the others."""
    for group, chosen in zip(names, (member, ~member), strict=True):
        inside = chosen if within is None else chosen & within
        outside = ~chosen if within is None else ~chosen & within
        if min(inside.sum(), outside.sum()) >= FEWEST_ROWS:
            yield _RowSet(column=column, group=group, value=value, within=within, member=inside)


def _within_physicians(
    rows: _RowSet, decision: IntArray, physician: IntArray, level: float
) -> OneSided | None:
    """Test a set of rows within physicians; None if it is not one-sided."""
    decided, inside = rows.restrict(decision), rows.inside
    tables = _Tables.of(inside, decided, rows.restrict(physician))
    for one in (1, 0):
        rare, frequent = tables.adjusted_shares(opposite=1 - one)
        if frequent <= 0:
            continue
        of_record = rows.group in ("recorded", "missing")
        n_times = np.inf if rare == 0 else frequent / rare
        apart = of_record and frequent - rare > ASKED_DIFFERENCE
        if n_times < (ASKED_RECORDED if of_record else ASKED_VALUE) and not apart:
            continue
        if tables.probability_of_fewer(opposite=1 - one, odds_ratio=1.0) > level:
            continue
        extreme = tables.probability_of_fewer(opposite=1 - one, odds_ratio=ORDINARY_ODDS) <= level
        if not of_record and not extreme:
            continue
        certain = extreme and n_times >= LEAK_RECORDED
        if not of_record:
            # Nobody below an age, or with a contraindication, is treated: an ordinary rule. That
            # all are treated who have a value is what a record of the treatment looks like.
            certain = extreme and one == 1 and n_times >= LEAK_VALUE
        shares = (float(inside[decided == 0].mean()), float(inside[decided == 1].mean()))
        return OneSided(
            column=rows.column,
            group=rows.group,
            value=rows.value,
            decision=one,
            shares=shares,
            certain=bool(certain),
        )
    return None


@dataclass(frozen=True, eq=False, kw_only=True)
class _Tables:
    """Two-by-two tables of a set of rows and the decision, one per physician."""

    n_rows: IntArray
    n_inside: IntArray
    n_yes: IntArray
    n_inside_yes: IntArray

    @classmethod
    def of(cls, inside: BoolArray, decided: IntArray, physician: IntArray) -> "_Tables":
        n = int(physician.max()) + 1

        def count(chosen: BoolArray) -> IntArray:
            return np.bincount(physician[chosen], minlength=n)

        everyone = np.ones(len(inside), dtype=np.bool_)
        yes = decided == 1
        return cls(
            n_rows=count(everyone),
            n_inside=count(inside),
            n_yes=count(yes),
            n_inside_yes=count(inside & yes),
        )

    def _counts(self, opposite: int) -> tuple[IntArray, IntArray]:
        """Return rows with the opposite decision, and those of them that are in the set."""
        if opposite == 1:
            return self.n_yes, self.n_inside_yes
        return self.n_rows - self.n_yes, self.n_inside - self.n_inside_yes

    def adjusted_shares(self, opposite: int) -> tuple[float, float]:
        """Return which share of rows with either decision is in the set, within physicians.

        Physicians have the weights of Mantel and Haenszel, so that the ratio of the two shares is
        their relative frequency. The opposite decision comes first.
        """
        n_opposite, n_both = self._counts(opposite)
        n_same = self.n_rows - n_opposite
        rows = np.maximum(self.n_rows, 1)
        weight = float((n_opposite * n_same / rows).sum())
        if weight == 0:
            return 0.0, 0.0
        rare = float((n_both * n_same / rows).sum()) / weight
        frequent = float(((self.n_inside - n_both) * n_opposite / rows).sum()) / weight
        return rare, frequent

    def probability_of_fewer(self, opposite: int, odds_ratio: float) -> float:
        """Return how probable so few rows of the set with the opposite decision are, or fewer.

        `odds_ratio` is how many times the odds of the other decision are higher in the set than
        outside it; with 1 this is the one-sided test of Fisher, over all physicians.
        """
        n_opposite, n_both = self._counts(opposite)
        most = int(n_both.sum())
        cells = np.column_stack([self.n_rows, n_opposite, self.n_inside])
        distinct, n_times = np.unique(cells, axis=0, return_counts=True)
        total = np.ones(1)
        shift = 0
        for (rows, against, inside), times in zip(distinct.tolist(), n_times, strict=True):
            least = max(0, inside - (rows - against))
            shift += least * int(times)
            if shift > most:
                return 0.0
            probabilities = _hypergeometric(rows, against, inside, odds_ratio)
            if len(probabilities) > 1:
                for _ in range(int(times)):
                    total = np.convolve(total, probabilities[: most + 1])[: most + 1]
        return float(min(total[: most - shift + 1].sum(), 1.0))


def _hypergeometric(rows: int, against: int, inside: int, odds_ratio: float) -> FloatArray:
    """Return the probabilities of each possible number of opposite rows in the set, from the least.

    Fisher's noncentral hypergeometric distribution; with an odds ratio of 1 the ordinary one.
    """
    counts = np.arange(max(0, inside - (rows - against)), min(inside, against) + 1)
    logs = _log_choose(against, counts) + _log_choose(rows - against, inside - counts)
    logs -= counts * np.log(odds_ratio)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _log_choose(n: int, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


# --- what the other covariates explain ---


def _not_explained(
    suspects: list[_Suspect], columns: Sequence[Column], decision: IntArray, level: float
) -> Iterator[OneSided]:
    """Return what the other covariates do not explain.

    Predictions come from columns that are not suspicious themselves. A column whose record is
    explained by the value of another one that is asked about is asked about, too: a test that only
    men have, for a decision that is only taken in men, or a reason that goes with a mark.
    """
    names = {each.rows.column for each in suspects}
    asked = {
        each.rows.column
        for each in suspects
        if not each.finding.certain and not each.finding.is_of_record
    }
    by_others = _predictions([each for each in columns if each.name not in names], decision)
    for suspect in suspects:
        finding = suspect.finding
        strict = _left(suspect, decision, by_others, level, ORDINARY_ODDS)
        if not strict and not _left(suspect, decision, by_others, level, 1.0):
            continue
        certain = finding.certain and strict
        if certain and finding.is_of_record and asked:
            wider = [each for each in columns if each.name not in names or each.name in asked]
            certain = _left(suspect, decision, _predictions(wider, decision), level, 1.0)
        if certain or finding.is_of_record or strict:
            yield OneSided(**{**vars(finding), "certain": certain})


def _predictions(columns: Sequence[Column], decision: IntArray) -> FloatArray:
    """Return the probability of "yes" of every row, by trees that were not trained on it."""
    # Loaded where a column is suspicious: most tables do not need it.
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    fewest = int(min(decision.sum(), len(decision) - decision.sum()))
    if not columns or fewest < FOLDS:
        return np.full(len(decision), decision.mean())
    table = encode_with(learn_codings(columns, "indicator"), columns)[0].to_numpy()
    trees = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    # Over some thousand rows threads would mostly wait for each other.
    with threadpool_limits(1):
        predicted = cross_val_predict(trees, table, decision, cv=folds, method="predict_proba")
    return np.asarray(np.clip(predicted[:, 1], _SURE, 1 - _SURE))


def _left(
    suspect: _Suspect, decision: IntArray, predicted: FloatArray, level: float, odds_ratio: float
) -> bool:
    """Return whether a set of rows is one-sided beyond predictions from other covariates."""
    member, one = suspect.rows.member, suspect.finding.decision
    against = 1 - predicted[member] if one == 1 else predicted[member]
    n_against = int((decision[member] != one).sum())
    n_expected = float(against.sum())
    n_with = len(against) - n_against
    odds = n_against / max(n_with, 1) * (len(against) - n_expected) / max(n_expected, _SURE)
    if odds * LEFT_BY_OTHERS > 1:
        return False
    scaled = against / (against + odds_ratio * (1 - against))
    return sum_of_trials(scaled, n_against) <= level


def sum_of_trials(probabilities: FloatArray, most: int) -> float:
    """Return the probability that independent trials succeed `most` times or fewer.

    Examples
    --------
    >>> round(sum_of_trials(np.array([0.5, 0.5, 0.2]), 0), 3)
    0.2
    """
    total = np.zeros(most + 1)
    total[0] = 1.0
    for probability in probabilities:
        total[1:] = total[1:] * (1 - probability) + total[:-1] * probability
        total[0] *= 1 - probability
    return float(min(total.sum(), 1.0))
