import copy
import gc
import pickle
import types
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intravar import Cohort, InputError, simulate
from intravar.observed import TRUTH_COLUMNS
from intravar.study import Scenario, Truth
from intravar.study.simulation import Continuum, Physicians

FILE_COLUMNS = [
    *("age", "hba1c", "non_hdl", "hdl", "ldl", "sbp", "egfr", "smoker", "male"),
    *("physician", "decision", "eligible", "p_high", "p_low", "d_star", "group"),
]


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return simulate("score2", n_patients=1_000, n_physicians=10)


@pytest.fixture(scope="module")
def continuum() -> Cohort:
    scenario = Scenario("c", physicians=Continuum(), n_patients=1_000, n_physicians=10)
    return simulate(scenario)


def truth_of(cohort: Cohort) -> Truth:
    assert cohort.truth is not None
    return cohort.truth


def small(**other: Any) -> Cohort:
    parts: dict[str, Any] = {
        "covariates": pl.DataFrame({"age": [50.0, 61.0]}),
        "decision": [0, 1],
        "physician": ["Ada", "Ben"],
    }
    return Cohort(**(parts | other))


def assert_same(one: Cohort, other: Cohort, *, truth: bool) -> None:
    assert one.covariate_names == other.covariate_names
    assert one.covariates.cast(pl.Float64).equals(other.covariates.cast(pl.Float64))
    assert one.decision.tolist() == other.decision.tolist()
    assert one.physician.to_list() == other.physician.to_list()
    if not truth:
        assert other.truth is None
        return
    for name in TRUTH_COLUMNS:
        assert getattr(one.truth, name).tolist() == getattr(other.truth, name).tolist()


# --- the truth stays where it is ---


class OddHabits:
    """Probabilities whose eight bytes occur nowhere by chance."""

    p_high, p_low = 0.718281828459045, 0.141592653589793

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        return Physicians(
            tuple(f"Dr {number}" for number in range(n_physicians)),
            np.full(n_physicians, self.p_high),
            np.full(n_physicians, self.p_low),
            np.full(n_physicians, 31_337, dtype=np.int16),
        )

    def describe(self) -> str:
        return "odd"


@pytest.fixture(scope="module")
def odd() -> Cohort:
    scenario = Scenario("odd", physicians=OddHabits(), n_patients=1_000, n_physicians=10)
    return simulate(scenario)


