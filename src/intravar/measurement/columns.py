"""The columns of a result, each declared once.

The table in memory, the files, the page, the terminal, the documents and the tests all read this
list. A new column is an entry here and its computation: as one of the :class:`Scores`, or in the
evidence of a method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

#: When a column is shown in what is handed on: with every physician whose counts are not small;
#: only with a reportable one; only where those who are not eligible are not few either; only where
#: no small count follows from how many were decided for; only where neither contradictions nor
#: agreements on cases seen twice are few; or only where neither close calls nor others are few.
Shown = Literal["always", "reportable", "others", "rates", "repeats", "close"]


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result.

    Attributes
    ----------
    name, dtype
        In files and frames; a physician's id keeps the type that it came with.
    digits
        To which it is rounded where it is handed on, and shown; None for what is not a fraction.
    heading, words
        Over it in a table, and what it means in a line: templates for
        :meth:`intravar.wording.Words.fill`.
    shown
        When it is handed on.
    """

    name: str
    dtype: type[pl.DataType]
    digits: int | None
    heading: str
    words: str
    shown: Shown = "reportable"

    def text(self, value: Any) -> str:
        """Write a value for a reader.

        Examples
        --------
        >>> by_name("discordance").text(0.18249)
        '0.182'
        >>> by_name("n_patients").text(None)
        '–'
        """
        if value is None:
            return "–"
        if self.digits is not None:
            return f"{value:.{self.digits}f}"
        return f"{value:,}" if isinstance(value, int) else str(value)


COLUMNS = (
    ResultColumn(
        "physician",
        pl.String,
        None,
        "{decider}",
        "who decided; a pseudonym in what is handed on",
        "always",
    ),
    ResultColumn("n_patients", pl.Int64, None, "{cases}", "{cases} of the {decider}", "always"),
    ResultColumn(
        "discordance",
        pl.Float64,
        3,
        "discordance",
        "probability that two comparable {cases} get different decisions",
    ),
    ResultColumn(
        "band",
        pl.String,
        None,
        "band",
        "where it lies, when an exact value could reveal small numbers of {cases}",
        "always",
    ),
    ResultColumn("low", pl.Float64, 3, "low", "lower end of its 95 % interval"),
    ResultColumn("high", pl.Float64, 3, "high", "upper end of its 95 % interval"),
    ResultColumn(
        "shrunken",
        pl.Float64,
        3,
        "shrunken",
        "pulled towards the average, more so with few {cases}",
    ),
    ResultColumn(
        "identified_low",
        pl.Float64,
        3,
        "level from",
        "lowest level that fits the data as well, where levels differ in that",
    ),
    ResultColumn("identified_high", pl.Float64, 3, "level to", "highest level that fits as well"),
    ResultColumn("rate", pl.Float64, 3, "rate", "share of the {cases} {decided_for}", "rates"),
    ResultColumn(
        "explained",
        pl.Float64,
        2,
        "explained",
        "share of how the decisions vary that is explained by what is recorded",
        "rates",
    ),
    ResultColumn("explained_low", pl.Float64, 2, "low", "lower end of its 95 % interval", "rates"),
    ResultColumn(
        "explained_high", pl.Float64, 2, "high", "upper end of its 95 % interval", "rates"
    ),
    ResultColumn(
        "in_close_calls",
        pl.Float64,
        2,
        "in close calls",
        "share of the discordance that lies in {cases} that could be decided either way",
        "close",
    ),
    ResultColumn("p_high", pl.Float64, 3, "p high", "how often eligible {cases} are {decided_for}"),
    ResultColumn(
        "p_low", pl.Float64, 3, "p low", "how often the other {cases} are {decided_for}", "others"
    ),
    ResultColumn("discrimination", pl.Float64, 3, "discrimination", "p_high less p_low", "others"),
    ResultColumn(
        "expected",
        pl.Float64,
        3,
        "expected",
        "what the average colleague would score on the same {cases}",
    ),
    ResultColumn(
        "gain",
        pl.Float64,
        3,
        "own rule",
        "how much better the {decider_own} own rule predicts than that of all, in nats a {case}",
    ),
    ResultColumn(
        "contradiction",
        pl.Float64,
        2,
        "contradiction",
        "share of cases seen twice that were decided differently the second time",
        "repeats",
    ),
    ResultColumn(
        "contradiction_low", pl.Float64, 2, "low", "lower end of its 95 % interval", "repeats"
    ),
    ResultColumn(
        "contradiction_high", pl.Float64, 2, "high", "upper end of its 95 % interval", "repeats"
    ),
    ResultColumn("n_repeats", pl.Int64, None, "seen twice", "cases seen twice, to tens", "repeats"),
    ResultColumn(
        "n_pairs", pl.Int64, None, "pairs", "pairs of comparable {cases} behind it", "always"
    ),
    ResultColumn(
        "reliability",
        pl.Float64,
        3,
        "reliability",
        "share of the score's variance that is real difference between {deciders}",
        "always",
    ),
    ResultColumn(
        "rank", pl.Float64, 1, "rank", "expected rank; 1 is the most consistent {decider}"
    ),
    ResultColumn("rank_low", pl.Int64, None, "rank low", "lower end of the rank's interval"),
    ResultColumn("rank_high", pl.Int64, None, "rank high", "upper end of the rank's interval"),
    ResultColumn(
        "reportable",
        pl.Boolean,
        None,
        "reportable",
        "whether a number, or a range of levels, may stand",
        "always",
    ),
    ResultColumn(
        "reason", pl.String, None, "reason", "why there is no number, or no rank", "always"
    ),
)
_BY_NAME = {column.name: column for column in COLUMNS}


def by_name(name: str) -> ResultColumn:
    """Return a column of the result."""
    return _BY_NAME[name]


def typed(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with all columns of a result, in order; missing where nothing is given.

    Examples
    --------
    >>> typed({"physician": ["Ada"], "discordance": [0.2]}).row(0)[:4]
    ('Ada', None, 0.2, None)
    """
    physician = pl.Series("physician", columns["physician"])
    found = []
    for column in COLUMNS[1:]:
        values = columns.get(column.name)
        if values is None:
            found.append(pl.Series(column.name, [None] * len(physician), column.dtype))
            continue
        series = pl.Series(column.name, values, nan_to_null=True)
        if series.dtype.is_float() and not isinstance(values, np.ndarray):
            series = series.fill_nan(None)
        found.append(series.cast(column.dtype))
    return pl.DataFrame([physician, *found])


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Round every column to the digits that are shown."""
    return table.with_columns(
        pl.col(column.name).round(column.digits) for column in COLUMNS if column.digits is not None
    )
