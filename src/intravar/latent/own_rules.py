"""Rules of their own: whether they are asked for, the contest with the shared rule, and readings.

Do physicians use the covariates differently? Given the probability q of every decision under some
model, personal slopes of the residuals y - q are tested: G_j = sum z (y - q) is what physician j's
slopes would gain, I_j its information. What all physicians have in common is taken out first,
because a rule learned imperfectly is no rule of one's own. Under the model the sum of
G' (I + ridge)^-1 G has a known mean and variance.

Where they do, or where thresholds differ, a contest is held. One fold is held out; what the
families of own rules predict for it is compared with what the shared rule predicts. What is common
to the winner's rules is then learned from everybody. Two families compete: weighted sums with
personal weights, drawn from camps, and conjunctions or disjunctions of two personal limits
(:mod:`~intravar.latent.families`). Both keep the whole posterior: what is unsure about a
physician's rule is in the interval of the rates.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.calibration import log_score
from intravar.latent.families import CommonLimits, CommonWeights
from intravar.latent.rates import LatentReading, Posterior, Within, cells_of, panel_discordance
from intravar.observed import Observed
from intravar.panels import Panels
from intravar.processes import in_threads
from intravar.seeds import stream

OwnRules: TypeAlias = CommonWeights | CommonLimits

#: Cells of p_high, and Beta laws that are laid over them at most.
CELLS, MOST_LAWS = 500, 150
CELL_MIDDLES = (np.arange(CELLS) + 0.5) / CELLS
#: Draws from each law of the rates for the discordance of a panel.
PANEL_DRAWS = 4
#: Standard errors by which personal slopes must exceed chance.
EVIDENCE = 4.0
#: Gain in held-out log-likelihood that rules of their own must show over the shared one.
MARGIN = 10.0
#: Families of own rules, and how many covariates each may look at.
FAMILIES: tuple[tuple[type[OwnRules], int], ...] = ((CommonWeights, 20), (CommonLimits, 16))
#: Draws of the rules that the test of what is left is averaged over.
TESTED_DRAWS = 10
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
    """Deal columns into groups of about equal size that are not too large."""
    return np.array_split(np.arange(n_columns), max(1, -(-n_columns // MOST_TOGETHER)))


def with_products(z: FloatArray) -> FloatArray:
    """Return the columns, their squares and their products, standardised."""
    pairs = [(a, b) for a in range(z.shape[1]) for b in range(a + 1)]
    basis = np.column_stack([z, *(z[:, a] * z[:, b] for a, b in pairs)])
    spread = basis.std(axis=0)
    return np.asarray((basis - basis.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def most_personal_columns(z: FloatArray, decided: Observed, q: FloatArray, most: int) -> IntArray:
    """Return the positions of the columns, at most so many, that are used most differently."""
    if z.shape[1] <= most:
        return np.arange(z.shape[1])
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
    q = np.clip(np.broadcast_to(q, len(z)), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
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


def read_own_rules(
    common: OwnRules,
    z: FloatArray,
    logit: FloatArray,
    panels: Panels,
    seed: int,
    *,
    within: Within = "eligible",
    known: BoolArray | None = None,
    tested: int = 0,
) -> tuple[LatentReading, FloatArray]:
    """Read every panel by rules of its own; seed and panels' content name the random streams.

    `z` and `logit` are standardised covariates and the shared rule's logit. Where some patients are
    `known`, their decisions count and the others are predicted. P(yes) of so many draws as are
    `tested` is returned as well, draw x patient.
    """
    if known is None:
        known = np.ones(len(panels.y), dtype=np.bool_)
    read = common.reader(z, logit, panels, known, tested)
    n = len(panels)
    means, camp = np.empty((2, n)), np.zeros(n, dtype=np.int64)
    mass, edge = np.ones((n, CELLS)), np.tile(np.linspace(0, 1, CELLS + 1), (n, 1))
    g, q = np.empty(len(panels.y)), np.empty(len(panels.y))
    drawn = np.empty((tested, len(panels.y)))
    for j in range(n):
        part = slice(int(panels.first[j]), int(panels.first[j + 1]))
        random = np.random.default_rng([abs(seed), int(panels.key[j])])
        draws = read(part, random)
        means[:, j], camp[j] = mean_rates(draws.laws), draws.camp
        g[part], q[part], drawn[:, part] = draws.g, draws.q, draws.drawn
        if within == "eligible":
            mass[j] = mixed_mass(draws.laws)
        else:
            a, b, c, d, share = np.repeat(draws.laws, PANEL_DRAWS, axis=0).T
            value = panel_discordance(random.beta(a, b), random.beta(c, d), share)
            edge[j] = cells_of(value, np.ones(len(value)), CELLS)
    posterior = Posterior(mass, edge, within == "panel")
    high, low = means
    reading = LatentReading(high, low, posterior.mean(), np.zeros(n), camp, posterior, g, g, q)
    return reading, drawn


def mean_rates(laws: FloatArray) -> FloatArray:
    """Return the means of p_high and p_low over their laws."""
    a, b, c, d = laws[:, :4].T
    return np.array([np.mean(a / (a + b)), np.mean(c / (c + d))])


def mixed_mass(laws: FloatArray) -> FloatArray:
    """Return the mass of p_high in equal cells under a mixture of Beta laws, at most so many."""
    some = laws[:: -(-len(laws) // MOST_LAWS), :2]
    # Densities at the cells' midpoints: far faster than differences of the Beta integral.
    value = (some[:, :1] - 1) * np.log(CELL_MIDDLES) + (some[:, 1:] - 1) * np.log1p(-CELL_MIDDLES)
    value = np.exp(value - value.max(axis=1, keepdims=True))
    mass: FloatArray = (value / value.sum(axis=1, keepdims=True)).mean(axis=0)
    return mass


def hold_contest(
    z: FloatArray,
    panels: Panels,
    q: FloatArray,
    known: BoolArray,
    logits: tuple[FloatArray, FloatArray],
    to_beat: float,
    seed: int,
    n_threads: int,
) -> tuple[OwnRules | None, dict[str, float]]:
    """Return the winner, None if the shared rule wins, and everybody's held-out log-likelihood.

    `q` is the probability of a decision for under the shared rule, `logits` are its held-out logit
    and the same as learned from `known` patients alone. The families predict the decisions on the
    others, which are likely by `to_beat` under the shared rule.
    """
    families: dict[str, Callable[..., OwnRules]] = {}
    for family, most in FAMILIES:
        columns = most_personal_columns(z, panels, q, most)
        if columns.size > (family is CommonLimits):
            families[family.name] = partial(family.learn, z, columns, panels)

    def held_out(name: str) -> float:
        random = stream(seed, "latent-rule", name, "without fold 0")
        common = families[name](known, random, logits[1])
        own = read_own_rules(common, z, logits[1], panels, seed, known=known)[0].q
        return log_score(own[~known], panels.y[~known])

    held = in_threads([partial(held_out, name) for name in families], n_threads)
    scores = dict(zip(families, held, strict=True))
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is None or scores[best] <= to_beat + MARGIN:
        return None, scores
    random = stream(seed, "latent-rule", best, "everybody")
    return families[best](np.ones_like(known), random, logits[0]), scores


def evidence_left(z: FloatArray, panels: Panels, q: FloatArray, drawn: FloatArray) -> float:
    """Return the evidence of own rules that the winner's draws leave, products included.

    Draws, not means: residuals of a mean that was fitted to the same decisions are too small.
    """
    z = z[:, most_personal_columns(z, panels, q, MOST_MULTIPLIED)]
    bases = (z, with_products(z))
    evidence = [[own_rule_evidence(basis, panels, each) for basis in bases] for each in drawn]
    return float(np.mean(evidence, axis=0).max())
