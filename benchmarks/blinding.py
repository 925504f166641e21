"""Blinding of reviewers: how often harmless columns are refused, and unblinding ones accepted.

    python -m benchmarks blinding

Every draw simulates the patients of several physicians in pairs that are alike in the record.
Physicians differ in their case mix and know a reason that the table does not hold. Columns and ids
are tested as `intravar review draw` tests them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError
from intravar.review.blinding import Blinding, record_warnings, refuse_shown, why_names_reveal
from intravar.seeds import stream

#: Physicians, patients of each, and draws.
SIZES = ((5, 40, 20), (8, 60, 20), (20, 100, 5), (50, 40, 5))
WORDS = ("stable", "tired", "frail", "fit", "smoker", "dyspnoea", "oedema", "pain", "alert", "pale")


@dataclass(frozen=True)
class Simulated:
    """Patients of a clinic, and what is true of them."""

    patients: pl.DataFrame
    pairs: pl.DataFrame
    decision: BoolArray
    physician: IntArray
    reason: BoolArray
    age: FloatArray
    random: np.random.Generator

    @classmethod
    def draw(cls, n_physicians: int, n_each: int, random: np.random.Generator) -> Simulated:
        """Simulate patients in random order; the case mix moves age by half a deviation."""
        n = n_physicians * n_each
        physician = np.repeat(np.arange(n_physicians), n_each)
        case_mix = random.normal(0, 5, n_physicians)
        age = np.repeat(random.normal(65, 10, n // 2), 2) + case_mix[physician]
        reason = random.random(n) < 0.25
        willing = random.normal(0, 0.8, n_physicians)[physician]
        chance = 1 / (1 + np.exp(-((age - 65) / 8 + willing)))
        decision = random.random(n) < np.where(reason, 0.08, chance)
        order = random.permutation(n)
        row_of = np.argsort(order) + 1
        patients = pl.DataFrame(
            {
                "row": np.arange(1, n + 1),
                "physician": [f"Dr {code}" for code in physician[order]],
                "decision": decision[order].astype(np.int64),
                "age": age[order].round(),
                "sex": random.choice(["f", "m"], n),
                "pressure": random.normal(140, 20, n).round(),
            }
        )
        pairs = pl.DataFrame({"first": row_of[0::2], "second": row_of[1::2]})
        truth = decision[order], physician[order], reason[order], age[order]
        return cls(patients, pairs, *truth, random)

    def mixed(self, values: FloatArray | IntArray | BoolArray, errors: float) -> IntArray:
        """Return values of which a share comes from other patients."""
        wrong = self.random.random(len(values)) < errors
        return np.where(wrong, self.random.permutation(values), values).astype(np.int64)

    def harmless(self) -> dict[str, pl.Series]:
        """Return columns that a reviewer may see."""
        random, n = self.random, len(self.decision)
        frequency = (
            np.where(self.reason[:, None], 2.0, 1.0) ** np.arange(len(WORDS))[None, :] ** 0.3
        )
        frequency /= frequency.sum(axis=1, keepdims=True)
        note = [
            f"{' '.join(random.choice(WORDS, 6, p=each))}, RR {random.integers(100, 190)}"
            for each in frequency
        ]
        columns: dict[str, Any] = {
            "category of three": random.choice(["a", "b", "c"], n),
            "number": random.normal(0, 1, n),
            "marker of the reason": self.reason + random.normal(0, 0.5, n),
            "reason itself (8 % treated)": np.where(self.reason, "yes", "no"),
            "case mix (age + noise)": self.age + random.normal(0, 5, n),
            "date": random.integers(0, 1_500, n),
            "note": note,
        }
        return {name: pl.Series(name, values) for name, values in columns.items()}

    def unblinding(self) -> dict[str, pl.Series]:
        """Return columns that reveal the decision or the physician."""
        random, n = self.random, len(self.decision)
        said = np.where(self.decision, "statin started", "no treatment")
        mentioned = random.random(n) < 0.3
        columns: dict[str, Any] = {
            "decision, 1 % errors": self.mixed(self.decision, 0.02),
            "decision, 5 % errors": self.mixed(self.decision, 0.1),
            "note with the decision": [f"RR {random.integers(99)}: {text}" for text in said],
            "note with it in 30 %": [
                f"RR {random.integers(99)}: {text if known else 'see chart'}"
                for text, known in zip(said, mentioned, strict=True)
            ],
            "ward, 99 % the physician's": [f"w{k}" for k in self.mixed(self.physician, 0.01)],
            "ward, 80 % the physician's": [f"w{k}" for k in self.mixed(self.physician, 0.2)],
            "number by physician": self.physician * 10 + random.normal(0, 3, n),
        }
        return {name: pl.Series(name, values) for name, values in columns.items()}

    def ids(self) -> dict[str, tuple[bool, pl.Series]]:
        """Return identifiers, and whether they may be shown."""
        random, n = self.random, len(self.decision)
        number = random.permutation(10**6)[:n]
        letters = np.where(self.decision, "t", "u")
        in_order = np.argsort(np.argsort(self.physician, kind="stable"))
        by_decision = np.argsort(np.argsort(self.decision, kind="stable"))
        ids: dict[str, tuple[bool, Any]] = {
            "random numbers": (True, number.astype(str)),
            "rows in random order": (True, np.arange(1, n + 1)),
            "letters and digits": (True, [f"{k:06d}-{'abcdefgh'[k % 8]}" for k in number]),
            "letter for the decision": (
                False,
                [f"{k}{a}" for k, a in zip(number, letters, strict=True)],
            ),
            "begin with the physician": (
                False,
                [f"P{p:02d}-{k:06d}" for p, k in zip(self.physician, number, strict=True)],
            ),
            "rows sorted by physician": (False, in_order + 1),
            "rows sorted by decision": (False, by_decision + 1),
        }
        return {name: (good, pl.Series(name, values)) for name, (good, values) in ids.items()}


def refused(columns: list[pl.Series], simulated: Simulated, blinding: Blinding) -> bool:
    """Tell whether columns would be refused."""
    try:
        refuse_shown(pl.DataFrame(columns), simulated.patients, blinding)
    except InputError:
        return True
    return False


def refusals(n_physicians: int, n_each: int, draw: int) -> dict[str, bool]:
    """Return which columns are refused in one draw, and which kinds of ids are replaced."""
    random = stream(draw, "blinding", str(n_physicians))
    simulated = Simulated.draw(n_physicians, n_each, random)
    blinding = Blinding.of(simulated.patients, simulated.pairs)
    found: dict[str, bool] = {}
    harmless = simulated.harmless()
    for name, column in harmless.items():
        found[f"harmless: {name}"] = refused([column], simulated, blinding)
    found["harmless: all together"] = refused(list(harmless.values()), simulated, blinding)
    found["harmless: warning of the record"] = bool(record_warnings(blinding))
    for name, column in simulated.unblinding().items():
        found[f"unblinding: {name}"] = refused([column], simulated, blinding)
    for name, (good, names) in simulated.ids().items():
        kind = "harmless" if good else "unblinding"
        reveals = why_names_reveal(names, simulated.patients, blinding)
        found[f"{kind} ids: {name}"] = reveals is not None
    return dict(sorted(found.items()))


def rates(n_physicians: int, n_each: int, draws: int) -> dict[str, float]:
    """Return how often columns are refused and ids replaced."""
    found = [refusals(n_physicians, n_each, draw) for draw in range(draws)]
    return {name: float(np.mean([each[name] for each in found])) for name in found[0]}


def run() -> None:
    """Print the rates of all sizes as a table."""
    by_size = [rates(*size) for size in SIZES]
    heads = [f"{k} physicians, {n} each ({draws} draws)" for k, n, draws in SIZES]
    print(f"| shown | {' | '.join(heads)} |")
    print("|---|" + "--:|" * len(SIZES))
    for name in by_size[0]:
        cells = [f"{100 * found[name]:.0f} %" for found in by_size]
        print(f"| {name} | {' | '.join(cells)} |")
