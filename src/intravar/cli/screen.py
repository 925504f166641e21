"""What commands print with; nothing that they print can command the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NoReturn

from rich import console
from rich.markup import escape as escape
from rich.segment import Segment
from rich.table import Table as Table
from rich.text import Text as Text

from intravar.printable import printable


def table(
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Collection[str] = (),
    unbroken: Collection[str] = (),
    title: str | None = None,
) -> Table:
    """Return a table of text from others, without lines; columns on the right go by their heads."""
    made = Table(box=None, pad_edge=False, title=title)
    for head in heads:
        side: Literal["left", "right"] = "right" if head in right else "left"
        made.add_column(Text(head), justify=side, no_wrap=head in unbroken, overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


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

    def say(self, *lines: str, style: str = "") -> None:
        """Print lines that hold text of others."""
        for line in lines:
            self.print(Text(line, style=style))

    def on_broken_pipe(self) -> NoReturn:
        """Leave the ending to :mod:`intravar.cli.endings`."""
        raise BrokenPipeError
