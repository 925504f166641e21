"""Shrinkage: what the constants of Predictability's shrinkage are worth against the raw error.

    python -m benchmarks shrinkage [--seeds N] [--first N] [PART OF A WORLD'S NAME ...]

Every world is drawn and predicted once per seed. The held-out predictions are then turned into
scores with one constant changed at a time, and without any shrinkage. Two truths are known: the
comparable discordance, and the limit itself, that is what twice the squared error of these very
predictions tends to, 2 p (1 - p) + 2 (p - q)^2. Upper ends of 95 % intervals should not be below
the limit for 97.5 % of physicians, also of those with the lowest and the highest scores. See
docs/methods/predictability.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr

import intravar
from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.predictability import n_deals
from intravar.observed import Observed
from intravar.prediction.bound import (
    Bound,
    Left,
    Losses,
    Shrinkage,
    bound,
    cap_at_rates,
    losses_of,
)
from intravar.prediction.held_out import held_out
from intravar.prediction.own_rules import learn_own_rules
from intravar.seeds import stream
from intravar.study.simulation import find_condition

#: No constant was chosen on these draws.
FIRST_DRAW = 7_000
N_SEEDS = 5
N_FOLDS = 5
LEVEL = 0.95
#: Share of physicians at either end of the scores.
TAIL = 0.1
DEFAULT = "as it is"
VARIANTS: Mapping[str, Shrinkage] = {
    DEFAULT: Shrinkage(),
    "no shrinkage": Shrinkage(least_kept=1.0, share_sd=0.0),
    "LEAST_KEPT 0": Shrinkage(least_kept=0.0),
    "LEAST_KEPT 0.5": Shrinkage(least_kept=0.5),
    "TAKEN_OFF 0": Shrinkage(taken_off=0.0),
    "TAKEN_OFF 1": Shrinkage(taken_off=1.0),
    "SHARE_SD 0": Shrinkage(share_sd=0.0),
    "SHARE_SD 5": Shrinkage(share_sd=5.0),
    "SPREAD_PATIENTS 1": Shrinkage(spread_patients=1.0),
    "SPREAD_PATIENTS 200": Shrinkage(spread_patients=200.0),
}
#: Variants that are shown world by world.
COMPARED = (DEFAULT, "no shrinkage", "SHARE_SD 0")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A cohort, and the chance of "yes" of every row."""

    observed: Observed
    chance: FloatArray


@dataclass(frozen=True, kw_only=True)
class Row:
    """Figures of one variant in one draw.

    Attributes
    ----------
    error, error_of_limit
        Mean absolute error of the score to the comparable discordance, and to the limit.
    order
        Rank correlation of the score with the comparable discordance; NaN if that is the same for
        all.
    covered, covered_lowest, covered_highest
        Share of upper ends that are not below the limit: of all physicians, and of those with the
        lowest and the highest scores.
    holds, holds_lowest, holds_highest
        The same for the comparable discordance.
    """

    error: float
    error_of_limit: float
    order: float
    covered: float
    covered_lowest: float
    covered_highest: float
    holds: float
    holds_lowest: float
    holds_highest: float


FIGURES = tuple(Row.__dataclass_fields__)


def _condition(name: str, n_patients: int, n_physicians: int) -> Callable[[int], Drawn]:
    def draw(number: int) -> Drawn:
        seed = find_condition(name).replicate_seed(number)
        cohort = intravar.simulate(
            name, random_state=seed, n_patients=n_patients, n_physicians=n_physicians
        )
        assert cohort.truth is not None
        return Drawn(
            observed=Observed.of(*cohort.observed(), keep_missing=True),
            chance=cohort.truth.probability,
        )

    return draw


def _made(
    name: str, n_physicians: int, panel: int, chance_of: Callable[..., FloatArray]
) -> Callable[[int], Drawn]:
    """Draw five covariates, and one number of every physician between 0 and 1."""

    def draw(number: int) -> Drawn:
        random = stream(number, "shrinkage", name)
        code = np.repeat(np.arange(n_physicians), panel)
        x = random.normal(size=(len(code), 5))
        own = random.permutation(np.linspace(0, 1, n_physicians))[code]
        chance = chance_of(x @ np.array([0.8, 0.5, -0.3, 0.15, 0.0]), own)
        decision = (random.random(len(code)) < chance).astype(np.int64)
        return Drawn(observed=Observed.of(x, decision, code), chance=chance)

    return draw


def _rates(_: FloatArray, own: FloatArray) -> FloatArray:
    return 0.2 + 0.6 * own


def _consistency(drive: FloatArray, own: FloatArray) -> FloatArray:
    lapse = 0.8 * own
    return np.asarray((1 - lapse) * expit(6 * drive) + lapse * 0.5)


