"""Bad input, in the exact words that a user meets; nothing is left half-written."""

import gzip
import json
import os
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar import InputError
from intravar.cli import commands, measure
from omop_writer import DRUG, write_csv_folder
from own_tables import COLUMNS, FAST, GOOD, ROWS, Run, refused, refused_table
from postgres import add_locked_role, server

# --- bad input, in the words that a user meets ---


def test_missing_file(run: Run, table: pl.DataFrame) -> None:
    words = refused(run, "measure", "patiens.csv", *COLUMNS)
    assert words == "file 'patiens.csv' does not exist; did you mean 'patients.csv'?"


def test_not_a_table(run: Run, here: Path) -> None:
    Path("t.csv").write_bytes(b"\x7fELF\x00\x01\x02\x00")
    words = refused(run, "measure", "t.csv", *COLUMNS)
    assert words == (
        "'t.csv' is not a table but binary data; give CSV, Parquet or a database, or name its "
        "encoding with --encoding"
    )
    Path("t.csv").write_bytes(b"%PDF-1.7 ...")
    words = refused(run, "measure", "t.csv", *COLUMNS)
    assert words == "'t.csv' is a PDF, not a table; give CSV, Parquet or a database"


def test_empty(run: Run, here: Path) -> None:
    assert refused_table(run, "") == (
        "'t.csv' is empty; give a table with a header and one row per decision"
    )
    assert refused_table(run, "\n\n") == (
        "'t.csv' is empty; give a table with a header and one row per decision"
    )


def test_one_column(run: Run, here: Path) -> None:
    assert refused_table(run, "physician\na\nb\n") == (
        "'t.csv' has one column only ('physician'); a table needs who decided and the decision; is "
        "the separator right (--separator)?"
    )


def test_header_only(run: Run, here: Path) -> None:
    assert refused_table(run, "physician,decision,age\n") == (
        "'t.csv' has a header but no rows; there is nothing to measure"
    )


def test_wrong_column_name(run: Run, here: Path) -> None:
    text = GOOD.replace("physician,", "Physician_ID,", 1)
    assert refused_table(run, text) == (
        "there is no column 'physician'; did you mean 'Physician_ID'? The table has Physician_ID, "
        "decision, age"
    )
    assert refused_table(run, GOOD, "--covariates", "agee") == (
        "there is no column 'agee'; did you mean 'age'? The table has physician, decision, age"
    )


@pytest.mark.parametrize("option", ["--date", "--by", "--case"])
def test_a_column_without_a_name(run: Run, here: Path, option: str) -> None:
    assert refused_table(run, GOOD, option, " ") == (
        "there is no column ''. The table has physician, decision, age"
    )


def test_who_is_refused_hears_nothing_of_compiling(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "compile_beside", lambda: True)
    assert refused_table(run, "physician,decision,age\n").startswith("'t.csv' has a header but")
    Path("t.csv").write_text(GOOD)
    outcome = run("measure", "t.csv", *COLUMNS, *FAST)
    assert outcome.err.count(measure.COMPILING) == 1


def test_no_column_is_offered_that_is_not_near(run: Run, here: Path) -> None:
    text = GOOD.replace("age", "d_star")
    Path("t.csv").write_text(text)
    words = refused(run, "check", "t.csv", "--physician", "doctor", "--decision", "decision")
    assert words == "there is no column 'doctor'. The table has physician, decision, d_star"


def test_decision_with_three_values(run: Run, here: Path) -> None:
    text = "physician,decision,age\n" + ROWS.replace("2,1,", "2,maybe,")
    assert refused_table(run, text) == (
        "column 'decision' has 3 values ('0', '1', 'maybe') and a decision has two; say which "
        "value counts with --decision-positive, or a comparison such as '>=4'"
    )


def test_decision_with_two_unknown_values(run: Run, here: Path) -> None:
    text = "physician,decision,age\n" + ROWS.replace(",0,", ",PTCA,").replace(",1,", ",CABG,")
    assert refused_table(run, text) == (
        "column 'decision' has the values 'CABG', 'PTCA'; say which one is the decision, "
        "for example with --decision-positive PTCA"
    )
    assert run("check", "t.csv", *COLUMNS, "--decision-positive", "CABG").code == 0
    assert refused(run, "check", "t.csv", *COLUMNS, "--decision-positive", "CABGE") == (
        "column 'decision' never has the value 'CABGE'; did you mean 'CABG'? It has 'CABG', 'PTCA'"
    )
    assert refused(run, "check", "t.csv", *COLUMNS, "--decision-positive", "stent") == (
        "column 'decision' never has the value 'stent'. It has 'CABG', 'PTCA'"
    )


