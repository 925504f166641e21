"""Readings of physicians by definitions, without a thought for time."""

import numpy as np
from scipy.special import expit
from scipy.stats import beta

from reference import personal


def score_by_trees(row, trees, cap):
    """Walk one patient down every tree, a node and its children at a time."""
    score = trees.start
    parts = trees.columns, trees.cuts, trees.missing, trees.values
    for column, cut, missing_left, value in zip(*parts, strict=True):
        node = 0
        while node < len(column):
            at = column[node]
            missing = row[at] == trees.missing_bin
            left = missing_left[node] if missing else row[at] <= cut[node]
            node = 2 * node + (1 if left else 2)
        score = min(max(score + value[node - len(column)], -cap), cap)
    return score


def spline_row(row, terms):
    """Return the standardised basis of one patient, a term at a time."""
    known = np.isfinite(row)
    centre, scale = terms.standard.centre, terms.standard.scale
    z = np.clip((np.where(known, row, centre) - centre) / scale, -4, 4)
    found = []
    for kind, a, b, knot in terms.terms:
        found.append((z[a], max(z[a] - knot, 0), z[a] * z[b], float(not known[a]))[kind])
    return (np.array(found) - terms.mean) / terms.spread


def rates_over_shifts(y, score, given, laws, cells=300):
    """Means of p_high, p_low, 2 p_high (1 - p_high) and the shift on a dense grid."""
    p = (np.arange(cells) + 0.5) / cells
    prior = beta.logpdf(p, *laws[:2])[:, None] + beta.logpdf(p, *laws[2:])[None, :]
    joint = []
    for shift, log_prior in zip(given.shifts, given.log_prior, strict=True):
        value = prior + log_prior
        for decision, own in zip(y, score, strict=True):
            g = expit(given.intercept + given.slope * own + shift)
            q = p[None, :] + (p[:, None] - p[None, :]) * g
            value = value + np.log(q if decision else 1 - q)
        joint.append(value)
    weight = np.exp(np.array(joint) - np.max(joint))
    weight /= weight.sum()
    high, low = weight.sum(axis=(0, 2)), weight.sum(axis=(0, 1))
    shift = weight.sum(axis=(1, 2)) @ given.shifts
    return high @ p, low @ p, high @ (2 * p * (1 - p)), shift


def limits_by_all(bins, y, pairs, levels, high, low):
    """Mean p_high over all rules of two limits, and g and q of every patient without the own.

    Whoever is left out is left out: all rules are weighed again by the decisions on the others.
    """
    rules = list(personal.limit_rules(levels, pairs))

    def weighed(rows):
        evidence = personal.rule_log_evidence(bins[rows], y[rows], pairs, levels, high, low)
        weight = np.exp(evidence - evidence.max())
        return weight / weight.sum()

    def rate(rule, eligible, rows):
        own = [y[i] for i in rows if rule(bins[i]) == eligible]
        a, b = high if eligible else low
        return (a + sum(own)) / (a + b + len(own))

    everybody = np.arange(len(y))
    weight = weighed(everybody)
    p_high = sum(w * rate(rule, True, everybody) for w, rule in zip(weight, rules, strict=True))
    g, q = np.zeros(len(y)), np.zeros(len(y))
    for i in everybody:
        rest = np.delete(everybody, i)
        for w, rule in zip(weighed(rest), rules, strict=True):
            g[i] += w * rule(bins[i])
            q[i] += w * rate(rule, rule(bins[i]), rest)
    return p_high, g, q


def weights_without(design, y, i, mean, spread, random, draws=400_000):
    """Return g and q of one patient, by draws from the prior weighed by all other decisions."""
    *weights, low, high = (random.normal(size=(draws, len(mean))) * spread + mean).T
    weights, low, high, log_weight = np.array(weights), expit(low), expit(high), np.zeros(draws)
    for at, (row, decision) in enumerate(zip(design, y, strict=True)):
        if at != i:
            q = low + (high - low) * expit(row @ weights)
            log_weight += np.log(q if decision else 1 - q)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    g = expit(design[i] @ weights)
    return weight @ g, weight @ (low + (high - low) * g)
