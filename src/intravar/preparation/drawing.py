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
from intravar.preparation.census import CODE, Census, rows_of
from intravar.sources.scanning import ROW

#: No physician makes up a larger part of the sample than one in so many.
LEAST_PHYSICIANS = 20
_ODD = 2654435761
_SPAN = 2**32


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
    order = np.argsort([_lot(str(name), seed) for name in census.named.to_list()])
    taken = np.minimum(sizes[order], most)
    inside = np.cumsum(taken) - taken < n_patients
    codes = np.sort(order[inside])
    return Drawn(codes, sizes[codes] <= most, most)


def sampled_rows(census: Census, drawn: Drawn, seed: int) -> pl.LazyFrame:
    """Return the rows of the sample, to be gone through; of huge panels a part by lot."""
    share = np.minimum(drawn.most / np.maximum(census.n_patients[drawn.codes], 1), 1.0)
    kept = pl.DataFrame({CODE: drawn.codes, "share": share})
    lot = ((pl.col(ROW).cast(pl.UInt64) + 1 + seed % _SPAN) * _ODD) % _SPAN
    rows = rows_of(census, drawn.codes)
    if drawn.whole.all():
        return rows
    return (
        rows.join(kept.lazy(), on=CODE, how="inner")
        .filter(lot.cast(pl.Float64) / _SPAN < pl.col("share"))
        .drop("share")
    )


def _lot(name: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\x00{name}".encode("utf-8", "surrogatepass")).hexdigest()
