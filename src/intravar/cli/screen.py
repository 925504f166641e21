"""What commands print with; nothing that they print can command the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from rich import console
from rich.markup import escape as escape
from rich.segment import Segment
from rich.table import Table as Table
from rich.text import Text as Text

from intravar.printable import printable


class Console(console.Console):
    r"""A console that shows what a terminal would obey, and says when nobody reads any more.

    Examples
    --------
    >>> Console(highlight=False).print("Ada\x1b[2J", markup=False)
    Ada\x1b[2J
    """

    def render(
        self,
        renderable: console.RenderableType,
        options: console.ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        """Render as usual; text of others loses its control characters, our own codes stay."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Leave the ending to :mod:`intravar.cli.endings`."""
        raise BrokenPipeError
