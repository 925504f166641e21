"""Links out of the allowed folders lead nowhere, and uploads never land in a result."""

import ast
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from starlette.routing import Route

import intravar
import intravar.app
from app.conftest import Opened
from intravar.app.draft import Draft
from intravar.app.places import Places, key_of, plain_name
from intravar.app.server import ROUTES
from intravar.errors import InputError

SECRET = "the-secret-outside"
#: Routes that need neither a table nor a measurement.
WITHOUT_FILES = {
    *("/", "/app.css", "/app.js", "/open", "/upload", "/example", "/task/{task}"),
    *("/run", "/run/stop", "/compare", "/quit"),
}


@pytest.fixture(scope="module")
def measured(opened: Opened) -> Path:
    """A small measurement in the folder of the app."""
    cohort = intravar.simulate("score2", n_patients=600, n_physicians=6, random_state=3)
    found = intravar.measure(
        cohort.to_polars(), physician="physician", decision="decision", method="euclidean"
    )
    intravar.write_measurement(found, opened.folder / "linked")
    return opened.folder / "linked"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder that the app may not open."""
    return tmp_path


def requests_for(route: Route, *, key: str, draft: str, seal: str) -> Iterator[tuple[str, str]]:
    """Yield the method and the address of every request that a route answers."""
    files = ["report.html", "physicians.html"] if "{file}" in route.path else [""]
    kinds = ["html", "toml", "pdf", "docx", "xlsx"] if "{what}" in route.path else [""]
    for method in sorted((route.methods or set()) - {"HEAD"}):
        for file in files:
            for what in kinds:
                address = route.path.replace("/page/{seal}/{key}", seal)
                yield method, address.format(key=key, draft=draft, file=file, what=what)


def test_every_route_is_walked(opened: Opened) -> None:
    others = {route.path for route in ROUTES if "{key}" not in route.path}
    assert {path for path in others if "{draft}" not in path} == WITHOUT_FILES


@pytest.mark.parametrize("private", [False, True])
def test_no_route_follows_a_link_out_of_a_measurement(
    opened: Opened, measured: Path, elsewhere: Path, private: bool
) -> None:
    folder = measured.with_name("linked-private") if private else measured
    key = key_of(measured)
    routes = [route for route in ROUTES if "{key}" in route.path]
    for file in sorted(folder.iterdir()):
        target = elsewhere / file.name
        content = file.read_bytes()
        target.write_bytes(content)
        with target.open("ab") as appended:
            appended.write(SECRET.encode() if file.suffix in (".html", ".toml", ".csv") else b"")
        file.unlink()
        file.symlink_to(target)
        try:
            for route in routes:
                seal = opened.desk.sealed(key)
                for method, address in requests_for(route, key=key, draft="", seal=seal):
                    answer = opened.client.request(method, address)
                    assert answer.status_code == 403, (file.name, method, address)
                    assert SECRET not in answer.text
            listed = [each.folder for each in opened.desk.places.measurements(measured.parent)]
            assert measured not in listed
        finally:
            file.unlink()
            file.write_bytes(content)
            os.chmod(file, 0o600)
    assert opened.client.get(f"/file/{key}/html").status_code == 200


def test_a_private_folder_may_not_be_a_link_outside(
    opened: Opened, measured: Path, elsewhere: Path
) -> None:
    private = measured.with_name("linked-private")
    moved = elsewhere / "moved"
    shutil.move(private, moved)
    private.symlink_to(moved)
    try:
        assert opened.client.get(f"/explain/{key_of(measured)}").status_code == 403
    finally:
        private.unlink()
        shutil.move(moved, private)


def test_no_route_reads_a_table_that_became_a_link(opened: Opened, elsewhere: Path) -> None:
    table = opened.folder / "swapped.csv"
    outside = elsewhere / "outside.csv"
    outside.write_text(f"physician,decision\n{SECRET},1\n")
    draft = opened.desk.keep(Draft(table, {"physician": "physician", "decision": "decision"}))
    table.symlink_to(outside)
    try:
        for route in (route for route in ROUTES if "{draft}" in route.path):
            for method, address in requests_for(route, key="", draft=draft.id, seal=""):
                answer = opened.client.request(method, address)
                assert answer.status_code == 403, (method, address)
                assert SECRET not in answer.text
    finally:
        table.unlink()


def test_a_file_of_words_outside_is_not_read(opened: Opened, elsewhere: Path) -> None:
    words = elsewhere / "words.toml"
    words.write_text(f'title = "{SECRET}"\n')
    study = opened.folder / "with-words.toml"
    study.write_text(
        'source = "patients.csv"\n[columns]\nphysician = "physician"\ndecision = "decision"\n'
        f'[words]\nfile = "{words}"\n'
    )
    answer = opened.client.post("/open", data={"path": str(study)})
    assert answer.status_code == 403
    assert SECRET not in answer.text

    link = opened.folder / "words-link.toml"
    link.symlink_to(words)
    study.write_text(study.read_text().replace(str(words), link.name))
    assert opened.client.post("/open", data={"path": str(study)}).status_code == 403
    link.unlink()
    study.unlink()


def test_files_are_handed_over_in_one_place() -> None:
    callers = []
    for path in Path(intravar.app.__path__[0]).glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                callers += [
                    (path.name, function.name)
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id in ("FileResponse", "StaticFiles", "Mount")
                ]
    assert set(callers) == {("screens.py", "_handed")}


@pytest.mark.parametrize(
    "name", ["tables", "uploads", "studies", "requests", "logs", "results", "../uploads", "."]
)
def test_a_result_of_any_name_receives_no_upload(tmp_path: Path, name: str) -> None:
    places = Places([tmp_path])
    result = places.new_result(name)
    result.mkdir()
    written = [places.new_table("patients.csv"), places.request_file(result)]
    written.append(places.log_file(result))
    assert not any(path.is_relative_to(result) for path in written)
    assert not any(path.is_relative_to(result.parent) for path in written)


@pytest.mark.parametrize("name", ["uploads", "results", "requests", "logs"])
def test_a_result_of_an_earlier_version_receives_no_upload(tmp_path: Path, name: str) -> None:
    places = Places([tmp_path])
    earlier = places.results / name
    earlier.mkdir(parents=True)
    (earlier / "summary.json").write_text("{}")
    table, result = places.new_table("patients.csv"), places.new_result("mine")
    written = (table, result, places.request_file(result), places.log_file(result))
    assert not any(path.is_relative_to(earlier) for path in written)


def test_results_of_earlier_versions_are_listed(tmp_path: Path, measured: Path) -> None:
    places = Places([tmp_path])
    for folder in (places.results / "earlier", places.new_result("later")):
        shutil.copytree(measured, folder)
    listed = {each.folder.name for each in places.measurements()}
    assert listed == {"earlier", "later"}


def test_a_measurement_is_not_repeated_into_the_uploads(tmp_path: Path) -> None:
    places = Places([tmp_path])
    with pytest.raises(InputError):
        places.same_result(str(places.uploads() / "mine"))


@pytest.mark.parametrize("length", [81, 300, 5000])
@pytest.mark.parametrize("ending", [".xlsx", ".csv.gz", ".parquet"])
def test_a_long_name_keeps_its_ending(tmp_path: Path, length: int, ending: str) -> None:
    path = Places([tmp_path]).new_table("a" * (length - len(ending)) + ending)
    assert path.name.endswith(f"a{ending}")
    path.touch()


def test_a_name_of_letters_of_several_bytes_can_be_written(tmp_path: Path) -> None:
    path = Places([tmp_path]).new_table("患者" * 100 + ".csv.gz")
    path.touch()
    assert path.name.endswith("患者.csv.gz") or path.name.endswith("患.csv.gz")
    assert len(plain_name("患者" * 100).encode()) <= 150


@pytest.mark.parametrize("path", ["{folder}/{long}.csv", "{folder}/{deep}x.csv", "/{long}"])
def test_a_very_long_path_is_refused_in_words(opened: Opened, path: str) -> None:
    given = path.format(folder=opened.folder, long="a" * 5000, deep="a/" * 2500)
    answers = [
        opened.client.post("/open", data={"path": given}),
        opened.client.get("/", params={"folder": given}),
        opened.client.get(f"/result/{key_of(Path(given))}"),
    ]
    for answer in answers:
        assert answer.status_code in (400, 403)
        assert "choose a file from the list" in answer.text or "start the app" in answer.text
        assert "a" * 1000 not in answer.text


def test_a_table_of_600_columns_can_be_chosen(opened: Opened) -> None:
    draft = opened.desk.keep(Draft(opened.folder / "patients.csv"))
    form = {"physician": "physician", "decision": "decision"}
    for number in range(600):
        form[f"use:c{number}"] = "exclude" if number == 599 else ""
        form[f"label:c{number}"] = ""
    answer = opened.client.post(f"/table/{draft.id}", data=form, follow_redirects=False)
    assert answer.status_code == 303
    assert draft.asked["exclude"] == ["c599"]


def test_a_form_that_cannot_be_read_is_refused_in_words(opened: Opened) -> None:
    draft = opened.desk.keep(Draft(opened.folder / "patients.csv"))
    answer = opened.client.post(f"/table/{draft.id}", data={"physician": "a" * 2_000_000})
    assert answer.status_code == 400
    assert "the form could not be read" in answer.text


def test_an_uploaded_workbook_with_a_long_name_is_read(opened: Opened, tmp_path: Path) -> None:
    table = pl.read_csv(opened.folder / "patients.csv")
    table.write_parquet(tmp_path / "patients.parquet")
    content = (tmp_path / "patients.parquet").read_bytes()
    answer = opened.client.post("/upload", files={"file": ("p" * 300 + ".parquet", content)})
    assert answer.status_code in (200, 202)
