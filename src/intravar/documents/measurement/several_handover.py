"""From several decisions to folders: one of all together, and one of each beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import jinja2
import polars as pl

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.html import render_html
from intravar.documents.measurement.handover import (
    PAGE,
    REQUEST,
    damaged,
    from_folder,
    pseudonyms_of,
    write_measurement,
)
from intravar.documents.measurement.joint_register import JOINT_PICTURES
from intravar.documents.measurement.measurement_page import LOOKS
from intravar.documents.measurement.picture_register import pictures_of
from intravar.measurement.measure_several import SeveralMeasured
from intravar.publication.files import parquet_bytes, safe_csv
from intravar.publication.folders import SEVERAL, checked_out, private_folder, write_folders
from intravar.publication.pseudonyms import KEY_FILE
from intravar.publication.several_outputs import (
    NOT_SHOWN,
    SeveralOutputs,
    joint_lines,
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
    private = {KEY_FILE: pseudonyms.as_json().encode(), "README.txt": PRIVATE_NOTE.encode()}
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
    files[PAGE] = render_several(outputs).encode()
    return files


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
        raise damaged(path) from error


def stored_several_page(path: Path, outputs: SeveralOutputs) -> dict[str, bytes]:
    """Return the page of several stored decisions by its name."""
    try:
        return {PAGE: render_several(outputs).encode()}
    except (ValueError, KeyError, TypeError, AttributeError, jinja2.UndefinedError) as error:
        raise damaged(path) from error


def render_several(outputs: SeveralOutputs) -> str:
    """Return the page of several decisions; it shows what may be handed on and nothing else."""
    return render_html(
        "intravar.documents.measurement",
        "several",
        {
            "summary": outputs.summary,
            "lines": joint_lines(outputs.summary, outputs.words),
            "joint": outputs.joint.to_dicts(),
            "decisions": outputs.decisions.to_dicts(),
            "pictures": pictures_of(outputs, JOINT_PICTURES),
            "not_meant": NOT_MEANT,
            "not_shown": outputs.words.said(NOT_SHOWN),
        },
        filters={"number": _number, "page": _page_of, "label": outputs.words.label},
        looks=LOOKS,
        parts=("measurement", "several"),
        words=outputs.words,
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _page_of(folder: str) -> str:
    return f"../{folder}/{PAGE}"
