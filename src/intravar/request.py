"""What was asked for: columns, reading, methods and limits, in one frozen object.

`check`, `measure` and the command line take the same request; it is written to and read from a
TOML file, and every result carries the one that made it.
"""

from __future__ import annotations

import os
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import partial
from operator import index
from pathlib import Path
from typing import Any, Literal, SupportsIndex, get_args

import tomli_w

from intravar.errors import InputError, printable, renamed, unknown_name, warn_of
from intravar.wording import Words, option

Missing = Literal["indicator", "drop", "impute"]
Repeated = Literal["once", "all"]
#: Columns and what to call them.
Labels = tuple[tuple[str, str], ...]
#: Patients below which a physician's result is not reported.
MIN_PANEL = 30
#: Reliability below which a physician is not ranked.
MIN_RELIABILITY = 0.4
#: The smallest count that is shown; the rule of many statistical offices and of CMS.
SMALLEST_CELL = 11

#: Patients from whom all that is common is learned; see docs/scale.md.
SAMPLE = 100_000
#: Spread of true values between physicians below which differences do not matter.
MATTERS = 0.02
LEAST_SAMPLE = 1_000
#: Days after the visit within which a prescription counts as its decision (OMOP).
WINDOW = 30

#: The largest seed that scikit-learn takes.
LARGEST_SEED = 2**32 - 1

#: What numbers must satisfy, and what to give instead of one that does not.
_LIMITS: dict[str, tuple[Callable[[float], bool], str]] = {
    "min_panel": (lambda given: given >= 2, "a pair takes two, give 2 or more"),
    "sample": (lambda given: given >= LEAST_SAMPLE, f"give {LEAST_SAMPLE:,} rows or more"),
    "min_reliability": (lambda given: 0 <= given <= 1, "it lies between 0 and 1"),
    "matters": (
        lambda given: 0 <= given < 0.5,
        "it is a share of pairs, from 0 to below 0.5 (0.02 is 2 of 100)",
    ),
    # A count hidden by 2 could only be 1.
    "smallest_cell": (
        lambda given: given >= 1 and given != 2,
        "give 1 (hide nothing), or 3 or more",
    ),
}

#: What the policies are called, and what they may be.
_POLICIES = {
    "missing": ("policy for missing values", get_args(Missing)),
    "repeated": ("policy for repeated patients", get_args(Repeated)),
}
#: Letters at the most of words that stand in sentences; two words are given for one and several.
_LONGEST = {"decider_word": 40, "case_word": 40, "decision_word": 40, "labels": 80, "title": 120}
_PAIRS = ("decider_word", "case_word")
#: What fields were called before; old files and programs still say so.
_OLD_NAMES = {"seed": "random_state"}


def _asked(section: str, words: str, default: Any = None) -> Any:
    """Declare a field: the section of the file that it stands in, and what it means."""
    return field(default=default, metadata={"section": section, "words": words})


