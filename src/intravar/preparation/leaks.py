"""Columns that give the decision away: known only after it, or made from it.

Comparing patients by such a column makes every physician look consistent. They are flagged and
never dropped in silence: a rule that everyone follows also predicts well, and only the user knows.
What is certain enough limits the verdict until the user confirms the column.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.tree import DecisionTreeClassifier

from intravar.arrays import FloatArray, IntArray
from intravar.learning.level_encoding import learn_encoding
from intravar.preparation.coding import encode_with, learn_codings, number_levels
from intravar.preparation.kinds import DAY, Column, words_in
from intravar.preparation.one_sided import find_one_sided
from intravar.seeds import stream

#: A single column that ranks the decisions this well is hardly known before them.
NEAR_PERFECT = 0.975
#: One that ranks them this well alone, and far better than all others together, is asked about.
STRONG, OTHERS_PART = 0.85, 1 / 3
#: Difference in the share of missing values from which on a near perfect prediction is due to it.
MISSING_FOR_ONE = 2 * NEAR_PERFECT - 1
#: Dates of which so many lie after that of the decision are asked about.
MOSTLY_AFTER = 0.5
#: Columns that order patients this alike say the same.
SAME = 0.98
#: More levels than these do not stand for those of another column.
MOST_LEVELS = 50
#: Rows that suffice to see it.
SAMPLE = 20_000
SAMPLE_FOR_SAME = 5_000


@dataclass(frozen=True)
class Leak:
    """A column that may give the decision away, and why.

    Parameters
    ----------
    column
        Name of the column.
    why
        The reason, as a clause that follows the name.
    certain
        Whether its values show it, and not only its name: such a leak limits the verdict.
    """

    column: str
    why: str
    certain: bool = False


def find_leaks(
    columns: Sequence[Column],
    decision: npt.NDArray[np.int8],
    decision_name: str,
    date: pl.Series | None = None,
    physician: IntArray | None = None,
) -> list[Leak]:
    """Return the columns that were probably recorded after the decision.

    Parameters
    ----------
    columns
        Covariates as they were understood.
    decision
        0 or 1 per patient.
    decision_name
        Name of the column of the decision.
    date
        Date of each decision, if known.
    physician
        Code of the physician per patient. What is recorded is compared within physicians.

    Returns
    -------
    list of Leak
        The certain ones first.

    Examples
    --------
    >>> y = np.tile(np.array([0, 1], dtype=np.int8), 50)
    >>> stay = Column("stay", "number", pl.Series("stay", y * 3.0))
    >>> find_leaks([stay], y, "drug")[0].why
    'predicts the decision nearly perfectly (AUC 1.00)'
    """
    rows = np.arange(len(decision))
    if len(rows) > SAMPLE:
        rows = np.sort(stream(0, "leaks").choice(rows, SAMPLE, replace=False))
    decided = decision[rows]
    sampled = [each.taken(rows) for each in columns]
    days = None if date is None else date[rows]
    codes = np.zeros(len(rows), dtype=np.int64) if physician is None else physician[rows]
    aucs = np.array([_auc([column], decided, codes) for column in sampled])
    perfect = {each.name for each, auc in zip(sampled, aucs, strict=True) if auc >= NEAR_PERFECT}
    others = [each for each in sampled if each.name not in perfect]
    one_sided = {each.column: each for each in find_one_sided(others, decided, codes)}
    certain, asked = [], []
    for column, auc in zip(sampled, aucs, strict=True):
        found = one_sided.get(column.name)
        if column.name in perfect:
            how = "predicts the decision nearly perfectly"
            if _missing_more(column, decided) >= MISSING_FOR_ONE:
                how = "is missing for one decision and present for the other"
            certain.append(Leak(column.name, f"{how} (AUC {auc:.2f})", certain=True))
        elif found is not None and found.certain:
            certain.append(Leak(column.name, found.in_words(), certain=True))
        elif why := _asked(column, decision_name, days):
            asked.append(Leak(column.name, why))
        elif found is not None:
            asked.append(Leak(column.name, found.in_words()))
    if len(sampled) > 1 and STRONG <= aucs.max() < NEAR_PERFECT:
        first = sampled[int(aucs.argmax())]
        by_others = _auc([each for each in sampled if each is not first], decided, codes)
        far_ahead = by_others - 0.5 < OTHERS_PART * (aucs.max() - 0.5)
        if far_ahead and first.name not in {leak.column for leak in (*certain, *asked)}:
            why = "predicts the decision far better than all other columns together"
            asked.append(Leak(first.name, f"{why} (AUC {aucs.max():.2f})"))
    return [*certain, *asked]


def _asked(column: Column, decision_name: str, date: pl.Series | None) -> str:
    """Return why a name or dates suggest a record after the decision; "" if they do not."""
    if date is not None and date.dtype in (pl.Date, pl.Datetime) and column.kind == "date":
        later = (column.values > date.cast(pl.Datetime("us")).dt.epoch("us") / DAY).drop_nulls()
        if len(later) and (share := float(later.mean() or 0.0)) > MOSTLY_AFTER:  # type: ignore[arg-type]
            return f"lies after the date of the decision in {share:.0%} of rows"
    short, name = decision_name.lower(), column.name.lower()
    if len(short) >= 4 and short in name and name != short:
        return f"its name contains the decision's, '{decision_name}'"
    match = words_in(column.name, "telling")
    if match is not None and words_in(column.name, "earlier") is None:
        return f"its name ('{match[1]}') suggests what came afterwards"
    return ""


def columns_that_say_the_same(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Return sets of columns that order patients alike, or whose levels stand for each other.

    Examples
    --------
    >>> age = pl.Series("age", [50.0, 61.0, 70.0, 44.0])
    >>> born = Column("born", "number", (1970 - age).alias("born"))
    >>> columns_that_say_the_same([Column("age", "number", age), born])
    [('age', 'born')]
    """
    if not columns:
        return []
    rows = np.arange(len(columns[0].values))
    if len(rows) > SAMPLE_FOR_SAME:
        rows = np.sort(stream(0, "same").choice(rows, SAMPLE_FOR_SAME, replace=False))
    table = pl.DataFrame({each.name: each.values[rows] for each in columns})
    links = np.eye(len(columns), dtype=np.bool_)
    ranks = [place for place, each in enumerate(columns) if each.kind != "category"]
    if len(ranks) > 1:
        links[np.ix_(ranks, ranks)] |= _ordered_alike(table[:, ranks])
    levels = table.select(pl.all().rank("dense")).get_columns()
    n_levels = table.select(pl.all().n_unique()).row(0)
    few = [place for place, n in enumerate(n_levels) if 2 < n <= MOST_LEVELS]
    for at, one in enumerate(few):
        for other in few[at + 1 :]:
            if "category" in (columns[one].kind, columns[other].kind):
                pairs = pl.DataFrame({"one": levels[one], "other": levels[other]}).drop_nulls()
                counts = {pairs.n_unique(), pairs["one"].n_unique(), pairs["other"].n_unique()}
                links[one, other] = len(counts) == 1 and counts.pop() > 2
    n_sets, of = connected_components(csr_array(links), directed=False)
    names = np.array(table.columns, dtype=object)
    sets = [tuple(names[of == each]) for each in range(n_sets)]
    return [each for each in sets if len(each) > 1]


