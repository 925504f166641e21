"""A penalised logit of the latent rule on splines, with or without the physicians' rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from intravar.arrays import FloatArray
from intravar.latent.decided import Decided
from intravar.latent.tree_kernel import Rates


def spline_basis(X: FloatArray, knots: tuple[float, ...], max_products: int) -> FloatArray:
    """Return the standardised basis: values, hinges, products and marks of missing values."""
    known = np.isfinite(X)
    centre = np.array([X[k, c].mean() if k.any() else 0.0 for c, k in enumerate(known.T)])
    filled = np.where(known, X, centre)
    scale = filled.std(axis=0)
    z = np.clip((filled - centre) / np.where(scale > 0, scale, 1.0), -4, 4)
    columns = [z[:, c] for c in range(z.shape[1])]
    distinct = np.array([np.unique(z[:, c]).size for c in range(z.shape[1])])
    for c in np.flatnonzero(distinct > 10):
        columns += [np.maximum(z[:, c] - k, 0) for k in np.quantile(z[:, c], knots)]
    chosen = np.sort(np.argsort(distinct, kind="stable")[:max_products])
    columns += [z[:, a] * z[:, b] for a in chosen for b in chosen if a < b]
    columns += [(~k).astype(float) for k in known.T if not k.all()]
    basis = np.column_stack(columns)
    spread = basis.std(axis=0)
    keep = spread > 1e-9
    return np.asarray((basis[:, keep] - basis[:, keep].mean(axis=0)) / spread[keep])


@dataclass(frozen=True)
class SplineObjective:
    """Minus the penalised log-likelihood of decisions, as a function of coefficients and rates.

    Parameters
    ----------
    basis
        Columns of the logit, one row per patient; the intercept is added.
    decided
        The decisions on the same patients.
    rates
        The rates; where to begin, and the centre of their priors, if they are learned too.
    penalty
        Ridge penalty on the coefficients.
    learn_rates
        Whether the logits of the rates follow the coefficients in theta.
    strength
        Patients that the prior of a rate is worth.
    """

    basis: FloatArray
    decided: Decided
    rates: Rates
    penalty: float
    learn_rates: bool
    strength: float

    @property
    def width(self) -> int:
        """Number of coefficients, the intercept included."""
        return int(self.basis.shape[1]) + 1

    @cached_property
    def _y(self) -> FloatArray:
        return self.decided.y.astype(float)

    @cached_property
    def _prior(self) -> tuple[float, float]:
        return self.rates.p_high.mean(), self.rates.p_low.mean()

    def rates_of(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return p_high and p_low."""
        if not self.learn_rates:
            return self.rates.p_high, self.rates.p_low
        high, low = np.split(theta[self.width :], 2)
        return expit(high), expit(low)

    def start(self, intercept: float) -> FloatArray:
        """Return theta with a flat rule and the given rates."""
        theta = np.zeros(self.width + (2 * self.decided.n_physicians if self.learn_rates else 0))
        theta[0] = intercept
        if self.learn_rates:
            rates = np.concatenate([self.rates.p_high, self.rates.p_low])
            theta[self.width :] = logit(np.clip(rates, 0.01, 0.99))
        return theta

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        Z, y, who, width = self.basis, self._y, self.decided.physician, self.width
        high, low = self.rates_of(theta)
        g = expit(theta[0] + Z @ theta[1:width] + self.rates.shift[who])
        q = np.clip(low[who] + (high - low)[who] * g, 1e-9, 1 - 1e-9)
        value = np.sum(np.log(np.where(y == 1, q, 1 - q)))
        r = g * np.where(y == 1, high[who] / q, (1 - high[who]) / (1 - q))
        slope = np.zeros(theta.size)
        slope[0] = np.sum(r - g)
        slope[1:width] = Z.T @ (r - g) - self.penalty * theta[1:width]
        value -= 0.5 * self.penalty * np.sum(theta[1:width] ** 2)
        if self.learn_rates:
            J = self.decided.n_physicians
            for at, p, mean, w in (
                (width, high, self._prior[0], r),
                (width + J, low, self._prior[1], 1 - r),
            ):
                slope[at : at + J] = np.bincount(who, w * (y - p[who]), minlength=J)
                slope[at : at + J] += self.strength * (mean - p)
                safe = np.clip(p, 1e-9, 1 - 1e-9)
                fit = mean * np.log(safe) + (1 - mean) * np.log(1 - safe)
                value += self.strength * np.sum(fit)
        return -float(value), -slope


def fit_splines(
    objective: SplineObjective, start: float, iterations: int
) -> tuple[FloatArray, Rates]:
    """Return the coefficients, intercept first, and the rates."""
    found = minimize(
        objective,
        objective.start(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations},
    ).x
    rates = objective.rates
    if objective.learn_rates:
        high, low = (np.clip(p, 1e-3, 1 - 1e-3) for p in objective.rates_of(found))
        rates = Rates(high, low, rates.shift)
    return found[: objective.width], rates
