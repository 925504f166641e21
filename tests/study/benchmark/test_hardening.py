"""Nothing of the user's is lost, and nothing is counted that does not belong."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import intravar
import intravar.writing
from intravar.errors import InputError
from intravar.estimators import Euclidean
from intravar.runs.engines import Engine
from intravar.runs.store import software_versions
from intravar.writing import record_checksum
from study.benchmark.small import SMALL


def run(folder: Path, methods: Any = "glmm", **options: Any) -> intravar.study.Study:
    return intravar.benchmark(SMALL, methods, out=folder, **{"n_jobs": 1, **options})


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".intravar.lock"
    }


# --- what is the user's ---


def test_fresh_leaves_what_it_did_not_write(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    run(folder, ["glmm", "euclidean"])
    mine = ["figures/mine.svg", "tables/mine.csv", "parts/mine.json", "parts/mine.parquet", "n.txt"]
    for name in mine:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("precious")
    run(folder, "glmm", fresh=True)
    assert {name: contents(folder).get(name) for name in mine} == dict.fromkeys(mine, b"precious")
    assert set(pl.read_parquet(folder / "scores.parquet")["method"]) == {
        "glmm",
        "oracle",
        "constant",
    }


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("name", ["summary.json", "scores.parquet", "tables/seconds.csv"])
def test_a_file_of_others_is_not_overwritten(name: str, fresh: bool, tmp_path: Path) -> None:
    """The summary of a measurement, say, in a folder that was named by mistake."""
    folder = tmp_path / "o"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_text("precious")
    with pytest.raises(InputError, match=f"{Path(name).name}' would be overwritten"):
        run(folder, fresh=fresh)
    assert contents(folder) == {name: b"precious"}


def test_a_lock_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / ".lock").write_text("precious")
    run(tmp_path / "o")
    assert (tmp_path / "o" / ".lock").read_text() == "precious"


def test_what_a_killed_run_was_writing_is_swept(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    run(folder)
    for name in ("parts/.x.parquet.0123abcd.part", ".scores.parquet.0123abcd.part"):
        (folder / name).write_text("half")
    (folder / "mine.part").write_text("mine")
    run(folder)
    assert [name for name in contents(folder) if name.endswith(".part")] == ["mine.part"]


# --- what does not belong ---


def test_fresh_and_resampled_replicates_do_not_mix(tmp_path: Path) -> None:
    run(tmp_path / "o", replicates=2)
    with pytest.raises(InputError, match="holds fresh replicates .* resampled ones"):
        run(tmp_path / "o", replicates=2, replicates_are="resampled", allow_mixed=True)
    run(tmp_path / "o", replicates=2, replicates_are="resampled", fresh=True)
    with pytest.raises(InputError, match="holds resampled replicates .* fresh ones"):
        run(tmp_path / "o", replicates=2)


def test_a_copied_part_does_not_count_twice(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    first = run(folder)
    part = next((folder / "parts").glob("*.glmm.*.json"))
    for suffix in (".json", ".parquet"):
        shutil.copy(part.with_suffix(suffix), part.with_name(f"copy{suffix}"))
    again = run(folder)
    assert_frame_equal(first.scores, again.scores)
    assert (folder / "parts" / "copy.json").is_file()


def test_a_copy_that_calls_itself_another_unit_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    run(folder)
    part = next((folder / "parts").glob("*.glmm.*.json"))
    shutil.copy(part.with_suffix(".parquet"), part.with_name("other.parquet"))
    forge(part, part.with_name("other.json"), unit="other")
    with pytest.raises(InputError, match="both hold glmm on small, replicate 0"):
        run(folder)


def forge(part: Path, target: Path, **changes: object) -> None:
    """Write a changed record whose checksum is right."""
    record = json.loads(part.read_text()) | changes
    record.pop("sha256")
    record["sha256"] = record_checksum(record)
    target.write_text(json.dumps(record))


class Flaky(Euclidean):
    """Fails until told otherwise."""

    name = "flaky"
    shares = "flaky"
    fails = True

    def _fit(self, observed: Any) -> None:
        if Flaky.fails:
            raise RuntimeError("no luck")
        super()._fit(observed)


def test_a_failure_that_was_mended_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(Euclidean):
        name = "other"
        shares = "flaky"

    assert run(tmp_path / "o", [Flaky(), Other()]).failures.height == 1
    monkeypatch.setattr(Flaky, "fails", False)
    study = run(tmp_path / "o", [Flaky(), Other()])
    assert study.failures.height == 0
    assert study.runs.filter(method="flaky").height == 1


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("../../evil", "/evil", "a/b", "a\\b", "", ".", "evil\x1b[2J", "x" * 200, "con:"):
        with pytest.raises(InputError, match="is also that of a file"):
            intravar.benchmark(
                replace(SMALL, name=name), "glmm", out=tmp_path / "deep" / "o", n_jobs=1
            )

    class Evil(Euclidean):
        name = "../evil"

    with pytest.raises(InputError, match="is also that of a file"):
        run(tmp_path / "deep" / "o", [Evil()])
    assert list(tmp_path.rglob("*")) == [tmp_path / "deep"]


def test_names_that_differ_by_case_alone(tmp_path: Path) -> None:
    both = [SMALL, replace(SMALL, name="Small")]
    with pytest.raises(InputError, match="differ by case"):
        intravar.benchmark(both, "glmm", out=tmp_path / "o", n_jobs=1)


# --- what is damaged ---

DAMAGE: dict[str, Callable[[Path], object]] = {
    "no record": lambda part: part.write_text(""),
    "a list": lambda part: part.write_text("[]"),
    "deeply nested": lambda part: part.write_text("[" * 100_000),
    "not text": lambda part: part.write_bytes(b"\xff\xfe\x00"),
    "no runs": lambda part: forge(part, part, runs=None),
    "runs of nothing": lambda part: forge(part, part, runs=[{}]),
    "versions as text": lambda part: forge(part, part, versions="1.0"),
    "no scores": lambda part: part.with_suffix(".parquet").unlink(),
    "a folder": lambda part: (part.unlink(), part.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_part_is_done_again_and_kept(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    folder = tmp_path / "o"
    first = run(folder)
    part = next((folder / "parts").glob("*.glmm.*.json"))
    damage(part)
    again = run(folder)
    assert_frame_equal(first.scores, again.scores)
    assert (folder / "parts" / f"{part.stem}.damaged.json.kept").exists()


@pytest.mark.parametrize("name", ["parts", "tables"])
def test_a_file_in_place_of_a_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "o"
    folder.mkdir()
    (folder / name).write_text("mine")
    with pytest.raises(InputError, match=f"{name}' is a file"):
        run(folder)
    assert (folder / name).read_text() == "mine"


def test_parts_that_do_not_fit_together(tmp_path: Path) -> None:
    folder = tmp_path / "o"
    run(folder)
    part = next((folder / "parts").glob("*.glmm.*.json"))
    scores = part.with_suffix(".parquet")
    pl.read_parquet(scores).drop("d_star").write_parquet(scores)
    forge(part, part, tables={"": intravar.writing.checksum(scores)})
    with pytest.raises(InputError, match="do not fit together"):
        run(folder)


# --- workers ---


def killed(task: int) -> int:
    if task == 3:
        os._exit(9)
    return task


@pytest.mark.skipif(os.name != "posix", reason="dies as a process of POSIX does")
def test_a_killed_worker_is_said() -> None:
    with pytest.raises(InputError, match="a worker was killed, most likely .* memory"):
        list(Engine(2).run(killed, range(8)))


def test_versions_are_those_of_the_run() -> None:
    assert "intravar" in software_versions()