def reachable(start: object) -> list[object]:
    """Everything that can be reached from an object, short of code and modules."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    found: dict[int, object] = {}
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if id(one) in found or isinstance(one, code):
            continue
        found[id(one)] = one
        waiting.extend(gc.get_referents(one))
    return list(found.values())


def secrets_of(cohort: Cohort) -> list[bytes]:
    """What a pickle would contain if the truth were in it."""
    truth = truth_of(cohort)
    return [
        *(name.encode() for name in ("eligible", "p_high", "p_low", "d_star", "Truth")),
        *(np.float64(value).tobytes() for value in (OddHabits.p_high, OddHabits.p_low)),
        truth.d_star[:1].tobytes(),
        truth.group[:8].tobytes(),
        truth.eligible[:64].tobytes(),
        np.packbits(truth.eligible, bitorder="little").tobytes()[:16],
    ]


class Hoarder:
    """An estimator that keeps all it is handed."""

    def fit(self, X: pl.DataFrame, y: npt.NDArray[np.int8], physician: pl.Series) -> "Hoarder":
        self.kept_ = (X, y, physician)
        return self


def test_observed_is_covariates_decision_and_physician_alone(odd: Cohort) -> None:
    X, y, physician = odd.observed()
    assert X.columns == FILE_COLUMNS[:9]
    assert X.equals(odd.covariates)
    assert y.tolist() == odd.decision.tolist()
    assert set(physician) == {f"Dr {number}" for number in range(10)}


def test_nothing_reachable_from_observed_is_the_truth(odd: Cohort) -> None:
    truth = truth_of(odd)
    hidden = {id(truth), id(odd), id(truth.rule)}
    hidden |= {id(getattr(truth, name)) for name in ("eligible", "p_high", "p_low", "group")}
    for part in odd.observed():
        everything = reachable(part)
        assert not hidden & {id(one) for one in everything}
        assert not any(isinstance(one, Cohort | Truth) for one in everything)
        assert y_base_is_own(part)
    # The walk does find the truth where it is.
    assert hidden <= {id(one) for one in reachable([odd])}


def y_base_is_own(part: object) -> bool:
    """A view could lead back to a larger array that holds more."""
    return not isinstance(part, np.ndarray) or part.base is None


def test_a_pickle_of_an_estimator_holds_no_truth(odd: Cohort) -> None:
    fitted = Hoarder().fit(*odd.observed())
    stored = pickle.dumps(fitted.kept_) + b"".join(pickle.dumps(one) for one in fitted.kept_)
    for secret in secrets_of(odd):
        assert secret not in stored
    # The search has power: what is meant to be there is found, and so is the truth in a cohort.
    assert np.float64(fitted.kept_[0]["hdl"][0]).tobytes() in stored
    assert fitted.kept_[1].tobytes() in stored
    whole = pickle.dumps(odd)
    assert np.float64(OddHabits.p_high).tobytes() in whole
    assert truth_of(odd).eligible.tobytes() in whole


def test_tables_hold_the_truth_only_if_asked(cohort: Cohort) -> None:
    assert cohort.to_polars().columns == FILE_COLUMNS[:11]
    assert list(cohort.to_pandas().columns) == FILE_COLUMNS[:11]
    assert cohort.to_polars(truth=True).columns == FILE_COLUMNS


@pytest.mark.parametrize("taken", ["physician", "decision", *TRUTH_COLUMNS])
def test_no_covariate_bears_a_reserved_name(taken: str) -> None:
    with pytest.raises(InputError, match=f"'{taken}' cannot be a covariate"):
        small(covariates=pl.DataFrame({taken: [1.0, 2.0]}))


def test_asking_for_a_truth_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no truth to write"):
        small().to_polars(truth=True)
    with pytest.raises(InputError, match="no truth to write"):
        small().write(tmp_path / "a.csv", truth=True)
    assert list(tmp_path.iterdir()) == []


# --- a cohort does not change ---


@pytest.mark.parametrize("name", ["truth", "name", "notes", "decision", "_decision", "new"])
def test_attributes_cannot_be_set_or_deleted(cohort: Cohort, name: str) -> None:
    with pytest.raises(AttributeError, match="cannot assign"):
        setattr(cohort, name, None)
    with pytest.raises(AttributeError, match="cannot delete"):
        delattr(cohort, name)


def test_arrays_are_read_only(cohort: Cohort) -> None:
    truth = truth_of(cohort)
    for array in (cohort.decision, cohort.observed()[1], truth.eligible, truth.p_high, truth.group):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        truth.eligible = np.array([True])  # type: ignore[misc]


def test_edits_of_what_it_hands_out_do_not_reach_it(cohort: Cohort) -> None:
    age = cohort.covariates["age"][0]
    X, _, physician = cohort.observed()
    X[0, "age"] = -1.0
    X.drop_in_place("hdl")
    X.columns = [f"renamed_{name}" for name in X.columns]
    physician[0] = "P99"
    assert cohort.covariates["age"][0] == age
    assert cohort.covariate_names == tuple(FILE_COLUMNS[:9])
    assert "P99" not in cohort.physician.to_list()


def test_edits_of_what_it_was_made_of_do_not_reach_it() -> None:
    table, decision = pl.DataFrame({"age": [50.0, 61.0]}), np.array([0, 1], dtype=np.int8)
    eligible = np.array([True, False])
    truth = Truth(eligible, np.array([0.9, 0.9]), np.array([0.1, 0.1]), np.array([1, 1], np.int16))
    made = small(covariates=table, decision=decision, truth=truth)
    table[0, "age"] = -1.0
    decision[0] = 1
    eligible[0] = False
    assert made.covariates["age"].to_list() == [50.0, 61.0]
    assert made.decision.tolist() == [0, 1]
    assert truth_of(made).eligible.tolist() == [True, False]


def test_copies_and_pickles_are_the_same_cohort(cohort: Cohort) -> None:
    for other in (copy.copy(cohort), copy.deepcopy(cohort), pickle.loads(pickle.dumps(cohort))):
        assert_same(cohort, other, truth=True)
        assert repr(other) == repr(cohort)


# --- to and from tables ---


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("kind", ["cohort", "continuum"])
@pytest.mark.parametrize("way", ["polars", "pandas", "parquet", "csv", "CSV"])
def test_round_trips(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, way: str, truth: bool
) -> None:
    cohort: Cohort = request.getfixturevalue(kind)
    if way == "polars":
        other = Cohort.from_polars(cohort.to_polars(truth=truth))
    elif way == "pandas":
        other = Cohort.from_pandas(cohort.to_pandas(truth=truth))
    else:
        cohort.write(tmp_path / f"a.{way}", truth=truth)
        assert [path.name for path in tmp_path.iterdir()] == [f"a.{way}"]
        other = Cohort.read(tmp_path / f"a.{way}")
        assert other.name == "a"
    assert_same(cohort, other, truth=truth)


tables = st.integers(1, 12).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "age": st.lists(
                st.floats(allow_nan=False, allow_infinity=False), min_size=n, max_size=n
            ),
            "flag": st.lists(st.none() | st.booleans(), min_size=n, max_size=n),
            "decision": st.lists(st.integers(0, 1), min_size=n, max_size=n),
            "physician": st.lists(
                st.text(
                    st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=5
                ).filter(lambda name: name.strip() != "")
                | st.integers(0, 99).map(lambda number: f"{number:03d}"),
                min_size=n,
                max_size=n,
            ),
        }
    )
)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(columns=tables)
def test_any_cohort_comes_back_from_a_file(
    tmp_path: Path, columns: dict[str, list[Any]], suffix: str
) -> None:
    schema = {"age": pl.Float64, "flag": pl.Boolean, "decision": pl.Int8, "physician": pl.String}
    table = pl.DataFrame(columns, schema=schema)
    if table["flag"].null_count() == table.height:
        table = table.drop("flag")  # a CSV file cannot say the type of nothing
    cohort = Cohort.from_polars(table)
    cohort.write(tmp_path / f"a.{suffix}")
    assert_same(cohort, Cohort.read(tmp_path / f"a.{suffix}"), truth=False)


def test_names_made_of_digits_stay_names(tmp_path: Path) -> None:
    small(physician=["007", "010"]).write(tmp_path / "a.csv")
    assert Cohort.read(tmp_path / "a.csv").physician.to_list() == ["007", "010"]


def test_types_are_read_from_the_whole_file(tmp_path: Path) -> None:
    n = 300
    lab = [None] * (n - 1) + [1.5]
    table = pl.DataFrame({"lab": lab, "decision": [0, 1] * (n // 2), "physician": ["A"] * n})
    table.write_csv(tmp_path / "a.csv")
    assert Cohort.read(tmp_path / "a.csv").covariates["lab"][-1] == 1.5


@pytest.mark.parametrize("absent", ["physician", "decision"])
def test_a_table_without_a_needed_column_is_refused(cohort: Cohort, absent: str) -> None:
    with pytest.raises(InputError, match=f"column '{absent}' is missing"):
        Cohort.from_polars(cohort.to_polars().drop(absent))


@pytest.mark.parametrize("absent", ["eligible", "p_high", "p_low", "group"])
def test_part_of_a_truth_is_refused(cohort: Cohort, tmp_path: Path, absent: str) -> None:
    table = cohort.to_polars(truth=True).drop(absent)
    for suffix, write in (("parquet", table.write_parquet), ("csv", table.write_csv)):
        file = tmp_path / f"a.{suffix}"
        write(file)
        with pytest.raises(InputError, match=f"part of a truth .* but not {absent}"):
            Cohort.read(file)


def test_d_star_alone_is_part_of_a_truth(cohort: Cohort) -> None:
    table = cohort.to_polars().with_columns(d_star=pl.lit(0.5))
    with pytest.raises(InputError, match="part of a truth"):
        Cohort.from_polars(table)


def test_d_star_may_be_left_out(cohort: Cohort) -> None:
    table = cohort.to_polars(truth=True)
    assert_same(cohort, Cohort.from_polars(table.drop("d_star")), truth=True)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("eligible", [True, None], "column 'eligible' is missing in row 1"),
        ("eligible", ["yes", "no"], "column 'eligible' is String, not Boolean"),
        ("p_high", [0.5, None], "column 'p_high' is missing in row 1"),
        ("p_high", ["a", "b"], "column 'p_high' is String, not Float64"),
        ("p_low", [0.5, 1.5], "column 'p_low' has a value outside 0 to 1"),
        ("p_low", [0.5, float("nan")], "column 'p_low' has a value outside 0 to 1"),
        ("group", [1, 70_000], "column 'group' is Int64, not Int16"),
    ],
)
def test_a_truth_that_cannot_be_is_refused(column: str, values: list[Any], message: str) -> None:
    table = pl.DataFrame(
        {
            "age": [50.0, 61.0],
            "physician": ["Ada", "Ben"],
            "decision": [0, 1],
            "eligible": [True, False],
            "p_high": [0.9, 0.9],
            "p_low": [0.1, 0.1],
            "group": [1, 1],
        }
    ).with_columns(pl.Series(column, values))
    with pytest.raises(InputError, match=message):
        Cohort.from_polars(table)


@pytest.mark.parametrize("name", ["a.xlsx", "a", ".csv", "a.parquet.gz"])
def test_unknown_formats_are_refused(cohort: Cohort, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"unknown format .*end the name in \.parquet or \.csv"):
        cohort.write(tmp_path / name)
    with pytest.raises(InputError, match="unknown format"):
        Cohort.read(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Cohort.read(tmp_path / "absent.csv")
    for name in ("a.parquet", "a.csv"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputError, match=f"is not a readable {name[2:]} table"):
            Cohort.read(tmp_path / name)


def test_an_interrupted_write_leaves_nothing(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: pl.DataFrame, file: Path) -> None:
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cohort.write(tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


# --- it validates itself ---


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"decision": [0, 2]}, "column 'decision' has .*2.* in row 1; it takes 0 and 1 only"),
        ({"decision": ["no", "yes"]}, "it takes 0 and 1 only"),
        ({"decision": [0, None]}, "column 'decision' is missing in row 1"),
        ({"decision": [0.0, float("nan")]}, "column 'decision' is missing in row 1"),
        ({"decision": pd.Series([0, pd.NA], dtype="Int64")}, "'decision' is missing in row 1"),
        ({"physician": ["Ada", None]}, "column 'physician' is missing in row 1"),
        ({"decision": [0, 1, 1]}, "decision has 3 entries for 2 patients"),
        ({"physician": ["Ada"]}, "physician has 1 entries for 2 patients"),
        ({"covariates": pl.DataFrame({"sex": ["m", "f"]})}, "covariate 'sex' is String"),
    ],
)
def test_bad_parts_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        small(**other)


def test_a_truth_of_another_length_is_refused() -> None:
    three = Truth(np.ones(3, bool), np.ones(3), np.ones(3), np.ones(3, np.int16))
    with pytest.raises(InputError, match="truth has 3 entries for 2 patients"):
        small(truth=three)
    with pytest.raises(InputError, match="'p_low' and 'eligible' differ in length"):
        Truth(np.ones(3, bool), np.ones(3), np.ones(2), np.ones(3, np.int16))


@pytest.mark.parametrize("decision", [[True, False], np.array([1.0, 0.0]), pl.Series([1, 0])])
def test_decisions_of_any_binary_kind(decision: Any) -> None:
    assert small(decision=decision).decision.tolist() == [1, 0]


def test_physicians_may_be_numbers() -> None:
    assert small(physician=[7, 8]).physician.to_list() == ["7", "8"]
    assert small(physician=pl.Series(["a", "b"], dtype=pl.Categorical)).n_physicians == 2


def test_some_of_the_patients(cohort: Cohort) -> None:
    rows = [5, 2, 2]
    taken = cohort.take(rows)
    assert taken.to_polars(truth=True).equals(cohort.to_polars(truth=True)[rows])
    assert small().take([1]).truth is None


# --- in words ---


def test_prints_itself_in_words(cohort: Cohort) -> None:
    lines = repr(cohort).splitlines()
    sizes = cohort.panel_sizes["n_patients"].to_list()
    assert lines[0] == (
        f"score2: 1,000 patients of 10 physicians ({min(sizes)} to {max(sizes)} each)"
    )
    assert lines[1].startswith("9 covariates: age, hba1c, ")
    assert lines[2] == f"decision: {100 * cohort.decision.mean():.1f} % decided for"
    assert lines[3].startswith(
        f"truth: {100 * truth_of(cohort).share_eligible:.1f} % eligible; SCORE2"
    )


def test_prints_a_cohort_read_from_a_file(cohort: Cohort, tmp_path: Path) -> None:
    cohort.write(tmp_path / "a.parquet", truth=True)
    assert repr(Cohort.read(tmp_path / "a.parquet")).endswith("% eligible")


def test_an_empty_cohort_is_one() -> None:
    nobody = Cohort(pl.DataFrame({"age": []}, schema={"age": pl.Float64}), [], [])
    assert "no patients" in repr(nobody)
    assert nobody.n_physicians == 0
    assert nobody.panel_sizes.height == 0
    none = Truth(np.ones(0, bool), np.ones(0), np.ones(0), np.ones(0, np.int16))
    assert "no patients" in repr(Cohort(nobody.covariates, [], [], none))