_columns = partial(_asked, "columns")
_population = partial(_asked, "population")
_reading = partial(_asked, "reading")
_methods = partial(_asked, "methods")
_limits = partial(_asked, "limits")
_words = partial(_asked, "words")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be measured, and how; checked when it is made.

    Examples
    --------
    >>> request = Request(physician="doctor", decision="statin", exclude=["visit"])
    >>> request.exclude, request.min_panel
    (('visit',), 30)
    >>> Request(physician="doctor", decision="statin", min_panel=1)
    Traceback (most recent call last):
    intravar.errors.InputError: min_panel is 1; a pair takes two, give 2 or more
    """

    physician: str = _columns("Column of whoever decides.", "")
    decision: str = _columns(
        "Column of the decision; several with commas between are measured together.", ""
    )
    order: tuple[str, ...] = _columns(
        "Several decisions in the order in which they are taken. Default: as named.", ()
    )
    covariates: tuple[str, ...] | None = _columns("Columns to compare patients by. Default: all.")
    exclude: tuple[str, ...] = _columns("Columns not to compare patients by.", ())
    after: tuple[str, ...] = _columns("Columns that are known only after the decision.", ())
    confirm: tuple[str, ...] = _columns(
        "Columns that were known before the decision although they look like leaks.", ()
    )
    categorical: tuple[str, ...] = _columns("Columns of numbers that are codes of categories.", ())
    decision_positive: str | None = _columns(
        "Value of the decision that counts, or a comparison such as '>=4'."
    )
    missing: Missing = _columns(  # noqa: RUF009
        "Missing covariates: indicator, drop or impute.", "indicator"
    )
    patient: str | None = _columns("Column that names the patient. Default: found out by its name.")
    weight: str | None = _columns(
        "Column of sampling weights: how many patients of the population a row stands for."
    )
    case: str | None = _columns("Column that says which case was seen, if some were seen twice.")
    repeated: Repeated | None = _columns(  # noqa: RUF009
        "Repeated rows: once or all. Default: all visits of identified patients, copies once."
    )
    where: str | None = _population(
        'Which patients are meant: "age >= 75 and diabetes = 1". Default: all.'
    )
    by: str | None = _population("Column whose levels are compared with each other.")
    date: str | None = _population("Column that says when, for a course over time.")
    period: str | None = _population(
        "year, quarter, month or 'before/after 2024-03-01'. Default: year."
    )
    table: str | None = _reading("Table of a database.")
    query: str | None = _reading("Query of a database.")
    separator: str | None = _reading("Separator of a text file. Default: found out.")
    encoding: str | None = _reading("Encoding of a text file. Default: UTF-8.")
    sheet: str | None = _reading("Sheet of a workbook.")
    method: str | None = _methods("Method that measures. Default: predictability.")
    methods: tuple[str, ...] = _methods("Methods to set beside it, or all.", ())
    random_state: int = _methods("Seed of what a method draws.", 0)
    sample: int = _methods(
        "Patients to learn from; in larger tables the others are read by it.", SAMPLE
    )
    min_panel: int = _limits("Patients below which a physician is not reported.", MIN_PANEL)
    min_reliability: float = _limits(
        "Reliability below which a physician is not ranked.", MIN_RELIABILITY
    )
    matters: float = _limits(
        "Standard deviation between physicians below which they do not differ.", MATTERS
    )
    smallest_cell: int = _limits(
        "Smallest count of patients or events that is shown.", SMALLEST_CELL
    )
    decider_word: str | None = _words(
        "Whoever decides, one and several. Default: physician,physicians."
    )
    case_word: str | None = _words(
        "Whoever is decided about, one and several. Default: patient,patients."
    )
    decision_word: str | None = _words("What is decided for, thrombolysis say.")
    labels: Labels = _words(  # noqa: RUF009
        "What to call a column, as COLUMN=label; may be given again.", ()
    )
    title: str | None = _words("Title of the page.")

    def __post_init__(self) -> None:
        if isinstance(self.decision, list | tuple):
            object.__setattr__(self, "decision", ",".join(_names("decision", self.decision)))
        for each in fields(self):
            object.__setattr__(self, each.name, _checked(each, getattr(self, each.name)))
        for name in ("physician", "decision"):
            if not getattr(self, name):
                raise InputError(f"{option(name)} is not given; name a column of the table")
        checked_seed(self.random_state)
        for name, (what, known) in _POLICIES.items():
            given = getattr(self, name)
            if given is not None and given not in known:
                raise unknown_name(what, given, known, remedy=", ".join(known))
        for name, (fits, remedy) in _LIMITS.items():
            if not fits(value := getattr(self, name)):
                raise InputError(f"{option(name)} is {value:g}; {remedy}")
        self._check_columns()

    def _check_columns(self) -> None:
        """Refuse columns that do not go together."""
        named = replace(self, order=()).decisions if self.order else ()
        if sorted(named) != sorted(self.order):
            raise InputError(
                f"{option('order')} is {', '.join(self.order)}, the decisions are "
                f"{', '.join(named)}; name each of them once"
            )
        if self.weight is not None:
            self._check_weight()
        if self.period is not None and self.date is None:
            raise InputError(f"{option('period')} needs {option('date')}; name the column of dates")
        if self.where is None:
            return
        # Loaded where it is asked for: most tables hold the patients that are meant.
        from intravar.where import columns_of

        chosen_by = columns_of(self.where)
        for decision in (self.decision, *self.decisions):
            if decision in chosen_by:
                raise InputError(
                    f"{option('where')} names '{decision}', which is the decision; rows that are "
                    "chosen by what was decided say nothing about deciding, leave it out"
                )

    def _check_weight(self) -> None:
        """Refuse what sampling weights cannot be used for."""
        if len(self.decisions) > 1:
            raise InputError(
                f"{option('weight')} cannot be used with several decisions; measure each of them "
                "by itself"
            )
        if self.case is not None:
            raise InputError(
                f"{option('weight')} cannot be used with {option('case')}; leave one of them out"
            )

    @property
    def decisions(self) -> tuple[str, ...]:
        """The decisions by name, in the order in which they are taken.

        Examples
        --------
        >>> Request(physician="doctor", decision="statin, metformin").decisions
        ('statin', 'metformin')
        """
        named = [name.strip() for name in self.decision.split(",")]
        several = tuple(dict.fromkeys(name for name in named if name))
        return self.order or (several if len(several) > 1 else (self.decision,))

    def of_each(self) -> dict[str, Request]:
        """Return what is asked of each decision by itself; the others are no covariates of it.

        Examples
        --------
        >>> Request(physician="doctor", decision="statin,metformin").of_each()["statin"].exclude
        ('metformin',)
        """
        names = self.decisions
        if len(names) == 1:
            return {self.decision: self}
        return {
            name: replace(
                self,
                decision=name,
                order=(),
                exclude=(*self.exclude, *(each for each in names if each != name)),
            )
            for name in names
        }

    @property
    def seed(self) -> int:
        """The old name of `random_state`."""
        warn_of("seed", "random_state")
        return self.random_state

    @property
    def reading(self) -> dict[str, str | None]:
        """What tells how to read the source."""
        return {each.name: getattr(self, each.name) for each in in_section("reading")}

    @property
    def words(self) -> Words:
        """What things are called."""
        return Words.of({each.name: getattr(self, each.name) for each in in_section("words")})

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return the request by sections, in a form that fits into JSON and TOML.

        Examples
        --------
        >>> Request(physician="doctor", decision="statin").as_dict()["limits"]
        {'min_panel': 30, 'min_reliability': 0.4, 'matters': 0.02, 'smallest_cell': 11}
        """
        sections: dict[str, dict[str, Any]] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and value != ():
                plain = list(value) if isinstance(value, tuple) else value
                if each.type == "Labels":
                    plain = dict(value)
                sections.setdefault(each.metadata["section"], {})[each.name] = plain
        return sections

    def to_toml(self, source: str | None = None) -> str:
        """Return the request as a file that `intravar measure` takes."""
        head = {} if source is None else {"source": source}
        return tomli_w.dumps(head | self.as_dict())

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """Name the fields in which a stored request, by sections, differs from this one.

        What things are called changes no result.
        """
        mine, theirs = ({**stored, "words": {}} for stored in (self.as_dict(), other))
        mine, theirs = _entries(mine), _entries(theirs)
        return [name for name in mine | theirs if mine.get(name) != theirs.get(name)]