def _ordered_alike(table: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Tell which columns rank the patients alike, upwards or downwards."""
    known = table.select(pl.all().is_not_null()).to_numpy()
    ranks = table.select(pl.all().rank().fill_null(0.0)).to_numpy()
    spread = ranks - ranks.mean(axis=0, where=known)
    spread = np.where(known, spread, 0.0)
    scale = np.sqrt(np.square(spread).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.abs(spread.T @ spread / np.outer(scale, scale)) >= SAME
    # Rows in which only one of the two is known tell nothing alike.
    return np.asarray(alike & (known.T.astype(float) @ known > SAME * known.sum(axis=0)))


def _auc(columns: Sequence[Column], decided: npt.NDArray[np.int8], physician: IntArray) -> float:
    """Return how well columns alone rank the decisions within physicians.

    A column that one hospital does not record tells hospitals apart, and so their rates, but not
    the decisions of one of them.
    """
    if decided.min() == decided.max():
        return 0.5
    codings = learn_codings(columns, "indicator", smallest_level=1)
    table = encode_with(codings, columns)[0].to_numpy()
    if numbered := number_levels(codings, columns):
        # A category with many levels may give the decision away by levels that are pooled.
        half = stream(0, "leaks", "halves").permutation(len(decided)) % 2
        encoded = [
            learn_encoding(each, decided.astype(np.int64), half)[1] for each in numbered.values()
        ]
        table = np.column_stack([table, *encoded])
    smallest = max(5, len(decided) // 200)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=smallest, random_state=0)
    chance = tree.fit(table, decided).predict_proba(table)[:, 1]
    return auc_within(chance, decided, physician)


def auc_within(chance: FloatArray, decided: npt.NDArray[np.int8], physician: IntArray) -> float:
    """Return the area under the curve over pairs of patients of the same physician.

    Examples
    --------
    >>> decided = np.array([0, 0, 0, 1, 0, 1, 1, 1], dtype=np.int8)
    >>> hospital = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> auc_within(hospital.astype(float), decided, hospital)
    0.5
    """
    rows = pl.DataFrame({"chance": chance, "decided": decided, "physician": physician})
    yes = pl.col("decided") == 1
    each = (
        rows.with_columns(pl.col("chance").rank().over("physician").alias("rank"))
        .group_by("physician")
        .agg(
            pl.col("rank").filter(yes).sum().alias("ranks"),
            yes.sum().cast(pl.Float64).alias("n_yes"),
            (~yes).sum().cast(pl.Float64).alias("n_no"),
        )
    )
    n_yes, n_no = each["n_yes"], each["n_no"]
    pairs = float((n_yes * n_no).sum())
    if pairs == 0:
        return 0.5
    return float((each["ranks"] - n_yes * (n_yes + 1) / 2).sum()) / pairs


def _missing_more(column: Column, decided: npt.NDArray[np.int8]) -> float:
    """Return by how much the share of missing values differs between the decisions."""
    missing = column.values.is_null().to_numpy()
    if not missing.any() or decided.min() == decided.max():
        return 0.0
    return abs(float(missing[decided == 1].mean() - missing[decided == 0].mean()))
