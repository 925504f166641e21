"""An app for tests: behind its guard, with a helper of its own, on a small table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import intravar
from intravar.app.desk import Desk
from intravar.app.places import Places
from intravar.app.server import make_app

PORT, TOKEN = 8421, "a-token-of-tests"
ORIGIN = f"http://127.0.0.1:{PORT}"


@dataclass
class Opened:
    """A browser's view of the app, and what lies behind it."""

    client: TestClient
    desk: Desk
    folder: Path


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("allowed")
    cohort = intravar.simulate("score2", n_patients=600, n_physicians=6, random_state=3)
    cohort.to_polars().write_csv(folder / "patients.csv")
    guard, desk = make_app(Places([folder]), PORT, TOKEN)
    client = TestClient(guard, base_url=ORIGIN, headers={"origin": ORIGIN})
    assert client.get(f"/?token={TOKEN}").status_code == 200
    yield Opened(client, desk, folder)
    desk.close()
