"""What becomes of rows and columns, and that it is said."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar import InputError, check
from intravar.estimators import Observed
from intravar.preparation.check import Check
from intravar.preparation.coding import encode_with, learn_codings
from intravar.preparation.decisions import code_decision
from intravar.preparation.kinds import Column, understand
from intravar.publication.checks import check_lines, published_check

N = 240


def patients(**columns: Any) -> pl.DataFrame:
    """Make a table of three physicians with some columns of its own."""
    rows = np.arange(N)
    return pl.DataFrame(
        {
            "doctor": [f"D{row % 3}" for row in rows],
            "drug": rows // 3 % 2,
            "age": 40.0 + rows * 7 % 41,
            **columns,
        }
    )


def checked(table: pl.DataFrame, **options: Any) -> Check:
    return check(table, physician="doctor", decision="drug", **options)


def uses(found: Check) -> dict[str, str]:
    return {report.column: report.use for report in found.prepared.columns}


# --- the decision ---


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        ([0, 1], None, [0, 1]),
        ([0.0, 1.0], None, [0, 1]),
        ([False, True], None, [0, 1]),
        (["no", "Yes"], None, [0, 1]),
        (["N", "y"], None, [0, 1]),
        (["false", "TRUE"], None, [0, 1]),
        (["PTCA", "CABG"], "CABG", [0, 1]),
        ([1, 2], "2", [0, 1]),
        ([1.0, 2.0], "2", [0, 1]),
        ([3, 4, 5], ">=4", [0, 1, 1]),
        ([3, 4, 5], "< 4", [1, 0, 0]),
        (["yes", "no", None], None, [1, 0, None]),
    ],
)
def test_decisions(values: list[Any], positive: str | None, expected: list[Any]) -> None:
    assert code_decision(pl.Series("drug", values), positive)[0].to_list() == expected


def test_a_comparison_needs_numbers() -> None:
    with pytest.raises(InputError, match="has 'x' in data row 2; a comparison such as '>=4'"):
        code_decision(pl.Series("sure", ["5", "x", "1"]), ">=4")


# --- columns ---


def test_columns_are_set_aside_by_name_with_the_reason() -> None:
    table = patients(
        rownames=np.arange(1, N + 1),
        key=[f"patient {row}" for row in range(N)],
        clinic=["A"] * N,
        nothing=pl.Series([None] * N, dtype=pl.Float64),
        trait=[row % 3 for row in range(N)],
        listed=[[1, 2]] * N,
    )
    found = checked(table)
    assert found.prepared.covariates == ("age",)
    notes = {report.column: report.note for report in found.prepared.columns}
    assert notes["rownames"] == "a different whole number in every row"
    assert notes["key"] == "a different text in most rows"
    assert notes["clinic"] == "the same value in every row"
    assert notes["nothing"] == "no value in any row"
    assert notes["trait"].startswith("the same for all patients of each physician")
    assert set(uses(found).values()) == {"physician", "decision", "covariate", "set aside"}


def test_columns_by_request() -> None:
    table = patients(stay=np.arange(N) % 9, code=np.arange(N) % 5)
    found = checked(table, after=["stay"], categorical=["code"])
    assert uses(found)["stay"] == "after the decision"
    assert found.prepared.observed.names == ("age", *(f"code={n}" for n in range(5)))
    assert checked(table, covariates=["code"]).prepared.covariates == ("code",)
    with pytest.raises(InputError, match="no covariate is left"):
        checked(table, exclude=["stay", "code", "age"])
    with pytest.raises(InputError, match="column 'drug' is the decision"):
        checked(table, covariates=["drug"])


def test_dates_become_days() -> None:
    days = [date(2020, 1, 1 + row % 28) for row in range(N)]
    for column in (days, [day.isoformat() for day in days]):
        found = checked(patients(when=column), covariates=["when"])
        expected = [(day - date(1970, 1, 1)).days for day in days]
        np.testing.assert_array_equal(
            found.prepared.observed.covariates[:, 0], np.array(expected)[found.prepared.rows]
        )


def test_kinds_that_cannot_be_compared_are_refused_when_chosen() -> None:
    with pytest.raises(InputError, match="column 'listed' is List"):
        checked(patients(listed=[[row] for row in range(N)]), covariates=["listed"])
    with pytest.raises(InputError, match="column 'x' is infinite in data row 2"):
        understand(pl.Series("x", [1.0, float("inf"), 2.0]))


# --- categories ---


def test_levels_lie_equally_far_apart_and_weigh_as_one_number() -> None:
    random = np.random.default_rng(0)
    level = random.choice(["a", "b", "c", "d"], 2000, p=[0.5, 0.3, 0.15, 0.05])
    column = Column("level", "category", pl.Series("level", level))
    encoded, _, blocks = encode_with(learn_codings([column], "indicator"), [column])
    observed = Observed.of(encoded, random.integers(0, 2, 2000), ["x"] * 2000, blocks)
    z = observed.standardised
    assert np.square(z).sum(axis=1).mean() == pytest.approx(1.0)
    points = np.array([z[level == name][0] for name in "abcd"])
    apart = [np.linalg.norm(points[i] - points[j]) for i in range(4) for j in range(i)]
    np.testing.assert_allclose(apart, apart[0])


def test_two_levels_are_one_column_with_the_same_distances() -> None:
    level = np.array(["f"] * 30 + ["m"] * 70)
    sex = [Column("sex", "category", pl.Series("sex", level))]
    one, _, _ = encode_with(learn_codings(sex, "indicator"), sex)
    assert one.columns == ["sex=m"]
    both = pl.DataFrame({"f": level == "f", "m": level == "m"})
    y = [0, 1] * 50
    single = Observed.of(one, y, ["x"] * 100).standardised
    double = Observed.of(both, y, ["x"] * 100, [(0, 1)]).standardised
    assert abs(single[0] - single[-1]).sum() == pytest.approx(
        np.linalg.norm(double[0] - double[-1])
    )


def test_rare_levels_are_pooled() -> None:
    values = pl.Series("nation", ["A"] * 50 + ["B"] * 40 + ["C"] * 3 + ["D"] * 2)
    nation = [Column("nation", "category", values)]
    codings = learn_codings(nation, "indicator", smallest_level=11)
    assert encode_with(codings, nation)[0].columns == ["nation=A", "nation=B", "nation=(other)"]
    assert codings[0].n_pooled == 2


# --- missing values ---


def with_gaps() -> pl.DataFrame:
    return patients(
        lab=[None if row % 8 == 0 else float(row % 13) for row in range(N)],
        kind=[None if row % 6 == 0 else "ab"[row % 2] for row in range(N)],
    )


def test_indicator_keeps_everyone_and_marks_what_was_missing() -> None:
    found = checked(with_gaps())
    assert found.prepared.observed.n_patients == N
    assert found.prepared.observed.names == (
        "age",
        "kind=(missing)",
        "kind=a",
        "kind=b",
        "lab",
        "lab (missing)",
    )
    assert found.prepared.filled == {"lab": 30, "kind": 40}
    assert any("70 cells in 2 covariates" in line for line in check_lines(found))


def test_drop_says_what_it_cost() -> None:
    found = checked(with_gaps(), missing="drop")
    assert found.prepared.dropped == {"a covariate is missing": 60}
    assert "missing values: 60 patients with one were left out" in check_lines(found)
    assert found.prepared.observed.n_patients == N - 60
    one = [float(row % 31) if row % 2 else None for row in range(N)]
    other = [None if row % 2 else float(row % 37) for row in range(N)]
    with pytest.raises(InputError, match=r"no row is left \(240 because a covariate is missing"):
        checked(patients(one=one, other=other), missing="drop")


def test_impute_leaves_no_mark() -> None:
    found = checked(with_gaps(), missing="impute")
    assert found.prepared.observed.names == ("age", "kind=b", "lab")
    assert found.prepared.observed.n_patients == N


def test_values_missing_together_are_marked_once() -> None:
    gaps = [None if row % 8 == 0 else float(row % 13) for row in range(N)]
    found = checked(patients(one=gaps, two=[None if v is None else v * 2 + 1 for v in gaps]))
    assert found.prepared.observed.names == ("age", "one", "one (missing)", "two")


def test_rows_without_physician_or_decision_are_counted() -> None:
    table = patients().with_columns(
        doctor=pl.when(pl.int_range(N) >= 20).then("doctor"),
        drug=pl.when(pl.int_range(N) < N - 15).then("drug"),
    )
    found = checked(table)
    assert found.prepared.dropped == {
        "the {decider} is missing": 20,
        "the decision is missing": 15,
    }
    np.testing.assert_array_equal(np.sort(found.prepared.rows), np.arange(20, N - 15))


@pytest.mark.parametrize(
    "numbers",
    [
        pl.Series([2**63 + row % 5 for row in range(N)], dtype=pl.UInt64),
        pl.Series([2**60 + row % 5 for row in range(N)]),
        pl.Series([str(2**63 + row % 5) for row in range(N)]),
        pl.Series([-(2**60) - row % 5 for row in range(N)]),
    ],
    ids=["uint64", "int64", "text", "negative"],
)
def test_whole_numbers_that_floats_cannot_tell_apart_are_kept_apart(numbers: pl.Series) -> None:
    found = checked(patients().with_columns(site=numbers))
    (site,) = (each for each in found.prepared.columns if each.column == "site")
    assert (site.use, site.kind, site.n_distinct) == ("covariate", "category", 5)
    assert len([name for name in found.prepared.observed.names if name.startswith("site=")]) == 5


def test_long_whole_numbers_that_never_repeat_are_identifiers() -> None:
    numbers = pl.Series([2**60 + 7 * row for row in range(N)])
    found = checked(patients().with_columns(site=numbers))
    (site,) = (each for each in found.prepared.columns if each.column == "site")
    assert (site.use, site.kind) == ("set aside", "identifier")


# --- leaks ---


def test_leaks_are_flagged_and_kept() -> None:
    table = patients(
        stay=[(row // 3 % 2) * 4 + row % 3 for row in range(N)],
        door_to_needle=[float(row % 9) if row // 3 % 2 else None for row in range(N)],
        drug_dose=[row % 11 for row in range(N)],
        discharge_score=[row % 7 for row in range(N)],
    )
    found = checked(table)
    why = {leak.column: leak.why for leak in found.prepared.leaks}
    assert why["stay"] == "predicts the decision nearly perfectly (AUC 1.00)"
    assert why["door_to_needle"].startswith("is missing for one decision and present for the other")
    assert why["drug_dose"] == "its name contains the decision's, 'drug'"
    assert why["discharge_score"] == "its name ('discharge') suggests what came afterwards"
    assert "age" not in why
    assert set(why) <= set(found.prepared.covariates)


# --- what a check says ---


def test_small_panels_are_not_measurable_and_not_counted() -> None:
    table = patients().with_columns(
        doctor=pl.when(pl.int_range(N) < 4).then(pl.lit("few")).otherwise("doctor")
    )
    found = checked(table)
    assert "about 240 patients of 3 physicians, and 1 physician with at most 11 patients" in (
        check_lines(found)
    )
    cannot = found.panels.table.filter(pl.col("reason").is_not_null())
    assert cannot["physician"].to_list() == ["few"]
    assert published_check(found).n_patients == 240
    assert "236" not in str(published_check(found))


@given(
    st.lists(
        st.one_of(st.none(), st.text(max_size=5), st.integers(-5, 5).map(str)),
        min_size=1,
        max_size=60,
    )
)
def test_any_text_is_understood_or_refused_in_words(values: list[str | None]) -> None:
    refused = None
    try:
        found = understand(pl.Series("x", values, dtype=pl.String))
    except InputError as error:
        refused = str(error)
    assert (len(found.values) == len(values)) if refused is None else "'x'" in refused


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([timedelta(hours=at % 7) for at in range(2_500)], "a duration, in seconds"),
        ([[at % 3] for at in range(2_500)], "List(Int64) cannot be compared"),
    ],
)
def test_odd_types_are_read_alike_in_a_sample(values: list[Any], note: str) -> None:
    random, n = np.random.default_rng(0), 2_500
    known = {"doctor": random.integers(0, 5, n), "age": random.integers(20, 90, n)}
    table = pl.DataFrame({**known, "drug": random.integers(0, 2, n), "odd": values})
    notes = [
        {each.column: each.note for each in found.prepared.columns}["odd"]
        for sample in (1_000, 5_000)
        for found in [check(table, physician="doctor", decision="drug", sample=sample)]
    ]
    assert notes == [note, note]
