"""Signals wait until compiled code has returned, and are not lost."""

import os
import signal
import threading

import numpy as np
import pytest

from intravar.learning.personal_rules import Table, fit_rules, learn_hyper
from intravar.processes import interrupts_wait


def test_an_interrupt_comes_at_the_end():
    done = []

    def interrupted():
        with interrupts_wait():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("to the end")
        done.append("beyond it")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["to the end"]


def test_an_interrupt_of_a_fit_is_an_interrupt():
    """Not a SystemError, which compiled code raises if it is interrupted while it returns."""
    random = np.random.default_rng(0)
    design, y = random.normal(size=(400, 3)), random.integers(0, 2, 400)
    table = Table(design, y, np.repeat(np.arange(4), 100), np.arange(400), 4)
    hyper = learn_hyper(table)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(60):
            timer = threading.Timer(random.uniform(0, 2e-3), os.kill, (os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                timer.start()
                while True:
                    fit_rules(table, hyper)
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_wait():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_do_nothing():
    failed = []

    def work():
        try:
            with interrupts_wait():
                pass
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failed
