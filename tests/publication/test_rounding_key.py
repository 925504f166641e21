"""The same data are rounded alike in every folder, from a point that follows from a secret key."""

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.measurement.result import Measurement
from intravar.publication.disclosure import published_of, rounding_point
from intravar.publication.pseudonyms import Pseudonyms, read_rounding_key
from intravar.publication.rounding_key import VARIABLE, key_file, rounding_key, user_key

N_RUNS = 8


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=12, random_state=5)
    return cohort.to_polars()


@pytest.fixture(scope="module")
def measured(table: pl.DataFrame) -> Measurement:
    columns: Any = {"physician": "physician", "decision": "decision"}
    found = intravar.measure(table, **columns, method="euclidean", min_panel=2)
    assert isinstance(found, Measurement)
    return found


@pytest.fixture
def another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "another" / "key.json"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def figures(folder: Path) -> Any:
    """Return all that is published and depends on no pseudonym."""
    content = json.loads((folder / "summary.json").read_text())
    content["decisions"][0].pop("own_rules")
    content["decisions"][0].pop("seconds")
    content["decisions"][0].pop("diagnostics")
    physicians = pl.read_parquet(folder / "physicians.parquet").drop("physician")
    return content, sorted(map(repr, physicians.rows()))


def points(measured: Measurement, keys: list[bytes]) -> list[float]:
    return [rounding_point(measured, "group", Pseudonyms(key, {}).secret) for key in keys]


def test_the_same_data_are_published_alike_in_every_folder(
    measured: Measurement, tmp_path: Path
) -> None:
    for run in range(N_RUNS):
        intravar.write_measurement(measured, tmp_path / f"run{run}")
    published = [figures(tmp_path / f"run{run}") for run in range(N_RUNS)]
    assert all(each == published[0] for each in published[1:])
    keys = {
        json.loads((tmp_path / f"run{run}-private" / "key.json").read_text())["key"]
        for run in range(N_RUNS)
    }
    assert len(keys) == N_RUNS  # pseudonyms stay with their folder


def test_a_key_file_repeats_the_figures_of_another_user(
    measured: Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    intravar.write_measurement(measured, tmp_path / "mine")
    key = tmp_path / "mine-private" / "key.json"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "theirs.json"))
    intravar.write_measurement(measured, tmp_path / "theirs", key=key)
    assert figures(tmp_path / "mine") == figures(tmp_path / "theirs")
    # Measuring into the same folder again keeps its key, too.
    before = figures(tmp_path / "mine")
    intravar.write_measurement(measured, tmp_path / "mine")
    assert figures(tmp_path / "mine") == before


def test_the_point_follows_from_the_data_and_not_from_the_request(measured: Measurement) -> None:
    secret = Pseudonyms(b"sixteen bytes or more", {}).secret
    point = rounding_point(measured, "group", secret)
    request = replace(measured.request, min_panel=50, matters=0.1, random_state=7)
    assert rounding_point(replace(measured, request=request), "group", secret) == point
    assert rounding_point(measured, "decision share", secret) != point


def test_one_patient_more_gives_a_point_that_tells_nothing_of_the_first(
    measured: Measurement,
) -> None:
    """Over many keys, the points of both data sets are uniform and independent."""
    main = measured.main
    n = main.scores.n_patients.copy()
    n[0] += 1
    scores = replace(main.scores, n_patients=n)
    method = measured.method
    other = replace(measured, fitted={**measured.fitted, method: replace(main, scores=scores)})
    random = np.random.default_rng(0)
    keys = [random.bytes(32) for _ in range(2000)]
    one, two = np.array(points(measured, keys)), np.array(points(other, keys))
    error = 1 / np.sqrt(12 * len(keys))
    for each in (one, two, (one - two) % 1):
        assert abs(each.mean() - 0.5) < 4 * error
        assert np.histogram(each, 10, (0, 1))[0].min() > 200 - 4 * np.sqrt(200)
    assert abs(np.corrcoef(one, two)[0, 1]) < 4 / np.sqrt(len(keys))


def test_an_attacker_who_tries_all_decisions_of_one_patient_is_left_with_both(
    measured: Measurement,
) -> None:
    """The attacker knows the method and all data but the last patient, and not the key.

    The exact figure of every hypothesis is known, too: what remains unknown is the point.
    """
    step, exact = 0.02, {0: 0.2650, 1: 0.2656}
    random = np.random.default_rng(1)
    seen = {
        decision: {
            round(step * round(value / step + point - 0.5), 6)
            for point in points(measured, [random.bytes(32) for _ in range(300)])
        }
        for decision, value in exact.items()
    }
    assert seen[0] == seen[1]
    assert len(seen[0]) == 2


def test_bands_of_the_same_physician_stay_the_same(measured: Measurement) -> None:
    names = {name: name for name in map(str, measured.table["physician"])}
    bands = []
    for _ in range(N_RUNS):
        secret = Pseudonyms.of(names, rounding=rounding_key(names)).secret
        rows = published_of(measured, names, secret).first.physicians
        bands.append([(row.physician, row.band_low, row.band_high) for row in rows])
    assert all(each == bands[0] for each in bands)


def test_the_key_is_made_once_and_for_its_owner_alone(another_key: Path) -> None:
    first = user_key()
    assert first is not None
    assert len(first) == 32
    assert user_key() == first
    assert rounding_key(["Ada", "Ben"]) == rounding_key(["Ben", "Ada", "Ada"])
    assert rounding_key(["Ada", "Ben"]) != rounding_key(["Ada"]) != first
    if os.name == "posix":
        assert another_key.stat().st_mode & 0o777 == 0o600
        assert another_key.parent.stat().st_mode & 0o777 == 0o700


def test_processes_that_make_the_key_at_once_get_the_same(another_key: Path) -> None:
    found: list[bytes | None] = []
    threads = [threading.Thread(target=lambda: found.append(user_key())) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 16


def test_a_file_that_is_no_key_is_refused(another_key: Path) -> None:
    another_key.parent.mkdir()
    another_key.write_text('{"key": "short"}')
    with pytest.raises(InputError, match="is not a key file"):
        user_key()


def test_a_place_that_was_named_and_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "key.json"))
    with pytest.raises(InputError, match=VARIABLE):
        user_key()


@pytest.mark.skipif(sys.platform != "linux", reason="each system has a place of its own")
def test_without_a_home_results_are_written_and_the_user_is_warned(
    measured: Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert key_file().is_relative_to(tmp_path / "file")
    with pytest.warns(UserWarning, match="cannot be kept"):
        intravar.write_measurement(measured, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").is_file()


def test_key_files_of_earlier_versions_round_as_before(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text(json.dumps({"key": "ab" * 32, "physicians": {}}))
    assert read_rounding_key(path) == bytes.fromhex("ab" * 32)
