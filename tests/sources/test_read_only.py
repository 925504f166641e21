"""A query reads its database and does nothing else, by the database's own means."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from intravar import InputError
from intravar.sources import read_source
from postgres import server, write_table

TABLE = pl.DataFrame({"doctor": ["a", "b"], "drug": [0, 1]})


def refused(source: str, query: str) -> str:
    with pytest.raises(InputError) as met:
        read_source(source, query=query)
    return str(met.value)


# --- SQLite ---


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    file = tmp_path / "t.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (doctor, drug)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", TABLE.rows())
    connection.close()
    return file


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TEMP TABLE u AS SELECT 1",
        "INSERT INTO t VALUES (1, 1) RETURNING doctor, drug",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "VACUUM",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = DELETE",
        "SELECT 1, 2; DROP TABLE t",
        "COMMIT; DROP TABLE t",
        "SELECT load_extension('evil'), 1",
    ],
)
def test_sqlite_is_only_read(lite: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lite.parent)
    before = lite.read_bytes()
    words = refused(str(lite), query)
    assert words.startswith("the query is refused"), words
    assert words.endswith("it may read this database and nothing else; give one SELECT")
    assert lite.read_bytes() == before
    assert [entry.name for entry in lite.parent.iterdir()] == ["t.db"]


def test_sqlite_queries_may_compute(lite: Path) -> None:
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) "
        "SELECT upper(doctor) AS d, count(*) OVER () AS k, i FROM t, n"
    )
    assert read_source(lite, query=query).table.height == 6


def test_a_locked_or_damaged_sqlite_file(lite: Path) -> None:
    holder = sqlite3.connect(lite, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(InputError, match="is locked by another program; close it there"):
            read_source(lite)
    finally:
        holder.close()
    data = bytearray(lite.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    lite.write_bytes(data)
    with pytest.raises(InputError, match="is not a whole SQLite file"):
        read_source(lite)
    lite.write_bytes(b"SQLite format 3\x00" + b"x" * 50)
    with pytest.raises(InputError, match="is not a whole SQLite file"):
        read_source(lite, query="SELECT 1 AS a, 2 AS b FROM t")


# --- DuckDB ---


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS doctor, 0 AS drug")
        connection.execute("CREATE SEQUENCE s")
    return file


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE t",
        "COPY t TO 'other.csv'",
        "COPY (SELECT 1) TO 'other.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'other'",
        "SET enable_external_access = true",
        "CREATE TEMP TABLE u AS SELECT 1",
        "SELECT 1, 2; SELECT 3, 4",
        "SELECT 1, 2; COPY t TO 'other.csv'",
        "SELECT nextval('s'), 1",
        "SELECT * FROM read_text('t.duckdb')",
        "SELECT * FROM 't.csv'",
        "SELECT * FROM glob('*')",
        "SELECT * FROM TABLE",
    ],
)
def test_duckdb_is_only_read(duck: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(duck.parent)
    before = duck.read_bytes()
    assert refused(str(duck), query).startswith(("the query is refused", "the query failed"))
    assert duck.read_bytes() == before
    assert [entry.name for entry in duck.parent.iterdir()] == ["t.duckdb"]


def test_variables_of_the_program_are_not_tables(duck: Path) -> None:
    assert "TABLE does not exist" in refused(str(duck), 'SELECT * FROM "TABLE"')


# --- PostgreSQL ---


#: Ways in which a query may call the volatile function `wipe` without naming it, and two roles.
OBJECTS = (
    "CREATE FUNCTION wipe(int) RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT $1'",
    "CREATE FUNCTION wipe(int, int) RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT $1'",
    "CREATE FUNCTION wipe_true(int) RETURNS bool LANGUAGE sql AS 'DELETE FROM t; SELECT true'",
    "CREATE VIEW wiping AS SELECT doctor, wipe(1) AS drug FROM t",
    "CREATE VIEW over_wiping AS SELECT doctor, drug FROM wiping",
    "CREATE VIEW reading AS SELECT doctor, drug, random() AS r FROM t",
    "CREATE OPERATOR %%% (leftarg = int, rightarg = int, function = wipe)",
    "CREATE AGGREGATE wipe_all(int) (sfunc = wipe, stype = int, initcond = '0')",
    "CREATE DOMAIN wiped AS int CHECK (wipe_true(value))",
    "CREATE DOMAIN wiped_again AS wiped",
    "CREATE TYPE pair AS (a int)",
    "CREATE FUNCTION wipe_pair(pair) RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT 1'",
    "CREATE CAST (pair AS int) WITH FUNCTION wipe_pair(pair)",
    "CREATE ROLE reader LOGIN",
    "GRANT pg_read_all_data TO reader",
    "CREATE ROLE writer LOGIN",
    "GRANT pg_read_all_data, pg_write_server_files TO writer",
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    import psycopg

    with server(tmp_path_factory.mktemp("read-only")) as found:
        write_table(found, "t", TABLE)
        with psycopg.connect(found, autocommit=True) as connection:
            connection.execute("CREATE SEQUENCE s")
            for statement in OBJECTS:
                connection.execute(statement.encode())
            connection.execute(
                "CREATE FUNCTION harmless(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1'"
            )
            connection.execute(
                "CREATE FUNCTION \"Wipe\"() RETURNS int LANGUAGE sql AS 'DELETE FROM t; SELECT 1'"
            )
        yield found


@pytest.mark.parametrize(
    "query",
    [
        "COMMIT; DROP TABLE t",
        "SELECT 1, 2; DROP TABLE t",
        "SELECT 1, 2; COMMIT; DROP TABLE t",
        "COPY t TO PROGRAM 'cat > /tmp/intravar-evil'",
        "COPY (SELECT 1) TO '/tmp/intravar-evil'",
        "DROP TABLE t",
        "DELETE FROM t RETURNING doctor, drug",
        "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
        "SELECT * INTO u FROM t",
        "SET default_transaction_read_only = off",
        "SELECT 1 AS a, set_config('transaction_read_only', 'off', false)",
        "SELECT nextval('s'), 1",
        "SELECT setval('s', 5), 1",
        'SELECT "Wipe"(), 1',
        'SELECT public."Wipe" /* now */ (), 1',
        'SELECT "pg_catalog"."lo_export"(1, \'/tmp/x\'), 1',
        "SELECT pg_terminate_backend(1), 1",
        "SELECT pg_read_file('/etc/passwd'), 1",
        "SELECT * FROM pg_ls_dir('.') AS f(x), t",
        "SELECT lo_import('/etc/passwd'), 1",
        "SELECT pg_advisory_lock(1), 2",
        "SELECT U&\"lo\\005fimport\"('/etc/passwd'), 1",
        "DO $$ BEGIN DELETE FROM t; END $$",
        "CALL nothing()",
        "NOTIFY x",
        "LOCK TABLE t",
        "SELECT * FROM t FOR UPDATE",
    ],
)
def test_postgresql_is_only_read(url: str, query: str) -> None:
    words = refused(url, query)
    assert words.startswith(("the query is refused", "the query failed")), words
    assert not Path("/tmp/intravar-evil").exists()
    assert read_source(url, table="t").table.rows() == TABLE.rows()


#: A call that writes a file on the server, in queries that a filter by regular expressions passes.
HIDDEN_CALLS = {
    "an apostrophe in a quoted name": (
        """SELECT drug AS "it's", lo_export(4711, '{file}') AS "b'c" FROM t"""
    ),
    "a line comment in a quoted name": (
        """SELECT drug AS "a--b", lo_export(4711, '{file}') AS x FROM t"""
    ),
    "a comment in a quoted name": (
        """SELECT drug AS "a/*b", lo_export(4711, '{file}') AS "c*/d" FROM t"""
    ),
    "nested comments": (
        """SELECT drug /* /* */ ' */, lo_export(4711, '{file}') AS x /* ' */ FROM t"""
    ),
    "a dollar in a name": ("""SELECT drug AS a$b$, lo_export(4711, '{file}') AS c$b$ FROM t"""),
    "escaped letters of a name": (
        """SELECT drug, U&"lo\\005fexport"(4711, '{file}') AS x FROM t"""
    ),
    "a comment before the parenthesis": (
        """SELECT drug, lo_export -- '
        (4711, '{file}') AS x FROM t"""
    ),
}


@pytest.mark.parametrize("how", HIDDEN_CALLS)
@pytest.mark.parametrize("role", ["postgres", "reader"])
def test_postgresql_writes_no_file(url: str, role: str, how: str) -> None:
    file = Path("/tmp/intravar-evil-export")
    query = HIDDEN_CALLS[how].format(file=file)

    words = refused(url.replace("postgres:@", f"{role}:@"), query)

    assert words.startswith("the query is refused: the function 'lo_export' may change"), words
    assert not file.exists()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT doctor, drug::int %%% 1 AS x FROM t",
        "SELECT doctor, wipe_all(drug::int) AS x FROM t GROUP BY doctor",
        "SELECT doctor, wipe_all(drug::int) OVER () AS x FROM t",
        "SELECT doctor, drug::int::wiped AS x FROM t",
        "SELECT doctor, drug::int::wiped_again AS x FROM t",
        "SELECT doctor, ROW(1)::pair::int AS x FROM t",
        "SELECT doctor, drug FROM wiping",
        "SELECT doctor, drug FROM over_wiping",
        "SELECT doctor, drug FROM t WHERE EXISTS (SELECT FROM over_wiping)",
        "SELECT doctor, drug FROM t ORDER BY wipe(1)",
        "SELECT doctor, drug FROM t JOIN LATERAL wipe(1) AS w ON true",
        "WITH w AS (SELECT wipe(1) AS x) SELECT doctor, x FROM t, w",
        "SELECT doctor, (SELECT max(wipe(i)) FROM generate_series(1, 2) AS i) AS x FROM t",
        "SELECT doctor, CASE WHEN drug = 5 THEN wipe(1) END AS x FROM t",
        "SELECT doctor, table_to_xml('wiping', true, true, '') AS x FROM t",
        "SELECT doctor, query_to_xml('SELECT wipe(1)', true, true, '') AS x FROM t",
        "SELECT doctor, set_config('role', 'postgres', false) AS x FROM t",
    ],
)
def test_postgresql_runs_no_function_that_is_not_named(url: str, query: str) -> None:
    words = refused(url, query)

    assert words.startswith("the query is refused: the function "), words
    assert read_source(url, table="t").table.rows() == TABLE.rows()


def test_a_view_that_calls_a_volatile_function_is_not_read(url: str) -> None:
    with pytest.raises(InputError, match="the function 'wipe' may change something"):
        read_source(url, table="over_wiping")


def test_a_view_that_draws_random_numbers_is_read(url: str) -> None:
    assert read_source(url, table="reading").table.height == TABLE.height


def test_a_role_that_may_write_files_may_name_a_table_and_run_no_query(url: str) -> None:
    writer = url.replace("postgres:@", "writer:@")

    assert read_source(writer, table="t").table.rows() == TABLE.rows()
    with pytest.raises(InputError, match="the role 'writer' may reach files or programs"):
        read_source(writer, query="SELECT doctor, drug FROM t")


def test_a_superuser_has_no_rights_to_files_in_the_session(url: str) -> None:
    from intravar.sources.databases import PostgreSQL

    database = PostgreSQL(url)
    (rights,) = database._connection.execute(
        "SELECT has_function_privilege('lo_export(oid, text)', 'execute')"
    ).fetchone()
    database.close()

    assert rights is False


def test_row_policies_do_not_leave_rows_out_silently(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE guarded AS SELECT * FROM t")
        connection.execute("ALTER TABLE guarded ENABLE ROW LEVEL SECURITY")

    with pytest.raises(InputError, match="row-level security"):
        read_source(url, table="guarded")


def test_nothing_is_read_where_the_server_does_not_report_its_analysis(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setattr(psycopg.Connection, "add_notice_handler", lambda *_: None)
    monkeypatch.setattr(psycopg.Connection, "remove_notice_handler", lambda *_: None)

    assert "does not report what the query would run" in refused(url, "SELECT * FROM t")


def test_postgresql_queries_may_compute(url: str) -> None:
    query = """
        WITH u AS (SELECT doctor, drug, random() AS r FROM t) -- nextval('s')
        SELECT upper(doctor) AS doctor, count(*) OVER () AS n, harmless(1) AS h, '50%' AS p,
               'lo_export(' AS word, now() > clock_timestamp() AS late
        FROM u WHERE doctor LIKE '%' ;
    """
    found = read_source(url, query=query, as_text=["p"]).table
    assert found.drop("late").rows() == [
        ("A", 2, 1, "50%", "lo_export("),
        ("B", 2, 1, "50%", "lo_export("),
    ]


def test_what_the_driver_says_holds_no_password(url: str) -> None:
    for password in ("se?cret", "se#cret", "s%3Acr%40et"):
        wrong = url.replace("postgres:@", f"nobody:{password}@")
        with pytest.raises(InputError) as met:
            read_source(wrong, table="t")
        assert "cr" not in str(met.value).replace("scram", ""), met.value
    for broken in ("postgresql://[bad", "postgresql://ann:secret@host:port/db"):
        with pytest.raises(InputError, match="is not understood; write postgresql") as met:
            read_source(broken, table="t")
        assert "secret" not in str(met.value)
