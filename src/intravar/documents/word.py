"""Write a document as a text to edit, by python-docx: headings are styles, charts have words."""

import io
import zipfile
from collections.abc import Sequence
from typing import Any

from intravar.documents import blocks
from intravar.documents.colours import LOOKS, key_mark, on_paper
from intravar.documents.typesetting import CREATED, drawn
from intravar.errors import printable
from intravar.tables import Table

#: Centimetres between the margins.
TEXT_WIDTH = 17.0


def as_docx(document: blocks.Document) -> bytes:
    """Return a document as the content of a docx file."""
    import docx
    from docx.shared import Cm, Pt, RGBColor

    file = docx.Document()
    core = file.core_properties
    core.title, core.author, core.comments = printable(document.title), "", ""
    core.created = core.modified = CREATED
    section = file.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    for side in ("left_margin", "right_margin", "top_margin", "bottom_margin"):
        setattr(section, side, Cm(2))
    file.styles["Normal"].font.size = Pt(10.5)
    caption = file.styles["Caption"].font
    caption.size, caption.bold, caption.color.rgb = Pt(9), False, RGBColor(0x56, 0x56, 0x5C)
    file.add_heading(printable(document.title), level=0)
    file.add_paragraph(printable(document.about), style="Subtitle")
    _add(file, document.blocks)
    dated, undated = io.BytesIO(), io.BytesIO()  # the same measurement gives the same file
    file.save(dated)
    with zipfile.ZipFile(dated) as old, zipfile.ZipFile(undated, "w") as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name), zipfile.ZIP_DEFLATED)
    return undated.getvalue()


def _add(file: Any, listed: Sequence[blocks.Block]) -> None:
    for block in listed:
        if isinstance(block, blocks.Heading):
            file.add_heading(printable(block.text), level=block.level)
        elif isinstance(block, Table):
            _add_table(file, block.on("paper"))
        elif isinstance(block, blocks.Figure):
            _add_figure(file, block)
        elif isinstance(block, blocks.SideBySide):
            _add(file, block.blocks)
        elif isinstance(block, blocks.Section):
            if block.look == "appendix":
                file.add_page_break()
            level = 2 if block.look in ("card", "wide") else 1
            _add(file, [blocks.Heading(block.title, level), *block.blocks])
        else:
            numbered = getattr(block, "numbered", None)
            style = {True: "List Number", False: "List Bullet", None: None}[numbered]
            for aside, text in blocks.lines_of(block):
                line = file.add_paragraph(style=style)
                line.add_run(printable(f"{aside} ".lstrip())).bold = True
                line.add_run(printable(text))


def _add_table(file: Any, part: Table) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Cm, Pt

    if not part.columns or not part.rows:  # a row without cells is no row of a text
        return
    if part.caption:
        caption = file.add_paragraph(printable(part.caption), style="Caption")
        caption.paragraph_format.keep_with_next = True
    table = file.add_table(rows=0, cols=len(part.columns))
    table.style = "Light Shading Accent 1"
    table.autofit = False
    margins = OxmlElement("w:tblCellMar")  # narrow ones: headings stay whole
    for side in ("w:left", "w:right"):
        margins.append(OxmlElement(side, {qn("w:w"): "45", qn("w:type"): "dxa"}))
    table._tbl.tblPr.append(margins)
    whole = sum(column.share for column in part.columns)
    heads = [column.heading for column in part.columns]
    texts = [heads, *([cell.text for cell in row.cells] for row in part.rows)]
    for number, line in enumerate(texts):
        row = table.add_row()
        for cell, text, column in zip(row.cells, line, part.columns, strict=True):
            cell.width = Cm(TEXT_WIDTH * column.share / whole)
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(printable(text))
            run.font.size, run.font.bold = Pt(7 if number == 0 else 8), number == 0
            paragraph.paragraph_format.space_after = Pt(0)
            if not column.words:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:cantSplit"))
        if number == 0:  # the heads again on every page
            properties.append(OxmlElement("w:tblHeader"))
    for column, cell in zip(table.columns, table.rows[0].cells, strict=True):
        column.width = cell.width
    file.add_paragraph()


def _add_figure(file: Any, figure: blocks.Figure) -> None:
    from docx.shared import Cm, Pt

    share = 0.55 if figure.half else 1.0
    svg = on_paper(figure.svgs[-1 if figure.half else 0], LOOKS)
    picture = file.add_picture(io.BytesIO(drawn(svg)), width=Cm(TEXT_WIDTH * share))
    properties = picture._inline.docPr
    properties.set("descr", printable(figure.alternative))
    properties.set("title", printable(figure.title))
    file.paragraphs[-1].paragraph_format.keep_with_next = True
    caption = file.add_paragraph(style="Caption")
    caption.add_run(f"{printable(figure.title)} ".lstrip()).bold = True
    for look, words in figure.key:
        mark = caption.add_run().add_picture(io.BytesIO(drawn(key_mark(look))), height=Pt(7))
        mark._inline.docPr.set("descr", printable(words))
        caption.add_run(printable(f" {words}  "))
    caption.add_run(printable(figure.reading))
