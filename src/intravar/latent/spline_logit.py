"""A penalised logit of the latent rule on splines, with or without the physicians' rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import minimize
from scipy.special import expit, logit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.boosted_trees import Rates
from intravar.panels import PanelDecisions

#: Standardised values are held within this many standard deviations.
FURTHEST = 4.0

#: What a column of the basis is: a value, a hinge, a product, the mark of a missing value.
VALUE, HINGE, PRODUCT, MARK = range(4)


class SplineTerms(NamedTuple):
    """How the basis is made of covariates; a tuple, because compiled code takes it.

    Attributes
    ----------
    centre, scale
        Of every covariate; missing values take the centre.
    kind, first, second, knot
        Of every column of the basis: what it is, of which covariates, and where a hinge bends.
    mean, spread
        Of every column of the basis.
    """

    centre: FloatArray
    scale: FloatArray
    kind: IntArray
    first: IntArray
    second: IntArray
    knot: FloatArray
    mean: FloatArray
    spread: FloatArray


def spline_basis(
    X: FloatArray, knots: tuple[float, ...], max_products: int
) -> tuple[FloatArray, SplineTerms]:
    """Return the standardised basis, values, hinges, products and marks, and its terms."""
    known = np.isfinite(X)
    centre = np.array([X[k, c].mean() if k.any() else 0.0 for c, k in enumerate(known.T)])
    filled = np.where(known, X, centre)
    scale = filled.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    z = np.clip((filled - centre) / scale, -FURTHEST, FURTHEST)
    columns = [z[:, c] for c in range(z.shape[1])]
    terms: list[tuple[int, int, int, float]] = [(VALUE, c, c, 0.0) for c in range(z.shape[1])]
    distinct = np.array([np.unique(z[:, c]).size for c in range(z.shape[1])])
    for c in np.flatnonzero(distinct > 10):
        bends = np.quantile(z[:, c], knots)
        columns += [np.maximum(z[:, c] - k, 0) for k in bends]
        terms += [(HINGE, int(c), int(c), float(k)) for k in bends]
    chosen = np.sort(np.argsort(distinct, kind="stable")[:max_products])
    pairs = [(int(a), int(b)) for a in chosen for b in chosen if a < b]
    columns += [z[:, a] * z[:, b] for a, b in pairs]
    terms += [(PRODUCT, a, b, 0.0) for a, b in pairs]
    gaps = [c for c, k in enumerate(known.T) if not k.all()]
    columns += [(~known[:, c]).astype(float) for c in gaps]
    terms += [(MARK, c, c, 0.0) for c in gaps]
    basis = np.column_stack(columns)
    spread = basis.std(axis=0)
    keep = spread > 1e-9
    mean, spread = basis[:, keep].mean(axis=0), spread[keep]
    kind, first, second = (np.array([t[at] for t in terms], np.int64)[keep] for at in range(3))
    knot = np.array([t[3] for t in terms])[keep]
    made = SplineTerms(centre, scale, kind, first, second, knot, mean, spread)
    return np.asarray((basis[:, keep] - mean) / spread), made


@njit(cache=True, nogil=True)
def spline_scores(X, terms, coefficients):  # type: ignore[no-untyped-def]
    """Return the logit of any rows, row by row: no row's sum depends on its neighbours."""
    n, p = X.shape
    score = np.empty(n)
    z = np.empty(p)
    for i in range(n):
        for c in range(p):
            z[c] = 0.0
            if np.isfinite(X[i, c]):
                z[c] = (X[i, c] - terms.centre[c]) / terms.scale[c]
                z[c] = min(max(z[c], -FURTHEST), FURTHEST)
        total = coefficients[0]
        for m in range(terms.kind.size):
            kind, at = terms.kind[m], terms.first[m]
            if kind == VALUE:
                value = z[at]
            elif kind == HINGE:
                value = max(z[at] - terms.knot[m], 0.0)
            elif kind == PRODUCT:
                value = z[at] * z[terms.second[m]]
            else:
                value = 0.0 if np.isfinite(X[i, at]) else 1.0
            total += coefficients[1 + m] * ((value - terms.mean[m]) / terms.spread[m])
        score[i] = total
    return score


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
    decided: PanelDecisions
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
