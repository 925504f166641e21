"""How whoever waits for long work is told how it goes on: one way for measuring and for studies."""

from __future__ import annotations

from typing import Protocol


class Listener(Protocol):
    """Whoever wants to know how work goes on."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """Take note that a step begins, and how many seconds it may take if that is known."""

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """Take note how many parts of the step are done.

        `left` are the seconds that are left, where more is known than what parts have taken so far;
        `words` say what is worked on, or what went wrong.
        """

    def note(self, words: str) -> None:
        """Say something."""


class Nobody:
    """A listener who takes no note."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`Listener`."""

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`Listener`."""

    def note(self, words: str) -> None:
        """See :class:`Listener`."""
