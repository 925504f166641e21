"""The discordance among comparable pairs, from a sample of pairs that reviewers judged.

All pairs that are alike in the record are phase one: the share `r` of them that was decided
differently is known. Of each kind, decided differently (1) or alike (0), some pairs are reviewed:
phase two. With `c1` and `c0` the shares of the two kinds that reviewers find comparable,

    D = r c1 / (r c1 + (1 - r) c0),    logit D = logit r + log c1 - log c0.

On this scale the three parts are independent. Each has Jeffreys' interval of a share, which holds
for small counts too; the distances of their ends from their middles are squared and added (MOVER).

References
----------
Neyman, Contribution to the theory of sampling human populations, JASA 1938;33:101-116.
Breslow and Cain, Logistic regression for two-stage case-control data, Biometrika 1988;75:11-20.
Zou and Donner, Construction of confidence limits about effect measures: a general approach,
Statistics in Medicine 2008;27:1693-1702.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, expit, gammaln, logit

from intravar.arrays import FloatArray
from intravar.inference.intervals import LEVEL
from intravar.publication.policy import is_few
from intravar.publication.results import Figure
from intravar.seeds import stream

_TAIL = (1 - LEVEL) / 2
#: Before anything is reviewed: shares of pairs decided differently, and alike, thought comparable.
GUESS = (0.5, 0.7)
#: Share of reviewed pairs that should be decided differently: with shares c as guessed, the odds
#: sqrt((1 - c) / c) of both kinds make the variance of log c1 - log c0 smallest.
SHARE_DIFFERENT = 0.6
#: Draws of the posterior of every physician.
DRAWS = 4_000
#: What pooling may be like: a mean, and how many pairs it is worth to each physician.
_MEANS = np.linspace(0.0125, 0.9875, 40)
_WORTH = np.geomspace(0.5, 500, 40)


@dataclass(frozen=True)
class Kind:
    """Judged pairs of one kind, all decided differently or all alike.

    `comparable` counts a contradicted pair by half; `share` is the weighted share of comparable
    pairs, `worth` what the judged pairs are worth.
    """

    comparable: float
    judged: int
    share: float
    worth: float

    @classmethod
    def of(cls, comparable: FloatArray, weight: FloatArray) -> Kind:
        """Count pairs that stand for unequal numbers of others.

        Examples
        --------
        >>> Kind.of(np.array([1.0, 0.0, 1.0, 1.0]), np.full(4, 5.0))
        Kind(comparable=3.0, judged=4, share=0.75, worth=4.0)
        """
        if not len(weight):
            return cls(0.0, 0, 0.0, 0.0)
        worth = float(weight.sum() ** 2 / np.square(weight).sum())
        share = float(weight @ comparable / weight.sum())
        return cls(float(comparable.sum()), len(weight), round(share, 9), round(worth, 9))

    @classmethod
    def whole(cls, comparable: float, judged: int) -> Kind:
        """Return pairs that all stand for equally many."""
        return cls(comparable, judged, comparable / judged if judged else 0.0, float(judged))

    def is_few(self, smallest: int) -> bool:
        """Tell whether a small count stands behind it."""
        return is_few(self.comparable, smallest) or is_few(self.judged - self.comparable, smallest)


def discordance_of(
    record: FloatArray | float,
    different: tuple[FloatArray | float, FloatArray | float],
    alike: tuple[FloatArray | float, FloatArray | float],
    n_frame: FloatArray | float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the discordance among comparable pairs, and the ends of its interval.

    `record` is the share of the `n_frame` pairs of phase one that were decided differently; of each
    kind it is told how many pairs were found comparable and how many were judged.

    Examples
    --------
    >>> [float(end.round(2)) for end in discordance_of(0.28, (24, 60), (45, 60), 2_000)]
    [0.17, 0.12, 0.23]
    """
    share, (c1, n1), (c0, n0) = np.asarray(record), different, alike
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = share * np.divide(c1, n1), (1 - share) * np.divide(c0, n0)
        middle = np.asarray(first / (first + second))
        parts = (
            [logit(end) for end in _jeffreys(share * n_frame, n_frame)],
            [np.log(end) for end in _jeffreys(c1, n1)],
            [-np.log(end) for end in _jeffreys(c0, n0)][::-1],
        )
        centre = sum(part[1] for part in parts)
        below = np.sqrt(sum(np.square(part[1] - part[0]) for part in parts))
        above = np.sqrt(sum(np.square(part[2] - part[1]) for part in parts))
        low = np.minimum(expit(centre - below), middle)
        high = np.maximum(expit(centre + above), middle)
    undefined = np.asarray(c1) + np.asarray(c0) == 0
    return tuple(np.where(undefined, np.nan, each) for each in (middle, low, high))  # type: ignore[return-value]


def _jeffreys(
    count: FloatArray | float, trials: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Jeffreys' interval of a share, with its median between."""
    a, b = np.asarray(count) + 0.5, np.asarray(trials) - np.asarray(count) + 0.5
    low, middle, high = (betaincinv(a, b, q) for q in (_TAIL, 0.5, 1 - _TAIL))
    return np.where(a > 0.5, low, 0.0), middle, np.where(b > 0.5, high, 1.0)


def estimate(record: float, different: Kind, alike: Kind, n_frame: float) -> Figure:
    """Return the figure of one group of pairs; NaN where no pair was found comparable."""
    first, second = ((kind.share * kind.worth, kind.worth) for kind in (different, alike))
    return Figure(*(float(each) for each in discordance_of(record, first, second, n_frame)))


def pooled_estimates(
    frame: tuple[FloatArray, FloatArray],
    different: tuple[FloatArray, FloatArray],
    alike: tuple[FloatArray, FloatArray],
    draws: int = DRAWS,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return every physician's discordance with its interval, pulled towards that of all.

    The shares of pairs that are comparable follow a Beta law over physicians, of which mean and
    width are learned from all of them and not taken as known: with few pairs each, an interval
    that takes them as known is too narrow. Of every physician, `frame` has the pairs of phase one
    that were decided differently, and alike; each kind the pairs found comparable and judged.
    """
    random = stream(0, "review", "physicians")
    shares = [_drawn_shares(*kind, draws, random) for kind in (different, alike)]
    record = random.beta(frame[0] + 0.5, frame[1] + 0.5, size=(draws, len(frame[0])))
    first, second = record * shares[0], (1 - record) * shares[1]
    ends = [_TAIL, 0.5, 1 - _TAIL]
    low, middle, high = np.quantile(first / (first + second), ends, axis=0)
    return middle, low, high


def _drawn_shares(
    comparable: FloatArray, judged: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Draw the share of comparable pairs of every physician from its posterior."""
    mean, worth = (each.ravel() for each in np.meshgrid(_MEANS, _WORTH, indexing="ij"))
    a, b = mean * worth, (1 - mean) * worth
    rest = judged - comparable
    log = sum(
        gammaln(a + c) + gammaln(b + r) - gammaln(worth + c + r)
        for c, r in zip(comparable.tolist(), rest.tolist(), strict=True)
    ) + len(comparable) * (gammaln(worth) - gammaln(a) - gammaln(b))
    # Flat in the mean and in the share of variance that lies between physicians.
    log = np.asarray(log) + np.log(worth) - 2 * np.log1p(worth)
    probability = np.exp(log - log.max())
    at = random.choice(len(mean), size=draws, p=probability / probability.sum())
    shares = random.beta(a[at][:, None] + comparable, b[at][:, None] + rest)
    return np.clip(shares, 1e-9, 1.0)
