"""Test whether what reviewers are shown reveals the decision or the physician.

Reviewers are blind if nothing in a packet lets them infer how a patient was decided, or by whom.
Recorded covariates predict the decision legitimately: comparability is judged by them. A column
that is shown in addition must not reveal more. Three kinds of tests are made:

- *Held-out prediction.* A model is trained on one half of the patients and applied to the other;
  both patients of a pair are in the same half. It predicts the decision and the physician from each
  column, from two columns together, and from all columns. Decisions are also compared *within
  pairs* that were decided differently: the two patients are alike in the record, so the recorded
  covariates explain little there.
- *Exact tests of values, words and patterns.* A value, a word, a part of a word or a pattern such
  as a date that goes almost always with one decision, or with one physician, reveals it even if it
  is rare. The lower confidence bound of its share is corrected for the number of values tested
  (Bonferroni) and compared with what the record predicts for the same patients.
- *Names of physicians* that occur in a text.

Identifiers should be arbitrary, so stricter limits hold for them. The tests see every patient of
the measurement, not only the pairs that were drawn.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.stats import beta
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.tree import DecisionTreeClassifier

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.measurement.cases import as_text
from intravar.review import store

#: Area under the ROC curve from which a column reveals the decision (0.5 is chance). A clinical
#: value may predict decisions well; a record of the decision does so almost always.
DECISION_AUC = 0.95
#: The same for identifiers, which should predict nothing.
NAME_AUC = 0.65
#: Share of pairs decided differently in which a model names the patient who was decided for. A
#: record of the decision with 10 % errors reaches 0.9; a reason that physicians know and that
#: makes one of the decisions rare (5 %) stays near 0.8.
PAIR_CONCORDANCE = 0.9
#: The same for identifiers.
NAME_CONCORDANCE = 0.65
#: Share of the gap between chance (or the record, if higher) and certainty that a prediction of
#: the physician closes. At 0.25 a reviewer names about every fourth physician.
PHYSICIAN_GAIN = 0.25
#: The same for identifiers. Noise stays below it because of `STANDARD_ERRORS`.
NAME_PHYSICIAN_GAIN = 0.1
#: Share of the physicians' patients with the physician's most frequent value, scaled from 0 (all
#: physicians alike) to 1 (one value each), from which a column follows the physician.
FOLLOWS_PHYSICIAN = 0.9
#: A difference from chance counts from so many standard errors; many columns are tested.
STANDARD_ERRORS = 4.0
#: Share of the patients with a value who were decided in the same way, or by the same physician.
VALUE_DECISION = 0.97
VALUE_PHYSICIAN = 0.9
#: Share of the gap between what the record predicts and certainty that the bound must exceed.
VALUE_GAIN = 0.5
#: Error rate of all tests of values of one column together.
VALUE_ERROR = 0.01
#: Values, decisions or discordant pairs that are rarer than this are not tested.
FEWEST = 15
#: Physicians with fewer patients are not predicted, nor are more physicians than these.
FEWEST_OF_PHYSICIAN = 10
MOST_PHYSICIANS = 50
#: Patients tested, drawn at random with their partners.
MOST_PATIENTS = 10_000
#: Two columns together are tested for so many combinations at most, with so many bins each.
MOST_COMBINATIONS = 200
BINS = 8
#: A text is read to this length; values up to the second are also read as codes, by character.
LONGEST_TEXT = 2_000
LONGEST_CODE = 40
#: A physician's name is searched in texts if it has so many characters.
SHORTEST_NAME = 3
#: Moduli by which numbers may have been dealt out to physicians or decisions.
MODULI = range(2, 17)

Tokenizer = Callable[[str], list[str]]


class BlindingWarning(UserWarning):
    """Reviewers may infer something that they should not know."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Blinding:
    """The patients on whom it is tested what a reviewer could infer.

    Attributes
    ----------
    rows
        Positions of the tested patients in the table of all patients.
    decision
        Whether each was decided for.
    physician
        Code of the physician; every physician has one.
    predicted
        Positions, among the tested patients, of those whose physician is predicted.
    names
        Names of the physicians by their codes.
    half
        In which half each patient is; both patients of a pair are in the same.
    pairs
        Positions of both patients of each pair, among the tested patients.
    record
        Recorded covariates as ranks, one column each.
    expected
        Probability of the decision by the record and the physician, held out.
    physician_by_record
        Balanced accuracy with which the record predicts the physician.
    """

    rows: IntArray
    decision: BoolArray
    physician: IntArray
    predicted: IntArray
    names: Sequence[str]
    half: BoolArray
    pairs: IntArray
    record: pl.DataFrame
    expected: FloatArray
    physician_by_record: float

    @classmethod
    def of(cls, patients: pl.DataFrame, pairs: pl.DataFrame) -> "Blinding":
        """Select the patients that are tested, and predict them by the record.

        Parameters
        ----------
        patients
            Row, physician, decision and covariates of every patient.
        pairs
            Rows of the two patients of every pair, in the columns `first` and `second`.
        """
        random = np.random.default_rng(0)
        position = dict(zip(patients["row"].to_list(), range(patients.height), strict=True))
        paired = np.array(
            [
                (position[first], position[second])
                for first, second in pairs.select("first", "second").iter_rows()
                if first in position and second in position
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
        group = np.arange(patients.height)
        group[paired[:, 1]] = group[paired[:, 0]]
        rank = random.permutation(patients.height)[group]
        rows = np.flatnonzero(rank < _nth_smallest(rank, MOST_PATIENTS))
        place = np.full(patients.height, -1)
        place[rows] = np.arange(len(rows))
        paired = place[paired]
        paired = paired[(paired >= 0).all(axis=1)]

        tested = patients[rows]
        decision = tested["decision"].to_numpy() == 1
        names, physician = np.unique(tested["physician"].to_numpy(), return_inverse=True)
        half = (random.permutation(patients.height)[group] % 2 == 0)[rows]
        sizes = np.bincount(physician)
        largest = np.argsort(-sizes, kind="stable")[:MOST_PHYSICIANS]
        largest = largest[sizes[largest] >= FEWEST_OF_PHYSICIAN]
        predicted = np.flatnonzero(np.isin(physician, largest))
        if len(largest) < 2:
            predicted = predicted[:0]
        blinding = cls(
            rows=rows,
            decision=decision,
            physician=physician,
            predicted=predicted,
            names=[str(name) for name in names],
            half=half,
            pairs=paired,
            record=tested.drop(store.KEPT),
            expected=np.full(len(rows), decision.mean()),
            physician_by_record=0.0,
        )
        return blinding._with_record()

    def _with_record(self) -> "Blinding":
        """Return the same with predictions by the record."""
        features = matrix_of(self.record)
        rate = np.zeros(len(self.rows))
        for half in (False, True):
            trained = self.half != half
            count = np.bincount(self.physician[trained], minlength=len(self.names))
            n_yes = np.bincount(
                self.physician[trained], self.decision[trained], minlength=len(self.names)
            )
            average = self.decision.mean()
            rate[~trained] = ((n_yes + 5 * average) / (count + 5))[self.physician[~trained]]
        expected = self.decision_scores(_forest(), np.column_stack([features, rate]))
        found = replace(self, expected=expected)
        accuracy = found.physician_accuracy(_forest(), features) if features.size else 0.0
        return replace(found, physician_by_record=accuracy)

    @property
    def chance(self) -> float:
        """Balanced accuracy of guessing the physician."""
        return 1 / max(len(np.unique(self.physician[self.predicted])), 1)

    @property
    def discordant(self) -> IntArray:
        """Patients of pairs decided differently: decided for, and decided against."""
        first, second = self.decision[self.pairs[:, 0]], self.decision[self.pairs[:, 1]]
        pairs = self.pairs[first != second]
        swapped = np.where(self.decision[pairs[:, :1]], pairs, pairs[:, ::-1])
        return np.asarray(swapped)

    def decision_scores(self, model: Any, features: Any) -> FloatArray:
        """Return held-out probabilities of the decision."""
        scores = np.full(len(self.rows), self.decision.mean())
        for half in (False, True):
            trained, tested = self.half != half, self.half == half
            if len(np.unique(self.decision[trained])) == 2 and tested.any():
                fitted = clone(model).fit(features[trained], self.decision[trained])
                scores[tested] = fitted.predict_proba(features[tested])[:, 1]
        return scores

    def physician_accuracy(self, model: Any, features: Any) -> float:
        """Return the balanced accuracy of held-out predictions of the physician."""
        at = self.predicted
        if not len(at):
            return 0.0
        features, physician, half = features[at], self.physician[at], self.half[at]
        named = np.full(len(at), -1)
        for other in (False, True):
            trained, tested = half != other, half == other
            if trained.any() and tested.any():
                fitted = clone(model).fit(features[trained], physician[trained])
                named[tested] = fitted.predict(features[tested])
        _, code = np.unique(physician, return_inverse=True)
        right = np.bincount(code, named == physician) / np.bincount(code)
        return float(right.mean())

    def decision_auc(self, scores: FloatArray) -> float:
        """Return the area under the ROC curve; 0.5 where one of the decisions is too rare."""
        if min(self.decision.sum(), (~self.decision).sum()) < FEWEST:
            return 0.5
        return float(roc_auc_score(self.decision, scores))

    def concordance(self, scores: FloatArray) -> tuple[float, int]:
        """Return in which share of discordant pairs the scores name the decision, and how many."""
        pairs = self.discordant
        if len(pairs) < FEWEST:
            return 0.5, 0
        difference = scores[pairs[:, 0]] - scores[pairs[:, 1]]
        return float(np.mean((difference > 0) + 0.5 * (difference == 0))), len(pairs)

    def reveals_decision(self, scores: FloatArray, *, alone: bool) -> bool:
        """Tell whether held-out scores reveal the decision.

        Scores that use recorded covariates (not `alone`) are compared within pairs only: over all
        patients, the record predicts decisions legitimately.
        """
        if alone and self.decision_auc(scores) >= DECISION_AUC:
            return True
        share, n_pairs = self.concordance(scores)
        return n_pairs > 0 and share >= _limit(PAIR_CONCORDANCE, chance=0.5, n=n_pairs)

    def reveals_physician(self, accuracy: float, gain: float = PHYSICIAN_GAIN) -> bool:
        """Tell whether a balanced accuracy is far above chance and what the record allows."""
        base = max(self.chance, self.physician_by_record)
        if not len(self.predicted):
            return False
        return accuracy >= _limit(base + gain * (1 - base), chance=base, n=len(self.predicted))

    def follows_physician(self, column: pl.Series) -> bool:
        """Tell whether nearly all patients of each physician have the same value."""
        at = self.predicted
        if not len(at):
            return False
        level = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)[at]
        table = sparse.coo_matrix((np.ones(len(at)), (self.physician[at], level))).tocsr()
        within = table.max(axis=1).sum() / len(at)
        overall = np.bincount(level).max() / len(at)
        return bool(overall < 1 and (within - overall) / (1 - overall) >= FOLLOWS_PHYSICIAN)

    def reveals_discordance(self, column: pl.Series, threshold: float) -> bool:
        """Tell whether the difference of a pair's two values reveals different decisions."""
        different = self.decision[self.pairs[:, 0]] != self.decision[self.pairs[:, 1]]
        if min(different.sum(), (~different).sum()) < FEWEST:
            return False
        order = column.rank("dense").fill_null(0).to_numpy().astype(np.float64)
        distance = np.abs(order[self.pairs[:, 0]] - order[self.pairs[:, 1]])
        found = [roc_auc_score(different, guess) for guess in (distance, distance > 0)]
        highest = max(max(auc, 1 - auc) for auc in found)
        return bool(highest >= _auc_limit(threshold, different))


def _nth_smallest(rank: IntArray, n: int) -> float:
    """Return a limit below which n ranks lie, with ties; infinity if there are no more."""
    return float(np.sort(rank)[n]) if n < len(rank) else np.inf


def _auc_limit(threshold: float, positive: BoolArray) -> float:
    """Return a threshold of the area under the curve, or what differs clearly from chance.

    The standard error is that of the Mann-Whitney statistic without an effect.
    """
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    error = np.sqrt((len(positive) + 1) / (12 * max(n_positive * n_negative, 1)))
    return max(threshold, 0.5 + STANDARD_ERRORS * float(error))


def _limit(threshold: float, *, chance: float, n: int) -> float:
    """Return a threshold, or what differs clearly from chance in so many cases if that is more."""
    return max(threshold, chance + STANDARD_ERRORS * float(np.sqrt(chance * (1 - chance) / n)))


def _forest() -> ExtraTreesClassifier:
    """Return a forest with partly random splits, which find columns that act together."""
    return ExtraTreesClassifier(
        40,
        min_samples_leaf=3,
        max_leaf_nodes=500,
        max_features=0.5,
        bootstrap=False,
        random_state=0,
    )


def _tree(n: int, *, balanced: bool = False) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(
        max_leaf_nodes=200 if balanced else 50,
        min_samples_leaf=max(2, n // 1_000 if balanced else n // 200),
        class_weight="balanced" if balanced else None,
        random_state=0,
    )


def matrix_of(table: pl.DataFrame) -> FloatArray:
    """Return columns as ranks; a missing value is the lowest."""
    ranks = [column.rank("dense").fill_null(0).to_numpy().astype(np.float64) for column in table]
    return np.column_stack(ranks) if ranks else np.zeros((table.height, 0))


def strength(values: pl.Series, decision: BoolArray) -> float:
    """Return how well a column predicts the decision: 0.5 is chance, 1 is always.

    A tree on the column alone is trained on one half of the patients and applied to the other.
    Missing values count as a value.

    Examples
    --------
    >>> import numpy as np
    >>> yes = np.arange(200) % 2 == 0
    >>> strength(pl.Series(yes.astype(float)), yes)
    1.0
    """
    if min(decision.sum(), (~decision).sum()) < FEWEST:
        return 0.5
    order = values.rank("dense").fill_null(0).to_numpy()[:, None]
    halves = StratifiedKFold(2, shuffle=True, random_state=0)
    chance = cross_val_predict(
        _tree(len(decision)), order, decision, cv=halves, method="predict_proba"
    )
    return float(roc_auc_score(decision, chance[:, 1]))


# --- columns that are shown, and columns of the record ---


def refuse_leaking_record(patients: pl.DataFrame) -> None:
    """Refuse recorded covariates that reveal the decision nearly always."""
    decision = patients["decision"].to_numpy() == 1
    for column in patients.drop(store.KEPT):
        if strength(column, decision) >= DECISION_AUC:
            raise _reveals_decision(
                column.name,
                "pairs that agree in it are decided alike; measure again without it: "
                f"{option('exclude', column.name)}",
            )


def refuse_shown(shown: pl.DataFrame, patients: pl.DataFrame, blinding: Blinding) -> None:
    """Refuse columns of `--show` that reveal the decision or the physician.

    Parameters
    ----------
    shown
        The columns, with a row for every patient.
    patients
        All patients: row, physician, decision and covariates.
    blinding
        The patients on whom it is tested.

    Raises
    ------
    InputError
        Names the column, or the columns that reveal something together, and the reason.
    """
    if not shown.width:
        return
    tested = shown[blinding.rows]
    for column, whole in zip(tested, shown, strict=True):
        _refuse_column(column, whole, patients, blinding)
        _refuse_values(column, blinding)
        if blinding.reveals_discordance(column, PAIR_CONCORDANCE):
            raise InputError(
                f"column '{column.name}' tells which pairs were decided differently (both patients "
                f"have the same value, or not); leave it out of {option('show')}"
            )
    _refuse_combinations(tested, blinding)


def _reveals_decision(name: str, remedy: str) -> InputError:
    return InputError(
        f"column '{name}' tells the decision nearly always, so a reviewer who sees it is not "
        f"blind; {remedy}"
    )


def _reveals_physician(named: str, what: str) -> InputError:
    """Return the error for something named that reveals the physician; `what` is a template."""
    return InputError(
        f"{{named}} {what}, so that a reviewer can tell who decided; leave it out of {{show}}",
        named=named,
        show=option("show"),
    )


def _refuse_column(
    column: pl.Series, whole: pl.Series, patients: pl.DataFrame, blinding: Blinding
) -> None:
    """Refuse a shown column that alone reveals the decision or the physician."""
    order = matrix_of(column.to_frame())
    scores = blinding.decision_scores(_tree(len(order)), order)
    if blinding.reveals_decision(scores, alone=True):
        raise _reveals_decision(column.name, f"leave it out of {option('show')}")
    of_each = patients.select("physician", value=whole).group_by("physician")
    one_each = of_each.agg(pl.col("value").n_unique())["value"].max() == 1
    many_each = patients.height >= 2 * len(of_each.len())
    if one_each and many_each and whole.n_unique() > 1:
        raise InputError(
            "column '{name}' is the same for all {cases} of {a_decider}, so that it "
            "tells who decided; leave it out of {show}",
            name=column.name,
            show=option("show"),
        )
    if blinding.follows_physician(column):
        raise InputError(
            "column '{name}' is the same for nearly all {cases} of {a_decider}, so that it "
            "tells who decided; leave it out of {show}",
            name=column.name,
            show=option("show"),
        )
    accuracy = blinding.physician_accuracy(_tree(len(order), balanced=True), order)
    if blinding.reveals_physician(accuracy):
        raise _reveals_physician(f"column '{column.name}'", _named_right(accuracy, blinding))


def _named_right(accuracy: float, blinding: Blinding) -> str:
    """Return the template of how often a prediction names the right physician."""
    return (
        f"names the right {{decider}} for {100 * accuracy:.0f} of 100 {{cases}} (by chance "
        f"{100 * blinding.chance:.0f})"
    )


def _refuse_values(column: pl.Series, blinding: Blinding) -> None:
    """Refuse a shown column with values, words or patterns that reveal something."""
    texts = [as_text(value) for value in column]
    is_text = column.dtype == pl.String or column.dtype in (pl.Categorical, pl.Enum)
    _refuse_tokens(column.name, texts, text_tokens if is_text else value_token, blinding)
    if max(map(len, texts), default=0) <= LONGEST_CODE:
        _refuse_tokens(column.name, texts, name_tokens, blinding)
    if is_text and names_physician(texts, blinding):
        raise _reveals_physician(f"column '{column.name}'", "contains names of {deciders}")


def _refuse_tokens(name: str, texts: Sequence[str], tokens: Tokenizer, blinding: Blinding) -> None:
    """Refuse texts with a token, or tokens together, that reveal something."""
    found = revealing_tokens(texts, tokens, blinding)
    if found.decision is not None:
        raise InputError(
            f"in column '{name}' {found.decision} goes with one decision, so that a reviewer would "
            f"not be blind; leave it out of {option('show')}"
        )
    if found.physician is not None:
        raise _reveals_physician(f"in column '{name}' {found.physician}", "goes with one {decider}")
    scores = found.decision_scores
    if scores is not None and blinding.reveals_decision(scores, alone=True):
        raise InputError(
            f"the texts in column '{name}' tell the decision nearly always, so that a reviewer "
            f"would not be blind; leave it out of {option('show')}"
        )
    if blinding.reveals_physician(found.physician_accuracy):
        raise _reveals_physician(
            f"the wording in column '{name}'", _named_right(found.physician_accuracy, blinding)
        )


def _refuse_combinations(shown: pl.DataFrame, blinding: Blinding) -> None:
    """Refuse columns that only together reveal the decision or the physician."""
    record = blinding.record.rename(lambda name: f"{name} (recorded)")
    both = [(a, b) for a, b in combinations(shown.iter_columns(), 2)]
    mixed = [(a, b) for a in shown.iter_columns() for b in record.iter_columns()]
    for number, (one, other) in enumerate([*both, *mixed][:MOST_COMBINATIONS]):
        for features in _together(one, other):
            alone = number < len(both)
            if alone:
                named = f"columns '{one.name}' and '{other.name}' together"
            else:
                named = f"column '{one.name}' together with '{other.name}'"
            is_table = sparse.issparse(features)
            model = _table() if is_table else _tree(features.shape[0])
            if blinding.reveals_decision(blinding.decision_scores(model, features), alone=alone):
                raise _together_reveal_decision(named)
            balanced = _table() if is_table else _tree(features.shape[0], balanced=True)
            accuracy = blinding.physician_accuracy(balanced, features)
            if blinding.reveals_physician(accuracy):
                raise _reveals_physician(named, _named_right(accuracy, blinding))
    features = np.column_stack([matrix_of(shown), matrix_of(record)])
    listed = ", ".join(f"'{name}'" for name in shown.columns)
    named = f"what is shown ({listed}) together with the record"
    scores = blinding.decision_scores(_forest(), features)
    if blinding.reveals_decision(scores, alone=False):
        raise _together_reveal_decision(named)
    accuracy = blinding.physician_accuracy(_forest(), features)
    if blinding.reveals_physician(accuracy):
        raise _reveals_physician(named, _named_right(accuracy, blinding))


def _together_reveal_decision(named: str) -> InputError:
    return InputError(
        f"{named} tells the decision nearly always, so that a reviewer would not be blind; leave "
        f"one out of {option('show')}"
    )


def _together(one: pl.Series, other: pl.Series) -> Iterator[Any]:
    """Give what two columns show only together: cells of both, differences and agreement."""
    cells = _bins(one) * BINS + _bins(other)
    yield _one_hot(cells, BINS * BINS)
    if one.dtype == pl.String and other.dtype == pl.String:
        yield _one_hot(one.eq_missing(other).to_numpy().astype(np.int64), 2)
    elif pl.String not in (one.dtype, other.dtype):
        difference = pl.Series(_number(one) - _number(other))
        yield matrix_of(difference.to_frame())


def _one_hot(cells: IntArray, n_cells: int) -> Any:
    """Return a sparse column for each cell."""
    n = len(cells)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), cells)), shape=(n, n_cells))