def test_in_python_arguments_have_their_own_names(here: Path) -> None:
    columns = {"physician": ["a", "b"], "decision": ["PTCA", "CABG"], "age": [1, 2]}
    names = {"physician": "physician", "decision": "decision"}
    with pytest.raises(InputError) as met:
        intravar.check(columns, **names)
    assert str(met.value).endswith("the decision, for example with decision_positive='PTCA'")
    assert met.value.on_command_line.endswith(
        "the decision, for example with --decision-positive PTCA"
    )
    with pytest.raises(InputError, match="^min_panel is 1; a pair takes two"):
        intravar.measure(columns, **names, min_panel=1)
    with pytest.raises(InputError, match=r"correct it, .* or drop it with exclude=\['age'\]"):
        intravar.check(
            {
                "physician": ["a"] * 20,
                "decision": [0, 1] * 10,
                "age": [*"12345678901234567890"[:19], "x"],
            },
            **names,
        )


def test_physician_all_missing(run: Run, here: Path) -> None:
    text = "physician,decision,age\n" + "".join(f",{n % 2},{n}\n" for n in range(40))
    assert refused_table(run, text) == "column 'physician' (who decided) is missing in every row"


def test_all_decisions_equal(run: Run, here: Path) -> None:
    text = "physician,decision,age\n" + "".join(f"a,1,{n % 7}\n" for n in range(40))
    assert refused_table(run, text) == (
        "every decision in column 'decision' is '1'; there is nothing to compare"
    )


def test_text_in_a_number_column(run: Run, here: Path) -> None:
    lines = GOOD.splitlines()
    lines[17] = "1,0,sixty"
    assert refused_table(run, "\n".join(lines) + "\n") == (
        "column 'age' has 'sixty' in data row 17 where other rows have numbers; correct it, take "
        "the column as a category with --categorical age, or drop it with --exclude age"
    )


def test_duplicate_column_names(run: Run, here: Path) -> None:
    text = "physician,decision,age,age\n" + "".join(f"a,{n % 2},{n},{n}\n" for n in range(40))
    assert refused_table(run, text) == "'t.csv' has two columns 'age'; rename one of them"


def test_encodings(run: Run, here: Path) -> None:
    text = GOOD.replace("age", "âge")
    Path("t.csv").write_bytes(text.encode("cp1252"))
    assert refused(run, "measure", "t.csv", *COLUMNS) == (
        "'t.csv' is not UTF-8: line 1 has the byte 0xe2; name its encoding, for instance "
        "--encoding cp1252"
    )
    outcome = run("check", "t.csv", *COLUMNS, "--encoding", "cp1252")
    assert "âge" in outcome.out
    assert "read with encoding cp1252" in outcome.out
    mixed = text.encode("utf-8") + "ü,1,5\n".encode("cp1252")
    Path("t.csv").write_bytes(mixed)
    assert refused(run, "measure", "t.csv", *COLUMNS) == (
        "'t.csv' mixes encodings: line 122 has the byte 0xfc, which is not UTF-8, but other lines "
        "are UTF-8; save it in one encoding"
    )
    assert refused(run, "measure", "t.csv", *COLUMNS, "--encoding", "utf-9") == (
        "unknown encoding 'utf-9'; try utf-8, cp1252, latin-1 or utf-16"
    )


def test_a_table_of_200_columns(run: Run, here: Path) -> None:
    wide = pl.DataFrame(
        {"physician": ["a", "b"] * 100, "decision": [0, 0, 1, 1] * 50}
        | {f"x{n}": [(row * (n + 3)) % 17 for row in range(200)] for n in range(198)}
    )
    wide.write_csv("t.csv")
    assert refused(run, "measure", "t.csv", "--physician", "x1999", "--decision", "decision") == (
        "there is no column 'x1999'; did you mean 'x199'? The table has physician, decision, x0, "
        "x1, x2, x3, x4, x5, x6, x7, x8, x9 and 188 more"
    ).replace("'x199'", f"'{_nearest(wide.columns)}'")
    outcome = run("measure", "t.csv", *COLUMNS, *FAST, "--out", "out")
    assert outcome.code in (0, commands.NOBODY_REPORTABLE), outcome.err


def _nearest(columns: list[str]) -> str:
    from difflib import get_close_matches

    return get_close_matches("x1999", columns, n=1, cutoff=0.5)[0]


