"""Write a document as a workbook, in which every text stays one: a sheet per table."""

import io
from operator import itemgetter
from typing import Any

from intravar.documents import blocks
from intravar.documents.typesetting import CREATED
from intravar.tables import Table, table_of

#: Width of columns, and letters of a cell.
NARROWEST, WIDEST, LONGEST_CELL = 9, 60, 32_000
#: Widths of the two columns of the first sheet.
ASIDE, TEXT = 34, 100


def as_xlsx(document: blocks.Document) -> bytes:
    """Return a document as the content of an xlsx file."""
    import xlsxwriter

    buffer = io.BytesIO()
    kept = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    book = xlsxwriter.Workbook(buffer, {"in_memory": True, **dict.fromkeys(kept, False)})
    book.set_properties({"title": document.title, "created": CREATED})
    top = {"valign": "top", "text_wrap": True}
    strong, text = book.add_format({"bold": True, **top}), book.add_format(top)
    summary = _sheet(book, "Summary")
    title = book.add_format({"bold": True, "font_size": 16})
    summary.write_string(0, 0, document.title[:LONGEST_CELL], title)
    summary.write_string(1, 0, document.about[:LONGEST_CELL])
    summary.set_column(0, 0, ASIDE)
    summary.set_column(1, 1, TEXT)
    for down, (aside, line) in enumerate(blocks.text_lines(document.blocks), 3):
        summary.write_string(down, 0, aside[:LONGEST_CELL], strong)
        summary.write_string(down, 1, line[:LONGEST_CELL], text)
    summary.freeze_panes(2, 0)
    summary.fit_to_pages(1, 0)
    tables = [table.on("workbook") for table in blocks.tables(document)]
    every = ((table.name, column) for table in tables for column in table.columns)
    meanings = [(name, each.heading, each.meaning) for name, each in every if each.meaning]
    heads = [(head, 1, itemgetter(at)) for at, head in enumerate(("sheet", "column", "meaning"))]
    numbers = ["#,##0", *(f"0.{'0' * digits}" for digits in range(1, 7))]
    looks = [book.add_format({"num_format": form, "valign": "top"}) for form in numbers]
    head = book.add_format({"bold": True, "bottom": 1, "valign": "bottom"})
    for table in [*tables, table_of("Columns", "", meanings, heads)]:
        _add_table(_sheet(book, table.name), table, head, text, looks)
    book.close()
    return buffer.getvalue()


def _sheet(book: Any, name: str) -> Any:
    """Return a new sheet; names that a workbook does not take are changed."""
    plain = "".join(letter for letter in name if letter not in "[]:*?/\\'")[:31]
    taken = {each.get_name().lower() for each in book.worksheets()}
    free = plain and plain.lower() not in taken
    return book.add_worksheet(plain if free else f"Sheet {len(taken) + 1}")


def _add_table(sheet: Any, table: Table, head: Any, text: Any, looks: list[Any]) -> None:
    """Write a table with filters, a note on every head and columns of their types.

    A value is written as what it is, else its text; what is missing stays empty.
    """
    for across, column in enumerate(table.columns):
        sheet.write_string(0, across, column.heading, head)
        if column.meaning:
            sheet.write_comment(0, across, column.meaning, {"x_scale": 1.6, "author": ""})
        longest = max((len(row.cells[across].text) for row in table.rows), default=0)
        width = min(max(longest + 1, len(column.heading) + 4, NARROWEST), WIDEST)
        sheet.set_column(across, across, width)
        for down, row in enumerate(table.rows, 1):
            cell = row.cells[across]
            if isinstance(cell.value, bool):
                sheet.write_boolean(down, across, cell.value, text)
            elif isinstance(cell.value, int | float):
                digits = 0 if isinstance(cell.value, int) else column.digits or 3
                sheet.write_number(down, across, cell.value, looks[digits])
            elif cell.text not in ("", "–"):
                sheet.write_string(down, across, cell.text[:LONGEST_CELL], text)
    sheet.freeze_panes(1, 1)
    sheet.autofilter(0, 0, max(len(table.rows), 1), len(table.columns) - 1)
    sheet.repeat_rows(0)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
