"""Odd files and odd types: read as they are meant, or refused in clear words."""

import gzip
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from intravar import InputError, check
from intravar.sources import Source, read_source
from intravar.sources.omop.tables import _typed
from intravar.sources.plain import plain_column
from postgres import server

HEADER = "doctor,drug,age\n"
ROWS = "".join(f"{n % 3},{n // 3 % 2},{20 + n * 7 % 37}\n" for n in range(60))
COLUMNS = {"physician": "doctor", "decision": "drug"}


def read(tmp_path: Path, data: str | bytes, name: str = "t.csv", **options: Any) -> Source:
    file = tmp_path / name
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_source(file, as_text=("doctor", "drug"), **options)


# --- text files ---


WRITTEN: dict[str, str | bytes] = {
    "plain": HEADER + ROWS,
    "byte order mark": "\ufeff" + HEADER + ROWS,
    "blank lines first": "\n\n" + HEADER + ROWS,
    "lines of Windows": (HEADER + ROWS).replace("\n", "\r\n"),
    "lines of old Macs": (HEADER + ROWS).replace("\n", "\r"),
    "separator line": "sep=;\n" + (HEADER + ROWS).replace(",", ";"),
    "unseen characters": HEADER.replace("age", "\u200bage ") + ROWS,
    "utf-16": (HEADER + ROWS).encode("utf-16"),
    "utf-32": (HEADER + ROWS).encode("utf-32"),
    "gzip": gzip.compress((HEADER + ROWS).encode()),
}


@pytest.mark.parametrize("data", WRITTEN.values(), ids=WRITTEN)
def test_one_table_in_many_files(tmp_path: Path, data: str | bytes) -> None:
    expected = read(tmp_path, HEADER + ROWS, "expected.csv").table
    assert read(tmp_path, data).table.equals(expected)


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig"])
def test_007_and_7_stay_apart(tmp_path: Path, encoding: str | None) -> None:
    for header in ("doctor,drug,age\n", 'doctor,drug,"age\nin years"\n'):
        for mark in ("", "\ufeff"):
            found = read(tmp_path, f"{mark}{header}007,0,1\n7,1,2\n", encoding=encoding)
            assert found.table["doctor"].to_list() == ["007", "7"]


def test_a_header_of_131072_characters(tmp_path: Path) -> None:
    long = "a" * 131_072
    assert read(tmp_path, f"doctor,drug,{long}\n1,1,1\n").table.columns[2] == long
    assert read(tmp_path, f"doctor,drug,age\n1,1,{long}\n").table["age"][0] == long


def test_columns_without_a_name(tmp_path: Path) -> None:
    assert read(tmp_path, ",doctor,,drug,\n1,2,3,4,5\n").table.columns == [
        "index",
        "doctor",
        "column 3",
        "drug",
        "column 5",
    ]


def test_a_title_above_the_header(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        page = book.add_worksheet("s")
        page.merge_range(0, 0, 0, 2, "Export")
        for row, line in enumerate((HEADER + ROWS).split(), start=1):
            page.write_row(row, 0, line.split(","))
    (tmp_path / "t.csv").write_text("Export,,\n" + HEADER + ROWS)
    for name in ("t.xlsx", "t.csv"):
        with pytest.raises(InputError, match="has Export, column 2, column 3; is there a title"):
            check(tmp_path / name, **COLUMNS)
    with pytest.raises(InputError, match=r"in line 2 where .* or delete what stands above the"):
        read(tmp_path, "Export\n" + HEADER + ROWS)


def test_names_in_braces_are_no_json(tmp_path: Path) -> None:
    assert read(tmp_path, "{doctor},drug\n1,1\n").table.columns == ["{doctor}", "drug"]
    for text in ('{"a": 1}', "{\n}", "[{}]"):
        with pytest.raises(InputError, match="is JSON, not a table"):
            read(tmp_path, text)


def test_lines_that_end_early_are_said(tmp_path: Path) -> None:
    for quote in ("", '"'):
        found = read(tmp_path, f"doctor,drug,age\n{quote}a{quote},1,2\nb,1\nc\n")
        assert found.notes == (
            "lines that end early (the first is line 3): the cells they lack are missing",
        )
        assert found.table["age"].to_list() == [2, None, None]


@pytest.mark.parametrize(
    "header", ["doctor,drug\tgiven\tnow,age", "doctor;drug|or|not;age", '"doctor;x";drug, a, b;age']
)
def test_names_may_hold_other_separators_than_rows(tmp_path: Path, header: str) -> None:
    separator = ";" if ";" in header else ","
    found = read(tmp_path, f"{header}\n" + ROWS.replace(",", separator)).table
    assert found.shape == (60, 3)


@pytest.mark.parametrize("separator", ["é", '"', "\n", "::", "a", "\u2028"])
def test_what_cannot_separate(tmp_path: Path, separator: str) -> None:
    with pytest.raises(InputError, match="^separator .* try ',' ';' '|' or tab"):
        read(tmp_path, HEADER + ROWS, separator=separator)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (HEADER + ROWS + '"x,1,5\ny,0,6\n', "has a quotation mark in line 62 that is not closed"),
        (HEADER + ROWS.encode("utf-16-le").decode("latin-1"), "name its encoding with encoding"),
        (b"\xef\xbb\xbf" + b"a,b\n1,2\n", "is marked as UTF-8; read it without encoding"),
        (b"<TABLE><tr>", "is a web page, not a table"),
        (b"BZh91AY&SY", "is packed with bzip2, not a table"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0) + b"junk", "is not a whole gzip file"),
    ],
)
def test_words_for_odd_files(tmp_path: Path, data: str | bytes, words: str) -> None:
    told = {"encoding": "cp1252"} if "marked" in words else {}
    with pytest.raises(InputError) as met:
        read(tmp_path, data, **told)
    assert words in str(met.value)


