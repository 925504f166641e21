"""Which patients are meant: one meaning from every source, and never code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intravar
from every_source import WRITERS, as_postgresql
from intravar import InputError, Request
from intravar.sources import read_source
from intravar.sources.pushdown import keeping
from intravar.sources.selection import belongs
from intravar.where import (
    Combined,
    Compared,
    IsMissing,
    Negated,
    OneOf,
    Population,
    columns_of,
    parse_population,
)
from postgres import server
from reference.population import holds

pytestmark = pytest.mark.usefixtures("learned_once")

NUMBERS = st.sampled_from([0, 1, 60, 75, 75.5, -3])
TEXTS = st.sampled_from(["F", "M", "it's", 'a "b"', "F "])
NUMBERS_COMPARED = st.builds(
    Compared, st.just("age"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS
)
TEXTS_COMPARED = st.builds(Compared, st.just("sex"), st.sampled_from(["=", "!="]), TEXTS)
LEAVES = st.one_of(
    NUMBERS_COMPARED,
    TEXTS_COMPARED,
    st.builds(OneOf, st.just("age"), st.lists(NUMBERS, min_size=1, max_size=3).map(tuple)),
    st.builds(IsMissing, st.sampled_from(["age", "sex"])),
)
EXPRESSIONS: st.SearchStrategy[Population] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Negated, inner),
        st.builds(
            Combined,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    ),
    max_leaves=6,
)
PATIENTS = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.one_of(st.none(), st.sampled_from([0.0, 1.0, 59.0, 60.0, 75.0, 75.5, 90.0])),
            "sex": st.one_of(st.none(), st.sampled_from(["F", "M", "it's", 'a "b"'])),
        }
    ),
    max_size=12,
)
SCHEMA = {"age": pl.Float64, "sex": pl.String}


def written(population: Population) -> str:
    """Write an expression as a user would."""
    if isinstance(population, Combined):
        return "(" + f" {population.word} ".join(written(part) for part in population.parts) + ")"
    if isinstance(population, Negated):
        return f"not {written(population.part)}"
    if isinstance(population, IsMissing):
        return f'"{population.column}" is missing'
    if isinstance(population, OneOf):
        return f"{population.column} in ({', '.join(_value(value) for value in population.values)})"
    return f"{population.column} {population.operator} {_value(population.value)}"


def _value(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _clean(population: Population) -> Population:
    """The twin compares as is; spaces around a text have no meaning in a table."""
    if isinstance(population, Compared) and isinstance(population.value, str):
        return Compared(population.column, population.operator, population.value.strip())
    if isinstance(population, Negated):
        return Negated(_clean(population.part))
    if isinstance(population, Combined):
        return Combined(population.word, tuple(_clean(part) for part in population.parts))
    return population


@given(EXPRESSIONS, PATIENTS)
def test_chosen_as_by_the_literal_twin(
    population: Population, patients: list[dict[str, Any]]
) -> None:
    table = pl.DataFrame(patients, schema=SCHEMA)
    wanted = [holds(_clean(population), patient) is True for patient in patients]
    assert belongs(table, population).to_list() == wanted


@given(EXPRESSIONS)
def test_written_and_read_again(population: Population) -> None:
    assert parse_population(written(population)) == population
    assert set(columns_of(population)) <= {"age", "sex"}


@settings(deadline=None)
@given(EXPRESSIONS, PATIENTS)
def test_what_is_pushed_down_loses_nobody(
    population: Population, patients: list[dict[str, Any]]
) -> None:
    import duckdb

    table = pl.DataFrame(patients, schema=SCHEMA)
    condition = keeping(population, {"age": "number", "sex": "text"})
    with duckdb.connect() as connection:
        connection.register("patients", table.with_row_index("row").to_arrow())
        kept = connection.execute(
            f"SELECT row FROM patients WHERE {condition or 'true'}"
        ).fetchall()
    wanted = [
        row for row, patient in enumerate(patients) if holds(_clean(population), patient) is True
    ]
    assert set(wanted) <= {row for (row,) in kept}


def test_words_that_people_write() -> None:
    assert parse_population("75 <= age") == Compared("age", ">=", 75)
    assert parse_population('"visit date" >= "2024-03-01"').column == "visit date"  # type: ignore[union-attr]
    assert parse_population("a == 1 AND b <> 2").word == "and"  # type: ignore[union-attr]
    assert parse_population("age not between 60 and 75") == Negated(
        Combined("and", (Compared("age", ">=", 60), Compared("age", "<=", 75)))
    )
    assert parse_population("x is not null") == Negated(IsMissing("x"))
    assert parse_population("a = 1 or b = 2 and c = 3").parts[1].word == "and"  # type: ignore[union-attr]


HOSTILE = (
    "__import__('os').system('touch /tmp/owned')",
    "age >= 75; DROP TABLE patients",
    "age >= 75 -- and nothing else",
    "age >= 75 /* */ or 1 = 1",
    "open('/etc/passwd') = 1",
    "age in (SELECT age FROM secrets)",
    "age = 75 UNION SELECT 1",
    "exec = lambda: 0",
    "read_csv('/etc/passwd') = ''",
    "age >= 75 and pg_sleep(10) = 1",
    "(" * 10_000,
    "not " * 1_000 + "age = 1",
    "age = 1 or " * 1_000,
    "",
    "age",
    "age = ",
    "= 75",
    "age = 'open",
    "age in ()",
    "age = 75 sex = 'F'",
    "age > 1e999999",
)


@pytest.mark.parametrize("expression", HOSTILE[:-1], ids=lambda text: text[:30] or "empty")
def test_hostile_expressions_are_refused(expression: str) -> None:
    with pytest.raises(InputError, match="where"):
        Request(physician="p", decision="d", where=expression)


def test_a_number_beyond_all_is_larger_than_all() -> None:
    table = pl.DataFrame({"age": [80, None], "sex": ["F", "F"]})
    assert belongs(table, parse_population(HOSTILE[-1])).to_list() == [False, False]
    assert belongs(table, parse_population("age < 1" + "0" * 40)).to_list() == [True, False]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("agee > 1", "did you mean 'age'"),
        ("sex > 'F'", "texts have no order"),
        ("sex = 1", "it holds texts"),
        ("age = 'old'", "it holds numbers"),
        ("age = '2024-01-01'", "it holds numbers"),
        ("seen = 5", "it holds dates"),
        ("smoker = 'yes'", "it holds true and false"),
        ("took > 5", "duration"),
        ("age > 1000", "no patient"),
    ],
)
def test_what_cannot_be_compared_is_said(expression: str, words: str) -> None:
    from datetime import date, timedelta

    table = pl.DataFrame(
        {
            "age": [80, 60],
            "sex": ["F", "M"],
            "seen": [date(2024, 1, 1), date(2024, 6, 1)],
            "smoker": [True, False],
            "took": [timedelta(1), timedelta(2)],
        }
    )
    with pytest.raises(InputError, match=f"(?i){words}"):
        read_source(table, where=expression)


def test_the_decision_chooses_nobody() -> None:
    with pytest.raises(InputError, match="which is the decision"):
        Request(physician="p", decision="statin", where="age > 3 or statin = 1")


# --- from every source ---

TABLE = pl.DataFrame(
    {
        "doctor": ["007", "8", "8", "007", "8", "007"] * 20,
        "statin": [1, 0, 1, 0, 0, 1] * 20,
        "age": [80, 75, 60, None, 90, 74] * 20,
        "sex": ["F", "M", "F", "F", None, "M"] * 20,
        "ldl": [3.1, 2.0, 4.4, 5.0, 1.1, 2.5] * 20,
        "smoker": [True, False, None, True, False, False] * 20,
        "row": list(range(120)),
    }
).with_columns(seen=pl.date(2024, 1, 1) + pl.duration(days=pl.col("row")))
POPULATIONS = {
    "age >= 75 and sex = 'F'": (pl.col("age") >= 75) & (pl.col("sex") == "F"),
    "not age < 75 or ldl > 4.9": ~(pl.col("age") < 75) | (pl.col("ldl") > 4.9),
    "seen between '2024-01-10' and '2024-03-01'": pl.col("seen").is_between(
        pl.date(2024, 1, 10), pl.date(2024, 3, 1)
    ),
    "smoker = true or age is missing": pl.col("smoker") | pl.col("age").is_null(),
    "doctor = '007' and row in (0, 3, 5, 6)": (pl.col("doctor") == "007")
    & pl.col("row").is_in([0, 3, 5, 6]),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.mark.parametrize("name", [*WRITERS, "PostgreSQL"])
def test_same_as_a_table_filtered_before(name: str, database: str, tmp_path: Path) -> None:
    write = as_postgresql(database) if name == "PostgreSQL" else WRITERS[name]
    source, reading = write(TABLE, tmp_path)
    for expression, meaning in POPULATIONS.items():
        found = read_source(source, as_text=["doctor"], where=expression, **reading)
        before = TABLE.filter(meaning)
        wanted = read_source(before, as_text=["doctor"]).table
        chosen = found.table.sort("row").select(wanted.columns)
        assert found.n_outside == TABLE.height - before.height
        assert chosen.equals(wanted.sort("row")), (expression, chosen, wanted)
        if found.rows is not None:
            assert TABLE["row"].to_numpy()[found.rows].tolist() == found.table["row"].to_list()


def test_measured_to_the_bit_as_a_table_filtered_before() -> None:
    table = intravar.simulate("score2", n_patients=3_000, n_physicians=6, seed=3).to_polars()
    asked = {"physician": "physician", "decision": "decision", "method": "euclidean"}
    chosen = intravar.measure(table, where="age >= 60 and smoker = 1", **asked)
    before = intravar.measure(
        table.filter((pl.col("age") >= 60) & (pl.col("smoker") == 1)), **asked
    )
    assert chosen.physicians.equals(before.physicians)
    assert np.array_equal(
        table["age"].to_numpy()[chosen.check.prepared.rows], chosen.check.prepared.raw["age"]
    )
    outside = table.height - before.check.prepared.n_rows
    assert chosen.check.prepared.dropped["they do not belong to the population"] == outside


def test_a_database_leaves_out_what_cannot_belong(tmp_path: Path) -> None:
    source, _ = WRITERS["DuckDB"](TABLE, tmp_path)
    pushed = read_source(source, where="age >= 75")
    here = read_source(source, where="not age < 75")
    assert pushed.table.equals(here.table)
    assert pushed.rows is None
    assert here.rows is not None


def test_a_query_that_ends_in_a_comment(tmp_path: Path) -> None:
    source, _ = WRITERS["SQLite"](TABLE, tmp_path)
    found = read_source(source, query="SELECT * FROM t -- all of it", where="age >= 75")
    assert found.table["age"].min() == 75