def test_truncated_parquet(run: Run, table: pl.DataFrame) -> None:
    table.write_parquet("t.parquet")
    data = Path("t.parquet").read_bytes()
    Path("t.parquet").write_bytes(data[: len(data) // 2])
    words = refused(run, "measure", "t.parquet", *COLUMNS)
    assert words.startswith("'t.parquet' is not a whole Parquet file (")
    assert words.endswith("); was its copy cut short?")


def test_truncated_gzip(run: Run, here: Path) -> None:
    data = gzip.compress(GOOD.encode())
    Path("t.csv.gz").write_bytes(data)
    assert run("check", "t.csv.gz", *COLUMNS).code == 0
    Path("t.csv.gz").write_bytes(data[:40])
    words = refused(run, "check", "t.csv.gz", *COLUMNS)
    assert words.startswith("'t.csv.gz' is not a whole gzip file (")


def test_wrong_password_and_empty_query(
    run: Run, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("locked")
    with server(folder) as url:
        wrong = add_locked_role(url, folder)
        assert refused(run, "measure", wrong, *COLUMNS, "--table", "t") == (
            "cannot connect to postgresql://locked@/postgres: password authentication failed for "
            'user "locked"'
        )
        nothing = "SELECT 1 AS physician, 0 AS decision WHERE false"
        assert refused(run, "measure", url, *COLUMNS, "--query", nothing) == (
            "the query returned no rows from postgresql://postgres@/postgres; there is nothing to "
            "measure"
        )
        assert refused(run, "measure", url, *COLUMNS, "--query", "DROP TABLE x") == (
            "the query is refused: it does not only read; give one SELECT that changes nothing"
        )


def test_formulas_are_escaped_on_export(run: Run, here: Path) -> None:
    evil = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)"]
    pl.DataFrame(
        {
            "physician": evil * 40,
            "decision": [0, 0, 1, 0, 1, 1, 0, 1] * 20,
            "=age": [n % 13 for n in range(160)],
        }
    ).write_csv("t.csv")
    outcome = run("measure", "t.csv", *COLUMNS, *FAST, "--show-names", "--out", "out")
    assert outcome.code in (0, commands.NOBODY_REPORTABLE), outcome.err
    lines = Path("out/physicians.csv").read_text().splitlines()[1:]
    assert sorted(line.split(",")[0] for line in lines) == sorted(f"'{name}" for name in evil)
    assert set(pl.read_parquet("out/physicians.parquet")["physician"]) == set(evil)
    run("explain", "out", "--physician", "=HYPERLINK(1)", "--out", "pairs.csv")
    for line in Path("pairs.csv").read_text().splitlines():
        for cell in line.split(","):
            assert not cell.strip('"').startswith(("=", "@"))


@pytest.mark.parametrize("out", ["../out", "a/../../out"])
def test_directory_traversal(run: Run, table: pl.DataFrame, out: str) -> None:
    assert refused(run, "measure", "patients.csv", *COLUMNS, "--out", out) == (
        f"output '{out}' climbs out of its folder with '..'; give its full path instead"
    )


def test_names_never_become_paths(run: Run, here: Path) -> None:
    pl.DataFrame(
        {
            "physician": ["../../evil", "/etc/passwd"] * 60,
            "decision": [0, 1, 1, 0, 1, 1] * 20,
            "age": [n % 13 for n in range(120)],
        }
    ).write_csv("t.csv")
    run("measure", "t.csv", *COLUMNS, *FAST, "--show-names", "--out", "out")
    assert sorted(os.listdir()) == ["out", "out-private", "t.csv"]


def test_other_files_are_not_overwritten(run: Run, table: pl.DataFrame) -> None:
    Path("mine").mkdir()
    Path("mine/precious.txt").write_text("mine")
    assert refused(run, "measure", "patients.csv", *COLUMNS, "--out", "mine") == (
        "'mine' holds 'precious.txt', which is not a result of intravar; name another folder with "
        "--out, or move it away"
    )
    assert refused(run, "measure", "patients.csv", *COLUMNS, "--out", "no/where") == (
        f"folder '{Path('no').absolute()}' does not exist; make it first"
    )


def test_where_nothing_can_be_written_nothing_is_computed(
    run: Run, table: pl.DataFrame, cohort: intravar.Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc").is_dir():
        pytest.skip("no /proc, where not even root can write")
    run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out")
    write_csv_folder(cohort, Path("cdm"))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed before the folder was tried")

    for name in ("measure", "explain", "omop_patients"):
        monkeypatch.setattr(f"intravar.{name}", never)
    for arguments in (
        ["measure", "patients.csv", *COLUMNS, "--out", "/proc/zz"],
        ["explain", "out", "--physician", "P01", "--out", "/proc/zz"],
        ["omop", "cdm", "--drug", str(DRUG), "--out", "/proc/zz.csv"],
    ):
        assert refused(run, *arguments).startswith("cannot write into folder '/proc': ")


def test_settings_out_of_range(run: Run, table: pl.DataFrame) -> None:
    def words(*options: str) -> str:
        return refused(run, "measure", "patients.csv", *COLUMNS, *options)

    assert words("--min-panel", "1") == "--min-panel is 1; a pair takes two, give 2 or more"
    assert words("--min-reliability", "2") == "--min-reliability is 2; it lies between 0 and 1"
    assert (
        words("--smallest-cell", "0") == "--smallest-cell is 0; give 1 (hide nothing), or 3 or more"
    )
    assert words("--missing", "dorp") == (
        "unknown policy for missing values 'dorp'; did you mean 'drop'? (indicator, drop, impute)"
    )
    assert words("--method", "glmm") == (
        "method 'glmm' ranks physicians but does not measure a discordance; choose another with "
        "--method and set it beside with --methods glmm"
    )
    assert words("--table", "x") == "--table is for databases; 'patients.csv' is not one"
    assert words("--key", "patients.csv", *FAST).startswith("'patients.csv' is not a key file")


def test_wrong_folder_for_explain(run: Run, here: Path) -> None:
    assert refused(run, "explain", ".") == (
        "'.' is not the folder of a measurement; name what 'intravar measure --out' wrote"
    )


def test_unreadable_scheme(run: Run, here: Path) -> None:
    assert refused(run, "measure", "https://ann:secret@host/x.csv", *COLUMNS) == (
        "'https://ann@host/x.csv' has the scheme 'https', which is not read; give a file or "
        "postgresql://, duckdb:// or sqlite://"
    )


@pytest.mark.parametrize("password", ["se?cret", "se#cret", "se/cret", "se@cret", "se:cret"])
def test_no_password_is_shown_or_logged(
    run: Run, here: Path, password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://ann:{password}@127.0.0.1:1/db"
    words = refused(run, "check", url, *COLUMNS, "--table", "t")
    assert "cret" not in words

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot reach {url}")

    monkeypatch.setattr("intravar.preparation.check.checked_each", broken)
    monkeypatch.setattr("sys.argv", ["intravar", "check", url])
    outcome = run("check", url, *COLUMNS)
    assert outcome.code == 1
    log = Path(outcome.err.rsplit(" ", 1)[1].strip())
    assert "cret" not in outcome.err
    assert "cret" not in log.read_text()
    log.unlink()


@pytest.mark.parametrize(
    "source",
    [
        *("postgresql://[bad", "postgresql://", "postgresql://ann:x@127.0.0.1:port/db"),
        *("host=h password=secret", "postgresql:/ann:secret@host/db", "duckdb://", "", "a" * 300),
    ],
)
def test_sources_that_are_none(run: Run, here: Path, source: str) -> None:
    assert "secret" not in refused(run, "check", source, *COLUMNS)
    assert "secret" not in refused(run, "omop", source, "--drug", "1")


def test_what_was_understood_is_said(run: Run, here: Path) -> None:
    rows = "".join(
        f"{'ada' if n % 3 else 'Ada'};{'yes' if n // 3 % 2 else 'no' if n % 5 else '?'};"
        f"{n % 28 + 1:02}/12/20;{999 if n % 9 == 0 else 20 + n * 7 % 37},5;x{n // 2}\n"
        for n in range(120)
    )
    Path("t.csv").write_text("physician;decision;seen;age;nhs_no\n" + rows)
    outcome = run("check", "t.csv", *COLUMNS, "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["read_with"] == [
        "separator ';'",
        "dates as day/month/year in seen",
        "decimal commas in age",
    ]
    notes = {row["column"]: row["note"] for row in found["columns"]}
    assert notes["physician"].startswith("2 names differ in capitals")
    assert notes["decision"] == "'?' counts as missing"
    assert notes["nhs_no"] == "identifies the patient"


def test_omop_refusals(run: Run, cohort: intravar.Cohort, here: Path) -> None:
    write_csv_folder(cohort, here / "cdm")
    assert refused(run, "omop", "cdm", "--drug", "7") == (
        f"no drug exposure of 'cdm' has the concept 7; the most frequent are {DRUG}"
    )
    drug = ["--drug", str(DRUG)]
    assert refused(run, "omop", "cdm", *drug, "--covariates", "agge") == (
        "covariate 'agge' is not understood; give age, sex, race, ethnicity, measurement:CONCEPT, "
        "condition:CONCEPT or drug:CONCEPT"
    )
    assert refused(run, "omop", "cdm", *drug, "--covariates", "measurement:5") == (
        "no row of 'measurement' in 'cdm' has the concept 5"
    )
    assert refused(run, "omop", "cdm/__MACOSX", *drug).startswith(
        "'cdm/__MACOSX' has no table 'person'; an OMOP CDM database has one"
    )
    assert refused(run, "measure", "cdm", *COLUMNS) == (
        "'cdm' is a folder of OMOP tables; make one table of it with 'intravar omop' first"
    )
