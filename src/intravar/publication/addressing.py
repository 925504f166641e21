"""Whom a sheet is for: the same physician by name, by pseudonym and as published."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intravar.errors import InputError, unknown_name
from intravar.publication.pseudonyms import KEY_FILE, is_pseudonym, read_names, readable
from intravar.text import clean_name


def as_known(given: str, names: Collection[str]) -> str:
    r"""Return a name as a measurement has it: without what nobody sees, unless it has that.

    Examples
    --------
    >>> as_known("A\u200bda ", ["Ada"])
    'Ada'
    """
    return given if given in names else clean_name(given)


@dataclass(frozen=True)
class Addresses:
    """The physicians of a stored measurement.

    Attributes
    ----------
    published
        What they are called in what was handed on: pseudonyms, or names if these were asked for.
    names
        The name behind every pseudonym; nothing where the private folder is not at hand.
    decider
        What to call whoever is not found.

    Examples
    --------
    >>> known = Addresses(["P-1"], {"P-1": "Ada"})
    >>> known.found("Ada"), known.name_of("P-1"), known.pseudonym_of("P-1")
    ('P-1', 'Ada', 'P-1')
    """

    published: Sequence[str]
    names: Mapping[str, str]
    decider: str = "physician"

    @classmethod
    def of(cls, published: Sequence[str], private: Path, decider: str) -> Addresses:
        """Read the names of a private folder, where there is one that can be read."""
        key = private / KEY_FILE
        return cls(published, read_names(key) if readable(key) else {}, decider)

    @property
    def shows_names(self) -> bool:
        """Whether what was handed on names people."""
        return any(name in self.published for name in self.names.values())

    def found(self, given: str) -> str:
        """Return what a physician is called in what was handed on, from a name or a pseudonym."""
        given = as_known(given, [*self.published, *self.names, *self.names.values()])
        pseudonyms = [shown for shown, name in self.names.items() if name == given]
        for candidate in (given, *pseudonyms, self.names.get(given, given)):
            if candidate in self.published:
                return candidate
        raise unknown_name(self.decider, given, self.published, remedy="physicians.csv lists them")

    def name_of(self, shown: str) -> str:
        """Return the name of a physician."""
        if shown in self.names:
            return self.names[shown]
        if shown in self.names.values():
            return shown
        raise InputError(
            f"the name of '{shown}' is not known here; names lie in the private folder beside the "
            "measurement, make the sheets where it was measured"
        )

    def pseudonym_of(self, shown: str) -> str | None:
        """Return the pseudonym of a physician; None where it is not known."""
        if shown in self.names or (not self.names and is_pseudonym(shown)):
            return shown
        return next((each for each, name in self.names.items() if name == shown), None)
