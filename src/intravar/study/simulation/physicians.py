"""How physicians decide, in one decision or several, and how patients come to them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logit

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
    further
        Where several decisions are taken, `p_high` of the others, a column each.
    """

    names: tuple[str, ...]
    p_high: FloatArray
    p_low: FloatArray
    group: npt.NDArray[np.int16]
    further: FloatArray | None = None


class PhysicianModel(Protocol):
    """How the behaviour of physicians is drawn; any object with these members is one."""

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """Draw the behaviour of `n_physicians` physicians."""

    def describe(self) -> str:
        """Return the model in words."""


def physician_names(n_physicians: int) -> tuple[str, ...]:
    """Return P01, P02, ... with as many digits as sorting by name needs."""
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
        group = np.sort(np.arange(n_physicians) % n_groups)
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
        low_text = f"~ U({low[0]:g}, {low[1]:g})" if isinstance(low, tuple) else f"= {low:g}"
        return f"continuum, p_high ~ U({self.lowest:g}, {self.highest:g}), p_low {low_text}"


@dataclass(frozen=True)
class SteadinessTrait:
    """How closely a physician follows the rule of each decision, with a trait behind all of them.

    Parameters
    ----------
    n_decisions
        Number of decisions.
    correlation
        Of the logits of p_high of any two decisions of one physician.
    typical, spread
        p_high of the physician in the middle, and the standard deviation of its logit.
    p_low
        How often anyone decides for a patient who is not eligible.

    Examples
    --------
    >>> physicians = SteadinessTrait(2, 0.7).draw(1000, np.random.default_rng(0))
    >>> first, second = logit(physicians.p_high), logit(physicians.further[:, 0])
    >>> round(float(np.corrcoef(first, second)[0, 1]), 1)
    0.7
    """

    n_decisions: int
    correlation: float
    typical: float = 0.8
    spread: float = 1.0
    p_low: float = 0.05

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        """See :class:`PhysicianModel`."""
        trait = random.standard_normal((n_physicians, 1))
        own = random.standard_normal((n_physicians, self.n_decisions))
        mixed = np.sqrt(self.correlation) * trait + np.sqrt(1 - self.correlation) * own
        p_high = expit(logit(self.typical) + self.spread * mixed)
        p_low, group = np.full(n_physicians, self.p_low), np.zeros(n_physicians, dtype=np.int16)
        return Physicians(physician_names(n_physicians), p_high[:, 0], p_low, group, p_high[:, 1:])

    def describe(self) -> str:
        """See :class:`PhysicianModel`."""
        return (
            f"{self.n_decisions} decisions, logit p_high ~ N({logit(self.typical):.2f}, "
            f"{self.spread:g}) with correlation {self.correlation:g}, p_low = {self.p_low:g}"
        )


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
