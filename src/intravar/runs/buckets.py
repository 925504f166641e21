"""Everybody beyond the sample: dealt into buckets in one pass, read bucket by bucket, kept."""

import hashlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from filelock import FileLock

from intravar.arrays import IntArray
from intravar.errors import InputError, counted_among
from intravar.estimators.base import Estimator, Reader
from intravar.estimators.evidence import Evidence, no_differences
from intravar.observed import Observed
from intravar.preparation.check import Check
from intravar.preparation.prepare import INCOMPLETE, Portion, Recipe
from intravar.preparation.sample import CODE, Census, most_read, part_by_lot
from intravar.processes import WorkLostError
from intravar.runs.engines import make_engine
from intravar.runs.settings import Limits, RunSettings, limits_of
from intravar.runs.store import PartsFolder, fingerprint, locked, read_record, write_record
from intravar.sources.reading import OWN, ROW
from intravar.table_files import read_parquet
from intravar.text import first_line
from intravar.writing import checksum, make_private_folder, sweep

#: Sections of a request that results depend on.
_SECTIONS = ("columns", "population", "reading", "methods")
_BUCKET = f"{OWN}bucket"
_MADE_OF, _DEALT = "made-of.json", "dealt.json"
_PATIENTS, _READ = "patients", "read"
#: Cases, pairs to review, and the patients in either.
Seen: TypeAlias = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
#: Finds them in a bucket: evidence, patients, rows of the source.
Look: TypeAlias = Callable[[Evidence, Portion, IntArray], Seen]

