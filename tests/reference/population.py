"""Whether one patient belongs to a population, comparison by comparison; None where not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Compared:
    column: str
    operator: str
    value: Any


@dataclass(frozen=True)
class IsMissing:
    column: str


@dataclass(frozen=True)
class Negated:
    part: Population


@dataclass(frozen=True)
class Combined:
    word: str
    parts: tuple[Population, ...]


Population = Compared | IsMissing | Negated | Combined


def holds(population: Population, patient: dict[str, Any]) -> bool | None:
    """Return whether an expression holds for one patient: true, false or not known."""
    if isinstance(population, Combined):
        parts = [holds(part, patient) for part in population.parts]
        decisive = population.word == "or"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(population, Negated):
        part = holds(population.part, patient)
        return None if part is None else not part
    value = patient[population.column]
    if isinstance(population, IsMissing):
        return value is None
    if value is None:
        return None
    other: Any = population.value
    if population.operator == "=":
        return bool(value == other)
    if population.operator == "!=":
        return bool(value != other)
    if population.operator == "<":
        return bool(value < other)
    if population.operator == "<=":
        return bool(value <= other)
    if population.operator == ">":
        return bool(value > other)
    return bool(value >= other)
