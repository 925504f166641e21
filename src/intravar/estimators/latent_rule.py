"""The latent rule: discordance among the patients whom a rule that all share makes eligible."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.estimators.base import Estimator
from intravar.estimators.evidence import EligibleRates, Estimand
from intravar.estimators.work import Size, Work
from intravar.inference.intervals import Interval
from intravar.latent.anchors import Anchors, find_anchors
from intravar.latent.calibration import (
    Calibration,
    CalibrationSettings,
    Counts,
    calibrate,
    count,
)
from intravar.latent.crossfit import FoldPlan, cross_fit, physician_folds
from intravar.latent.decided import Decided
from intravar.latent.eligibility import eligible_given_decision
from intravar.latent.rates import (
    EligibleDiscordance,
    PanelDiscordance,
    one_class_posterior,
    rate_posterior,
)
from intravar.latent.rule_learners import BoostedTrees, RuleLearner, SplineLogit
from intravar.observed import Observed

#: Gain in held-out log-likelihood that a rule must show over no rule, and personal thresholds over
#: a shared one.
ONE_CLASS_MARGIN = 5.0
PERSONAL_MARGIN = 10.0
#: A patient whose probability of being eligible is at least this counts as core.
CORE = 0.8
#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40


class AnchorWarning(UserWarning):
    """Few patients are surely eligible or surely not: the level of the scores is not pinned."""


class LatentRule(Estimator):
    """Scores discordance among patients whom a rule that all physicians share makes eligible.

    A physician prescribes to an eligible patient with probability p_high, to another with p_low;
    who is eligible is not seen, but P(eligible | x) = g(x) is the same for everybody. The rule g is
    learned from all physicians' decisions on held-out folds and recalibrated; each physician's
    rates are then read from their posterior.

    Parameters
    ----------
    within
        "eligible": two eligible patients, 2 p_high (1 - p_high), the paper's D*. "panel": two
        patients of the panel, both eligible or both not, weighted by the panel's share of each.
    learners
        Learners that compete for g by held-out likelihood; by default boosted trees, a spline
        logit, and the mean of both.
    n_folds
        Number of fixed folds, at least three.
    starts
        Starting values of logit g; the best by likelihood across halves is kept.
    personal_thresholds
        "auto" lets each physician shift the rule where the data ask for it, "never" does not.
    anchor_share
        Warn when a smaller share of the eligible, or of the others, is surely so.
    random_state
        Seed of the folds; nothing else is random.
    n_jobs
        Threads; the result does not depend on it.

    Attributes
    ----------
    p_high_, p_low_, discrimination_
        Posterior means of the rates and their difference; p_low is NaN without a rule.
    low_, high_
        95 % interval of the score.
    eligible_probability_
        Per patient, from the other folds only: never informed by the patient's own decision. (Only
        whether there is a rule at all is decided once, on everybody; without one it is 1.)
    core_
        Patients with a probability of at least 0.8; their decisions carry most of the score.
    two_classes_
        Whether a rule was found; if not, all patients count as eligible.
    personal_, shift_
        Whether thresholds differ between physicians, and each one's expected shift of logit g.
    chosen_, held_out_
        Learner chosen per fold; held-out log-likelihood with a rule and without.
    anchors_
        What pins the level of the rates, and the range of scores that fit equally well.
    prior_high_, prior_low_
        Estimated Beta priors of the rates.
    log_likelihood_, converged_
        Of the final calibration, by iteration.

    References
    ----------
    Dawid and Skene, Applied Statistics 1979;28:20-28. Raykar et al., Learning from crowds, JMLR
    2010;11:1297-1322. Khetan, Lipton and Anandkumar, Learning from noisy singly-labeled data, ICLR
    2018.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=5)
    >>> model = intravar.LatentRule().fit(*cohort.observed())
    >>> bool(abs(model.score_ - intravar.oracle(cohort)["oracle"]).mean() < 0.05)
    True
    """

    name = "latent-rule"
    label = "Latent Rule"
    idea = "learns the rule all share, then how closely each physician follows it"
    supervised = True
    shares = "latent"
    estimand: ClassVar[Estimand] = "eligible"
    accepts_missing = True

    p_high_: FloatArray
    p_low_: FloatArray
    discrimination_: FloatArray
    low_: FloatArray
    high_: FloatArray
    eligible_probability_: FloatArray
    core_: npt.NDArray[np.bool_]
    two_classes_: bool
    personal_: bool
    shift_: FloatArray
    chosen_: list[str]
    held_out_: dict[str, float]
    anchors_: Anchors
    prior_high_: tuple[float, float]
    prior_low_: tuple[float, float]
    log_likelihood_: FloatArray
    converged_: bool

    def __init__(
        self,
        *,
        within: Literal["eligible", "panel"] = "eligible",
        learners: Sequence[RuleLearner] | None = None,
        n_folds: int = 4,
        starts: Sequence[float] = (0.0, -2.0),
        personal_thresholds: Literal["auto", "never"] = "auto",
        anchor_share: float = 0.2,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.within = within
        self.learners = learners
        self.n_folds = n_folds
        self.starts = starts
        self.personal_thresholds = personal_thresholds
        self.anchor_share = anchor_share
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, observed: Observed) -> None:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        if self.within not in ("eligible", "panel"):
            raise InputError(f"within is {self.within!r}; it takes 'eligible' or 'panel'")
        if self.personal_thresholds not in ("auto", "never"):
            said = repr(self.personal_thresholds)
            raise InputError(f"personal_thresholds is {said}; it takes 'auto' or 'never'")
        if self.learners is not None and not len(self.learners):
            raise InputError("learners is empty; give at least one, or None for the default")
        if not len(self.starts):
            raise InputError("starts is empty; give at least one starting value")
        decision = observed.decision.astype(np.int64)
        self.reason_ = [None] * len(observed.physicians)
        # The products are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            logit = self._held_out_logit(observed, decision)
        if self.two_classes_:
            self._read_two_classes(observed, decision, logit)
        else:
            self._read_one_class(observed, decision)
        self.discrimination_ = self.p_high_ - self.p_low_
        self.score_ = self._posterior.mean()
        # The range is that of the rates' means; the score, a mean over their posterior, belongs in.
        self.anchors_ = self.anchors_.around(self.score_)
        self.low_, self.high_ = self._posterior.interval(0.95)
        self.core_ = self.eligible_probability_ >= CORE
        core = np.bincount(observed.code, self.core_, minlength=len(observed.physicians))
        self.n_core_ = core.astype(np.int64)

    def _held_out_logit(self, observed: Observed, decision: IntArray) -> FloatArray:
        """Learn the rule on all but each fold; say whether there is one."""
        self.two_classes_, self.chosen_, self.held_out_ = False, [], {}
        if len(decision) < FEWEST_PATIENTS or decision.min() == decision.max():
            return np.zeros(len(decision))
        # Physicians in order of appearance: their names must not decide on the folds.
        _, first = np.unique(observed.code, return_index=True)
        who = np.argsort(np.argsort(first))[observed.code]
        n_physicians = len(observed.physicians)
        random = np.random.default_rng(self.random_state)
        fold = physician_folds(who, self.n_folds, n_physicians, random)
        half = physician_folds(who, 2, n_physicians, random)
        learners = self.learners or (BoostedTrees(), SplineLogit())
        crossed = cross_fit(
            {learner.name: learner.prepare(observed.covariates) for learner in learners},
            Decided(decision, who, n_physicians),
            FoldPlan(fold, half, self.starts, self.n_jobs or 1),
        )
        self.chosen_, self.held_out_ = crossed.chosen, crossed.held_out
        gain = crossed.held_out["two classes"] - crossed.held_out["one class"]
        self.two_classes_ = gain > ONE_CLASS_MARGIN
        return crossed.logit

    def _read_two_classes(self, observed: Observed, decision: IntArray, logit: FloatArray) -> None:
        n_physicians = len(observed.physicians)
        decided = Decided(decision, observed.code, n_physicians)
        counts = count(logit, decided)
        fit = self._final_calibration(counts)
        if fit.mean_high.mean() < fit.mean_low.mean():
            # The classes came out switched: the eligible are those prescribed more.
            logit = -logit
            counts = count(logit, decided)
            fit = self._final_calibration(counts)
        posterior = rate_posterior(counts, fit)
        self.p_high_, self.p_low_ = posterior.mean_rates()
        self.shift_ = posterior.shift(fit.shifts)
        self.prior_high_, self.prior_low_ = posterior.prior_high, posterior.prior_low
        self._posterior: EligibleDiscordance | PanelDiscordance = (
            posterior.eligible_discordance()
            if self.within == "eligible"
            else posterior.panel_discordance()
        )
        self.eligible_probability_ = expit(logit)
        shift = self.shift_ if self.personal_ else np.zeros(n_physicians)
        g = expit(fit.logit(logit) + shift[observed.code])
        self.anchors_ = find_anchors(g, self.p_high_, self.p_low_)
        thin = self.anchors_.complaints(self.anchor_share)
        if thin:
            warnings.warn(
                f"fewer than {self.anchor_share:.0%} of {', and of '.join(thin)}: these data do "
                "not determine the level of the scores, only their order; the range of levels they "
                "allow is in identified_low and identified_high of the profile",
                AnchorWarning,
                stacklevel=4,
            )

    def _final_calibration(self, counts: Counts) -> Calibration:
        fit = calibrate(counts, CalibrationSettings(tight=True))
        self.personal_ = False
        if self.personal_thresholds == "auto":
            personal = calibrate(counts, CalibrationSettings(personal=True, tight=True), fit)
            if personal.log_likelihood > fit.log_likelihood + PERSONAL_MARGIN:
                self.personal_, fit = True, personal
        self.log_likelihood_ = np.array(fit.path)
        self.converged_ = fit.converged
        return fit

    def _read_one_class(self, observed: Observed, decision: IntArray) -> None:
        n_physicians = len(observed.physicians)
        given = np.bincount(observed.code, decision, minlength=n_physicians).astype(np.float64)
        size = self.n_patients_.astype(np.float64)
        self._posterior, self.p_high_, self.prior_high_ = one_class_posterior(given, size)
        self.p_low_ = np.full(n_physicians, np.nan)
        self.prior_low_ = (np.nan, np.nan)
        self.shift_ = np.zeros(n_physicians)
        self.personal_, self.converged_ = False, True
        self.log_likelihood_ = np.array([self.held_out_.get("one class", np.nan)])
        self.eligible_probability_ = np.ones(len(decision))
        score = self._posterior.mean()
        self.anchors_ = Anchors(0.0, 1.0, 1.0, 1.0, score, score)

    def evidence(self, observed: Observed) -> EligibleRates:
        """See :class:`intravar.estimators.base.Estimator`."""
        code, decided_for = observed.code, observed.decision == 1
        share = eligible_given_decision(
            self.eligible_probability_,
            self.shift_[code],
            decided_for,
            self.p_high_,
            self.p_low_,
            code,
        )
        n = len(observed.physicians)
        return EligibleRates(
            self.p_high_,
            self.p_low_,
            np.bincount(code, share, minlength=n).astype(np.float64),
            np.bincount(code, share * decided_for, minlength=n).astype(np.float64),
            self.core_,
            self.anchors_ if self.two_classes_ else None,
        )

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        n, p = size.n_patients, size.n_covariates
        return Work(2.0 + n * (2.4e-4 + 1.3e-5 * p) * (1 + n / 250_000), copies=28.0)

    def _interval(self, level: float) -> Interval:
        low, high = self._posterior.interval(level)
        return Interval(low, high, self._posterior.standard_deviation())

    def _profile_columns(self) -> dict[str, Any]:
        return {
            "p_high": self.p_high_,
            "p_low": self.p_low_,
            "discrimination": self.discrimination_,
            "n_core": self.n_core_,
            "identified_low": self.anchors_.identified_low,
            "identified_high": self.anchors_.identified_high,
        }

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {
            "two_classes": self.two_classes_,
            "personal_thresholds": self.personal_,
            "learners": self.chosen_,
            "held_out": self.held_out_,
            "anchor_low": self.anchors_.low,
            "anchor_high": self.anchors_.high,
            "sure_eligible": self.anchors_.sure_eligible,
            "sure_others": self.anchors_.sure_others,
            "converged": self.converged_,
        }
