"""The same measurement on two halves of every panel, to see whether it says the same twice.

Halves tell what no interval of a method knows. Whether physicians keep their order; whether the
level moves with the number of patients, which a bound that is still loose does; and how far the two
lie apart beyond the sampling error that the method owns up to. The rest is doubt about what was
learned, the rule or the predictions, and belongs into the interval of everybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Estimator
from intravar.estimators.evidence import Evidence
from intravar.inference import Interval
from intravar.inference.intervals import LEVEL, TwoHalves
from intravar.inference.ranking import rank_correlation
from intravar.inference.shrinkage import between_variance
from intravar.observed import Observed
from intravar.seeds import stream

#: A half of a panel must hold as many patients for its physician to be compared.
FEWEST_IN_A_HALF = 5
#: Physicians that must be there twice.
FEWEST_PHYSICIANS = 3
#: Patients beyond which a sample of physicians is halved.
MOST_PATIENTS = 60_000
#: A gap between intervals that nobody would act on.
NEARLY = 0.005
#: Deals into halves that are averaged, where patients are no more than this.
SPLITS = 3
FEW_PATIENTS = 4_000
#: What a bound lies above its limit falls at least with this power of the number of patients.
SLOWEST = 0.25
#: Standard errors above its estimate at which a fall is taken; 95 % of the time it is less.
ONE_SIDED = 1.645
_TINY = 1e-12
_Z = float(norm.ppf(0.5 + LEVEL / 2))


def some_panels(panels: list[IntArray], most: int, random: np.random.Generator) -> list[IntArray]:
    """Return panels by lot with no more patients than so many; all where there are no more."""
    if sum(len(panel) for panel in panels) <= most:
        return panels
    order = random.permutation(len(panels))
    sizes = np.cumsum([len(panels[at]) for at in order])
    return [panels[at] for at in order[: max(FEWEST_PHYSICIANS, int((sizes < most).sum()))]]


@dataclass(frozen=True, eq=False)
class Halves:
    """What two halves of the patients say.

    `agreement` is the reliability of the order: the rank correlation of the halves, stepped up to
    the whole. `overlap` is the share of physicians whose two intervals overlap, widened as those of
    the whole are; `pull` by which part of the way to one half the scores of halves lie above the
    whole, at most. `own_doubt` and `common_doubt` are the standard deviation that halves show
    beyond the errors of the scores, as it is for the whole: of each physician, and of all alike.
    """

    agreement: float
    overlap: float
    pull: float
    own_doubt: float
    common_doubt: float


def falls(score: FloatArray, pull: float) -> FloatArray:
    """Return how far every bound may still fall, if it nears its limit as slowly as any seen.

    Predictions that are unsure draw every score towards one half by the same factor. With an excess
    that goes with n to the power of -a, 1 / (2^a - 1) times what the last doubling took is left.
    Nothing falls below 0; and nobody falls less than all do on average, because a score of one half
    may also be that of a physician who could not be predicted at all.

    `pull` is the part of the way to one half by which the last doubling has moved them.

    Examples
    --------
    >>> falls(np.array([0.1, 0.3, 0.5]), 0.02).round(3).tolist()
    [0.042, 0.021, 0.021]
    """
    to_come = max(pull, 0.0) / (2**SLOWEST - 1)
    own = np.minimum(to_come * np.maximum(0.5 - score, 0.0), score)
    usual = float(np.nanmean(own)) if np.isfinite(own).any() else 0.0
    return np.asarray(np.maximum(own, usual))


def compare_halves(estimator: Estimator, observed: Observed, seed: int) -> Halves | None:
    """Measure both halves with the same method; None where panels are too small for it.

    Which half a patient falls into is chance, and one deal of it is a thin ground for a verdict:
    where patients are few and fits are cheap, several are averaged. A method that can read halves
    by what it learned from the whole is not fitted anew.
    """
    n_splits = SPLITS if len(observed.decision) <= FEW_PATIENTS else 1
    tried = (_split(estimator, observed, seed, number) for number in range(n_splits))
    splits = [each for each in tried if each is not None]
    if not splits:
        return None
    deals, every = zip(*splits, strict=True)
    rank = np.mean([rank_correlation(*deal.score) or 0.0 for deal in deals])
    # Per physician the mean of their halves over all deals, less the whole.
    shifts = np.array(every)
    there = np.flatnonzero(np.isfinite(shifts).any(axis=0))
    shift = np.nanmean(shifts[:, there], axis=0)
    # The upper limit of the part of the way to one half that halves lie above the whole.
    room = np.maximum(0.5 - np.asarray(estimator.score_, dtype=np.float64)[there], 0.0)
    pull, squares = 0.0, float(room @ room)
    if squares > 0:
        slope = float(shift @ room) / squares
        rest = shift - slope * room
        error = float(np.sqrt(rest @ rest / (len(rest) - 1) / squares))
        pull = max(slope + ONE_SIDED * error, 0.0)
    own, common = doubts(deals)
    # A half has twice the variance of the whole, and lies farther above its limit.
    doubt = float(np.sqrt(2) * np.hypot(own, common))
    overlap = []
    for deal in deals:
        of_half = 2**SLOWEST * pull if deal.is_bound else 0.0
        fall = np.array([falls(score, of_half) for score in deal.score])
        low, high, _ = widen(deal.score, deal.interval, fall, doubt)
        apart = (low - NEARLY > high[::-1]).any(axis=0)
        overlap.append(float(1 - apart.mean()))
    agreement = 2 * rank / (1 + rank) if rank > 0 else rank
    return Halves(float(agreement), float(np.mean(overlap)), pull, own, common)


def _split(
    estimator: Estimator, observed: Observed, seed: int, number: int
) -> tuple[TwoHalves, FloatArray] | None:
    """Return halves of the physicians who are in both, and how far they lie above the whole.

    The latter is in the places of all physicians; None where there are too few.
    """
    halves = estimator.two_halves(observed, number)
    if halves is None:
        halves = _both_fitted(estimator, observed, stream(seed, "halves", str(number)))
    if halves is None:
        return None
    large = np.array([len(panel) >= 2 * FEWEST_IN_A_HALF for panel in observed.panels])
    both = large & np.isfinite(halves.score).all(axis=0)
    if both.sum() < FEWEST_PHYSICIANS:
        return None
    shift = np.where(both, halves.score.mean(axis=0) - halves.whole, np.nan)
    return halves.take(np.flatnonzero(both)), shift


def _both_fitted(
    estimator: Estimator, observed: Observed, random: np.random.Generator
) -> TwoHalves | None:
    """Deal every panel into two and fit either half for itself; None with too little to fit.

    Of many patients only the panels of some physicians are dealt.
    """
    large = [panel for panel in observed.panels if len(panel) >= 2 * FEWEST_IN_A_HALF]
    shuffled = [random.permutation(panel) for panel in some_panels(large, MOST_PATIENTS, random)]
    if len(shuffled) < FEWEST_PHYSICIANS:
        return None
    place = {name: at for at, name in enumerate(observed.physicians)}
    columns = np.full((4, 2, len(place)), np.nan)
    for number in range(2):
        rows = [np.array_split(panel, [len(panel) // 2])[number] for panel in shuffled]
        part = observed.take(np.sort(np.concatenate(rows)))
        if part.decision.min() == part.decision.max():
            return None
        model = clone(estimator).fit_observed(part)
        evidence = model.evidence(part)
        ends = own_interval(evidence, model.ends())
        at = [place[name] for name in model.physicians_.tolist()]
        columns[:, number, at] = [model.score_, *ends]
    whole = np.asarray(estimator.score_, dtype=np.float64)
    return TwoHalves(columns[0], Interval(*columns[1:]), whole, evidence.upper_limit)


def doubts(deals: Sequence[TwoHalves]) -> tuple[float, float]:
    """Return the own and the common doubt of the whole, by deals into two halves.

    Two halves are independent but for what physicians are: the variance of their difference is
    twice that of a half. What exceeds the errors of the scores is doubt about what was learned. It
    falls with the number of patients as any sampling error, so that the whole has half the variance
    of a half.

    Examples
    --------
    >>> score, error = np.array([[0.1] * 4, [0.3] * 4]), np.full((2, 4), 0.01)
    >>> deal = TwoHalves(score, Interval(score, score, error), score[0], False)
    >>> own, common = doubts([deal])
    >>> own, round(common, 2)
    (0.0, 0.1)
    """
    variances = []  # of the difference, own and common; the latter may be below 0
    for deal in deals:
        apart = deal.score[0] - deal.score[1]
        expected = (deal.interval.standard_error**2).sum(axis=0)
        known = np.isfinite(expected)
        if known.sum() < FEWEST_PHYSICIANS:
            variances.append((0.0, 0.0))
            continue
        apart, expected = apart[known], np.maximum(expected[known], _TINY)
        # Weighted, lest a few small panels lend their doubt to the large ones.
        own = float(between_variance(apart, np.sqrt(expected)))
        weight = 1 / (expected + own)
        common = (weight @ apart / weight.sum()) ** 2 - 1 / weight.sum()
        variances.append((own, float(common)))
    own, common = (np.sqrt(max(each, 0.0)) / 2 for each in np.mean(variances, axis=0))
    return float(own), float(common)


def widen(score: FloatArray, interval: Interval, fall: FloatArray, doubt: float) -> Interval:
    """Return intervals that carry a doubt, and reach down to where a bound tends.

    Examples
    --------
    >>> given = Interval(np.array([0.2]), np.array([0.3]), np.array([0.03]))
    >>> wide = widen(np.array([0.25]), given, np.array([0.02]), 0.03)
    >>> wide.low.round(3).tolist(), wide.high.round(3).tolist()
    ([0.153], [0.327])
    """
    low, high, error = interval
    reach = _Z * doubt
    low = score - np.hypot(np.maximum(score - low, 0.0), reach) - fall
    high = score + np.hypot(np.maximum(high - score, 0.0), reach)
    # Two decisions differ with probability one half at the most; shares of pairs may exceed it.
    return Interval(np.maximum(low, 0.0), np.minimum(high, np.maximum(score, 0.5)), error)


def own_interval(evidence: Evidence, interval: Interval) -> Interval:
    """Return a method's intervals, with the range of levels that fit equally well in them."""
    anchors = evidence.anchors
    if anchors is None:
        return interval
    return holding(interval, anchors.identified_low, anchors.identified_high)


def holding(interval: Interval, low: FloatArray, high: FloatArray) -> Interval:
    """Return intervals that hold others as well."""
    ends = np.minimum(interval.low, low), np.maximum(interval.high, high)
    return Interval(*ends, interval.standard_error)
