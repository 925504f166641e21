"""Slow literal twins of what is computed for several decisions."""

from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from intravar.prediction.several import APART, Logits


def log_posterior(effects, rows, logits: Logits, mean, precision) -> float:
    """Sum the log-likelihood of one physician's decisions, one by one, and the log prior."""
    away = effects - mean
    total = -0.5 * away @ precision @ away
    for i in rows:
        for k, span in enumerate(logits.spans):
            if logits.known[i, k]:
                p = expit(logits.offset[i, k] + logits.designs[k][i] @ effects[span])
                total += np.log(p if logits.decided[i, k] else 1 - p)
    return float(total)


def fit_effects(logits: Logits, rounds: int):
    """EM, physician by physician: the mode by a general optimiser, curvature patient by patient."""
    size = logits.spans[-1].stop
    block = np.zeros((size, size))
    for span in logits.spans:
        block[span, span] = 1
    mean, covariance = np.zeros(size), np.eye(size)
    value = np.zeros((logits.n_physicians, size))
    for _ in range(rounds):
        precision = np.linalg.inv(covariance)
        errors = []
        for j in range(logits.n_physicians):
            rows = np.flatnonzero(logits.code == j)
            value[j] = minimize(
                lambda *given: -log_posterior(*given),
                value[j],
                args=(rows, logits, mean, precision),
                method="BFGS",
                options={"gtol": 1e-7},
            ).x
            curve = precision.copy()
            for i in rows:
                for k, span in enumerate(logits.spans):
                    if logits.known[i, k]:
                        z = logits.designs[k][i]
                        p = expit(logits.offset[i, k] + z @ value[j, span])
                        curve[span, span] += p * (1 - p) * np.outer(z, z)
            errors.append(np.linalg.inv(curve))
        mean = value.mean(axis=0)
        spread = sum(errors) + sum(np.outer(row - mean, row - mean) for row in value)
        spread = (spread + APART * block * covariance) / (logits.n_physicians + APART)
        spread = spread + 1e-6 * np.eye(size)
        covariance = spread
    return mean, covariance, value


def quadratic_score(table, at):
    """Return the quadratic score of each patient's combination, summed term by term."""
    return np.array(
        [
            sum((float(v == seen) - row[v]) ** 2 for v in range(len(row)))
            for row, seen in zip(table, at, strict=True)
        ]
    )


def differ(conditional) -> float:
    """Probability that two alike patients differ, going through all pairs of combinations.

    `conditional(earlier)` is P(yes) of the next decision of one patient; as many as it answers.
    """
    n = conditional(None)
    chances = {}
    for combination in product((0, 1), repeat=n):
        p = 1.0
        for k, yes in enumerate(combination):
            chance = conditional(combination[:k])
            p *= chance if yes else 1 - chance
        chances[combination] = p
    return sum(p * q for one, p in chances.items() for other, q in chances.items() if one != other)
