"""What goes wrong because of the input, as opposed to a defect of the software."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """The input cannot be used; the message names what, and what to do about it.

    The command line prints the message alone and leaves with exit code 2.
    """


def unknown_name(kind: str, name: str, known: Iterable[str], *, remedy: str) -> InputError:
    """Word the error for a name that is not known, with the nearest one that is.

    Examples
    --------
    >>> print(unknown_name("condition", "scor2", ["score2", "copula"], remedy="list them"))
    unknown condition 'scor2'; did you mean 'score2'? (list them)
    """
    nearest = get_close_matches(name.lower(), list(known), n=1, cutoff=0.4)
    guess = f"; did you mean '{nearest[0]}'?" if nearest else ""
    return InputError(f"unknown {kind} '{name}'{guess} ({remedy})")
