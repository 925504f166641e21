"""What the app refuses: strangers, paths outside, too much, two at once."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

import intravar
from app.conftest import ORIGIN, PORT, TOKEN, Opened
from intravar.app.draft import Draft
from intravar.app.helper import Job
from intravar.app.places import OutsideError, Places, key_of
from intravar.app.server import ROUTES, bound, make_app
from intravar.errors import InputError

HOSTS = ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"0.0.0.0:{PORT}", ""]


@pytest.mark.parametrize("host", HOSTS)
def test_a_foreign_host_is_refused(opened: Opened, host: str) -> None:
    for path in ("/", "/run", "/app.js", f"/?token={TOKEN}"):
        assert opened.client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", ""])
def test_a_foreign_origin_is_refused(opened: Opened, origin: str) -> None:
    for method, path in (("GET", "/run"), ("POST", "/quit"), ("POST", "/example")):
        answer = opened.client.request(method, path, headers={"origin": origin})
        assert answer.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_that_other_pages_make_are_refused(opened: Opened, site: str) -> None:
    del opened.client.headers["origin"]
    try:
        for method, path in (("GET", "/run"), ("POST", "/quit")):
            answer = opened.client.request(method, path, headers={"sec-fetch-site": site})
            assert answer.status_code == 403
        assert opened.client.post("/quit").status_code == 403  # no page says that it asks
    finally:
        opened.client.headers["origin"] = ORIGIN


def test_without_the_token_nothing_is_shown(opened: Opened) -> None:
    guard, desk = make_app(Places([opened.folder]), PORT, TOKEN)
    stranger = TestClient(guard, base_url=ORIGIN, headers={"origin": ORIGIN})
    try:
        for route in ROUTES:
            path = re.sub(r"\{\w+\}", "x", route.path)
            for method in route.methods or ():
                assert stranger.request(method, path).status_code == 403, path
        for path in ("/?token=wrong", "/?token=", "/nothing", f"/run?token={TOKEN}"):
            assert stranger.get(path).status_code == 403
    finally:
        desk.close()


def test_the_token_becomes_a_strict_cookie_and_leaves_the_address(opened: Opened) -> None:
    answer = opened.client.get(f"/?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert answer.headers["location"] == "/"
    assert "samesite=strict" in cookie
    assert "httponly" in cookie
    assert TOKEN.lower() not in cookie


def test_every_answer_forbids_what_screens_do_not_need(opened: Opened) -> None:
    for path in ("/", "/app.js", "/nothing", "/table/none"):
        headers = opened.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


def outside(folder: Path) -> list[str]:
    return [
        "/etc/passwd",
        f"{folder}/../secret.csv",
        f"{folder}/tables/../../secret.csv",
        "secret.csv",
        "../secret.csv",
        "",
        f"{folder}/link.csv",
        f"{folder}-else/secret.csv",
        "file:///etc/passwd",
        "postgresql://host/db",
    ]


def test_paths_outside_the_folders_are_refused(opened: Opened) -> None:
    secret = opened.folder.parent / "secret.csv"
    secret.write_text("physician,decision\nA,1\n")
    (opened.folder / "link.csv").symlink_to(secret)
    try:
        for path in outside(opened.folder):
            answer = opened.client.post("/open", data={"path": path})
            assert answer.status_code == 403, path
            assert "secret" not in answer.text.replace("secret.csv", "")
            assert opened.client.get("/", params={"folder": path}).status_code in (403, 200)
            with pytest.raises(OutsideError):
                opened.desk.places.allowed(path)
        assert "link.csv" not in opened.client.get("/").text
    finally:
        (opened.folder / "link.csv").unlink()
        secret.unlink()


@pytest.mark.parametrize("name", ["/etc", "x", "report.html"])
def test_results_outside_the_folders_are_refused(opened: Opened, name: str) -> None:
    for key in (name.replace("/", "%2F"), key_of(Path(name).absolute())):
        for place in ("result", "explain", "sheet"):
            assert opened.client.get(f"/{place}/{key}").status_code in (403, 404)
        assert opened.client.get(f"/file/{key}/html").status_code in (403, 404)
        assert opened.client.get(f"/page/{'0' * 32}/{key}/report.html").status_code in (403, 404)


def test_a_study_file_cannot_lead_outside(opened: Opened) -> None:
    columns = '[columns]\nphysician = "physician"\ndecision = "decision"\n'
    study = opened.folder / "study.toml"
    for source, status in (
        ("/etc/passwd", 403),
        ("../secret.csv", 403),
        ("postgresql://host/db", 400),
    ):
        study.write_text(f'source = "{source}"\n{columns}')
        assert opened.client.post("/open", data={"path": str(study)}).status_code == status
    study.write_text(f'source = "patients.csv"\n{columns}')
    assert opened.client.post("/open", data={"path": str(study)}).status_code in (200, 202)
    study.unlink()


@pytest.fixture
def study_with_query(opened: Opened) -> Iterator[Path]:
    """A request's file, which somebody else may have written, with a query of its own."""
    database = opened.folder / "visits.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE visits (doctor, drug, age)")
        rows = [(f"D{at % 5}", at % 2, 40 + at % 30) for at in range(200)]
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
    connection.close()
    study = opened.folder / "theirs.toml"
    study.write_text(
        'source = "visits.db"\n[reading]\nquery = "SELECT * FROM visits WHERE age < 60"\n'
        '[columns]\nphysician = "doctor"\ndecision = "drug"\n'
    )
    yield study
    study.unlink()
    database.unlink()


