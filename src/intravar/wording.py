"""What whoever measures calls things: deciders, cases, the decision and its covariates.

Sentences are written with physicians and patients; where they leave, they are said in the words of
whoever asked. Text of theirs within a sentence of ours, in quotes or marked, stays as it is.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from intravar.errors import THEIRS, InputError, option
from intravar.printable import printable

#: Letters of a word, of a label and of a title at the most.
LONGEST_WORD, LONGEST_LABEL, LONGEST_TITLE = 40, 80, 120
# What stays as it is: options, marked text, quotations, flags, files.
_KEPT = re.compile(
    f"\ue000[^\ue002]*\ue002|(?P<theirs>{THEIRS[0]}[^{THEIRS[1]}]*{THEIRS[1]})"
    r"|(?<!\w)'[^'\n]*'(?!\w)|--[\w-]+|\b[\w-]+\.(?:csv|parquet|json|html|toml)\b"
)
_SAID = re.compile(
    f"(?P<kept>{_KEPT.pattern})"
    r"|(?:\b(?P<article>[Aa]n?) )?\b(?P<noun>[Pp]hysician|PHYSICIAN|[Pp]atient|PATIENT)"
    r"(?P<many>[sS]?)(?P<own>'s\b|'(?!\w))?(?!\w)"
    r"|\b(?P<decided>[Dd]ecided (?:for|against))\b"
    r"|\b(?P<yes>says yes|say yes|rate of \"yes\")(?!\w)"
)
_YES = {"says yes": "decides for", "say yes": "decide for", 'rate of "yes"': "rate of"}
#: What begins with the sound of a vowel, and what only looks like it.
_VOWEL = re.compile(r"(?!uni|use|eu|one|once)[aeiou]|hour|honest|honour|heir", re.IGNORECASE)


@dataclass(frozen=True)
class Words:
    """What things are called.

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
    >>> words.said("Two patients of a physician in the physicians' table 'patient'")
    "Two claims of an agency in the agencies' table 'patient'"
    >>> Words(decision="statin").said("the share decided for")
    'the share decided for statin'
    """

    decider: str = "physician"
    deciders: str = "physicians"
    case: str = "patient"
    cases: str = "patients"
    decision: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    title: str | None = None

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

    @classmethod
    def in_summary(cls, summary: Mapping[str, Any]) -> Words:
        """Return the words of a stored measurement; the usual ones where none were asked for."""
        return cls.of(summary.get("request", {}).get("words", {}))

    def fill(self, template: str, /, **values: object) -> str:
        """Fill a sentence: `{decider}`, `{deciders}`, `{case}` and the like, and values by name.

        Beside these there are `{Decider}` and so on at the beginning of a sentence, `{a_decider}`
        with its article, `{deciders_own}` (physicians'), `{decided_for}`, `{decided_against}`,
        `{say_yes}`, `{says_yes}` and `{rate_of_yes}`.

        Examples
        --------
        >>> umpires = Words(decider="umpire", deciders="umpires", decision="strike")
        >>> umpires.fill("{A_decider} {says_yes} in {share} of 100", share=40)
        'An umpire decides for strike in 40 of 100'
        """
        return template.format_map(_fields(self) | values)

    def said(self, text: str) -> str:
        """Say a sentence of ours in these words."""
        return _SAID.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        if found["theirs"]:
            return found["theirs"][1:-1]
        if found["kept"]:
            return found["kept"]
        if found["noun"]:
            return self._noun(found)
        if self.decision is None:
            return found[0]
        told = found["decided"] or _YES[found["yes"]]
        return f"{told} {self.decision}"

    def _noun(self, found: re.Match[str]) -> str:
        one, several = (
            (self.decider, self.deciders)
            if found["noun"].lower() == "physician"
            else (self.case, self.cases)
        )
        word = several if found["many"] else one
        if found["noun"].isupper():
            word = word.upper()
        elif found["noun"][0].isupper():
            word = f"{word[0].upper()}{word[1:]}"
        own = found["own"] or ""
        if own == "'" and not word.endswith("s"):
            own = "'s"
        if found["article"] is None:
            return f"{word}{own}"
        article = f"{found['article'][0]}{'n' if _VOWEL.match(word) else ''}"
        return f"{article} {word}{own}"

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

    def labelled(self, text: str) -> str:
        """Return a text of ours with labels for the columns that it names.

        Examples
        --------
        >>> Words(labels=(("AGE", "age"),)).labelled("weighs AGE more")
        'weighs age more'
        """
        if not self.labels:
            return text
        names = "|".join(re.escape(name) for name, _ in self.labels)
        return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: self.label(found[0]), text)

    def escaped(self) -> Words:
        """Return the words as they stand in the text of a page."""
        return replace(
            self,
            decider=html.escape(self.decider),
            deciders=html.escape(self.deciders),
            case=html.escape(self.case),
            cases=html.escape(self.cases),
            decision=None if self.decision is None else html.escape(self.decision),
        )

    @contextmanager
    def in_errors(self) -> Iterator[None]:
        """Say what is wrong with the input in these words."""
        try:
            yield
        except InputError as error:
            told = error.reworded(self.said)
            if str(told) == str(error):
                raise
            raise told from error


@cache
def _fields(words: Words) -> dict[str, object]:
    """Return what templates may name."""
    found: dict[str, object] = {}
    for name in ("decider", "deciders", "case", "cases"):
        word: str = getattr(words, name)
        found[name] = word
        found[name.capitalize()] = capital(word)
        found[f"{name}_own"] = f"{word}'" if word.endswith("s") else f"{word}'s"
    for name in ("decider", "case"):
        found[f"a_{name}"] = with_article(str(found[name]))
        found[f"A_{name}"] = capital(with_article(str(found[name])))
    it = "" if words.decision is None else f" {words.decision}"
    found |= {f"decided_{way}": f"decided {way}{it}" for way in ("for", "against")}
    found |= {
        "say_yes": f"decide for{it}" if it else "say yes",
        "says_yes": f"decides for{it}" if it else "says yes",
        "rate_of_yes": f"rate of{it}" if it else 'rate of "yes"',
    }
    return found


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
            f"{option(name)} is '{_shown(asked)}'; give one and several with a comma between, such "
            f"as {_shown(parts[0])},{_shown(parts[0])}s"
        )
    return ",".join(str(checked_word(name, part)) for part in parts)


def checked_word(name: str, asked: str | None, longest: int = LONGEST_WORD) -> str | None:
    """Return a word of others that may stand in every sentence, or say what is wrong with it."""
    if asked is None:
        return None
    word = " ".join(unicodedata.normalize("NFC", asked).split(" ")).strip()
    if not word:
        raise InputError(f"{option(name)} is empty; give a word, or leave it out")
    if printable(word) != word or set(word) & {"\n", "\t", *THEIRS, "\ue000", "\ue002"}:
        raise InputError(
            f"{option(name)} is '{_shown(word)}'; it holds characters that are not text, leave "
            "them out"
        )
    if len(word) > longest:
        raise InputError(
            f"{option(name)} has {len(word)} letters ('{_shown(word)}'); give {longest} at the most"
        )
    return word


def _shown(text: str) -> str:
    return printable(" ".join(text.split()))[:60]
