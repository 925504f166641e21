"""One pass over a large table into buckets, each with all patients of some physicians."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError
from intravar.preparation.census import CODE, Census
from intravar.preparation.drawing import part_by_lot
from intravar.sources.scanning import OWN
from intravar.text import first_line

_BUCKET = f"{OWN}bucket"


@dataclass(frozen=True, eq=False)
class Buckets:
    """Physicians by bucket.

    Attributes
    ----------
    codes
        The physicians to be read.
    bucket
        The bucket of each.
    most
        Patients of one physician that are read at the most.
    """

    codes: IntArray
    bucket: IntArray
    most: int

    @property
    def n_buckets(self) -> int:
        """Number of buckets."""
        return int(self.bucket.max()) + 1 if len(self.bucket) else 0


def deal_into_buckets(census: Census, codes: IntArray, most: int, of_one: int) -> Buckets:
    """Fill buckets with physicians in order until they have so many patients; nobody is split.

    Parameters
    ----------
    census
        Everybody.
    codes
        Who is to be read.
    most
        Patients in a bucket at the most, unless one physician has more.
    of_one
        Patients of one physician that are read at the most.
    """
    bucket = np.zeros(len(codes), dtype=np.int64)
    number, filled = 0, 0
    for at, size in enumerate(np.minimum(census.n_patients[codes], of_one).tolist()):
        if filled and filled + size > most:
            number, filled = number + 1, 0
        bucket[at] = number
        filled += size
    return Buckets(codes, bucket, of_one)


def scatter(census: Census, buckets: Buckets, folder: Path, seed: int) -> None:
    """Write every bucket into a folder of its own, in one pass over the table.

    Of a physician with more patients than are read, so many are drawn by lot.
    """
    places = pl.DataFrame({CODE: buckets.codes, _BUCKET: buckets.bucket})
    target = pl.PartitionBy(folder, key=_BUCKET, include_key=False)
    rows = part_by_lot(census, census.rows, buckets.codes, buckets.most, seed)
    try:
        rows.join(places.lazy(), on=CODE, how="inner").sink_parquet(
            target, compression="lz4", maintain_order=False, mkdir=True, engine="streaming"
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"the rows could not be dealt into buckets in '{folder}': {first_line(error)}; is "
            "there room on the disk?"
        ) from error


def bucket_files(folder: Path, number: int) -> list[Path]:
    """Return the files of a bucket."""
    return sorted((folder / f"{_BUCKET}={number}").glob("*.parquet"))