def test_a_query_of_a_study_file_is_shown_and_not_run(
    opened: Opened, study_with_query: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(opened.desk.helper, "ask", lambda *task, **given: asked.append(task))

    shown = opened.client.post("/open", data={"path": str(study_with_query)})
    draft = shown.url.path.rpartition("/")[2]
    others = [
        opened.client.request(method, f"/{place}/{draft}")
        for method, place in [("GET", "table"), ("POST", "table"), ("GET", "check")]
    ]
    others += [opened.client.post(f"/{place}/{draft}") for place in ("leaks", "measure")]

    assert "SELECT * FROM visits WHERE age &lt; 60" in shown.text
    assert {answer.url.path for answer in (shown, *others)} == {f"/query/{draft}"}
    assert asked == []
    assert opened.desk.job is None


def test_a_query_of_a_study_file_is_run_once_it_is_confirmed(
    opened: Opened, study_with_query: Path
) -> None:
    shown = opened.client.post("/open", data={"path": str(study_with_query)})
    answer = opened.client.post(shown.url.path)
    while answer.status_code == 202:
        time.sleep(0.2)
        answer = opened.client.get(answer.url.path)

    assert answer.status_code == 200
    assert "140 rows, 3 columns" in answer.text


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_name_that_is_no_text_breaks_no_screen(opened: Opened) -> None:
    path = opened.folder / os.fsdecode(b"\xff.csv")
    path.write_text("doctor,drug\n")
    answer = opened.client.get("/")
    path.unlink()
    assert answer.status_code == 200
    assert "?.csv" in answer.text
    assert opened.client.get(f"/result/{key_of(path.with_suffix(''))}").status_code == 400
    assert opened.client.get("/result/none").status_code == 403


def test_an_upload_that_fills_the_disk_is_refused_unread(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=4e9, used=2.5e9, free=1.5e9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    sent = {"content-length": "2000000000", "content-type": "multipart/form-data; boundary=b"}
    answer = opened.client.post("/upload", content=b"", headers=sent)
    assert answer.status_code == 400
    assert "2.0 GB" in answer.text
    assert "1.5 GB left" in answer.text


def test_an_upload_is_kept_for_its_owner_under_a_plain_name(opened: Opened) -> None:
    content = (opened.folder / "patients.csv").read_bytes()
    for _ in range(2):
        answer = opened.client.post("/upload", files={"file": ("../../a b.csv", content)})
        assert answer.status_code in (200, 202)
    tables = opened.desk.places.results / "uploads"
    assert sorted(path.name for path in tables.iterdir()) == ["a b-2.csv", "a b.csv"]
    assert {path.stat().st_mode & 0o777 for path in tables.iterdir()} == {0o600}
    assert tables.stat().st_mode & 0o777 == 0o700


def test_bad_tables_get_the_words_of_the_command_line(opened: Opened) -> None:
    bad = opened.folder / "bad.csv"
    bad.write_bytes(b"%PDF-1.4 no table")
    with pytest.raises(InputError) as error:
        intravar.check(bad, physician="a", decision="b")
    draft = opened.desk.keep(Draft(bad))
    for _ in range(100):
        answer = opened.client.get(f"/table/{draft.id}")
        if answer.status_code != 202:
            break
        time.sleep(0.1)
    assert answer.status_code == 400
    assert str(error.value).replace("'", "&#39;") in answer.text
    bad.unlink()


def test_one_measurement_runs_at_a_time(opened: Opened, tmp_path: Path) -> None:
    job = Job(["measure"], tmp_path / "out", 1.0, tmp_path / "job.log")
    opened.desk.start(job)
    with pytest.raises(InputError, match="one runs at a time"):
        opened.desk.start(job)
    job.stop()
    job.wait()
    opened.desk.job = None


def test_two_apps_on_one_port() -> None:
    first = bound(0)
    port = first.getsockname()[1]
    with pytest.raises(InputError, match=f"port {port} .* cannot be used"):
        bound(port)
    first.close()
    with pytest.raises(InputError, match="cannot be used"):
        bound(70_000)


def test_ctrl_c_in_the_middle_of_a_run_keeps_what_is_finished(tmp_path: Path) -> None:
    """The app ends, the measurement ends with it, and nothing half-written is left."""
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=15, random_state=1)
    cohort.to_polars().write_parquet(tmp_path / "patients.parquet")
    script = f"""
import os, pathlib, signal, threading, time
from intravar.app import screens, server
from intravar.app.draft import Draft
from intravar.app.helper import Helper
Helper.ask = lambda self, task: None  # nothing is asked of it here
real = server.make_app
def made(places, port, token):
    guard, desk = real(places, port, token)
    asked = {{"physician": "physician", "decision": "decision", "sample": 1000}}
    draft = desk.keep(Draft(pathlib.Path({str(tmp_path / "patients.parquet")!r}), asked))
    out = desk.places.new_result("mine")
    screens.start(desk, draft, out)
    def interrupt():
        while not out.with_name("mine-unfinished").is_dir():
            time.sleep(0.01)
            assert desk.job.running, desk.job
        print(desk.job._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    return guard, desk
server.make_app = made
from intravar.cli import main
main(["app", {str(tmp_path)!r}, "--no-browser"])
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 130, ended
    assert "Traceback" not in ended.stderr
    child = int(ended.stdout.splitlines()[-1])
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    results = tmp_path / "intravar-results" / "results"
    assert not (results / "mine").exists()
    assert (results / "mine-unfinished").is_dir()


def test_a_crash_is_a_sentence_and_a_log(tmp_path: Path) -> None:
    job = Job(["measure", "none.csv", "--nonsense"], tmp_path / "out", 1.0, tmp_path / "job.log")
    job.start()
    job.wait()
    assert job.state == "refused"
    assert "nonsense" in (tmp_path / "job.log").read_text()
    failed = Job([], tmp_path / "out", 1.0, tmp_path / "failed.log")
    failed.start()
    failed.wait()
    failed._process = SimpleNamespace(poll=lambda: 1, returncode=1)  # type: ignore[assignment]
    failed.log.write_text(
        f"{json.dumps({'step': 'measuring', 'at': time.time()})}\n"
        "intravar: this is a defect of intravar, not of your input: KeyError: 'x'\n"
        "intravar: please report it with /tmp/intravar-1.log\n"
    )
    told = failed.progress()
    assert told["state"] == "failed"
    assert [step["words"] for step in told["steps"]] == ["measuring"]
    assert "please report it with /tmp/intravar-1.log" in told["notes"]
