"""Bands instead of nothing: where a score lies, when its value would give a count away.

There are two, and they overlap: at most 0.25, and 0.10 or more. A score between is told as the one
or the other by a secret of the physician's own, drawn from the key of the pseudonyms. Were there
one edge that everybody knows, two publications that differ by one patient would tell the count of
whoever crosses it. Between 0.10 and 0.25 lie at least two counts in any panel that gets a band, so
that even who crosses tells no count.

Where the panel's size is shown and the score is one of counted decisions, the band also ends where
the largest hidden count would put the score: that follows from the size alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Where the upper band begins and the lower one ends.
FROM, TO = 0.10, 0.25
#: Ends that follow from the size of a panel are rounded up to this.
STEP = 0.05
#: Hidden counts that must lie in the upper band; with fewer there is only the lower one. One of
#: them is no small count, and another could be told from a second publication.
FEWEST_COUNTS = 4
#: In smaller panels fewer counts would lie where bands overlap.
FEWEST_PATIENTS = 30
#: Two decisions differ with probability one half at the most.
MOST = 0.5


@dataclass(frozen=True)
class Reach:
    """How far the scores of hidden counts reach.

    Attributes
    ----------
    smallest
        The smallest count that is shown, and the largest that is hidden.
    pairs
        Whether a score is a share of pairs; else it is 2 p (1 - p) of a share of patients.
    known
        Whether the patients behind a score are known to whoever reads its band.
    """

    smallest: int
    pairs: bool = False
    known: bool = False

    def score(self, count: int, trials: float) -> float:
        """Return the score of a count."""
        share = min(max(count, 0) / trials, 1.0 if self.pairs else 0.5) if trials > 0 else 0.0
        return share if self.pairs else 2 * share * (1 - share)


@dataclass(frozen=True)
class Band:
    """A band of scores; `high` is one half where it is open.

    Examples
    --------
    >>> Band(0.0, 0.25).text, Band(0.1, 0.35).text, Band(0.1, 0.5).text
    ('at most 0.25', '0.10 to 0.35', '0.10 or more')
    """

    low: float
    high: float

    @classmethod
    def of_text(cls, text: str) -> Band:
        """Return the band that is told in these words.

        Examples
        --------
        >>> Band.of_text("at most 0.25"), Band.of_text("0.10 to 0.35"), Band.of_text("0.10 or more")
        (Band(low=0.0, high=0.25), Band(low=0.1, high=0.35), Band(low=0.1, high=0.5))
        """
        if text.startswith("at most "):
            return cls(0.0, float(text.removeprefix("at most ")))
        if text.endswith(" or more"):
            return cls(float(text.removesuffix(" or more")), MOST)
        low, high = text.split(" to ")
        return cls(float(low), float(high))

    @property
    def text(self) -> str:
        """The band in words."""
        if self.low == 0:
            return f"at most {self.high:.2f}"
        return (
            f"{self.low:.2f} or more" if self.high >= MOST else f"{self.low:.2f} to {self.high:.2f}"
        )

    @property
    def of_hundred(self) -> str:
        """The band as a number of 100.

        Examples
        --------
        >>> Band(0.0, 0.25).of_hundred, Band(0.1, 0.35).of_hundred, Band(0.1, 0.5).of_hundred
        ('at most 25', '10 to 35', '10 or more')
        """
        if self.low == 0:
            return f"at most {100 * self.high:.0f}"
        low, high = f"{100 * self.low:.0f}", f"{100 * self.high:.0f}"
        return f"{low} or more" if self.high >= MOST else f"{low} to {high}"

    @property
    def middle(self) -> float:
        """What stands for the score where all are counted together."""
        return (self.low + self.high) / 2


def band_of(score: float, secret: float, trials: float, reach: Reach) -> Band | None:
    """Return the band of a hidden score; None where none can be told.

    Parameters
    ----------
    score
        A discordance.
    secret
        Of this physician, between 0 and 1.
    trials
        Patients or pairs that stand behind it.
    reach
        How far hidden scores reach.

    Examples
    --------
    >>> counts = Reach(11, known=True)
    >>> band_of(0.02, 0.5, 60, counts).text, band_of(0.28, 0.5, 60, counts).text
    ('at most 0.25', '0.10 to 0.30')
    >>> band_of(0.15, 0.2, 60, counts).text, band_of(0.15, 0.9, 60, counts).text
    ('0.10 to 0.30', 'at most 0.25')
    >>> band_of(0.02, 0.5, 500, counts).text
    'at most 0.05'
    """
    if not math.isfinite(score):
        return None
    largest = reach.score(reach.smallest, trials)
    end = MOST
    if reach.known and score <= largest:
        end = min(MOST, round(STEP * math.ceil(largest / STEP - 1e-9), 2))
    if reach.score(reach.smallest + 1 - FEWEST_COUNTS, trials) > FROM:
        lower = score <= FROM + (TO - FROM) * secret
        return Band(0.0, min(TO, end)) if lower else Band(FROM, end)
    if reach.known and score <= largest:
        return Band(0.0, end)
    return Band(0.0, TO) if max(score, largest) <= TO else None
