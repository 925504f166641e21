"""The latent rule, learned from some physicians in common and read of any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.anchors import Anchors, find_anchors
from intravar.latent.crossfit import CrossFit, KeptSharedRule, cross_fit, plan_folds
from intravar.latent.personal.heterogeneity import strongest_evidence
from intravar.latent.personal.own_rules import (
    EVIDENCE,
    TESTED_DRAWS,
    Field,
    OwnRules,
    evidence_left,
    hold_contest,
    read_own_rules,
)
from intravar.latent.personal.panel_rows import Standard
from intravar.latent.rates import LatentReading, OneClass, Within, fit_beta_binomial
from intravar.latent.rule_learners import RuleLearner
from intravar.latent.shared_rule import SharedRule, held_out_on_first, learn_shared
from intravar.panels import Layout, PanelDecisions, Panels

#: The word for the rule that all share, beside the names of the families of own rules.
SHARED = "shared"
#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40
#: Gain in held-out log-likelihood that a rule must show over no rule.
ONE_CLASS_MARGIN = 5.0


@dataclass(frozen=True)
class LatentSettings:
    """How a rule is learned; see :class:`intravar.LatentRule`."""

    learners: Sequence[RuleLearner]
    n_folds: int
    starts: Sequence[float]
    thresholds: bool
    own_rules: bool
    seed: int
    n_threads: int


@dataclass(frozen=True)
class LatentCommon:
    """All that physicians are read by; no patient is in it.

    Where no rule was found there is only the law of the rates (`one_class`); `rule` and `shared`
    are the shared rule, and how rates are read from it; `standard` and `own` hold what rules of
    their own have in common, where they won. `anchors` are without the physicians' ranges; `facts`
    are fitted attributes that hold for everybody.
    """

    layout: Layout
    one_class: OneClass
    rule: KeptSharedRule | None
    shared: SharedRule | None
    standard: Standard | None
    own: OwnRules | None
    anchors: Anchors
    facts: dict[str, Any]

    def read(
        self, panels: Panels, within: Within, seed: int, logit: FloatArray | None = None
    ) -> LatentReading:
        """Read every panel by itself; `seed` names the random streams, with the panels' content.

        `logit` is the held-out logit of the shared rule of patients who were learned from.
        """
        if logit is None:
            logit = np.zeros(len(panels.y)) if self.rule is None else self.rule.logit(panels.X)
        if self.own is not None and self.standard is not None:
            z = self.standard(panels.X)
            return read_own_rules(self.own, z, logit, panels, seed, within=within)[0]
        if self.shared is not None:
            return self.shared.read(logit, panels, within)
        return self.one_class.read(panels)

    def anchors_of(self, read: LatentReading) -> Anchors:
        """Return what pins the level of the rates, with ranges that hold these scores."""
        if self.own is None and self.shared is None:
            # Without a rule nothing else fits as well as the scores.
            return self.anchors.with_ranges(read.score, read.score)
        wide, score = self.anchors.for_rates(read.p_high, read.p_low), read.score
        low, high = wide.identified_low, wide.identified_high
        return wide.with_ranges(np.minimum(low, score), np.maximum(high, score))


@dataclass(frozen=True, eq=False)
class HandedIn:
    """What is handed in about patients who were learned from: their folds, and how they are read.

    They are read as anybody else is, with the held-out logit of the shared rule.
    """

    fold: IntArray
    panels: Panels
    reading: LatentReading


def learn_latent(
    panels: Panels, layout: Layout, settings: LatentSettings, within: Within
) -> tuple[LatentCommon, HandedIn]:
    """Learn the shared rule; where physicians differ, let rules of their own compete."""
    decided = panels.decisions
    common = _without_a_rule(decided, layout)
    if len(decided.y) < FEWEST_PATIENTS or decided.y.min() == decided.y.max():
        fold = np.zeros(len(decided.y), dtype=np.int64)
        return common, HandedIn(fold, panels, common.read(panels, within, settings.seed))
    plan = plan_folds(panels, settings.n_folds, settings.starts, settings.seed, settings.n_threads)
    rules = {learner.name: learner.prepare(panels.X) for learner in settings.learners}
    crossed = cross_fit(rules, decided, plan)
    gain = crossed.held_out["two classes"] - crossed.held_out["one class"]
    facts = {"chosen_": crossed.chosen, "held_out_": crossed.held_out}
    logit = np.zeros(len(decided.y))
    if gain > ONE_CLASS_MARGIN:
        logit = crossed.logit
        shared = learn_shared(logit, panels, settings.thresholds)
        common = _with_shared_rule(common, shared, crossed)
    else:
        facts["log_likelihood_"] = np.array([crossed.held_out["one class"]])
    common = replace(common, facts={**common.facts, **facts})
    reading = common.read(panels, within, settings.seed, logit)
    common = replace(common, anchors=_anchors(common, reading))
    if settings.own_rules:
        common, reading = _compete(common, reading, crossed, plan.fold, panels, settings, within)
    return common, HandedIn(plan.fold, panels, reading)


def _without_a_rule(decided: PanelDecisions, layout: Layout) -> LatentCommon:
    size, given = (part.astype(np.float64) for part in decided.per_physician())
    law = fit_beta_binomial(given, size)
    nobody = np.empty(0)
    facts = {
        "two_classes_": False,
        "personal_": False,
        "rule_": SHARED,
        "own_rules_": False,
        "own_rule_evidence_": 0.0,
        "follows_": True,
        "chosen_": [],
        "held_out_": {},
        "prior_high_": law,
        "prior_low_": (np.nan, np.nan),
        "log_likelihood_": np.array([np.nan]),
        "converged_": True,
    }
    anchors = Anchors(0.0, 1.0, 1.0, 1.0, nobody, nobody)
    return LatentCommon(
        layout, OneClass(law, decided.n_physicians), None, None, None, None, anchors, facts
    )


def _with_shared_rule(common: LatentCommon, shared: SharedRule, crossed: CrossFit) -> LatentCommon:
    facts = {
        "two_classes_": True,
        "personal_": shared.thresholds,
        "prior_high_": shared.laws[0],
        "prior_low_": shared.laws[1],
        "log_likelihood_": shared.path,
        "converged_": shared.converged,
    }
    facts = {**common.facts, **facts}
    return replace(common, rule=crossed.rule, shared=shared, facts=facts)


def _anchors(common: LatentCommon, reading: LatentReading) -> Anchors:
    if common.shared is None and common.own is None:
        return common.anchors
    return find_anchors(reading.g, reading.p_high, reading.p_low)


def _compete(
    common: LatentCommon,
    reading: LatentReading,
    crossed: CrossFit,
    fold: IntArray,
    panels: Panels,
    settings: LatentSettings,
    within: Within,
) -> tuple[LatentCommon, LatentReading]:
    """Hold the contest with rules of their own, if the shared rule leaves any reason to."""
    decided, q = panels.decisions, reading.q
    standard = Standard.of(panels.X)
    z = standard(panels.X)
    evidence = strongest_evidence(z, decided, q)
    facts: dict[str, Any] = {"own_rule_evidence_": evidence, "own_rules_": evidence > EVIDENCE}
    if common.shared is None:
        # Too few patients for a learner of any rule may be enough for a simple one.
        evidence = max(evidence, strongest_evidence(z, decided, q, common_too=True))
    if evidence <= EVIDENCE and not common.facts["personal_"]:
        return replace(common, facts={**common.facts, **facts}), reading
    # Without a shared rule its logit is the same for everybody.
    logit, nested = (crossed.logit, crossed.nested)
    if common.shared is None:
        logit = nested = np.zeros(len(q))
    field = Field(z, panels, q, fold, logit, nested, settings.seed, settings.n_threads)
    to_beat = held_out_on_first(crossed, decided, fold, common.shared)
    winner, found = hold_contest(field, to_beat)
    facts["held_out_"] = {**common.facts["held_out_"], SHARED: to_beat, **found}
    if winner is not None:
        reading, drawn = read_own_rules(
            winner, z, logit, panels, settings.seed, within=within, tested=TESTED_DRAWS
        )
        evidence = evidence_left(field, drawn)
        facts |= {"rule_": winner.name, "two_classes_": True, "personal_": False}
        facts |= dict(zip(("prior_high_", "prior_low_"), winner.laws, strict=True))
        common = replace(common, standard=standard, own=winner)
        common = replace(common, anchors=_anchors(common, reading))
    facts["follows_"] = evidence <= EVIDENCE
    return replace(common, facts={**common.facts, **facts}), reading
