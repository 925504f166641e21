"""The Bayesian binomial mixed model and its overdispersion score."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import t

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.base import Estimator
from intravar.inference.intervals import Interval
from intravar.observed import Observed

#: Edges of the residuals' histogram; residuals beyond fall into the outer bins.
RESIDUAL_EDGES = np.linspace(-6, 6, 49)
CALIBRATION_BINS = 10


@dataclass(kw_only=True, eq=False, repr=False)
class GLMM(Estimator):
    """Scores how badly a logistic model with a random intercept per physician fits each physician.

    logit P(y = 1) = b0 + b'z + u_j; the score is the mean squared Pearson residual of a physician's
    patients, the random intercept included. It ranks physicians and is not a discordance rate.

    Parameters
    ----------
    fixed_prior_sd
        Standard deviation of the normal prior of the fixed effects.
    log_sd_prior_sd
        Standard deviation of the normal prior of the log standard deviation of the intercepts.

    Attributes
    ----------
    fixed_effects_
        Posterior means by name of the covariate; `intercept` first.
    random_effects_, random_effects_sd_
        Posterior means and standard deviations of the physicians' intercepts.
    fitted_probability_, residuals_
        Per patient.
    standard_error_
        Of the score; NaN for a panel of one patient.
    model_
        The whole variational posterior, as statsmodels has it.
    """

    name = "glmm"
    label = "GLMM"
    idea = "mean squared Pearson residual under a logistic model with a random intercept"
    supervised = True
    scale = "overdispersion"
    estimand = "order"
    shares = "glmm"

    fixed_prior_sd: float = 2.0
    log_sd_prior_sd: float = 1.0

    def _fit(self, observed: Observed) -> None:
        # Loaded where it is asked for: statsmodels, and pandas with it, serve nothing else.
        from intravar.learning.mixed_model import fit_mixed_model, pearson_residuals

        z, y, code = observed.standardised, observed.decision, observed.code
        self.model_ = fit_mixed_model(
            z,
            y,
            code,
            len(observed.physicians),
            fixed_prior_sd=self.fixed_prior_sd,
            log_sd_prior_sd=self.log_sd_prior_sd,
        )
        if not self.model_.optim_retvals.success:
            warnings.warn(
                f"{self.label}: the fit did not converge, so that its scores and their order may "
                "be off; leave out covariates that hardly vary or nearly decide by themselves",
                stacklevel=4,
            )
        fixed, own = self.model_.fe_mean, self.model_.vc_mean
        self.fixed_effects_ = dict(zip(("intercept", *observed.names), fixed.tolist(), strict=True))
        self.random_effects_, self.random_effects_sd_ = own, self.model_.vc_sd
        self.fitted_probability_ = expit(fixed[0] + z @ fixed[1:] + own[code])
        self.residuals_ = pearson_residuals(y, self.fitted_probability_)
        total = np.bincount(code, self.residuals_**2, minlength=len(self.physicians_))
        self.score_ = total / self.n_patients_
        self.reason_ = [None] * len(self.physicians_)
        self._decision = np.asarray(y)
        design, p = np.column_stack((np.ones(len(z)), z)), self.fitted_probability_
        self.standard_error_ = overdispersion_error(
            observed.y, p, self.residuals_**2, code, design, self.model_.fe_sd, self.model_.vc_sd
        )

    def _interval(self, level: float) -> Interval:
        # Symmetric on the log scale: the score is positive.
        freedom = np.maximum(self.n_patients_ - 1, 1)
        width = t.ppf((1 + level) / 2, freedom) * self.standard_error_ / self.score_
        ends = self.score_ * np.exp(-width), self.score_ * np.exp(width)
        return Interval(*ends, self.standard_error_)

    def calibration(self, n_bins: int = CALIBRATION_BINS) -> Any:
        """Return observed shares against fitted probabilities, in bins of equal width."""
        position = np.minimum((self.fitted_probability_ * n_bins).astype(int), n_bins - 1)
        count = np.bincount(position, minlength=n_bins)
        used = count > 0
        fitted = np.bincount(position, self.fitted_probability_, minlength=n_bins)
        observed = np.bincount(position, self._decision, minlength=n_bins)
        return pl.DataFrame(
            {
                "bin": np.flatnonzero(used),
                "fitted": fitted[used] / count[used],
                "observed": observed[used] / count[used],
                "n_patients": count[used],
            }
        )

    def _profile_columns(self) -> dict[str, Any]:
        return {"random_effect": self.random_effects_, "random_effect_sd": self.random_effects_sd_}

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        inside = np.clip(self.residuals_, RESIDUAL_EDGES[0], RESIDUAL_EDGES[-1])
        counts, _ = np.histogram(inside, RESIDUAL_EDGES)
        return {
            "fixed_effects": self.fixed_effects_,
            "random_effect_sd": float(np.exp(self.model_.vcp_mean[0])),
            "converged": self.model_.optim_retvals.success,
            "calibration": self.calibration().to_dicts(),
            "residuals": {"edges": RESIDUAL_EDGES.tolist(), "counts": counts.tolist()},
        }


def overdispersion_error(
    y: IntArray,
    p: FloatArray,
    square: FloatArray,
    code: IntArray,
    design: FloatArray,
    fixed_sd: FloatArray,
    random_sd: FloatArray,
) -> FloatArray:
    """Return the standard error of every physician's mean squared Pearson residual.

    Decision, fitted probability, squared residual, physician and covariates, led by a one, are per
    patient; beside them stand the posterior standard deviations of the fixed effects and of the
    physicians' intercepts. NaN with fewer than two patients.

    Examples
    --------
    With nothing uncertain but the patients it is the standard error of a mean.

    >>> y, p = np.array([1, 0, 1, 0]), np.array([0.5, 0.2, 0.8, 0.1])
    >>> square, nobody, zero = np.array([1.0, 0.25, 0.25, 0.5]), np.zeros(4, int), np.zeros(1)
    >>> overdispersion_error(y, p, square, nobody, np.ones((4, 1)), zero, zero).round(4).tolist()
    [0.1768]
    """
    J = len(random_sd)
    n = np.bincount(code, minlength=J)
    # r^2 is exp(-eta) for a prescription and exp(eta) for none.
    slope = (1 - 2 * y) * square
    # The intercept was estimated from the same decisions.
    influence = square + (random_sd**2 * np.bincount(code, slope, J))[code] * (y - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(code, influence, J) / n
        within = np.bincount(code, (influence - mean[code]) ** 2, J) / (n * (n - 1))
        gradient = np.stack([np.bincount(code, slope * x, J) / n for x in design.T], axis=1)
    return np.asarray(np.sqrt(within + gradient**2 @ fixed_sd**2))
