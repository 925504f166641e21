"""A test of whether rows of a table belong to the same patients.

Two pieces of evidence are needed, and either alone is not enough.

*Nearness.* Visits of one patient lie closer together than patients of one physician otherwise do.
For every row the distance to its nearest neighbour, relative to the distance to a farther one, is
compared within the panel and among as many patients of other physicians. With independent patients
one is as often half of the other as the reverse, in coarse data as well. The excess is the share of
rows that have a relative in the panel. No decision is looked at.

*Agreement.* A forest of each physician's own patients predicts the decisions twice: from random
folds, and from folds of clusters of neighbours, in which a row and its nearest neighbours are
held out together. If decisions of neighbours depend on each other beyond what covariates explain,
the first forest looks better than it is. The forest is used because it learns from neighbours more
than any other candidate does; its loss is therefore also a little higher in small panels without
dependence, which is why nearness is asked for too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from intravar.arrays import FloatArray, IntArray
from intravar.inference.clusters import standard_error_of_mean
from intravar.learning.neighbours import (
    CLUSTER_SIZE,
    LARGE_CLUSTER_SIZE,
    divide_panel,
    neighbour_distances,
    rank_points,
)
from intravar.learning.personal_rules import Table
from intravar.panels import Panels
from intravar.prediction.own_forests import filled, own_forests
from intravar.seeds import stream

#: Patients that the test looks at. More would only make it slower.
MOST_TESTED = 8_000
#: Covariates that the forests of the test look at, the first in the order of their content.
MOST_COVARIATES = 30
#: Smaller panels have too few neighbours.
SMALLEST_PANEL = 12
#: Ranks of the farther neighbour to which the nearest one is related: this one, and half of the
#: panel, which no other visit of the same patient reaches.
FARTHER = 15
#: A nearest neighbour at less than this part of the distance elsewhere is a close one.
CLOSE = 0.5
#: Share of rows with a relative from which on a table is suspicious.
SMALLEST_SHARE = 0.05
#: Largest clusters that are tried, and the rise of the forest's loss, as a share of pairs, from
#: which on decisions depend on each other. Larger clusters also take away patients from whom the
#: forest learns rightly, which alone raises its loss by up to 0.03, 0.05 and 0.08.
SMALLEST_RISE = {CLUSTER_SIZE: 0.03, 12: 0.06, 30: 0.12, 75: 0.12}
#: A larger cluster is used if it raises the loss by this much more.
FURTHER_RISE = 0.04
#: No cluster is larger than this part of a usual panel.
LARGEST_PART = 0.25
#: Standard errors that both must exceed.
STANDARD_ERRORS = 4.0
#: Probability, if a covariate had nothing to do with the decision, below which it is telling.
UNRELATED = 0.001
#: Without other physicians there is no nearness to compare; the rise must be larger then.
RISE_ALONE = 0.03
N_FOLDS = 5


@dataclass(frozen=True)
class Dependence:
    """Result of the test.

    Attributes
    ----------
    share
        Share of rows that probably have another row of the same patient in the panel.
    rise
        By how much twice the squared error of the forest rises if neighbours are held out with a
        row.
    detected
        Whether rows depend on each other.
    cluster_size
        Largest cluster of neighbours to be held out together.
    columns, categories
        Positions of the covariates, and of the categories with many levels, in which neighbours are
        close; None for all.
    """

    share: float = 0.0
    rise: float = 0.0
    detected: bool = False
    cluster_size: int = CLUSTER_SIZE
    columns: tuple[int, ...] | None = None
    categories: tuple[int, ...] | None = None


def detect_dependence(panels: Panels) -> Dependence:
    """Test whether rows belong to the same patients.

    Identifiers of patients who have several rows answer the question, and nothing is tested. If no
    patient has a second row they may be those of visits, and the test is made.

    Parameters
    ----------
    panels
        Patients of all physicians, in the order by content.
    """
    if panels.patient is not None or panels.y.min() == panels.y.max():
        return Dependence()
    tested = _draw_panels(panels)
    if tested is None:
        return Dependence()
    in_all = _tested_in(panels, tested, None, None)
    columns, categories = telling_covariates(panels.take(tested))
    n_categories = 0 if panels.categories is None else panels.categories.shape[1]
    everything = len(columns) == panels.bins.shape[1] and len(categories) == n_categories
    if everything or not columns:
        return in_all
    in_telling = _tested_in(panels, tested, columns, categories)
    first = (in_telling.detected, in_telling.rise) > (in_all.detected, in_all.rise)
    return in_telling if first else in_all


def _tested_in(
    panels: Panels,
    tested: IntArray,
    columns: tuple[int, ...] | None,
    categories: tuple[int, ...] | None,
) -> Dependence:
    """Test for rows of the same patients that are close in some covariates; None for all."""
    several = len(panels) > 1
    share, share_error = _share_of_relatives(panels, tested, columns)
    if several and not _exceeds(share, share_error, SMALLEST_SHARE):
        return Dependence(share=max(share, 0.0))
    start = Dependence(share=max(share, 0.0), columns=columns, categories=categories)
    found = _forest_test(panels.take(tested), start, several=several)
    return found if found.detected else replace(found, columns=None, categories=None)


def telling_covariates(panels: Panels) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the covariates, and the categories with many levels, that go with decisions.

    Covariates that change from visit to visit and say nothing of the decision hide that other
    covariates of two visits are alike. Within physicians, the covariance of a covariate and the
    decision follows a chi-squared distribution if they are unrelated. Where decisions are carried
    over between visits, it is larger for everything that stays the same in a patient as well.
    """
    points = rank_points(panels.bins, panels.mid_ranks)
    residual = panels.y - _panel_means(panels.y.astype(np.float64), panels)
    columns = []
    for column in range(points.shape[1]):
        linear = points[:, column]
        related = False
        for values in (linear, (linear - 0.5) ** 2):
            centred = values - _panel_means(values, panels)
            scores = np.bincount(panels.code, centred * residual, minlength=len(panels))
            expected = np.bincount(panels.code, (centred * residual) ** 2, minlength=len(panels))
            present = expected > 0
            statistic = float((scores[present] ** 2 / expected[present]).sum())
            related |= bool(chi2.sf(statistic, max(int(present.sum()), 1)) < UNRELATED)
        if related:
            columns.append(column)
    categories = []
    for position in range(0 if panels.categories is None else panels.categories.shape[1]):
        assert panels.categories is not None
        level = panels.categories[:, position]
        _, cell = np.unique(np.column_stack([panels.code, level]), axis=0, return_inverse=True)
        sums, squares, fourth = (np.bincount(cell, residual**power) for power in (1, 2, 4))
        pairs = sums**2 - squares
        error = float(np.sqrt(2 * np.maximum(squares**2 - fourth, 0.0).sum()))
        if error > 0 and float(pairs.sum()) > STANDARD_ERRORS * error:
            categories.append(position)
    return tuple(columns), tuple(categories)


