"""The first measurement after installation says that it compiles."""

from pathlib import Path

import pytest

import intravar.prediction as prediction


@pytest.mark.parametrize("compiled", [True, False])
def test_what_was_compiled_is_not_compiled_again(
    compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "learning" / "__pycache__"
    cache.mkdir(parents=True)
    monkeypatch.setattr(prediction, "__file__", str(tmp_path / "prediction" / "__init__.py"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    if compiled:
        (cache / "personal_rules_kernel.fit_panels-83.py311.nbi").touch()
    assert prediction.compiles_first() is not compiled
