"""Do physicians use the covariates differently? A score test of rules of their own.

Given the probability q of every decision under some model, personal slopes of the residuals y - q
are tested: G_j = sum z (y - q) is what physician j's slopes would gain, I_j its information. What
all physicians have in common is taken out first, because a rule learned imperfectly is no rule of
one's own. Under the model the sum of G' (I + ridge)^-1 G has a known mean and variance.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed

#: Ridge of the slopes: panels of a few patients could not carry a slope per covariate.
RIDGE = 10.0
LEAST_PROBABILITY = 1e-4
#: Products are taken among so many covariates, those that are used most differently.
MOST_MULTIPLIED = 10
#: Columns whose slopes are tested together: time and memory go with their square.
MOST_TOGETHER = 64


def own_rule_evidence(
    z: FloatArray, decided: Observed, q: FloatArray, *, common_too: bool = False
) -> float:
    """Return how many standard errors personal slopes exceed what chance allows.

    `z` are standardised covariates, without any of which the evidence is 0; `q` is the probability
    of a decision for under the model that is tested. With `common_too` slopes that all physicians
    have in common count as well: a test of any rule.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> z, who = random.normal(size=(4000, 1)), np.repeat(np.arange(40), 100)
    >>> own = 1 / (1 + np.exp(-2 * z[:, 0] * np.where(who % 2, 1, -1)))
    >>> decided = Observed.of(z, random.random(4000) < own, who)
    >>> own_rule_evidence(z, decided, np.full(4000, 0.5)) > 10
    True
    >>> abs(own_rule_evidence(z, decided, own)) < 3
    True
    """
    if not z.shape[1]:
        return 0.0
    q = np.clip(q, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    slope, information = _slopes(z, decided, q, common_too)
    inverse = np.linalg.inv(information + RIDGE * np.eye(z.shape[1]))
    statistic = (slope * (inverse @ slope[:, :, None])[:, :, 0]).sum()
    # The inverse times the information is the identity less the ridge times the inverse.
    size, trace = inverse.shape[0] * inverse.shape[1], np.einsum("jcc->", inverse)
    mean = size - RIDGE * trace
    variance = 2 * (size - 2 * RIDGE * trace + RIDGE**2 * np.vdot(inverse, inverse))
    return float((statistic - mean) / np.sqrt(variance)) if variance > 0 else 0.0


def strongest_evidence(
    z: FloatArray, decided: Observed, q: FloatArray, *, common_too: bool = False
) -> float:
    """Return the evidence from covariates, or from their products where that is larger.

    Physicians may agree on every covariate and differ in how they combine them. Of very many
    covariates some are tested at a time; the strongest evidence counts, less what is to be expected
    of the largest of so many.
    """
    few = with_products(z[:, most_personal_columns(z, decided, q, MOST_MULTIPLIED)])
    groups = [z[:, some] for some in _together(z.shape[1])]
    alone, together = (
        max(own_rule_evidence(x, decided, q, common_too=common_too) for x in tested)
        for tested in (groups, [few])
    )
    return max(_as_one_test(alone, len(groups)), together)


def _as_one_test(strongest: float, n_tests: int) -> float:
    """Return the evidence of a single test that surprises as much as the strongest of some.

    Examples
    --------
    >>> _as_one_test(4.0, 1), round(_as_one_test(4.0, 10), 2), _as_one_test(40.0, 10) > 39
    (4.0, 3.42, True)
    """
    if n_tests == 1:
        return strongest
    tail = log_ndtr(-strongest) + np.log(n_tests)
    return float(-ndtri_exp(min(tail, np.log(0.5))))


def _together(n_columns: int) -> list[IntArray]:
    """Deal columns into groups of about equal size that are not too large.

    Examples
    --------
    >>> [len(group) for group in _together(150)], len(_together(0))
    ([50, 50, 50], 1)
    """
    n_groups = max(1, -(-n_columns // MOST_TOGETHER))
    return list(np.array_split(np.arange(n_columns), n_groups))


def with_products(z: FloatArray) -> FloatArray:
    """Return the columns, their squares and their products, standardised.

    Examples
    --------
    >>> with_products(np.array([[1.0, 1.0], [-1.0, 2.0], [1.0, -1.0], [-3.0, -1.0]])).shape
    (4, 5)
    """
    pairs = [(a, b) for a in range(z.shape[1]) for b in range(a + 1)]
    basis = np.column_stack([z, *(z[:, a] * z[:, b] for a, b in pairs)])
    spread = basis.std(axis=0)
    return np.asarray((basis - basis.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def most_personal_columns(z: FloatArray, decided: Observed, q: FloatArray, most: int) -> IntArray:
    """Return the positions of the columns, at most so many, that are used most differently."""
    if z.shape[1] <= most:
        return np.arange(z.shape[1])
    q = np.clip(np.broadcast_to(q, len(z)), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    gains = []
    for some in _together(z.shape[1]):
        slope, information = _slopes(z[:, some], decided, q, common_too=False)
        gains.append((slope**2 / (np.einsum("jcc->jc", information) + RIDGE)).sum(axis=0))
    gain = np.concatenate(gains)
    return np.sort(np.argsort(-gain, kind="stable")[:most])


def _slopes(
    z: FloatArray, decided: Observed, q: FloatArray, common_too: bool
) -> tuple[FloatArray, FloatArray]:
    """Return gradient and information of slopes, freed of intercepts and of what is common."""
    design = np.column_stack([np.ones(len(z)), z])
    width = design.shape[1]
    gradient = np.zeros((len(decided), width))
    information = np.zeros((len(decided), width, width))
    for j, rows in enumerate(decided.panels):
        own, p = design[rows], q[rows]
        gradient[j] = own.T @ (decided.y[rows] - p)
        information[j] = (own * (p * (1 - p))[:, None]).T @ own
    if not common_too:
        total = information.sum(axis=0) + 1e-6 * np.eye(width)
        gradient = gradient - information @ np.linalg.solve(total, gradient.sum(axis=0))
    weight = information[:, 0, 0] + 1e-9
    cross = information[:, 1:, 0]
    slope = gradient[:, 1:] - cross * (gradient[:, 0] / weight)[:, None]
    inner = information[:, 1:, 1:] - cross[:, :, None] * cross[:, None, :] / weight[:, None, None]
    return slope, inner