def _panel_means(values: FloatArray, panels: Panels) -> FloatArray:
    """Return the mean over the panel of every row."""
    total = np.bincount(panels.code, values, minlength=len(panels))
    return np.asarray((total / np.maximum(panels.counts[0], 1))[panels.code])


def _forest_test(sample: Panels, start: Dependence, *, several: bool) -> Dependence:
    """Test whether decisions of neighbours depend on each other, in clusters of growing size."""
    from_copies = _forest_loss(sample, None)
    largest = LARGEST_PART * float(np.median(sample.counts[0]))
    result = start
    for size, smallest in SMALLEST_RISE.items():
        if size > max(largest, CLUSTER_SIZE):
            break
        cluster = sample.neighbour_clusters(size, start.columns, start.categories)
        loss = _forest_loss(sample, cluster) - from_copies
        rise = float(loss.mean())
        threshold = smallest if several else smallest + RISE_ALONE
        exceeds = _exceeds(rise, standard_error_of_mean(loss, cluster), threshold)
        if result.detected and rise < result.rise + FURTHER_RISE:
            break
        if exceeds or result.detected:
            result = replace(start, rise=rise, detected=True, cluster_size=size)
        elif rise > result.rise:
            result = replace(start, rise=rise)
    if result.detected and result.cluster_size < LARGE_CLUSTER_SIZE:
        return replace(result, cluster_size=LARGE_CLUSTER_SIZE)
    return result


