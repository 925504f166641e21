"""Families of own rules: weighted sums with personal weights, and two personal limits each.

Weighted sums: y ~ p_low_j + (p_high_j - p_low_j) sigma(v_j . x); weights v_j and logits of rates
are Gaussian around those of one of a few camps (:mod:`~intravar.learning.personal_rules`). One camp
that agrees on everything is the rule that all share; that differs in the intercept alone, personal
thresholds; one wide camp, a rule of one's own each. A physician's rule and rates are drawn
together, so that the rates are not read from a rule that was fitted to the same decisions as if it
were known. What is common to a camp is drawn as well, and each of a panel's chains takes another
draw of it.

Limits: a physician may treat whom two limits on two covariates mark ("older than 60 and a pressure
above 140"), or whom either of them does. There are finitely many such rules on a grid of quantiles,
and with Beta laws of the rates the marginal likelihood of each is exact. So is the posterior:
nothing is searched greedily, and what stays unsure among the rules stays in the interval. A rule is
a pair of covariates, a limit on each with the side that is meant, and whether those inside are
eligible (both limits met) or those outside (either missed). Counts inside come from cumulative
tables: a rule costs a look-up, however many patients there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, softmax

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent import rates
from intravar.latent.rule_learners import Standard
from intravar.learning import personal_rules
from intravar.panels import Panels

#: At most so many camps, and how often physicians are put into them anew.
MOST_CAMPS, CAMP_ROUNDS = 4, 2
#: What another camp must gain in log-likelihood, beside what Schwarz's criterion asks for.
CAMP_PRICE = 2.0
#: The weights of a sharp rule are large.
SAMPLING = personal_rules.Sampling(rounds=160, moves=1, near=3, sd=1.0, largest=30.0)
#: Sampling begins with weights that are so many times the modes', and with these logits of rates:
#: from flat rules and rates near 0 and 1 it would take long to find sharp rules loosely followed.
SHARPER, START_RATES, START_VARIANCE = 5.0, (-3.0, 1.1), 0.7
#: Chains of a panel, their sweeps that are thrown away, and that are kept.
CHAINS, WARM, KEPT = 16, 10, 40
#: Points at which a Gaussian is integrated over.
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(20)
#: Levels of a covariate, and rules drawn per physician.
LEVELS, DRAWS = 40, 200
#: Beta laws of p_high and p_low: worth four patients and ten.
HIGH, LOW = (3.0, 1.0), (1.0, 9.0)


@dataclass(frozen=True, eq=False)
class Camp:
    """What is common to a camp: its share of the physicians, and mean and covariance of theirs."""

    share: float
    drawn: tuple[personal_rules.Hyper, ...]
    middle: personal_rules.Hyper


@dataclass(frozen=True)
class CommonWeights:
    """What personal weights have in common: the columns that they look at, and camps.

    `logit` says how the shared rule's logit is standardised.
    """

    columns: IntArray
    logit: Standard
    camps: tuple[Camp, ...]

    name = "personal weights"

    @property
    def laws(self) -> tuple[rates.Law, rates.Law]:
        """Beta laws of p_high and p_low in the largest camp."""
        largest = max(self.camps, key=lambda camp: camp.share)
        return beta_law(largest.middle, -1), beta_law(largest.middle, -2)

    @classmethod
    def learn(
        cls,
        z: FloatArray,
        columns: IntArray,
        panels: Panels,
        known: BoolArray,
        random: np.random.Generator,
        shared: FloatArray,
    ) -> CommonWeights:
        """Learn camps from the decisions on `known`; `columns` of z are weighed.

        `shared` is the shared rule's logit, as known without the decisions of the others.
        """
        logit = Standard.of(shared[:, None])
        design, rows = _design(z[:, columns], shared, logit), np.flatnonzero(known)
        table = personal_rules.Table(design, panels.y, panels.code, rows, len(panels))
        camps = []
        member, starts = divide_into_camps(table)
        for number, start in enumerate(starts):
            own = table._replace(rows=rows[member[panels.code[rows]] == number])
            drawn = personal_rules.hyper_rounds(own, _sharper(start), random, SAMPLING)
            some = tuple(drawn[:: max(1, len(drawn) // CHAINS)][:CHAINS])
            share = float(np.mean(member == number))
            camps.append(Camp(share, some, personal_rules.Hyper.average(drawn)))
        return cls(columns, logit, tuple(camps))

    def reader(
        self, z: FloatArray, shared: FloatArray, panels: Panels, known: BoolArray, tested: int
    ) -> Callable[[slice, np.random.Generator], rates.PanelDraws]:
        """Return what reads a panel; see :func:`read_panel`."""
        design = _design(z[:, self.columns], shared, self.logit)
        return lambda part, random: read_panel(
            design[part], panels.y[part], known[part], self.camps, tested, random
        )


def _design(z: FloatArray, shared: FloatArray, standard: Standard) -> FloatArray:
    """Return an intercept, covariates, and the shared rule's logit, standardised, if it differs."""
    return np.column_stack([np.ones((len(z), 1)), z, standard(shared[:, None])])


