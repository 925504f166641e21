"""Text from others, made safe to print: a terminal obeys some of the characters that it is sent."""

from __future__ import annotations

import re

#: What a terminal obeys or what turns a line round, other than newline and tab: the control
#: characters (escape sequences begin with one), and the marks that change the direction of text.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Return a text with everything visible that a terminal would obey instead of showing.

    Examples
    --------
    >>> print(printable("Ada\x1b[2J"))
    Ada\x1b[2J
    >>> printable("Müller-Lüdenscheidt, 上田")
    'Müller-Lüdenscheidt, 上田'
    """
    return _OBEYED.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
