"""From several decisions to folders: one of all together, and one of each beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from intravar.documents.measurement.handover import (
    PAGE,
    REQUEST,
    from_folder,
    key_files,
    pseudonyms_of,
    write_measurement,
)
from intravar.documents.measurement.joint import joint_document
from intravar.documents.page import as_html
from intravar.errors import InputError
from intravar.measurement.measure_several import SeveralMeasured
from intravar.publication.files import parquet_bytes, safe_csv
from intravar.publication.folders import SEVERAL, checked_out, private_folder, write_folders
from intravar.publication.several_outputs import (
    SeveralOutputs,
    several_outputs,
)

PRIVATE_NOTE = "The key of the pseudonyms. Do not hand this folder on.\n"


def decision_folders(out: str | os.PathLike[str], decisions: Iterable[str]) -> dict[str, Path]:
    """Return the folder of every decision: beside that of all, with the decision's name behind.

    Examples
    --------
    >>> decision_folders("out", ["statin", "a/b"])["a/b"].name
    'out-a_b'
    """
    base, found = Path(out), dict[str, Path]()
    for name in decisions:
        plain = re.sub(r"[^\w.-]", "_", name)
        path = base.with_name(f"{base.name}-{plain}")
        while path in found.values() or path.name == f"{base.name}-private":
            path = path.with_name(f"{path.name}_")
        found[name] = path
    return found


def write_several(
    found: SeveralMeasured,
    out: str | os.PathLike[str],
    *,
    show_names: bool = False,
    key: str | os.PathLike[str] | None = None,
    pairs_in_report: bool = False,
    replace: bool = False,
) -> SeveralOutputs:
    """Write several decisions: all together to a folder, each of them to one beside it.

    Parameters
    ----------
    found
        With everything in it.
    out
        The folder of all together; that of a decision has its name behind it, and each has a
        private one. A physician has one pseudonym in all of them.
    show_names, key, pairs_in_report, replace
        As for :func:`intravar.write_measurement`.

    Returns
    -------
    SeveralOutputs
        What was written for others, beside what each decision hands on.
    """
    source = next(iter(found.measurements.values())).check.source
    path = checked_out(out, found.request, source, replace=replace)
    folders = decision_folders(path, found.measurements)
    for name, measurement in found.measurements.items():
        checked_out(folders[name], measurement.request, source, replace=replace)
    listed = found.predicted.physician.cast(pl.String).to_list()
    pseudonyms = pseudonyms_of(listed, private_folder(path), key)
    private = key_files(pseudonyms) | {"README.txt": PRIVATE_NOTE.encode()}
    names = {name: name for name in listed} if show_names else pseudonyms.by_name
    alone = {
        name: write_measurement(
            measurement,
            folders[name],
            show_names=show_names,
            key=pseudonyms.key,
            pairs_in_report=pairs_in_report,
            replace=True,
        )
        for name, measurement in found.measurements.items()
    }
    shown = {name: folder.name for name, folder in folders.items()}
    outputs = several_outputs(found, names, alone, shown)
    public = _files(outputs)
    public[REQUEST] = found.request.to_toml(from_folder(source, path)).encode()
    write_folders(path, public, private)
    return outputs


def _files(outputs: SeveralOutputs) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    tables = {"joint": outputs.joint, "decisions": outputs.decisions, "pairs": outputs.pairs}
    for name, table in tables.items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.csv"] = safe_csv(table).encode()
    text = json.dumps(outputs.summary, indent=1, ensure_ascii=False, default=str)
    files[SEVERAL] = text.encode()
    return files | several_page(outputs)


def stored_several(folder: str | os.PathLike[str]) -> SeveralOutputs:
    """Read what several stored decisions hand on together."""
    path = Path(folder)
    try:
        tables = {
            name: pl.read_parquet(path / f"{name}.parquet")
            for name in ("joint", "decisions", "pairs")
        }
        return SeveralOutputs(**tables, summary=json.loads((path / SEVERAL).read_text("utf-8")))
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the measurement in '{path}' is damaged; measure again") from error


def several_page(outputs: SeveralOutputs) -> dict[str, bytes]:
    """Return the page of several decisions by its name."""
    return {PAGE: as_html(joint_document(outputs), outputs.words).encode()}
