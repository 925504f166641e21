"""OMOP tables as databases hold them: persons twice, several units, damaged archives."""

import json
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from intravar import InputError
from intravar.cli import main
from intravar.sources.omop.patients import OmopPatients, omop_patients
from omop_writer import DRUG, FIRST_MEASUREMENT, FURTHER_DRUGS, VISIT, omop_frames

COHORT = intravar.simulate("score2", n_patients=60, n_physicians=5, random_state=5)
FIRST = f"first=measurement:{FIRST_MEASUREMENT}"


def written(folder: Path, **changed: pl.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    for name, table in (omop_frames(COHORT) | changed).items():
        table.write_csv(folder / f"{name}.csv")
    return folder


def built(folder: Path, covariate: str = "age", **changed: pl.DataFrame) -> OmopPatients:
    return omop_patients(written(folder, **changed), drug=[DRUG], covariates=[covariate])


def with_units(*units: Any, **columns: Any) -> pl.DataFrame:
    table = omop_frames(COHORT)["measurement"]
    repeated = [units[row % len(units)] for row in range(table.height)]
    return table.with_columns(pl.Series("unit_concept_id", repeated), **columns)


def test_a_person_twice_is_one_person(tmp_path: Path) -> None:
    person = omop_frames(COHORT)["person"]
    once = built(tmp_path / "once")
    twice = built(tmp_path / "twice", person=pl.concat([person, person[:5]]))
    assert twice.table.equals(once.table)
    assert twice.steps == once.steps
    other = person[:5].with_columns(pl.lit(1900, dtype=pl.Int64).alias("year_of_birth"))
    with pytest.raises(InputError, match=r"describes 5 persons in two ways \(person_id 1 among"):
        built(tmp_path / "other", person=pl.concat([person, other]))


def test_several_units_are_not_one_number(tmp_path: Path) -> None:
    mixed = with_units(8753, 8840)
    with pytest.raises(InputError, match=r"are in 2 units \(8753, 8840\); take those of one unit"):
        built(tmp_path, FIRST, measurement=mixed)
    one = built(tmp_path, f"{FIRST}:8753", measurement=mixed).table
    assert 0 < one["first"].null_count() < one.height
    with pytest.raises(InputError, match="is in the unit '1'; it is in 8753, 8840"):
        built(tmp_path, f"{FIRST}:1", measurement=mixed)
    with pytest.raises(InputError, match="names a unit, which measurements alone have"):
        built(tmp_path, "condition:201826:8753", measurement=mixed)


def test_units_by_name_and_none_at_all(tmp_path: Path) -> None:
    names = pl.Series("unit_source_value", ["mg/dL", "MG/DL ", "mmol/L"] * 2000)
    table = with_units(0)
    named = table.with_columns(names[: table.height])
    with pytest.raises(InputError, match=r"are in 2 units \(mg/dl, mmol/l\)"):
        built(tmp_path, FIRST, measurement=named)
    found = built(tmp_path, FIRST, measurement=with_units(8753, None))
    assert dict(found.steps)["values of first without a unit, taken for 8753"] > 0


def test_values_of_one_day_in_any_order(tmp_path: Path) -> None:
    table = omop_frames(COHORT)["measurement"]
    doubled = pl.concat([table, table.with_columns(pl.col("value_as_number") + 1)])
    first = built(tmp_path, FIRST, measurement=doubled).table
    assert built(tmp_path, FIRST, measurement=doubled.reverse()).table.equals(first)


def test_damaged_archives(tmp_path: Path) -> None:
    folder = written(tmp_path / "cdm")
    archive = tmp_path / "cdm.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(folder.iterdir()):
            packed.write(file, file.name)
    whole = omop_patients(archive, drug=[DRUG]).table
    assert whole.equals(omop_patients(folder, drug=[DRUG]).table)
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as packed:
        place = packed.getinfo("person.csv").header_offset + 60
    hole = data[:place] + bytes(20) + data[place + 20 :]
    for damaged in (data[:2000], hole, b"PK\x03\x04", b"no zip"):
        archive.write_bytes(damaged)
        with pytest.raises(InputError, match="is (not a whole zip archive|damaged)|cannot be"):
            omop_patients(archive, drug=[DRUG])


def test_archives_that_unpack_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("person.csv", "person_id\n" + "0" * 5_000_000)
        packed.writestr("drug_exposure.csv", "person_id\n" + "0" * 5_000_000)
    monkeypatch.setattr("intravar.sources.paths.HARMLESS", 1000)
    with pytest.raises(InputError, match="unpacks to more than 300 times its size"):
        omop_patients(archive, drug=[DRUG])


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"", b'"a', b"person_id\n\xff\xff\n"])
def test_tables_that_are_none(tmp_path: Path, data: bytes) -> None:
    folder = written(tmp_path / "cdm")
    (folder / "person.csv").write_bytes(data)
    with pytest.raises(InputError, match="'person|person.csv"):
        omop_patients(folder, drug=[DRUG])


