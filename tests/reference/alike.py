"""Literal twins: who is alike, and the cases behind a score, patient by patient."""

import math
from collections.abc import Mapping, Sequence

Rows = Sequence[Sequence[float]]


def distance(
    one: int,
    other: int,
    table: Rows,
    importance: Mapping[int, float],
    probability: Sequence[float] | None,
) -> float:
    """Return the distance of two patients, every column a covariate; 1 is the caliper."""
    n_columns = len(table[0])
    known = [max(0.0, importance.get(column, 0.0)) for column in range(n_columns)]
    covariates = whole = 0.0
    for column in range(n_columns):
        total = sum(known)
        share = known[column] / total if total > 0 else 1 / n_columns
        weight = 0.9 * share + 0.1 / n_columns
        values = [row[column] for row in table]
        values = [value for value in values if not math.isnan(value)]
        mean = sum(values) / len(values) if values else 0.0
        filled = [mean if math.isnan(row[column]) else row[column] for row in table]
        if max(filled) == min(filled):
            continue
        variance = sum((value - sum(filled) / len(filled)) ** 2 for value in filled) / len(filled)
        covariates += weight * (filled[one] - filled[other]) ** 2 / variance
        whole += weight
    found = covariates / (0.25 * 2 * whole) if whole > 0 else 0.0
    if probability is not None:
        odds = []
        for at in (one, other):
            p = min(max(probability[at], 1e-9), 1 - 1e-9)
            odds.append(min(max(math.log(p / (1 - p)), -3.0), 3.0))
        found += ((odds[0] - odds[1]) / 0.5) ** 2
    return math.sqrt(found)


def surprises(
    table: Rows,
    decision: Sequence[int],
    physician: Sequence[int],
    importance: Mapping[int, float],
    probability: Sequence[float],
    least: float,
) -> list[tuple[int, int, int, int | None]]:
    """Return physician, number of the case, patient and those beside, in order."""
    found: list[tuple[int, int, int, int | None]] = []
    for doctor in sorted(set(physician)):
        own = [at for at in range(len(table)) if physician[at] == doctor]
        away = {at: abs(decision[at] - probability[at]) for at in own}
        cases = sorted((at for at in own if away[at] > least), key=lambda at: (-away[at], at))
        for number, patient in enumerate(cases[:50], 1):
            alike = [
                (distance(patient, at, table, importance, probability), at)
                for at in own
                if decision[at] != decision[patient]
            ]
            beside = sorted(each for each in alike if each[0] <= 1 + 1e-9)[:3]
            found += [(doctor, number, patient, at) for _, at in beside]
            if not beside:
                found.append((doctor, number, patient, None))
    return found
