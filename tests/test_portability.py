"""Without what only POSIX has, as on Windows: imports, measures, simulates, runs a study."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import intravar

SRC = Path(intravar.__file__).parent
POSIX_ONLY = {
    "crypt", "fcntl", "grp", "nis", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty",
}  # fmt: skip

#: psutil comes first: its Linux half needs what its Windows half does not.
TAKEN_AWAY = """
import os, sys
import psutil

GONE = ("fcntl", "grp", "pwd", "resource", "termios")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in GONE:
            raise ImportError(f"there is no {name} on this system")

for name in GONE:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
for name in ("fork", "forkpty", "fchmod", "fchown", "getuid", "geteuid", "killpg", "getpgid"):
    if hasattr(os, name):
        delattr(os, name)
"""


def run(code: str, folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", TAKEN_AWAY + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SRC.parent)},
    )
    assert ended.returncode == 0, ended.stderr


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    run(
        "import importlib, pkgutil, intravar\n"
        "for found in pkgutil.walk_packages(intravar.__path__, 'intravar.'):\n"
        "    if found.name != 'intravar.__main__': importlib.import_module(found.name)\n",
        tmp_path,
    )


def test_measures(tmp_path: Path) -> None:
    run(
        "import intravar\n"
        "table = intravar.simulate('score2', n_patients=500, n_physicians=5).to_polars()\n"
        "found = intravar.measure(table, physician='physician', decision='decision',\n"
        "    method='euclidean', min_panel=10)\n"
        "assert found.physicians.height == 5\n",
        tmp_path,
    )


def test_runs_a_study(tmp_path: Path) -> None:
    run(
        "import intravar\n"
        "study = intravar.benchmark('grid-n5000-j100', 'glmm', out='o', n_jobs=1)\n"
        "assert study.runs['memory_mb'].min() > 1\n",
        tmp_path,
    )


def test_nothing_of_posix_is_imported_with_a_module() -> None:
    """What only one system has is imported where it is used, behind a way without it."""
    found = {path.name: imported_at_once(path) & POSIX_ONLY for path in SRC.rglob("*.py")}
    assert {name: modules for name, modules in found.items() if modules} == {}


def imported_at_once(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add((node.module or "").split(".")[0])
    return modules
