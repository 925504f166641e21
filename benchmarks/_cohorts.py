"""Cohorts on which verdicts are tried: simulated ones with their truth, real ones without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

import intravar
from intravar.arrays import FloatArray, IntArray
from intravar.seeds import stream
from intravar.study.simulation import find_condition
from intravar.table_files import read_csv

Roles = dict[str, str | tuple[str, ...]]
ROLES: Roles = {"physician": "physician", "decision": "decision"}
#: Conditions with a name, and the sizes at which they are tried.
CONDITIONS: tuple[tuple[str, int, int], ...] = (
    ("score2", 800, 10),
    ("continuous", 800, 20),
    *((name, 800, 10) for name in ("copula", "pass1-w3-p2", "pass2-w1-p4")),
    *((f"stress-{name}", 800, 10) for name in ("hidden-weak", "hidden-strong", "graded")),
    *((f"stress-{name}", 800, 10) for name in ("noise", "case-mix", "missing", "rare")),
    *((f"stress-{name}", 800, 10) for name in ("exclusive-or", "heterogeneous-p-low")),
    ("stress-sparse-25", 800, 40),
    *((f"stress-{name}", 800, 10) for name in ("two-camps", "personal-weights", "own-rules")),
    *((f"stress-{name}", 800, 10) for name in ("own-conjunctions", "strong-thresholds")),
    *((f"stress-{name}-small", 800, 20) for name in ("two-camps", "own-rules", "three-camps")),
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
SUBSAMPLES = ((10, 150), (30, 50))
#: Cohorts are drawn with seeds that nothing was chosen on.
REPLICATE = 11


#: What the name of half of a cohort ends with.
HALVES = (", half of the patients", ", half of the physicians")
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
        By estimand and physician the discordance; nothing where nobody knows. "any" is that of any
        two patients of a physician.
    roles
        Columns of the table, as `measure` is told them.
    undetermined
        Estimands that the cohort has no value of: whoever gives a level or an order is wrong.
    leaks
        Whether a column gives the decision away.
    rates_alone
        Whether nothing but rates differs, and the record hardly explains decisions: whoever ranks
        is wrong.
    """

    name: str
    table: pl.DataFrame
    truth: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    roles: Roles = field(default_factory=lambda: dict(ROLES))
    undetermined: tuple[str, ...] = ()
    leaks: bool = False
    rates_alone: bool = False


def simulated_cases(replicate: int = REPLICATE) -> Iterator[Case]:
    """Make the cohorts one by one: conditions with a name, and some that only make sense here."""
    for name, n_patients, n_physicians in CONDITIONS:
        yield _condition(name, n_patients, n_physicians, replicate)
    yield pure_noise(1000 + replicate)
    yield pure_noise(2000 + replicate, differing=True)
    yield coins_and_clockwork(replicate)
    yield coins_and_clockwork(replicate, n_physicians=8, panel=120)
    yield given_away(replicate)
    yield own_exclusive_or(replicate)
    yield _made("alike", replicate, p_high=np.full(12, 0.85), p_low=np.full(12, 0.05))
    yield _made(
        "few physicians", replicate, p_high=np.array([0.95, 0.8, 0.6]), p_low=np.full(3, 0.05)
    )
    yield _made("one class", replicate, p_high=np.linspace(0.55, 0.98, 15), p_low=None)
    yield _made("drifting", replicate, np.linspace(0.6, 0.98, 15), np.full(15, 0.05), drift=0.3)
    for strength in (1.0, 2.0):
        yield no_clear_cases(replicate, strength)
        yield no_clear_cases(replicate, strength, coarse=False)


def _condition(name: str, n_patients: int, n_physicians: int, replicate: int) -> Case:
    seed = find_condition(name).replicate_seed(replicate)
    cohort = intravar.simulate(
        name, random_state=seed, n_patients=n_patients, n_physicians=n_physicians
    )
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
    case = made_case(name, random.normal(size=(len(code), 5)), code, rates[code], random)
    return replace(case, rates_alone=differing)


def coins_and_clockwork(seed: int, *, n_physicians: int = 16, panel: int = 200) -> Case:
    """Half of the physicians toss a coin, half follow the rule to the letter."""
    odd = np.arange(n_physicians) % 2 == 1
    name = f"coins and clockwork {panel}/{n_physicians}"
    return _made(name, seed, np.where(odd, 0.5, 1.0), np.where(odd, 0.5, 0.0), panel=panel)


def given_away(seed: int) -> Case:
    """Coins and clockwork, and a column that was written after the decision."""
    case = coins_and_clockwork(seed, n_physicians=8, panel=120)
    late = pl.col("decision") + pl.Series(stream(seed, "verdicts", "late").normal(0, 0.2, 960))
    table = case.table.with_columns(late.alias("dose"))
    return Case("given away", table, case.truth, leaks=True)


