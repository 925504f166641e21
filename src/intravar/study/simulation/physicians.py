"""How physicians decide, and how patients come to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.arrays import FloatArray
from intravar.errors import InputError


@dataclass(frozen=True)
class Physicians:
    """The behaviour of every physician of a cohort.

    Parameters
    ----------
    names
        What they are called.
    p_high, p_low
        How often each decides for an eligible and for another patient.
    group
        Behaviour group, counted from 1; 0 where there are no groups.
    """

    names: tuple[str, ...]
    p_high: FloatArray
    p_low: FloatArray
    group: npt.NDArray[np.int16]


class PhysicianModel(Protocol):
    """How the behaviour of physicians is drawn; any object with these members is one."""

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """Draw the behaviour of `n_physicians` physicians."""
        ...

    def describe(self) -> str:
        """Return the model in words."""
        ...


def physician_names(n_physicians: int) -> tuple[str, ...]:
    """Return P01, P02, ... with as many digits as sorting by name needs.

    Examples
    --------
    >>> physician_names(20)[:2]
    ('P01', 'P02')
    """
    digits = max(2, len(str(n_physicians)))
    return tuple(f"P{number:0{digits}d}" for number in range(1, n_physicians + 1))


@dataclass(frozen=True)
class FiveGroups:
    """The paper's five groups, from deterministic to coin-flip, as equal in number as can be.

    Examples
    --------
    >>> FiveGroups().draw(7, np.random.default_rng(0)).group.tolist()
    [1, 1, 2, 2, 3, 4, 5]
    """

    p_high: tuple[float, ...] = (1.00, 0.90, 0.80, 0.70, 0.50)
    p_low: tuple[float, ...] = (0.00, 0.05, 0.10, 0.20, 0.50)

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """See :class:`PhysicianModel`; there is nothing random here."""
        n_groups = len(self.p_high)
        if n_physicians < n_groups:
            raise InputError(
                f"{n_physicians} physicians cannot form {n_groups} groups; "
                f"ask for at least {n_groups}"
            )
        members = np.array_split(np.arange(n_physicians), n_groups)
        group = np.repeat(np.arange(n_groups), [len(part) for part in members])
        return Physicians(
            physician_names(n_physicians),
            np.asarray(self.p_high)[group],
            np.asarray(self.p_low)[group],
            (group + 1).astype(np.int16),
        )

    def describe(self) -> str:
        """See :class:`PhysicianModel`."""
        pairs = zip(self.p_high, self.p_low, strict=True)
        return "five groups, (p_high, p_low) = " + ", ".join(
            f"({high:.2f}, {low:.2f})" for high, low in pairs
        )


@dataclass(frozen=True)
class Continuum:
    """p_high drawn uniformly, p_low the same for all or drawn uniformly from a range."""

    lowest: float = 0.5
    highest: float = 1.0
    p_low: float | tuple[float, float] = 0.05

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """See :class:`PhysicianModel`."""
        p_high = random.uniform(self.lowest, self.highest, n_physicians)
        if isinstance(self.p_low, tuple):
            p_low = random.uniform(*self.p_low, n_physicians)
        else:
            p_low = np.full(n_physicians, self.p_low)
        group = np.zeros(n_physicians, dtype=np.int16)
        return Physicians(physician_names(n_physicians), p_high, p_low, group)

    def describe(self) -> str:
        """See :class:`PhysicianModel`."""
        low = self.p_low
        said = f"~ U({low[0]:g}, {low[1]:g})" if isinstance(low, tuple) else f"= {low:g}"
        return f"continuum, p_high ~ U({self.lowest:g}, {self.highest:g}), p_low {said}"


def feasible_minimum(n_patients: int, n_physicians: int, wanted: int) -> int:
    """Return the panel size that every physician can be given, at most the one wanted.

    Examples
    --------
    >>> feasible_minimum(10_000, 20, 90), feasible_minimum(5_000, 100, 90)
    (90, 50)
    """
    if wanted < 0:
        raise InputError(f"a minimum panel of {wanted} is impossible; use 0 or more")
    if n_physicians < 1:
        raise InputError(f"{n_physicians} physicians make no cohort; ask for at least one")
    if n_patients < 2 * n_physicians:
        raise InputError(
            f"{n_patients:,} patients are too few for {n_physicians:,} physicians: each needs at "
            f"least two to be compared; ask for {2 * n_physicians:,} or more"
        )
    return min(wanted, n_patients // n_physicians)


def allocate(
    n_patients: int, n_physicians: int, minimum: int, random: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Give every physician `minimum` patients and spread the rest uniformly at random.

    Returns the position of every patient's physician.
    """
    assured = np.repeat(np.arange(n_physicians, dtype=np.int32), minimum)
    rest = random.integers(n_physicians, size=n_patients - assured.size, dtype=np.int32)
    assigned = np.concatenate([assured, rest])
    random.shuffle(assigned)
    return assigned


@dataclass(frozen=True)
class CaseMix:
    """Physicians see different patients: a covariate leans a patient towards some of them.

    P(physician j | patient) is proportional to exp(b_j z), z the standardised covariate, with
    b_j ~ N(0, strength^2).
    """

    covariate: str = "age"
    strength: float = 0.5

    def allocate(
        self, covariates: pl.DataFrame, n_physicians: int, minimum: int, random: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return the position of every patient's physician; `minimum` patients are assured."""
        values = covariates[self.covariate].to_numpy()
        z = (values - values.mean()) / values.std()
        leaning = random.normal(0, self.strength, n_physicians)
        # The largest of z b_j plus Gumbel noise is a draw from the softmax.
        noise = random.gumbel(size=(len(z), n_physicians))
        drawn = np.asarray((z[:, None] * leaning + noise).argmax(axis=1), dtype=np.int32)
        assured = random.permutation(len(z))[: minimum * n_physicians]
        drawn[assured] = np.repeat(np.arange(n_physicians, dtype=np.int32), minimum)
        return drawn
