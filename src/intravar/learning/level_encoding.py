"""Target encoding of categories that have many levels.

A diagnosis code with hundreds of levels is one number in a model: the logit of P(yes) among the
patients of the level, shrunk towards that of all patients. How far it is shrunk is estimated. The
shares of the levels follow a beta distribution around the overall share, and its strength, in
patients, has the largest marginal likelihood of the counts. A level with one patient hardly differs
from the overall share, a level with two hundred speaks for itself. If the levels differ no more
than by chance, all of them have the overall share.

The encoding of a patient who was learned from leaves out the patient's own group of rows. A model
that is fitted to encodings that contain the decision itself trusts them far too much.

References
----------
Micci-Barreca, A preprocessing scheme for high-cardinality categorical attributes in classification
and prediction problems, SIGKDD Explorations 2001;3(1):27-32.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, logit

from intravar.arrays import FloatArray, IntArray

#: Strengths of the prior that are compared, in patients: from levels that decide alone to levels
#: that hardly differ.
STRENGTHS = np.geomspace(0.25, 4096.0, 29)
#: Log-likelihood by which levels must differ more than by chance (one-sided 2.5 %: 1.92).
SMALLEST_GAIN = 2.0


class LevelEncoding(NamedTuple):
    """Encoding of one category.

    Attributes
    ----------
    values
        Shrunk logit of P(yes) by number of the level.
    unknown
        The same for a level that was not learned from.
    """

    values: FloatArray
    unknown: float

    def encode(self, levels: IntArray) -> FloatArray:
        """Return the value of every row by the number of its level.

        Examples
        --------
        >>> LevelEncoding(np.array([0.5, -0.5]), 0.1).encode(np.array([1, 0, 7, -1])).tolist()
        [-0.5, 0.5, 0.1, 0.1]
        """
        known = (levels >= 0) & (levels < len(self.values))
        encoded = np.full(len(levels), self.unknown)
        encoded[known] = self.values[levels[known]]
        return encoded


def learn_encoding(
    levels: IntArray, y: IntArray, group: IntArray
) -> tuple[LevelEncoding, FloatArray]:
    """Learn the encoding of a category; return that of the rows learned from as well.

    Parameters
    ----------
    levels
        Number of the level of every row, negative where a level is not numbered.
    y
        Decisions.
    group
        Number per row. A row is encoded without the rows of its own group.

    Returns
    -------
    encoding
        From all rows, for rows that were not learned from.
    encoded
        One value per row, from the rows of the other groups.

    Examples
    --------
    >>> levels = np.repeat(np.arange(20), 30)
    >>> y = np.where(np.arange(600) % 30 < 25, levels % 2, 1 - levels % 2)
    >>> encoding, encoded = learn_encoding(levels, y, np.arange(600) % 5)
    >>> encoding.values[:2].round(1).tolist(), round(encoding.unknown, 1)
    ([-1.5, 1.5], 0.0)
    """
    numbered = levels >= 0
    n_levels = int(levels.max(initial=-1)) + 1
    n_groups = int(group.max(initial=-1)) + 1
    cell = group[numbered] * n_levels + levels[numbered]
    shape = (n_groups, n_levels)
    counts = np.bincount(cell, minlength=n_groups * n_levels).reshape(shape)
    yes = np.bincount(cell, y[numbered], minlength=n_groups * n_levels).reshape(shape)
    share = (float(y.sum()) + 0.5) / (len(y) + 1)
    strength = prior_strength(counts.sum(axis=0), yes.sum(axis=0).astype(np.int64), share)
    values = _shrunken_logit(counts.sum(axis=0), yes.sum(axis=0), share, strength)
    encoding = LevelEncoding(values, float(logit(share)))
    encoded = np.full(len(levels), encoding.unknown)
    other_counts = counts.sum(axis=0) - counts
    other_yes = yes.sum(axis=0) - yes
    without_group = _shrunken_logit(other_counts, other_yes, share, strength)
    encoded[numbered] = without_group.ravel()[cell]
    return encoding, encoded


def prior_strength(counts: IntArray, yes: IntArray, share: float) -> float:
    """Return how many patients the overall share counts for, infinite if levels do not differ.

    Parameters
    ----------
    counts, yes
        Patients of every level, and those of them with the decision "yes".
    share
        Share of "yes" among all patients.

    Examples
    --------
    >>> prior_strength(np.full(50, 40), np.tile([0, 40], 25), 0.5)
    0.25
    >>> prior_strength(np.full(50, 40), np.full(50, 20), 0.5)
    inf
    """
    # Levels with equal counts are counted together, so that their order changes no rounding.
    pairs, multiplicity = np.unique(np.column_stack([counts, yes]), axis=0, return_counts=True)
    n, k = pairs.T
    without_differences = multiplicity @ (k * np.log(share) + (n - k) * np.log1p(-share))
    a = STRENGTHS[:, None] * share
    b = STRENGTHS[:, None] * (1 - share)
    likelihood = (betaln(a + k, b + n - k) - betaln(a, b)) @ multiplicity
    best = int(np.argmax(likelihood))
    if likelihood[best] - without_differences < SMALLEST_GAIN:
        return float("inf")
    return float(STRENGTHS[best])


def _shrunken_logit(counts: IntArray, yes: FloatArray, share: float, strength: float) -> FloatArray:
    if np.isinf(strength):
        return np.full(counts.shape, float(logit(share)))
    return np.asarray(logit((yes + strength * share) / (counts + strength)))
