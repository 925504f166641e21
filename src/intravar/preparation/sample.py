"""Who is in a large table, and who is learned from: whole panels of some physicians, by lot.

Everybody is counted in one pass. What physicians have in common is learned from a sample, as an
opinion poll asks some thousands whatever the size of the country. Panels are taken whole, because
how physicians differ shows within panels. The lot is a hash of seed and panel: names, or another
order of the table, move nobody in or out.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import counted_among
from intravar.observed import in_natural_order
from intravar.preparation.decisions import code_decision, physician_names
from intravar.request import MIN_PANEL, SAMPLE
from intravar.sources.plain import in_calendar
from intravar.sources.reading import OWN, ROW

#: Columns that are added to the rows of a large table.
CODE, DECIDED = f"{OWN}physician", f"{OWN}decision"
#: Why rows are left out; templates, see :class:`intravar.wording.Sentence`.
NOBODY, UNDECIDED = "the {decider} is missing", "the decision is missing"
OUTSIDE = "they do not belong to the population"


@dataclass(frozen=True, eq=False)
class Counts:
    """One decision of everybody.

    `decision` is its name, and what was counted as 1 and 0; `note` what there is to say of it.
    `column` of :attr:`Census.rows` holds it as 0 or 1, null where it is not known. `n_patients` and
    `n_for` are rows of each physician in which it is known, and those decided for; rows `dropped`
    go by reason.
    """

    decision: tuple[str, str, str]
    note: str
    column: str
    n_patients: IntArray
    n_for: IntArray
    dropped: dict[str, int]


@dataclass(frozen=True, eq=False)
class Census:
    """Everybody in a table.

    `rows`, to be gone through, have a physician and at least one decision; each has the number of
    its physician, its decisions as 0 and 1, and its number in the source. `named` are the
    physicians in natural order, `note` what there is to say of their names; `n_rows` belong to the
    population.
    """

    rows: pl.LazyFrame
    named: pl.Series
    note: str
    n_rows: int
    counts: tuple[Counts, ...]

    @property
    def n_patients(self) -> IntArray:
        """Rows of each physician, by the decision that is known in most."""
        largest: IntArray = np.max([each.n_patients for each in self.counts], axis=0)
        return largest

    def known(self, counts: Counts) -> pl.LazyFrame:
        """Return the rows in which a decision is known, to be gone through."""
        return self.rows.filter(pl.col(counts.column).is_not_null())


def take_census(
    rows: pl.LazyFrame,
    n_stored: int,
    physician: str,
    decisions: Sequence[str],
    positive: str | None = None,
) -> Census:
    """Count everybody's patients and decisions in one pass.

    `rows` are those of the patients who are meant, of `n_stored` in the source; `positive` is the
    value of a decision that counts as 1.
    """
    counted = [
        rows.group_by(physician=physician, decision=name).agg(n=pl.len(), first=pl.col(ROW).min())
        for name in decisions
    ]
    tables = pl.collect_all(counted, engine="streaming")
    stored = tables[0]["physician"].unique()
    names, about_names = physician_names(stored.alias(physician))
    named = in_natural_order(names.drop_nulls().unique())
    place = pl.DataFrame({"name": named, CODE: np.arange(len(named), dtype=np.int64)})
    codes = pl.DataFrame({"physician": stored, "name": names}).join(place, on="name").drop("name")
    known = rows.join(codes.lazy().rename({"physician": physician}), on=physician, how="inner")
    n_rows, counts = int(tables[0]["n"].sum()), []
    for at, (name, table) in enumerate(zip(decisions, tables, strict=True)):
        values = table.group_by("decision").agg(pl.col("n").sum(), pl.col("first").min())
        values, column = values.sort("first"), f"{DECIDED}{at or ''}"
        with counted_among(values["first"].to_list()):
            coded, words, note = code_decision(
                values["decision"].alias(name), positive, values["n"]
            )
        values = values.select("decision", coded.alias(column)).drop_nulls()
        known = known.join(values.lazy().rename({"decision": name}), on=name, how="left")
        somebody = table.join(codes, on="physician")
        decided = somebody.join(values, on="decision").sort(CODE)
        n, yes = decided["n"].to_numpy().astype(np.int64), decided[column].to_numpy()
        n_patients, n_for = (
            np.bincount(decided[CODE].to_numpy(), each, minlength=len(named)).astype(np.int64)
            for each in (n, n * yes)
        )
        left = (n_stored, n_rows, int(somebody["n"].sum()), int(n.sum()))
        dropped = dict(zip((OUTSIDE, NOBODY, UNDECIDED), -np.diff(left), strict=True))
        lost = {reason: int(count) for reason, count in dropped.items() if count}
        counts.append(Counts((name, *words), note, column, n_patients, n_for, lost))
    known = known.filter(pl.any_horizontal(pl.col(each.column).is_not_null() for each in counts))
    return Census(known, named.alias(physician), about_names, n_rows, tuple(counts))


def rows_of(census: Census, codes: Sequence[int] | IntArray) -> pl.LazyFrame:
    """Return the rows of some physicians, to be gone through."""
    wanted = pl.DataFrame({CODE: np.asarray(codes, dtype=np.int64)})
    return census.rows.join(wanted.lazy(), on=CODE, how="semi")


def as_measured(census: Census, counts: Counts, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in which a decision is known, in the order of the source.

    Physicians go by name, the decision is 0 or 1.
    """
    rows = rows.filter(pl.col(counts.column).is_not_null()).sort(ROW)
    return rows.with_columns(
        census.named[rows[CODE]], pl.col(counts.column).alias(counts.decision[0])
    )


