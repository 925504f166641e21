"""A measurement as files, and back: a folder to hand on, and a private one beside it.

JSON holds what :mod:`intravar.publication.results` declares; tables lie beside it, with several
decisions under a first column. A file with another schema, or other fields, is refused.

Both folders are written beside their places first. Then one small file, the commit, is put beside
them: from that moment on the new result counts, and whoever comes next finishes what was
interrupted. Each folder lists its files with their digests; nothing that is not in such a list is
replaced or removed.
"""

import glob
import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import polars as pl
from filelock import FileLock, Timeout

from intravar import writing
from intravar.errors import InputError, option
from intravar.publication import results
from intravar.publication.results import Decision, Joint, Published, frame_of, rows_of, schema_of
from intravar.request import Request, fields_of
from intravar.table_files import read_parquet

#: Raised by a release whose files have other fields than those of the one before.
SCHEMA = 4
#: What is different about the files of earlier releases.
EARLIER = {
    1: "it tells ranges in words, and this version as two numbers",
    2: "it keeps checks and diagnostics in other files, and this version in the summary",
    3: "it always splits noise into pattern and occasion, and this version only where they can be",
}
WHAT = "measurement"
SUMMARY = "summary.json"
#: Fields that are tables: the name of their files, and what a row is.
TABLES: dict[type, dict[str, tuple[str, type]]] = {
    Decision: {
        "physicians": ("physicians", results.PhysicianRow),
        "methods": ("methods", results.MethodRow),
        "strata": ("strata", results.StratumRow),
        "changes": ("changes", results.ChangeRow),
    },
    Joint: {
        "physicians": ("joint", results.JointRow),
        "by_physician": ("decisions", results.DecisionRow),
        "pairs_by_physician": ("pairs", results.PairRow),
    },
}
#: A cell that begins like this is a formula to a spreadsheet.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_REMEDY = "measure again, or read it with the version of intravar that wrote it"


def files_of(published: Published) -> dict[str, bytes]:
    """Return what is published as files by their names: JSON and tables."""
    content = {"schema": SCHEMA, "what": WHAT} | plain(published)
    files = {SUMMARY: json.dumps(content, indent=1, ensure_ascii=False).encode()}
    for name, table in tables_of(published).items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.csv"] = safe_csv(table).encode()
    return files


def tables_of(published: Published) -> dict[str, pl.DataFrame]:
    """Return the tables by the names of their files; of decisions those that have rows."""
    joint, tables = published.joint, {}
    for field, (name, kind) in TABLES[Decision].items():
        rows = [
            (each.decision, row) for each in published.decisions for row in getattr(each, field)
        ]
        table = frame_of([row for _, row in rows], kind)
        if joint is not None:
            of = pl.Series("decision", [decision for decision, _ in rows], pl.String)
            table = table.select(of, pl.all())
        if rows or name == "physicians":
            tables[name] = table
    for field, (name, kind) in TABLES[Joint].items() if joint is not None else ():
        tables[name] = frame_of(getattr(joint, field), kind)
    return tables


def plain(value: Any) -> Any:
    """Return a value of :mod:`intravar.publication.results`, without tables, as JSON has it."""
    if isinstance(value, Request):
        return value.as_dict()
    if is_dataclass(value):
        tables = TABLES.get(type(value), {})
        names = [each.name for each in fields(value) if each.name not in tables]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return value


def is_published(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a measurement, of whatever version."""
    return read_asked(Path(folder)) is not None


def measurement_folders(folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the folder of a measurement and the private one beside it, or say that it is none."""
    if not is_published(folder):
        raise InputError(
            f"'{folder}' is not the folder of a measurement; name what 'intravar measure --out' "
            "wrote"
        )
    return Path(folder), private_folder(Path(folder).resolve())


def read_asked(folder: Path) -> tuple[str, Mapping[str, Any]] | None:
    """Return source and request, by sections, of a stored measurement; None where there is none."""
    content = None
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / SUMMARY).read_text("utf-8"))
    # A study has a summary as well, and several decisions were once measured into another file.
    if not isinstance(content, dict) or content.get("what") != WHAT:
        return None
    request = content.get("request")
    return str(content.get("source")), request if isinstance(request, Mapping) else {}


