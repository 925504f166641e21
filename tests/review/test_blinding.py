"""What reviewers are shown reveals neither the decision nor the physician."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from intravar import InputError
from intravar.arrays import BoolArray, IntArray
from intravar.review.blinding import (
    Blinding,
    name_tokens,
    record_warnings,
    refuse_shown,
    why_names_reveal,
)

N_PHYSICIANS = 8
N_EACH = 60
N = N_PHYSICIANS * N_EACH


@dataclass(frozen=True)
class Clinic:
    """Patients in pairs that are alike in the record, with a reason that is not recorded."""

    patients: pl.DataFrame
    pairs: pl.DataFrame
    decision: BoolArray
    physician: IntArray
    reason: BoolArray
    random: np.random.Generator

    @classmethod
    def simulated(cls, seed: int = 0) -> Clinic:
        """Simulate eight physicians with sixty patients each, in random order of rows."""
        random = np.random.default_rng(seed)
        age = np.repeat(random.integers(40, 90, N // 2), 2)
        physician = np.repeat(np.arange(N_PHYSICIANS), N_EACH)
        reason = random.random(N) < 0.3
        chance = np.where(reason, 0.05, np.where(age > 65, 0.85, 0.2))
        decision = random.random(N) < chance
        order = random.permutation(N)
        row_of = np.argsort(order) + 1
        patients = pl.DataFrame(
            {
                "row": np.arange(1, N + 1),
                "physician": [f"Dr {code}" for code in physician[order]],
                "decision": decision[order].astype(np.int64),
                "age": age[order].astype(float),
                "sex": random.choice(["f", "m"], N),
            }
        )
        pairs = pl.DataFrame({"first": row_of[0::2], "second": row_of[1::2]})
        return cls(patients, pairs, decision[order], physician[order], reason[order], random)

    @property
    def blinding(self) -> Blinding:
        return Blinding.of(self.patients, self.pairs)

    def mostly(self, truth: BoolArray | IntArray, errors: float) -> IntArray:
        """Return the truth with a share of values from other patients."""
        wrong = self.random.random(N) < errors
        return np.where(wrong, self.random.permutation(truth), truth).astype(np.int64)

    def show(self, **columns: object) -> None:
        shown = pl.DataFrame(columns)
        refuse_shown(shown, self.patients, self.blinding)

    def why(self, names: object) -> str | None:
        return why_names_reveal(pl.Series("id", names), self.patients, self.blinding)


@pytest.fixture
def clinic() -> Clinic:
    return Clinic.simulated()


def test_harmless_columns_are_shown(clinic: Clinic) -> None:
    clinic.show(
        ward=clinic.random.choice(["north", "south", "west"], N),
        weight=clinic.random.normal(75, 12, N).round(1),
        ldl=clinic.random.normal(3, 1, N) + 0.8 * clinic.decision,
        note=[f"LDL {value:.1f}, smoker" for value in clinic.random.normal(3, 1, N)],
    )


def test_a_strong_reason_is_shown(clinic: Clinic) -> None:
    clinic.show(contraindication=np.where(clinic.reason, "yes", "no"))


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_text_with_the_decision_is_refused(clinic: Clinic, share: float) -> None:
    mentioned = clinic.random.random(N) < share
    number = clinic.random.integers(100, 999, N)
    words = np.where(clinic.decision, "statin started", "no treatment")
    note = [
        f"visit {k}: {text if told else 'see chart'}"
        for k, text, told in zip(number, words, mentioned, strict=True)
    ]
    with pytest.raises(InputError, match=r"column 'note' .*decision.*leave it out of show"):
        clinic.show(note=note)


def test_a_date_pattern_that_goes_with_the_decision_is_refused(clinic: Clinic) -> None:
    days = clinic.random.integers(1, 29, N)
    dated = clinic.decision & (clinic.random.random(N) < 0.5)
    note = [
        f"day {day}, seen" if not with_date else f"day {day}, seen {day:02d}.03.2024"
        for day, with_date in zip(days, dated, strict=True)
    ]
    with pytest.raises(InputError, match=r"the (word|pattern) '[^']+' goes with one decision"):
        clinic.show(note=note)


def test_a_value_of_few_patients_that_goes_with_one_decision_is_refused(clinic: Clinic) -> None:
    few = clinic.decision & (clinic.random.random(N) < 0.4)
    code = np.where(few, 20.0, clinic.random.integers(1, 20, N))
    with pytest.raises(InputError, match=r"the value '20' goes with one decision"):
        clinic.show(dose=code)


def test_a_column_that_tells_the_decision_with_errors_is_refused(clinic: Clinic) -> None:
    score = clinic.mostly(clinic.decision, 0.08) + clinic.random.normal(0, 0.1, N)
    with pytest.raises(InputError, match="column 'score' tells the decision"):
        clinic.show(score=score)


def test_a_column_that_differs_in_pairs_decided_differently_is_refused(clinic: Clinic) -> None:
    batch = clinic.random.integers(0, 5, N)
    for first, second in clinic.pairs.iter_rows():
        same = clinic.decision[first - 1] == clinic.decision[second - 1]
        batch[second - 1] = batch[first - 1] if same else (batch[first - 1] + 2) % 5
    with pytest.raises(InputError, match="which pairs were decided differently"):
        clinic.show(batch=batch)


@pytest.mark.parametrize("kind", ["crossed", "difference", "equal"])
def test_two_columns_that_tell_the_decision_together_are_refused(clinic: Clinic, kind: str) -> None:
    coin = clinic.random.integers(0, 2, N)
    number = clinic.random.normal(0, 100, N)
    letter = clinic.random.choice([*"abcdefghijklmnopqrst"], N)
    one, other = {
        "crossed": (coin, coin ^ clinic.decision),
        "difference": (number, number + clinic.decision),
        "equal": (letter, np.where(clinic.decision, letter, clinic.random.permutation(letter))),
    }[kind]
    with pytest.raises(InputError, match="'one' and 'other' together tells the decision"):
        clinic.show(one=one, other=other)


def test_a_ward_that_is_the_physicians_in_nearly_all_rows_is_refused(clinic: Clinic) -> None:
    ward = [f"ward {code}" for code in clinic.mostly(clinic.physician, 0.01)]
    with pytest.raises(InputError, match="tells who decided"):
        clinic.show(ward=ward)


def test_a_number_that_differs_by_physician_is_refused(clinic: Clinic) -> None:
    value = 10.0 * clinic.random.permutation(N_PHYSICIANS)[clinic.physician]
    with pytest.raises(
        InputError, match=r"column 'device' names the right physician .*who decided"
    ):
        clinic.show(device=value + clinic.random.normal(0, 4, N))


def test_a_value_that_only_one_physician_has_is_refused(clinic: Clinic) -> None:
    own = (clinic.physician == 3) & (clinic.random.random(N) < 0.8)
    ward = np.where(own, "annex", clinic.random.choice(["north", "south"], N))
    with pytest.raises(InputError, match="the value 'annex' goes with one physician"):
        clinic.show(ward=ward)


def test_two_columns_that_tell_the_physician_together_are_refused(clinic: Clinic) -> None:
    one = clinic.random.integers(0, N_PHYSICIANS, N)
    other = (clinic.physician - one) % N_PHYSICIANS
    with pytest.raises(InputError, match=r"'one' and 'other' together .*who decided"):
        clinic.show(one=one, other=other)


def test_texts_with_names_of_physicians_are_refused(clinic: Clinic) -> None:
    signed = clinic.random.random(N) < 0.05
    note = [
        f"seen by {name}" if is_signed else "seen"
        for name, is_signed in zip(clinic.patients["physician"], signed, strict=True)
    ]
    with pytest.raises(InputError, match="contains names of physicians"):
        clinic.show(note=note)


def test_habits_of_writing_that_tell_the_physician_are_refused(clinic: Clinic) -> None:
    words = ["stable", "unwell", "fit", "tired", "calm", "weak", "alert", "pale", "well", "thin"]
    usual = np.array([clinic.random.dirichlet(np.full(10, 0.5)) for _ in range(N_PHYSICIANS)])
    note = [" ".join(clinic.random.choice(words, 12, p=usual[k])) for k in clinic.physician]
    with pytest.raises(InputError, match=r"column 'note' .*who decided"):
        clinic.show(note=note)


@pytest.mark.parametrize("place", ["middle", "last digit"])
def test_a_code_with_a_character_for_the_decision_is_refused(clinic: Clinic, place: str) -> None:
    number = clinic.random.permutation(10**6)[:N]
    if place == "middle":
        letter = np.where(clinic.decision, "t", "u")
        chart = [f"{k % 1000:03d}{a}{k // 1000:03d}" for a, k in zip(letter, number, strict=True)]
        with pytest.raises(InputError, match="column 'chart' .* goes with one decision"):
            clinic.show(chart=chart)
    else:
        with pytest.raises(InputError, match="column 'chart' .* goes with one decision"):
            clinic.show(chart=2 * number + clinic.decision)


def test_missing_and_infinite_values_are_tested(clinic: Clinic) -> None:
    value = clinic.random.normal(0, 1, N)
    value[:40] = np.inf
    value[40:80] = np.nan
    gaps = pl.Series([None if k % 3 else float(k) for k in clinic.random.integers(0, 99, N)])
    clinic.show(value=value, gaps=gaps, flag=clinic.random.random(N) < 0.5)


# --- identifiers and rows ---


def test_random_ids_are_shown(clinic: Clinic) -> None:
    assert clinic.why([f"c{k}" for k in clinic.random.permutation(9 * N)[:N]]) is None
    assert clinic.why([f"{k:08d}" for k in clinic.random.integers(0, 10**8, N)]) is None
    assert clinic.why(np.arange(1, N + 1)) is None


@pytest.mark.parametrize("place", ["start", "middle", "end", "last digit"])
def test_ids_with_a_letter_for_the_decision_are_not_shown(clinic: Clinic, place: str) -> None:
    number = clinic.random.permutation(10**6)[:N]
    letter = np.where(clinic.decision, "t", "u")
    ids = {
        "start": [f"{a}{k}" for a, k in zip(letter, number, strict=True)],
        "middle": [
            f"{k % 1000:03d}{a}{k // 1000:03d}" for a, k in zip(letter, number, strict=True)
        ],
        "end": [f"{k}{a}" for a, k in zip(letter, number, strict=True)],
        "last digit": [str(2 * k + yes) for yes, k in zip(clinic.decision, number, strict=True)],
    }
    why = clinic.why(ids[place])
    assert why is not None
    assert why.startswith("the decision")


@pytest.mark.parametrize("kind", ["prefix", "infix", "round robin", "sorted", "blocks"])
def test_ids_that_tell_the_physician_are_not_shown(clinic: Clinic, kind: str) -> None:
    number = clinic.random.permutation(10**5)[:N]
    in_order = np.argsort(np.argsort(clinic.physician, kind="stable"))
    ids = {
        "prefix": [f"P{p:02d}-{k:05d}" for p, k in zip(clinic.physician, number, strict=True)],
        "infix": [
            f"{k % 1000:03d}{p}{k // 1000}" for p, k in zip(clinic.physician, number, strict=True)
        ],
        "round robin": [str(8 * k + p) for p, k in zip(clinic.physician, number, strict=True)],
        "sorted": [str(10_000 + k) for k in in_order],
        "blocks": [str(10**7 * (p % 4) + k) for p, k in zip(clinic.physician, number, strict=True)],
    }
    why = clinic.why(ids[kind])
    assert why is not None
    assert why.startswith("the physician")


def test_a_row_number_has_its_characters_as_tokens() -> None:
    assert "remainder\t3 by 8" in name_tokens("P-11")


# --- the record ---


def test_a_recorded_covariate_that_tells_the_physician_is_a_warning(clinic: Clinic) -> None:
    assert record_warnings(clinic.blinding) == []
    wards = pl.Series("ward", [f"w{code}" for code in clinic.mostly(clinic.physician, 0.2)])
    recorded = Blinding.of(clinic.patients.with_columns(wards), clinic.pairs)
    [warning] = record_warnings(recorded)
    assert "recorded covariate 'ward'" in warning


def test_recorded_covariates_that_tell_the_physician_together_are_a_warning(
    clinic: Clinic,
) -> None:
    one = pl.Series("one", clinic.physician // 2 % 2 + clinic.random.normal(0, 0.45, N))
    parts = {
        f"part {bit}": (clinic.physician >> bit) % 2 + clinic.random.normal(0, 0.45, N)
        for bit in range(3)
    }
    recorded = clinic.patients.with_columns(one, **{k: pl.Series(v) for k, v in parts.items()})
    found = record_warnings(Blinding.of(recorded, clinic.pairs))
    assert any("together" in warning for warning in found)


def test_both_patients_of_a_pair_are_in_the_same_half(clinic: Clinic) -> None:
    blinding = clinic.blinding
    assert (blinding.half[blinding.pairs[:, 0]] == blinding.half[blinding.pairs[:, 1]]).all()
    assert len(blinding.pairs) == N // 2


@pytest.mark.parametrize("n", [1, 3, 12])
def test_few_patients_are_tested_without_a_false_alarm(clinic: Clinic, n: int) -> None:
    patients = clinic.patients[:n]
    pairs = clinic.pairs.filter(pl.max_horizontal("first", "second") <= n)
    blinding = Blinding.of(patients, pairs)
    refuse_shown(pl.DataFrame({"weight": np.arange(n) * 7 % 5}), patients, blinding)
    assert why_names_reveal(pl.Series("id", np.arange(n)), patients, blinding) is None
    assert record_warnings(blinding) == []
