"""Several pictures in one: side by side and below each other, each with its title."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from intravar.documents.charts.plot import Drawing

#: Pixels over a panel for its title.
TITLE = 22


def panels(drawings: Sequence[Drawing], columns: int, titles: Sequence[str] = ()) -> Drawing:
    """Return one picture of several, so many in a row.

    Parameters
    ----------
    drawings
        From the left and the top.
    columns
        How many stand side by side.
    titles
        One for each of them, or none at all.

    Examples
    --------
    >>> whole = panels([Drawing(100, 50), Drawing(100, 50), Drawing(100, 60)], 2)
    >>> whole.width, whole.height
    (200, 110)
    """
    whole, top = Drawing(0, 0), 0
    room = TITLE if titles else 0
    for first in range(0, len(drawings), columns):
        left = 0
        row = drawings[first : first + columns]
        for place, drawing in enumerate(row, first):
            if titles:
                whole.write(titles[place], (left + drawing.width / 2, top + 10), "panel-title")
            inner = Markup("").join(drawing.parts)
            whole.add('<g transform="translate({a} {b})">{i}</g>', a=left, b=top + room, i=inner)
            left += drawing.width
        whole.width = max(whole.width, left)
        top += room + max(drawing.height for drawing in row)
    whole.height = top
    return whole
