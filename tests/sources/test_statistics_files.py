"""Files of Stata, SPSS and SAS: codes mean what their labels say."""

import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from intravar import InputError
from intravar.sources import read_source
from intravar.sources.reading import scan_source

pyreadstat = pytest.importorskip("pyreadstat")

#: Formats with labels, and the function that writes them.
LABELLED = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav, "zsav": pyreadstat.write_sav}
VISITS = pl.DataFrame(
    {
        "doctor": [1, 2, 2, 1],
        "drug": [0, 1, 1, 0],
        "smoke": [1, 2, 3, None],
        "age": [50.5, 61.0, 72.0, 64.0],
        "town": ["Ulm", "Bonn", "", "Köln"],
        "seen": [date(2020, 1, 31), date(1999, 12, 1), None, date(2021, 6, 1)],
        "at": [datetime(2020, 1, 31, 10, 30), None, datetime(2021, 1, 1), datetime(2022, 1, 1)],
    }
)
LABELS: dict[str, dict[Any, str]] = {
    "doctor": {1: "Ada", 2: "Ben"},
    "drug": {0: "no", 1: "yes"},
    "smoke": {1: "never", 2: "former", 3: "current", 4: "unused"},
}


def write(folder: Path, suffix: str, table: pl.DataFrame = VISITS, **options: Any) -> Path:
    path = folder / f"t.{suffix}"
    if suffix == "zsav":
        options["compress"] = True
    LABELLED[suffix](table, str(path), **options)
    return path


@pytest.mark.parametrize("suffix", LABELLED)
def test_labels_take_the_place_of_codes(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, suffix, variable_value_labels=LABELS)

    found = read_source(path)

    assert found.table["doctor"].to_list() == ["Ada", "Ben", "Ben", "Ada"]
    assert found.table["drug"].to_list() == ["no", "yes", "yes", "no"]
    assert found.table["smoke"].to_list() == ["never", "former", "current", None]
    assert "value labels in doctor, drug, smoke" in found.notes


@pytest.mark.parametrize("suffix", LABELLED)
def test_numbers_texts_and_dates_are_what_they_are(tmp_path: Path, suffix: str) -> None:
    found = read_source(write(tmp_path, suffix)).table

    assert found["age"].to_list() == [50.5, 61.0, 72.0, 64.0]
    assert found["town"].to_list() == ["Ulm", "Bonn", None, "Köln"]
    assert found["seen"].to_list() == VISITS["seen"].to_list()
    assert found["at"].to_list() == VISITS["at"].to_list()


@pytest.mark.parametrize("suffix", ["por", "xpt"])
def test_formats_without_labels_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    writer = pyreadstat.write_por if suffix == "por" else pyreadstat.write_xport
    writer(VISITS.with_columns(town=pl.lit("Ulm")), str(path))

    found = read_source(path).table

    assert [name.lower() for name in found.columns] == VISITS.columns
    by_name = found.rename(str.lower)
    assert by_name["age"].to_list() == [50.5, 61.0, 72.0, 64.0]
    assert by_name["smoke"].to_list() == [1, 2, 3, None]
    assert by_name["seen"].to_list() == VISITS["seen"].to_list()


def test_codes_that_spss_declares_missing_are_missing(tmp_path: Path) -> None:
    table = pl.DataFrame({"doctor": [1, 2, 1], "drug": [0, 1, 9], "age": [-9.0, 50.0, 120.0]})
    missing = {"drug": [9], "age": [-9, {"lo": 110, "hi": 200}]}
    path = write(tmp_path, "sav", table, missing_ranges=missing)

    found = read_source(path)

    assert found.table["drug"].to_list() == [0, 1, None]
    assert found.table["age"].to_list() == [None, 50, None]
    (note,) = [note for note in found.notes if "declared missing" in note]
    assert "drug (9)" in note
    assert "110 to 200" in note


def test_missing_codes_with_letters_of_stata_are_missing(tmp_path: Path) -> None:
    table = pl.DataFrame({"doctor": [1, 2], "drug": [0, 1]}).to_dict(as_series=False)
    import pandas as pd

    frame = pd.DataFrame({**table, "age": pd.Series([50, "a"], dtype=object)})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(frame, str(path), missing_user_values={"age": ["a"]})

    assert read_source(path).table["age"].to_list() == [50, None]


def test_a_number_with_a_label_for_some_values_stays_a_number(tmp_path: Path) -> None:
    table = VISITS.with_columns(age=pl.Series([50.0, 61.0, -9.0, 99.0]))
    labels = {"age": {-9: "refused", 99: "99 or older"}}
    path = write(tmp_path, "dta", table, variable_value_labels=labels)

    found = read_source(path)

    assert found.table["age"].to_list() == [50, 61, -9, 99]
    (note,) = [note for note in found.notes if "some have no label" in note]
    assert "-9 'refused'" in note


def test_two_physicians_with_one_label_stay_two(tmp_path: Path) -> None:
    labels = {"doctor": {1: "Smith", 2: "Smith"}}
    path = write(tmp_path, "sav", variable_value_labels=labels)

    found = read_source(path, as_text=["doctor"]).table

    assert found["doctor"].to_list() == ["Smith (1)", "Smith (2)", "Smith (2)", "Smith (1)"]


def test_a_label_that_would_be_read_as_missing_is_a_value(tmp_path: Path) -> None:
    labels = {"drug": {0: "None", 1: "Statin"}}
    path = write(tmp_path, "dta", variable_value_labels=labels)

    assert read_source(path).table["drug"].to_list() == ["None (0)", "Statin", "Statin", "None (0)"]


def test_the_content_counts_and_not_the_name(tmp_path: Path) -> None:
    path = write(tmp_path, "dta", variable_value_labels=LABELS).rename(tmp_path / "t.dat")

    assert read_source(path).table["doctor"][0] == "Ada"


@pytest.mark.parametrize("suffix", LABELLED)
def test_a_damaged_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path, suffix)
    path.write_bytes(path.read_bytes()[:300])

    with pytest.raises(InputError, match="is not a readable file of (Stata|SPSS)"):
        read_source(path)


@pytest.mark.parametrize("suffix", ["dta", "sav", "por", "sas7bdat", "xpt"])
def test_text_under_a_wrong_name_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    path.write_text("doctor,drug\nA,1\n")

    with pytest.raises(InputError, match="is not a readable file of"):
        read_source(path)


def test_without_the_extra_the_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)

    with pytest.raises(InputError, match=r"of SPSS; .* pip install 'intravar\[statistics\]'"):
        read_source(path)


def test_a_large_file_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.por"  # the only one of these formats that is text
    pyreadstat.write_por(VISITS.select("doctor", "drug"), str(path))

    assert scan_source(path, lambda: tmp_path, least=0) is None


def test_a_study_gives_the_same_result_as_from_csv(tmp_path: Path) -> None:
    cohort = intravar.simulate("score2", n_patients=400, n_physicians=5, random_state=1)
    table = cohort.to_polars()
    table.write_csv(tmp_path / "t.csv")
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(table, str(path))

    found = [
        intravar.check(file, physician="physician", decision="decision")
        for file in (tmp_path / "t.csv", path)
    ]

    assert found[0].prepared.observed.names == found[1].prepared.observed.names
    assert (
        found[0].prepared.observed.decision.tolist() == found[1].prepared.observed.decision.tolist()
    )


def test_other_tables_load_no_library_of_statistics_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("doctor,drug\nA,1\n")
    code = (
        "import sys; from intravar.sources import read_source; read_source('t.csv'); "
        "print('pyreadstat' in sys.modules)"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "False"
