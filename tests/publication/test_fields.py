"""Every published field is known, with the rule that makes it safe; docs/privacy.md lists it."""

import json
from pathlib import Path

import polars as pl
import pytest

import intravar
from published_fields import FIELDS, paths, rule_of

pytestmark = pytest.mark.usefixtures("learned_once")

DOCS = Path(__file__).parents[2] / "docs" / "privacy.md"
OTHERS = {"intravar.json", "physicians.html", "report.html", "request.toml"}


@pytest.fixture(scope="module", params=["latent-rule", "euclidean", "predictability"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=6, random_state=5)
    table = cohort.to_polars().with_columns(
        rare=pl.when(pl.int_range(1500) % 100 == 0).then(pl.int_range(1500)).otherwise(0),
        seen=pl.date(2023, 1, 1) + pl.duration(days=pl.int_range(1500) % 700),
        gap=pl.when(pl.int_range(1500) % 7 > 0).then(pl.col("age") % 13),
    )
    found = intravar.measure(
        table,
        physician="physician",
        decision="decision",
        method=request.param,
        methods=["mahalanobis"],
        # Methods without predictions refuse to compare strata.
        **({"by": "male", "date": "seen"} if request.param == "predictability" else {}),
    )
    out = tmp_path_factory.mktemp("fields") / "out"
    # Under one key of 720 the pseudonyms of six happen to lie in the order of their names.
    intravar.write_measurement(found, out, key=b"a key of sixteen bytes or more")
    return out


def test_every_field_of_every_file_is_known(folder: Path) -> None:
    files = {path.name for path in folder.iterdir()}
    assert files - OTHERS == {
        "summary.json",
        *(
            f"{name}.{suffix}"
            for name in ("physicians", "methods", "strata", "changes")
            if name in ("physicians", "methods") or (folder / f"{name}.csv").exists()
            for suffix in ("csv", "parquet")
        ),
    }
    for file in files - OTHERS:
        if file.endswith(".json"):
            found = set(paths(json.loads((folder / file).read_text("utf-8"))))
            unknown = {path for path in found if rule_of(file, path) is None}
        else:
            name = file.partition(".")[0]
            unknown = set(pl.read_parquet(folder / f"{name}.parquet").columns) - set(FIELDS[name])
        assert unknown == set(), f"{file} has fields without a rule"


def test_the_page_on_privacy_lists_them() -> None:
    text = DOCS.read_text("utf-8")
    for file, known in FIELDS.items():
        for path, rule in known.items():
            assert f"| `{path}` | {rule} |" in text, f"{file}: {path}"


def test_no_single_patient_shows_in_the_rule(folder: Path) -> None:
    """Of a column that is zero but for 15 patients, only means of eleven or more are shown."""
    rule = json.loads((folder / "summary.json").read_text("utf-8"))["decisions"][0]["rule"]
    values = [row["value"] for row in rule["dependence"] if row["covariate"] == "rare"]
    assert not set(values) & {float(row) for row in range(100, 1500, 100)}


def test_a_staff_list_does_not_undo_the_pseudonyms(folder: Path) -> None:
    """An attacker sorts the staff and every published list, and still knows nobody."""
    key = json.loads((folder.with_name("out-private") / "key.json").read_text("utf-8"))
    by_name = [pseudonym for pseudonym, _ in sorted(key["physicians"].items(), key=lambda x: x[1])]
    assert by_name != sorted(by_name)
    summary = json.loads((folder / "summary.json").read_text("utf-8"))["decisions"][0]
    stored = summary["diagnostics"]
    lists = [
        list(stored["overlap"]),
        list(stored["attrition"]),
        list(dict.fromkeys(row["physician"] for row in summary["own_rules"])),
        pl.read_csv(folder / "physicians.csv")["physician"].to_list(),
        pl.read_csv(folder / "methods.csv").filter(method="mahalanobis")["physician"].to_list(),
    ]
    for shown in lists:
        assert shown == sorted(shown)