#: No physician makes up a larger part of the sample than one in so many.
LEAST_PHYSICIANS = 10
#: With many columns time and memory go with values: the usual sample then has so many of them,
#: but no fewer patients than from which on a larger one teaches little more.
SAMPLE_VALUES = 4_000_000
LEAST_IF_WIDE = 40_000
#: Patients of one physician that are read at the most: more make nobody's score surer by anything
#: that matters, and a panel is read in one piece. With many columns it is fewer.
MOST_READ, LEAST_MOST_READ, READ_VALUES = 100_000, 20_000, 4_000_000
#: Rows that are alike and enter the sample together: that shows how often a table repeats itself.
COPIES = 12
#: Smaller panels tell little of how physicians differ.
FEWEST_IN_A_PANEL = MIN_PANEL
#: Decisions of either kind that a sample should hold.
FEWEST_OF_A_KIND = 20
_SPAN = float(2**64)
_SHARE = f"{OWN}share"
_HELD = f"{OWN}held"
#: Takes numbers that follow each other far apart.
_APART = np.uint64(0x9E3779B97F4A7C15)


def sample_of(asked: int, n_columns: int) -> int:
    """Return how many patients to learn from: as many as asked for, fewer by default if wide.

    Examples
    --------
    >>> sample_of(SAMPLE, 22), sample_of(SAMPLE, 200), sample_of(SAMPLE + 1, 200)
    (100000, 40000, 100001)
    """
    if asked != SAMPLE:
        return asked
    return min(SAMPLE, max(LEAST_IF_WIDE, SAMPLE_VALUES // n_columns))


def most_read(n_columns: int) -> int:
    """Return how many patients of one physician are read at the most.

    Examples
    --------
    >>> most_read(20), most_read(100), most_read(600)
    (100000, 40000, 20000)
    """
    return min(MOST_READ, max(LEAST_MOST_READ, READ_VALUES // max(n_columns, 1)))


def draw(census: Census, n_patients: int, seed: int) -> tuple[IntArray, int]:
    """Draw physicians until they have so many patients; everybody if all together have no more.

    Returns them, rising, and how many patients of one physician are in the sample at the most.
    """
    sizes = census.n_patients
    if sizes.sum() <= n_patients:
        return np.arange(len(sizes)), n_patients
    most = max(n_patients // LEAST_PHYSICIANS, n_patients // max(len(sizes), 1), 1)
    lots = np.argsort(_lots(census, seed))
    # Whole panels first; parts of larger ones, and panels that tell little, only where there are
    # not enough of them.
    choice = np.where(sizes < FEWEST_IN_A_PANEL, 2, sizes > most)
    order = lots[np.argsort(choice[lots], kind="stable")]
    taken = np.minimum(sizes[order], most)
    inside = order[np.cumsum(taken) - taken < n_patients]
    codes = np.sort(np.concatenate([inside, _of_other_kind(census, inside, order)]))
    return codes, most


def _of_other_kind(census: Census, inside: IntArray, order: IntArray) -> IntArray:
    """Return physicians with decisions that nobody in the sample took, if there are any."""
    physicians = [np.empty(0, dtype=np.int64)]
    for each in census.counts:
        for count in (each.n_for, each.n_patients - each.n_for):
            if not count[inside].sum():
                others = order[(count[order] > 0) & ~np.isin(order, inside)]
                enough = int(np.searchsorted(np.cumsum(count[others]), FEWEST_OF_A_KIND)) + 1
                physicians.append(others[:enough])
    return np.unique(np.concatenate(physicians))


def sampled_rows(census: Census, codes: IntArray, most: int, seed: int) -> pl.LazyFrame:
    """Return the rows of the sample, to be gone through; of larger panels a part by lot."""
    return part_by_lot(census, rows_of(census, codes), codes, most, seed, together=COPIES)


def part_by_lot(
    census: Census, rows: pl.LazyFrame, codes: IntArray, most: int, seed: int, together: int = 1
) -> pl.LazyFrame:
    """Return rows of physicians, of larger panels about `most`, drawn by lot.

    `together` rows that are alike are drawn together.
    """
    huge = codes[census.n_patients[codes] > most]
    if not len(huge):
        return rows
    share = pl.DataFrame({CODE: huge, _SHARE: most / census.n_patients[huge]})
    # Of rows that are alike a few at a time have a lot of their own, or all of them would be drawn
    # or none.
    held = _hash_of_rows(rows, seed)
    large = rows.join(share.lazy(), on=CODE, how="inner").select(ROW, _SHARE, CODE, held)
    table = large.collect(engine="streaming")
    number = table.select(pl.int_range(pl.len()).over(CODE, _HELD)).to_series().to_numpy()
    mixed = table[_HELD].to_numpy() ^ ((number // together).astype(np.uint64) * _APART)
    lot = pl.Series(mixed).hash(seed=seed).cast(pl.Float64) / _SPAN
    left_out = table.filter(lot >= table[_SHARE]).select(ROW)
    return rows.join(left_out.lazy(), on=ROW, how="anti")


def _hash_of_rows(rows: pl.LazyFrame, seed: int, but: tuple[str, ...] = ()) -> pl.Expr:
    """Return a number for what every row holds, as it is stored: the rows' order does not tell."""
    schema = rows.collect_schema()
    texts = []
    for name in sorted(set(schema.names()) - set(but)):
        if not name.startswith(OWN):
            cell = pl.col(name)
            if schema[name].is_nested():
                cell = cell.hash(seed=seed)
            elif isinstance(schema[name], pl.Duration):
                cell = cell.to_physical()
            elif schema[name].is_temporal() and schema[name] != pl.Time:
                cell = in_calendar(cell, schema[name])  # infinity cannot be written
            texts.append(cell.cast(pl.String, strict=False).fill_null(""))
    return pl.concat_str(texts, separator="\x1f").hash(seed=seed).alias(_HELD)


def _lots(census: Census, seed: int) -> list[str]:
    """Return a lot for every physician, by the panel: what physicians are called does not tell."""
    columns = [column for each in census.counts for column in (each.n_patients, each.n_for)]
    sizes = {str(place): column for place, column in enumerate(columns)}
    # Panels of one size and rate are told apart by what their rows hold.
    held = _hash_of_rows(census.rows, 0, (census.named.name,))
    sums = census.rows.group_by(CODE).agg(held.sum()).collect(engine="streaming")
    panels = pl.DataFrame({CODE: np.arange(len(census.named))} | sizes)
    panels = panels.join(sums, on=CODE, how="left").sort(CODE)
    place = (pl.col(_HELD).rank("ordinal").over(*sizes) - 1).fill_null(0)
    texts = (":".join(map(str, (seed, *row))) for row in panels.select(*sizes, place).iter_rows())
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]
