"""Several decisions of one measurement, in memory and as a folder."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.cli import main
from intravar.errors import InputError
from intravar.estimators.several import common_folds
from intravar.measurement.wider.several import Together
from intravar.publication.files import read_published
from intravar.publication.results import Figure, Joint, JointDecision, JointPair
from intravar.publication.sentences import joint_lines
from intravar.request import Request, read_request
from intravar.wording import USUAL, Words
from published_fields import FIELDS, paths, rule_of

pytestmark = pytest.mark.usefixtures("learned_once")

TOGETHER = {
    "physician": "physician",
    "decision": "decision,decision_2",
    "exclude": ["decision_3"],
    "min_reliability": 0.0,
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    cohort = intravar.simulate("multi-interacting", n_patients=480, n_physicians=4, random_state=3)
    # Some were never asked about the second decision.
    asked = pl.when(pl.int_range(480) % 6 > 0).then(pl.col("decision_2"))
    return cohort.to_polars().with_columns(asked)


@pytest.fixture(scope="module")
def measured(table: pl.DataFrame) -> intravar.Measurement:
    return intravar.measure(table, **TOGETHER)


@pytest.fixture(scope="module")
def found(measured: intravar.Measurement) -> Together:
    assert measured.together is not None
    return measured.together


@pytest.fixture(scope="module")
def folder(measured: intravar.Measurement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("several") / "out"
    intravar.write_measurement(measured, out)
    return out


def test_a_row_without_one_decision_counts_for_the_other(
    table: pl.DataFrame, found: Together
) -> None:
    first, second = (each.check.prepared.observed.n_patients for each in found.decisions.values())
    assert (first, second) == (480, 400)
    assert found.joint.physicians["n_patients"].sum() == 400
    by_decision = found.joint.by_decision.group_by("decision", maintain_order=True).agg(
        pl.col("n_patients").sum()
    )
    assert by_decision["n_patients"].to_list() == [480, 400]
    # Neither decision is a covariate of the other.
    for each in found.decisions.values():
        assert not {"decision", "decision_2"} & set(each.check.prepared.covariates)


def test_figures_make_sense(measured: intravar.Measurement, found: Together) -> None:
    assert "at least one of 2 decisions" in repr(measured)
    together = found.joint
    table = together.physicians
    assert (table["differ_low"] <= table["differ"]).all()
    assert (table["differ"] <= table["differ_high"]).all()
    assert (table["differ"] <= 0.75).all()
    # Whoever differs in a decision differs in one at least, and the number counts both.
    assert (table["differ"] <= table["n_differences"] + 0.05).all()
    alone = found.decisions["decision"].table["discordance"]
    part = together.by_decision.filter(pl.col("decision") == "decision")
    np.testing.assert_allclose(part["discordance"], alone, atol=1e-12)
    assert part["given"].null_count() == part.height


def test_folds_do_not_depend_on_the_order_of_the_table(found: Together) -> None:
    predicted = found.predicted
    content, code = np.hstack([predicted.own, predicted.pooled]), predicted.code
    order = np.random.default_rng(1).permutation(len(code))
    again = common_folds(content[order], predicted.decided[order], code[order], 0)
    np.testing.assert_array_equal(again, predicted.fold[order])


def test_every_published_field_is_known_and_read_back(folder: Path) -> None:
    for file in folder.glob("*.json"):
        stored = json.loads(file.read_text("utf-8"))
        if file.name in FIELDS:
            unknown = {path for path in paths(stored) if rule_of(file.name, path) is None}
            assert unknown == set(), file.name
    for name in ("joint", "decisions", "pairs"):
        columns = set(pl.read_parquet(folder / f"{name}.parquet").columns)
        assert columns == set(FIELDS[name])
    read = read_published(folder)
    assert [each.decision for each in read.decisions] == ["decision", "decision_2"]
    assert read.joint is not None
    assert all(len(each.physicians) == 4 for each in read.decisions)


def test_one_folder_holds_all_decisions(folder: Path) -> None:
    assert {path.name for path in folder.parent.iterdir()} == {"out", "out-private"}
    key = json.loads((folder.with_name("out-private") / "key.json").read_text("utf-8"))
    joint = pl.read_parquet(folder / "joint.parquet")
    assert joint["physician"].is_sorted()
    assert set(joint["physician"]) == set(key["physicians"])
    assert pl.read_csv(folder / "physicians.csv")["decision"].n_unique() == 2
    page = (folder / "report.html").read_text("utf-8")
    assert "decision_2 by itself" in page
    assert "P01" not in page
    shown = joint["physician"][0]
    for name in ("decision", "decision_2"):
        assert intravar.explain(folder, shown, decision=name).height
    with pytest.raises(InputError, match="name one of decision, decision_2"):
        intravar.explain(folder, shown)


def test_another_request_is_not_overwritten(measured: intravar.Measurement, folder: Path) -> None:
    assert measured.together is not None
    request = Request(physician="physician", decision="decision,decision_3")
    other = replace(measured, together=replace(measured.together, request=request))
    with pytest.raises(InputError, match="another request"):
        intravar.write_measurement(other, folder)
    intravar.write_measurement(measured, folder)


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
        intravar.measure(table, physician="physician", decision="a,b,c,d,e,f,g")
    with pytest.raises(InputError, match="one of the decisions"):
        intravar.measure(table, **TOGETHER, covariates=["age", "decision_2"])
    for settings in (
        intravar.RunSettings(memory="1KB"),
        intravar.RunSettings(n_jobs=0),
        intravar.RunSettings(engine="dask:nowhere"),
    ):
        with pytest.raises(InputError):
            intravar.measure(table, **TOGETHER, settings=settings)


def test_a_large_table_is_learned_from_a_sample(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone through once for all decisions, and joint figures are of everybody."""
    passes: list[str] = []
    for place, name in (("preparation.sample", "take_census"), ("runs.buckets", "scatter")):
        module = import_module(f"intravar.{place}")
        monkeypatch.setattr(module, name, _noted(passes, name, getattr(module, name)))
    copies = [table.with_columns(pl.col("physician") + f" {copy}") for copy in range(3)]
    large = pl.concat(copies).with_columns(age=pl.col("age") + pl.int_range(pl.len()) % 3)
    found = intravar.measure(large, **TOGETHER, sample=1000, repeated="all")
    assert found.together is not None
    for each in found.decisions.values():
        assert each.check.beyond is not None
        assert each.table.height == 12
    joint = found.together.joint.physicians
    assert joint.height == 12
    assert joint["differ"].null_count() == 0
    assert joint["n_patients"].sum() == 3 * 400
    assert passes == ["take_census", "scatter"]


