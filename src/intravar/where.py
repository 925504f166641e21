"""Which patients are meant: an expression that compares columns with values, and no code.

Nothing of `age >= 75 and diabetes = 1` is ever executed. It is read from left to right; whoever
reads says what a single comparison gives, and these answers are put together.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from intravar.errors import InputError, option

Value: TypeAlias = bool | int | float | str
MISSING = "is missing"
#: Gives what `&`, `|` and `~` put together: of a column, an operator (=, !=, <, <=, >, >= or
#: `MISSING`) and a value.
Compare: TypeAlias = Callable[[str, str, Value], Any]
#: Beyond these nobody reads an expression.
LONGEST, DEEPEST = 2_000, 30
HOW = (
    "compare columns with values, for instance age >= 75 and sex = 'F', or "
    "unit in ('A', 'B') and \"visit date\" is not missing"
)
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
_MEANT = {"==": "=", "<>": "!="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS = ("and", "or", "not", "in", "is", "between", "missing", "null", "true", "false")


def read_population(text: str, compare: Compare) -> Any:
    """Read comparisons of columns with values, put together with `and`, `or`, `not` and ( ).

    A name with spaces stands in double quotes, a text in single ones.

    Examples
    --------
    >>> patient = {"age": 80, "sex": "M"}
    >>> read_population("age = 80 and sex = 'M'", lambda name, _, value: patient[name] == value)
    True
    >>> columns_of("__import__('os')")
    Traceback (most recent call last):
    intravar.errors.InputError: where cannot be read at '(' (place 11): after the column \
'__import__' comes a comparison; compare columns with values, for instance age >= 75 and \
sex = 'F', or unit in ('A', 'B') and "visit date" is not missing
    """
    if len(text) > LONGEST:
        raise InputError(
            f"{option('where')} has {len(text):,} characters; {LONGEST:,} are the most, make a "
            "column of it in the table"
        )
    return _Parser(text, compare).whole()


def columns_of(text: str) -> list[str]:
    """Return the columns that an expression names, each once.

    Examples
    --------
    >>> columns_of("age > 75 or (age > 60 and not smoker = 1)")
    ['age', 'smoker']
    """
    names: dict[str, int] = {}
    read_population(text, lambda column, *_: names.setdefault(column, 0))
    return list(names)


class _Token(NamedTuple):
    """A part of the text; the kind of a mark and of a word with a meaning is the word itself."""

    kind: str
    text: str
    place: int


class _Parser:
    """Reads from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str, compare: Compare) -> None:
        self._compare = compare
        self._left = [*_tokens(text), _Token("end", "", len(text))]
        self._depth = 0

    def whole(self) -> Any:
        holds = self._any()
        self._expect("end", "'and' or 'or' is missing before it")
        return holds

    def _took(self, *kinds: str) -> _Token | None:
        return self._left.pop(0) if self._left[0].kind in kinds else None

    def _expect(self, kind: str, why: str = "") -> None:
        if not self._took(kind):
            raise self._unread(why or f"'{kind}' is missing before it")

    def _any(self) -> Any:
        holds = self._all()
        while self._took("or"):
            holds = holds | self._all()
        return holds

    def _all(self) -> Any:
        holds = self._one()
        while self._took("and"):
            holds = holds & self._one()
        return holds

    def _one(self) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._unread(f"more than {DEEPEST} parts lie within each other")
        if self._took("not"):
            holds = ~self._one()
        elif self._took("("):
            holds = self._any()
            self._expect(")")
        else:
            holds = self._comparison()
        self._depth -= 1
        return holds

    def _comparison(self) -> Any:
        if self._left[0].kind in ("number", "text"):
            value, operator = self._value(), self._operator("a value")
            return self._compare(self._column(), _TURNED.get(operator, operator), value)
        column = self._column()
        if self._took("is"):
            denied = self._took("not")
            if not self._took("missing", "null"):
                raise self._unread("after 'is' comes 'missing' or 'not missing'")
            holds = self._compare(column, MISSING, "")
            return ~holds if denied else holds
        denied = self._took("not")
        if self._took("in"):
            self._expect("(")
            holds = self._compare(column, "=", self._value())
            while self._took(","):
                holds = holds | self._compare(column, "=", self._value())
            self._expect(")")
        elif self._took("between"):
            holds = self._compare(column, ">=", self._value())
            self._expect("and")
            holds = holds & self._compare(column, "<=", self._value())
        elif denied:
            raise self._unread("after 'not' comes 'in' or 'between' here")
        else:
            operator = self._operator(f"the column '{column[:40]}'")
            return self._compare(column, operator, self._value())
        return ~holds if denied else holds

    def _operator(self, after: str) -> str:
        token = self._took("operator")
        if token is None:
            raise self._unread(f"after {after} comes a comparison")
        return _MEANT.get(token.text, token.text)

    def _column(self) -> str:
        token = self._took("word", "quoted", "ticked")
        if token is None:
            raise self._unread("the name of a column is missing")
        return token.text

    def _value(self) -> Value:
        if token := self._took("number"):
            whole = token.text.lstrip("+-").isdecimal()
            return int(token.text) if whole else float(token.text)
        if token := self._took("text", "quoted"):
            return token.text
        if token := self._took("true", "false"):
            return token.kind == "true"
        if self._left[0].kind in ("word", *_WORDS):
            raise self._unread(f"write a text in quotation marks, '{self._left[0].text}'")
        raise self._unread("a value is missing")

    def _unread(self, why: str) -> InputError:
        kind, text, place = self._left[0]
        at = "its end" if kind == "end" else f"'{text[:20]}' (place {place + 1})"
        why = "that has no meaning here" if kind == "other" else why
        return InputError(f"{option('where')} cannot be read at {at}: {why}; {HOW}")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text.rstrip()):
        kind, part = str(match.lastgroup), str(match[match.lastgroup or 0])
        if kind in ("text", "quoted"):
            quote = "'" if kind == "text" else '"'
            part = part.replace(quote * 2, quote)
        has_meaning = kind == "mark" or (kind == "word" and part.lower() in _WORDS)
        yield _Token(part.lower() if has_meaning else kind, part, match.start(kind))
