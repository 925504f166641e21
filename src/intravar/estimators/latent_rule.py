"""The latent rule: discordance among patients whom a rule, shared or personal, makes eligible."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from intravar.errors import AssumptionWarning, InputError
from intravar.estimators.assumptions import CONSEQUENCES, Assumptions, Violation, check_assumptions
from intravar.estimators.base import CommonEstimator, Size, Work
from intravar.estimators.evidence import EligibleRates, Estimand
from intravar.inference.intervals import Interval
from intravar.latent.common import HandedIn, LatentCommon, LatentSettings, learn_latent
from intravar.latent.rates import AnchorWarning, safe_interval
from intravar.latent.rule_learners import BoostedTrees, RuleLearner, SplineLogit
from intravar.learning.boosted_trees import MOST_SEEN
from intravar.observed import Observed
from intravar.panels import Layout
from intravar.wording import Sentence

__all__ = ["AnchorWarning", "AssumptionWarning", "LatentRule", "OwnRulesWarning"]


class OwnRulesWarning(AssumptionWarning):
    """Physicians follow rules of their own, and no rule known here explains their decisions."""


#: A patient whose probability of being eligible is at least this counts as core.
CORE = 0.8


@dataclass(kw_only=True, eq=False, repr=False)
class LatentRule(CommonEstimator):
    """Scores discordance among patients whom a rule, shared or personal, makes eligible.

    A physician decides for an eligible patient with probability p_high, for another with p_low;
    who is eligible is not seen. At first P(eligible | x) = g(x) is the same for everybody: the rule
    g is learned from all physicians' decisions on held-out folds and recalibrated; each physician's
    rates are then read from their posterior. Where physicians use the covariates differently,
    personal weights in camps and personal limits compete with the shared rule by held-out
    likelihood, and the winner's posterior is read instead.

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
    personal_thresholds
        "auto" lets each physician shift the rule where the data ask for it, "never" does not.
    personal_rules
        "auto" lets each physician follow another rule where the data ask for it, "never" does not.
    anchor_share
        Warn when a smaller share of the eligible, or of the others, is surely so.
    random_state
        Seed of the folds and, if rules are personal, of the draws from their posterior.
    n_jobs
        Threads; the result does not depend on it.

    Attributes
    ----------
    p_high_, p_low_, discrimination_
        Posterior means of the rates and their difference; p_low is NaN without a rule.
    low_, high_
        95 % interval of the score. It carries the doubt about the rule.
    eligible_probability_
        Per patient, from the other folds only: never informed by the patient's own decision. (Only
        whether there is a rule at all is decided once, on everybody; without one it is 1.)
    fold_
        Fold of every patient.
    core_
        Patients with a probability of at least 0.8; their decisions carry most of the score.
    two_classes_
        Whether a rule was found; if not, all patients count as eligible.
    personal_, shift_
        Whether thresholds differ between physicians, and each one's expected shift of logit g.
    rule_, camp_
        "shared", "personal weights" or "personal limits"; each physician's camp.
    own_rules_, own_rule_evidence_
        Whether physicians use the covariates differently, thresholds aside, and by how many
        standard errors their own slopes exceed chance under the shared rule.
    follows_
        Whether the rule found explains what physicians do differently. If not, intervals hold
        whatever rule they follow: they say how often eligible patients get the drug at least.
    chosen_, held_out_
        Learner chosen per fold; held-out log-likelihood with a rule and without, and, if there was
        a contest with rules of their own, of everybody in it on the first fold.
    anchors_
        What pins the level of the rates, and the range of scores that fit equally well.
    assumptions_
        What the data say of the assumptions (:class:`intravar.estimators.assumptions.Assumptions`);
        an `AssumptionWarning` names those that are violated. None of physicians who were read and
        not fitted.
    prior_high_, prior_low_
        Estimated Beta priors of the rates.
    log_likelihood_, converged_
        Of the shared rule's final calibration, by iteration.

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
    idea = Sentence(
        "learns the rule, shared or personal, then how closely each {decider} follows it"
    )
    supervised = True
    shares = "latent"
    estimand: ClassVar[Estimand] = "eligible"
    accepts_missing = True
    most = 0.5

    within: Literal["eligible", "panel"] = "eligible"
    learners: Sequence[RuleLearner] | None = None
    n_folds: int = 4
    personal_thresholds: Literal["auto", "never"] = "auto"
    personal_rules: Literal["auto", "never"] = "auto"
    anchor_share: float = 0.2
    random_state: int = 0
    n_jobs: int | None = None

    def _fit(self, observed: Observed) -> None:
        super()._fit(observed)
        assumptions = check_assumptions(
            self.evidence(observed), observed, self.score_, self._interval(0.95), self.random_state
        )
        self.assumptions_: Assumptions | None = assumptions
        # These two have warnings of their own.
        found = [
            violation
            for violation in assumptions.violations
            if violation not in (Violation.OWN_RULES, Violation.FEW_CLEAR)
        ]
        if found:
            listed = "; ".join(CONSEQUENCES[violation] for violation in found)
            warnings.warn(
                f"the data do not meet the assumptions of the latent rule: {listed}. The scores "
                "may be wrong by a factor of two or more; use Predictability, or see assumptions_",
                AssumptionWarning,
                stacklevel=4,
            )

    def _learn(self, observed: Observed) -> tuple[LatentCommon, HandedIn]:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        choices = dict.fromkeys(("personal_thresholds", "personal_rules"), ("auto", "never"))
        for name, (one, other) in {"within": ("eligible", "panel"), **choices}.items():
            if (asked := getattr(self, name)) not in (one, other):
                raise InputError(f"{name} is {asked!r}; it takes {one!r} or {other!r}")
        if self.learners is not None and not len(self.learners):
            raise InputError("learners is empty; give at least one, or None for the default")
        # By content, before anything is dealt or drawn: how the table is sorted, and what
        # physicians are called, then changes nothing.
        layout = Layout.of(observed)
        settings = LatentSettings(
            self.learners or (BoostedTrees(), SplineLogit()),
            self.n_folds,
            self.personal_thresholds == "auto",
            self.personal_rules == "auto",
            self.random_state,
            self.n_jobs or 1,
        )
        common, handed_in = learn_latent(layout.panels(observed), layout, settings, self.within)
        if not common.facts["follows_"]:
            warnings.warn(
                Sentence(
                    "{deciders} follow rules of their own, and neither a shared rule nor personal "
                    "weights or limits explain their decisions: scores may take another rule for "
                    "inconsistency; the intervals hold whatever the rules are"
                ),
                OwnRulesWarning,
                stacklevel=5,
            )
        thin = common.anchors.complaints(self.anchor_share) if common.facts["two_classes_"] else []
        if thin:
            warnings.warn(
                f"fewer than {self.anchor_share:.0%} of {', and of '.join(thin)}: these data do "
                "not determine the level of the scores, and their order only if all draw the line "
                "at the same place; the result holds the range of levels that they allow",
                AnchorWarning,
                stacklevel=5,
            )
        return common, handed_in

    def _read(self, common: LatentCommon, observed: Observed, handed_in: HandedIn | None) -> None:
        if handed_in is None:
            panels = common.layout.panels(observed)
            read = common.read(panels, self.within, self.random_state)
            handed_in = np.zeros(panels.n_patients, dtype=np.int64), panels, read
        self.assumptions_ = None
        fold, panels, read = handed_in
        for name, value in common.facts.items():
            setattr(self, name, value)
        self.reason_ = [None] * len(panels)
        self.p_high_, self.p_low_, self.score_, self.shift_ = (
            panels.by_physician(part) for part in (read.p_high, read.p_low, read.score, read.shift)
        )
        self.camp_ = panels.by_physician(read.camp)
        ranges = map(panels.by_physician, common.ranges_of(read))
        self.anchors_ = common.anchors.with_ranges(*ranges)
        self.eligible_probability_ = panels.as_given(read.eligible)
        self.fold_ = panels.as_given(fold)
        self._reading, self._panels = read, panels
        self.discrimination_ = self.p_high_ - self.p_low_
        self.low_, self.high_, _ = self._interval(0.95)
        self.core_ = self.eligible_probability_ >= CORE
        self.n_core_ = np.bincount(observed.code[self.core_], minlength=len(panels))

    def evidence(self, observed: Observed) -> EligibleRates:
        """See :class:`intravar.estimators.base.Estimator`."""
        panels = self._panels
        share = self._reading.eligible_given_decision(panels)
        eligible, eligible_for = (
            panels.by_physician(np.bincount(panels.code, each, len(panels)).astype(np.float64))
            for each in (share, share * panels.decision)
        )
        return EligibleRates(
            self.p_high_,
            self.p_low_,
            eligible,
            eligible_for,
            self.core_,
            self.anchors_ if self.two_classes_ else None,
            self.follows_,
            self.eligible_probability_,
        )

    @classmethod
    def work(cls, size: Size) -> Work:
        """See :class:`intravar.estimators.base.Estimator`."""
        n, p = size.n_patients, size.n_covariates
        # Very many columns are passed over, few of them looked at closely.
        examined = min(p, MOST_SEEN)
        learned = n * (1.45e-4 + 8.5e-6 * examined + 2e-6 * (p - examined)) * (1 + n / 1e6)
        other = 1.1e-5 + 3e-7 * examined + 1e-7 * (p - examined)
        # Rules of their own are drawn physician by physician, where it comes to that.
        drawn = 0.02 * len(size.panels)
        return Work(0.8 + drawn, shared=learned, copies=8.0, held=3_000, other=other)

    def _interval(self, level: float) -> Interval:
        low, high, error = self._reading.interval(level)
        if not self.follows_:
            safe = safe_interval(self._reading.q, self._panels, level)
            low, high = np.minimum(low, safe[0]), np.maximum(high, safe[1])
        return Interval(*map(self._panels.by_physician, (low, high, error)))

    def _profile_columns(self) -> dict[str, Any]:
        return {
            "p_high": self.p_high_,
            "p_low": self.p_low_,
            "discrimination": self.discrimination_,
            "n_core": self.n_core_,
            **self.anchors_.columns(),
        }

    def details(self) -> dict[str, Any]:
        """See :class:`intravar.estimators.base.Estimator`."""
        return {
            "two_classes": self.two_classes_,
            "personal_thresholds": self.personal_,
            "rule": self.rule_,
            "own_rules": self.own_rules_,
            "own_rule_evidence": self.own_rule_evidence_,
            "follows": self.follows_,
            "camps": int(np.unique(self.camp_).size),
            "learners": self.chosen_,
            "held_out": self.held_out_,
            "anchor_low": self.anchors_.low,
            "anchor_high": self.anchors_.high,
            "sure_eligible": self.anchors_.sure_eligible,
            "sure_others": self.anchors_.sure_others,
            "converged": self.converged_,
        }