def test_vocabularies_with_tabs_and_parts_that_are_no_whole_numbers(tmp_path: Path) -> None:
    folder = written(tmp_path / "cdm")
    omop_frames(COHORT)["concept"].write_csv(folder / "concept.csv", separator="\t")
    found = omop_patients(folder, drug=[DRUG], covariates=[f"measurement:{FIRST_MEASUREMENT}"])
    assert "First covariate" in found.table.columns
    with pytest.raises(InputError, match="covariate '²' is not understood"):
        omop_patients(folder, drug=[DRUG], covariates=["²"])
    person = omop_frames(COHORT)["person"].with_columns(pl.col("year_of_birth") + 0.5)
    with pytest.raises(InputError, match="has '?1960.5'? in data row 1, which is not a number"):
        built(tmp_path / "half", person=person)


# --- several drugs, and the date ---

SEVERAL = intravar.simulate("multi-interacting", n_patients=300, n_physicians=4, random_state=2)
DRUGS = {"statin": [DRUG], "ace": [FURTHER_DRUGS[0]], "metformin": [FURTHER_DRUGS[1]]}


def of_several(folder: Path, **changed: pl.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    for name, table in (omop_frames(SEVERAL) | changed).items():
        table.write_csv(folder / f"{name}.csv")
    return folder


def test_several_drugs_are_several_decisions(tmp_path: Path) -> None:
    found = omop_patients(of_several(tmp_path / "cdm"), drug=DRUGS, date="visit")
    assert found.decisions == ("statin", "ace", "metformin")
    assert found.table.columns == [
        *("person_id", "provider_id", "statin", "ace", "metformin", "visit", "age", "sex")
    ]
    for name, decision in zip(DRUGS, SEVERAL.decisions.iter_columns(), strict=True):
        assert found.table[name].to_list() == decision.to_list()
    assert found.table["visit"].unique().to_list() == [VISIT]
    steps = dict(found.steps)
    assert steps["statin within 30 days"] == SEVERAL.decisions.to_series(0).sum()
    alone = omop_patients(tmp_path / "cdm", drug=[DRUG])
    assert alone.table["treated"].to_list() == found.table["statin"].to_list()
    assert "visit" not in alone.table.columns


def test_a_drug_had_before_is_no_decision(tmp_path: Path) -> None:
    """Who had one of the drugs counts for the others; who had all of them has no visit."""
    exposed = omop_frames(SEVERAL)["drug_exposure"]
    earlier = [(1, DRUG), (2, DRUG), *((3, drug) for drug in (DRUG, *FURTHER_DRUGS))]
    before = pl.DataFrame(
        [
            {
                "drug_exposure_id": 5000 + at,
                "person_id": person,
                "drug_concept_id": drug,
                "drug_exposure_start_date": date(2019, 1, 1),
                "provider_id": 1,
            }
            for at, (person, drug) in enumerate(earlier)
        ],
        schema=exposed.schema,
    )
    folder = of_several(tmp_path / "cdm", drug_exposure=pl.concat([exposed, before]))
    found = omop_patients(folder, drug=DRUGS)
    by_person = {row["person_id"]: row for row in found.table.to_dicts()}
    assert by_person[1]["statin"] is by_person[2]["statin"] is None
    assert by_person[1]["ace"] == SEVERAL.decisions["decision_2"][0]
    assert 3 not in by_person
    assert dict(found.steps)["statin had before"] == 2
    everybody = omop_patients(folder, drug=DRUGS, new_users=False).table
    assert everybody.height == 300
    assert everybody["statin"].null_count() == 0


def test_drugs_that_cannot_be_decisions(tmp_path: Path) -> None:
    folder = of_several(tmp_path / "cdm")
    wrong: dict[str, dict[str, list[int]]] = {
        "0 drugs are named": {},
        "leave out commas": {"a,b": [DRUG]},
        "which is a column": {"person_id": [DRUG]},
        "has no concept": {"statin": []},
        "has the concept 7": {"statin": [DRUG], "x": [7]},
        "two covariates are called 'age'": {"age": [DRUG]},
    }
    for words, drug in wrong.items():
        with pytest.raises(InputError, match=words):
            omop_patients(folder, drug=drug)
    with pytest.raises(InputError, match="for one drug"):
        omop_patients(folder, drug=DRUGS, provider="drug")
    for name in ("sex", "statin", "person_id"):
        with pytest.raises(InputError, match="another column is called"):
            omop_patients(folder, drug=DRUGS, date=name)


def test_the_command_takes_several_drugs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = of_several(tmp_path / "cdm"), tmp_path / "p.csv"

    def run(*more: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left:
            main(["omop", str(folder), "--out", str(out), *more])
        told = capsys.readouterr()
        return int(left.value.code or 0), told.out + told.err

    several = [f"--drug={name}={concepts[0]}" for name, concepts in DRUGS.items()]
    code, told = run(*several, "--date", "visit")
    assert code == 0
    assert "--decision statin,ace,metformin --date visit" in told
    table = pl.read_csv(out, try_parse_dates=True)
    assert table["visit"].dtype == pl.Date
    code, told = run(f"--drug={DRUG}", "--json")
    assert "treated within 30 days" in json.loads(told)["steps"]
    for wrong, words in (
        ([f"--drug={DRUG}", "--drug=a=7"], "has no name"),
        (["--drug=a=7", "--drug=a=8"], "two drugs are called 'a'"),
        (["--drug=a=x"], "concept 'x' is not a number"),
        (["--drug="], "has no concept"),
    ):
        code, told = run(*wrong)
        assert code == 2
        assert words in " ".join(told.split())
