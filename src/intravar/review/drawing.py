"""Draw pairs for a blind review, and give them as a reviewer may see them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.errors import InputError, errors_in, option, unknown_name
from intravar.measurement.cases import as_text, typed
from intravar.preparation.decisions import physician_names
from intravar.publication.explain import measurement_folders
from intravar.request import Request
from intravar.review import store
from intravar.review.blinding import refuse_telling_columns, refuse_telling_names
from intravar.review.design import PAIRS, Design, DrawnPair, checked_size, draw_pairs
from intravar.sources import read_source
from intravar.text import clean_name

_KEPT = ("row", "physician", "decision")


@dataclass(frozen=True)
class Patient:
    """One of the two patients of a pair, as a reviewer sees them.

    Attributes
    ----------
    patient
        The id, or the row of the source.
    values
        What is recorded, and what else is shown, in the order of `ReviewPair.names`.
    """

    patient: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ReviewPair:
    """A pair as a reviewer may see it: no decision, no physician.

    Attributes
    ----------
    pair
        What it is called.
    names
        Of the values, the most important first.
    a, b
        The two patients.
    differs
        For every value, whether the two differ.
    reviewers
        Who is to review it.
    answers
        What reviewers said so far.
    """

    pair: str
    names: tuple[str, ...]
    a: Patient
    b: Patient
    differs: tuple[bool, ...]
    reviewers: tuple[str, ...]
    answers: dict[str, store.Answer]


def draw(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    pairs: int = PAIRS,
    more: int | None = None,
    reviewers: int = 1,
    twice: float | None = None,
    each: bool = False,
    show: Sequence[str] = (),
    source: Any = None,
    replace_drawn: bool = False,
) -> list[ReviewPair]:
    """Draw pairs for a blind review, and write the packet for the reviewers.

    Parameters
    ----------
    folder
        Of a measurement; the private folder beside it is read and keeps the design.
    out
        Folder of the packet; None writes none.
    pairs
        How many to draw.
    more
        How many to add to those drawn before, in the same design; nothing else is asked then.
    reviewers, twice
        How many people review, and the share of pairs that two of them do.
    each
        Whether every physician gets equally many pairs; by default the figure of all together is
        made as sharp as it can be.
    show
        Columns of the source that reviewers see besides the recorded values.
    source
        The table, if it was a frame in memory; by default the one that was measured.
    replace_drawn
        Whether pairs that have answers may be dropped for new ones.

    Returns
    -------
    list of ReviewPair
        All pairs, in the order of the packet.
    """
    from intravar.review.packet import checked_packet, write_packet

    opened = store.open_folder(folder)
    packet = None if out is None else checked_packet(out)
    with errors_in(opened.words), store.changing(opened.private) as stored:
        _refuse_nothing_to_review(opened)
        if more is None:
            _refuse_answered(stored, replace_drawn)
            share = checked_size(pairs, reviewers, twice)
            stored = store.Stored(Design((), each, reviewers, share, tuple(show)))
        design, n = store.drawn(stored), pairs if more is None else more
        if more is not None:
            checked_size(more, design.n_reviewers, design.twice)
        random = opened.random("review", f"{len(design.pairs)}+{n}")
        found = draw_pairs(opened.pairs, n, random, design)
        if len(found.pairs) == len(design.pairs):
            raise InputError(
                f"no more pairs can be added to the {len(found.pairs):,} that were drawn: of one "
                "kind, decided differently or alike, none are left"
            )
        called, shown = _told_besides(opened, found, source)
        new = replace(stored, design=found, called=called, shown=shown)
        made = pairs_of(opened, new)
        keep = partial(store.write_stored, opened.private, new)
        if packet is None:
            keep()
        else:
            write_packet(packet, made, found, opened, keep)
    return made


def _refuse_answered(stored: store.Stored, replace_drawn: bool) -> None:
    n = len({pair for given in stored.answers.values() for pair in given})
    if n and not replace_drawn:
        raise InputError(
            "{:,} pairs that were drawn before have answers; add to them with {}, or "
            "drop them with {}",
            n,
            option("more", "60"),
            option("replace"),
        )


def _refuse_nothing_to_review(opened: store.Folder) -> None:
    """Say why there are no pairs to review, and name the column that may be the cause."""
    pairs, words = opened.pairs, opened.words
    covariates = opened.patients.drop(_KEPT)
    decision = opened.patients["decision"].to_numpy() == 1
    refuse_telling_columns(covariates, decision, recorded=True)
    different = int(pairs["different"].sum())
    if 0 < different < pairs.height:
        return
    leaks = ", ".join(f"'{leak.column}'" for leak in opened.published.first.leaks)
    named = f"; does one of {leaks} tell the decision?" if leaks else ""
    found = "no two {cases}" if not pairs.height else "none of {n:,} pairs"
    if different:
        found = "all of {n:,} pairs"
    raise InputError(
        words.fill(
            f"there is nothing to review: {found} alike in the record of the same {{decider}} were "
            "decided differently{named}",
            n=pairs.height,
            named=named,
        )
    )


def _told_besides(
    opened: store.Folder, design: Design, source: Any
) -> tuple[dict[int, str], dict[int, tuple[str, ...]]]:
    """Return by row what patients are called and what else is shown, from the source."""
    request, patients = opened.published.request, opened.patients
    table = _source_of(opened.out) if source is None else source
    ids = [request.patient] if request.patient else []
    refused = {request.physician: "who decided", request.decision: "the decision"}
    for name in (*design.show, *ids):
        if name in refused or name in request.after:
            what = refused.get(name, "known only after the decision")
            raise InputError(f"column '{name}' is {what}; reviewers must not see it")
    if table is None and design.show:
        raise InputError(
            "the measured table was in memory; {} takes it from source=", option("show")
        )
    wanted = [] if table is None else list(dict.fromkeys([*design.show, *ids]))
    found = columns_of_source(table, request, patients, wanted) if wanted else pl.DataFrame()
    decision = patients["decision"].to_numpy() == 1
    names = patients["row"]
    if has_ids := bool(ids and wanted):
        names = found[ids[0]].cast(pl.String).fill_null("missing")
    refuse_telling_names(names, patients["physician"], decision)
    shown = found.select(design.show)
    refuse_telling_columns(shown, decision, recorded=False)
    _refuse_physician(shown, patients["physician"])
    at = patients["row"].is_in([row for pair in design.pairs for row in (pair.row_a, pair.row_b)])
    rows = patients["row"].filter(at).to_list()
    called = dict(zip(rows, names.filter(at).to_list(), strict=True)) if has_ids else {}
    if not design.show:
        return called, {}
    values = (tuple(map(as_text, line)) for line in shown.filter(at).iter_rows())
    return called, dict(zip(rows, values, strict=True))


def _refuse_physician(shown: pl.DataFrame, physician: pl.Series) -> None:
    """Refuse columns that are the same for all patients of a physician: they name them."""
    for column in shown:
        groups = pl.DataFrame({"value": column, "physician": physician}).group_by("physician")
        if column.n_unique() > 1 and groups.agg(pl.col("value").n_unique())["value"].max() == 1:
            raise InputError(
                "column '{name}' is the same for all {cases} of {a_decider}, so that it "
                "tells who decided; leave it out of {show}",
                name=column.name,
                show=option("show"),
            )


def pairs(folder: str | os.PathLike[str], reviewer: str | None = None) -> list[ReviewPair]:
    """Return the pairs that were drawn, with the values of both patients and answers so far.

    Parameters
    ----------
    folder
        Of the measurement.
    reviewer
        Whose pairs; by default all.
    """
    stored = store.read_stored(measurement_folders(folder)[1])
    if reviewer is not None and reviewer not in store.drawn(stored).reviewers:
        known = ", ".join(store.drawn(stored).reviewers)
        raise InputError(f"there is no reviewer '{reviewer}'; there are {known}")
    every = pairs_of(store.open_folder(folder), stored)
    return [each for each in every if reviewer is None or reviewer in each.reviewers]


def pairs_of(opened: store.Folder, stored: store.Stored) -> list[ReviewPair]:
    """Return drawn pairs as reviewers may see them."""
    design = store.drawn(stored)
    rows = [row for pair in design.pairs for row in (pair.row_a, pair.row_b)]
    patients = opened.patients.filter(pl.col("row").is_in(rows))
    columns = [name for name in patients.columns if name not in _KEPT]
    recorded = {
        line[0]: tuple(as_text(value) for value in line[1:])
        for line in patients.select("row", *columns).iter_rows()
    }
    label = opened.words.label
    names = tuple(label(name) for name in (*columns, *design.show))

    def patient(row: int) -> Patient:
        values = (*recorded[row], *stored.shown.get(row, ()))
        return Patient(stored.called.get(row, str(row)), values)

    def seen(pair: DrawnPair) -> ReviewPair:
        a, b = patient(pair.row_a), patient(pair.row_b)
        differs = tuple(one != two for one, two in zip(a.values, b.values, strict=True))
        given = {
            who: answers[pair.pair]
            for who, answers in stored.answers.items()
            if pair.pair in answers
        }
        return ReviewPair(pair.pair, names, a, b, differs, pair.reviewers, given)

    return [seen(pair) for pair in design.pairs]


# --- more of the source about the patients: their ids, and columns to show ---


def _source_of(out: Path) -> str | None:
    """Return where the table of a measurement lies; None where it was a frame."""
    try:
        source = tomllib.loads((out / "request.toml").read_text("utf-8")).get("source")
    except (OSError, ValueError) as error:
        raise InputError(f"'{out / 'request.toml'}' cannot be read; measure again") from error
    return source if source is None or "://" in source else str(out / source)


def columns_of_source(
    source: Any, request: Request, patients: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Return columns of the source for every patient who was kept, in the order of the patients.

    The source is read again, and every patient (row counted from 1, physician, decision,
    covariates) is compared with what is read: where a row holds something else now, nothing is
    shown, because it could be another patient's.
    """
    as_text = (request.physician, request.decision, *request.categorical)
    read = read_source(source, as_text=as_text, where=request.where, **request.reading)
    for name in columns:
        if name not in read.table.columns:
            raise unknown_name("column", name, read.table.columns, remedy="of the source")
    where = np.arange(read.table.height) if read.rows is None else read.rows
    rows = patients["row"].to_numpy() - 1
    if np.isin(rows, where).all():
        place = pl.Series(np.searchsorted(where, rows))
        names = physician_names(read.table[clean_name(request.physician)])[0].cast(pl.String)
        table = read.table[place]
        covariates = patients.drop(_KEPT).iter_columns()
        if names[place].eq_missing(patients["physician"]).all() and all(
            _unchanged(column, table) for column in covariates
        ):
            return table.select(columns)
    name = f"'{source}'" if isinstance(source, str | Path) else "the table"
    raise InputError(
        "{} is not what was measured: rows have changed; measure again, or leave {} and {} out",
        name,
        option("show"),
        option("patient"),
    )


def _unchanged(measured: pl.Series, table: pl.DataFrame) -> bool:
    """Tell whether a table still holds a column that was measured; others are not compared."""
    name = measured.name
    name = name if name in table.columns else name.removesuffix(" (covariate)")
    if name not in table.columns:
        return True
    kinds: dict[Any, str] = {pl.String: "category", pl.Date: "date"}
    again = typed(table[name], kinds.get(measured.dtype, "number"))
    return bool(again.cast(measured.dtype, strict=False).eq_missing(measured).all())
