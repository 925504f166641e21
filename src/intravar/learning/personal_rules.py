"""A rule of one's own: personal weights and rates around those of all, by empirical Bayes.

P(yes) = low_j + (high_j - low_j) / (1 + exp(-beta_j.z)). The parameters of the physicians are drawn
from one Gaussian, whose mean is the common rule and whose covariance says how, and in which
directions, rules differ; both are estimated. Where rules do not differ the covariance shrinks to
nothing and everybody has the common rule; where there are camps, it is wide along the line that
separates them, and along that line only.

Mean and covariance are estimated from modes, or from draws of the parameters. Modes and the
curvature around them say too little of how sharp rules are where panels are small: common weights
come out too flat, and a physician who follows a sharp rule of their own looks like one who decides
by chance. Draws from the posteriors do not have this fault. In each round every physician's
parameters are drawn, and mean and covariance of all are read from the draws. Rounds are slow in one
direction: how sharp all rules are. So everybody's weights are stretched together once a round, to
where the decisions are likeliest.

References
----------
MacKay, Neural Computation 1992;4:448-472 (evidence) and 720-736 (averaging over a posterior).
Celeux and Diebolt, Comput Stat Q 1985;2:73-82 (stochastic EM).
Liu, Rubin and Wu, Biometrika 1998;85:755-770 (parameter expansion: the stretching).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.personal_rules_kernel import EDGE, draw_panels, fit_panels, predict_rows
from intravar.processes import interrupts_wait
from intravar.seeds import stream

#: Standard deviation of slopes, and of logits of rates, from which the search starts.
SLOPE_SD = 0.5
RATE_SD = 1.0
#: Common rates from which the search starts: logits of 0.05 and 0.9.
START_LOW, START_HIGH = -3.0, 2.0
LARGEST_LOGIT = 8.0
#: The prior of the covariance is worth so many physicians.
PRIOR_PHYSICIANS = 2.0
#: Small ridge for invertibility.
LEAST_VARIANCE = 1e-5
ROUNDS = 40
SETTLED = 0.03
#: By how much ellipses near posteriors are wider, and rounds after which these are found anew.
WIDER, LOOK_AGAIN = 4.0, 25
#: Random numbers per move: a level, an angle, and for how often an arc may be narrowed.
CHANCES = 32
#: Logits of common rates from which the search starts lie within these limits.
START_LIMIT = 4.0
#: Factors at which stretching is tried, on the log scale, and the largest step of a round.
TRIED = 0.1
LARGEST_STRETCH = 0.2


@interrupts_wait()
def _fit_panels(*given: Any) -> Any:
    """Fit panels; an interrupt waits until the loop has handed back its arrays."""
    return fit_panels(*given)


@dataclass(frozen=True)
class Sampling:
    """How mean and covariance of the physicians' parameters are sampled.

    Rounds, of which the later half is kept; moves of every physician in each, by the prior and near
    the posterior (with these the mean is drawn, otherwise estimated, and parameters are
    uncorrelated); the standard deviation by which parameters differ beforehand; a limit of the
    weights' means and standard deviations, beyond which they are not stretched.
    """

    rounds: int = 40
    moves: int = 4
    near: int = 0
    sd: float = 0.2
    largest: float = 8.0


ESTIMATED = Sampling()


#: Design and decisions of all rows; rows in order of physician, and where each physician's begin.
Sorted = tuple[FloatArray, IntArray, IntArray, IntArray]
#: Gaussians to move by: roots of their covariances, middles, and how they differ from the prior.
Ellipse = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class Table(NamedTuple):
    """What rules are learned from: a design, whose first column is constant, and decisions on it.

    `code` is the physician of every patient, of `n` in all; the patients of `rows` count.
    """

    Z: FloatArray
    y: IntArray
    code: IntArray
    rows: IntArray
    n: int

    def sorted(self) -> Sorted:
        """Return the rows in order of physician, and where each physician's begin and end."""
        # One layout of Z: for every other one the loops would be compiled once more.
        Z = np.ascontiguousarray(self.Z)
        return Z, self.y, *sorted_panels(self.code, self.rows, self.n)

    def of_present(self) -> Sorted:
        """Return the same without physicians who have no rows."""
        Z, y, order, begin = self.sorted()
        return Z, y, order, np.unique(begin)


