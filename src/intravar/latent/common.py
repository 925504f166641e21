"""The latent rule, learned from some physicians in common and read of any."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent import own_rules
from intravar.latent.rates import Anchors, LatentReading, Within, find_anchors
from intravar.latent.rule_learners import FoldRule, RuleLearner, Standard, cross_fit
from intravar.latent.shared_rule import (
    SharedRule,
    everybody_eligible,
    held_out_on_first,
    learn_shared,
)
from intravar.panels import Layout, Panels

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
    thresholds: bool
    own_rules: bool
    seed: int
    n_threads: int


@dataclass(frozen=True)
class LatentCommon:
    """All that physicians are read by; no patient is in it.

    `rules` are the shared rule, learned without each fold, none where no rule was found; `shared`
    says how rates are read from it; `standard` and `own` hold what rules of their own have in
    common, where they won. `anchors` are without the physicians' ranges; `facts` are fitted
    attributes that hold for everybody.
    """

    layout: Layout
    rules: tuple[FoldRule, ...]
    shared: SharedRule
    facts: dict[str, Any]
    anchors: Anchors
    standard: Standard | None = None
    own: own_rules.OwnRules | None = None

    def read(
        self, panels: Panels, within: Within, seed: int, logit: FloatArray | None = None
    ) -> LatentReading:
        """Read every panel by itself; `seed` names the random streams, with the panels' content.

        `logit` is the held-out logit of the shared rule of patients who were learned from.
        """
        if logit is None:
            # Whoever was not learned from taught no fold's rule, and is given the mean of all.
            logit = np.zeros(panels.n_patients)
            for rule in self.rules:
                logit += rule.logit(panels.covariates) / len(self.rules)
        if self.own is not None and self.standard is not None:
            z = self.standard(panels.covariates)
            return own_rules.read_own_rules(self.own, z, logit, panels, seed, within=within)[0]
        return self.shared.read(logit, panels, within)

    def ranges_of(self, read: LatentReading) -> tuple[FloatArray, FloatArray]:
        """Return ends of the scores that fit as well; without a rule none but the scores do."""
        score = read.score
        if not self.facts["two_classes_"]:
            return score, score
        wide = self.anchors.for_rates(read.p_high, read.p_low)
        return np.minimum(wide.identified_low, score), np.maximum(wide.identified_high, score)


#: Handed in about patients who were learned from: folds, panels, and how they are read, which is as
#: anybody else is, with the held-out logit of the shared rule.
HandedIn: TypeAlias = tuple[IntArray, Panels, LatentReading]


def learn_latent(
    panels: Panels, layout: Layout, settings: LatentSettings, within: Within
) -> tuple[LatentCommon, HandedIn]:
    """Learn the shared rule; where physicians differ, let rules of their own compete."""
    fold = np.zeros(panels.n_patients, dtype=np.int64)
    logit = nested = np.zeros(panels.n_patients)
    rules: tuple[FoldRule, ...] = ()
    shared, facts = None, dict[str, Any]()
    enough = panels.n_patients >= FEWEST_PATIENTS and panels.y.min() < panels.y.max()
    if enough:
        # By a seed, never by decisions.
        labels = panels.deal(settings.n_folds, settings.seed, "latent-rule")
        fold = np.unique(labels, return_inverse=True)[1]
        learners = {each.name: each.prepare(panels.covariates) for each in settings.learners}
        crossed = cross_fit(learners, panels, fold, settings.n_threads)
        facts = {"chosen_": crossed.chosen, "held_out_": crossed.held_out}
        none = crossed.held_out["one class"]
        if crossed.held_out["two classes"] - none > ONE_CLASS_MARGIN:
            logit, nested, rules = crossed.logit, crossed.nested, crossed.rules
            shared = learn_shared(logit, panels, settings.thresholds)
        else:
            # Without a shared rule its logit is the same for everybody.
            facts["log_likelihood_"] = np.array([none])
    shared = shared or everybody_eligible(panels)
    common = LatentCommon(layout, rules, shared, _facts_of(shared) | facts, Anchors())
    reading = common.read(panels, within, settings.seed, logit)
    if not shared.everybody:
        anchors = find_anchors(reading.g, reading.p_high, reading.p_low)
        common = replace(common, anchors=anchors)
    if enough and settings.own_rules:
        logits = logit, nested
        common, reading = _compete(common, reading, logits, fold, panels, settings, within)
    return common, (fold, panels, reading)


def _facts_of(shared: SharedRule) -> dict[str, Any]:
    return {
        "two_classes_": not shared.everybody,
        "personal_": shared.thresholds,
        "rule_": SHARED,
        "own_rules_": False,
        "own_rule_evidence_": 0.0,
        "follows_": True,
        "chosen_": [],
        "held_out_": {},
        "prior_high_": shared.laws[0],
        "prior_low_": shared.laws[1],
        "log_likelihood_": shared.path,
        "converged_": shared.converged,
    }


def _compete(
    common: LatentCommon,
    reading: LatentReading,
    logits: tuple[FloatArray, FloatArray],
    fold: IntArray,
    panels: Panels,
    settings: LatentSettings,
    within: Within,
) -> tuple[LatentCommon, LatentReading]:
    """Hold the contest with rules of their own, if the shared rule leaves any reason to."""
    q, shared, facts, seed = reading.q, common.shared, common.facts, settings.seed
    standard = Standard.of(panels.covariates)
    z = standard(panels.covariates)
    evidence = own_rules.strongest_evidence(z, panels, q)
    facts |= {"own_rule_evidence_": evidence, "own_rules_": evidence > own_rules.EVIDENCE}
    if shared.everybody:
        # Too few patients for a learner of any rule may be enough for a simple one.
        evidence = max(evidence, own_rules.strongest_evidence(z, panels, q, common_too=True))
    if evidence <= own_rules.EVIDENCE and not shared.thresholds:
        return common, reading
    to_beat = held_out_on_first(logits[1], panels, fold, shared)
    winner, scores = own_rules.hold_contest(
        z, panels, q, fold != 0, logits, to_beat, seed, settings.n_threads
    )
    facts["held_out_"] = {**facts["held_out_"], SHARED: to_beat, **scores}
    if winner is not None:
        tested = own_rules.TESTED_DRAWS
        reading, drawn = own_rules.read_own_rules(
            winner, z, logits[0], panels, seed, within=within, tested=tested
        )
        evidence = own_rules.evidence_left(z, panels, q, drawn)
        facts |= {"rule_": winner.name, "two_classes_": True, "personal_": False}
        facts["prior_high_"], facts["prior_low_"] = winner.laws
        anchors = find_anchors(reading.g, reading.p_high, reading.p_low)
        common = replace(common, standard=standard, own=winner, anchors=anchors)
    facts["follows_"] = evidence <= own_rules.EVIDENCE
    return common, reading
