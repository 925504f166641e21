"""What a source must satisfy before anyone looks at its columns, and texts as they are meant."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import polars as pl

from intravar.errors import InputError, option

#: Characters that nobody sees: joiners, marks of direction, byte order marks, soft hyphens.
INVISIBLE = "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\ufeff"
#: What stands for a missing value in text.
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null", "None"),
    *(".", "\\N"),
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
#: Joiners shape Persian and Indian letters and join emoji; beside Latin letters nobody sees them.
_JOINERS = [
    (re.compile("([\\x00-\u024f])[\u200c\u200d]+"), r"\1"),
    (re.compile("[\u200c\u200d]+([\\x00-\u024f])"), r"\1"),
    (re.compile("^[\u200c\u200d]+|[\u200c\u200d]+$"), ""),
]
#: Texts without these need no cleaning, which takes long.
UNUSUAL = r"^\s|\s$|[^ -~]"
_BREAKS = re.compile(r"[\t\r\n\v\f]+")


def checked_shape(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the table if it has two columns and one row at least."""
    if table.width == 0:
        raise InputError(f"{name} is empty; give a table with a header and one row per decision")
    if table.width == 1:
        raise InputError(
            f"{name} has one column only ('{shortened(table.columns[0])}'); a table needs who "
            f"decided and the decision; is the separator right ({option('separator')})?"
        )
    if table.height == 0:
        raise InputError(f"{name} has a header but no rows; there is nothing to measure")
    return table


def checked_names(names: Sequence[str], name: str) -> None:
    """Refuse two columns of one name: nobody could say which of them is meant."""
    for column, times in Counter(names).items():
        if times > 1:
            raise InputError(f"{name} has two columns '{shortened(column)}'; rename one of them")


def is_plain(dtype: pl.DataType) -> bool:
    """Tell whether values of a type can be names: neither nested nor bytes nor durations."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration))


def checked_values(column: pl.Series, role: str, wanted: str) -> pl.Series:
    """Return a column that has a role if its values can be told apart, and some are there."""
    if not is_plain(column.dtype):
        raise InputError(f"column '{column.name}' ({role}) is {column.dtype}; {wanted}")
    if column.null_count() == len(column):
        raise InputError(f"column '{column.name}' ({role}) is missing in every row")
    return column


def shortened(text: str, longest: int = 60) -> str:
    """Return a text fit for one line of a message.

    Examples
    --------
    >>> shortened("a" * 100, longest=5)
    'aaaa…'
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def clean_name(name: str) -> str:
    r"""Return a name as it is meant: composed letters, nothing invisible, no spaces around it.

    Examples
    --------
    >>> clean_name("\ufeffpru\u0308fer ")
    'prüfer'
    """
    # First what nobody sees: it may stand between a letter and its accent.
    for joiner, kept in _JOINERS:
        name = joiner.sub(kept, name)
    return _BREAKS.sub(" ", unicodedata.normalize("NFC", _INVISIBLE.sub("", name))).strip()


def clean_texts(column: pl.Series) -> pl.Series:
    r"""Return a column of texts as they are meant; a text of spaces alone is missing.

    Two texts that look the same are the same: letters are composed, what nobody sees is gone.

    Examples
    --------
    >>> clean_texts(pl.Series("doctor", ["Ada ", "A\u200bda", " ", ""])).to_list()
    ['Ada', 'Ada', None, None]
    """
    if column.dtype != pl.String:
        return column
    cell = pl.col(column.name)
    unusual = column.str.contains(UNUSUAL).any()
    return column.to_frame().select(cleaned(cell) if unusual else empty_as_null(cell)).to_series()


def cleaned(cell: pl.Expr) -> pl.Expr:
    """Return texts without what nobody sees, see :func:`clean_texts`."""
    for joiner, kept in _JOINERS:
        cell = cell.str.replace_all(joiner.pattern, kept.replace("\\1", "${1}"))
    cell = cell.str.replace_all(_INVISIBLE.pattern, "").str.normalize("NFC")
    return empty_as_null(cell.str.replace_all(_BREAKS.pattern, " ").str.strip_chars())


def empty_as_null(cell: pl.Expr) -> pl.Expr:
    """Return texts of which empty ones are missing."""
    return pl.when(cell != "").then(cell)


def without_missing(column: pl.Series) -> pl.Series:
    """Return a column without the words that stand for a missing value.

    Examples
    --------
    >>> without_missing(pl.Series("age", ["NA", "50"])).to_list()
    [None, '50']
    """
    if column.dtype != pl.String:
        return column
    return column.to_frame().select(meant(pl.col(column.name))).to_series()


def meant(cell: pl.Expr) -> pl.Expr:
    """Return texts of which words that stand for a missing value are missing."""
    return pl.when(~cell.is_in(MISSING)).then(cell)


def first_line(error: BaseException) -> str:
    r"""Return what an error says, in one line.

    Examples
    --------
    >>> first_line(ValueError("no\nmore"))
    'no'
    """
    lines = str(error).strip().splitlines()
    return shortened(lines[0] if lines else type(error).__name__, 160)
