"""What a verdict rests on: intervals that hold, the group, how far the order is that of rates."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Estimator
from intravar.estimators.assumptions import ANCHORED, anchored_over_limits
from intravar.estimators.evidence import Evidence
from intravar.estimators.predictability import Dependence, dependence_between_rows
from intravar.inference import Interval
from intravar.inference.clusters import standard_error_of_mean
from intravar.inference.group import any_two, explained_of_all, explained_of_each, group_of
from intravar.inference.ranking import rank_correlation
from intravar.measurement.diagnostics import case_mix
from intravar.measurement.halves import Halves, compare_halves, falls, holding, own_interval, widen
from intravar.measurement.rule import SuggestedRule
from intravar.measurement.scores import Fitted, Scores, rank_counts, result_table, without_ranks
from intravar.measurement.verdict import RULE_FOUND, Grounds, Verdict, judge
from intravar.observed import Observed
from intravar.preparation.check import Check
from intravar.request import Request

#: Below it a method tells physicians apart.
DIFFER_P = 0.05
#: What a limit lies above the truth usually falls with this power of the number of patients.
USUAL_FALL = 0.5
#: From this part of the spread of scores on, what colleagues would have on the patients differs.
PATIENTS_DIFFER = 0.5
#: Scores are not taken to lie closer together than by this factor.
NARROWEST = 0.4
_TINY = 1e-9


class Appraisal(NamedTuple):
    """What was measured, and what the data support.

    The intervals of the `scores` carry what halves showed; the `table` has a row of each physician.
    """

    scores: Scores
    table: pl.DataFrame
    grounds: Grounds
    verdict: Verdict


def appraise(check: Check, fitted: Mapping[str, Fitted], rule: SuggestedRule) -> Appraisal:
    """Measure halves, widen intervals by what they show, and judge.

    The method that measures comes first in `fitted`.
    """
    main, *others = fitted.values()
    observed, request, halves = check.prepared.observed, check.request, None
    if isinstance(main.estimator, Estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of was said of the whole
            halves = compare_halves(main.estimator, observed, request.random_state)
    leaks = tuple(each.column for each in check.prepared.leaks if each.certain)
    over_limits = anchored_over_limits(main.evidence, observed, request.random_state)
    grounds = Grounds(
        main.evidence,
        None,
        halves,
        rule_strength(main.evidence, observed, rule),
        leaks,
        case_mix(observed, rule.probability),
        over_limits=over_limits,
        dependence=(dependence_between_rows(observed) if main.evidence.learned else Dependence()),
    )
    return concluded(grounds, main.scores, request, [each.scores for each in others])


def concluded(
    grounds: Grounds, scores: Scores, request: Request, others: Sequence[Scores] = ()
) -> Appraisal:
    """Widen intervals, say what all say together, and judge; nothing is fitted any more.

    The group, what `scores` go with and who has a figure are added to the `grounds`. `others` are
    scores of the other methods that were asked for.
    """
    evidence, halves, rule_found = grounds.evidence, grounds.halves, grounds.rule_found
    predicts = evidence.predicted() is not None
    # Without a rule the number is that of any two patients, which is no bound of anything.
    pull = halves.pull if halves is not None and predicts and rule_found >= RULE_FOUND else 0.0
    scores = widened(scores, evidence, halves, pull)
    ends = _identified(evidence, scores.interval)
    if ends is not None:
        ranged = scores.with_columns(identified_low=ends[0], identified_high=ends[1])
        scores = replace(ranged, interval=holding(scores.interval, *ends))
    # Pairs get closer as patients are added: what a matching method says of all is a bound too.
    closer = halves.pull if halves is not None and evidence.caliper is not None else 0.0
    doubt = 0.0 if halves is None else halves.common_doubt
    discordance, error = scores.discordance, scores.interval.standard_error
    represented = evidence.represented(scores.n_patients)
    counts = evidence.effective_counts(scores.n_patients, scores.n_for)
    group = group_of(
        discordance,
        error,
        represented,
        ends,
        fall=falls(discordance, pull + closer),
        doubt=doubt,
        raw=scores.raw,
        narrowed=_narrowed(scores, evidence, halves),
        matters=request.matters,
        counted=scores.n_patients >= request.min_panel,
        sizes=scores.sizes if evidence.effective_size is None else counts[0],
        n_effective=counts[0],
    )
    if group is not None and predicts:
        whole = any_two(*counts)
        explained = explained_of_all(discordance, error, represented, whole, doubt)
        group = replace(group, explained=explained)
        scores = scores.with_columns(**explained_of_each(discordance, error, whole))
    table = result_table(scores, request.min_panel, request.min_reliability)
    grounds = replace(
        grounds,
        group=group,
        agreement=agreement_with(scores, others),
        with_rates=rank_correlation(scores.discordance, any_two(*counts)),
        with_patients=order_of_patients(scores),
        ranked=rank_counts(table),
        explained=evidence.explained(scores.n_patients),
    )
    verdict = judge(grounds, request.words)
    return Appraisal(scores, without_ranks(table, verdict.level), grounds, verdict)


def _identified(evidence: Evidence, interval: Interval) -> tuple[FloatArray, FloatArray] | None:
    """Return between which values all fit equally well; None where the rates are not anchored."""
    anchors = evidence.anchors
    if anchors is None:
        return None
    # Values that fit equally well hang on the rule.
    if not evidence.follows:
        return interval.low, interval.high
    if anchors.clear < ANCHORED:
        # With limits of their own all may follow a rule to the letter.
        return np.zeros_like(anchors.identified_low), anchors.identified_high
    return anchors.identified_low, anchors.identified_high


def _narrowed(scores: Scores, evidence: Evidence, halves: Halves | None) -> float:
    """Return by which factor scores may lie closer together than true values do.

    Predictions that are unsure draw every limit towards one half by the same factor. Rates of
    eligible patients are drawn towards those of all, the more the less is known of each.
    """
    factor = 1.0
    if evidence.predicted() is not None and halves is not None:
        factor = 1 - halves.pull / (2**USUAL_FALL - 1)
    elif evidence.of_eligible and np.isfinite(scores.discordance).sum() > 1:
        apart = float(np.nanvar(scores.discordance, ddof=1))
        unsure = float(np.nanmean(scores.interval.standard_error**2))
        factor = apart / max(apart + unsure, _TINY)
    return max(factor, NARROWEST)


def widened(scores: Scores, evidence: Evidence, halves: Halves | None, pull: float) -> Scores:
    """Return scores whose intervals carry the doubt about what was learned.

    `pull` is the part of the way to one half by which the last doubling of patients has moved
    bounds, 0 for other scores.
    """
    interval = own_interval(evidence, scores.interval)
    if evidence.upper_limit:
        # Two decisions differ with probability one half at the most, however badly predicted.
        scores = replace(scores, discordance=np.minimum(scores.discordance, 0.5))
        interval = interval._replace(high=np.minimum(interval.high, 0.5))
    if halves is None:
        return replace(scores, interval=interval)
    doubt = float(np.hypot(halves.own_doubt, halves.common_doubt))
    fall = falls(scores.discordance, pull)
    wide = widen(scores.discordance, interval, fall, doubt)
    if evidence.upper_limit:
        # How far each estimate may fall; a limit has no range of levels that fit equally well.
        scores = scores.with_columns(fall=np.minimum(fall, scores.discordance))
    # What all have in common moves nobody past another, and is no part of the error of a rank.
    error = np.hypot(wide.standard_error, halves.own_doubt)
    return replace(scores, interval=wide._replace(standard_error=error))


def order_of_patients(scores: Scores) -> float | None:
    """Return the rank correlation of scores with what the average colleague would have.

    None where that is not known, or hardly differs between panels: patients dealt at random differ
    a little as well.
    """
    discordance, expected = scores.discordance, scores.columns.get("expected")
    if expected is None or not all(np.isfinite(each).any() for each in (expected, discordance)):
        return None
    if np.nanstd(expected) < PATIENTS_DIFFER * np.nanstd(discordance):
        return None
    return rank_correlation(discordance, expected)


def agreement_with(main: Scores, others: Sequence[Scores]) -> float | None:
    """Return the median rank correlation with the methods that tell physicians apart."""
    correlations = []
    for other in others:
        if other.scale != "discordance":
            continue
        group = group_of(other.discordance, other.interval.standard_error, other.n_patients)
        if group is None or group.p_value >= DIFFER_P:
            continue
        alike = rank_correlation(main.discordance, other.discordance)
        correlations += [] if alike is None else [alike]
    return float(np.median(correlations)) if correlations else None


def rule_strength(evidence: Evidence, observed: Observed, rule: SuggestedRule | None) -> float:
    """Return by how many standard errors covariates predict decisions better than none.

    For predictions, the gain in held-out log-likelihood over each physician's own rate among the
    other patients. The latent rule has a word of its own. Pairs say nothing of it: there it is how
    well the rule that the data suggest ranks decisions that were held out.
    """
    if evidence.of_eligible:
        return float("inf") if evidence.anchors is not None else 0.0
    if evidence.caliper is not None:
        if rule is None or not np.isfinite(rule.auc_of_columns):
            return 0.0
        n = rule.calibration["n_patients"].to_numpy().astype(np.float64)
        yes = float(n @ rule.calibration["observed"].to_numpy())
        no = float(n.sum()) - yes
        # Standard errors of chance by which the area under the curve exceeds one half.
        chance = np.sqrt((yes + no + 1) / (12 * max(yes * no, _TINY)))
        return float((rule.auc_of_columns - 0.5) / chance) if min(yes, no) > 0 else 0.0
    if evidence.by_rate:
        return 0.0
    if (predicted := evidence.predicted()) is None:
        return float("inf")
    y, code = observed.decision.astype(np.float64), observed.code
    weight: FloatArray = np.ones(len(y))
    if observed.weight is not None:
        size = np.bincount(code) / np.bincount(code, observed.weight)
        weight = np.asarray(observed.weight * size[code], dtype=np.float64)
    size_of_panel, yes_of_panel = (np.bincount(code, each)[code] for each in (weight, weight * y))
    unit: IntArray = np.arange(len(y)) if evidence.unit is None else evidence.unit
    same, same_yes = (np.bincount(unit, each)[unit] for each in (weight, weight * y))
    overall = float(np.average(y, weights=observed.weight))
    # Each physician's rate among the other patients, shrunk towards that of all.
    others = np.maximum(size_of_panel - same + 2, _TINY)
    rates = (yes_of_panel - same_yes + 2 * overall) / others
    known, alone = (np.clip(each, 1e-6, 1 - 1e-6) for each in (predicted[0], rates))
    gain = np.where(y == 1, np.log(known), np.log(1 - known))
    gain -= np.where(y == 1, np.log(alone), np.log(1 - alone))
    if observed.weight is not None:
        gain = gain * observed.weight / observed.weight.mean()
    error = standard_error_of_mean(gain, unit)
    return float(gain.mean() / error) if error > 0 else 0.0
