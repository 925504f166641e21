"""How wide a text is in a picture, and where its lines break."""

from __future__ import annotations

import unicodedata


def text_width(text: str) -> float:
    """Estimate the pixels of a text in the pictures' type, rather too many than too few.

    Examples
    --------
    >>> text_width("ill") < text_width("WHO") < text_width("血圧計")
    True
    """
    return sum(
        13.0
        if unicodedata.east_asian_width(letter) in "WF"
        else 4.2
        if letter in "ijlft.,:;'|!I ()[]"
        else 10.5
        if letter in "mwMW@%"
        else 8.6
        if letter.isupper()
        else 7.1
        for letter in text
    )


def label_lines(text: str, room: float) -> list[str]:
    """Break a label into lines, between words where that is possible.

    Examples
    --------
    >>> label_lines("systolic blood pressure at admission", 120)
    ['systolic blood', 'pressure at', 'admission']
    """
    lines = [""]
    for word in _words(text):
        if text_width(lines[-1] + word.rstrip()) <= room:
            lines[-1] += word
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if text_width(lines[-1] + letter) > room:
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines if line.strip()] or [text]


def _words(text: str) -> list[str]:
    """Split after spaces and underscores, which stay with the word before them."""
    found = [""]
    for letter in text:
        found[-1] += letter
        if letter in " _-/":
            found.append("")
    return [word for word in found if word]
