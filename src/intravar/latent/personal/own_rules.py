"""Rules of their own: they compete with the rule that all share, and physicians are read by them.

The contest is held only where it is asked for: where a score test finds that physicians use the
covariates differently, or where thresholds differ. One fold is held out; what the families predict
for it is compared with what the shared rule predicts. What is common to the winner's rules is then
learned from everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from intravar.arrays import BoolArray, FloatArray
from intravar.latent.calibration import log_score
from intravar.latent.personal.heterogeneity import (
    MOST_MULTIPLIED,
    most_personal_columns,
    own_rule_evidence,
    with_products,
)
from intravar.latent.personal.limits import CommonLimits
from intravar.latent.personal.weights import CommonWeights
from intravar.latent.rates import LatentReading, Posterior, Within, cells_of, panel_discordance
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
#: Covariates that personal weights, and personal limits, may look at.
MOST_WEIGHED, MOST_LIMITED = 20, 16
#: Draws of the rules that the test of what is left is averaged over.
TESTED_DRAWS = 10


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
    rates, camp = np.empty((n, 2)), np.zeros(n, dtype=np.int64)
    mass, edge = np.ones((n, CELLS)), np.tile(np.linspace(0, 1, CELLS + 1), (n, 1))
    g, q = np.empty(len(panels.y)), np.empty(len(panels.y))
    drawn = np.empty((tested, len(panels.y)))
    for j in range(n):
        part, random = panels.part(j), panels.stream(j, seed)
        draws = read(part, random)
        rates[j], camp[j] = mean_rates(draws.laws), draws.camp
        g[part], q[part], drawn[:, part] = draws.g, draws.q, draws.drawn
        if within == "eligible":
            mass[j] = mixed_mass(draws.laws)
        else:
            a, b, c, d, share = np.repeat(draws.laws, PANEL_DRAWS, axis=0).T
            value = panel_discordance(random.beta(a, b), random.beta(c, d), share)
            edge[j] = cells_of(value, np.ones(len(value)), CELLS)
    posterior = Posterior(mass, edge, within == "panel")
    high, low = (np.ascontiguousarray(part) for part in rates.T)
    reading = LatentReading(high, low, posterior.mean(), np.zeros(n), camp, posterior, g, g, q)
    return reading, drawn


def mean_rates(laws: FloatArray) -> FloatArray:
    """Return the means of p_high and p_low over their laws."""
    a, b, c, d = laws[:, :4].T
    return np.array([np.mean(a / (a + b)), np.mean(c / (c + d))])


def mixed_mass(laws: FloatArray) -> FloatArray:
    """Return the mass of p_high in equal cells under a mixture of Beta laws, at most so many.

    Examples
    --------
    >>> mass = mixed_mass(np.array([[50.0, 50.0], [50.0, 50.0]]))
    >>> bool(abs(mass @ CELL_MIDDLES - 0.5) < 1e-9)
    True
    """
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
    for family, most in ((CommonWeights, MOST_WEIGHED), (CommonLimits, MOST_LIMITED)):
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
