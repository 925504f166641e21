"""Which patients are meant: one meaning from every source, and never code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import intravar
from every_source import WRITERS, as_postgresql
from intravar import InputError, Request
from intravar.sources import read_source
from intravar.sources.plain import plain_table
from intravar.sources.reading import ROW, belongs, population_of, scan_source
from intravar.where import columns_of, read_population
from postgres import server
from reference.population import Combined, Compared, IsMissing, Negated, Population, holds

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
    assert belongs(table, written(population)).to_list() == wanted


class Said(str):
    """What was read, with every part in parentheses."""

    def __and__(self, other: str) -> "Said":
        return Said(f"({self} and {other})")

    def __or__(self, other: str) -> "Said":
        return Said(f"({self} or {other})")

    def __invert__(self) -> "Said":
        return Said(f"(not {self})")


def said(text: str) -> str:
    return str(read_population(text, lambda name, sign, value: Said(f"{name} {sign} {value!r}")))


def _in_pairs(population: Population) -> str:
    """Write an expression with every part in parentheses."""
    if isinstance(population, Combined):
        text, *others = map(_in_pairs, population.parts)
        for other in others:
            text = f"({text} {population.word} {other})"
        return text
    if isinstance(population, Negated):
        return f"(not {_in_pairs(population.part)})"
    if isinstance(population, IsMissing):
        return f"{population.column} is missing ''"
    return f"{population.column} {population.operator} {population.value!r}"


@given(EXPRESSIONS)
def test_written_and_read_again(population: Population) -> None:
    assert said(written(population)) == _in_pairs(population)
    assert set(columns_of(written(population))) <= {"age", "sex"}


def test_words_that_people_write() -> None:
    assert said("75 <= age") == "age >= 75"
    assert said('"visit date" >= "2024-03-01"') == "visit date >= '2024-03-01'"
    assert said("a == 1 AND b <> 2") == "(a = 1 and b != 2)"
    assert said("age not between 60 and 75") == "(not (age >= 60 and age <= 75))"
    assert said("age in (60, '75')") == said("age = 60 or age = '75'") == "(age = 60 or age = '75')"
    assert said("age not in (60)") == "(not age = 60)"
    assert said("x is not null") == "(not x is missing '')"
    assert said("a = 1 or b = 2 and c = 3") == "(a = 1 or (b = 2 and c = 3))"


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
    assert belongs(table, HOSTILE[-1]).to_list() == [False, False]
    assert belongs(table, "age < 1" + "0" * 40).to_list() == [True, False]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("agee > 1", "did you mean 'age'"),
        ("agee > 1 and doubtful > 5", "did you mean 'age'"),
        ("sex > 'F'", "texts have no order"),
        ("sex = 1", "it holds texts"),
        ("age = 'old'", "it holds numbers"),
        ("age = '2024-01-01'", "it holds numbers"),
        ("seen = 5", "it holds dates"),
        ("smoker = 'yes'", "it holds true and false"),
        ("took > 5", "duration"),
        ("age > 1000", "no row of"),
        ("unknown = 'x'", "no row of"),
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
            "doubtful": ["01/02/2020", "03/04/2020"],
            "unknown": pl.Series([None, None], dtype=pl.Float64),
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
        assert found.table.height == before.height
        assert chosen.equals(wanted.sort("row")), (expression, chosen, wanted)
        assert TABLE["row"].to_numpy()[found.rows].tolist() == found.table["row"].to_list()


def test_measured_to_the_bit_as_a_table_filtered_before() -> None:
    table = intravar.simulate(
        "score2", n_patients=3_000, n_physicians=6, random_state=3
    ).to_polars()
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


#: Columns of texts that other rows, or other columns, decide how to read.
AMBIGUOUS: dict[str, list[str | None]] = {
    "cost": ["5,6", "1.234", "2.500", "7", "NA"],
    "price": ["1,234", "2,500", "950", "1500", "2.5"],
    "seen": ["01/02/2024", "03/04/2024", "25/02/2024", "2/28/2024", None],
    "code": ["1", "01", "2", "1.0", "x"],
    "ward": ["K", "\u212a", "k", " K", "true"],
}
ASKED = ["cost > 2", "price < 2000", "seen >= '2024-03-01'", "code = 1", "code = '1'", "ward = 'K'"]


@st.composite
def ambiguous(draw: st.DrawFn) -> tuple[pl.DataFrame, str]:
    n = 40
    order = np.random.default_rng(draw(st.integers(0, 2**16)))
    columns = {}
    for name, pool in AMBIGUOUS.items():
        some = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=6))
        columns[name] = [some[place] for place in order.integers(0, len(some), n)]
    table = pl.DataFrame(
        {"doctor": ["007", "7"] * (n // 2), "drug": order.integers(0, 2, n), "row": range(n)}
        | {"age": order.integers(50, 70, n)}
        | columns,
        schema_overrides=dict.fromkeys(AMBIGUOUS, pl.String),
    )
    first, second = draw(st.sampled_from(["age >= 60", *ASKED])), draw(st.sampled_from(ASKED))
    return table, f"{first} {draw(st.sampled_from(['and', 'or']))} {second}"


def chosen(source: Any, where: str, **reading: Any) -> list[Any] | str:
    """Return the patients with all that was understood of them, or the words of a refusal."""
    try:
        found = read_source(source, as_text=["doctor", "drug"], where=where, **reading)
    except InputError as error:
        return re.sub(r"^no row of .* belongs", "nobody belongs", str(error))
    plain = found.table.with_columns(pl.col("doctor", "drug").cast(pl.String))
    kept = plain.select(sorted(plain.columns)).sort("row")
    return [kept.columns, *map(str, kept.iter_rows())]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(made=ambiguous())
def test_equal_tables_give_equal_patients(
    made: tuple[pl.DataFrame, str], database: str, tmp_path: Path
) -> None:
    table, where = made
    wanted = chosen(table, where)
    for name in [*WRITERS, "PostgreSQL"]:
        write = as_postgresql(database) if name == "PostgreSQL" else WRITERS[name]
        source, reading = write(table, tmp_path)
        assert chosen(source, where, **reading) == wanted, name
    assert chosen_of_large(table, where) == wanted


def chosen_of_large(table: pl.DataFrame, where: str) -> list[Any] | str:
    """Return the same where the table is gone through a piece at a time."""
    scanned = scan_source(table, Path, least=1)
    assert scanned is not None
    names = ["doctor", "drug"]
    try:
        lazy, forms = population_of(scanned, where, names)
    except InputError as error:
        return re.sub(r"^no row of .* belongs", "nobody belongs", str(error))
    plain, _ = plain_table(lazy.collect().drop(ROW), names, forms=forms)
    kept = plain.with_columns(pl.col("doctor", "drug").cast(pl.String))
    kept = kept.select(sorted(plain.columns)).sort("row")
    return [kept.columns, *map(str, kept.iter_rows())]


def test_all_rows_tell_how_a_column_is_written(tmp_path: Path) -> None:
    """Costs with a decimal comma among the young alone: 1.234 of the old is 1234 everywhere."""
    ages = list(range(40, 80)) * 5
    costs = ["5,6" if age < 60 else ("1.234", "2.500")[age % 2] for age in ages]
    table = pl.DataFrame(
        {"doctor": ["a", "b"] * 100, "drug": [0, 1] * 100, "age": ages, "cost": costs}
    )
    for name in ("CSV", "DuckDB", "SQLite", "Parquet"):
        source, reading = WRITERS[name](table, tmp_path)
        found = read_source(source, where="age >= 60 and cost > 2", **reading).table
        assert (found.height, set(found["cost"])) == (100, {1234, 2500}), name


@pytest.mark.parametrize(
    "costs", [["950", "1.234", "8.995"], ["1.234", "8.995"], ["950", "1,234", "8,995"]]
)
def test_thousands_or_decimals_are_asked_about(costs: list[str]) -> None:
    table = pl.DataFrame(
        {"doctor": ["a", "b", "c"] * 40, "drug": [0, 1] * 60, "age": list(range(40)) * 3}
    ).with_columns(cost=pl.Series((costs * 60)[:120]))
    with pytest.raises(InputError, match="may be 1234 or 1.234; write 1234 or 1.2340"):
        intravar.check(table, physician="doctor", decision="drug")
    with pytest.raises(InputError, match="may be 1234 or 1.234"):
        read_source(table, where="cost > 2")
    decided = table.with_columns(drug="cost")
    with pytest.raises(InputError, match=r"\(the decision\) '1[.,]234' may be 1234"):
        intravar.check(decided, physician="doctor", decision="drug", decision_positive=">=4")


def test_what_the_table_tells_is_not_asked() -> None:
    def costs(*texts: str, **others: list[str]) -> list[Any]:
        return read_source({"cost": list(texts), **others}).table["cost"].to_list()

    assert costs("950", "1.234", "8.9", age=["1", "2", "3"]) == [950, 1.234, 8.9]
    assert costs("1500", "1.234", age=["1", "2"]) == [1500, 1.234]
    # Fixed decimals beside decimal points; 950 beside 1.234 stays in doubt.
    assert costs("7.250", "1.234", age=["1.5", "2"]) == [7.25, 1.234]
    assert costs("950", "1.234", age=["1.5", "2"]) == ["950", "1.234"]
    assert costs("950", "1.234", age=["1,5", "2"]) == [950, 1234]


def test_local_dates_are_local_dates(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    hours = pd.date_range("2024-02-28", periods=6 * 24, freq="h", tz="Europe/Berlin")
    texts = pl.Series([str(hour) for hour in hours])
    objects = pd.Series(hours.to_pydatetime().tolist(), dtype=object)
    for visit in (hours, texts.str.replace(" ", "T"), objects):
        table = pd.DataFrame({"doctor": "a", "visit": visit, "row": range(len(hours))})
        found = read_source(table, where="visit >= '2024-03-01'").table
        assert found["row"].to_list() == list(range(2 * 24, 6 * 24))
        assert str(found["visit"][0]) == "2024-03-01 00:00:00"
    midnights = pd.DataFrame({"doctor": "a", "visit": hours[::24]})
    assert read_source(midnights).table["visit"].dtype == pl.Date


def test_a_query_that_ends_in_a_comment(tmp_path: Path) -> None:
    source, _ = WRITERS["SQLite"](TABLE, tmp_path)
    found = read_source(source, query="SELECT * FROM t -- all of it", where="age >= 75")
    assert found.table["age"].min() == 75
