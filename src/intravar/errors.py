"""What goes wrong because of the input or the machine, as opposed to a defect of the software.

And names that were given up: they work for one more release, and say what took their place.
"""

from __future__ import annotations

import errno
import functools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from intravar.wording import USUAL, Sentence, Words, naming, with_options
from intravar.wording import Option as Option
from intravar.wording import flag_of as flag_of
from intravar.wording import option as option

if TYPE_CHECKING:
    import numpy as np


#: How near a name must be to be offered instead of one that is not known.
NEAR = 0.6
#: What the machine may lack, in plain words.
_MACHINE = {
    errno.ENOSPC: "no space is left on the disk; make room or write elsewhere",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EIO: "the disk or the network failed (input/output error)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n) or use fewer --workers",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is not enough memory; use fewer --workers or less data",
}
# Windows has no quotas of this kind.
if hasattr(errno, "EDQUOT"):
    _MACHINE[errno.EDQUOT] = "your quota of disk space is used up; make room or write elsewhere"

#: How libraries in other languages word an error of the system.
_FOREIGN = re.compile(r"\(os error (\d+)\)")


class AssumptionWarning(UserWarning):
    """The data do not meet an assumption of the latent rule: its scores may be far off."""


class InputError(ValueError):
    """The input cannot be used; the message names what, and what to do about it.

    The command line prints the message alone and leaves with exit code 2.

    Parameters
    ----------
    message
        In an f-string, with :func:`option` for what the command line calls otherwise; with values
        by name the template of a :class:`intravar.wording.Sentence`.
    **named
        For the places of the template.

    Attributes
    ----------
    message
        As it was raised; a sentence can be said in other words.

    Examples
    --------
    >>> error = InputError(f"choose one with {option('table', 'visits')}")
    >>> str(error), error.on_command_line
    ("choose one with table='visits'", 'choose one with --table visits')
    """

    def __init__(self, message: str, **named: object) -> None:
        self.message = Sentence(message, **named) if named else with_options(message)
        super().__init__(str(self.message))

    def naming(self, how: Callable[[Option], str]) -> str:
        """Return the message with options as somebody calls them."""
        return str(naming(self.message, how))

    @property
    def on_command_line(self) -> str:
        """The message with options as flags."""
        return self.naming(lambda each: each.flag)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it come back from another process with all it says."""
        return type(self), (self.message,)


class RowError(InputError):
    """The value in one row cannot be used.

    Parameters
    ----------
    row
        Position of the row in the table that was looked at.
    what, remedy
        What the message says before and after the row.

    Examples
    --------
    >>> error = RowError(2, "column 'age' is infinite", "; correct it")
    >>> str(error)
    "column 'age' is infinite in data row 3; correct it"
    >>> str(error.among([10, 20, 30]))
    "column 'age' is infinite in data row 31; correct it"
    """

    def __init__(self, row: int, what: str, remedy: str) -> None:
        self.row, self._around = row, (with_options(what), with_options(remedy))
        super().__init__("{what} in data row {row}{remedy}", what=what, row=row + 1, remedy=remedy)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it come back from another process."""
        return RowError, (self.row, *self._around)

    def among(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> RowError:
        """Return the error for the same row, where the rows stood at these positions before."""
        return RowError(int(rows[self.row]), *self._around)


@contextmanager
def errors_in(words: Words) -> Iterator[None]:
    """Say what is wrong with the input in the words of whoever asked."""
    try:
        yield
    except InputError as error:
        if not isinstance(error.message, Sentence) or words == USUAL:
            raise
        raise InputError(error.message.in_words(words)) from error


@contextmanager
def counted_among(rows: Sequence[int] | np.ndarray[Any, Any]) -> Iterator[None]:
    """Name rows in errors by where they stood before some were left out."""
    try:
        yield
    except RowError as error:
        raise error.among(rows) from None


def unknown_name(kind: str, name: str, known: Iterable[str], *, remedy: str) -> InputError:
    """Word the error for a name that is not known, with the nearest one that is.

    Examples
    --------
    >>> print(unknown_name("condition", "scor2", ["score2", "copula"], remedy="list them"))
    unknown condition 'scor2'; did you mean 'score2'? (list them)
    """
    return InputError(f"unknown {kind} '{name}'{did_you_mean(name, known)} ({remedy})")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the name that is nearest, small letters and capitals alike; "" if none is near."""
    by_lower = {each.lower(): each for each in known}
    nearest = get_close_matches(name.lower(), by_lower, n=1, cutoff=NEAR)
    return f"; did you mean '{by_lower[nearest[0]]}'?" if nearest else ""


def machine_fault(error: BaseException) -> str | None:
    """Say what the machine lacks, if that is what an error or one of its causes is about.

    Examples
    --------
    >>> machine_fault(OSError(28, "No space left on device"))
    'no space is left on the disk; make room or write elsewhere'
    >>> machine_fault(RuntimeError("write failed: File too large (os error 27)"))
    'the file would be larger than the system allows'
    >>> machine_fault(ZeroDivisionError()) is None
    True
    """
    seen: BaseException | None = error
    for _ in range(10):  # a chain of causes may be a ring
        code: int | None = None
        if isinstance(seen, MemoryError):
            code = errno.ENOMEM
        elif isinstance(seen, OSError):
            code = seen.errno
        elif foreign := _FOREIGN.search(str(seen)):
            code = int(foreign[1])
        if code in _MACHINE:
            return _MACHINE[code]
        seen = seen and (seen.__cause__ or seen.__context__)
    return None


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
    return _OBEYED.sub(lambda obeyed: ascii(obeyed[0])[1:-1], text)


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