class Hyper(NamedTuple):
    """What is common to all physicians: mean and covariance of their parameters."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def average(cls, some: Sequence[Hyper]) -> Hyper:
        """Return the mean of some draws or estimates."""
        return cls(*(np.mean(part, axis=0) for part in zip(*some, strict=True)))


class PersonalRules(NamedTuple):
    """Every physician's parameters: posterior modes and covariances, and log densities there."""

    hyper: Hyper
    theta: FloatArray
    covariance: FloatArray
    reached: FloatArray

    @property
    def evidence(self) -> FloatArray:
        """Log marginal likelihood of every physician's decisions, by Laplace's approximation."""
        spread = np.linalg.slogdet(self.covariance)[1] - np.linalg.slogdet(self.hyper.covariance)[1]
        return np.asarray(self.reached + 0.5 * spread)

    def predict(self, Z: FloatArray, code: IntArray, rows: IntArray) -> FloatArray:
        """Return P(yes) of some rows with their physicians."""
        Z = np.ascontiguousarray(Z)
        return np.asarray(predict_rows(Z, code, rows, self.theta, self.covariance))

    def take(self, among: IntArray) -> PersonalRules:
        """Return the rules of some physicians."""
        return PersonalRules(self.hyper, *(each[among] for each in self[1:]))

    def average(self, Z: FloatArray, rows: IntArray) -> FloatArray:
        """Return P(yes) of some rows with one of the physicians, drawn at random."""
        total = np.zeros(len(rows))  # one after the other: a mean over an axis depends on how many
        for j in range(len(self.theta)):
            total += self.predict(Z, np.full(len(Z), j), rows)
        return total / len(self.theta)

    def score(self, Z: FloatArray, code: IntArray, rows: IntArray) -> FloatArray:
        """Return the logit beta_j.z of some rows, without the rates."""
        d = Z.shape[1]
        return np.asarray(np.einsum("ik,ik->i", Z[rows], self.theta[code[rows], :d]))

    def slopes(self, Z: FloatArray, code: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return P(yes) of all rows at the modes, and how it moves with every parameter."""
        low, high = expit(self.theta[code, -2]), expit(self.theta[code, -1])
        g = expit(self.score(Z, code, np.arange(len(Z))))
        steep = (high - low) * g * (1 - g)
        rates = np.column_stack([low * (1 - low) * (1 - g), high * (1 - high) * g])
        return low + (high - low) * g, np.column_stack([steep[:, None] * Z, rates])


def sorted_panels(code: IntArray, rows: IntArray, n_physicians: int) -> tuple[IntArray, IntArray]:
    """Return rows in order of physician, and where each physician's begin and end."""
    order = rows[np.argsort(code[rows], kind="stable")]
    sizes = np.bincount(code[rows], minlength=n_physicians)
    return order, np.concatenate([[0], np.cumsum(sizes)])


def start_hyper(n_columns: int) -> Hyper:
    """Return where the search for the common part begins."""
    sd = np.r_[np.full(n_columns, SLOPE_SD), RATE_SD, RATE_SD]
    return Hyper(np.r_[np.zeros(n_columns), START_LOW, START_HIGH], np.diag(sd**2))


def learn_hyper(table: Table, start: Hyper | None = None) -> Hyper:
    """Estimate mean and covariance of the physicians' parameters; without rows they are left out.

    A neighbouring fit to begin with saves rounds.
    """
    hyper, panels = start or start_hyper(table.Z.shape[1]), table.of_present()
    theta = np.tile(hyper.mean, (len(panels[3]) - 1, 1))
    for _ in range(ROUNDS):
        precision = np.linalg.inv(hyper.covariance)
        fitted = _fit_panels(*panels, theta, hyper.mean, precision, 3)
        covariance, _, gradient, information = fitted
        away = theta - hyper.mean
        shift = away.mean(axis=0)
        spread = held_back_covariance(away - shift, covariance.sum(axis=0))
        # Half a Newton step of all together: where nobody differs, means of modes hardly move.
        ridge = 0.1 * np.eye(len(shift))
        push = 0.5 * np.clip(np.linalg.solve(information + ridge, gradient), -1, 1)
        mean = hyper.mean + shift + push
        mean[-2:] = np.clip(mean[-2:], -LARGEST_LOGIT, LARGEST_LOGIT)
        theta += push
        old, new = np.sqrt(np.diag(hyper.covariance)), np.sqrt(np.diag(spread))
        still = (np.abs(new - old) <= SETTLED * (old + 0.05)).all()
        settled = still and (np.abs(mean - hyper.mean) <= SETTLED * (1 + old)).all()
        hyper = Hyper(mean, spread)
        if settled:
            break
    return hyper


def sampled_hyper(table: Table, start: Hyper, seed: int) -> Hyper:
    """Estimate the same from draws of the physicians' parameters, which `seed` names."""
    return Hyper.average(hyper_rounds(table, start, stream(seed, "prediction", "draws")))


def hyper_rounds(
    table: Table, start: Hyper, random: np.random.Generator, how: Sampling = ESTIMATED
) -> list[Hyper]:
    """Return mean and covariance of the physicians' parameters as drawn in the later rounds."""
    panels = table.of_present()
    J, m = len(panels[3]) - 1, len(start.mean)
    hyper = Hyper(start.mean.copy(), start.covariance)
    hyper.mean[-2:] = np.clip(hyper.mean[-2:], -START_LIMIT, START_LIMIT)
    theta, mode = (np.tile(hyper.mean, (J, 1)) for _ in range(2))
    kept = []
    for number in range(how.rounds):
        move_along(prior_ellipse(*hyper, J), how.moves, theta, panels, random)
        if how.near:
            if number % LOOK_AGAIN == 0:
                precision = np.linalg.inv(hyper.covariance)
                spread = _fit_panels(*panels, mode, hyper.mean, precision, 5)[0]
            move_along(near_ellipse(*hyper, mode, spread), how.near, theta, panels, random)
            put_upright(theta)
        theta[:, :-2] *= _stretch(panels, theta, how.largest)
        mean = theta.mean(axis=0)
        covariance = held_back_covariance(theta - mean, np.zeros((m, m)), how.sd)
        if how.near:
            covariance = np.diag(np.diag(covariance))
            mean += np.sqrt(np.diag(covariance) / J) * random.standard_normal(m)
            # Where everybody decides for everybody, nothing else would end the rates' climb.
            mean[-2:] += (start.mean[-2:] - mean[-2:]) * PRIOR_PHYSICIANS / (J + PRIOR_PHYSICIANS)
        hyper = Hyper(mean, covariance)
        if number >= how.rounds // 2:
            kept.append(hyper)
    return kept


def put_upright(theta: FloatArray) -> None:
    """Let the high rate be the higher one, in place; the same rule with both turned round."""
    turned = theta[:, -2] > theta[:, -1]
    theta[turned, :-2] *= -1
    theta[turned, -2:] = theta[turned, -2:][:, ::-1]


def prior_ellipse(mean: FloatArray, covariance: FloatArray, n: int) -> Ellipse:
    """Return how to move by the prior, one for all or one for each of `n` chains."""
    middle = np.broadcast_to(mean, (n, mean.shape[-1])).copy()
    nothing = np.zeros((*middle.shape, middle.shape[1]))
    root = np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    return root, middle, nothing[..., 0].copy(), nothing


def near_ellipse(
    mean: FloatArray, covariance: FloatArray, mode: FloatArray, spread: FloatArray
) -> Ellipse:
    """Return how to move near posteriors, by modes and covariances, given the prior.

    The Gaussian is wider than the posterior, so that no chain stays far out.
    """
    precision, near = np.linalg.inv(covariance), WIDER * spread
    pull = (precision @ (mode - mean)[:, :, None])[:, :, 0]
    root = np.asarray(np.linalg.cholesky(near), dtype=np.float64)
    return root, mode, np.asarray(pull), np.asarray(np.linalg.inv(near) - precision)


def move_along(
    ellipse: Ellipse, moves: int, theta: FloatArray, panels: Sorted, random: np.random.Generator
) -> None:
    """Move the parameters of every physician so often, in place; see :func:`draw_panels`."""
    root, middle, pull, bend = ellipse
    steps = random.standard_normal((len(theta), moves, theta.shape[1])) @ np.swapaxes(root, -1, -2)
    chances = random.random((len(theta), moves, CHANCES))
    draw_panels(*panels, theta, middle, pull, bend, steps, chances)


def _stretch(panels: Sorted, theta: FloatArray, most: float) -> float:
    """Return the factor of everybody's weights under which the decisions are likeliest, nearly."""
    below, here, above = stretched(panels, theta, np.exp([-TRIED, 0.0, TRIED]))
    bend, slope = above - 2 * here + below, 0.5 * (above - below)
    step = -TRIED * slope / bend if bend < 0 else np.sign(slope) * TRIED
    weights = theta[:, :-2]
    largest = max(float(weights.std(axis=0).max()), float(np.abs(weights.mean(axis=0)).max()), 1e-9)
    factor = np.exp(np.clip(step, -LARGEST_STRETCH, LARGEST_STRETCH))
    return float(min(factor, max(most / largest, 1.0 - LARGEST_STRETCH)))


def stretched(panels: Sorted, theta: FloatArray, factors: FloatArray) -> list[float]:
    """Return the log-likelihood of all if everybody's weights were multiplied by each factor."""
    Z, y, order, begin = panels
    own = np.repeat(theta, np.diff(begin), axis=0)
    eta = np.einsum("ik,ik->i", Z[order], own[:, :-2])
    low, high = expit(own[:, -2]), expit(own[:, -1])
    totals = []
    for factor in factors:
        q = np.clip(low + (high - low) * expit(factor * eta), EDGE, 1 - EDGE)
        totals.append(float(np.log(np.where(y[order] == 1, q, 1 - q)).sum()))
    return totals


def fit_rules(table: Table, hyper: Hyper) -> PersonalRules:
    """Find every physician's parameters, given what is common; without rows they are the mean."""
    theta = np.tile(hyper.mean, (table.n, 1))
    precision = np.linalg.inv(hyper.covariance)
    fitted = _fit_panels(*table.sorted(), theta, hyper.mean, precision, 25)
    return PersonalRules(hyper, theta, *fitted[:2])


def held_back_covariance(
    away: FloatArray, unsure: FloatArray, sd: float = ESTIMATED.sd
) -> FloatArray:
    """Return the covariance that expects what the posteriors show, held back where data are few.

    `away` are parameters of every physician, less their mean; `unsure` is the sum of the
    covariances of what is not known of them.
    """
    J, m = away.shape
    covariance = away.T @ away + unsure
    # Correlations of many parameters take many physicians: m of them count as uncorrelated.
    independent = np.diag(np.diag(covariance) / J)
    covariance = (covariance + m * independent) / (J + m)
    prior = sd**2 * np.eye(m)
    covariance = (J * covariance + PRIOR_PHYSICIANS * prior) / (J + PRIOR_PHYSICIANS)
    return np.asarray(covariance + LEAST_VARIANCE * np.eye(m))


CAMP_ROUNDS = 20


class CampRules(NamedTuple):
    """What was learned of camps: directions and weights of their rules.

    `hyper` is what is common to thresholds and rates of the physicians.
    """

    centres: FloatArray
    weights: FloatArray
    hyper: Hyper

    def predict(self, table: Table, asked: IntArray, rules: PersonalRules) -> FloatArray:
        """Return P(yes) of patients: the camp's rule, the physician's threshold and rates.

        `rules` are those of the physicians, learned from the table. Nobody's result depends on who
        else is asked about.
        """
        Z, code = table.Z, table.code
        slopes = rules.theta[:, 1:-2]
        # Sums along columns, not products of matrices, which may round by the place of a row.
        near = np.zeros((len(slopes), len(self.centres)))
        for at, slope in enumerate(slopes.T):
            near += slope[:, None] * self.centres[None, :, at]
        member = np.argmax(near, axis=1)[code]
        score = np.zeros(len(Z))
        for at, column in enumerate(Z.T):
            score += column * self.weights[member, at]
        own = np.column_stack([np.ones(len(Z)), score])
        return fit_rules(table._replace(Z=own), self.hyper).predict(own, code, asked)


def find_camps(theta: FloatArray, n_camps: int) -> tuple[IntArray, FloatArray]:
    """Return the camp of every physician, by the direction of the weights, and the camps' centres.

    Directions are clustered around centres that lie far apart at first; lengths are left out,
    because a physician who follows a rule loosely weighs everything less.
    """
    slopes = theta[:, 1:-2]
    length = np.linalg.norm(slopes, axis=1, keepdims=True)
    direction = slopes / np.maximum(length, 1e-9)
    centres = direction[[int(np.argmax(length))]]
    while len(centres) < n_camps:
        nearest = np.max(direction @ centres.T, axis=1)
        centres = np.vstack([centres, direction[int(np.argmin(nearest))]])
    for _ in range(CAMP_ROUNDS):
        camp = np.argmax(direction @ centres.T, axis=1)
        for number in range(n_camps):
            if (camp == number).any():
                centre = slopes[camp == number].sum(axis=0)
                centres[number] = centre / max(float(np.linalg.norm(centre)), 1e-9)
    return np.asarray(np.argmax(direction @ centres.T, axis=1), dtype=np.int64), centres


def learn_camps(table: Table, rules: PersonalRules, n_camps: int) -> CampRules:
    """Learn the rule of every camp, and what is common to thresholds and rates around it.

    By the personal rules learned from the table, physicians are put into camps.
    """
    Z, y, code, rows, _ = table
    present, who = np.unique(code[rows], return_inverse=True)
    camp, centres = find_camps(rules.theta[present], n_camps)
    # To learn a camp's rule, its members count as one physician with a large panel.
    own = Table(Z[rows], y[rows], camp[who], np.arange(len(rows)), n_camps)
    together = fit_rules(own, start_hyper(Z.shape[1]))
    design = np.column_stack([np.ones(len(rows)), together.score(own.Z, own.code, own.rows)])
    hyper = learn_hyper(own._replace(Z=design, code=who, n=len(present)))
    return CampRules(centres, together.theta[:, : Z.shape[1]].copy(), hyper)
