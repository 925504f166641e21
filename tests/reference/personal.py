"""Personal rules by their definitions, without a thought for time."""

from itertools import product

import numpy as np
from scipy.special import betaln, expit


def limit_rules(levels, pairs):
    """Yield every rule of two limits as a function of bins, in the order of their numbers."""
    for (first, second), side, a, b, outside in product(
        pairs, range(4), range(1, levels + 1), range(1, levels + 1), (False, True)
    ):

        def rule(row, first=first, second=second, side=side, a=a, b=b, outside=outside):
            meets_first = row[first] >= a - 1 if side in (1, 3) else row[first] < a
            meets_second = row[second] >= b - 1 if side in (2, 3) else row[second] < b
            return bool(meets_first and meets_second) != outside

        yield rule


def rule_log_evidence(bins, y, pairs, levels, law_high, law_low):
    """Marginal likelihood of the decisions under every rule, patient by patient."""
    found = []
    for rule in limit_rules(levels, pairs):
        count = {True: [0, 0], False: [0, 0]}
        for row, decision in zip(bins, y, strict=True):
            count[rule(row)][decision] += 1
        value = 0.0
        for eligible, (a, b) in ((True, law_high), (False, law_low)):
            no, yes = count[eligible]
            value += betaln(a + yes, b + no) - betaln(a, b)
        found.append(value)
    return np.array(found)


def posterior_of_rates(design, y, mean, spread, random, draws=400_000):
    """Posterior means of p_high and p_low by weighing draws from the prior, a diagonal Gaussian."""
    *weights, low, high = (random.normal(size=(draws, len(mean))) * spread + mean).T
    low, high, log_weight = expit(low), expit(high), np.zeros(draws)
    for row, decision in zip(design, y, strict=True):
        q = low + (high - low) * expit(row @ np.array(weights))
        log_weight += np.log(q if decision else 1 - q)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    return weight @ high, weight @ low, 1 / np.sum(weight**2)


def own_rule_evidence(z, y, physician, q, ridge):
    """Score test of personal slopes, a physician at a time."""
    names = np.unique(physician)
    design = np.column_stack([np.ones(len(z)), z])
    gradient, information = {}, {}
    for j in names:
        at = physician == j
        gradient[j] = sum(x * (d - p) for x, d, p in zip(design[at], y[at], q[at], strict=True))
        information[j] = sum(
            np.outer(x, x) * p * (1 - p) for x, p in zip(design[at], q[at], strict=True)
        )
    total = sum(information.values()) + 1e-6 * np.eye(design.shape[1])
    common = np.linalg.solve(total, sum(gradient.values()))
    statistic = mean = variance = 0.0
    for j in names:
        g = gradient[j] - information[j] @ common
        weight = information[j][0, 0] + 1e-9
        slope = g[1:] - information[j][1:, 0] * g[0] / weight
        inner = (
            information[j][1:, 1:] - np.outer(information[j][1:, 0], information[j][1:, 0]) / weight
        )
        inverse = np.linalg.inv(inner + ridge * np.eye(z.shape[1]))
        statistic += slope @ inverse @ slope
        mean += np.trace(inverse @ inner)
        variance += 2 * np.trace(inverse @ inner @ inverse @ inner)
    return (statistic - mean) / np.sqrt(variance)
