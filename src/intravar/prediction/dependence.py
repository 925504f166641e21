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

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.learning.neighbours import (
    CLUSTER_SIZE,
    LARGE_CLUSTER_SIZE,
    divide_panel,
    neighbour_distances,
    rank_points,
    standard_error_of_mean,
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
#: The farther neighbour to which the nearest one is related. A patient rarely has so many visits.
FARTHER = 15
#: A nearest neighbour at less than this part of the distance elsewhere is a close one.
CLOSE = 0.5
#: Share of rows with a relative from which on a table is suspicious.
SMALLEST_SHARE = 0.05
#: Rise of the forest's loss, as a share of pairs, from which on decisions depend on each other.
SMALLEST_RISE = 0.02
#: Standard errors that both must exceed.
STANDARD_ERRORS = 4.0
#: Without other physicians there is no nearness to compare; the rise must be larger then.
SMALLEST_RISE_ALONE = 0.05
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
    """

    share: float = 0.0
    rise: float = 0.0
    detected: bool = False

    @property
    def cluster_size(self) -> int:
        """Largest cluster of neighbours to be held out together."""
        return LARGE_CLUSTER_SIZE if self.detected else CLUSTER_SIZE


def detect_dependence(panels: Panels) -> Dependence:
    """Test whether rows belong to the same patients.

    Patient identifiers, if there are any, answer the question, and nothing is tested.

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
    share, share_error = _share_of_relatives(panels, tested)
    several = len(panels) > 1
    if several and not _exceeds(share, share_error, SMALLEST_SHARE):
        return Dependence(share=max(share, 0.0))
    sample = panels.take(tested)
    cluster = sample.neighbour_clusters()
    rise = _forest_loss(sample, cluster) - _forest_loss(sample, None)
    error = standard_error_of_mean(rise, cluster)
    smallest = SMALLEST_RISE if several else SMALLEST_RISE_ALONE
    return Dependence(
        share=max(share, 0.0),
        rise=float(rise.mean()),
        detected=_exceeds(float(rise.mean()), error, smallest),
    )


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


def _share_of_relatives(panels: Panels, tested: IntArray) -> tuple[float, float]:
    """Return the share of rows with an unusually close neighbour, and its standard error."""
    random = stream(0, "dependence", "others")
    points = rank_points(panels.bins, panels.mid_ranks)
    signs = []
    owners = []
    for physician in np.unique(panels.code[tested]):
        others = np.flatnonzero(panels.code != physician)
        if not len(others):
            continue
        for block in divide_panel(points, np.arange(*panels.first[physician : physician + 2])):
            if len(block) < SMALLEST_PANEL:
                continue
            compared = random.choice(others, len(block), replace=len(others) < len(block))
            signs.append(_compare_nearness(points[block], points[compared]))
            owners.append(np.full(len(block), physician))
    if not signs:
        return 0.0, float("inf")
    sign = np.concatenate(signs)
    return float(sign.mean()), standard_error_of_mean(sign, np.concatenate(owners))


def _compare_nearness(own: FloatArray, others: FloatArray) -> FloatArray:
    """Return 1 where the nearest neighbour is close in the panel, -1 where it is elsewhere."""
    farther = min(FARTHER, len(own) // 2)
    within = neighbour_distances(own, own, (1, farther), same=True)
    across = neighbour_distances(own, others, (1, farther), same=False)
    # Products instead of ratios: distances may be zero.
    inside = within[:, 0] * across[:, 1]
    outside = across[:, 0] * within[:, 1]
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