def _exceeds(value: float, error: float, smallest: float) -> bool:
    return value > smallest and value > STANDARD_ERRORS * error


def _draw_panels(panels: Panels) -> IntArray | None:
    """Return the rows of randomly drawn panels that are large enough; None without any."""
    sizes, _ = panels.counts
    large = np.flatnonzero(sizes >= SMALLEST_PANEL)
    if not len(large):
        return None
    order = stream(0, "dependence", "panels").permutation(large)
    before = np.cumsum(sizes[order]) - sizes[order]
    drawn = np.sort(order[before < MOST_TESTED])
    return np.flatnonzero(np.isin(panels.code, drawn))


def _share_of_relatives(
    panels: Panels, tested: IntArray, columns: tuple[int, ...] | None = None
) -> tuple[float, float]:
    """Return the share of rows with an unusually close neighbour, and its standard error."""
    random = stream(0, "dependence", "others")
    points = rank_points(panels.bins, panels.mid_ranks)
    if columns is not None:
        points = np.ascontiguousarray(points[:, list(columns)])
    nearness = []
    owners = []
    for physician in np.unique(panels.code[tested]):
        others = np.flatnonzero(panels.code != physician)
        if not len(others):
            continue
        for block in divide_panel(points, np.arange(*panels.first[physician : physician + 2])):
            if len(block) < SMALLEST_PANEL:
                continue
            compared = random.choice(others, len(block), replace=len(others) < len(block))
            nearness.append(_compare_nearness(points[block], points[compared]))
            owners.append(np.full(len(block), physician))
    if not nearness:
        return 0.0, float("inf")
    owner = np.concatenate(owners)
    by_rank = np.concatenate(nearness).T
    highest = by_rank[int(np.argmax(by_rank.mean(axis=1)))]
    return float(highest.mean()), standard_error_of_mean(highest, owner)


def _compare_nearness(own: FloatArray, others: FloatArray) -> FloatArray:
    """Return 1 where the nearest neighbour is close in the panel, -1 where it is elsewhere.

    One column for each farther neighbour that the distance is related to.
    """
    half = len(own) // 2
    ranks = (1, min(FARTHER, half), half)
    within = neighbour_distances(own, own, ranks, same=True)
    across = neighbour_distances(own, others, ranks, same=False)
    # Products instead of ratios: distances may be zero.
    inside = within[:, :1] * across[:, 1:]
    outside = across[:, :1] * within[:, 1:]
    return (inside < CLOSE * outside).astype(np.float64) - (outside < CLOSE * inside)


def _forest_loss(panels: Panels, cluster: IntArray | None) -> FloatArray:
    """Return twice the squared error of every physician's forest, held out by folds."""
    design = filled(panels.covariates[:, :MOST_COVARIATES])
    rate = float(panels.y.mean())
    fold = panels.deal(N_FOLDS, 0, "dependence", cluster=cluster)
    predicted = np.empty(panels.n_patients)
    for number in range(N_FOLDS):
        asked = np.flatnonzero(fold == number)
        rest = np.flatnonzero(fold != number)
        table = Table(design, panels.y, panels.code, rest, len(panels))
        predicted[asked] = own_forests(table, asked, rate)
    return np.asarray(2 * (panels.y - predicted) ** 2)
