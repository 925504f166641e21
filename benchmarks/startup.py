"""How long `intravar --help` and `--version` take, as multiples of importing typer and rich.

Each is started anew in turns, and the median counts: a busy machine then slows all of them alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

ROUNDS = 20
BASELINE = "import typer, rich"
COMMANDS = {
    BASELINE: ("-c", BASELINE),
    "import intravar": ("-c", "import intravar"),
    "intravar --version": ("-m", "intravar", "--version"),
    "intravar --help": ("-m", "intravar", "--help"),
    "intravar measure --help": ("-m", "intravar", "measure", "--help"),
}


def run() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            seconds[name].append(_seconds(arguments))
    usual = {name: statistics.median(taken) for name, taken in seconds.items()}
    print(f"{'':26}{'seconds':>10}{'multiple':>10}")
    for name, taken in usual.items():
        print(f"{name:26}{taken:>10.3f}{taken / usual[BASELINE]:>10.1f}")


def _seconds(arguments: tuple[str, ...]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin
