"""What would tell a reviewer the decision, or the physician: such columns are not shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from intravar.arrays import BoolArray, FloatArray
from intravar.errors import InputError, option
from intravar.seeds import stream
from intravar.wording import Sentence

#: From here on (area under the curve, 0.5 is chance) a value tells the decision.
VALUE_TELLS = 0.95
#: The same for what patients are called, which should tell nothing at all.
NAME_TELLS = 0.65
#: Fewer patients of one of the two decisions show nothing.
FEWEST = 15
BINS = 20
#: Texts with more values than this are looked at by the most frequent ones.
MOST_VALUES = 50


def strength(values: pl.Series, decision: BoolArray) -> float:
    """Return how well a column tells the decision: 0.5 not at all, 1 always.

    Values are put into groups, missing ones are a group of their own; the share of every group is
    learned from one half of the patients and tried on the other.

    Examples
    --------
    >>> yes = np.arange(200) % 2 == 0
    >>> strength(pl.Series(yes.astype(float)), yes)
    1.0
    """
    codes = _groups(values)
    half = stream(0, "review", "halves").permutation(len(codes)) % 2 == 0
    found = [
        roc_auc_score(decision[~part], _shares(codes[part], decision[part])[codes[~part]])
        if 0 < decision[~part].sum() < (~part).sum()
        else 0.5
        for part in (half, ~half)
    ]
    return float(np.mean(found))


def _groups(values: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        number = values.to_physical().cast(pl.Float64)
        known = number.is_finite().fill_null(False).to_numpy()
        filled = number.fill_null(0.0).to_numpy()
        distinct, code = np.unique(filled, return_inverse=True)
        if len(distinct) > BINS:
            code = np.ceil(BINS * rankdata(filled) / len(filled)).astype(np.int64)
        return np.where(known, code + 1, 0)
    text = values.cast(pl.String)
    frequent = text.value_counts(sort=True)[:, 0].drop_nulls().head(MOST_VALUES).to_list()
    place = {value: at for at, value in enumerate(frequent, 2)}
    return np.array([0 if v is None else place.get(v, 1) for v in text.to_list()], dtype=np.int64)


def _shares(codes: FloatArray, decision: BoolArray) -> FloatArray:
    """Return the share decided for in every group, with one patient of the mean added."""
    n = int(max(codes.max(initial=0), BINS, MOST_VALUES)) + 2
    count = np.bincount(codes.astype(np.int64), minlength=n)
    decided_for = np.bincount(codes.astype(np.int64), weights=decision, minlength=n)
    return np.asarray((decided_for + decision.mean()) / (count + 1))


def refuse_telling_columns(table: pl.DataFrame, decision: BoolArray, *, recorded: bool) -> None:
    """Refuse columns from which a reviewer could read the decision.

    Patients were compared by columns that are `recorded`; others were asked for to be shown.
    """
    if min(decision.sum(), (~decision).sum()) < FEWEST:
        return
    for column in table:
        if strength(column, decision) < VALUE_TELLS:
            continue
        remedy = (
            Sentence("measure again without it: {}", option("exclude", column.name))
            if recorded
            else Sentence("leave it out of {}", option("show"))
        )
        raise InputError(
            "column '{}' tells the decision nearly always; a reviewer who sees it is not blind, "
            "and pairs that agree in it are decided alike; {}",
            column.name,
            remedy,
        )


def refuse_telling_names(names: pl.Series, physician: pl.Series, decision: BoolArray) -> None:
    """Refuse what patients are called where it tells how they were decided.

    Names are ids, or rows of the source: in a table sorted by the decision, the rows tell it.
    """
    if min(decision.sum(), (~decision).sum()) < FEWEST:
        return
    rows = names.dtype.is_integer()
    for feature in _features(names, physician):
        if strength(feature, decision) < NAME_TELLS:
            continue
        what = "the rows of the table" if rows else f"the ids in column '{names.name}'"
        remedy = (
            Sentence(
                "put the rows into a random order, or name ids with {}, and measure again",
                option("patient"),
            )
            if rows
            else Sentence("name another column with {} and measure again", option("patient"))
        )
        raise InputError(
            "{} tell the decision (sorted by it, or made from it?), so that a reviewer would not "
            "be blind; {}",
            what,
            remedy,
        )


def _features(names: pl.Series, physician: pl.Series) -> Iterator[pl.Series]:
    """Give what can be seen of a name: its place in the order, its length, its ends."""
    text = names.cast(pl.String)
    number = names.cast(pl.Float64, strict=False)
    place = pl.col("order").rank().over("physician") / pl.len().over("physician")
    for order in (number, text.rank("dense"))[number.null_count() > 0 :]:
        yield pl.DataFrame({"order": order, "physician": physician}).select(place)["order"]
        yield order
    if not names.dtype.is_integer():
        yield from (text.str.len_chars(), text.str.head(1), text.str.head(2), text.str.tail(1))
