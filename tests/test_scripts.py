"""Stored tables find their place in documents."""

import importlib.util
from pathlib import Path

import intravar

SCRIPT = Path(__file__).parents[1] / "scripts" / "fill_tables.py"


def test_tables_are_filled_in_and_the_rest_stays(tmp_path):
    spec = importlib.util.spec_from_file_location("fill_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    study = intravar.benchmark("score2", ["glmm"], out=tmp_path / "r", n_jobs=1)
    text = (
        "before\n<!-- table glmm_groups from here -->\nold\n<!-- end -->\n"
        "<!-- table grid from elsewhere -->\nkept\n<!-- end -->\nafter\n"
    )
    done = module.filled(text, {"here": study.folder})
    assert "old" not in done
    assert "| GLMM |" in done
    assert "kept" in done
    assert done.startswith("before\n")
    assert done.endswith("after\n")
    assert module.filled(done, {"here": study.folder}) == done
