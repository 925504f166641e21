"""Several decisions of one table, in memory and as folders."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.cli import main
from intravar.errors import InputError
from intravar.estimators.several import common_folds
from intravar.measurement.measure_several import SeveralMeasured
from intravar.publication.fields import FIELDS, paths, rule_of
from intravar.publication.several_outputs import joint_lines
from intravar.request import Request, read_request
from intravar.wording import Words

pytestmark = pytest.mark.usefixtures("learned_once")

TOGETHER = {
    "physician": "physician",
    "decision": "decision,decision_2",
    "exclude": ["decision_3"],
    "min_reliability": 0.0,
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    cohort = intravar.simulate("multi-interacting", n_patients=480, n_physicians=4, seed=3)
    # Some were never asked about the second decision.
    asked = pl.when(pl.int_range(480) % 6 > 0).then(pl.col("decision_2"))
    return cohort.to_polars().with_columns(asked)


@pytest.fixture(scope="module")
def found(table: pl.DataFrame) -> SeveralMeasured:
    return intravar.measure_several(table, **TOGETHER)


@pytest.fixture(scope="module")
def folder(found: SeveralMeasured, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("several") / "out"
    intravar.write_several(found, out)
    return out


def test_a_row_without_one_decision_counts_for_the_other(
    table: pl.DataFrame, found: SeveralMeasured
) -> None:
    first, second = (
        each.check.prepared.observed.n_patients for each in found.measurements.values()
    )
    assert (first, second) == (480, 400)
    assert found.together.physicians["n_patients"].sum() == 400
    by_decision = found.together.by_decision.group_by("decision", maintain_order=True).agg(
        pl.col("n_patients").sum()
    )
    assert by_decision["n_patients"].to_list() == [480, 400]
    # Neither decision is a covariate of the other.
    for each in found.measurements.values():
        assert not {"decision", "decision_2"} & set(each.check.prepared.covariates)


def test_figures_make_sense(found: SeveralMeasured) -> None:
    together = found.together
    table = together.physicians
    assert (table["differ_low"] <= table["differ"]).all()
    assert (table["differ"] <= table["differ_high"]).all()
    assert (table["differ"] <= 0.75).all()
    # Whoever differs in a decision differs in one at least, and the number counts both.
    assert (table["differ"] <= table["n_differences"] + 0.05).all()
    alone = found.measurements["decision"].table["discordance"]
    part = together.by_decision.filter(pl.col("decision") == "decision")
    np.testing.assert_allclose(part["discordance"], alone, atol=1e-12)
    assert part["given"].null_count() == part.height
    assert "at least one of 2 decisions" in repr(found)


def test_folds_do_not_depend_on_the_order_of_the_table(found: SeveralMeasured) -> None:
    predicted = found.predicted
    content, code = np.hstack([predicted.own, predicted.pooled]), predicted.code
    order = np.random.default_rng(1).permutation(len(code))
    again = common_folds(content[order], predicted.decided[order], code[order], 0)
    np.testing.assert_array_equal(again, predicted.fold[order])


def test_every_published_field_is_known(folder: Path) -> None:
    for name in ("joint", "decisions", "pairs"):
        columns = set(pl.read_parquet(folder / f"{name}.parquet").columns)
        assert columns == set(FIELDS[name])
    stored = json.loads((folder / "several.json").read_text("utf-8"))
    unknown = {path for path in paths(stored) if rule_of("several.json", path) is None}
    assert unknown == set()


def test_folders_share_pseudonyms(folder: Path) -> None:
    keys = [
        json.loads((folder.with_name(f"out{end}-private") / "key.json").read_text("utf-8"))
        for end in ("", "-decision", "-decision_2")
    ]
    assert keys[0]["key"] == keys[1]["key"] == keys[2]["key"]
    joint = pl.read_parquet(folder / "joint.parquet")
    assert joint["physician"].is_sorted()
    assert set(joint["physician"]) == set(keys[0]["physicians"])
    page = (folder / "report.html").read_text("utf-8")
    assert "../out-decision_2/report.html" in page
    assert "P01" not in page


def test_another_request_is_not_overwritten(found: SeveralMeasured, folder: Path) -> None:
    request = Request(physician="physician", decision="decision,decision_3")
    other = replace(found, request=request)
    with pytest.raises(InputError, match="another request"):
        intravar.write_several(other, folder)
    intravar.write_several(found, folder)


def test_request_names_several_decisions(tmp_path: Path) -> None:
    request = Request(physician="p", decision=["a", "b"], order=["b", "a"])  # type: ignore[arg-type]
    assert request.decision == "a,b"
    assert request.decisions == ("b", "a")
    assert Request(physician="p", decision="a").decisions == ("a",)
    (tmp_path / "study.toml").write_text(request.to_toml("t.csv"))
    assert read_request(tmp_path / "study.toml")[1] == request
    (tmp_path / "list.toml").write_text(
        'source = "t.csv"\n[columns]\nphysician = "p"\ndecision = ["a", "b"]\n'
    )
    assert read_request(tmp_path / "list.toml")[1].decisions == ("a", "b")
    with pytest.raises(InputError, match="name each of them once"):
        Request(physician="p", decision="a,b", order=["a"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="names 'b', which is the decision"):
        Request(physician="p", decision="a,b", where="b = 1")


def test_what_cannot_be_measured_is_said(table: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="give 2 to 6"):
        intravar.measure_several(table, physician="physician", decision="decision")
    with pytest.raises(InputError, match="one of the decisions"):
        intravar.measure_several(table, **TOGETHER, covariates=["age", "decision_2"])


def test_lines_say_who_goes_with_whom() -> None:
    pair = {"first": "a", "second": "b", "together": 0.05, "expected": 0.08}
    pair |= {"correlation": -0.2, "low": -0.3, "high": -0.1}
    summary = {"decisions": ["a", "b"], "differ": 0.4, "differ_apart": 0.4, "n_differences": 0.5}
    summary |= {"differ_low": 0.3, "differ_high": 0.5}
    summary |= {"n_differences_low": 0.4, "n_differences_high": 0.6}
    lines = joint_lines(summary | {"pairs": [pair]})
    assert lines[-1] == (
        "a and b are given together less often than covariates explain (5 instead of 8 of 100 "
        "patients)"
    )
    assert joint_lines(summary | {"pairs": [pair | {"together": None}]})[-1].endswith("explain")
    words = Words.of({"labels": (("a", "physicians' choice"),), "decider_word": "team,teams"})
    told = joint_lines(summary | {"pairs": [pair]}, words)[-1]
    assert told.startswith("physicians' choice and b are given together")


def test_the_command_prints_and_writes(
    found: SeveralMeasured,
    table: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(intravar, "measure_several", lambda *_, **__: found)
    table.write_csv(tmp_path / "t.csv")
    asked = [
        *("measure", str(tmp_path / "t.csv"), "--physician", "physician"),
        *("--decision", "decision,decision_2", "--exclude", "decision_3"),
        *("--min-reliability", "0", "--out", str(tmp_path / "out")),
    ]
    for extra in ([], ["--json", "--replace"]):
        with pytest.raises(SystemExit) as left:
            main([*asked, *extra])
        assert left.value.code == 0
        printed = capsys.readouterr().out
        said = "differ in at least one" in " ".join(printed.split())
        assert said if not extra else json.loads(printed)["joint"]
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
        f"out{end}{private}"
        for end in ("", "-decision", "-decision_2")
        for private in ("", "-private")
    }