#: Worlds by name; the number of physicians and of patients of each stands behind it.
WORLDS: Mapping[str, Callable[[int], Drawn]] = {
    "one rule, 60 x 100": _condition("continuous", 6_000, 60),
    "own rules, 80 x 100": _condition("stress-own-rules-small", 8_000, 80),
    "two camps, 80 x 100": _condition("stress-two-camps-small", 8_000, 80),
    "small panels, 200 x 25": _condition("stress-sparse-25", 5_000, 200),
    "rates only, 60 x 80": _made("rates", 60, 80, _rates),
    "consistency differs, 60 x 80": _made("consistency", 60, 80, _consistency),
}


def run(*arguments: str) -> None:
    """Print a table of variants, and one of worlds."""
    first, n_seeds = FIRST_DRAW, N_SEEDS
    names = list(arguments)
    for option in ("--seeds", "--first"):
        if option in names:
            at = names.index(option)
            value = int(names[at + 1])
            del names[at : at + 2]
            first, n_seeds = (value, n_seeds) if option == "--first" else (first, value)
    chosen = {
        world: draw
        for world, draw in WORLDS.items()
        if not names or any(name in world for name in names)
    }
    found: dict[tuple[str, str], list[Row]] = {}
    for world, draw in chosen.items():
        for number in range(first, first + n_seeds):
            for variant, row in _rows(draw(number)).items():
                found.setdefault((world, variant), []).append(row)
    print("Means over worlds; behind a coverage that of the worst world.\n")
    _heads("variant")
    for variant in VARIANTS:
        _print_row(variant, [_mean(found[world, variant]) for world in chosen], has_worst=True)
    print()
    _heads("world, variant")
    for world in chosen:
        for variant in COMPARED:
            _print_row(f"{world}, {variant}", [_mean(found[world, variant])], has_worst=False)


def _rows(drawn: Drawn) -> dict[str, Row]:
    """Predict once; return the figures of every variant."""
    observed = drawn.observed
    deals = [
        held_out(observed, N_FOLDS, 1000 * number) for number in range(n_deals(observed.n_patients))
    ]
    task = deals[0].task
    personal = np.mean([deal.predicted.personal for deal in deals], axis=0)
    pooled = np.mean([deal.predicted.pooled for deal in deals], axis=0)
    left = None
    if deals[0].folds:
        _, left = learn_own_rules(task, personal, pooled, 0)
    losses = losses_of(personal, task.y, task.code, len(task), unit=task.unit)
    chance, q = drawn.chance, task.as_given(personal)
    truth = _by_panel(2 * chance * (1 - chance), observed)
    limit = truth + _by_panel(2 * (chance - q) ** 2, observed)
    rows = {}
    for name, shrinkage in VARIANTS.items():
        found = _bound(losses, None if shrinkage.share_sd == 0 else left, shrinkage, task.y)
        score = task.by_physician(found.score)
        high = task.by_physician(found.interval(LEVEL).high)
        rows[name] = _row(score, high, truth, limit)
    return rows


def _bound(losses: Losses, left: Left | None, shrinkage: Shrinkage, y: IntArray) -> Bound:
    return cap_at_rates(bound(losses, left, shrinkage), losses, y)


def _by_panel(values: FloatArray, observed: Observed) -> FloatArray:
    size = np.bincount(observed.code, minlength=len(observed))
    return np.asarray(np.bincount(observed.code, values, minlength=len(observed)) / size)


def _row(score: FloatArray, high: FloatArray, truth: FloatArray, limit: FloatArray) -> Row:
    place = np.argsort(np.argsort(score, kind="stable")) / len(score)
    everybody = np.ones(len(score), dtype=np.bool_)
    groups: tuple[BoolArray, ...] = (everybody, place < TAIL, place >= 1 - TAIL)
    covered, holds = (
        [float(np.mean(high[g] >= true[g])) for g in groups] for true in (limit, truth)
    )
    varies = np.ptp(truth) > 1e-9 and np.ptp(score) > 1e-9
    return Row(
        error=float(np.mean(np.abs(score - truth))),
        error_of_limit=float(np.mean(np.abs(score - limit))),
        order=float(spearmanr(score, truth)[0]) if varies else float("nan"),
        covered=covered[0],
        covered_lowest=covered[1],
        covered_highest=covered[2],
        holds=holds[0],
        holds_lowest=holds[1],
        holds_highest=holds[2],
    )


def _mean(rows: list[Row]) -> dict[str, float]:
    return {name: float(np.mean([getattr(row, name) for row in rows])) for name in FIGURES}


def _heads(first: str) -> None:
    heads = (
        *(first, "error to truth", "error to limit", "Spearman"),
        *("limit covered", "lowest tenth", "highest tenth"),
        *("truth covered", "lowest tenth", "highest tenth"),
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")


def _print_row(name: str, means: list[dict[str, float]], *, has_worst: bool) -> None:
    cells = [name]
    for figure in FIGURES:
        values = np.array([mean[figure] for mean in means])
        if figure.startswith(("covered", "holds")):
            worst = f" ({values.min():.3f})" if has_worst else ""
            cells.append(f"{values.mean():.3f}{worst}")
        else:
            cells.append(
                f"{np.nanmean(values):.4f}" if figure != "order" else f"{values.mean():.3f}"
            )
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