def _table() -> MultinomialNB:
    """Return a model that, on one column per cell, counts who is in each cell."""
    return MultinomialNB(alpha=0.5, fit_prior=False)


def _number(column: pl.Series) -> FloatArray:
    physical = column.to_physical().cast(pl.Float64, strict=False)
    return np.asarray(physical.to_numpy(), dtype=np.float64)


def _bins(column: pl.Series) -> IntArray:
    """Return the level of every value, in groups of equal size where there are many levels."""
    order = column.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    levels, code = np.unique(order, return_inverse=True)
    if len(levels) <= BINS:
        return np.asarray(code)
    rank = np.argsort(np.argsort(order, kind="stable"), kind="stable")
    first_rank = np.full(len(levels), len(rank))
    np.minimum.at(first_rank, code, rank)
    return np.asarray(first_rank[code] * BINS // len(rank))


def record_warnings(blinding: Blinding) -> list[str]:
    """Return a warning for every recorded covariate, or all, that reveal the physician."""
    no_record = replace(blinding, physician_by_record=0.0)

    def named_right(accuracy: float) -> str:
        template = _named_right(accuracy, no_record)
        return template.format(decider="physician", cases="patients")

    found = []
    for column in blinding.record:
        order = matrix_of(column.to_frame())
        accuracy = no_record.physician_accuracy(_tree(len(order), balanced=True), order)
        if no_record.reveals_physician(accuracy) or no_record.follows_physician(column):
            found.append(
                f"reviewers can infer the physician from the recorded covariate '{column.name}', "
                f"which {named_right(accuracy)}; choose reviewers who do not know the physicians, "
                "or measure again without it"
            )
    if not found and no_record.reveals_physician(blinding.physician_by_record):
        found.append(
            "reviewers may infer the physician from the recorded covariates together: a model "
            f"{named_right(blinding.physician_by_record)}; choose reviewers who do not know the "
            "physicians"
        )
    return found


# --- texts ---


@dataclass(frozen=True, kw_only=True, eq=False)
class Revealed:
    """What texts reveal: a token for the decision or the physician, and held-out predictions."""

    decision: str | None = None
    physician: str | None = None
    decision_scores: FloatArray | None = None
    physician_accuracy: float = 0.0


WORD = re.compile(r"\w+")
#: Kinds of tokens and what a message calls them; a token is its kind, a tab, and its content.
KINDS = {
    "value": "the value",
    "word": "the word",
    "words": "the words",
    "letters": "the letters",
    "pattern": "the pattern",
    "length": "the length",
    "start": "the beginning",
    "end": "the end",
    "place": "the character and its place",
    "remainder": "the remainder by division",
}


def value_token(text: str) -> list[str]:
    """Return the whole value as the only token."""
    return [f"value\t{text}"]


def text_tokens(text: str) -> list[str]:
    r"""Return the value, its words, parts of words and patterns.

    Examples
    --------
    >>> [each.replace("\t", " ") for each in text_tokens("on 3.5.")][:5]
    ['value on 3.5.', 'word on', 'word 3', 'word 5', 'words on 3']
    """
    text = text[:LONGEST_TEXT].casefold()
    words = WORD.findall(text)
    pattern = re.sub(r"\d", "9", text)
    tokens = [f"value\t{text}"]
    tokens += [f"word\t{word}" for word in words]
    tokens += [f"words\t{a} {b}" for a, b in pairwise(words)]
    tokens += [f"pattern\t{part}" for part in pattern.split() if "9" in part]
    for word in set(words):
        tokens += _letters(word)
    tokens += [f"length\t{len(text)}", f"length\t{len(words)} words"]
    return tokens


@lru_cache(maxsize=100_000)
def _letters(word: str) -> tuple[str, ...]:
    """Return the parts of a word of four letters."""
    return tuple(f"letters\t{word[at : at + 4]}" for at in range(len(word) - 3))


def name_tokens(text: str) -> list[str]:
    r"""Return what can be seen of an identifier: characters by place, beginning, end, length.

    Examples
    --------
    >>> [each.replace("\t", " ") for each in name_tokens("a7")][:4]
    ['place a at 1', 'place 7 at 2', 'place 7 at 1 from the end', 'place a at 2 from the end']
    """
    tokens = [f"place\t{letter} at {at}" for at, letter in enumerate(text, 1)]
    tokens += [f"place\t{letter} at {at} from the end" for at, letter in enumerate(text[::-1], 1)]
    tokens += [f"start\t{text[:size]}" for size in range(2, min(len(text), 8))]
    tokens += [f"end\t{text[-size:]}" for size in range(2, min(len(text), 5))]
    tokens += [f"pattern\t{re.sub('[0-9]', '9', text)}", f"length\t{len(text)}"]
    tokens += [f"word\t{word}" for word in re.findall(r"[A-Za-z]+|[0-9]+", text)]
    last = re.search(r"(\d{1,15})\D*$", text)
    if last is not None:
        tokens += [f"remainder\t{int(last[1]) % by} by {by}" for by in MODULI]
    return tokens


def _described(flagged: BoolArray, n: FloatArray, tokens: Sequence[str]) -> str | None:
    """Return the most frequent of the flagged tokens as a message names it, None without any."""
    if not flagged.any():
        return None
    kinds = list(KINDS)
    parts = [
        (-n[at], kinds.index(kind), kind, content)
        for at in np.flatnonzero(flagged).tolist()
        for kind, content in [tokens[at].split("\t", 1)]
    ]
    _, _, kind, content = min(parts)
    return f"{KINDS[kind]} '{content}'"


def revealing_tokens(texts: Sequence[str], tokens: Tokenizer, blinding: Blinding) -> Revealed:
    """Test every token that enough texts have, and predict from all tokens.

    Parameters
    ----------
    texts
        The texts of the tested patients.
    tokens
        Splits a text.
    blinding
        The tested patients.
    """
    counter = CountVectorizer(
        analyzer=lambda at: tokens(texts[at]),
        binary=True,
        min_df=min(5, len(texts)),
        dtype=np.float64,
    )
    try:
        counts = counter.fit_transform(range(len(texts))).tocsr()
    except ValueError:  # no token is frequent enough
        return Revealed()
    listed = counter.get_feature_names_out()
    n = np.asarray(counts.sum(axis=0)).ravel()
    decision = _described(_telling_decision(counts, blinding), n, listed)
    physician = _described(_telling_physician(counts, blinding), n, listed)
    if tokens is value_token:
        return Revealed(decision=decision, physician=physician)
    logistic = LogisticRegression(solver="liblinear", max_iter=200)
    return Revealed(
        decision=decision,
        physician=physician,
        decision_scores=blinding.decision_scores(logistic, counts),
        physician_accuracy=blinding.physician_accuracy(
            MultinomialNB(alpha=0.1, fit_prior=False), counts
        ),
    )


def _telling_decision(counts: Any, blinding: Blinding) -> BoolArray:
    """Tell which tokens go with one decision more than the record explains."""
    n = np.asarray(counts.sum(axis=0)).ravel()
    yes = counts.T @ blinding.decision.astype(np.float64)
    expected = (counts.T @ blinding.expected) / np.maximum(n, 1)
    flagged = np.zeros(len(n), dtype=np.bool_)
    for k, share in ((yes, expected), (n - yes, 1 - expected)):
        flagged |= _nearly_all(k=k, n=n, expected=share, observed=VALUE_DECISION)
    return flagged


def _telling_physician(counts: Any, blinding: Blinding) -> BoolArray:
    """Tell which tokens go with one physician."""
    n_patients = len(blinding.physician)
    if len(blinding.names) < 2:
        return np.zeros(counts.shape[1], dtype=np.bool_)
    one = sparse.csr_matrix(
        (np.ones(n_patients), (np.arange(n_patients), blinding.physician)),
        shape=(n_patients, len(blinding.names)),
    )
    table = (counts.T @ one).tocsr()
    n = np.asarray(counts.sum(axis=0)).ravel()
    k = table.max(axis=1).toarray().ravel()
    share = np.bincount(blinding.physician) / n_patients
    expected = share[np.asarray(table.argmax(axis=1)).ravel()]
    return _nearly_all(k=k, n=n, expected=expected, observed=VALUE_PHYSICIAN)


def _nearly_all(
    *, k: FloatArray, n: FloatArray, expected: FloatArray, observed: float
) -> BoolArray:
    """Tell where k of n are nearly all, and surely more than expected (Clopper-Pearson)."""
    enough = n >= FEWEST
    error = VALUE_ERROR / max(2 * int(enough.sum()), 1)
    low = beta.ppf(error, np.maximum(k, 1), n - k + 1)
    surely = low >= expected + VALUE_GAIN * (1 - expected)
    return np.asarray(enough & (k >= observed * n) & surely)


def names_physician(texts: Sequence[str], blinding: Blinding) -> bool:
    """Tell whether texts contain the physician's own name more often than another one's."""
    plain = [" ".join(WORD.findall(name.casefold())) for name in blinding.names]
    usable = [len(name) >= SHORTEST_NAME for name in plain]
    if sum(usable) < 2:
        return False
    lines = [f" {' '.join(WORD.findall(text[:LONGEST_TEXT].casefold()))} " for text in texts]
    shift = np.random.default_rng(0).integers(1, len(plain), len(lines))
    hits = other_hits = 0
    for line, code, step in zip(lines, blinding.physician, shift, strict=True):
        other = (code + step) % len(plain)
        hits += usable[code] and f" {plain[code]} " in line
        other_hits += usable[other] and f" {plain[other]} " in line
    return hits >= 5 + 3 * other_hits


# --- identifiers and rows ---


def why_names_reveal(names: pl.Series, patients: pl.DataFrame, blinding: Blinding) -> str | None:
    """Return what identifiers or rows of the table reveal, or None if they may be shown.

    Parameters
    ----------
    names
        Identifier of every patient, or the rows of the table as whole numbers.
    patients
        All patients: row, physician, decision and covariates.
    blinding
        The patients on whom it is tested.

    Returns
    -------
    str or None
        "the decision" or "the physician", with the reason where a single pattern is at fault.
    """
    tested = names[blinding.rows]
    known = patients[blinding.rows]
    features = list(_features(tested))
    places = [_place_of_physician(feature, known) for feature in features]
    limit = _auc_limit(NAME_AUC, blinding.decision)
    if any(strength(feature, blinding.decision) >= limit for feature in [*features, *places]):
        return "the decision (are they sorted by it, or made from it?)"
    for feature in features:
        order = matrix_of(feature.to_frame())[:, 0]
        if _reveals_in_pairs(order, blinding):
            return "the decision (within pairs their order follows it)"
        if blinding.reveals_discordance(feature, NAME_AUC):
            return "which pairs were decided differently (by their distance)"
    texts = tested.cast(pl.String).to_list()
    found = revealing_tokens(texts, name_tokens, blinding)
    if found.decision is not None:
        return f"the decision ({found.decision} goes with one decision)"
    if found.decision_scores is not None and blinding.decision_auc(found.decision_scores) >= limit:
        return "the decision (their characters follow it)"
    if found.physician is not None:
        return f"the physician ({found.physician} goes with one physician)"
    no_record = replace(blinding, physician_by_record=0.0)
    for feature in features:
        order_of_all = matrix_of(feature.to_frame())
        accuracy = no_record.physician_accuracy(
            _tree(len(order_of_all), balanced=True), order_of_all
        )
        if no_record.reveals_physician(accuracy, NAME_PHYSICIAN_GAIN):
            return "the physician (are they sorted by physician, or assigned by physician?)"
    if no_record.reveals_physician(found.physician_accuracy, NAME_PHYSICIAN_GAIN):
        return "the physician (their characters follow the physician)"
    if names_physician(texts, blinding):
        return "the physician (they contain names of physicians)"
    return None


def _reveals_in_pairs(order: FloatArray, blinding: Blinding) -> bool:
    """Tell whether one of the two decisions comes first in most discordant pairs."""
    share, n_pairs = blinding.concordance(order)
    if not n_pairs:
        return False
    return max(share, 1 - share) >= _limit(NAME_CONCORDANCE, chance=0.5, n=n_pairs)


def _features(names: pl.Series) -> Iterator[pl.Series]:
    """Give what can be seen of an identifier: its order, its length, its ends."""
    text = names.cast(pl.String)
    number = names.cast(pl.Float64, strict=False)
    if not number.null_count():
        yield number
    yield text.rank("dense")
    if not names.dtype.is_integer():
        yield from (text.str.len_chars(), text.str.head(1), text.str.head(2), text.str.tail(1))


def _place_of_physician(feature: pl.Series, patients: pl.DataFrame) -> pl.Series:
    """Return the place of every patient among the physician's patients, from 0 to 1."""
    place = pl.col("order").rank().over("physician") / pl.len().over("physician")
    return patients.select("physician", order=feature.rank("dense")).select(place)["order"]