def _noted(passes: list[str], name: str, called: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*given: Any, **named: Any) -> Any:
        passes.append(name)
        return called(*given, **named)

    return noted


def test_lines_say_who_goes_with_whom() -> None:
    pair = JointPair("a", "b", 0.05, 0.08, Figure(-0.2, -0.3, -0.1))

    def lines(pair: JointPair, words: Words = USUAL) -> list[str]:
        decisions = tuple(JointDecision(name, 0.3, None) for name in "ab")
        figures = Figure(0.4, 0.3, 0.5), 0.4, Figure(0.5, 0.4, 0.6)
        joint = Joint(*figures, 0, 0, decisions, (pair,), (), (), ())
        return joint_lines(joint, words)

    assert lines(pair)[1] == (
        "on average they differ in at most 0.60 decisions (estimate of the limit: 0.50)"
    )
    assert lines(pair)[-1] == (
        "a and b are given together less often than covariates explain (5 instead of 8 of 100 "
        "patients)"
    )
    assert lines(replace(pair, together=None))[-1].endswith("explain")
    words = Words.of({"labels": (("a", "physicians' choice"),), "decider_word": "team,teams"})
    assert lines(pair, words)[-1].startswith("physicians' choice and b are given together")


def test_the_command_prints_and_writes(
    measured: intravar.Measurement,
    table: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(intravar, "measure", lambda *_, **__: measured)
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
        assert said if not extra else json.loads(printed)["joint"]["differ"]
        assert said if not extra else json.loads(printed)["decisions"][0]["verdict"]
        assert "out-private" in printed or extra
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"out", "out-private"}
