"""Everybody beyond the sample: dealt into buckets in one pass, read bucket by bucket, kept."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError
from intravar.preparation.check import Check
from intravar.preparation.sample import CODE, Census, most_read, part_by_lot
from intravar.processes import WorkLostError
from intravar.runs.engines import make_engine
from intravar.runs.readings import TABLES, BucketTask, Others, ReadBy, read_bucket
from intravar.runs.settings import Limits, RunSettings, limits_of, to_be_read
from intravar.runs.store import Parts, fingerprint
from intravar.sources.reading import OWN
from intravar.text import first_line

#: Sections of a request that results depend on.
_SECTIONS = ("columns", "population", "reading", "methods")
_BUCKET = f"{OWN}bucket"


def read_others(
    checks: Mapping[str, Check],
    decisions: Mapping[str, ReadBy],
    settings: RunSettings,
    progress: Callable[[int, int], None],
) -> dict[str, Others]:
    """Read everybody beyond the sample by what was learned from it, every decision at once.

    `progress` hears how many buckets of how many are read.
    """
    check = next(iter(checks.values()))
    assert check.beyond is not None
    limits = limits_of(checks, settings)
    census = check.beyond.census
    of_one = max(most_read(each.prepared.observed.covariates.shape[1]) for each in checks.values())
    unread = to_be_read(census, check.beyond.drawn)
    buckets = deal_into_buckets(census, unread, limits.bucket_patients, of_one)
    n_buckets = buckets[_BUCKET].n_unique()
    with _parts(_made_of(checks, census, limits), settings) as parts:
        # Another lot than that of the sample: nobody's part of it is read for being in it.
        seed = check.request.random_state + 1
        parts.deal(n_buckets, lambda folder: scatter(census, buckets, of_one, folder, seed))
        reads = {number: parts.kept(number) for number in range(n_buckets)}
        pending = [number for number, read in reads.items() if read is None]
        progress(n_buckets - len(pending), n_buckets)

        def tasks() -> Iterator[BucketTask]:
            for number in pending:
                files = sorted((parts.patients / f"{_BUCKET}={number}").glob("*.parquet"))
                content = tuple(path.read_bytes() for path in files)
                yield BucketTask(number, content, decisions)

        if pending:
            engine = make_engine(settings.engine, limits.workers)
            for number, read in engine.run(read_bucket, tasks()):
                parts.keep(number, read)
                reads[number] = read
                progress(sum(each is not None for each in reads.values()), n_buckets)
        finished = [read for read in reads.values() if read is not None]
    return {name: _together([each[name] for each in finished]) for name in decisions}


def _together(reads: list[Others]) -> Others:
    """Return what was read off all buckets: tables below each other, counts added up."""
    dropped: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    for read in reads:
        dropped.update(read.dropped)
        filled.update(read.filled)
    tables = {
        name: pl.concat([getattr(read, name) for read in reads], how="diagonal_relaxed")
        for name in TABLES
    }
    return Others(**tables, dropped=dict(dropped), filled=dict(filled))


@contextmanager
def _parts(made_of: Mapping[str, Any], settings: RunSettings) -> Iterator[Parts]:
    """Open what is kept; it is closed when all is read, and left as it is if that is cut short."""
    with TemporaryDirectory(prefix="intravar-", ignore_cleanup_errors=True) as folder:
        kept_in = settings.kept_in or Path(folder) / "unfinished"
        parts = Parts(kept_in, made_of)
        parts.open()
        finished = settings.kept_in is None
        try:
            yield parts
        except InputError as error:
            # What cannot be used will not be used later: no patients are left behind.
            finished |= not isinstance(error, WorkLostError)
            raise
        finally:
            parts.close(finished=finished)


def _made_of(checks: Mapping[str, Check], census: Census, limits: Limits) -> dict[str, Any]:
    """Return all that what is kept follows from."""
    counted, sampled = hashlib.sha256(), hashlib.sha256()
    for each in census.counts:
        counted.update(each.n_patients.tobytes())
        counted.update(each.n_for.tobytes())
    counted.update("\0".join(map(str, census.named.to_list())).encode("utf-8", "surrogatepass"))
    for check in checks.values():
        sampled.update(check.prepared.observed.covariates.tobytes())
    asked = {name: check.request.as_dict() for name, check in checks.items()}
    source = next(iter(checks.values())).source
    return {
        "asked": {
            name: {section: each.get(section, {}) for section in _SECTIONS}
            for name, each in asked.items()
        },
        "source": source,
        "stored": _stored(source),
        "counted": counted.hexdigest(),
        "sampled": sampled.hexdigest(),
        "bucket_patients": limits.bucket_patients,
        "software": fingerprint(),
    }


def _stored(source: str) -> list[list[Any]]:
    """Return size and time of the files of a source; nothing where it is no file."""
    path = Path(source)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    known = [(each.name, each.stat()) for each in files if each.exists()]
    return [[name, status.st_size, status.st_mtime_ns] for name, status in known]


def deal_into_buckets(census: Census, codes: IntArray, most: int, of_one: int) -> pl.DataFrame:
    """Fill buckets with physicians in order until they have so many patients; nobody is split.

    A bucket has `most` patients, unless one physician has more; `of_one` of each are read at most.
    """
    bucket = np.zeros(len(codes), dtype=np.int64)
    number, filled = 0, 0
    for at, size in enumerate(np.minimum(census.n_patients[codes], of_one).tolist()):
        if filled and filled + size > most:
            number, filled = number + 1, 0
        bucket[at] = number
        filled += size
    return pl.DataFrame({CODE: codes, _BUCKET: bucket})


def scatter(census: Census, buckets: pl.DataFrame, most: int, folder: Path, seed: int) -> None:
    """Write every bucket into a folder of its own, in one pass over the table.

    Of a physician with more patients, `most` are drawn by lot.
    """
    target = pl.PartitionBy(folder, key=_BUCKET, include_key=False)
    rows = part_by_lot(census, census.rows, buckets[CODE].to_numpy(), most, seed)
    try:
        rows.join(buckets.lazy(), on=CODE, how="inner").sink_parquet(
            target, compression="lz4", maintain_order=False, mkdir=True, engine="streaming"
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(
            f"the rows could not be dealt into buckets in '{folder}': {first_line(error)}; is "
            "there room on the disk?"
        ) from error
