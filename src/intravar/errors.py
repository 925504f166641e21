"""What goes wrong because of the input, as opposed to a defect of the software."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

#: How near a name must be to be offered instead of one that is not known.
NEAR = 0.6
#: Arguments that are called otherwise on the command line.
_FLAGS = {"most": "--pairs", "labels": "--label", "random_state": "--seed"}
_LISTS = ("covariates", "exclude", "after", "categorical", "methods")
# Marks that no name and no value of a user holds.
IN_ROW = "\ue005"
_OPTION = re.compile("\ue000([a-z_]+)(?:\ue001([^\ue002]*))?\ue002")


class InputError(ValueError):
    """The input cannot be used; the message names what, and what to do about it.

    The command line prints the message alone and leaves with exit code 2.

    Attributes
    ----------
    on_command_line
        The message with options in the words of the command line.
    message
        As it was raised; a :class:`intravar.wording.Sentence` can be said in other words.

    Examples
    --------
    >>> error = InputError(f"choose one with {option('table', 'visits')}")
    >>> str(error), error.on_command_line
    ("choose one with table='visits'", 'choose one with --table visits')
    """

    def __init__(self, message: str) -> None:
        super().__init__(_OPTION.sub(_in_python, message))
        self.on_command_line: str = _OPTION.sub(_as_flag, message)
        self.message = message


class RowError(InputError):
    """The value in one row cannot be used.

    Parameters
    ----------
    row
        Position of the row in the table that was looked at.
    message
        What is wrong; `IN_ROW` stands for the row.

    Examples
    --------
    >>> error = RowError(2, f"column 'age' is infinite {IN_ROW}")
    >>> str(error), str(error.among([10, 20, 30]))
    ("column 'age' is infinite in data row 3", "column 'age' is infinite in data row 31")
    """

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message.replace(IN_ROW, f"in data row {row + 1}"))
        self.row, self._told = row, message

    def __reduce__(self) -> tuple[type[RowError], tuple[int, str]]:
        """Let it come back from another process."""
        return RowError, (self.row, self._told)

    def among(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> RowError:
        """Return the error for the same row, where the rows stood at these positions before."""
        return self.at(int(rows[self.row]))

    def at(self, row: int) -> RowError:
        """Return the error for another row."""
        return RowError(row, self._told)


@contextmanager
def counted_among(rows: Sequence[int] | np.ndarray[Any, Any]) -> Iterator[None]:
    """Name rows in errors by where they stood before some were left out."""
    try:
        yield
    except RowError as error:
        raise error.among(rows) from None


def option(name: str, value: str | None = None) -> str:
    """Name an argument in the message of an error: as Python does, or as a flag of the command."""
    return f"\ue000{name}\ue002" if value is None else f"\ue000{name}\ue001{value}\ue002"


def _in_python(found: re.Match[str]) -> str:
    name, value = found.groups()
    if value is None:
        return name
    return f"{name}={[value]!r}" if name in _LISTS else f"{name}={value!r}"


def flag_of(name: str) -> str:
    """Return what an argument is called on the command line.

    Examples
    --------
    >>> flag_of("min_panel"), flag_of("random_state")
    ('--min-panel', '--seed')
    """
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def _as_flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    flag = flag_of(name)
    return flag if value is None else f"{flag} {shlex.quote(value)}"


def unknown_name(kind: str, name: str, known: Iterable[str], *, remedy: str) -> InputError:
    """Word the error for a name that is not known, with the nearest one that is.

    Examples
    --------
    >>> print(unknown_name("condition", "scor2", ["score2", "copula"], remedy="list them"))
    unknown condition 'scor2'; did you mean 'score2'? (list them)
    """
    nearest = get_close_matches(name.lower(), list(known), n=1, cutoff=NEAR)
    guess = f"; did you mean '{nearest[0]}'?" if nearest else ""
    return InputError(f"unknown {kind} '{name}'{guess} ({remedy})")
