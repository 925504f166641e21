"""Reading the physicians' rates from held-out scores of the shared rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.calibration import (
    Calibration,
    CalibrationSettings,
    Counts,
    calibrate,
    count,
    decision_log_likelihood,
)
from intravar.latent.crossfit import CrossFit, one_class_log_likelihood
from intravar.latent.decided import Decided
from intravar.latent.doubt import doubt_of_p_high
from intravar.latent.rates import RatePosterior, rate_posterior

#: Gain in log-likelihood that personal thresholds must show over a shared one.
THRESHOLD_MARGIN = 10.0


@dataclass(frozen=True)
class SharedReading:
    """Rates under the shared rule.

    Attributes
    ----------
    logit
        Held-out logit of g, turned so that the eligible are those decided for more often.
    fit
        Its final calibration.
    thresholds
        Whether thresholds are personal.
    posterior
        Posterior of the rates.
    shift
        Expected shift of logit g, per physician; 0 if thresholds are shared.
    g, q
        Calibrated probability of being eligible and of a decision for, per patient.
    doubt
        Standard deviation of p_high that is owed to the rule being estimated.
    counts
        Decisions by logit.
    switched
        Whether the logit was turned.
    map_covariance
        Of intercept and slope of the final calibration.
    """

    logit: FloatArray
    fit: Calibration
    thresholds: bool
    posterior: RatePosterior
    shift: FloatArray
    g: FloatArray
    q: FloatArray
    doubt: FloatArray
    counts: Counts
    switched: bool
    map_covariance: FloatArray


def read_shared(logit: FloatArray, decided: Decided, thresholds: bool) -> SharedReading:
    """Calibrate once more on all patients and read the rates.

    Parameters
    ----------
    logit
        Held-out logit of g.
    decided
        The decisions.
    thresholds
        Whether thresholds may be personal, where the data ask for it.
    """
    counts = count(logit, decided)
    fit, personal = _final(counts, thresholds)
    switched = bool(fit.mean_high.mean() < fit.mean_low.mean())
    if switched:
        # The classes came out switched: the eligible are those decided for more often.
        logit = -logit
        counts = count(logit, decided)
        fit, personal = _final(counts, thresholds)
    posterior = rate_posterior(counts, fit)
    shift = posterior.shift(fit.shifts)
    moved = shift if personal else np.zeros(decided.n_physicians)
    g = expit(fit.logit(logit) + moved[decided.physician])
    high, low = (rate[decided.physician] for rate in posterior.mean_rates())
    doubt, covariance = doubt_of_p_high(counts, fit)
    q = low + (high - low) * g
    return SharedReading(
        logit,
        fit,
        personal,
        posterior,
        shift,
        g,
        q,
        doubt,
        counts,
        switched,
        covariance,
    )


def held_out_on_first(
    crossed: CrossFit, decided: Decided, fold: IntArray, shared: SharedReading | None
) -> float:
    """Return the log-likelihood of the first fold's decisions, read from the other folds.

    Under the shared rule, with personal thresholds if these were found; without a rule if
    `shared` is None.
    """
    rest, own = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
    here = decided.take(own)
    if shared is None:
        return one_class_log_likelihood(decided.take(rest), here)
    fit, _ = _final(count(crossed.nested[rest], decided.take(rest)), shared.thresholds)
    logit = fit.logit(crossed.nested[own]) + fit.shift[here.physician]
    return decision_log_likelihood(logit, here, fit.mean_high, fit.mean_low)


def _final(counts: Counts, thresholds: bool) -> tuple[Calibration, bool]:
    """Calibrate with scores that are calibrated already; say whether thresholds are personal."""
    fit = calibrate(counts, CalibrationSettings(tight=True))
    if thresholds:
        personal = calibrate(counts, CalibrationSettings(personal=True, tight=True), fit)
        if personal.log_likelihood > fit.log_likelihood + THRESHOLD_MARGIN:
            return personal, True
    return fit, False
