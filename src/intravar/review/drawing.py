"""Draw pairs for a blind review, and give them as a reviewer may see them.

What would tell a reviewer the decision, or the physician, is refused.
"""

import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from intravar.arrays import BoolArray
from intravar.errors import InputError, errors_in, option, unknown_name
from intravar.measurement.cases import as_text, typed
from intravar.preparation.decisions import physician_names
from intravar.publication.files import measurement_folders
from intravar.request import Request
from intravar.review import store
from intravar.review.design import PAIRS, checked_size, draw_pairs
from intravar.sources import read_source
from intravar.text import clean_name

_KEPT = ("row", "physician", "decision")
#: From here on (area under the curve, 0.5 is chance) a value tells the decision.
VALUE_TELLS = 0.95
#: The same for what patients are called, which should tell nothing at all.
NAME_TELLS = 0.65
#: Fewer patients of one of the two decisions show nothing.
FEWEST = 15


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
    with errors_in(opened.published.words), store.changing(opened.private) as stored:
        _refuse_nothing_to_review(opened)
        n_answered = len({pair for given in stored.answers.values() for pair in given})
        if more is not None:
            stored.refuse_undrawn()
            checked_size(more, stored.n_reviewers, stored.twice)
        elif n_answered and not replace_drawn:
            raise InputError(
                f"{n_answered:,} pairs that were drawn before have answers; add to them with "
                f"{option('more', '60')}, or drop them with {option('replace')}"
            )
        else:
            share = checked_size(pairs, reviewers, twice)
            stored = store.Stored(each=each, n_reviewers=reviewers, twice=share, show=tuple(show))
        n = pairs if more is None else more
        random = opened.random("review", f"{len(stored.pairs)}+{n}")
        sample = with_patients(opened, draw_pairs(opened.pairs, n, random, stored), source)
        drawn = pairs_of(sample)
        keep = partial(store.write_stored, opened.private, sample)
        if packet is None:
            keep()
        else:
            write_packet(packet, drawn, sample, opened, keep)
    return drawn


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
    stored.refuse_undrawn()
    if reviewer is not None and reviewer not in stored.reviewers:
        known = ", ".join(stored.reviewers)
        raise InputError(f"there is no reviewer '{reviewer}'; there are {known}")
    return [each for each in pairs_of(stored) if reviewer is None or reviewer in each.reviewers]


def pairs_of(stored: store.Stored) -> list[ReviewPair]:
    """Return drawn pairs as reviewers may see them."""

    def shown(drawn: store.DrawnPair) -> ReviewPair:
        (a, *one), (b, *two) = (stored.patients[str(row)] for row in (drawn.row_a, drawn.row_b))
        given = {who: each.get(drawn.pair) for who, each in stored.answers.items()}
        return ReviewPair(
            drawn.pair,
            tuple(stored.names),
            Patient(a, tuple(one)),
            Patient(b, tuple(two)),
            tuple(x != y for x, y in zip(one, two, strict=True)),
            tuple(drawn.reviewers),
            {who: answer for who, answer in given.items() if answer is not None},
        )

    return [shown(drawn) for drawn in stored.pairs]


def _refuse_nothing_to_review(opened: store.Folder) -> None:
    """Say why there are no pairs to review, and name the column that may be the cause."""
    pairs, words = opened.pairs, opened.published.words
    decision = opened.patients["decision"].to_numpy() == 1
    _refuse_telling(opened.patients.drop(_KEPT), decision, recorded=True)
    different = int(pairs["different"].sum())
    if 0 < different < pairs.height:
        return
    leaks = ", ".join(f"'{column}'" for column in opened.published.first.check.leaks)
    raise InputError(
        words.fill(
            "there is nothing to review: {different:,} of {n:,} pairs alike in the record of the "
            "same {decider} were decided differently{named}",
            different=different,
            n=pairs.height,
            named=f"; does one of {leaks} tell the decision?" if leaks else "",
        )
    )


def with_patients(opened: store.Folder, sample: store.Stored, source: Any = None) -> store.Stored:
    """Add what reviewers see of the patients: what they are called, recorded values, and others.

    Names and other values come from the source; what would tell the decision is refused.
    """
    request, patients = opened.published.request, opened.patients
    ids = [request.patient] if request.patient else []
    wanted = list(dict.fromkeys([*sample.show, *ids]))
    refused = dict.fromkeys(request.after, "known only after the decision")
    refused |= {request.physician: "who decided", request.decision: "the decision"}
    for name in wanted:
        if name in refused:
            raise InputError(f"column '{name}' is {refused[name]}; reviewers must not see it")
    if source is None and wanted:
        source = _measured_source(opened.out / "request.toml", wanted)
    if source is None and sample.show:
        raise InputError(
            f"request.toml does not name the measured table; {option('show')} takes it from source="
        )
    columns, names = pl.DataFrame(), patients["row"]  # rows stand for the ids of a frame in memory
    if source is not None and wanted:
        columns = columns_of_source(source, request, patients, wanted)
        names = columns[ids[0]].cast(pl.String).fill_null("missing") if ids else names
    decision = patients["decision"].to_numpy() == 1
    _refuse_telling_names(names, patients["physician"], decision)
    visible = columns.select(sample.show)
    _refuse_telling(visible, decision, recorded=False)
    _refuse_physician(visible, patients["physician"])
    values = [*patients.drop(_KEPT).iter_columns(), *visible.iter_columns()]
    row, drawn = patients["row"], {r for pair in sample.pairs for r in (pair.row_a, pair.row_b)}
    return replace(
        sample,
        names=[opened.published.words.label(column.name) for column in values],
        patients={
            str(row[at]): [str(names[at]), *(as_text(column[at]) for column in values)]
            for at in row.is_in(drawn).arg_true()
        },
    )


