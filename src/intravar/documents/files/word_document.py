"""The report of a measurement as a text to edit: headings are styles, pictures have their words."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Sequence
from typing import Any

from intravar.documents.files.paper import on_paper
from intravar.documents.files.parts import (
    Bullets,
    DocumentPart,
    FramedPicture,
    NewPage,
    Passage,
    PlainTable,
    SectionHeading,
    WholeDocument,
)
from intravar.documents.files.typesetting import drawn
from intravar.printable import printable

#: Nobody's clock: the same measurement gives the same file.
CREATED = datetime.datetime(2000, 1, 1)
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
#: Centimetres between the margins.
TEXT_WIDTH = 17.0


def word_document(document: WholeDocument, style: str) -> bytes:
    """Return a document as the content of a docx file.

    Parameters
    ----------
    document
        What it holds.
    style
        Rules that colour its pictures.
    """
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
    for part in document.parts:
        _add(file, part, style)
    buffer = io.BytesIO()
    file.save(buffer)
    return _undated(buffer.getvalue())


def _add(file: Any, part: DocumentPart, style: str) -> None:
    if isinstance(part, SectionHeading):
        file.add_heading(printable(part.text), level=part.level)
    elif isinstance(part, Passage):
        file.add_paragraph(printable(part.text))
    elif isinstance(part, Bullets):
        for item in part.items:
            file.add_paragraph(printable(item), style="List Bullet")
    elif isinstance(part, PlainTable):
        _add_table(file, part)
    elif isinstance(part, FramedPicture):
        _add_picture(file, part, style)
    elif isinstance(part, NewPage):
        file.add_page_break()


def _add_table(file: Any, part: PlainTable) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement
    from docx.shared import Cm, Pt

    caption = file.add_paragraph(printable(part.caption), style="Caption")
    caption.paragraph_format.keep_with_next = True
    table = file.add_table(rows=0, cols=len(part.heads))
    table.style = "Light Shading Accent 1"
    table.autofit = False
    widths = [Cm(TEXT_WIDTH * share / sum(part.shares)) for share in part.shares]
    for across, width in enumerate(widths):
        table.columns[across].width = width
    for number, texts in enumerate([part.heads, *part.rows]):
        row = table.add_row()
        cells: Sequence[Any] = row.cells
        for across, (cell, text) in enumerate(zip(cells, texts, strict=True)):
            cell.width = widths[across]
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(printable(str(text)))
            run.font.size, run.font.bold = Pt(8), number == 0
            paragraph.paragraph_format.space_after = Pt(0)
            if across not in part.words:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:cantSplit"))
        if number == 0:  # the heads again on every page
            properties.append(OxmlElement("w:tblHeader"))
    file.add_paragraph()


def _add_picture(file: Any, part: FramedPicture, style: str) -> None:
    from docx.shared import Cm

    share = 0.55 if part.half else 1.0
    picture = file.add_picture(
        io.BytesIO(drawn(on_paper(part.svg, style))), width=Cm(TEXT_WIDTH * share)
    )
    properties = picture._inline.docPr
    properties.set("descr", printable(part.words))
    properties.set("title", printable(part.title))
    file.paragraphs[-1].paragraph_format.keep_with_next = True
    key = "; ".join(words for _, words in part.key)
    caption = file.add_paragraph(style="Caption")
    caption.add_run(f"{printable(part.title)} ").bold = True
    caption.add_run(printable(f"{part.caption} Colours: {key}." if key else part.caption))


def _undated(content: bytes) -> bytes:
    """Return a zip archive with the same files and no date in it."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return buffer.getvalue()
