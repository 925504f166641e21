"""A rule of one's own: personal weights and rates around those of all, by empirical Bayes.

P(yes) = low_j + (high_j - low_j) / (1 + exp(-beta_j.z)). The parameters of the physicians are drawn
from one Gaussian, whose mean is the common rule and whose covariance says how, and in which
directions, rules differ; both are estimated. Where rules do not differ the covariance shrinks to
nothing and everybody has the common rule; where there are camps, it is wide along the line that
separates them, and along that line only.

References
----------
MacKay, Neural Computation 1992;4:448-472 (evidence) and 720-736 (averaging over a posterior).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.own.rules_kernel import FLATTEN, average_rows, fit_panels, predict_rows

#: Standard deviation of slopes, and of logits of rates, from which the search starts.
SLOPE_SD = 0.5
RATE_SD = 1.0
#: Common rates from which the search starts: logits of 0.05 and 0.9.
START_LOW, START_HIGH = -3.0, 2.0
LARGEST_LOGIT = 8.0
#: The prior of the covariance is worth so many physicians, whose slopes differ by so much.
PRIOR_PHYSICIANS = 2.0
PRIOR_SD = 0.2
#: Small ridge for invertibility.
LEAST_VARIANCE = 1e-5
ROUNDS = 40
SETTLED = 0.03


@dataclass(frozen=True, eq=False)
class Hyper:
    """What is common to all physicians: mean and covariance of their parameters."""

    mean: FloatArray
    covariance: FloatArray


@dataclass(frozen=True, eq=False)
class PersonalRules:
    """Every physician's parameters: posterior modes and covariances."""

    hyper: Hyper
    theta: FloatArray
    covariance: FloatArray

    def predict(self, Z: FloatArray, code: IntArray, rows: IntArray) -> FloatArray:
        """Return P(yes) of some rows with their physicians."""
        # One layout: for every other one the loop would be compiled once more.
        Z = np.ascontiguousarray(Z)
        found: FloatArray = predict_rows(Z, code, rows, self.theta, self.covariance)
        return found

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


@dataclass(frozen=True, eq=False)
class AverageColleague:
    """Some physicians' rules side by side; see :func:`average_rows`."""

    weights: FloatArray
    spreads: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, rules: PersonalRules, among: IntArray) -> AverageColleague:
        """Take the rules of some physicians."""
        theta, covariance = rules.theta[among], rules.covariance[among]
        d = theta.shape[1] - 2
        k, h = np.tril_indices(d)
        spreads = np.where(k == h, 0.5, 1.0) * (covariance[:, k, h] + covariance[:, h, k])
        flat = np.sqrt(1 + FLATTEN * np.einsum("jkk->jk", covariance)[:, d:])
        rates = expit(theta[:, d:] / flat)
        return cls(
            np.ascontiguousarray(theta[:, :d].T),
            np.ascontiguousarray(spreads.T),
            rates[:, 0].copy(),
            rates[:, 1].copy(),
        )

    def predict(self, Z: FloatArray, rows: IntArray) -> FloatArray:
        """Return P(yes) of some rows with one of the physicians, drawn at random."""
        found: FloatArray = average_rows(Z, rows, self.weights, self.spreads, self.low, self.high)
        return found


def sorted_panels(code: IntArray, rows: IntArray, n_physicians: int) -> tuple[IntArray, IntArray]:
    """Return rows in order of physician, and where each physician's begin and end."""
    order = rows[np.argsort(code[rows], kind="stable")]
    sizes = np.bincount(code[rows], minlength=n_physicians)
    return order, np.concatenate([[0], np.cumsum(sizes)])


def start_hyper(n_columns: int) -> Hyper:
    """Return where the search for the common part begins."""
    sd = np.r_[np.full(n_columns, SLOPE_SD), RATE_SD, RATE_SD]
    return Hyper(np.r_[np.zeros(n_columns), START_LOW, START_HIGH], np.diag(sd**2))


def learn_hyper(
    Z: FloatArray,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    n_physicians: int,
    start: Hyper | None = None,
) -> Hyper:
    """Estimate mean and covariance of the physicians' parameters from some rows.

    Parameters
    ----------
    Z
        Columns of the rule, the constant first; one row per patient.
    y, code
        Decision and physician per patient.
    rows
        Patients to learn from; physicians without any are left out.
    n_physicians
        Number of physicians.
    start
        Where to begin; a neighbouring fit saves rounds.
    """
    hyper, Z = start or start_hyper(Z.shape[1]), np.ascontiguousarray(Z)
    order, begin = sorted_panels(code, rows, n_physicians)
    begin = np.unique(begin)
    theta = np.tile(hyper.mean, (len(begin) - 1, 1))
    for _ in range(ROUNDS):
        precision = np.linalg.inv(hyper.covariance)
        covariance, gradient, information = fit_panels(
            Z, y, order, begin, theta, hyper.mean, precision, 3
        )
        away = theta - hyper.mean
        shift = away.mean(axis=0)
        spread = held_back_covariance(away - shift, covariance.sum(axis=0))
        # Half a Newton step of all together: where nobody differs, means of modes hardly move.
        ridge = 0.1 * np.eye(len(shift))
        push = 0.5 * np.clip(np.linalg.solve(information + ridge, gradient), -1, 1)
        mean = hyper.mean + shift + push
        mean[-2:] = np.clip(mean[-2:], -LARGEST_LOGIT, LARGEST_LOGIT)
        theta += push
        settled = _settled(hyper, mean, spread)
        hyper = Hyper(mean, spread)
        if settled:
            break
    return hyper


def fit_rules(
    Z: FloatArray, y: IntArray, code: IntArray, rows: IntArray, n_physicians: int, hyper: Hyper
) -> PersonalRules:
    """Find every physician's parameters, given what is common; without rows they are the mean."""
    order, begin = sorted_panels(code, rows, n_physicians)
    theta = np.tile(hyper.mean, (n_physicians, 1))
    precision = np.linalg.inv(hyper.covariance)
    Z = np.ascontiguousarray(Z)
    covariance, _, _ = fit_panels(Z, y, order, begin, theta, hyper.mean, precision, 25)
    return PersonalRules(hyper, theta, covariance)


def held_back_covariance(away: FloatArray, unsure: FloatArray) -> FloatArray:
    """Return the covariance that expects what the posteriors show, held back where data are few.

    Parameters
    ----------
    away
        Parameters of every physician, less their mean.
    unsure
        Sum of the covariances of what is not known of them.
    """
    J, m = away.shape
    found = away.T @ away + unsure
    # Correlations of many parameters take many physicians: m of them count as uncorrelated.
    independent = np.diag(np.diag(found) / J)
    found = (found + m * independent) / (J + m)
    prior = PRIOR_SD**2 * np.eye(m)
    found = (J * found + PRIOR_PHYSICIANS * prior) / (J + PRIOR_PHYSICIANS)
    return np.asarray(found + LEAST_VARIANCE * np.eye(m))


def _settled(before: Hyper, mean: FloatArray, covariance: FloatArray) -> bool:
    old, new = np.sqrt(np.diag(before.covariance)), np.sqrt(np.diag(covariance))
    still = np.abs(new - old) <= SETTLED * (old + 0.05)
    return bool(still.all() and (np.abs(mean - before.mean) <= SETTLED * (1 + old)).all())