def _measured_source(file: Path, wanted: Sequence[str]) -> str | None:
    """Return the table that was measured, which has some columns; None if it was a frame."""
    try:
        source = tomllib.loads(file.read_text("utf-8")).get("source")
    except (OSError, ValueError) as error:
        columns = ", ".join(f"'{name}'" for name in wanted)
        raise InputError(
            f"'{file}' cannot be read: it says which table has {columns}; restore it, or measure "
            "again"
        ) from error
    return source if source is None or "://" in str(source) else str(file.parent / str(source))


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
    rows = patients["row"].to_numpy() - 1
    if np.isin(rows, read.rows).all():
        place = pl.Series(np.searchsorted(read.rows, rows))
        names = physician_names(read.table[clean_name(request.physician)])[0].cast(pl.String)
        table, covariates = read.table[place], patients.drop(_KEPT).iter_columns()
        if names[place].eq_missing(patients["physician"]).all() and all(
            _unchanged(column, table) for column in covariates
        ):
            return table.select(columns)
    what = f"'{source}'" if isinstance(source, str | Path) else "the table"
    raise InputError(
        f"{what} is not what was measured: rows have changed; measure again, or leave "
        f"{option('show')} and {option('patient')} out"
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


def strength(values: pl.Series, decision: BoolArray) -> float:
    """Return how well a column tells the decision: 0.5 not at all, 1 always.

    A tree that knows the column alone is learned from one half of the patients and tried on the
    other. Missing values count as a value.

    Examples
    --------
    >>> import numpy as np
    >>> yes = np.arange(200) % 2 == 0
    >>> strength(pl.Series(yes.astype(float)), yes)
    1.0
    """
    if min(decision.sum(), (~decision).sum()) < FEWEST:
        return 0.5
    order = values.rank("dense").fill_null(0).to_numpy()[:, None]
    fewest = max(2, len(decision) // 200)
    tree = DecisionTreeClassifier(max_leaf_nodes=50, min_samples_leaf=fewest, random_state=0)
    halves = StratifiedKFold(2, shuffle=True, random_state=0)
    chance = cross_val_predict(tree, order, decision, cv=halves, method="predict_proba")
    return float(roc_auc_score(decision, chance[:, 1]))


def _refuse_telling(table: pl.DataFrame, decision: BoolArray, *, recorded: bool) -> None:
    """Refuse columns from which a reviewer could read the decision.

    Patients were compared by columns that are `recorded`; others were asked for to be shown.
    """
    for column in table:
        if strength(column, decision) >= VALUE_TELLS:
            remedy = f"leave it out of {option('show')}"
            if recorded:
                remedy = f"measure again without it: {option('exclude', column.name)}"
            raise InputError(
                f"column '{column.name}' tells the decision nearly always; a reviewer who sees it "
                f"is not blind, and pairs that agree in it are decided alike; {remedy}"
            )


def _refuse_physician(visible: pl.DataFrame, physician: pl.Series) -> None:
    """Refuse columns that are the same for all patients of a physician: they name them."""
    for column in visible:
        groups = pl.DataFrame({"value": column, "physician": physician}).group_by("physician")
        if column.n_unique() > 1 and groups.agg(pl.col("value").n_unique())["value"].max() == 1:
            raise InputError(
                "column '{name}' is the same for all {cases} of {a_decider}, so that it "
                "tells who decided; leave it out of {show}",
                name=column.name,
                show=option("show"),
            )


def _refuse_telling_names(names: pl.Series, physician: pl.Series, decision: BoolArray) -> None:
    """Refuse what patients are called where it tells how they were decided.

    Names are ids, or rows of the source: in a table sorted by the decision, the rows tell it.
    """
    if all(strength(each, decision) < NAME_TELLS for each in _features(names, physician)):
        return
    what = f"the ids in column '{names.name}'"
    remedy = f"name another column with {option('patient')}"
    if names.dtype.is_integer():
        what = "the rows of the table"
        remedy = f"put the rows into a random order, or name ids with {option('patient')},"
    raise InputError(
        f"{what} tell the decision (sorted by it, or made from it?), so that a reviewer would not "
        f"be blind; {remedy} and measure again"
    )


def _features(names: pl.Series, physician: pl.Series) -> Iterator[pl.Series]:
    """Give what can be seen of a name: its place in the order, its length, its ends."""
    text = names.cast(pl.String)
    number = names.cast(pl.Float64, strict=False)
    place = pl.col("order").rank().over("physician") / pl.len().over("physician")
    for order in (number, text.rank("dense"))[number.null_count() > 0 :]:
        yield pl.DataFrame({"order": order, "physician": physician}).select(place)["order"]
        yield order
    if not names.dtype.is_integer():
        yield from (text.str.len_chars(), text.str.head(1), text.str.head(2), text.str.tail(1))