def test_a_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intravar.sources.paths.HARMLESS", 1_000_000)
    with pytest.raises(InputError, match="unpacks to more than 300 times its size, as no table"):
        read(tmp_path, gzip.compress(b"a,b\n" + b"0" * 20_000_000), "t.csv.gz")


def test_names_that_are_no_files(tmp_path: Path) -> None:
    for name in ("", " ", "a" * 300, "a\x00b", "host=h dbname=d password=secret"):
        with pytest.raises(InputError) as met:
            read_source(name)
        assert "secret" not in str(met.value)


# --- Parquet and workbooks ---


def test_parts_of_different_columns(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    pl.DataFrame({"doctor": [1], "age": [2]}).write_parquet(parts / "a.parquet")
    pl.DataFrame({"doctor": [1], "sex": [2]}).write_parquet(parts / "b.parquet")
    with pytest.raises(InputError, match=r"a.parquet' has a column 'age' and '.*b.parquet' has no"):
        read_source(parts)
    pl.DataFrame({"age": [[2]], "doctor": [1]}).write_parquet(parts / "b.parquet")
    with pytest.raises(InputError, match=r"column 'age' is Int64 in .* and List\(Int64\) in"):
        read_source(parts)
    pl.DataFrame({"age": [2.5], "doctor": [1]}).write_parquet(parts / "b.parquet")
    assert read_source(parts).table["age"].to_list() == [2.0, 2.5]


def test_columns_in_the_names_of_folders(tmp_path: Path) -> None:
    for doctor in ("007", "7"):
        folder = tmp_path / f"doctor={doctor}"
        folder.mkdir()
        pl.DataFrame({"drug": [0, 1], "age": [1, 2]}).write_parquet(folder / "0.parquet")
    found = read_source(tmp_path, as_text=["doctor"]).table
    assert found["doctor"].to_list() == ["007", "007", "7", "7"]


def test_a_workbook_whose_kinds_change_late(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    file = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(file) as book:
        page = book.add_worksheet("s")
        page.write_row(0, 0, ["doctor", "lab"])
        for row in range(1, 2500):
            page.write_number(row, 0, row % 7)
            page.write_number(row, 1, row / 8)
        page.write_string(2400, 0, "Dr. X")
        page.write_string(2400, 1, "<5")
    table = read_source(file, as_text=["doctor"]).table
    assert table.null_count().row(0) == (0, 0)
    assert table["doctor"][2399] == "Dr. X"
    assert table["doctor"][0] == "1"
    assert table["lab"][2399] == "<5"
    (tmp_path / "t.csv").write_bytes(file.read_bytes())  # a workbook by another name
    assert read_source(tmp_path / "t.csv", as_text=["doctor"]).table.equals(table)


# --- types of databases and frames ---


def test_types_of_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            """CREATE TABLE t AS SELECT
                170141183460469231731687303715884105727::HUGEINT - (n % 3) AS doctor,
                (n // 3 % 2)::DECIMAL(5, 2) AS drug, 20 + n * 7 % 37 AS age,
                uuid() AS u, INTERVAL (n) DAY AS stay, [n, 2] AS l, {'a': n} AS s,
                MAP {'a': n} AS m,
                TIME '01:02:03' AS t, '101'::BIT AS bits, 'x'::BLOB AS raw,
                DATE 'infinity' AS never, (n / 7)::FLOAT AS f, NULL AS nothing
            FROM range(60) AS r(n)"""
        )
    found = check(file, **COLUMNS)
    assert len(set(found.prepared.observed.physicians)) == 3
    assert set(found.prepared.covariates) == {"age", "stay", "f"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("types")) as found:
        yield found


def test_types_of_postgresql(url: str) -> None:
    query = """SELECT 12345678901234567890.00::numeric + n % 3 AS doctor,
        CASE WHEN n % 7 = 0 THEN 'NaN'::float8 ELSE n / 3 % 2 END AS drug,
        20 + n * 7 % 37 AS age, gen_random_uuid() AS u, '10.0.0.1'::inet AS i,
        int4range(n, n + 5) AS r, make_interval(days => n) AS stay, ARRAY[n, 2] AS l,
        '{"a": 1}'::jsonb AS j, point(n, 1) AS p, B'101' AS bits, '\\x00'::bytea AS raw,
        '12:30+02'::timetz AS tz, n::money AS cost
        FROM generate_series(0, 59) AS g(n)"""
    found = check(url, query=query, **COLUMNS)
    assert sorted(found.prepared.observed.physicians) == [
        "12345678901234567890",
        "12345678901234567891",
        "12345678901234567892",
    ]
    assert found.prepared.dropped == {"the decision is missing": 9}
    assert {"age", "stay"} <= set(found.prepared.covariates)


def test_sqlite_keeps_whatever_it_likes(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (doctor, drug, age)")
        rows: list[tuple[object, ...]] = [
            (n % 3 or 7.0, str(n // 3 % 2), n * 7 % 37) for n in range(60)
        ]
        rows += [("7", 1.0, b"\x00"), (2**62, 0, None)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.close()
    with pytest.raises(InputError, match="column 'age' has"):
        check(file, **COLUMNS)
    found = check(file, query="SELECT * FROM t WHERE typeof(age) <> 'blob'", **COLUMNS)
    assert set(found.prepared.observed.physicians) == {"1", "2", "7", str(2**62)}


def test_frames_of_objects() -> None:
    pd = pytest.importorskip("pandas")
    rows = range(60)
    frame = pd.DataFrame(
        {
            "doctor": pd.Series([n % 3 if n % 2 else str(n % 3) for n in rows], dtype=object),
            "drug": pd.Series(
                [None if n % 9 == 0 else bool(n // 3 % 2) for n in rows], dtype=object
            ),
            "age": [20 + n * 7 % 37 for n in rows],
            "span": [timedelta(days=n % 5) for n in rows],
            "odd": pd.Series([{n} if n % 2 else [n] for n in rows], dtype=object),
            7: 1j,
        }
    )
    found = check(frame, **COLUMNS)
    assert sorted(found.prepared.observed.physicians) == ["0", "1", "2"]
    assert found.prepared.dropped == {"the decision is missing": 7}
    assert {"age", "span"} <= set(found.prepared.covariates)
    with pytest.raises(InputError, match="the columns of the frame differ in length"):
        read_source({"a": [1, 2], "b": [1]})


# --- any bytes at all ---


def _seeds(folder: Path) -> dict[str, bytes]:
    table = pl.DataFrame({"doctor": ["a", "b"] * 20, "drug": [0, 1] * 20, "x": [0.5] * 40})
    table.write_csv(folder / "t.csv")
    table.write_parquet(folder / "t.parquet")
    table.write_excel(folder / "t.xlsx")
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t (doctor, drug, x)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", table.rows())
    connection.close()
    (folder / "t.csv.gz").write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    return _seeds(tmp_path_factory.mktemp("seeds"))


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["t.csv", "t.parquet", "t.xlsx", "t.sqlite", "t.csv.gz"]),
    holes=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4)), min_size=1, max_size=4),
    cut=st.floats(0.5, 1.5),
)
def test_damaged_files_are_read_or_refused(
    seeds: dict[str, bytes],
    tmp_path: Path,
    name: str,
    holes: list[tuple[float, bytes]],
    cut: float,
) -> None:
    data = bytearray(seeds[name])
    for place, other in holes:
        start = int(place * len(data))
        data[start : start + len(other)] = other
    with suppress(InputError):  # anything else fails the test
        read(tmp_path, bytes(data[: int(cut * len(data))]), name)


# --- dates that no calendar has ---

FAR = 9_400_000_000_000_000  # milliseconds: the year 299844


def far_table(far: int = FAR, unit: str = "ms") -> pl.DataFrame:
    seen = pl.Series([far, *(day * 86_400_000 for day in range(59))])
    table = pl.read_csv((HEADER + ROWS).encode())
    return table.with_columns(seen.cast(pl.Datetime(unit)).alias("seen"))


def far_in_pandas(folder: Path) -> Any:
    pytest.importorskip("pandas")
    return far_table().to_pandas()


def far_in_arrays(folder: Path) -> Any:
    arrays = {name: column.to_numpy() for name, column in far_table().to_dict().items()}
    return arrays | {"seen": arrays["seen"].astype("datetime64[s]")}


def far_in_parquet(folder: Path) -> Path:
    far_table().write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def far_in_duckdb(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", pl.read_csv((HEADER + ROWS).encode()).to_arrow())
        connection.execute(
            "CREATE TABLE t AS SELECT *, CASE WHEN age = 20 THEN DATE '299844-02-22' "
            "ELSE DATE '2020-01-01' + age::INT END AS seen FROM given"
        )
    return folder / "t.duckdb"


@pytest.mark.parametrize("sample", [1000, 20])
@pytest.mark.parametrize(
    "write", [lambda _: far_table(), far_in_arrays, far_in_pandas, far_in_parquet, far_in_duckdb]
)
def test_far_dates_are_refused(
    tmp_path: Path, write: Any, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intravar.request.LEAST_SAMPLE", 20)
    source = write(tmp_path)
    with pytest.raises(InputError, match=r"'seen' '299844-02-22.*years 1 to 9999; correct it"):
        check(source, sample=sample, **COLUMNS)
    for unused in ({"exclude": ["seen"]}, {"covariates": ["age"]}, {"after": ["seen"]}):
        assert check(source, sample=sample, **COLUMNS, **unused).prepared.n_rows == 60


@pytest.mark.parametrize("sample", [1000, 20])
@pytest.mark.parametrize("day", ["0000-01-01", "0000-00-00", "12345-01-01", "-0044-03-15"])
def test_far_dates_in_texts_are_refused(
    tmp_path: Path, day: str, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intravar.request.LEAST_SAMPLE", 20)
    lines = [f"{line},2020-01-{n % 28 + 1:02}" for n, line in enumerate(ROWS.split())]
    lines[7] = lines[7].replace("2020-01-08", day)
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["doctor,drug,age,seen", *lines]))
    with pytest.raises(InputError, match=f"column 'seen' .*'{day}'") as met:
        check(file, sample=sample, **COLUMNS)
    assert met.value.on_command_line.endswith("--exclude seen")
    assert check(file, sample=sample, exclude=["seen"], **COLUMNS).prepared.n_rows == 60
    for asked in ({"date": "seen"}, {"where": "seen > '2020-01-05'"}):
        with pytest.raises(InputError, match=f"column 'seen' .*'{day}' lies outside of the years"):
            check(file, sample=sample, **COLUMNS, **asked)


def test_far_dates_beyond_the_sample_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intravar.request.LEAST_SAMPLE", 20)
    doctors = pl.concat(
        [far_table()[n > 0 :].with_columns(age=pl.col("age") + n) for n in range(9)]
    )
    with pytest.raises(InputError, match="'seen' '299844-02-22.*years 1 to 9999; correct it"):
        check(doctors, sample=20, **COLUMNS)
    assert check(doctors, sample=20, exclude=["seen"], **COLUMNS).beyond is not None


def test_names_with_many_digits_are_no_dates() -> None:
    names = [f"{10_000 + n % 4}-01-02" for n in range(60)]
    table = pl.read_csv((HEADER + ROWS).encode()).with_columns(pl.Series("site", names))
    assert set(check(table, **COLUMNS).prepared.covariates) == {"age", "site"}


def test_far_dates_of_postgresql(url: str) -> None:
    query = """SELECT n % 3 AS doctor, n / 3 % 2 AS drug, 20 + n * 7 % 37 AS age,
        CASE WHEN n = 7 THEN '{}' ELSE DATE '2020-01-01' + n END::{} AS seen
        FROM generate_series(0, 59) AS g(n)"""
    for kind in ("date", "timestamp", "timestamptz"):
        for far in ("99844-02-22", "0044-03-15 BC"):
            with pytest.raises(InputError, match=f"column 'seen' '{far[:10]}.*; correct it"):
                check(url, query=query.format(far, kind), **COLUMNS)
        seen = read_source(url, query=query.format("-infinity", kind)).table["seen"]
        assert seen.null_count() == 1


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_infinity_is_missing(unit: str, zone: str | None) -> None:
    table = far_table(2**63 - 1, unit)
    table = table.with_columns(
        pl.col("seen").dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        if zone
        else pl.col("seen")
    )
    assert read_source(table).table["seen"].null_count() == 1
    many = pl.concat([table.with_columns(age=pl.col("age") + n) for n in range(40)])
    assert check(many, sample=1000, **COLUMNS).prepared.n_rows == 2400


def test_far_dates_of_the_command_line(tmp_path: Path) -> None:
    asked = ("--physician", "doctor", "--decision", "drug")
    ended = subprocess.run(
        [sys.executable, "-m", "intravar", "check", str(far_in_parquet(tmp_path)), *asked],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 2
    assert "'seen' '299844-02-22" in " ".join(ended.stderr.split())


def test_far_dates_of_omop() -> None:
    dates = pl.Series("visit_start_date", [FAR, 2**63 - 1, 0]).cast(pl.Datetime("ms"))
    with pytest.raises(InputError, match="'visit_start_date' of table .* has '299844-02-22"):
        _typed(dates, "visit_occurrence")
    assert _typed(dates[1:], "visit_occurrence").to_list() == [None, date(1970, 1, 1)]
    with pytest.raises(InputError, match="has '0000-01-01' in data row 1, which is not a date"):
        _typed(pl.Series("visit_start_date", ["0000-01-01"]), "visit_occurrence")


# --- dates of NumPy and of time zones ---


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "m", "s", "ms", "us", "ns"])
def test_dates_of_arrays_in_any_unit(unit: str) -> None:
    days = np.array(["2020-01-01", "NaT", "2021-01-01"], f"datetime64[{unit}]")
    stays = np.array([1, 2, "NaT"], "timedelta64[D]")
    if unit not in ("Y", "M"):
        stays = stays.astype(f"timedelta64[{unit}]")
    for seen, stay in ((days, stays), (list(days), list(stays))):
        table = read_source({"seen": seen, "stay": stay}).table
        assert table["seen"].to_list() == [date(2020, 1, 1), None, date(2021, 1, 1)]
        assert table["stay"].to_list() == [timedelta(days=1), timedelta(days=2), None]


def test_seconds_that_do_not_fit() -> None:
    pd = pytest.importorskip("pandas")
    seconds = np.array([2**62 + 5, *range(59)])
    table = pl.read_csv((HEADER + ROWS).encode()).to_dict()
    seen, stay = seconds.view("datetime64[s]"), seconds.view("timedelta64[s]")
    zoned = pd.Series(seen).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    arrays = {name: each.to_numpy() for name, each in table.items()}
    for column in (seen, list(seen), pd.Series(seen), zoned):
        frame = arrays | {"seen": column}
        with pytest.raises(InputError, match="'seen' '146138514283-06-19T07:45:09' lies outside"):
            check(pd.DataFrame(frame) if isinstance(column, pd.Series) else frame, **COLUMNS)
    assert read_source(arrays | {"stay": stay}).table["stay"].max() == 2**62
    long = pl.Series("stay", [FAR, None, 1000]).cast(pl.Duration("ms"))
    assert plain_column(long, keep=False).to_list() == [FAR // 1000, None, 1]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "America/New_York"])
@pytest.mark.parametrize("day", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_the_ends_of_the_calendar_in_any_zone(zone: str, day: str) -> None:
    moments = pl.Series("seen", [day]).str.to_datetime(time_unit="us", time_zone="UTC")
    seen = plain_column(moments.dt.convert_time_zone(zone), keep=False).cast(pl.Datetime("us"))
    assert abs(seen[0] - datetime.fromisoformat(day)) < timedelta(days=1)


def test_the_ends_of_nanoseconds_in_any_zone() -> None:
    ends = pl.Series("seen", [2**63 - 2, 2 - 2**63]).cast(pl.Datetime("ns", "UTC"))
    for zone in ("Europe/Berlin", "America/New_York"):
        seen = plain_column(ends.dt.convert_time_zone(zone), keep=False)
        assert [each.year for each in seen] == [2262, 1677]
