"""Names that were given up: they work for one more release, and say what took their place."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Returned = TypeVar("Returned")


def warn_of(old: str, new: str, *, above: int = 2) -> None:
    """Say that a name will go, to whoever called so many frames above."""
    words = f"'{old}' is called '{new}' now; the old name goes with the next release"
    warnings.warn(words, DeprecationWarning, stacklevel=above + 1)


def renamed(**names: str) -> Callable[[Callable[Given, Returned]], Callable[Given, Returned]]:
    """Let a function take arguments by the names that they had before, too.

    Parameters
    ----------
    **names
        Today's name by the old one.
    """

    def decorate(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
        @functools.wraps(function)
        def taking_old_names(*args: Given.args, **options: Given.kwargs) -> Returned:
            given: dict[str, Any] = options
            for old in names.keys() & given.keys():
                warn_of(old, names[old])
                given.setdefault(names[old], given.pop(old))
            return function(*args, **given)

        return taking_old_names

    return decorate