def divide_into_camps(
    table: personal_rules.Table,
) -> tuple[IntArray, list[personal_rules.Hyper]]:
    """Return every physician's camp, and what is common to each; as many as are worth it.

    Physicians are put into camps by the directions of their weights, then, again and again, into
    the camp under which their decisions are likeliest. Another camp is worth it if it makes
    everybody's decisions likelier by more than a mean and a variance of every parameter are worth
    by Schwarz's criterion (Annals of Statistics 1978;6:461-464), doubled.
    """
    rows, n_physicians = table.rows, table.n
    everybody = personal_rules.learn_hyper(table)
    rules = personal_rules.fit_rules(table, everybody)
    price = CAMP_PRICE * len(everybody.mean) * np.log(n_physicians)
    best = np.zeros(n_physicians, dtype=np.int64), [everybody]
    most = rules.evidence.sum()
    for n_camps in range(2, min(MOST_CAMPS, n_physicians) + 1):
        camp = personal_rules.find_camps(rules.theta, n_camps)[0]
        for _ in range(CAMP_ROUNDS):
            _, camp, size = np.unique(camp, return_inverse=True, return_counts=True)
            by_patient = camp[table.code[rows]]
            parts = [table._replace(rows=rows[by_patient == k]) for k in range(len(size))]
            hypers = [personal_rules.learn_hyper(part, everybody) for part in parts]
            fits = [personal_rules.fit_rules(table, hyper) for hyper in hypers]
            evidence = np.array([each.evidence for each in fits]).T + np.log(size / n_physicians)
            camp = np.argmax(evidence, axis=1)
        kept, camp = np.unique(camp, return_inverse=True)
        value = np.logaddexp.reduce(evidence, axis=1).sum() - price * (len(kept) - 1)
        if value > most:
            most, best = value, (camp, [hypers[k] for k in kept])
    return best


def _sharper(start: personal_rules.Hyper) -> personal_rules.Hyper:
    """Return where sampling begins: sharp rules, loosely followed."""
    mean, covariance = SHARPER * start.mean, SHARPER**2 * start.covariance
    mean[-2:], covariance[-2:], covariance[:, -2:] = START_RATES, 0.0, 0.0
    covariance[[-2, -1], [-2, -1]] = START_VARIANCE
    return personal_rules.Hyper(mean, covariance)


