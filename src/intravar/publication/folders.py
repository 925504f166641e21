"""A measurement as folders: one to hand on, and a private one beside it."""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl

from intravar.errors import InputError, option
from intravar.publication.exports import safe_csv
from intravar.publication.outputs import Outputs, outputs_of
from intravar.publication.pseudonyms import KEY_FILE, Pseudonyms, read_key, write_private
from intravar.writing import check_writable, whole_file

if TYPE_CHECKING:
    from intravar.measurement.measure import Measurement


def checked_out(out: str | os.PathLike[str]) -> Path:
    """Return the folder to write to, or say why it cannot be; nothing is written yet."""
    path = Path(out)
    if ".." in path.parts:
        raise InputError(
            f"output '{out}' climbs out of its folder with '..'; give its full path instead"
        )
    if "\x00" in str(out) or not path.name:
        raise InputError(f"output {str(out)!r} is not the name of a folder")
    if not path.absolute().parent.is_dir():
        raise InputError(f"folder '{path.absolute().parent}' does not exist; make it first")
    for folder in (path, private_folder(path)):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InputError(f"'{folder}' is not a folder; name another with {option('out')}")
    if path.is_dir() and any(path.iterdir()) and not is_measurement(path):
        raise InputError(
            f"folder '{path}' has other files in it; name a new one with {option('out')}, or empty "
            "it"
        )
    check_writable(path.absolute().parent)
    return path


def private_folder(out: Path) -> Path:
    """Return the folder of what must not be handed on."""
    absolute = out.absolute()
    return absolute.with_name(f"{absolute.name}-private")


def write_measurement(
    measurement: Measurement,
    out: str | os.PathLike[str],
    *,
    show_names: bool = False,
    key: str | os.PathLike[str] | None = None,
    pairs_in_report: bool = False,
) -> Outputs:
    """Write both folders whole, or neither; return what was written for others."""
    path = checked_out(out)
    private = private_folder(path)
    pseudonyms = _pseudonyms(measurement, private, show_names, key)
    names = (
        {name: name for name in measurement.scores.physician}
        if pseudonyms is None
        else pseudonyms.by_name
    )
    outputs = outputs_of(measurement, names)
    pairs = _pairs_for_page(measurement, outputs, names) if pairs_in_report else None
    try:
        with _whole_folder(private, mode=0o700) as beside_private:
            _write_private(measurement, pseudonyms, beside_private)
            with _whole_folder(path, mode=0o755) as beside:
                _write_public(outputs, beside, pairs)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write '{path}': {reason}") from error
    return outputs


def _pseudonyms(
    measurement: Measurement,
    private: Path,
    show_names: bool,
    key: str | os.PathLike[str] | None,
) -> Pseudonyms | None:
    if show_names:
        return None
    secret = None
    if key is not None:
        secret = read_key(Path(key))
    elif (private / KEY_FILE).is_file():  # the same physician keeps a pseudonym from run to run
        secret = read_key(private / KEY_FILE)
    return Pseudonyms.of(measurement.scores.physician, secret)


def _write_private(measurement: Measurement, pseudonyms: Pseudonyms | None, folder: Path) -> None:
    from intravar.measurement.measure import patients_of

    if pseudonyms is not None:
        pseudonyms.write(folder / KEY_FILE)
    for name, table in {"pairs": measurement.pairs, "patients": patients_of(measurement)}.items():
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        write_private(folder / f"{name}.parquet", buffer.getvalue())
    note = "Patient-level data and the key of the pseudonyms. Do not hand this folder on.\n"
    write_private(folder / "README.txt", note.encode())


def _write_public(outputs: Outputs, folder: Path, pairs: dict[str, Any] | None) -> None:
    from intravar.pages.measurement.measurement_page import render_page

    tables = {"physicians": outputs.physicians}
    if outputs.methods is not None:
        tables["methods"] = outputs.methods
    for name, table in tables.items():
        table.write_parquet(folder / f"{name}.parquet")
        (folder / f"{name}.csv").write_text(safe_csv(table), "utf-8")
    for name, content in {
        "summary": outputs.summary,
        "checks": outputs.checks,
        "diagnostics": outputs.diagnostics,
    }.items():
        text = json.dumps(content, indent=1, ensure_ascii=False, default=str)
        (folder / f"{name}.json").write_text(text, "utf-8")
    (folder / "report.html").write_text(render_page(outputs, pairs), "utf-8")


def rebuild_page(folder: str | os.PathLike[str]) -> Path:
    """Make the page of a stored measurement again, from what was published; nothing is measured.

    Pairs that were embedded in the page on request are not published, and not in the new one.
    """
    from intravar.pages.measurement.measurement_page import render_page

    path = Path(folder)
    try:
        contents = {
            name: json.loads((path / f"{name}.json").read_text("utf-8"))
            for name in ("summary", "checks", "diagnostics")
        }
        methods = path / "methods.parquet"
        outputs = Outputs(
            pl.read_parquet(path / "physicians.parquet"),
            pl.read_parquet(methods) if methods.is_file() else None,
            **contents,
        )
        page = render_page(outputs)
    except (
        OSError,
        ValueError,
        KeyError,
        jinja2.UndefinedError,
        pl.exceptions.PolarsError,
    ) as error:
        raise InputError(
            f"the measurement in '{path}' is damaged or of another version; measure again"
        ) from error
    with whole_file(path / "report.html") as beside:
        beside.write_text(page, "utf-8")
    return path / "report.html"


def _pairs_for_page(
    measurement: Measurement, outputs: Outputs, names: dict[str, str]
) -> dict[str, Any]:
    """Return the closest discordant pairs of every reportable physician, for whoever asked."""
    reportable = set(outputs.physicians.filter(pl.col("reportable"))["physician"].to_list())
    return {
        shown: measurement.explain(name, most=2).to_dicts()
        for name, shown in names.items()
        if shown in reportable
    }


def is_measurement(path: Path) -> bool:
    """Tell whether a folder holds a measurement."""
    try:
        found = json.loads((path / "summary.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("what") == "measurement"


@contextmanager
def _whole_folder(target: Path, *, mode: int) -> Iterator[Path]:
    """Yield a folder beside the target; it takes the target's place if all went well."""
    absolute = target.absolute()
    token = secrets.token_hex(4)
    beside = absolute.with_name(f".{absolute.name}.{token}.part")
    old = absolute.with_name(f".{absolute.name}.{token}.old")
    beside.mkdir(mode=mode)
    try:
        yield beside
        if absolute.exists():
            os.replace(absolute, old)
        os.replace(beside, absolute)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if old.exists() and not absolute.exists():
            os.replace(old, absolute)
        shutil.rmtree(old, ignore_errors=True)
