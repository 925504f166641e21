"""The latent rule: discordance among patients whom a rule, shared or personal, makes eligible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.canonical_order import CanonicalOrder, canonical_order
from intravar.errors import InputError
from intravar.estimators.base import Estimator
from intravar.estimators.evidence import EligibleRates, Estimand
from intravar.estimators.work import Size, Work
from intravar.inference.intervals import Interval
from intravar.latent.anchors import Anchors, find_anchors
from intravar.latent.beyond.common import CommonRule, Kept
from intravar.latent.beyond.shared import CommonCalibration
from intravar.latent.beyond.sorted_panels import SortedPanels
from intravar.latent.cautions import (
    AnchorWarning,
    OwnRulesWarning,
    warn_of_own_rules,
    warn_of_thin_anchors,
)
from intravar.latent.crossfit import CrossFit, FoldPlan, cross_fit, plan_folds
from intravar.latent.decided import Decided
from intravar.latent.eligibility import eligible_given_decision
from intravar.latent.personal.contest import (
    EVIDENCE,
    Field,
    Winner,
    evidence_left,
    hold_contest,
)
from intravar.latent.personal.heterogeneity import strongest_evidence
from intravar.latent.personal.panel_rows import Standard
from intravar.latent.personal.unfollowed import safe_interval
from intravar.latent.rates import (
    EligibleDiscordance,
    PanelDiscordance,
    fit_beta_binomial,
    no_stronger,
    one_class_posterior,
)
from intravar.latent.readout import SharedReading, held_out_on_first, read_shared
from intravar.latent.rule_learners import BoostedTrees, RuleLearner, SplineLogit
from intravar.learning.screening import MOST_SEEN
from intravar.observed import Observed
from intravar.seeds import stream

__all__ = ["AnchorWarning", "LatentRule", "OwnRulesWarning"]

#: Gain in held-out log-likelihood that a rule must show over no rule.
ONE_CLASS_MARGIN = 5.0
#: A patient whose probability of being eligible is at least this counts as core.
CORE = 0.8
#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40
#: The word for the rule that all share, beside the names of the families of own rules.
SHARED = "shared"
#: What holds for everybody, whether fitted or read later.
FACTS = (
    "two_classes_",
    "personal_",
    "rule_",
    "own_rules_",
    "own_rule_evidence_",
    "follows_",
    "chosen_",
    "held_out_",
    "prior_high_",
    "prior_low_",
    "log_likelihood_",
    "converged_",
)


class LatentRule(Estimator):
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
    starts
        Starting values of logit g; the best by likelihood across halves is kept.
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
    idea = "learns the rule, shared or personal, then how closely each physician follows it"
    supervised = True
    shares = "latent"
    estimand: ClassVar[Estimand] = "eligible"
    accepts_missing = True
    most = 0.5
    reads_others = True

    p_high_: FloatArray
    p_low_: FloatArray
    discrimination_: FloatArray
    low_: FloatArray
    high_: FloatArray
    eligible_probability_: FloatArray
    fold_: IntArray
    core_: BoolArray
    two_classes_: bool
    personal_: bool
    shift_: FloatArray
    rule_: str
    camp_: IntArray
    own_rules_: bool
    own_rule_evidence_: float
    follows_: bool
    chosen_: list[str]
    held_out_: dict[str, float]
    anchors_: Anchors
    prior_high_: tuple[float, float]
    prior_low_: tuple[float, float]
    log_likelihood_: FloatArray
    converged_: bool
    _common: CommonRule

    def __init__(
        self,
        *,
        within: Literal["eligible", "panel"] = "eligible",
        learners: Sequence[RuleLearner] | None = None,
        n_folds: int = 4,
        starts: Sequence[float] = (0.0, -2.0),
        personal_thresholds: Literal["auto", "never"] = "auto",
        personal_rules: Literal["auto", "never"] = "auto",
        anchor_share: float = 0.2,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.within = within
        self.learners = learners
        self.n_folds = n_folds
        self.starts = starts
        self.personal_thresholds = personal_thresholds
        self.personal_rules = personal_rules
        self.anchor_share = anchor_share
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check(self) -> None:
        if self.n_folds < 3:
            raise InputError(f"n_folds is {self.n_folds}; at least 3 are needed")
        if self.within not in ("eligible", "panel"):
            raise InputError(f"within is {self.within!r}; it takes 'eligible' or 'panel'")
        for name in ("personal_thresholds", "personal_rules"):
            said = getattr(self, name)
            if said not in ("auto", "never"):
                raise InputError(f"{name} is {said!r}; it takes 'auto' or 'never'")
        if self.learners is not None and not len(self.learners):
            raise InputError("learners is empty; give at least one, or None for the default")
        if not len(self.starts):
            raise InputError("starts is empty; give at least one starting value")

    def _fit(self, observed: Observed) -> None:
        self._check()
        # By content, before anything is dealt or drawn: how the table is sorted, and what
        # physicians are called, then changes nothing.
        order = canonical_order(observed.covariates, observed.code, observed.decision)
        X = np.ascontiguousarray(observed.covariates[order.rows][:, order.columns])
        n_physicians = len(observed.physicians)
        decided = Decided(
            observed.decision[order.rows].astype(np.int64),
            order.place[observed.code][order.rows],
            n_physicians,
        )
        self.reason_ = [None] * n_physicians
        self.two_classes_, self.chosen_, self.held_out_ = False, [], {}
        self.rule_, self.camp_ = SHARED, np.zeros(n_physicians, dtype=np.int64)
        self.own_rules_, self.own_rule_evidence_, self.follows_ = False, 0.0, True
        self.fold_ = np.zeros(len(decided.y), dtype=np.int64)
        self._safe: tuple[FloatArray, Decided] | None = None
        self._kept = Kept(observed.names, order.columns, n_physicians)
        # The products are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            self._learn(X, decided)
        self._restore(order)
        self._conclude(observed)
        facts = {name: getattr(self, name) for name in FACTS}
        self._common = self._kept.common(self.anchors_, self.prior_high_, facts)

    def _conclude(self, observed: Observed) -> None:
        """Set what follows from rates and probabilities."""
        self.discrimination_ = self.p_high_ - self.p_low_
        self.low_, self.high_, _ = self._interval(0.95)
        self.core_ = self.eligible_probability_ >= CORE
        core = np.bincount(observed.code, self.core_, minlength=len(observed.physicians))
        self.n_core_ = core.astype(np.int64)

    def common(self) -> Self:
        """See :class:`intravar.estimators.base.Estimator`."""
        if not hasattr(self, "_common"):
            raise NotFittedError("LatentRule has learned nothing yet; call fit first")
        light = type(self)(**self.get_params(deep=False))
        light._common = self._common
        return light

    def others(self, observed: Observed) -> Self:
        """Score other physicians by what was learned in common; nothing common is learned.

        What is said of a physician depends on the own panel and on what is common alone.

        Parameters
        ----------
        observed
            Patients of physicians who were not fitted, with the covariates that were.

        Examples
        --------
        >>> import intravar
        >>> from intravar.observed import Observed
        >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=10)
        >>> everybody = Observed.of(*cohort.observed())
        >>> first = everybody.code < 5
        >>> model = intravar.LatentRule().fit_observed(everybody.take(np.flatnonzero(first)))
        >>> read = model.common().others(everybody.take(np.flatnonzero(~first)))
        >>> bool(abs(read.score_ - intravar.oracle(cohort)["oracle"][5:].to_numpy()).mean() < 0.06)
        True
        """
        read, common = self.common(), self._common
        read._describe(observed)
        n_physicians = len(observed.physicians)
        X = common.arranged(observed.covariates, observed.names)
        panels = SortedPanels.of(X, observed.decision.astype(np.int64), observed.code, n_physicians)
        found, read.anchors_, decided = common.read(panels, self.within, self.random_state)
        for name, fact in common.facts.items():
            setattr(read, name, fact)
        read.p_high_, read.p_low_, read.score_ = found.p_high, found.p_low, found.score
        read.shift_, read.camp_ = found.shift, found.camp
        read.reason_ = [None] * n_physicians
        read.eligible_probability_ = panels.as_given(found.eligible)
        read.fold_ = np.zeros(len(decided.y), dtype=np.int64)
        read._posterior, read._place, read._rows = found.posterior, found.place, panels.rows
        read._safe = None if read.follows_ else (found.q, decided)
        read._safe_place = np.arange(n_physicians)
        read._conclude(observed)
        return read

    def _restore(self, order: CanonicalOrder) -> None:
        """Bring patients and physicians back into the order in which they were given."""
        self._place = self._safe_place = order.place
        for name in ("score_", "p_high_", "p_low_", "shift_", "camp_"):
            setattr(self, name, getattr(self, name)[order.place])
        for name in ("eligible_probability_", "fold_"):
            given = np.empty_like(getattr(self, name))
            given[order.rows] = getattr(self, name)
            setattr(self, name, given)
        # The range is that of the rates' means; the score, a mean over their posterior, belongs in.
        self.anchors_ = self.anchors_.of(order.place).around(self.score_)

    def _learn(self, X: FloatArray, decided: Decided) -> None:
        """Learn the shared rule; where physicians differ, let rules of their own compete."""
        if len(decided.y) < FEWEST_PATIENTS or decided.y.min() == decided.y.max():
            self._read_one_class(decided)
            return
        plan = plan_folds(decided, self.n_folds, self.starts, self.random_state, self.n_jobs or 1)
        self.fold_ = plan.fold
        crossed = self._cross_fit(X, decided, plan)
        shared = None
        if self.two_classes_:
            shared = read_shared(crossed.logit, decided, self.personal_thresholds == "auto")
            self._read_shared(shared)
            self._kept.rule, self._kept.calibration = crossed.rule, CommonCalibration.of(shared)
        else:
            self._read_one_class(decided)
        if self.personal_rules == "auto":
            self._compete(X, decided, crossed, shared)
        if self.two_classes_:
            warn_of_thin_anchors(self.anchors_, self.anchor_share, stacklevel=5)

    def _cross_fit(self, X: FloatArray, decided: Decided, plan: FoldPlan) -> CrossFit:
        """Learn the rule on all but each fold; say whether there is one."""
        learners = self.learners or (BoostedTrees(), SplineLogit())
        rules = {learner.name: learner.prepare(X) for learner in learners}
        crossed = cross_fit(rules, decided, plan)
        self.chosen_, self.held_out_ = crossed.chosen, crossed.held_out
        gain = crossed.held_out["two classes"] - crossed.held_out["one class"]
        self.two_classes_ = gain > ONE_CLASS_MARGIN
        return crossed

    def _compete(
        self, X: FloatArray, decided: Decided, crossed: CrossFit, shared: SharedReading | None
    ) -> None:
        """Hold the contest with rules of their own, if the shared rule leaves any reason to."""
        q = self.p_high_[decided.physician] if shared is None else shared.q
        standard = Standard.of(X)
        z = standard(X)
        self.own_rule_evidence_ = evidence = strongest_evidence(z, decided, q)
        self.own_rules_ = evidence > EVIDENCE
        if shared is None:
            # Too few patients for a learner of any rule may be enough for a simple one.
            evidence = max(evidence, strongest_evidence(z, decided, q, common_too=True))
        if evidence <= EVIDENCE and not self.personal_:
            return
        # Without a shared rule its logit is the same for everybody.
        logit, nested = (
            (0 * crossed.logit,) * 2 if shared is None else (crossed.logit, crossed.nested)
        )
        field = Field(z, decided, q, self.fold_, logit, nested, self.random_state, self.n_jobs or 1)
        to_beat = held_out_on_first(crossed, decided, self.fold_, shared)
        winner, found = hold_contest(field, to_beat)
        self.held_out_ = {**self.held_out_, SHARED: to_beat, **found}
        if winner is not None:
            self._read_winner(winner, decided)
            self._kept.standard, self._kept.own = standard, winner.fitted.common
            evidence = evidence_left(field, winner)
        self.follows_ = evidence <= EVIDENCE
        if not self.follows_:
            self._safe = (q if winner is None else winner.q, decided)
            warn_of_own_rules(stacklevel=6)

    def _read_shared(self, read: SharedReading) -> None:
        posterior = read.posterior
        self.p_high_, self.p_low_ = posterior.mean_rates()
        self.personal_, self.shift_ = read.thresholds, read.shift
        self.prior_high_, self.prior_low_ = posterior.prior_high, posterior.prior_low
        self.log_likelihood_ = np.array(read.fit.path)
        self.converged_ = read.fit.converged
        self.eligible_probability_ = expit(read.logit)
        self.anchors_ = find_anchors(read.g, self.p_high_, self.p_low_)
        weak = posterior.under_weak_laws()
        self._posterior: EligibleDiscordance | PanelDiscordance
        if self.within == "eligible":
            self.score_ = posterior.eligible_discordance().mean()
            self._posterior = replace(weak.eligible_discordance(), doubt=read.doubt)
        else:
            self.score_ = posterior.panel_discordance().mean()
            share = (posterior.share * posterior.by_shift).sum(axis=1)
            bend = share * np.abs(2 - 4 * self.p_high_)
            self._posterior = replace(weak.panel_discordance(), doubt=bend * read.doubt)

    def _read_winner(self, winner: Winner, decided: Decided) -> None:
        draws = winner.fitted.draws
        self.rule_, self.camp_ = winner.name, winner.fitted.camp
        self.two_classes_ = True
        self.p_high_, self.p_low_ = draws.mean_rates()
        self.personal_, self.shift_ = False, np.zeros(decided.n_physicians)
        self.prior_high_, self.prior_low_ = draws.prior_high, draws.prior_low
        self.eligible_probability_ = winner.g
        _, g = winner.fitted.predict(np.arange(len(decided.y)))
        self.anchors_ = find_anchors(g, self.p_high_, self.p_low_)
        self._posterior = (
            draws.eligible_discordance()
            if self.within == "eligible"
            else draws.panel_discordance(stream(self.random_state, "latent-rule", "panel"))
        )
        self.score_ = self._posterior.mean()

    def _read_one_class(self, decided: Decided) -> None:
        size, given = (part.astype(np.float64) for part in decided.per_physician())
        self.prior_high_ = fit_beta_binomial(given, size)
        posterior, self.p_high_ = one_class_posterior(given, size, self.prior_high_)
        self.score_ = posterior.mean()
        weak = no_stronger(self.prior_high_, decided.n_physicians)
        self._posterior, _ = one_class_posterior(given, size, weak)
        self.p_low_ = np.full(decided.n_physicians, np.nan)
        self.prior_low_ = (np.nan, np.nan)
        self.shift_ = np.zeros(decided.n_physicians)
        self.personal_, self.converged_ = False, True
        self.log_likelihood_ = np.array([self.held_out_.get("one class", np.nan)])
        self.eligible_probability_ = np.ones(len(decided.y))
        self.anchors_ = Anchors(0.0, 1.0, 1.0, 1.0, self.score_, self.score_)

    def evidence(self, observed: Observed) -> EligibleRates:
        """See :class:`intravar.estimators.base.Estimator`."""
        code, decided_for = observed.code, observed.decision == 1
        # Other physicians' patients are summed up in an order by content.
        rows = getattr(self, "_rows", slice(None))
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
            np.bincount(code[rows], share[rows], minlength=n).astype(np.float64),
            np.bincount(code[rows], (share * decided_for)[rows], minlength=n).astype(np.float64),
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
        seen = min(p, MOST_SEEN)
        learned = n * (1.45e-4 + 8.5e-6 * seen + 2e-6 * (p - seen)) * (1 + n / 1e6)
        other = 1.1e-5 + 3e-7 * seen + 1e-7 * (p - seen)
        # Rules of their own are drawn physician by physician, where it comes to that.
        drawn = 0.02 * len(size.panels)
        return Work(2.0 + drawn, shared=learned, copies=8.0, held=3_000, other=other)

    def _interval(self, level: float) -> Interval:
        low, high = self._posterior.interval(level)
        error = self._posterior.standard_deviation()
        low, high = low[self._place], high[self._place]
        if self._safe is not None:
            safe = [end[self._safe_place] for end in safe_interval(*self._safe, level)]
            low, high = np.minimum(low, safe[0]), np.maximum(high, safe[1])
        return Interval(
            np.minimum(low, self.score_), np.maximum(high, self.score_), error[self._place]
        )

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
