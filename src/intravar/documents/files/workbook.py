"""A measurement as a workbook: typed columns, what they mean, and the request.

Every text is written as a text. Nothing in the workbook is a formula or a link.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intravar.documents.caveats import NOT_MEANT
from intravar.documents.files.measurement_document import told_of_all
from intravar.measurement.columns import COLUMNS
from intravar.measurement.sentences import SUPPORTS
from intravar.publication.outputs import Outputs
from intravar.wording import Words

#: Nobody's clock: the same measurement gives the same file.
CREATED = datetime.datetime(2000, 1, 1)
#: A spreadsheet takes no longer text.
LONGEST_CELL = 32_767
#: Widths of columns, in letters.
NARROWEST, WIDEST = 10, 60
#: Points of a line, and lines of a cell that are shown at once.
LINE, MOST_LINES = 15.0, 10
_HEADINGS = {
    "low": "low (95 %)",
    "high": "high (95 %)",
    "contradiction_low": "contradiction low",
    "contradiction_high": "contradiction high",
}
_STRATA_COLUMNS = {
    "stratum": ("stratum", "a value of the column, or a period"),
    "rate": ("decided for", "share of patients decided for"),
    "discordance": ("discordance", "of 1 pair of comparable patients in it, as it is"),
    "low": ("low (95 %)", "of the discordance as it is"),
    "high": ("high (95 %)", "of the discordance as it is"),
    "alike": ("patients alike", "as if as many were indicated everywhere"),
    "alike_low": ("alike low (95 %)", "of the discordance on patients alike"),
    "alike_high": ("alike high (95 %)", "of the discordance on patients alike"),
}
_METHOD_COLUMNS = {
    "method": "which method",
    "physician": "who decided; a pseudonym in what is handed on",
    "score": "discordance, or the method's own scale",
    "scale": "what the method measures",
    "n_pairs": "pairs of comparable patients behind it",
    "reason": "why there is no score",
}


def workbook(outputs: Outputs) -> bytes:
    """Return a measurement as the content of an xlsx file.

    Parameters
    ----------
    outputs
        What may be handed on; the workbook holds nothing else.
    """
    buffer = io.BytesIO()
    writer = new_workbook(buffer, outputs.words)
    words = outputs.words
    _summary_sheet(writer, outputs)
    writer.table(_capital(words.deciders), *_physicians(outputs, words))
    if outputs.methods is not None:
        heads = {
            name: (words.said(name), words.said(told), None)
            for name, told in _METHOD_COLUMNS.items()
        }
        writer.table("Methods", outputs.methods, heads)
    _strata_sheets(writer, outputs)
    _rule_sheets(writer, outputs)
    writer.table("Data", *_data(outputs, words))
    _notes_sheet(writer, outputs)
    writer.table("Request", *request_rows(outputs.summary))
    writer.book.close()
    return buffer.getvalue()


def new_workbook(buffer: io.BytesIO, words: Words) -> SheetWriter:
    """Return a writer into an empty workbook, in which every text is a text."""
    import xlsxwriter

    book = xlsxwriter.Workbook(
        buffer,
        {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        },
    )
    book.set_properties({"title": words.title or "intravar", "created": CREATED})
    return SheetWriter(book, words)


#: By column what stands over it, what it means, and its digits.
Heads = Mapping[str, tuple[str, str, int | None]]


class SheetWriter:
    """Writes sheets that begin with a frozen row of heads."""

    def __init__(self, book: Any, words: Words) -> None:
        self.book = book
        self.words = words
        top = {"valign": "top", "text_wrap": True}
        self.head = book.add_format({"bold": True, "bottom": 1, "valign": "bottom"})
        self.strong = book.add_format({"bold": True, **top})
        self.title = book.add_format({"bold": True, "font_size": 16})
        self.text = book.add_format(top)
        self.beside = {
            kind: book.add_format({"num_format": form, "align": "left"})
            for kind, form in ((int, "#,##0"), (float, "0.00"))
        }
        self.number = {
            digits: book.add_format(
                {"num_format": "#,##0" if not digits else f"0.{'0' * digits}", "valign": "top"}
            )
            for digits in range(7)
        }

    def sheet(self, name: str) -> Any:
        """Return a new sheet; names that a workbook does not take are changed."""
        plain = "".join(letter for letter in name if letter not in "[]:*?/\\'")[:31]
        taken = {each.get_name().lower() for each in self.book.worksheets()}
        return self.book.add_worksheet(
            plain if plain and plain.lower() not in taken else f"Sheet {len(taken) + 1}"
        )

    def table(self, name: str, table: pl.DataFrame, heads: Heads) -> None:
        """Write a table with filters, a note on every head and columns of their types."""
        sheet = self.sheet(name)
        widths = []
        for across, column in enumerate(table.columns):
            head, meaning, digits = heads.get(column, (column, "", None))
            sheet.write_string(0, across, head, self.head)
            if meaning:
                sheet.write_comment(0, across, meaning, {"x_scale": 1.6, "author": ""})
            values = table[column].to_list()
            longest = max((len(value) for value in values if isinstance(value, str)), default=0)
            widths.append(min(max(longest + 1, len(head) + 4, NARROWEST), WIDEST))
            sheet.set_column(across, across, widths[-1])
            for down, value in enumerate(values, 1):
                self.cell(sheet, down, across, value, digits)
        for down, row in enumerate(table.iter_rows(), 1):
            sheet.set_row(down, _height(list(zip(map(str, row), widths, strict=True))))
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, max(table.height, 1), table.width - 1)
        sheet.repeat_rows(0)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)

    def cell(self, sheet: Any, down: int, across: int, value: Any, digits: int | None) -> None:
        """Write a value as what it is; what is missing stays empty."""
        if isinstance(value, bool):
            sheet.write_boolean(down, across, value, self.text)
        elif isinstance(value, int | float):
            whole = isinstance(value, int)
            sheet.write_number(down, across, value, self.number[0 if whole else digits or 3])
        elif value is not None:
            sheet.write_string(down, across, str(value)[:LONGEST_CELL], self.text)


def _height(texts: Sequence[tuple[str, float]]) -> float:
    """Return the height of a row whose texts are wrapped, each in a column of its width."""
    lines = max(-(-len(text) // int(0.9 * width)) for text, width in texts)
    return LINE * max(1, min(lines, MOST_LINES))


def _capital(word: str) -> str:
    return f"{word[0].upper()}{word[1:]}"


def _summary_sheet(writer: SheetWriter, outputs: Outputs) -> None:
    summary, words = outputs.summary, writer.words
    verdict = str(summary["verdict"])
    lines: list[tuple[str, Any]] = [
        ("verdict", verdict),
        ("why", "; ".join(summary["verdict_reasons"])),
        ("what may be read", words.said(SUPPORTS.get(verdict, ""))),
        *(("the group", line) for line in told_of_all(outputs)),
        *_group_numbers(summary["group"]),
        (words.said("physicians"), summary["n_physicians"]),
        (words.said("physicians that can be reported"), summary["n_reportable"]),
        *([("bands", summary["banded"])] if summary["banded"] else ()),
        (words.said("patients of those whose panel is shown"), summary["n_patients_shown"]),
        *(("not meant", words.said(line)) for line in NOT_MEANT),
        *(("warning", line) for line in summary["warnings"]),
        ("made by", f"intravar {summary['version']}"),
    ]
    write_lines(writer, "Summary", lines)


def write_lines(writer: SheetWriter, name: str, lines: Sequence[tuple[str, Any]]) -> None:
    """Write a sheet of lines, each with what it is."""
    sheet = writer.sheet(name)
    title = writer.words.title or "How consistently do they decide?"
    sheet.write_string(0, 0, title, writer.title)
    sheet.set_column(0, 0, 40)
    sheet.set_column(1, 1, 90)
    for down, (name, value) in enumerate(lines, 2):
        sheet.write_string(down, 0, name, writer.strong)
        sheet.set_row(down, _height([(name, 40), (str(value), 90)]))
        if type(value) in writer.beside:
            sheet.write_number(down, 1, value, writer.beside[type(value)])
        else:
            writer.cell(sheet, down, 1, value, None)
    sheet.freeze_panes(2, 0)
    sheet.fit_to_pages(1, 0)


def _group_numbers(group: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    if group is None:
        return []
    told = {
        "discordance": "discordance of all",
        "low": "discordance of all, low (95 %)",
        "high": "discordance of all, high (95 %)",
        "spread": "spread between them (SD)",
        "spread_low": "spread between them, low (95 %)",
        "spread_high": "spread between them, high (95 %)",
        "differences": "whether they differ",
    }
    explained = (group.get("explained") or {}).get("value")
    return [
        *((head, group[name]) for name, head in told.items() if group.get(name) is not None),
        *([] if explained is None else [("share of decisions explained by the record", explained)]),
    ]


def _physicians(outputs: Outputs, words: Words) -> tuple[pl.DataFrame, Heads]:
    table = outputs.physicians
    filled = [name for name in table.columns if table[name].null_count() < table.height]
    exact = outputs.checks["smallest_cell"] <= 1
    heads = {
        column.name: (
            words.said(_HEADINGS.get(column.name, column.heading)),
            words.said(column.words),
            6 if exact and column.digits else column.digits,
        )
        for column in COLUMNS
    }
    return table.select(name for name in table.columns if name in {*filled, "discordance"}), heads


def _strata_sheets(writer: SheetWriter, outputs: Outputs) -> None:
    """Write subgroups and periods of all together, and of single physicians."""
    words = writer.words
    for title, part in (("Subgroups", "by"), ("Periods", "course")):
        told = outputs.summary.get(part)
        if told and told["strata"]:
            rows = [{name: row[name] for name in _STRATA_COLUMNS} for row in told["strata"]]
            heads: Heads = {
                name: (head, words.said(meaning), 2)
                for name, (head, meaning) in _STRATA_COLUMNS.items()
            }
            types = {
                name: pl.String if name == "stratum" else pl.Float64 for name in _STRATA_COLUMNS
            }
            writer.table(title, pl.DataFrame(rows, schema=types), heads)
    for title, table in (("Strata", outputs.strata), ("Changes", outputs.changes)):
        if table is not None:
            shown: Heads = {
                name: (words.said(name.replace("_", " ")), "", 3) for name in table.columns
            }
            writer.table(title, table, shown)


def _rule_sheets(writer: SheetWriter, outputs: Outputs) -> None:
    rule, words = outputs.summary["rule"], writer.words
    if rule["importance"]:
        rows = [
            {"covariate": words.label(row["covariate"]), "importance": row["importance"]}
            for row in rule["importance"]
        ]
        meaning = "how much worse decisions are predicted when its values are shuffled (AUC)"
        heads: Heads = {"importance": ("importance", meaning, 3)}
        writer.table("Rule", pl.DataFrame(rows), heads)
    own = outputs.summary.get("own_rules") or []
    if own:
        told = [row | {"covariate": words.label(row["covariate"])} for row in own]
        meaning = words.said("how the physician weighs the covariate, beside the others")
        heads = {
            "physician": (words.decider, "", None),
            "how": ("weighs it", meaning, None),
        }
        writer.table("Own rules", pl.DataFrame(told), heads)


def _data(outputs: Outputs, words: Words) -> tuple[pl.DataFrame, Heads]:
    columns = ("column", "use", "kind", "missing", "distinct", "note")
    rows = [
        {name: None if row[name] is None else str(row[name]) for name in columns}
        | {"use": words.said(row["use"])}
        for row in outputs.checks["columns"]
    ]
    heads: Heads = {
        "distinct": ("distinct", "different values, up to 100", None),
        "missing": ("missing", words.said("patients without a value"), None),
    }
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)), heads


def _notes_sheet(writer: SheetWriter, outputs: Outputs) -> None:
    said = writer.words.said
    rows = [
        (said(_HEADINGS.get(column.name, column.heading)), column.name, said(column.words))
        for column in COLUMNS
        if column.name in outputs.physicians.columns
    ]
    table = pl.DataFrame(
        rows, schema=["column", "in physicians.csv", "what it means"], orient="row"
    )
    writer.table("Notes", table, {})


def request_rows(summary: Mapping[str, Any]) -> tuple[pl.DataFrame, Heads]:
    """Return what was asked for, a row each."""
    rows = [("", "source", str(summary["source"])), *_method(summary)]
    for section, values in summary["request"].items():
        rows += [(section, name, _plain(value)) for name, value in values.items()]
    return pl.DataFrame(rows, schema=["section", "asked", "value"], orient="row"), {}


def _method(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [("", "method used", str(summary["method"]))] if "method" in summary else []


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={label}" for name, label in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
