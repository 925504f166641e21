"""What the record does not hold: how far a reason could go that nobody wrote down.

Every recorded covariate tells how strong a reason can be: without it, decisions are predicted
worse. The covariate is left out and the prediction is learned again, so that the others take over
what they know of it; what is lost is what it alone told. A reason that is not recorded, as strong
and as much on its own, would take as much away from what is left.

"As much" is meant on the scale of what decides: a quantity behind every decision, whose variance is
1 and of which a record explains a share. Two decisions on one record then differ as often as two
normal variables, correlated by that share, fall on different sides of a threshold; and a share of
decisions is turned round whatever the reasons. On this scale reasons add up. Whether they do is
seen in the record: what two covariates are worth together, and each alone, tells how many
decisions are turned round. docs/unrecorded.md compares scales.

The prediction is a cheaper one than that of Predictability, see
:mod:`intravar.prediction.held_out`; only its losses are compared with each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import joblib
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri, owens_t

from intravar.arrays import FloatArray
from intravar.estimators.predictability import losses_without
from intravar.observed import Observed
from intravar.seeds import stream

#: With fewer patients nothing is said.
FEWEST_PATIENTS = 200
#: Patients that suffice; of more, the panels of some physicians are looked at.
MOST_PATIENTS = 10_000
#: Cohorts up to this size are dealt to folds more than once.
SMALL_COHORT, DEALS = 3_000, 3
#: Covariates that are left out in turn, the most important first; and two at a time, of so many.
MOST_COVARIATES, IN_PAIRS = 5, 3
N_FOLDS = 4
#: A covariate counts as a reason if the loss rises by so many standard errors without it.
SURE = 3.0
#: How many decisions are turned round, before the data; and by how much sums may fail to add up.
USUAL_TURNED, TOLERANCE = 0.1, 0.003
MOST_TURNED = 0.3
_CLOSE = 1e-9


@dataclass(frozen=True)
class Reason:
    """A recorded covariate as a yardstick.

    The discordance if it were not recorded, and if one more reason were that is as strong.
    """

    covariate: str
    without: float
    lowered: float


@dataclass(frozen=True)
class Unrecorded:
    """How far an unrecorded reason could go.

    Reasons are the covariates, of `n_tried`, that tell something which the others do not, the
    strongest first.
    """

    discordance: float
    reasons: tuple[Reason, ...]
    n_tried: int


def unrecorded_reasons(
    observed: Observed,
    origin: Sequence[str],
    important: Sequence[str],
    discordance: float,
    seed: int = 0,
) -> Unrecorded | None:
    """Leave the most important covariates out in turn; None with too few patients to tell.

    `origin` names for every column the covariate that it comes from; `important` are the
    covariates, the most important first. `discordance`, of all physicians together, is what such a
    reason would lower.
    """
    part, tried = observed, important[:MOST_COVARIATES]
    if observed.n_patients > MOST_PATIENTS:
        random = stream(seed, "unrecorded", "sample")
        order = random.permutation(len(observed.panels))
        rows = np.concatenate([random.permutation(observed.panels[at]) for at in order])
        part = observed.take(np.sort(rows[:MOST_PATIENTS]))
    decision = part.decision
    if part.n_patients < FEWEST_PATIENTS or decision.min() == decision.max() or not tried:
        return None
    deals = DEALS if part.n_patients <= SMALL_COHORT else 1
    sets = [*((name,) for name in tried), *combinations(tried[:IN_PAIRS], 2)]
    seeds = [seed + 1000 * deal for deal in range(deals)]
    losses = losses_without(part, origin, sets, N_FOLDS, seeds, int(joblib.cpu_count()))
    rate = float(np.average(decision, weights=part.weight))
    return read_strengths(losses, tried, discordance, rate)


def read_strengths(
    losses: Mapping[tuple[str, ...], FloatArray],
    tried: Sequence[str],
    discordance: float,
    share: float,
) -> Unrecorded:
    """Read strengths off the losses of every patient.

    Losses are twice the squared error of every patient's prediction, by the covariates left out:
    none, one or two. `share` is that of the patients decided for.
    """
    mean = {left_out: float(loss.mean()) for left_out, loss in losses.items()}
    turned = _turned_round(losses, min(mean[()], discordance), share)
    here = share_explained(discordance, share, turned)
    reasons = []
    for name in tried:
        rise = losses[(name,)] - losses[()]
        if rise.mean() <= SURE * rise.std() / np.sqrt(len(rise)):
            continue
        strength = share_explained(mean[()], share, turned)
        strength -= share_explained(mean[(name,)], share, turned)
        without, lowered = (
            discordance_at(here + change, share, turned) for change in (-strength, strength)
        )
        reasons.append(Reason(name, max(discordance, without), min(discordance, lowered)))
    strongest_first = sorted(reasons, key=lambda reason: (reason.lowered, -reason.without))
    return Unrecorded(discordance, tuple(strongest_first), len(tried))


def _turned_round(
    losses: Mapping[tuple[str, ...], FloatArray], least: float, share: float
) -> float:
    """Return the share turned round at which what two covariates are worth adds up best."""
    grid = np.linspace(0.0, MOST_TURNED, 31)
    grid = grid[(2 * grid * (1 - grid) < least) & (grid < min(share, 1 - share))]
    misfit = np.square(grid / USUAL_TURNED)
    pairs = [left_out for left_out in losses if len(left_out) == 2]
    for at, turned in enumerate(grid.tolist()):
        explained = {
            left_out: share_explained(float(losses[left_out].mean()), share, turned)
            for left_out in losses
            if len(left_out) < 2
        }
        for pair in pairs:
            one, other = ((name,) for name in pair)
            apart = losses[pair] - losses[one] - losses[other] + losses[()]
            error = np.hypot(apart.std() / np.sqrt(len(apart)), TOLERANCE)
            # Each alone takes its strength away from the whole; both take both.
            left = explained[one] + explained[other] - explained[()]
            expected = discordance_at(left, share, turned)
            misfit[at] += ((losses[pair].mean() - expected) / error) ** 2
    return float(grid[np.argmin(misfit)]) if len(grid) else 0.0


def discordance_at(explained: float, share: float, turned: float = 0.0) -> float:
    """Return how often two decisions on one record differ.

    The record explains the share `explained` of the variance behind decisions, of which `share` are
    for; `turned` of them are turned round whatever the reasons.

    Examples
    --------
    >>> [round(discordance_at(explained, 0.5), 3) for explained in (0.0, 0.5, 1.0)]
    [0.5, 0.333, 0.0]
    >>> round(discordance_at(1.0, 0.5, turned=0.1), 3)
    0.18
    """
    rho = float(np.clip(explained, 0.0, 1.0))
    kept = 1 - 2 * turned
    before = 4 * float(owens_t(ndtri((share - turned) / kept), np.sqrt((1 - rho) / (1 + rho))))
    return 2 * turned * (1 - turned) + kept**2 * before


def share_explained(discordance: float, share: float, turned: float = 0.0) -> float:
    """Return the share of variance at which decisions differ so often; the inverse of the above.

    Examples
    --------
    >>> round(share_explained(1 / 3, 0.5), 3), share_explained(0.4, 0.2)
    (0.5, 0.0)
    """
    if discordance >= discordance_at(0.0, share, turned) - _CLOSE:
        return 0.0
    if discordance <= discordance_at(1.0, share, turned) + _CLOSE:
        return 1.0
    return float(brentq(lambda rho: discordance_at(rho, share, turned) - discordance, 0.0, 1.0))
