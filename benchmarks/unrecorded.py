"""A reason left out of the table: how far discordance falls when it is added, claimed and true.

    python -m benchmarks unrecorded

Covariates come in pairs of equal strength. One of a pair is left out of the table. What is said of
the other, "an unrecorded reason as strong as this would bring discordance down to", stands beside
what adding the hidden one does: to the same measure, and in truth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Predictability
from intravar.measurement.unrecorded import (
    discordance_at,
    read_strengths,
    share_explained,
    unrecorded_reasons,
)
from intravar.observed import Observed
from intravar.seeds import stream

N_PATIENTS, N_PHYSICIANS = 6_000, 40
#: Strengths; each comes twice.
STRENGTHS = (1.5, 1.0, 0.5)
NAMES = tuple(f"{kind} {number}" for kind in ("strong", "middle", "weak") for number in (1, 2))
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


@dataclass(frozen=True)
class World:
    """How decisions come about: P(yes | covariates of a record), given which are in it."""

    name: str
    probability: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _logit(intercept: float) -> Callable[[FloatArray, FloatArray, FloatArray], FloatArray]:
    def probability(x: FloatArray, weight: FloatArray, level: FloatArray) -> FloatArray:
        mean, spread = _seen(x, weight)
        at = (intercept + level + mean)[:, None] + spread * _NODES
        return np.asarray(expit(at) @ _WEIGHTS / _WEIGHTS.sum())

    return probability


def _threshold(
    share: float, low: float, high: float
) -> Callable[[FloatArray, FloatArray, FloatArray], FloatArray]:
    def probability(x: FloatArray, weight: FloatArray, level: FloatArray) -> FloatArray:
        mean, spread = _seen(x, weight)
        cut = norm.isf(share) * np.sqrt(2 * np.sum(np.square(STRENGTHS)))
        above = norm.cdf((mean - cut) / spread) if spread > 0 else (mean > cut).astype(np.float64)
        return np.asarray(low + (high - low) * above)

    return probability


def _seen(x: FloatArray, weight: FloatArray) -> tuple[FloatArray, float]:
    """Return the sum that a record shows, and the spread of what it does not show."""
    hidden = 2 * np.sum(np.square(STRENGTHS)) - np.sum(weight**2)
    return x @ weight, float(np.sqrt(max(hidden, 0.0)))


WORLDS = (
    World("logit, half yes", _logit(0.0)),
    World("logit, few yes", _logit(-2.5)),
    World("threshold, 5 % against it", _threshold(0.4, 0.05, 0.95)),
    World("threshold, 20 % against it", _threshold(0.4, 0.1, 0.8)),
)


@dataclass(frozen=True)
class Outcome:
    """What was measured, claimed and true with a covariate hidden.

    Attributes
    ----------
    measured, claimed, added
        Discordance by the record without the hidden covariate; as claimed if one as strong were
        recorded (NaN if no claim was made); as measured with it.
    recorded, truth
        True discordance without it and with it.
    """

    measured: float
    claimed: float
    added: float
    recorded: float
    truth: float


@dataclass(frozen=True, eq=False)
class Truth:
    """True discordance of a record in which some covariates are missing."""

    world: World
    x: FloatArray
    level: FloatArray

    def __call__(self, *left_out: str) -> float:
        """Return it with some covariates left out."""
        weight = np.where(np.isin(NAMES, left_out), 0.0, np.repeat(STRENGTHS, 2))
        p = self.world.probability(self.x, weight, self.level)
        return float(np.mean(2 * p * (1 - p)))

    @property
    def share(self) -> float:
        """Share decided for."""
        return float(self.world.probability(self.x, np.repeat(STRENGTHS, 2), self.level).mean())


def outcome(world: World, hidden: int, n_patients: int, seed: int) -> Outcome:
    """Hide a covariate and compare what is claimed of its twin with what adding it does."""
    random = stream(seed, "unrecorded", world.name)
    x = random.normal(size=(n_patients, len(NAMES)))
    code: IntArray = random.integers(0, N_PHYSICIANS, n_patients)
    level = 0.5 * random.normal(size=N_PHYSICIANS)[code]
    weight = np.repeat(STRENGTHS, 2)
    y = (random.random(n_patients) < world.probability(x, weight, level)).astype(np.int64)
    kept = [at for at in range(len(NAMES)) if at != hidden]
    names = [NAMES[at] for at in kept]
    record = Observed.of(x[:, kept], y, code)
    measured, added = (_bound(each) for each in (record, Observed.of(x, y, code)))
    found = unrecorded_reasons(record, names, names, measured, seed)
    twin = NAMES[hidden + 1 if hidden % 2 == 0 else hidden - 1]
    by_name = {} if found is None else {each.covariate: each.lowered for each in found.reasons}
    true = Truth(world, x, level)
    claimed = by_name.get(twin, float("nan"))
    return Outcome(measured, claimed, added, true(NAMES[hidden]), true())


def _bound(observed: Observed) -> float:
    model = Predictability().fit_observed(observed)
    return float(np.mean(2 * (observed.decision - model.predicted_) ** 2))


def run(seed: str = "0") -> None:
    """Print a row per world and strength, then how other scales would have done."""
    print("of 100 pairs            hidden    measured  claimed  added back | true  added back")
    outcomes = []
    for world in WORLDS:
        for hidden in (0, 2, 4):
            found = outcome(world, hidden, N_PATIENTS, int(seed))
            outcomes.append(found)
            print(
                f"{world.name:<28}{NAMES[hidden].split()[0]:<8}{100 * found.measured:6.1f}"
                f"{100 * found.claimed:9.1f}{100 * found.added:11.1f}"
                f"    |{100 * found.recorded:6.1f}{100 * found.truth:9.1f}",
                flush=True,
            )
    claimed = [found.measured - found.claimed for found in outcomes]
    real = [found.measured - found.added for found in outcomes]
    print(f"\nclaimed over measured fall, all together: {np.nansum(claimed) / np.sum(real):.2f}")
    _scales()


def _scales() -> None:
    """Compare scales on which strengths may add up, with the truth in hand."""
    print("\nscale of strength                 mean error   largest   (of 100; the truth in hand)")
    random = stream(0, "unrecorded", "scales")
    x, level = random.normal(size=(50_000, len(NAMES))), np.zeros(50_000)
    errors: dict[str, list[float]] = {}
    for world in WORLDS:
        for hidden in (0, 2, 4):
            true = Truth(world, x, level)
            twin, tried = NAMES[hidden + 1], [name for name in NAMES if name != NAMES[hidden]][:3]
            full, record = (true(*each) for each in ((), (NAMES[hidden],)))
            less, share = true(NAMES[hidden], twin), true.share
            more = 2 * share_explained(record, share) - share_explained(less, share)
            names = list(dict.fromkeys([*tried, twin]))
            sets = [(), *((name,) for name in names), *combinations(tried, 2)]
            losses = {each: np.full(2, true(NAMES[hidden], *each)) for each in sets}
            read = read_strengths(losses, names, record, share).reasons
            claims = {
                "difference": 2 * record - less,
                "ratio": record**2 / less,
                "share of variance": discordance_at(more, share),
                "the same, some turned round": {r.covariate: r.lowered for r in read}[twin],
            }
            for name, claim in claims.items():
                errors.setdefault(name, []).append(claim - full)
    for name, values in errors.items():
        print(f"{name:<34}{100 * np.mean(values):+10.1f}{100 * np.max(np.abs(values)):10.1f}")


if __name__ == "__main__":
    run(*sys.argv[1:])
