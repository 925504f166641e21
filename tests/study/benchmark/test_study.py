"""Studies: the same bits whatever the workers, the order, a resume or the other methods."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import intravar
from intravar.errors import InputError
from intravar.estimators import Euclidean
from intravar.runs.store import read_record, software_versions, write_record
from intravar.study.benchmark import resolve_conditions, resolve_methods
from intravar.study.units import SCORE_SCHEMA
from study.benchmark.small import CONTINUUM, METHODS, SMALL, WINDOW


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "out"
    return intravar.benchmark(
        [SMALL, WINDOW, CONTINUUM], METHODS, out=folder, replicates=2, n_jobs=1
    )


def test_what_lies_in_the_folder(study):
    found = {path.name for path in study.folder.iterdir()}
    assert found >= {
        "scores.parquet",
        "runs.parquet",
        "tables",
        "summary.json",
        "manifest.json",
        "details.json",
        "parts",
    }
    scores = pl.read_parquet(study.folder / "scores.parquet")
    assert scores.columns == list(SCORE_SCHEMA)
    assert set(scores["method"]) == {*METHODS, "oracle", "constant"}
    assert scores.height == 2 * 5 * (5 + 5 + 6)
    runs = pl.read_parquet(study.folder / "runs.parquet")
    assert runs["error"].null_count() == runs.height == 2 * 3 * 5
    assert runs["memory_mb"].min() > 10
    manifest = json.loads((study.folder / "manifest.json").read_text())
    assert {"aims", "data_generating_mechanisms", "estimands", "methods"} <= manifest.keys()
    assert "performance_measures" in manifest
    for name in study.tables:
        for suffix in ("csv", "parquet", "md"):
            assert (study.folder / "tables" / f"{name}.{suffix}").is_file()


def test_scores_are_those_of_the_estimators(study):
    cohort = SMALL.simulate(SMALL.replicate_seed(1))
    model = Euclidean().fit(*cohort.observed())
    rows = study.scores.filter(condition="small", replicate=1, method="euclidean")
    assert rows["score"].to_list() == model.score_.tolist()
    assert rows["n_pairs"].to_list() == model.n_pairs_.tolist()
    low, high, _ = model.ends()
    assert np.isfinite(low).all()
    assert rows["low"].to_list() == low.tolist()
    assert rows["high"].to_list() == high.tolist()
    truth = intravar.oracle(cohort)
    assert rows["oracle"].to_list() == truth["oracle"].to_list()
    assert rows["d_star"].to_list() == truth["d_star"].to_list()
    oracle = study.scores.filter(condition="small", replicate=1, method="oracle")
    assert oracle["score"].to_list() == oracle["oracle"].to_list()
    constant = study.scores.filter(condition="small", replicate=1, method="constant")
    share = cohort.decision.mean()
    assert constant["score"].to_list() == pytest.approx([2 * share * (1 - share)] * 5)


def test_bits_do_not_depend_on_workers_or_order(study, tmp_path):
    other = intravar.benchmark(
        [CONTINUUM, WINDOW, SMALL], METHODS[::-1], out=tmp_path / "o", replicates=2, n_jobs=2
    )
    assert_frame_equal(study.scores, other.scores)


def test_bits_do_not_depend_on_other_methods_or_resume(study, tmp_path):
    folder = tmp_path / "o"
    intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    intravar.benchmark([SMALL, WINDOW], ["euclidean"], out=folder, replicates=2, n_jobs=1)
    whole = intravar.benchmark(
        [SMALL, WINDOW, CONTINUUM], METHODS, out=folder, replicates=2, n_jobs=1
    )
    assert_frame_equal(study.scores, whole.scores)


def test_a_second_run_does_nothing(study):
    watch = Watch()
    again = intravar.benchmark(
        [SMALL, WINDOW, CONTINUUM],
        METHODS,
        out=study.folder,
        replicates=2,
        n_jobs=1,
        progress=watch,
    )
    assert watch.done == 0
    assert watch.steps == ["18 units are there from an earlier run and are kept"]
    assert_frame_equal(study.scores, again.scores)


def test_fresh_starts_over_and_leaves_other_files(tmp_path):
    folder = tmp_path / "o"
    intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    (folder / "notes.txt").write_text("mine")
    fresh = intravar.benchmark([SMALL], ["euclidean"], out=folder, n_jobs=1, fresh=True)
    assert "glmm" not in set(fresh.scores["method"])
    assert (folder / "notes.txt").read_text() == "mine"


class Watch:
    """Counts what a study reports."""

    def __init__(self):
        self.done = 0
        self.steps, self.notes = [], []

    def step(self, words, seconds=None):
        self.steps.append(words)

    def part(self, done, total, left=None, words=""):
        self.done += 1
        assert (done, left >= 0) == (self.done, True)

    def note(self, words):
        self.notes.append(words)


def damage_truncate(part):
    part.write_bytes(part.read_bytes()[:-7])


def damage_tamper(part):
    table = pl.read_parquet(part)
    table.with_columns(score=pl.lit(0.5)).write_parquet(part)


def damage_record(part):
    record = part.with_suffix(".json")
    record.write_text(record.read_text().replace('"error": null', '"error": "x"'))


def damage_half_record(part):
    record = part.with_suffix(".json")
    record.write_text(record.read_text()[:40])


def damage_remove(part):
    part.unlink()


@pytest.mark.parametrize(
    "damage", [damage_truncate, damage_tamper, damage_record, damage_half_record, damage_remove]
)
def test_a_damaged_part_is_named_and_done_again(damage, study, tmp_path):
    folder = tmp_path / "o"
    first = intravar.benchmark([SMALL], ["euclidean", "glmm"], out=folder, n_jobs=1)
    part = next((folder / "parts").glob("*.glmm.*.parquet"))
    damage(part)
    watch = Watch()
    again = intravar.benchmark([SMALL], ["euclidean", "glmm"], out=folder, n_jobs=1, progress=watch)
    assert watch.done == 1
    assert any(part.stem in note for note in watch.notes)
    assert_frame_equal(first.scores, again.scores)


def test_another_version_is_not_mixed_in(tmp_path, monkeypatch):
    folder = tmp_path / "o"
    intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    versions = {**software_versions(), "numpy": "9.9"}
    monkeypatch.setattr("intravar.study.benchmark.software_versions", lambda: versions)
    with pytest.raises(InputError, match="numpy: .* then, 9.9 now.*; use --fresh"):
        intravar.benchmark([SMALL], ["glmm", "euclidean"], out=folder, n_jobs=1)
    mixed = intravar.benchmark(
        [SMALL], ["glmm", "euclidean"], out=folder, n_jobs=1, allow_mixed=True
    )
    assert {"glmm", "euclidean"} <= set(mixed.scores["method"])


def test_parts_of_an_earlier_version_are_not_damaged(tmp_path):
    folder = tmp_path / "o"
    first = intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    for path in (folder / "parts").glob("*.json"):
        record = read_record(path)
        record["versions"]["intravar"] = "0.0"
        for run in record["runs"]:
            del run["memory_mb"], run["versions"]
        write_record(path, record)
    with pytest.raises(InputError, match="intravar: 0.0 then, .* now"):
        intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    kept = intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1, allow_mixed=True)
    assert_frame_equal(first.scores, kept.scores)
    assert kept.runs["memory_mb"].null_count() == kept.runs.height


def test_another_configuration_is_not_mixed_in(tmp_path):
    folder = tmp_path / "o"
    intravar.benchmark([SMALL], [Euclidean()], out=folder, n_jobs=1)
    with pytest.raises(InputError, match="another version or configuration .*caliper"):
        intravar.benchmark([SMALL], [Euclidean(caliper=0.1)], out=folder, n_jobs=1)
    larger = SMALL.resized(600, None)
    with pytest.raises(InputError, match=r"configuration \(scenario: not the same\); use --fresh"):
        intravar.benchmark([larger], [Euclidean()], out=folder, n_jobs=1)


class Failing(Euclidean):
    """Fails on one cohort."""

    name = "failing"
    shares = "failing"

    def _fit(self, observed):
        if len(observed.physicians) == 6:
            raise RuntimeError("six is too many")
        super()._fit(observed)


def test_a_failing_method_is_recorded_and_the_rest_goes_on(tmp_path):
    study = intravar.benchmark(
        [SMALL, CONTINUUM], [Failing(), "glmm"], out=tmp_path / "o", n_jobs=1
    )
    assert study.failures.select("condition", "method", "error").rows() == [
        ("small-continuum", "failing", "RuntimeError: six is too many")
    ]
    assert study.scores.filter(method="failing")["condition"].unique().to_list() == ["small"]
    assert study.scores.filter(method="glmm")["condition"].n_unique() == 2
    watch = Watch()
    intravar.benchmark(
        [SMALL, CONTINUUM], [Failing(), "glmm"], out=tmp_path / "o", n_jobs=1, progress=watch
    )
    assert watch.done == 1


def test_resampled_patients_are_copies_of_the_first_draw(tmp_path):
    study = intravar.benchmark(
        [SMALL],
        ["euclidean"],
        out=tmp_path / "o",
        replicates=3,
        n_jobs=1,
        replicates_are="resampled",
    )
    fresh = intravar.benchmark([SMALL], ["euclidean"], out=tmp_path / "f", replicates=3, n_jobs=1)
    deltas = [
        (
            each.scores.filter(method="euclidean")["score"]
            - each.scores.filter(method="euclidean")["oracle"]
        ).mean()
        for each in (study, fresh)
    ]
    # Copies of a patient match each other and agree by construction.
    assert deltas[0] < deltas[1] - 0.05


PROGRAM = """
import sys
import intravar
from study.benchmark.small import CONTINUUM, METHODS, SMALL, WINDOW
intravar.benchmark(
    [SMALL, WINDOW, CONTINUUM], METHODS, out=sys.argv[1], replicates=40, n_jobs=2
)
"""


def test_kill_loses_at_most_the_units_in_flight(tmp_path):
    folder = tmp_path / "o"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path]),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], env=environment, start_new_session=True
    )
    deadline = time.monotonic() + 60
    parts = folder / "parts"
    while time.monotonic() < deadline and len(list(parts.glob("*.json"))) < 8:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path.name: path.read_bytes() for path in parts.glob("*.json")}
    assert len(kept) >= 8
    watch = Watch()
    study = intravar.benchmark(
        [SMALL, WINDOW, CONTINUUM],
        METHODS,
        out=folder,
        replicates=2,
        n_jobs=1,
        progress=watch,
    )
    assert watch.notes == []
    assert study.scores.filter(pl.col("replicate") < 2).height == 160
    for name, content in kept.items():
        assert (parts / name).read_bytes() == content


def test_one_run_at_a_time(tmp_path):
    from intravar.study.benchmark import Store

    folder = tmp_path / "o"
    with Store(folder).held(), pytest.raises(InputError, match="another run is working"):
        intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)


def test_bad_requests(tmp_path):
    cases = [
        ({"conditions": "scor2"}, "unknown condition 'scor2'; did you mean 'score2'"),
        ({"methods": "gllm"}, "unknown method 'gllm'; did you mean 'glmm'"),
        ({"conditions": []}, "no condition"),
        ({"methods": []}, "no method"),
        ({"replicates": 0}, "0 replicates"),
        ({"workers": 0}, "0 workers"),
        ({"engine": "cloud"}, "unknown engine 'cloud'"),
        ({"out": tmp_path / "no" / "where"}, "does not exist"),
    ]
    for change, words in cases:
        with pytest.raises(InputError, match=words):
            intravar.benchmark(
                **{"conditions": SMALL, "methods": "glmm", "out": tmp_path / "o", **change}
            )
    assert not (tmp_path / "o").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        intravar.benchmark(SMALL, "glmm", out=tmp_path / "file")


def test_disk_full_is_said_and_nothing_is_broken(tmp_path, monkeypatch):
    folder = tmp_path / "o"
    intravar.benchmark([SMALL], ["glmm"], out=folder, n_jobs=1)
    before = sorted(path.name for path in folder.rglob("*"))

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("intravar.writing.os.replace", full)
    with pytest.raises(InputError, match="cannot write .*No space left on device"):
        intravar.benchmark([SMALL], ["glmm", "euclidean"], out=folder, n_jobs=1)
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_names_of_conditions_and_methods():
    assert len(resolve_conditions("all")) == 94
    assert len(resolve_conditions("grid")) == 20
    assert len(resolve_conditions(["quick", "score2"])) == len(resolve_conditions("quick"))
    assert len(resolve_conditions("stress")) == 36
    names = [method.name for method in resolve_methods("all")]
    assert names[-2:] == ["glmm", "latent-rule"]


def test_names_may_come_one_by_one(tmp_path):
    study = intravar.benchmark(
        (each for each in [SMALL]), iter(["euclidean"]), out=tmp_path / "out", n_jobs=1
    )
    assert study.manifest["command"].startswith(
        f"intravar benchmark {SMALL.name} --methods euclidean --replicates 1"
    )


def test_undefined_scores_are_counted(tmp_path):
    class Undefined(Euclidean):
        name = "undefined"

        def _fit(self, observed):
            super()._fit(observed)
            self.score_[0], self.reason_[0] = np.nan, "just so"

    study = intravar.benchmark([SMALL], [Undefined()], out=tmp_path / "o", n_jobs=1)
    summary = study.summary()
    assert summary["undefined_scores"] == 1
    assert summary["undefined_reasons"] == {"just so": 1}
