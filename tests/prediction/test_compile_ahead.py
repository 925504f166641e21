"""The first measurement compiles on two processors, each loop once."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import intravar
from intravar.learning import personal_rules_kernel as rules_kernel
from intravar.prediction import compile_ahead
from intravar.prediction import own_forests as forests

COMPILED = (
    rules_kernel.fit_panels,
    rules_kernel.predict_rows,
    forests.grow_forest,
    rules_kernel.draw_panels,
)


def test_what_is_compiled_ahead_is_what_a_fit_needs(learned_once: None) -> None:
    compile_ahead.compile_now()
    before = [len(each.signatures) for each in COMPILED]
    cohort = intravar.simulate("score2", n_patients=220, n_physicians=8)
    intravar.Predictability().fit(*cohort.observed())
    assert [len(each.signatures) for each in COMPILED] == before


@pytest.mark.parametrize("compiled", [True, False])
def test_it_is_done_once(compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **_: started.append(given))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    here, cache = tmp_path / "prediction" / "compile_ahead.py", tmp_path / "learning/__pycache__"
    monkeypatch.setattr(compile_ahead, "__file__", str(here))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    cache.mkdir(parents=True)
    if compiled:
        (cache / "personal_rules_kernel.fit_panels-83.py311.nbi").touch()
    compile_ahead.compile_beside.cache_clear()
    assert compile_ahead.compile_beside() is not compiled
    compile_ahead.compile_beside()
    assert len(started) == (not compiled)
