"""What would tell a reviewer the decision, or the physician: such columns are not shown."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from intravar.arrays import BoolArray
from intravar.errors import InputError, option
from intravar.wording import Sentence

#: From here on (area under the curve, 0.5 is chance) a value tells the decision.
VALUE_TELLS = 0.95
#: The same for what patients are called, which should tell nothing at all.
NAME_TELLS = 0.65
#: Fewer patients of one of the two decisions show nothing.
FEWEST = 15


def strength(values: pl.Series, decision: BoolArray) -> float:
    """Return how well a column tells the decision: 0.5 not at all, 1 always.

    A tree that knows the column alone is learned from one half of the patients and tried on the
    other. Missing values count as a value.

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
    fewest = max(2, len(decision) // 200)
    tree = DecisionTreeClassifier(max_leaf_nodes=50, min_samples_leaf=fewest, random_state=0)
    halves = StratifiedKFold(2, shuffle=True, random_state=0)
    chance = cross_val_predict(tree, order, decision, cv=halves, method="predict_proba")
    return float(roc_auc_score(decision, chance[:, 1]))


def refuse_telling_columns(table: pl.DataFrame, decision: BoolArray, *, recorded: bool) -> None:
    """Refuse columns from which a reviewer could read the decision.

    Patients were compared by columns that are `recorded`; others were asked for to be shown.
    """
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
