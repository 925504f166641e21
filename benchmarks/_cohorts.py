"""Cohorts on which verdicts are tried: simulated ones with their truth, real ones without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

import intravar
from intravar.arrays import FloatArray, IntArray
from intravar.seeds import stream
from intravar.simulation import find_condition

Roles = dict[str, str | tuple[str, ...]]
ROLES: Roles = {"physician": "physician", "decision": "decision"}
#: Conditions with a name, and the sizes at which they are tried.
CONDITIONS: tuple[tuple[str, int, int], ...] = (
    ("score2", 8000, 20),
    ("score2", 1000, 10),
    ("continuous", 3000, 20),
    ("continuous", 1600, 40),
    *((name, 1500, 10) for name in ("copula", "pass1-w3-p2", "pass2-w1-p4")),
    *((f"stress-{name}", 2000, 10) for name in ("hidden-weak", "hidden-strong", "graded")),
    *((f"stress-{name}", 2000, 10) for name in ("noise", "case-mix", "missing", "rare")),
    *((f"stress-{name}", 2000, 10) for name in ("exclusive-or", "heterogeneous-p-low")),
    ("stress-sparse-25", 1500, 60),
    *((f"stress-{name}", 3000, 10) for name in ("two-camps", "personal-weights", "own-rules")),
    *((f"stress-{name}", 3000, 10) for name in ("own-conjunctions", "strong-thresholds")),
    *((f"stress-{name}-small", 2000, 20) for name in ("two-camps", "own-rules", "three-camps")),
)
#: Real files: who decides, what, and what came before the decision.
FILES: dict[str, Roles] = {
    "azpro": {
        "physician": "hospital",
        "decision": "procedure",
        "covariates": ("sex", "age75", "admit"),
    },
    "greene": {
        "physician": "judge",
        "decision": "decision",
        "covariates": ("nation", "rater", "language", "location", "success"),
    },
    "samuel_artificial": {
        "physician": "stroke_team",
        "decision": "thrombolysis",
        "after": ("scan_to_thrombolysis_time", "onset_to_thrombolysis", "discharge_disability"),
    },
}
#: Subsamples of a real file: physicians, and patients of each.
SUBSAMPLES = ((10, 200), (40, 50))


#: Larger files are subsampled.
LARGEST = 4000


@dataclass(frozen=True, eq=False)
class Case:
    """A cohort to be judged.

    Attributes
    ----------
    name
        What it is.
    table
        What a user would have.
    truth
        By estimand and physician the discordance; nothing where nobody knows.
    roles
        Columns of the table, as `measure` is told them.
    """

    name: str
    table: pl.DataFrame
    truth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    roles: Roles = field(default_factory=lambda: dict(ROLES))


def simulated_cases() -> Iterator[Case]:
    """Make the cohorts one by one: conditions with a name, and some that only make sense here."""
    for name, n_patients, n_physicians in CONDITIONS:
        yield _condition(name, n_patients, n_physicians)
    yield pure_noise(0)
    yield pure_noise(1, differing=True)
    yield coins_and_clockwork(0)
    yield coins_and_clockwork(1, n_physicians=8, panel=120)
    yield _made("alike", 2, p_high=np.full(12, 0.85), p_low=np.full(12, 0.05))
    yield _made("few physicians", 3, p_high=np.array([0.95, 0.8, 0.6]), p_low=np.full(3, 0.05))
    yield _made("one class", 4, p_high=np.linspace(0.55, 0.98, 15), p_low=None)
    yield _made(
        "drifting", 5, p_high=np.linspace(0.6, 0.98, 15), p_low=np.full(15, 0.05), drift=0.3
    )
    yield coarse_and_level(6)


def _condition(name: str, n_patients: int, n_physicians: int) -> Case:
    seed = find_condition(name).replicate_seed(1)
    cohort = intravar.simulate(name, seed=seed, n_patients=n_patients, n_physicians=n_physicians)
    known = intravar.oracle(cohort)
    truth = {
        estimand: dict(zip(known["physician"], known[column], strict=True))
        for estimand, column in (("comparable", "comparable"), ("eligible", "d_star"))
    }
    if name.startswith("stress-hidden") or name == "stress-noise":
        # What is not recorded counts as discordance, and nobody has worked out how much.
        del truth["comparable"]
    return Case(f"{name} {n_patients}/{n_physicians}", cohort.to_polars(), truth)


def pure_noise(seed: int, *, differing: bool = False, n_physicians: int = 12) -> Case:
    """Decisions that hang on no covariate; on who decides, or on nothing at all."""
    random = stream(seed, "verdicts", "noise")
    rates = np.linspace(0.2, 0.8, n_physicians) if differing else np.full(n_physicians, 0.4)
    code = np.repeat(np.arange(n_physicians), 100)
    name = "rates alone differ" if differing else "pure noise"
    return _case(name, random.normal(size=(len(code), 5)), code, rates[code], random)


def coins_and_clockwork(seed: int, *, n_physicians: int = 16, panel: int = 200) -> Case:
    """Half of the physicians toss a coin, half follow the rule to the letter."""
    odd = np.arange(n_physicians) % 2 == 1
    name = f"coins and clockwork {panel}/{n_physicians}"
    return _made(name, seed, np.where(odd, 0.5, 1.0), np.where(odd, 0.5, 0.0), panel=panel)


def coarse_and_level(seed: int) -> Case:
    """Many deciders, coarse covariates that shift the chance of yes, and nobody who is sure."""
    random = stream(seed, "verdicts", "coarse")
    code = np.repeat(np.arange(40), 80)
    x = random.integers(0, [2, 3, 4, 2], size=(len(code), 4)).astype(np.float64)
    lean = random.normal(0, 0.5, 40)
    chance = 1 / (1 + np.exp(-(x @ np.array([0.9, 0.6, -0.5, 0.4]) - 0.6 + lean[code])))
    return _case("coarse, no clear cases", x, code, chance, random)


def _made(
    name: str,
    seed: int,
    p_high: FloatArray,
    p_low: FloatArray | None,
    *,
    panel: int = 200,
    drift: float = 0.0,
) -> Case:
    """Make a cohort with a rule in two covariates; rates may drift with a third, time."""
    random = stream(seed, "verdicts", name)
    code = np.repeat(np.arange(len(p_high)), panel)
    x = random.normal(size=(len(code), 6))
    x[:, 5] = random.random(len(code))
    eligible = x[:, 0] + 0.7 * x[:, 1] > 0
    high = p_high[code] - drift * x[:, 5]
    chance = high if p_low is None else np.where(eligible, high, p_low[code])
    mean = p_high - drift / 2
    return _case(name, x, code, chance, random, 2 * mean * (1 - mean))


def _case(
    name: str,
    x: FloatArray,
    code: IntArray,
    chance: FloatArray,
    random: np.random.Generator,
    eligible: FloatArray | None = None,
) -> Case:
    who = np.array([f"P{number:03d}" for number in code])
    columns = {f"x{number}": column for number, column in enumerate(x.T)}
    decision = (random.random(len(code)) < chance).astype(np.int64)
    table = pl.DataFrame({"physician": who, "decision": decision, **columns})
    mean = np.bincount(code, 2 * chance * (1 - chance)) / np.bincount(code)
    truth = {"comparable": {f"P{number:03d}": float(each) for number, each in enumerate(mean)}}
    if eligible is not None:
        truth["eligible"] = {f"P{at:03d}": float(each) for at, each in enumerate(eligible)}
    return Case(name, table, truth)


def real_cases(folder: str) -> Iterator[Case]:
    """Read the files that are known by name, and those of deciders who saw cases twice."""
    for path in sorted(Path(folder).rglob("*.csv")):
        head = pl.read_csv(path, n_rows=1).columns
        if path.stem in FILES:
            roles = FILES[path.stem]
        elif {"decider", "case", "occasion", "decision"} <= set(head):
            roles = {"physician": "decider", "decision": "decision"}
        else:
            continue
        table = pl.read_csv(path, null_values=["NA", ""], infer_schema_length=None)
        yield from _subsamples(path.stem, table, dict(roles))


def _subsamples(name: str, table: pl.DataFrame, roles: Roles) -> Iterator[Case]:
    if {"case", "occasion"} <= set(table.columns):
        # One occasion of each case, as a record would hold it.
        order = stream(0, "verdicts", name).permutation(table.height)
        table = table[order].unique(["decider", "case"], keep="first", maintain_order=True)
        table = table.drop("case", "occasion")
    if table.height <= LARGEST:
        yield Case(f"{name} (real)", table, {}, roles)
        return
    who = str(roles["physician"])
    for n_physicians, panel in SUBSAMPLES:
        random = stream(n_physicians, "verdicts", name)
        names = table[who].unique(maintain_order=True)
        chosen = names[random.permutation(len(names))[:n_physicians].tolist()]
        place = pl.Series(random.permutation(table.height))
        kept = table.filter(pl.col(who).is_in(chosen.implode())).with_columns(
            place[: table.filter(pl.col(who).is_in(chosen.implode())).height].alias("place")
        )
        kept = kept.filter(pl.col("place").rank("ordinal").over(who) <= panel).drop("place")
        yield Case(f"{name} (real) {kept.height}/{len(chosen)}", kept, {}, roles)