#: Columns of every reading, whatever the method.
SCHEMA = {
    "method": pl.String,
    "code": pl.Int64,
    "n_patients": pl.Int64,
    "n_for": pl.Int64,
    "score": pl.Float64,
    "reason": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "standard_error": pl.Float64,
}
#: Columns of patients' predictions; subgroup, period and weight are null where there are none, and
#: so is the unit, the first row of those that depend on each other, where rows are independent.
PATIENTS = {
    "row": pl.Int64,
    "code": pl.Int64,
    "decision": pl.Int8,
    "own": pl.Float64,
    "pooled": pl.Float64,
    "unit": pl.Int64,
    "by": pl.Int16,
    "date": pl.Int16,
    "weight": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class ReadBy:
    """What physicians are read by, for one decision.

    `decided` is the column of the decision as 0 and 1; `look` finds the cases behind the scores of
    the first method. Predictions of every patient by the method `predicting` are kept, if there is
    one.
    """

    recipe: Recipe
    decided: str
    models: Mapping[str, Reader]
    look: Look
    predicting: str | None = None


@dataclass(frozen=True, eq=False)
class BucketTask:
    """A bucket to be read, as the content of Parquet files; nothing else is needed for it."""

    number: int
    content: tuple[bytes, ...]
    decisions: Mapping[str, ReadBy]


@dataclass(frozen=True, eq=False)
class Others:
    """What was read of physicians beyond the sample, for one decision; they have numbers.

    `panels` has a row per method and physician, `differences` the covariates that each weighs
    otherwise, `cases` the decisions that show scores at work, `pairs` those that may be reviewed,
    `patients` who is in either, `predicted` the predictions of every patient where they are needed;
    rows `dropped` go by reason, cells `filled` by covariate.
    """

    panels: pl.DataFrame
    differences: pl.DataFrame
    cases: pl.DataFrame
    pairs: pl.DataFrame
    patients: pl.DataFrame
    predicted: pl.DataFrame
    dropped: Mapping[str, int]
    filled: Mapping[str, int]


#: The tables among it.
TABLES = tuple(each.name for each in fields(Others) if "DataFrame" in str(each.type))


def read_bucket(task: BucketTask) -> tuple[int, dict[str, Others]]:
    """Score the physicians of a bucket, for every decision; return its number as well."""
    rows = pl.concat([read_parquet(io.BytesIO(part)) for part in task.content]).sort(ROW)
    return task.number, {name: _read(rows, by) for name, by in task.decisions.items()}


def _read(rows: pl.DataFrame, by: ReadBy) -> Others:
    rows = rows.filter(pl.col(by.decided).is_not_null())
    roles = by.recipe.roles
    table = rows.with_columns(
        pl.col(CODE).alias(roles.physician), pl.col(by.decided).alias(roles.decision)
    ).select(name for name in rows.columns if not name.startswith(OWN))
    with counted_among(rows[ROW].to_numpy()):
        applied = by.recipe.apply(table)
    differences, predicted = no_differences(), pl.DataFrame(schema=PATIENTS)
    if applied is None:
        dropped = {INCOMPLETE: table.height} if roles.missing == "drop" else {}
        panels, nobody = pl.DataFrame(schema=SCHEMA), (pl.DataFrame(),) * 3
        return Others(panels, differences, *nobody, predicted, dropped, {})
    portion, _ = applied
    observed, tables = portion.observed, []
    source = rows[ROW].to_numpy().astype(np.int64)[portion.rows]
    seen: Seen | None = None
    for name, model in by.models.items():
        read = model.read(observed)
        evidence = read.evidence(observed)
        tables.append(panel_table(name, read, evidence, observed))
        seen = seen or by.look(evidence, portion, source)
        if evidence.differences is not None:
            differences = evidence.differences
        if name == by.predicting:
            codes = observed.named.to_numpy()
            predicted = patient_table(evidence, observed, source, codes, portion.dealt)
    assert seen is not None
    panels = pl.concat(tables, how="diagonal")
    return Others(panels, differences, *seen, predicted, portion.dropped, portion.filled)


def patient_table(
    evidence: Evidence,
    observed: Observed,
    rows: IntArray,
    codes: IntArray,
    dealt: Mapping[str, IntArray],
) -> pl.DataFrame:
    """Return what was predicted of every patient, with the columns of `PATIENTS`.

    `rows` are those of the source, `codes` the numbers of the physicians, `dealt` the subgroups and
    periods.
    """
    predicted = evidence.predicted()
    assert predicted is not None
    values: dict[str, Any] = {
        "row": rows,
        "code": codes[observed.code],
        "decision": observed.decision,
        "own": predicted[0],
        "pooled": predicted[1],
        **dealt,
    }
    if evidence.unit is not None:
        # Named by its first row, a unit is called the same in buckets of any size.
        first_row = np.full(evidence.unit.max() + 1, np.iinfo(np.int64).max)
        np.minimum.at(first_row, evidence.unit, rows)
        values["unit"] = first_row[evidence.unit]
    if observed.weight is not None:
        values["weight"] = observed.weight
    missing = [pl.lit(None).alias(name) for name in PATIENTS if name not in values]
    return pl.DataFrame(values).with_columns(missing).select(*PATIENTS).cast(PATIENTS)  # type: ignore[arg-type]


def panel_table(
    name: str,
    model: Estimator,
    evidence: Evidence,
    observed: Observed,
    codes: IntArray | None = None,
) -> pl.DataFrame:
    """Return what a method says about every physician, one row each.

    Physicians are told by `codes`, or by what they are called if that is a number.
    """
    ends = model.ends()
    columns = {
        "method": pl.Series([name] * len(observed.named), dtype=pl.String),
        "code": observed.named if codes is None else codes,
        "n_patients": model.n_patients_,
        "n_for": observed.counts[1],
        "score": model.score_,
        "reason": pl.Series(model.reason_, dtype=pl.String),
        **ends._asdict(),
    }
    table = pl.DataFrame(columns).cast(SCHEMA)  # type: ignore[arg-type]
    return table.with_columns(
        pl.Series(name, values) for name, values in evidence.by_physician().items()
    )


class Parts:
    """The finished parts of a measurement in a folder, which holds patients: closed to others.

    Parts that follow from anything but what they are `made_of` are removed.
    """

    def __init__(self, folder: Path, made_of: Mapping[str, Any]) -> None:
        self.folder, self.patients = folder, folder / _PATIENTS
        self._made_of = json.loads(json.dumps(made_of, sort_keys=True, default=str))
        self._read = PartsFolder(folder / _READ)
        self._lock: FileLock | None = None

    def open(self) -> None:
        """Take the folder for this run; what is not of the same measurement is removed."""
        self._lock = locked(self.folder.with_name(self.folder.name + ".lock"), self.folder)
        make_private_folder(self.folder)
        if read_record(self.folder / _MADE_OF) != self._made_of:
            _emptied(self.folder)
            write_record(self.folder / _MADE_OF, self._made_of)
        make_private_folder(self.folder / _READ)
        for place in (self.folder, self.folder / _READ):
            sweep(place)

    def close(self, *, finished: bool) -> None:
        """Let go of the folder; once all is finished it is not needed any more."""
        if finished:
            _emptied(self.folder)
            with suppress(OSError):  # what else lies there is somebody's
                self.folder.rmdir()
        assert self._lock is not None
        self._lock.release()
        if finished:
            Path(self._lock.lock_file).unlink(missing_ok=True)

    def deal(self, n_buckets: int, write: Callable[[Path], None]) -> None:
        """Let buckets be written into a folder, unless they lie there as they were written."""

        def listing() -> dict[str, Any]:
            files = sorted(self.patients.rglob("*.parquet"))
            digests = {path.relative_to(self.patients).as_posix(): checksum(path) for path in files}
            return {"n_buckets": n_buckets, "files": digests}

        noted = self.folder / _DEALT
        if read_record(noted) == listing():
            return
        noted.unlink(missing_ok=True)
        shutil.rmtree(self.patients, ignore_errors=True)
        write(make_private_folder(self.patients))
        write_record(noted, listing())

    def keep(self, number: int, decisions: Mapping[str, Others]) -> None:
        """Keep what was read off a bucket."""
        counts = {
            name: {"dropped": dict(each.dropped), "filled": dict(each.filled)}
            for name, each in decisions.items()
        }
        tables = {
            f"{at}-{table}": getattr(each, table)
            for at, each in enumerate(decisions.values())
            for table in TABLES
        }
        self._read.keep(f"bucket-{number:06d}", tables, {"number": number, "counts": counts})

    def kept(self, number: int) -> dict[str, Others] | None:
        """Return what was read off a bucket before; None if it was not, or was changed since."""
        name = f"bucket-{number:06d}"
        record = self._read.kept(name)
        try:
            if record is None or record["number"] != number:
                return None
            decisions = {}
            for at, (decision, counts) in enumerate(record["counts"].items()):
                files = {each: self._read.table(name, f"{at}-{each}") for each in TABLES}
                tables: dict[str, Any] = {e: read_parquet(path) for e, path in files.items()}
                decisions[decision] = Others(**tables, **counts)
            return decisions
        except (OSError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
            return None


def _emptied(folder: Path) -> None:
    """Remove parts of another measurement, and nothing that is not called as they are."""
    for name in (_MADE_OF, _DEALT):
        (folder / name).unlink(missing_ok=True)
    for name in (_PATIENTS, _READ, "rows"):
        shutil.rmtree(folder / name, ignore_errors=True)


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
    buckets = deal_into_buckets(census, check.beyond.unread, limits.bucket_patients, of_one)
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
        observed = check.prepared.observed
        sampled.update(observed.covariates.tobytes())
        if observed.categories is not None:
            sampled.update(observed.categories.tobytes())
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