def read_panel(
    Z: FloatArray,
    y: IntArray,
    known: BoolArray,
    camps: tuple[Camp, ...],
    tested: int,
    random: np.random.Generator,
) -> rates.PanelDraws:
    """Draw one panel's rule and rates, given draws of what is common to camps.

    Decisions on `known` patients count, the others are predicted. Chains are dealt to camps by how
    likely the decisions are in each. Of so many draws as are `tested`, P(yes) is kept.
    """
    own, nobody = np.flatnonzero(known), np.zeros(len(y), dtype=np.int64)
    table = personal_rules.Table(Z, y, nobody, own, 1)
    rules = [personal_rules.fit_rules(table, camp.middle) for camp in camps]
    chance = softmax(
        [each.evidence[0] + np.log(c.share) for each, c in zip(rules, camps, strict=True)]
    )
    points = (np.arange(CHAINS) + random.random()) / CHAINS
    camp_of_chain = np.minimum(np.searchsorted(np.cumsum(chance), points), len(camps) - 1)
    hypers = [camps[k].drawn[t % len(camps[k].drawn)] for t, k in enumerate(camp_of_chain)]
    theta = draw_chains(Z, y, own, [rules[k] for k in camp_of_chain], hypers, random)
    low, high = expit(theta[:, [-2]]), expit(theta[:, [-1]])
    g = expit(theta[:, :-2] @ Z.T)
    q = np.clip(low + (high - low) * g, 1e-9, 1 - 1e-9)
    yes = y == 1
    chosen = g * np.where(yes, high, 1 - high) / np.where(yes, q, 1 - q)
    eligible = random.random(g.shape) < chosen
    laws = np.tile([[*beta_law(each, -1), *beta_law(each, -2)] for each in hypers], (KEPT, 1))
    return rates.PanelDraws(
        rates.laws_given_decisions(laws, eligible, yes, known),
        int(np.argmax(chance)),
        *rates.without_own_decision(g, q, yes, known),
        q[np.arange(tested) * len(q) // max(tested, 1)],
    )


def draw_chains(
    Z: FloatArray,
    y: IntArray,
    own: IntArray,
    rules: list[personal_rules.PersonalRules],
    hypers: list[personal_rules.Hyper],
    random: np.random.Generator,
) -> FloatArray:
    """Draw one physician's parameters, a chain for every Hyper; return draws x parameters.

    A chain moves along ellipses of the prior, and of a Gaussian around the mode that is wider than
    the posterior (Nishihara, Murray and Adams, JMLR 2014;15:2087-2112), where it begins.
    """
    mean, covariance = map(np.array, zip(*hypers, strict=True))
    own_modes = ((each.theta[0], each.covariance[0]) for each in rules)
    mode, spread = map(np.array, zip(*own_modes, strict=True))
    n = len(mean)
    by_prior = personal_rules.prior_ellipse(mean, covariance, n)
    near = personal_rules.near_ellipse(mean, covariance, mode, spread)
    theta = mode + (near[0] @ random.standard_normal((*mean.shape, 1)))[:, :, 0]
    table = Z, y, np.tile(own, n), own.size * np.arange(n + 1)
    kept = []
    for _ in range(WARM + KEPT):
        personal_rules.move_along(by_prior, SAMPLING.moves, theta, table, random)
        personal_rules.move_along(near, SAMPLING.near, theta, table, random)
        personal_rules.put_upright(theta)
        kept.append(theta.copy())
    return np.concatenate(kept[WARM:])


def beta_law(hyper: personal_rules.Hyper, rate: int) -> rates.Law:
    """Return the Beta law with mean and variance of a rate whose logit is Gaussian."""
    p = expit(hyper.mean[rate] + np.sqrt(hyper.covariance[rate, rate]) * NODES)
    mean, square = (float(NODE_WEIGHTS @ each / NODE_WEIGHTS.sum()) for each in (p, p**2))
    strength = mean * (1 - mean) / max(square - mean**2, 1e-9) - 1
    return mean * strength, (1 - mean) * strength


@dataclass(frozen=True)
class CommonLimits:
    """What personal limits have in common: columns, and where they are cut into levels.

    A value on a cut is above it.
    """

    columns: IntArray
    cuts: tuple[FloatArray, ...]

    name = "personal limits"
    laws = (HIGH, LOW)

    @classmethod
    def learn(cls, z: FloatArray, columns: IntArray, *_: object) -> CommonLimits:
        """Cut columns at quantiles, or between values where these are few; nothing else counts."""
        cuts = []
        for values in z[:, columns].T:
            few = np.unique(values)
            if few.size > LEVELS:
                few = np.unique(np.quantile(values, np.arange(LEVELS) / LEVELS))
            cuts.append(few[1:])
        return cls(columns, tuple(cuts))

    def reader(
        self, z: FloatArray, _: FloatArray, panels: Panels, known: BoolArray, tested: int
    ) -> Callable[[slice, np.random.Generator], rates.PanelDraws]:
        """Return what reads a panel; the shared rule's logit is not looked at."""
        bins = np.array(
            [np.digitize(z[:, at], cuts) for at, cuts in zip(self.columns, self.cuts, strict=True)]
        )
        pairs = np.column_stack(np.tril_indices(len(bins), -1))
        return lambda part, random: weigh_panel(
            bins[:, part], panels.y[part], known[part], pairs, random.random(), tested
        )


def weigh_panel(
    bins: IntArray, y: IntArray, known: BoolArray, pairs: IntArray, point: float, tested: int
) -> rates.PanelDraws:
    """Draw rules of two limits from their exact posterior.

    `bins` holds the level of every patient, covariate x patient. Decisions on `known` patients
    count, the others are predicted. The evenly spread draws begin at `point` in [0, 1); of so many
    as are `tested`, P(yes) is kept.
    """
    inside = _counts_inside(bins[:, known], np.ones(known.sum(), dtype=np.int64), pairs)
    inside_for = _counts_inside(bins[:, known], y[known], pairs)
    n, n_for = int(known.sum()), int(y[known].sum())
    evidence = _log_evidence(inside, inside_for, n, n_for)
    run = np.cumsum(np.exp(evidence - evidence.max()))
    points = (np.arange(DRAWS) + point) / DRAWS * run[-1]
    drawn = np.minimum(np.searchsorted(run, points), len(run) - 1)
    way, pair, a, b = (at[:, None] for at in np.unravel_index(drawn, (2, *inside.shape)))
    within = [
        np.where(limit < LEVELS, own <= limit, own >= limit - LEVELS)
        for limit, own in ((a, bins[pairs[pair[:, 0], 0]]), (b, bins[pairs[pair[:, 0], 1]]))
    ]
    eligible = (within[0] & within[1]) != (way == 1)
    yes = y == 1
    own_laws = rates.laws_given_decisions(np.ravel([HIGH, LOW]), eligible, yes, known)
    for_it = np.where(eligible, own_laws[:, [0]], own_laws[:, [2]])
    total = for_it + np.where(eligible, own_laws[:, [1]], own_laws[:, [3]])
    # Without the own decision, which leaves the law.
    q = (for_it - (known & yes)) / (total - known)
    means = rates.without_own_decision(eligible, q, yes, known)
    some = np.arange(tested) * DRAWS // max(tested, 1)
    return rates.PanelDraws(own_laws, 0, *means, (for_it / total)[some])


def _counts_inside(bins: IntArray, count: IntArray, pairs: IntArray) -> IntArray:
    """Add `count` up over the patients inside both limits, pair x limit x limit.

    Limits are first those with patients up to a level inside, then those with the others from it.
    """
    table = np.zeros((len(pairs), LEVELS, LEVELS), dtype=np.int64)
    for at, (one, other) in enumerate(pairs):
        place = bins[one] * LEVELS + bins[other]
        table[at] = np.bincount(place, count, LEVELS**2).reshape(LEVELS, LEVELS)
    for axis in (1, 2):
        up_to = table.cumsum(axis=axis)
        table = np.concatenate([up_to, up_to.take([-1], axis=axis) - up_to + table], axis=axis)
    return table


def _log_evidence(inside: IntArray, inside_for: IntArray, n: int, n_for: int) -> FloatArray:
    """Return the log marginal likelihood of every rule, those inside eligible, then the others."""
    high, low = (
        gammaln(start + np.arange(n + 1)) - gammaln(start)
        for start in (np.array([[a], [b], [a + b]]) for a, b in (HIGH, LOW))
    )
    # Rules with the same counts are alike: where counts are few, each is weighed once.
    few = (n + 1) * (n_for + 1) < inside.size
    m, k = np.indices((n + 1, n_for + 1)) if few else (inside, inside_for)
    against, others_for = np.maximum(m - k, 0), n_for - k
    others_against = np.maximum(n - m - others_for, 0)
    values = [
        (one[0, k] + one[1, against] - one[2, m])
        + (other[0, others_for] + other[1, others_against] - other[2, n - m])
        for one, other in ((high, low), (low, high))
    ]
    return np.concatenate(
        [(value[inside, inside_for] if few else value).ravel() for value in values]
    )
