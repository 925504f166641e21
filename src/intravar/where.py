"""Which patients are meant: an expression that compares columns with values, and no code.

Nothing of `age >= 75 and diabetes = 1` is ever executed. It is read from left to right; whoever
reads says what a single comparison gives, and these answers are put together.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeAlias

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
    parser = _Parser(text, compare)
    holds = parser.holds()
    parser.expect("'and' or 'or' is missing before it", "end")
    return holds


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

    @classmethod
    def of(cls, match: re.Match[str]) -> Self:
        kind = str(match.lastgroup)
        part, quote = match[kind], {"text": "'", "quoted": '"'}.get(kind)
        has_meaning = kind == "mark" or (kind == "word" and part.lower() in _WORDS)
        text = part.replace(quote * 2, quote) if quote else part
        return cls(part.lower() if has_meaning else kind, text, match.start(kind))


class _Parser:
    """Reads from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str, compare: Compare) -> None:
        self._compare, self._depth = compare, 0
        self._left = [_Token.of(match) for match in _TOKEN.finditer(text.rstrip())]
        self._left.append(_Token("end", "", len(text)))

    def expect(self, why: str, *kinds: str) -> str:
        """Take the next part if it is of a kind; say why it cannot be read if not."""
        if self._left[0].kind not in kinds:
            raise self._unread(why)
        return self._left.pop(0).text

    def holds(self) -> Any:
        """Return what alternatives give."""
        either = self._all()
        while self._took("or"):
            either = either | self._all()
        return either

    def _all(self) -> Any:
        both = self._one()
        while self._took("and"):
            both = both & self._one()
        return both

    def _took(self, *kinds: str) -> _Token | None:
        return self._left.pop(0) if self._left[0].kind in kinds else None

    def _one(self) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._unread(f"more than {DEEPEST} parts lie within each other")
        if self._took("not"):
            holds = ~self._one()
        elif self._took("("):
            holds = self.holds()
            self.expect("')' is missing before it", ")")
        else:
            holds = self._comparison()
        self._depth -= 1
        return holds

    def _comparison(self) -> Any:
        if self._left[0].kind in ("number", "text"):
            value, operator = self._value(), self._operator("a value")
            return self._compare(self._column(), _TURNED.get(operator, operator), value)
        column = self._column()
        is_known = self._took("is")
        denied = self._took("not")
        if is_known:
            self.expect("after 'is' comes 'missing' or 'not missing'", "missing", "null")
            holds = self._compare(column, MISSING, "")
        elif self._took("in"):
            self.expect("'(' is missing before it", "(")
            holds = self._compare(column, "=", self._value())
            while self._took(","):
                holds = holds | self._compare(column, "=", self._value())
            self.expect("')' is missing before it", ")")
        elif self._took("between"):
            holds = self._compare(column, ">=", self._value())
            self.expect("'and' is missing before it", "and")
            holds = holds & self._compare(column, "<=", self._value())
        elif denied:
            raise self._unread("after 'not' comes 'in' or 'between' here")
        else:
            operator = self._operator(f"the column '{column[:40]}'")
            return self._compare(column, operator, self._value())
        return ~holds if denied else holds

    def _operator(self, after: str) -> str:
        written = self.expect(f"after {after} comes a comparison", "operator")
        return _MEANT.get(written, written)

    def _column(self) -> str:
        return self.expect("the name of a column is missing", "word", "quoted", "ticked")

    def _value(self) -> Value:
        if token := self._took("number"):
            whole = token.text.lstrip("+-").isdecimal()
            return int(token.text) if whole else float(token.text)
        if token := self._took("true", "false"):
            return token.kind == "true"
        is_word = self._left[0].kind in ("word", *_WORDS)
        word = f"write a text in quotation marks, '{self._left[0].text}'"
        return self.expect(word if is_word else "a value is missing", "text", "quoted")

    def _unread(self, why: str) -> InputError:
        kind, text, place = self._left[0]
        at = "its end" if kind == "end" else f"'{text[:20]}' (place {place + 1})"
        why = "that has no meaning here" if kind == "other" else why
        return InputError(f"{option('where')} cannot be read at {at}: {why}; {HOW}")