# The old names of fields are taken with a warning.
Request.__init__ = renamed(**_OLD_NAMES)(Request.__init__)  # type: ignore[method-assign]


def checked_seed(seed: object) -> int:
    """Return a seed that was given by a user as an integer.

    Raises
    ------
    InputError
        If it is not a whole number, or too small or large.

    Examples
    --------
    >>> checked_seed(7)
    7
    >>> checked_seed(-1)
    Traceback (most recent call last):
    intravar.errors.InputError: random_state is -1; give a whole number from 0 to 4294967295
    """
    given = repr(seed)
    if isinstance(seed, SupportsIndex) and not isinstance(seed, bool):
        if 0 <= index(seed) <= LARGEST_SEED:
            return index(seed)
        given = str(index(seed))
    raise InputError(
        f"{option('random_state')} is {given}; give a whole number from 0 to {LARGEST_SEED}"
    )


def in_section(section: str) -> list[Field[Any]]:
    """Return the fields of a section."""
    return [each for each in fields(Request) if each.metadata["section"] == section]


def _entries(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of all sections, by the names of today."""
    return {
        _OLD_NAMES.get(name) or name: value
        for entries in stored.values()
        if isinstance(entries, Mapping)
        for name, value in entries.items()
    }


def _checked(asked: Field[Any], value: Any) -> Any:
    """Bring a value into the shape of its field, or say what it should be."""
    kind, name = str(asked.type), asked.name
    if value is None and "None" in kind:
        return None
    if kind.startswith("tuple"):
        return _names(name, value)
    if kind == "Labels":
        return _labels(name, value)
    if kind.startswith("int") and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind.startswith("float") and isinstance(value, int | float):
        return float(value)
    if kind.startswith(("str", "Missing", "Repeated")) and isinstance(value, str):
        return value if name not in _LONGEST else _checked_word(name, value, pair=name in _PAIRS)
    wanted = {"int": "a whole number", "float": "a number"}.get(kind.partition(" ")[0], "a text")
    raise InputError(f"{option(name)} is {value!r}; give {wanted}")


def _names(name: str, value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping):
        raise InputError(f"{option(name)} is {value!r}; give a list of names")
    names = tuple(dict.fromkeys(listed))
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{option(name)} has {each!r}; give a list of names")
    return names


def _labels(name: str, value: Any) -> Labels:
    """Return columns with their labels: of a table, of pairs, or of texts COLUMN=label."""
    listed = value.items() if isinstance(value, Mapping) else value
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        listed = [listed]
    labels: dict[str, str] = {}
    for each in listed:
        pair = each.partition("=")[::2] if isinstance(each, str) and "=" in each else each
        column, label = pair if isinstance(pair, tuple | list) and len(pair) == 2 else ("", "")
        if not (isinstance(column, str) and isinstance(label, str) and column.strip()):
            raise InputError(f"{option(name)} has {each!r}; give COLUMN=label")
        checked = _checked_word(name, label)
        labels[column.strip()] = label if isinstance(label, SharedLabel) else checked
    return tuple(labels.items())


class SharedLabel(str):
    """A label of a file that several tables share: a table may lack the column."""


def _with_file(path: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields, and the words of a file that an institution keeps where they are not given.

    The file holds the entries of a `[words]` section.
    """
    words = fields_of({"words": _read_toml(path)}, path)
    shared = {name: SharedLabel(text) for name, text in _labels("labels", words.pop("labels", ()))}
    labels = shared | dict(_labels("labels", given.get("labels", ())))
    return words | dict(given) | ({"labels": tuple(labels.items())} if labels else {})


def _read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"'{path}' is not a TOML file: {error}") from error


