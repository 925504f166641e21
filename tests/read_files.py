"""All text of the files that people use, as whoever gets them could read it."""

from __future__ import annotations

import io
import re
import zipfile
from functools import cache
from pathlib import Path

import pypdf


@cache
def text_of(path: Path) -> str:
    """Return all that a file says: cells, notes, alternative texts and properties included."""
    content = path.read_bytes()
    if path.suffix in (".xlsx", ".docx"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "\n".join(
                archive.read(name).decode("utf-8")
                for name in archive.namelist()
                if name.endswith((".xml", ".rels", ".vml"))
            )
    if path.suffix == ".pdf":
        reader = pypdf.PdfReader(io.BytesIO(content))
        told = [page.extract_text() for page in reader.pages]
        return "\n".join([*told, str(reader.metadata), content.decode("latin-1")])
    return content.decode("utf-8")


def pages_of(path: Path) -> list[str]:
    """Return the text of every page of a PDF, on one line each."""
    found = pypdf.PdfReader(path).pages
    return [re.sub(r"[\s\u200b]+", " ", page.extract_text()) for page in found]
