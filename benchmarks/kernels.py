"""What every compiled loop is worth: how much longer a command would take without it.

A command is run once on 5,000 patients with a clock in front of every loop that Python calls; loops
that only compiled code calls count with their callers. Arguments of a first call, on 400 patients
where it is called there, are kept. On these the loop is timed against NumPy where it can be written
with arrays, and against the same loop in the interpreter where each step needs the last. Seconds
are of the processor.
"""

from __future__ import annotations

import copy
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core.registry import CPUDispatcher
from scipy.special import expit

import intravar
from intravar.estimators import Estimator, make_estimator

#: Commands that users run, the method that takes their time, and a condition that calls all of it.
COMMANDS = {
    "measure": ("predictability", "score2"),
    "measure --method latent-rule": ("latent-rule", "stress-own-rules"),
    "benchmark": ("rf-proximity", "score2"),
}
MANY, FEW = (5_000, 20), (400, 8)
#: Seconds that a loop is repeated for.
LONG_ENOUGH = 0.05


def run() -> None:
    print(
        f"{'loop':24}{'command':30}{'its share':>10}  {'instead':12}"
        f"{'times as slow':>14}{'whole command':>15}"
    )
    for command, (method, condition) in COMMANDS.items():
        # Compiled before clocks stand between loops that call each other.
        for size in (FEW, MANY):
            _fit(method, condition, size)
        with clocks() as clock:
            _fit(method, condition, FEW)
            clock.seconds.clear()
            whole = _fit(method, condition, MANY)
        for loop, own in sorted(clock.seconds.items(), key=lambda item: -item[1]):
            instead, slower = compared(loop, clock.arguments[loop])
            ratio = 1 + own / whole * (slower - 1)
            print(
                f"{loop.py_func.__name__:24}{command:30}{own / whole:>10.1%}  {instead:12}"
                f"{slower:>14,.1f}{ratio:>15,.1f}",
                flush=True,
            )


def _fit(method: str, condition: str, size: tuple[int, int]) -> float:
    """Fit a method; return the seconds of the processor."""
    cohort = intravar.simulate(condition, n_patients=size[0], n_physicians=size[1])
    estimator: Estimator = make_estimator(method)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(*cohort.observed())
    return time.process_time() - begin


class Clock:
    """Seconds of every loop that Python calls, and the arguments of its first call."""

    def __init__(self) -> None:
        self.seconds: dict[CPUDispatcher, float] = {}
        self.arguments: dict[CPUDispatcher, tuple[Any, ...]] = {}

    def before(self, loop: CPUDispatcher) -> Callable[..., Any]:
        """Return a loop with the clock in front of it."""

        def timed(*given: Any) -> Any:
            if loop not in self.arguments:
                self.arguments[loop] = copy.deepcopy(given)
            begin = time.thread_time()
            found = loop(*given)
            taken = time.thread_time() - begin
            self.seconds[loop] = self.seconds.get(loop, 0.0) + taken
            return found

        return timed


@contextmanager
def replaced(by: Callable[[CPUDispatcher], Callable[..., Any]]) -> Iterator[None]:
    """Put something else in the place of every compiled loop, wherever it is used."""
    before = []
    for name, module in list(sys.modules.items()):
        if name.startswith("intravar."):
            for attribute, found in list(vars(module).items()):
                if isinstance(found, CPUDispatcher):
                    before.append((module, attribute, found))
                    setattr(module, attribute, by(found))
    try:
        yield
    finally:
        for module, attribute, found in before:
            setattr(module, attribute, found)


@contextmanager
def clocks() -> Iterator[Clock]:
    """Put a clock in front of every loop."""
    for method, _ in COMMANDS.values():
        make_estimator(method)
    clock = Clock()
    with replaced(clock.before):
        yield clock


def compared(loop: CPUDispatcher, given: tuple[Any, ...]) -> tuple[str, float]:
    """Return what stands instead of a loop, and how many times as long that takes."""
    fast = _seconds(loop, given)
    if loop.py_func.__name__ in NUMPY:
        other = NUMPY[loop.py_func.__name__]
        expected, found = loop(*copy.deepcopy(given)), other(*copy.deepcopy(given))
        for one, two in zip(np.atleast_1d(expected), np.atleast_1d(found), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-9)
        return "NumPy", _seconds(other, given) / fast
    with replaced(lambda each: each.py_func), np.errstate(all="ignore"):
        return "interpreter", _seconds(loop.py_func, given) / fast


def _seconds(function: Callable[..., Any], given: tuple[Any, ...]) -> float:
    """Return the seconds of a call; loops may write into what they are given."""
    times, total = 0, 0.0
    while total < LONG_ENOUGH:
        own = copy.deepcopy(given)
        begin = time.process_time()
        function(*own)
        total += time.process_time() - begin
        times += 1
    return total / times


def _score_rows(bins, start, missing_bin, columns, cuts, missing, values):  # type: ignore[no-untyped-def]
    score, rows, inner = np.full(len(bins), start), np.arange(len(bins)), columns.shape[1]
    for t in range(len(values)):
        node = np.zeros(len(bins), np.int64)
        while node[0] < inner:
            b = bins[rows, columns[t, node]]
            left = np.where(b == missing_bin, missing[t, node], b <= cuts[t, node])
            node = 2 * node + np.where(left, 1, 2)
        score = np.clip(score + values[t, node - inner], -8.0, 8.0)
    return score


def _predict_rows(Z, code, rows, theta, covariance):  # type: ignore[no-untyped-def]
    d, z, own = Z.shape[1], Z[rows], theta[code[rows]]
    spread = np.einsum("ik,ikh,ih->i", z, covariance[code[rows], :d, :d], z)
    g = expit((z * own[:, :d]).sum(axis=1) / np.sqrt(1 + np.pi / 8 * spread))
    flat = np.sqrt(1 + np.pi / 8 * np.einsum("jkk->jk", covariance)[code[rows], d:])
    low, high = expit(own[:, d:] / flat).T
    return low + (high - low) * g


NUMPY: dict[str, Callable[..., Any]] = {
    "score_rows": _score_rows,
    "predict_rows": _predict_rows,
}
