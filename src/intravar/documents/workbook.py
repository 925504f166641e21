"""Write a document as a workbook, in which every text stays one: a sheet per table."""

from __future__ import annotations

import io
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from intravar.documents import blocks
from intravar.documents.typesetting import CREATED
from intravar.tables import Table, table_of

#: Width of columns, height of a line and lines of a row at the most; letters of a cell.
NARROWEST, WIDEST, LINE, MOST_LINES, LONGEST_CELL = 9, 60, 15, 12, 32_000
#: Widths of the two columns of the first sheet.
ASIDE, TEXT = 34, 100


def as_xlsx(document: blocks.Document) -> bytes:
    """Return a document as the content of an xlsx file."""
    import xlsxwriter

    buffer = io.BytesIO()
    kept = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, **dict.fromkeys(kept, False)})
    book.set_properties({"title": document.title, "created": CREATED})
    writer = _Writer(book)
    writer.summary(document)
    for table in blocks.tables(document):
        writer.table(table.on("workbook"))
    told = [
        (table.name, column.heading, column.meaning)
        for table in blocks.tables(document)
        for column in table.on("workbook").columns
        if column.meaning
    ]
    heads = [(head, 1, itemgetter(at)) for at, head in enumerate(("sheet", "column", "meaning"))]
    writer.table(table_of("Columns", "", told, heads))
    book.close()
    return buffer.getvalue()


class _Writer:
    """Writes sheets into a workbook."""

    def __init__(self, book: Any) -> None:
        self.book = book
        top = {"valign": "top", "text_wrap": True}
        self.head = book.add_format({"bold": True, "bottom": 1, "valign": "bottom"})
        self.strong = book.add_format({"bold": True, **top})
        self.title = book.add_format({"bold": True, "font_size": 16})
        self.text = book.add_format(top)
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
        free = plain and plain.lower() not in taken
        return self.book.add_worksheet(plain if free else f"Sheet {len(taken) + 1}")

    def summary(self, document: blocks.Document) -> None:
        """Write the text of a document on the first sheet."""
        sheet = self.sheet("Summary")
        sheet.write_string(0, 0, document.title[:LONGEST_CELL], self.title)
        sheet.write_string(1, 0, document.about[:LONGEST_CELL])
        sheet.set_column(0, 0, ASIDE)
        sheet.set_column(1, 1, TEXT)
        for down, (aside, text) in enumerate(blocks.text_lines(document.blocks), 3):
            sheet.write_string(down, 0, aside[:LONGEST_CELL], self.strong)
            sheet.write_string(down, 1, text[:LONGEST_CELL], self.text)
            sheet.set_row(down, _height([(aside, ASIDE), (text, TEXT)]))
        sheet.freeze_panes(2, 0)
        sheet.fit_to_pages(1, 0)

    def table(self, table: Table) -> None:
        """Write a table with filters, a note on every head and columns of their types."""
        sheet = self.sheet(table.name)
        widths = []
        for across, column in enumerate(table.columns):
            sheet.write_string(0, across, column.heading, self.head)
            if column.meaning:
                sheet.write_comment(0, across, column.meaning, {"x_scale": 1.6, "author": ""})
            texts = [row.cells[across].text for row in table.rows]
            longest = max(map(len, texts), default=0)
            widths.append(min(max(longest + 1, len(column.heading) + 4, NARROWEST), WIDEST))
            sheet.set_column(across, across, widths[-1])
        for down, row in enumerate(table.rows, 1):
            for across, cell in enumerate(row.cells):
                digits = table.columns[across].digits
                self.cell(sheet, (down, across), cell.value, cell.text, digits)
            texts = [cell.text for cell in row.cells]
            sheet.set_row(down, _height(list(zip(texts, widths, strict=True))))
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, max(len(table.rows), 1), len(table.columns) - 1)
        sheet.repeat_rows(0)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)

    def cell(
        self, sheet: Any, at: tuple[int, int], value: Any, text: str, digits: int | None
    ) -> None:
        """Write a value as what it is, else its text; what is missing stays empty."""
        if isinstance(value, bool):
            sheet.write_boolean(*at, value, self.text)
        elif isinstance(value, int | float):
            sheet.write_number(
                *at, value, self.number[0 if isinstance(value, int) else digits or 3]
            )
        elif text not in ("", "–"):
            sheet.write_string(*at, text[:LONGEST_CELL], self.text)


def _height(texts: Sequence[tuple[str, float]]) -> float:
    """Return the height of a row whose texts are wrapped, each in a column of its width."""
    lines = max(-(-len(text) // int(0.9 * width)) for text, width in texts)
    return LINE * max(1, min(lines, MOST_LINES))
