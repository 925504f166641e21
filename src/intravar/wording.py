"""What whoever measures calls things: deciders, cases, the decision and its covariates.

Sentences have named places for these words. Where the words are known, they are attributes of
:class:`Words` in an f-string; elsewhere a :class:`Sentence` keeps its template until they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from intravar.errors import InputError, Option, naming, option, printable

#: Letters of a word, of a label and of a title at the most.
LONGEST_WORD, LONGEST_LABEL, LONGEST_TITLE = 40, 80, 120
#: What begins with the sound of a vowel, and what only looks like it.
_VOWEL = re.compile(r"(?!uni|use|eu|one|once)[aeiou]|hour|honest|honour|heir", re.IGNORECASE)


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
        decider, deciders = pair_of(asked.get("decider_word"), (cls.decider, cls.deciders))
        case, cases = pair_of(asked.get("case_word"), (cls.case, cls.cases))
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

    def fill(self, template: str, /, **values: object) -> str:
        """Fill a template whose places have the names of the attributes, and values by name.

        Examples
        --------
        >>> umpires = Words(decider="umpire", deciders="umpires", decision="strike")
        >>> umpires.fill("{A_decider} {says_yes} in {share} of 100", share=40)
        'An umpire decides for strike in 40 of 100'
        """
        told = {
            name: self.said(value) if isinstance(value, Sentence) else value
            for name, value in values.items()
        }
        return template.format_map(vars(self) | told)

    def said(self, text: str) -> str:
        """Say a sentence in these words; text of others stays as it is."""
        return self.fill(text.template, **text.values) if isinstance(text, Sentence) else text

    def role(self, use: str) -> str:
        """Return what to call the use of a column.

        Examples
        --------
        >>> Words(decider="judge").role("physician"), Words().role("covariate")
        ('judge', 'covariate')
        """
        return {"physician": self.decider, "patient": self.case}.get(use, use)

    def counted(self, n: int) -> str:
        """Return a number of deciders.

        Examples
        --------
        >>> Words().counted(1), Words().counted(2000)
        ('1 physician', '2,000 physicians')
        """
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

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Say what is wrong with the input in these words."""
        try:
            yield
        except InputError as error:
            message = error.message
            if not isinstance(message, Sentence) or self == USUAL:
                raise
            raise InputError(Sentence.of(self, message.template, message.values)) from error


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
    **values
        What else the template names; a sentence among them is said in the same words.

    Examples
    --------
    >>> told = Sentence("{n} {cases} of {a_decider} in '{name}'", n=2, name="patient")
    >>> told
    "2 patients of a physician in 'patient'"
    >>> Words(decider="agency", cases="claims").said(told)
    "2 claims of an agency in 'patient'"
    """

    __slots__ = ("template", "values", "words")
    template: str
    values: dict[str, object]
    words: Words

    def __new__(cls, template: str, /, **values: object) -> Sentence:
        """Fill the template with the usual words."""
        return cls.of(USUAL, template, values)

    @classmethod
    def of(cls, words: Words, template: str, values: dict[str, object]) -> Sentence:
        """Fill the template with some words."""
        made = super().__new__(cls, words.fill(template, **values))
        made.template, made.values, made.words = template, values, words
        return made

    def naming(self, how: Callable[[Option], str]) -> str:
        """Say it as somebody calls options."""
        called = {name: naming(value, how) for name, value in self.values.items()}
        return self.words.fill(self.template, **called)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it go to another process whole."""
        return Sentence.of, (self.words, self.template, self.values)


def pair_of(asked: str | None, usual: tuple[str, str]) -> tuple[str, str]:
    """Split a word into one and several; the usual ones where none is asked for."""
    if asked is None:
        return usual
    one, _, several = asked.partition(",")
    return one.strip(), several.strip()


def checked_pair(name: str, asked: str | None) -> str | None:
    """Return a word for one and several, or say what is wrong with it.

    Examples
    --------
    >>> checked_pair("decider_word", " hospital, hospitals")
    'hospital,hospitals'
    >>> checked_pair("decider_word", "judge")
    Traceback (most recent call last):
    intravar.errors.InputError: decider_word is 'judge'; give one and several with a comma \
between, such as judge,judges
    """
    if asked is None:
        return None
    parts = [part.strip() for part in asked.split(",")]
    if len(parts) != 2 and asked.strip():
        raise InputError(
            "{} is '{}'; give one and several with a comma between, such as {},{}s",
            option(name),
            _shown(asked),
            _shown(parts[0]),
            _shown(parts[0]),
        )
    return ",".join(str(checked_word(name, part)) for part in parts)


def checked_word(name: str, asked: str | None, longest: int = LONGEST_WORD) -> str | None:
    """Return a word of others that may stand in every sentence, or say what is wrong with it."""
    if asked is None:
        return None
    word = " ".join(unicodedata.normalize("NFC", asked).split(" ")).strip()
    if not word:
        raise InputError("{} is empty; give a word, or leave it out", option(name))
    if printable(word) != word or set(word) & set("\n\t"):
        raise InputError(
            "{} is '{}'; it holds characters that are not text, leave them out",
            option(name),
            _shown(word),
        )
    if len(word) > longest:
        raise InputError(
            "{} has {} letters ('{}'); give {} at the most",
            option(name),
            len(word),
            _shown(word),
            longest,
        )
    return word


def _shown(text: str) -> str:
    return printable(" ".join(text.split()))[:60]