def own_exclusive_or(seed: int, *, n_physicians: int = 10, panel: int = 250) -> Case:
    """Everybody treats who is high in one of two covariates of their own, and not in both."""
    random = stream(seed, "verdicts", "own exclusive-or")
    code = np.repeat(np.arange(n_physicians), panel)
    x = random.normal(size=(len(code), 6))
    pairs = np.array([random.permutation(6)[:2] for _ in range(n_physicians)])[code]
    one, other = np.take_along_axis(x, pairs, axis=1).T
    p_high = np.linspace(0.7, 1.0, n_physicians)
    chance = np.where((one > 0) != (other > 0), p_high[code], 0.03)
    return made_case("own exclusive-or", x, code, chance, random, 2 * p_high * (1 - p_high))


def no_clear_cases(seed: int, strength: float, *, coarse: bool = True) -> Case:
    """Many deciders; covariates shift the chance of yes, deciders are lenient or strict.

    Nobody is eligible or not, so that the discordance of the eligible has no value.
    """
    random = stream(seed, "verdicts", "coarse")
    code = np.repeat(np.arange(30), 80)
    if coarse:
        x = random.integers(0, [2, 3, 4, 2], size=(len(code), 4)) - np.array([0.5, 1.0, 1.5, 0.5])
    else:
        x = random.normal(size=(len(code), 4))
    lean = random.normal(0, 0.5, 30)
    slope = strength * np.array([0.9, 0.6, -0.5, 0.4])
    chance = 1 / (1 + np.exp(-(x @ slope + lean[code])))
    name = f"{'coarse' if coarse else 'smooth'}, no clear cases, slopes x {strength:.0f}"
    return replace(made_case(name, x, code, chance, random), undetermined=("eligible",))


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
    return made_case(name, x, code, chance, random, 2 * mean * (1 - mean))


def made_case(
    name: str,
    x: FloatArray,
    code: IntArray,
    chance: FloatArray,
    random: np.random.Generator,
    eligible: FloatArray | None = None,
    *,
    alike: FloatArray | None = None,
) -> Case:
    """Draw decisions with given chances, and work out what is true of each physician.

    Parameters
    ----------
    name, x, code
        Of the cohort, covariates, and the physician of every patient.
    chance
        Of "yes", per patient.
    random
        Draws the decisions.
    eligible
        Discordance of the eligible, where there are any.
    alike
        Chance of "yes" given what is recorded; by default the same.
    """
    who = np.array([f"P{number:03d}" for number in code])
    columns = {f"x{number}": column for number, column in enumerate(x.T)}
    decision = (random.random(len(code)) < chance).astype(np.int64)
    table = pl.DataFrame({"physician": who, "decision": decision, **columns})
    recorded = chance if alike is None else alike
    mean = np.bincount(code, 2 * recorded * (1 - recorded)) / np.bincount(code)
    rate = np.bincount(code, chance) / np.bincount(code)
    truth = {
        estimand: {f"P{number:03d}": float(each) for number, each in enumerate(values)}
        for estimand, values in (("comparable", mean), ("any", 2 * rate * (1 - rate)))
    }
    if eligible is not None:
        truth["eligible"] = {f"P{at:03d}": float(each) for at, each in enumerate(eligible)}
    return Case(name, table, truth)


def halved(case: Case) -> Iterator[Case]:
    """Return what is left of a cohort with half of its patients, and with half of its physicians.

    What is true of a physician stays so: patients are dealt by chance.
    """
    who, random = str(case.roles["physician"]), stream(0, "verdicts", "half", case.name)
    rows = np.sort(random.permutation(case.table.height)[: case.table.height // 2])
    yield replace(case, name=f"{case.name}{HALVES[0]}", table=case.table[rows.tolist()])
    names = case.table[who].unique(maintain_order=True)
    few = names[random.permutation(len(names))[: max(len(names) // 2, 2)].tolist()]
    kept = case.table.filter(pl.col(who).is_in(few.implode()))
    yield replace(case, name=f"{case.name}{HALVES[1]}", table=kept)


def real_cases(folder: str) -> Iterator[Case]:
    """Read the files that are known by name, and those of deciders who saw cases twice."""
    for path in sorted(Path(folder).rglob("*.csv")):
        head = read_csv(path, n_rows=1).columns
        if path.stem in FILES:
            roles = FILES[path.stem]
        elif {"decider", "case", "occasion", "decision"} <= set(head):
            roles = {"physician": "decider", "decision": "decision"}
        else:
            continue
        table = read_csv(path, null_values=["NA", ""], infer_schema_length=None)
        yield from _subsamples(path.stem, table, dict(roles))


def once_each(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Keep one occasion of each case, as a record would hold it."""
    order = stream(0, "verdicts", name).permutation(table.height)
    table = table[order].unique(["decider", "case"], keep="first", maintain_order=True)
    return table.drop("case", "occasion")


def _subsamples(name: str, table: pl.DataFrame, roles: Roles) -> Iterator[Case]:
    if {"case", "occasion"} <= set(table.columns):
        table = once_each(name, table)
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