def read_published(folder: str | os.PathLike[str]) -> Published:
    """Read what was published of a measurement, or say what does not fit.

    Parameters
    ----------
    folder
        What `intravar measure --out` wrote.
    """
    file = measurement_folders(folder)[0] / SUMMARY
    content = json.loads(file.read_text("utf-8"))
    schema = content.pop("schema", None)
    if schema != SCHEMA:
        why = f" ({EARLIER[schema]})" if isinstance(schema, int) and schema in EARLIER else ""
        raise _unfit(file, "schema", f"is {schema!r} and this version knows {SCHEMA}{why}")
    del content["what"]
    published: Published = _Reader(file).value(Published, content, "")
    if not published.decisions:
        raise _unfit(file, "decisions", "is empty")
    return published


@dataclass(frozen=True)
class _Reader:
    """Reads the file of a measurement, and the tables beside it; refuses what does not fit."""

    file: Path

    def value(self, kind: Any, value: Any, where: str) -> Any:
        """Return a stored value as a type."""
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if value is None and NoneType in kinds:
            return None
        for each in kinds:
            inner = get_args(each)
            if each is Request and isinstance(value, dict):
                try:
                    return Request(**fields_of(value, self.file))
                except InputError as error:
                    raise _unfit(self.file, where, f"does not fit ({error})") from error
            if is_dataclass(each) and isinstance(value, dict):
                return self.object(each, value, where)
            if get_origin(each) is tuple and isinstance(value, list):
                listed = enumerate(value)
                return tuple(self.value(inner[0], one, f"{where}[{at}]") for at, one in listed)
            if get_origin(each) not in (None, tuple) and isinstance(value, dict):  # a mapping
                named = value.items()
                return {name: self.value(inner[1], one, f"{where}.{name}") for name, one in named}
            if type(value) is each or (each is float and type(value) is int):
                return each(value)
        text = json.dumps(value)
        raise _unfit(self.file, where, f"is {text if len(text) <= 40 else f'{text[:40]}...'}")

    def object(self, kind: Any, value: dict[str, Any], where: str) -> Any:
        """Return an object with the fields of its type: no other ones, and none missing."""
        tables, hints, read = TABLES.get(kind, {}), get_type_hints(kind), {}
        for name in {**hints, **value}:
            at = f"{where}.{name}".strip(".")
            if name in tables:
                read[name] = self.rows(*tables[name], value.get("decision"))
            elif name not in value:
                raise _unfit(self.file, at, "is missing")
            elif name not in hints:
                raise _unfit(self.file, at, "is not known")
            else:
                read[name] = self.value(hints[name], value[name], at)
        return kind(**read)

    def rows(self, name: str, kind: type, decision: str | None) -> tuple[Any, ...]:
        """Return rows from their file; a decision without subgroups, say, has no such rows."""
        file = self.file.with_name(f"{name}.parquet")
        if not file.exists() and name in ("methods", "strata", "changes"):
            return ()
        try:
            table = read_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(f"'{file}' cannot be read; {_REMEDY}") from error
        if decision is not None and "decision" in table.columns:
            table = table.filter(pl.col("decision") == decision).drop("decision")
        declared = schema_of(kind)
        for field in [*declared, *table.columns]:
            if field not in declared:
                raise _unfit(file, field, "is not known")
            if field not in table.columns:
                raise _unfit(file, field, "is missing")
            if table.schema[field] not in (declared[field], pl.Null):
                raise _unfit(file, field, f"is of type {table.schema[field]}")
        return rows_of(table, kind)


def _unfit(file: Path, field: str, what: str) -> InputError:
    return InputError(f"'{file}' does not fit: field '{field}' {what}; {_REMEDY}")