def is_request_file(source: Any) -> bool:
    """Tell whether a source is the name of a request's file."""
    return isinstance(source, str | os.PathLike) and Path(source).suffix.lower() == ".toml"


def read_request(
    path: str | os.PathLike[str],
    *,
    allowed: Callable[[str | os.PathLike[str]], Path] | None = None,
    **changes: Any,
) -> tuple[str, Request]:
    """Return the source and the request of a TOML file; changes take the place of its fields.

    A relative source in it is looked for beside it. The file of words that it names is opened
    after `allowed` has returned its path, or raised an error.
    """
    stored = _read_toml(path)
    source = stored.pop("source", None)
    if not isinstance(source, str) or not source:
        raise InputError(f"'{path}' has no source; add a line: source = \"patients.csv\"")
    if "://" not in source:
        source = str(Path(path).parent / source)
    words = stored.get("words")
    # A file of words which an institution keeps.
    shared = words.pop("file", None) if isinstance(words, dict) else None
    given = fields_of(stored, path) | changes
    if shared is not None:
        words_file = Path(path).parent / str(shared)
        given = _with_file(words_file if allowed is None else allowed(words_file), given)
    return source, Request(**given)


def fields_of(stored: Mapping[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of a request from its sections, as they are stored in a file."""
    sections = {each.metadata["section"] for each in fields(Request)}
    for section, values in stored.items():
        if section not in sections:
            raise unknown_name("section", section, sections, remedy=f"in '{path}'")
        if not isinstance(values, Mapping):
            raise InputError(f"[{section}] in '{path}' is {values!r}; it holds entries of its own")
        known = [each.name for each in in_section(section)]
        for name in _entries({section: values}):
            if name not in known:
                raise unknown_name(f"entry of [{section}]", name, known, remedy=f"in '{path}'")
    return _entries(stored)


def shown_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request among the arguments of a function that shows some of them."""
    return {each.name: given[each.name] for each in fields(Request) if each.name in given}


def requested(
    source: Any, request: Request | None, options: Mapping[str, Any]
) -> tuple[Any, Request]:
    """Return source and request: of a file if the source is one, changed by the options.

    Options that are None are not given; fields go by their old names, too. `words` names a file of
    words that an institution keeps.
    """
    known = [each.name for each in fields(Request)]
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name == "words":
            continue
        if name in _OLD_NAMES:
            warn_of(name, _OLD_NAMES[name], above=3)
        elif name not in known:
            raise TypeError(str(unknown_name("argument", name, known, remedy="see Request")))
        if value is not None:
            given[_OLD_NAMES.get(name, name)] = value
    if (shared := options.get("words")) is not None:
        given = _with_file(shared, given)
    if request is not None:
        return source, replace(request, **given)
    if is_request_file(source):
        return read_request(source, **given)
    return source, Request(**given)


def _checked_word(name: str, asked: str, *, pair: bool = False) -> str:
    """Return a word of others that may stand in every sentence, or say what is wrong with it."""
    shown = printable(" ".join(asked.split()))[:60]
    if pair and asked.strip():
        parts = asked.split(",")
        if len(parts) != 2:
            one = printable(parts[0].strip())[:60]
            raise InputError(
                f"{option(name)} is '{shown}'; give one and several with a comma between, such as "
                f"{one},{one}s"
            )
        return ",".join(_checked_word(name, part) for part in parts)
    word = " ".join(unicodedata.normalize("NFC", asked).split(" ")).strip()
    if not word:
        raise InputError(f"{option(name)} is empty; give a word, or leave it out")
    if printable(word) != word or set(word) & set("\n\t"):
        raise InputError(
            f"{option(name)} is '{shown}'; it holds characters that are not text, leave them out"
        )
    if len(word) > _LONGEST[name]:
        raise InputError(
            f"{option(name)} has {len(word)} letters ('{shown}'); give {_LONGEST[name]} at the most"
        )
    return word
