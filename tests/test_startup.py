"""What is loaded when; asked of a process of its own, since this one has loaded everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import intravar

HEAVY = ("numba", "numpy", "pandas", "polars", "scipy", "sklearn")
SRC = Path(intravar.__file__).parent


def ended(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SRC.parent)} | environment,
    )


def loaded_after(code: str) -> list[str]:
    found = ended(f"import sys\n{code}\nprint(*(name for name in {HEAVY} if name in sys.modules))")
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()[-1].split()


def command(*arguments: str) -> str:
    """Code that runs a command and goes on."""
    return (
        "from intravar.cli import main\n"
        f"try: main({list(arguments)})\nexcept SystemExit as left: assert not left.code\n"
    )


def test_importing_intravar_loads_next_to_nothing() -> None:
    assert loaded_after("import intravar; intravar.InputError; dir(intravar)") == []


@pytest.mark.parametrize("package", ["estimators", "inference", "study", "study.simulation"])
def test_packages_load_what_is_used(package: str) -> None:
    assert loaded_after(f"import intravar.{package}") == []


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["benchmark", "--help"], ["measure", "--help"]],
    ids=" ".join,
)
def test_help_loads_no_mathematics(arguments: list[str]) -> None:
    assert loaded_after(command(*arguments)) == []


def test_every_public_name_is_there_and_is_no_module() -> None:
    """The module `oracle` must not take the place of the function, whichever is loaded first."""
    code = (
        "import intravar, intravar.study.oracle, types\n"
        "names = set(intravar.__all__) - {'estimators', 'review', 'study'}\n"
        "found = [getattr(intravar, name) for name in names]\n"
        "assert not [each for each in found if isinstance(each, types.ModuleType)], found\n"
        "intravar.oracle(intravar.simulate('score2', n_patients=100, n_physicians=5))"
    )
    assert ended(code).returncode == 0


def test_an_unknown_name_is_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = intravar.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("shell", "words", "expected"),
    [
        ("bash", "intravar bench", "benchmark"),
        ("zsh", "intravar bench", '"benchmark"'),
        ("fish", "intravar bench", "benchmark"),
        ("bash", "intravar benchmark --repl", "--replicates"),
    ],
)
def test_the_shell_completes(shell: str, words: str, expected: str) -> None:
    found = ended(
        "from intravar.cli import main; main()",
        _INTRAVAR_COMPLETE=f"complete_{shell}",
        _TYPER_COMPLETE_ARGS=words,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert expected in found.stdout, found.stderr


def test_completion_can_be_installed() -> None:
    assert "--install-completion" in ended(command("--help")).stdout
