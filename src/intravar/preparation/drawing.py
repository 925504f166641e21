"""Who is learned from where patients are many: whole panels of some physicians, drawn by lot.

What physicians have in common, the rule above all, is learned from a sample, as an opinion poll
asks some thousands whatever the size of the country: how sure it is depends on the sample alone.
Panels are taken whole, because how physicians differ shows within panels. The lot is a hash of
seed and name: more physicians, or another order of the table, move nobody in or out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.preparation.census import CODE, DECIDED, Census, rows_of
from intravar.request import SAMPLE
from intravar.sources.plain_columns import plain_table
from intravar.sources.scanning import ROW

#: No physician makes up a larger part of the sample than one in so many.
LEAST_PHYSICIANS = 10
#: With many columns time and memory go with values: the usual sample then has so many of them,
#: but no fewer patients than from which on a larger one teaches little more.
SAMPLE_VALUES = 4_000_000
LEAST_IF_WIDE = 40_000
_SPAN = float(2**64)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Who is learned from.

    Attributes
    ----------
    codes
        Physicians in the sample, rising.
    whole
        Whether all of their patients are.
    most
        Patients of one physician in the sample at the most.
    """

    codes: IntArray
    whole: BoolArray
    most: int


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


def draw(census: Census, n_patients: int, seed: int) -> Drawn:
    """Draw physicians until they have so many patients.

    Parameters
    ----------
    census
        Everybody.
    n_patients
        Patients to learn from.
    seed
        Of the lot.
    """
    sizes = census.n_patients
    most = max(n_patients // LEAST_PHYSICIANS, n_patients // max(len(sizes), 1), 1)
    lots = np.argsort([_lot(str(name), seed) for name in census.named.to_list()])
    # Whole panels first: parts of larger ones only where there are not enough of them.
    order = lots[np.argsort(sizes[lots] > most, kind="stable")]
    taken = np.minimum(sizes[order], most)
    inside = np.cumsum(taken) - taken < n_patients
    codes = np.sort(order[inside])
    return Drawn(codes, sizes[codes] <= most, most)


def sampled_rows(census: Census, drawn: Drawn, seed: int) -> pl.LazyFrame:
    """Return the rows of the sample, to be gone through; of larger panels a part by lot."""
    rows = rows_of(census, drawn.codes)
    if drawn.whole.all():
        return rows
    share = np.minimum(drawn.most / np.maximum(census.n_patients[drawn.codes], 1), 1.0)
    by_code = np.zeros(len(census.named))
    by_code[drawn.codes] = share

    def kept(piece: pl.DataFrame) -> pl.DataFrame:
        lot = _content(piece.drop(ROW, CODE, DECIDED)).hash_rows(seed=seed) / _SPAN
        return piece.filter(lot.to_numpy() < by_code[piece[CODE].to_numpy()])

    return rows.map_batches(kept, streamable=True, schema=rows.collect_schema())


def _content(piece: pl.DataFrame) -> pl.DataFrame:
    """Return what rows hold, however it is stored and whatever their order."""
    plain, _ = plain_table(piece)
    odd = (pl.Binary, pl.Object)
    known = [name for name in sorted(plain.columns) if plain[name].dtype not in odd]
    return plain.select(
        pl.col(name).cast(pl.Float64 if plain[name].dtype.is_numeric() else pl.String)
        for name in known
        if not plain[name].dtype.is_nested()
    )


def _lot(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\x00{name}".encode("utf-8", "surrogatepass")).hexdigest()
