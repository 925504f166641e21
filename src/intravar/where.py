"""Which patients are meant: an expression that compares columns with values, and no code.

`age >= 75 and diabetes = 1` is read into a tree of comparisons. Nothing of it is ever executed: a
tree is evaluated on a table, or written as SQL from its parts, see `intravar.sources`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, cast

from intravar.errors import InputError, option

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
Value = bool | int | float | str
#: Beyond these nobody reads an expression.
LONGEST, DEEPEST = 2_000, 30
HOW = (
    "compare columns with values, for instance age >= 75 and sex = 'F', or "
    "unit in ('A', 'B') and \"visit date\" is not missing"
)


@dataclass(frozen=True)
class Compared:
    """A column compared with a value."""

    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class IsMissing:
    """A column without a value."""

    column: str


@dataclass(frozen=True)
class Negated:
    """What does not hold."""

    part: Population


@dataclass(frozen=True)
class Combined:
    """Several conditions of which all, or any, hold."""

    word: Literal["and", "or"]
    parts: tuple[Population, ...]


Population = Compared | IsMissing | Negated | Combined

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    | '(?P<text>(?:[^']|'')*)'
    | "(?P<quoted>(?:[^"]|"")*)"
    | `(?P<ticked>[^`]*)`
    | (?P<operator><=|>=|<>|!=|==|=|<|>)
    | (?P<mark>[(),])
    | (?P<word>[^\W\d][\w.]*)
    | (?P<other>\S[\s\S]*)
    )""",
    re.VERBOSE,
)
#: Comparisons as they are meant, by how people write them; and with their two sides changed.
_OPERATORS: dict[str, Operator] = {"==": "=", "<>": "!="}
_TURNED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS = ("and", "or", "not", "in", "is", "between", "missing", "null", "true", "false")


def parse_population(text: str) -> Population:
    """Read comparisons of columns with values, put together with `and`, `or`, `not` and ( ).

    A name with spaces stands in double quotes, a text in single ones.

    Examples
    --------
    >>> parse_population("age >= 75 and sex = 'F'").parts[0]
    Compared(column='age', operator='>=', value=75)
    >>> parse_population("__import__('os')")
    Traceback (most recent call last):
    intravar.errors.InputError: where cannot be read at '(' (place 11): after the column \
'__import__' comes a comparison; compare columns with values, for instance age >= 75 and \
sex = 'F', or unit in ('A', 'B') and "visit date" is not missing
    """
    if len(text) > LONGEST:
        raise InputError(
            "{} has {:,} characters; {:,} are the most, make a column of it in the table",
            option("where"),
            len(text),
            LONGEST,
        )
    return _Parser(text).whole()


def columns_of(population: Population) -> list[str]:
    """Return the columns that an expression names, each once.

    Examples
    --------
    >>> columns_of(parse_population("age > 75 or (age > 60 and not smoker = 1)"))
    ['age', 'smoker']
    """
    return list(dict.fromkeys(_columns(population)))


def _columns(population: Population) -> Iterator[str]:
    if isinstance(population, Combined):
        for part in population.parts:
            yield from _columns(part)
    elif isinstance(population, Negated):
        yield from _columns(population.part)
    else:
        yield population.column


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    place: int

    @property
    def word(self) -> str:
        """The token in lower case if it is a word or a mark, else nothing."""
        return self.text.lower() if self.kind in ("word", "mark") else ""


class _Parser:
    """Reads from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text), _Token("end", "", len(text))]
        self._at = 0
        self._depth = 0

    def whole(self) -> Population:
        population = self._any()
        if self._next.kind != "end":
            raise self._unread("'and' or 'or' is missing before it")
        return population

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _took(self, word: str) -> bool:
        taken = self._next.word == word
        self._at += taken
        return taken

    def _any(self) -> Population:
        return self._combined("or", lambda: self._combined("and", self._one))

    def _combined(
        self, word: Literal["and", "or"], part: Callable[[], Population], sign: str | None = None
    ) -> Population:
        parts = [part()]
        while self._took(sign or word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Combined(word, tuple(parts))

    def _one(self) -> Population:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._unread(f"more than {DEEPEST} parts lie within each other")
        if self._took("not"):
            condition: Population = Negated(self._one())
        elif self._took("("):
            condition = self._any()
            self._expect(")")
        else:
            condition = self._comparison()
        self._depth -= 1
        return condition

    def _comparison(self) -> Population:
        if self._next.kind in ("number", "text"):
            value, operator = self._value(), self._operator("a value")
            return Compared(self._column(), _TURNED.get(operator, operator), value)
        column = self._column()
        if self._took("is"):
            denied = self._took("not")
            if not (self._took("missing") or self._took("null")):
                raise self._unread("after 'is' comes 'missing' or 'not missing'")
            return _unless(denied, IsMissing(column))
        denied = self._took("not")
        if self._took("in"):
            self._expect("(")
            values = self._combined("or", lambda: Compared(column, "=", self._value()), sign=",")
            self._expect(")")
            return _unless(denied, values)
        if self._took("between"):
            low = self._value()
            self._expect("and")
            ends = (Compared(column, ">=", low), Compared(column, "<=", self._value()))
            return _unless(denied, Combined("and", ends))
        if denied:
            raise self._unread("after 'not' comes 'in' or 'between' here")
        return Compared(column, self._operator(f"the column '{column[:40]}'"), self._value())

    def _operator(self, after: str) -> Operator:
        if self._next.kind != "operator":
            raise self._unread(f"after {after} comes a comparison")
        written = self._take().text
        return _OPERATORS.get(written, cast("Operator", written))

    def _column(self) -> str:
        token = self._next
        named = token.kind == "word" and token.word not in _WORDS
        if not named and token.kind not in ("quoted", "ticked"):
            raise self._unread("the name of a column is missing")
        return self._take().text

    def _value(self) -> Value:
        token = self._next
        if token.kind == "number":
            text = self._take().text
            return int(text) if text.lstrip("+-").isdecimal() else float(text)
        if token.kind in ("text", "quoted"):
            return self._take().text
        if token.word in ("true", "false"):
            return self._take().word == "true"
        if token.kind == "word":
            raise self._unread(f"write a text in quotation marks, '{token.text}'")
        raise self._unread("a value is missing")

    def _expect(self, word: str) -> None:
        if not self._took(word):
            raise self._unread(f"'{word}' is missing before it")

    def _unread(self, why: str) -> InputError:
        token = self._next
        place = f"'{token.text[:20]}' (place {token.place + 1})"
        return InputError(
            "{} cannot be read at {}: {}; {}",
            option("where"),
            "its end" if token.kind == "end" else place,
            "that has no meaning here" if token.kind == "other" else why,
            HOW,
        )


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text.rstrip()):
        kind = str(match.lastgroup)
        quote = {"text": "'", "quoted": '"'}.get(kind)
        value = str(match[kind])
        if quote is not None:
            value = value.replace(quote * 2, quote)
        yield _Token(kind, value, match.start(kind))


def _unless(denied: bool, condition: Population) -> Population:
    return Negated(condition) if denied else condition
