"""What whoever measures calls things: deciders, cases, the decision and its covariates.

Sentences have named places for these words. Where the words are known, they are attributes of
:class:`Words` in an f-string; elsewhere a :class:`Sentence` keeps its template until they are.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

#: What begins with the sound of a vowel, and what only looks like it.
_VOWEL = re.compile(r"(?!uni|use|eu|one|once)[aeiou]|hour|honest|honour|heir", re.IGNORECASE)

#: Arguments that are called otherwise on the command line.
_FLAGS = {"most": "--pairs", "labels": "--label", "random_state": "--seed"}
_LISTS = ("covariates", "exclude", "after", "confirm", "categorical", "methods")


#: Stands before and after an option in an f-string. No text of a user's can hold it, because it is
#: drawn anew by every process.
_MARK = f"\ue000{secrets.token_hex(8)}\ue001"


def declared_in(package: str, name: str) -> dict[str, Any]:
    """Return what a TOML file of a package declares: words, sentences, looks."""
    # Loaded where it is asked for: importing intravar costs next to nothing.
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files(package).joinpath(f"{name}.toml").read_text("utf-8"))


class Option(NamedTuple):
    """An argument that a message names: as Python does, or as a flag of the command.

    In an f-string it is marked, so that :func:`with_options` finds it again.
    """

    name: str
    value: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        value = [self.value] if self.name in _LISTS else self.value
        return f"{self.name}={value!r}"

    def __format__(self, spec: str, /) -> str:
        return f"{_MARK}{json.dumps(self)}{_MARK}"

    @property
    def flag(self) -> str:
        """What it is called on the command line, with its value."""
        flag = flag_of(self.name)
        return flag if self.value is None else f"{flag} {shlex.quote(self.value)}"


#: How messages name one.
option = Option


def flag_of(name: str) -> str:
    """Return what an argument is called on the command line.

    Examples
    --------
    >>> flag_of("min_panel"), flag_of("random_state")
    ('--min-panel', '--seed')
    """
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


class _Forms:
    """Forms of the words that sentences have places for; :class:`Words` makes them."""

    a_decider: str
    A_decider: str
    Deciders: str
    decider_own: str
    deciders_own: str
    Case: str
    Cases: str
    decided_for: str
    decided_against: str
    say_yes: str
    says_yes: str
    rate_of_yes: str


@dataclass(frozen=True)
class Words(_Forms):
    """What things are called, in the forms that sentences need.

    `words.Deciders` begins a sentence, `words.a_decider` has its article, `words.deciders_own` is
    "physicians'"; `decided_for`, `decided_against`, `say_yes`, `says_yes` and `rate_of_yes` name
    the decision.

    Attributes
    ----------
    decider, deciders
        Whoever decides: one, and several.
    case, cases
        Whoever or whatever is decided about.
    decision
        What is decided for; None where it is a plain yes.
    labels
        Columns and what to call them.
    title
        Of the page; None for its question.

    Examples
    --------
    >>> words = Words(decider="agency", deciders="agencies", case="claim", cases="claims")
    >>> words.fill("Two {cases} of {a_decider} in the {deciders_own} table 'patient'")
    "Two claims of an agency in the agencies' table 'patient'"
    >>> f"the share {Words(decision='statin').decided_for}"
    'the share decided for statin'
    """

    decider: str = "physician"
    deciders: str = "physicians"
    case: str = "patient"
    cases: str = "patients"
    decision: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    title: str | None = None

    def __post_init__(self) -> None:
        forms: dict[str, str] = {}
        for one, several in (("decider", "deciders"), ("case", "cases")):
            for name in (one, several):
                word: str = getattr(self, name)
                own = f"{word}'" if word.endswith("s") else f"{word}'s"
                forms |= {f"{name}_own": own, name.capitalize(): capital(word)}
            article = with_article(getattr(self, one))
            forms |= {f"a_{one}": article, f"A_{one}": capital(article)}
        it = "" if self.decision is None else f" {self.decision}"
        forms |= {f"decided_{way}": f"decided {way}{it}" for way in ("for", "against")}
        forms |= {
            "say_yes": f"decide for{it}" if it else "say yes",
            "says_yes": f"decides for{it}" if it else "says yes",
            "rate_of_yes": f"rate of{it}" if it else 'rate of "yes"',
        }
        vars(self).update(forms)

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Words:
        """Return the words of a request's section, as it is stored.

        Examples
        --------
        >>> Words.of({"decider_word": "hospital,hospitals"}).deciders
        'hospitals'
        """
        decider, _, deciders = (asked.get("decider_word") or "physician,physicians").partition(",")
        case, _, cases = (asked.get("case_word") or "patient,patients").partition(",")
        labels = asked.get("labels") or ()
        listed = labels.items() if isinstance(labels, Mapping) else labels
        return cls(
            decider,
            deciders,
            case,
            cases,
            asked.get("decision_word"),
            tuple((str(name), str(label)) for name, label in listed),
            asked.get("title"),
        )

    def fill(self, template: str, /, *values: object, **named: object) -> str:
        """Fill a template whose places have the names of the attributes, or of what is given.

        Examples
        --------
        >>> umpires = Words(decider="umpire", deciders="umpires", decision="strike")
        >>> umpires.fill("{A_decider} {says_yes} in {share} of 100", share=40)
        'An umpire decides for strike in 40 of 100'
        """
        said = {name: self._said(value) for name, value in named.items()}
        return template.format(*map(self._said, values), **(vars(self) | said))

    def _said(self, value: object) -> object:
        if isinstance(value, Sentence):
            return value.in_words(self)
        return str(value) if isinstance(value, Option) else value

    def said(self, text: str) -> str:
        """Say a sentence in these words; text of others stays as it is."""
        return text.in_words(self) if isinstance(text, Sentence) else text

    def role(self, use: str) -> str:
        """Return what to call the use of a column.

        Examples
        --------
        >>> Words(decider="judge").role("physician"), Words().role("covariate")
        ('judge', 'covariate')
        """
        return {"physician": self.decider, "patient": self.case}.get(use, use)

    def counted(self, n: int) -> str:
        """Return a number of deciders."""
        return f"{n:,} {self.decider if n == 1 else self.deciders}"

    def label(self, column: str) -> str:
        """Return what to call a column, or one that was coded from it.

        Examples
        --------
        >>> words = Words(labels=(("RATRIAL", "atrial fibrillation"),))
        >>> words.label("RATRIAL"), words.label("RATRIAL=Y"), words.label("AGE")
        ('atrial fibrillation', 'atrial fibrillation=Y', 'AGE')
        """
        for name, label in self.labels:
            if column == name:
                return label
            if column.startswith((f"{name}=", f"{name} (missing)")):
                return f"{label}{column[len(name) :]}"
        return column


def with_article(word: str) -> str:
    """Put "a" or "an" before a word.

    Examples
    --------
    >>> with_article("umpire"), with_article("unit"), with_article("hospital")
    ('an umpire', 'a unit', 'a hospital')
    """
    return f"a{'n' if _VOWEL.match(word) else ''} {word}"


def capital(text: str) -> str:
    """Return a text that begins with a capital."""
    return f"{text[:1].upper()}{text[1:]}"


def agree(n: int, one: str, several: str) -> str:
    """Return the form of a word that goes with a number.

    Examples
    --------
    >>> f"1 of 43 {agree(1, 'has', 'have')}"
    '1 of 43 has'
    """
    return one if n == 1 else several


#: The words of whoever asks for none.
USUAL = Words()


class Sentence(str):
    """A sentence in the usual words that can be said in others: it keeps its template.

    Parameters
    ----------
    template
        With the fields of :meth:`Words.fill`.
    *values, **named
        What else the template has places for, in their order and by name: values, options, texts
        with options in them, and sentences, which are said in the same words.

    Examples
    --------
    >>> told = Sentence("{} {cases} of {a_decider} in '{name}'", 2, name="patient")
    >>> told
    "2 patients of a physician in 'patient'"
    >>> Words(decider="agency", cases="claims").said(told)
    "2 claims of an agency in 'patient'"
    >>> naming(Sentence("choose one with {}", option("table", "visits")), lambda each: each.flag)
    'choose one with --table visits'
    """

    __slots__ = ("named", "template", "values", "words")
    template: str
    values: tuple[object, ...]
    named: dict[str, object]
    words: Words

    def __new__(cls, template: str, /, *values: object, **named: object) -> Sentence:
        """Fill the template with the usual words."""
        named = {name: with_options(value) for name, value in named.items()}
        return cls.of(USUAL, template, tuple(map(with_options, values)), named)

    @classmethod
    def of(
        cls, words: Words, template: str, values: tuple[object, ...], named: dict[str, object]
    ) -> Sentence:
        """Fill the template with some words."""
        made = super().__new__(cls, words.fill(template, *values, **named))
        made.template, made.values, made.named, made.words = template, values, named, words
        return made

    def in_words(self, words: Words) -> Sentence:
        """Return the sentence in other words."""
        return Sentence.of(words, self.template, self.values, self.named)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it go to another process whole."""
        return Sentence.of, (self.words, self.template, self.values, self.named)


def with_options(value: Any) -> Any:
    """Return a text in which options are marked as a sentence that keeps them, all else as it is.

    Examples
    --------
    >>> sentence = with_options(f"choose one with {option('table', 'visits')}")
    >>> sentence, naming(sentence, lambda each: each.flag)
    ("choose one with table='visits'", 'choose one with --table visits')
    """
    if not isinstance(value, str) or _MARK not in value:
        return value
    texts, options = (value.split(_MARK)[first::2] for first in (0, 1))
    template = "{}".join(text.replace("{", "{{").replace("}", "}}") for text in texts)
    return Sentence(template, *(Option(*json.loads(each)) for each in options))


def naming(value: object, how: Callable[[Option], str]) -> object:
    """Return an option, or a sentence with the options in it, as somebody calls them."""
    if isinstance(value, Option):
        return how(value)
    if not isinstance(value, Sentence):
        return value
    values = (naming(each, how) for each in value.values)
    named = {name: naming(each, how) for name, each in value.named.items()}
    return value.words.fill(value.template, *values, **named)