def parquet_bytes(table: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def escaped(text: str) -> str:
    """Return a text that a spreadsheet takes for text and never runs."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def safe_csv(table: pl.DataFrame) -> str:
    """Write a table as CSV with every text and column name escaped."""
    safe = table.with_columns(pl.col(pl.String).str.replace(r"^([=+\-@\t\r])", r"'$1"))
    return safe.rename(escaped).write_csv()


Kind = Literal["measurement", "private"]
LISTING = "intravar.json"
#: What lies in the private folder: cases and who is in them.
CASES_FILE, PATIENTS_FILE = "cases.parquet", "patients.parquet"
#: Pairs that reviewers may be shown; exact figures of everybody, in one decision and together.
PAIRS_FILE, FIGURES_FILE, JOINT_FILE = "pairs.parquet", "figures.parquet", "joint.parquet"
#: The pairs of a review and the answers, in the private folder.
REVIEW_FILE = "review.json"
#: Files that systems put into folders by themselves.
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
#: Room for what is written behind it while a result is not yet in its place.
LONGEST_NAME = 180


def private_folder(out: Path) -> Path:
    """Return the folder of what must not be handed on."""
    absolute = out.absolute()
    return absolute.with_name(f"{absolute.name}-private")


def unfinished_folder(out: Path) -> Path:
    """Return the folder of what is finished before all is."""
    absolute = out.absolute()
    return absolute.with_name(f"{absolute.name}-unfinished")


def file_of(name: str, at: int) -> str:
    """Return the private file of a decision: "cases.parquet", then "cases-2.parquet"."""
    stem, _, suffix = name.rpartition(".")
    return name if at == 0 else f"{stem}-{at + 1}.{suffix}"


def checked_out(
    out: str | os.PathLike[str],
    request: Request | None = None,
    source: str = "",
    *,
    replace: bool = False,
) -> Path:
    """Return the folder to write to, or say why it cannot be; nothing is written yet."""
    path = Path(out)
    if ".." in path.parts:
        raise InputError(
            f"output '{out}' climbs out of its folder with '..'; give its full path instead"
        )
    if "\x00" in str(out) or not path.name:
        raise InputError(f"output {str(out)!r} is not the name of a folder")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise InputError(
            f"the name of output '{path.name[:40]}...' is too long; give one of at most "
            f"{LONGEST_NAME} characters"
        )
    with _alone(path):
        pass
    if request is not None and not replace:
        before, asked = read_asked(path) or ("", None)
        other = [] if asked is None else [f"{option(name)}" for name in request.differences(asked)]
        if asked is not None and source and before != source_name(source):
            other.insert(0, "source")
        if other:
            raise InputError(
                f"'{path}' holds the result of another request (other {', '.join(other)}); name "
                f"another folder with {option('out')}, or overwrite it with {option('replace')}"
            )
        if (private_folder(path) / REVIEW_FILE).exists():
            raise InputError(
                f"pairs of '{path}' were drawn for a review, which would be lost; name another "
                f"folder with {option('out')}, or drop the review with {option('replace')}"
            )
    return path


def _refuse_foreign(folder: Path, kind: Kind) -> None:
    """Refuse a folder that holds anything but what was written there as this kind of result."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"'{folder}' is not a folder; name another with {option('out')}")
    for name in _foreign(folder, kind):
        what, away = f"'{name}', which is not a result of intravar", "it"
        if not (folder / LISTING).exists() and read_asked(folder) is not None:
            what, away = "a result of an older version of intravar", "it and its private folder"
        remedy = f"name another folder with {option('out')}, or move {away} away"
        raise InputError(f"'{folder}' holds {what}; {remedy}")


def _foreign(folder: Path, kind: Kind) -> list[str]:
    """Return what lies in a folder and was not written there, or was changed since."""
    if not folder.is_dir():
        return []
    listed = writing.read_listing(folder / LISTING, kind)
    return sorted(
        each.name
        for each in folder.iterdir()
        if each.name not in (LISTING, *LITTER)
        and not writing.as_listed(each, listed.get(each.name, ()))
    ) or ([] if listed or not (folder / LISTING).exists() else [LISTING])


def source_name(source: str) -> str:
    """Return what may be told of a source: an address, or a file without its folders."""
    return source if "://" in source else Path(source).name


def write_folders(out: Path, public: Mapping[str, bytes], private: Mapping[str, bytes]) -> None:
    """Put a new result into both folders, or into neither."""
    with _alone(out):
        try:
            for (kind, target), files in zip(_targets(out), (public, private), strict=True):
                part = _beside(target, "part")
                part.mkdir(mode=0o700 if kind == "private" else 0o755)
                listed = {name: [writing.digest(content)] for name, content in files.items()}
                for name, content in {**files, LISTING: _listed(kind, listed)}.items():
                    _put(part / name, content, kind)
            _beside(out, "commit").touch()
        except BaseException:
            recover(out)
            raise
        recover(out)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other measurements from the same folders, which hold nothing but finished results."""
    lock = _beside(out, "lock")
    try:
        if not lock.parent.is_dir():
            raise InputError(f"folder '{lock.parent}' does not exist; make it first")
        writing.check_writable(lock.parent)
        with FileLock(lock, timeout=0):
            try:
                recover(out)
                for kind, target in _targets(out):
                    _refuse_foreign(target, kind)
                yield
            finally:
                with suppress(OSError):  # Windows keeps a file that is open
                    lock.unlink(missing_ok=True)
    except Timeout as error:
        raise InputError(f"another measurement is writing to '{out}'; wait for it") from error
    except OSError as error:
        raise InputError(f"cannot write '{out}': {error.strerror or error}") from error


def add_files(folder: Path, files: Mapping[str, bytes], kind: Kind = "measurement") -> None:
    """Write more files into a folder of a measurement, or the same ones again."""
    listed = writing.read_listing(folder / LISTING, kind)
    for name in files:  # all of them before the first is written
        present = folder / name
        if present.exists() and not writing.as_listed(present, listed.get(name, ())):
            raise InputError(f"'{present}' was changed or is not of intravar; move it away")
    for name, content in files.items():
        new, present = writing.digest(content), folder / name
        # It is listed before it is in its place, and until then what is there stays listed too.
        both = [new, writing.checksum(present)] if present.exists() else [new]
        before, after = (_listed(kind, listed | {name: each}) for each in (both, [new]))
        listed[name] = [new]
        for file, written in ((LISTING, before), (name, content), (LISTING, after)):
            with writing.whole_file(folder / file) as beside:
                _put(beside, written, kind)


def _put(path: Path, content: bytes, kind: Kind) -> None:
    if kind == "private":
        writing.write_private(path, content)
    else:
        path.write_bytes(content)


def recover(out: Path) -> None:
    """Finish what was committed and interrupted; take away what was not committed."""
    commit = _beside(out, "commit")
    committed = commit.exists()
    for kind, target in _targets(out) if committed else ():
        part, old = _beside(target, "part"), _beside(target, "old")
        if part.is_dir():
            if target.is_dir():
                os.replace(target, old)
            os.replace(part, target)
        if old.is_dir():
            # What was put beside it in the meantime moves to the new one.
            foreign = {*_foreign(old, kind), *LITTER} & set(os.listdir(old)) - {LISTING}
            for name in foreign:
                if not (target / name).exists():
                    os.replace(old / name, target / name)
    commit.unlink(missing_ok=True)
    for _, target in _targets(out):
        leftovers = [_beside(target, "part"), _beside(target, "old")]
        if not committed:  # what an older version was writing, under a name by lot
            name = glob.escape(f".{target.absolute().name}.intravar-")
            leftovers += target.absolute().parent.glob(f"{name}{'[0-9a-f]' * 8}.part")
        for left in leftovers:
            shutil.rmtree(left, ignore_errors=True)


def _targets(out: Path) -> tuple[tuple[Kind, Path], ...]:
    return ("measurement", out), ("private", private_folder(out))


def _beside(path: Path, suffix: str) -> Path:
    absolute = path.absolute()
    return absolute.with_name(f".{absolute.name}.intravar.{suffix}")


def _listed(kind: Kind, files: Mapping[str, list[str]]) -> bytes:
    named = {name: each[0] if len(each) == 1 else each for name, each in files.items()}
    return json.dumps({"what": kind, "files": named}, indent=1, ensure_ascii=False).encode()
