"""Processes beside the server: one that does what takes long, and one for each measurement.

The helper answers one question after the other. If it dies, the question is answered with a
sentence and the next one gets a new process. A measurement is the command `intravar measure`: it
goes on when the tab is closed, and writes how it goes on to a log, which the screen is made from.
Its standard input is held open; closing it asks the command to end as Ctrl-C does, so that finished
parts of a large table are kept. Both end with the app.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, TypeVar

from polars.exceptions import PanicException

import intravar
from intravar import documents, publication, sources
from intravar import review as pair_review
from intravar.app.draft import at_first_sight, on_screen
from intravar.documents.blocks import Heading, Note, Paragraph
from intravar.errors import InputError, errors_in, machine_fault
from intravar.preparation.check import checked_each, folder_for_now
from intravar.publication.files import unfinished_folder
from intravar.request import Request
from intravar.review.store import read_stored
from intravar.sources.paths import defect_lines
from intravar.sources.reading import ROW, scan_source
from intravar.writing import make_private_folder, whole_file

#: The table of the example, as in the README.
EXAMPLE, EXAMPLE_PATIENTS, EXAMPLE_PHYSICIANS = "stress-two-camps", 4_800, 16
#: Rows beyond which only the first are looked at before the check.
MANY_ROWS = 200_000
FIRST_ROWS = 20_000
Returned = TypeVar("Returned")
DIED = (
    "the process that reads tables has ended, most likely because there was not enough memory; "
    "close other programs or choose a smaller table, then try again (its log is {log})"
)

State = Literal["running", "stopping", "done", "stopped", "refused", "failed"]
#: Seconds that a measurement has to tidy up once it was asked to end.
GRACE = 20.0
#: By so much it steps back behind other processes.
NICENESS = 5
#: Exit codes of the command, see `intravar.cli.commands`.
_STATES: dict[int, State] = {0: "done", 4: "done", 2: "refused", 130: "stopped"}
KILLED = (
    "the measurement was ended by the system, most likely because there was not enough memory; "
    "close other programs and start it again"
)
KEPT = "What is finished is kept; the same measurement goes on from there when you start it again."


class DefectError(Exception):
    """A defect in the helper; the message says what to do, the traceback is in a log."""


class Helper:
    """Asks a process of its own, which writes what nobody expected to a log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        #: Hands questions to the process; the others wait for this one thread.
        self._line = ThreadPoolExecutor(1)
        self._process: BaseProcess | None = None
        self._closed = False

    def ask(self, task: Callable[..., Returned], /, *args: Any, **given: Any) -> Future[Returned]:
        """Return what will hold what a function returns there."""
        return self._line.submit(self._answered, partial(task, *args, **given))

    def _answered(self, task: Callable[[], Any]) -> Any:
        if self._closed:
            raise CancelledError
        if self._process is None or not self._process.is_alive():
            spawn = multiprocessing.get_context("spawn")
            self._pipe, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(theirs, str(self._log)))
            process.start()
            theirs.close()
            self._process = process
        try:
            self._pipe.send(task)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process = None
            if self._closed:
                raise CancelledError from None
            raise InputError(DIED.format(log=self._log)) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process; what was asked and not answered is cancelled."""
        self._closed = True
        self._line.shutdown(wait=False, cancel_futures=True)
        self._end()
        self._line.shutdown()
        self._end()  # one that was just being started

    def _end(self) -> None:
        if (process := self._process) is not None:
            process.kill()
            process.join()


def _work(questions: Connection, log: str) -> None:
    """Answer in the new process: print to the log, leave Ctrl-C to the app, and end with it."""
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the app has ended
        while True:
            questions.send(_answer(questions.recv()))


def _answer(task: Callable[[], Any]) -> Any:
    """Do a task; what goes wrong is told in words."""
    try:
        return task()
    except InputError as error:
        return error
    except (Exception, PanicException) as error:
        fault = machine_fault(error)
        return InputError(fault) if fault else DefectError("; ".join(defect_lines(error)))


# --- what it is asked for ---


def ready() -> bool:
    """Load what nearly every question needs."""
    return callable(intravar.check) and callable(intravar.compare)


def example(target: Path) -> None:
    """Write the example's table, if it is not there."""
    if not target.exists():
        cohort = intravar.simulate(
            EXAMPLE, n_patients=EXAMPLE_PATIENTS, n_physicians=EXAMPLE_PHYSICIANS
        )
        with whole_file(target) as beside:
            cohort.to_polars().write_csv(beside)


def look(source: Path, reading: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows of a table and what its columns seem to be."""
    large = scan_source(str(source), folder_for_now, least=MANY_ROWS, **reading)
    if large is None:
        read = sources.read_source(str(source), **reading)
        return at_first_sight(read.table, read.table.height) | {"notes": list(read.notes)}
    first = large.lazy.drop(ROW).head(FIRST_ROWS).collect()
    notes = [*large.notes, f"only the first {FIRST_ROWS:,} rows were looked at here"]
    plain = sources.read_source(first).table
    return at_first_sight(plain, large.n_rows) | {"notes": notes}


def check(source: Path, asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a check finds, for each decision; nobody is named."""
    checks, request = [], Request(**asked)
    several = len(request.decisions) > 1
    for decision, checked in checked_each(str(source), request).items():
        columns = publication.column_rows(checked, several=several)
        found = {
            "decision": decision,
            "lines": publication.check_lines(checked, several=several),
            "cannot": publication.unmeasurable(checked),
            "columns": documents.as_fragment([documents.columns_table(columns, request.words)]),
            "time": checked.cost.here().in_words(),
        }
        published = publication.published_check(checked, several=several)
        checks.append(publication.plain(published) | found)
    return checks


def sheets(folder: Path, place: Path, physician: str | None) -> Path:
    """Write the sheet of one physician, or those of all in an archive; return the file."""
    formats = [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
    make_private_folder(place)
    chosen = formats[-1:] if physician else formats
    written = documents.write_sheets(folder, place, physician=physician, formats=chosen)
    if physician:
        return written.files[0]
    archive = place.with_suffix(".zip")
    with (
        whole_file(archive) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for file in written.files:
            packed.write(file, file.name)
    return archive


def compare(first: Path, second: Path) -> str:
    """Return what changed from one measurement to another."""
    compared = publication.compare_each(first, second)
    comparisons = {name: each.naming(on_screen) for name, each in compared.items()}
    return documents.as_fragment(documents.comparison_blocks(comparisons))


def explain(folder: Path, physician: str) -> str:
    """Return the cases behind a physician's score, for each decision. Patient-level."""
    published = publication.read_published(folder)
    with errors_in(published.words):
        cases = documents.cases_of_each(folder, physician, published, beside=3)
    warning, heading = Note("", publication.WARNING, "alarm"), Heading("Decisions that surprised")
    return documents.as_fragment([warning, heading, *(cases or [Paragraph(documents.NO_CASES)])])


def review(folder: Path, reviewer: str | None, pair: str | None) -> dict[str, Any]:
    """Return the pair that a reviewer is to answer next, or the plan before any were drawn."""
    stored = read_stored(publication.measurement_folders(folder)[1])
    if not stored.pairs:
        return {"plan": asdict(pair_review.plan(folder))}
    who = reviewer or stored.reviewers[0]
    pairs = pair_review.pairs(folder, who)
    if not pairs:
        raise InputError(f"reviewer '{who}' has no pairs: they are fewer than the reviewers")
    names = [each.pair for each in pairs]
    left = [each.pair for each in pairs if who not in each.answers]
    at = names.index(pair if pair in names else (left or names[-1:])[0])
    return {
        "plan": None,
        "question": pair_review.QUESTION,
        "cases": publication.read_published(folder).words.cases,
        "reasons": pair_review.REASONS,
        "reviewer": who,
        "reviewers": stored.reviewers,
        "notes": list(stored.notes),
        "n_pairs": len(pairs),
        "n_left": len(left),
        "at": at,
        "before": names[at - 1] if at else None,
        "after": names[at + 1] if at + 1 < len(names) else None,
        "pair": asdict(pairs[at]),
        "given": pairs[at].answers.get(who),
    }


def read_review(folder: Path) -> dict[str, Any]:
    """Add what the answers tell to the measurement; return it in words."""
    words = publication.read_published(folder).words
    review = pair_review.read(folder)
    return {"lines": review.lines(words), "n_left": review.n_left}


@dataclass
class Job:
    """A measurement, from its start to its end.

    `command` is what is run after `intravar`, `expected` the seconds that the check said it would
    take, `draft` names the choices that it was made of.
    """

    command: Sequence[str]
    out: Path
    expected: float
    log: Path
    draft: str = ""

    def start(self) -> None:
        """Start the process."""
        make_private_folder(self.log.parent)
        with self.log.open("ab") as log:
            self._log_begins = log.tell()
            self._begun, self._asked_to_stop = time.time(), False
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "intravar", *self.command, "--quiet", "--piped"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the app, which ends the measurement
            )
        if hasattr(os, "setpriority"):  # screens and other programs come first
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)

    @property
    def state(self) -> State:
        """How it stands."""
        code = self._process.poll()
        if code is None:
            return "stopping" if self._asked_to_stop else "running"
        ended = _STATES.get(code, "failed")
        return "stopped" if self._asked_to_stop and ended != "done" else ended

    @property
    def running(self) -> bool:
        """Whether it has not come to an end."""
        return self.state in ("running", "stopping")

    def stop(self) -> None:
        """Ask it to end; what does not end in time is ended."""
        if not self.running:
            return
        self._asked_to_stop = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        insist = threading.Timer(GRACE, self._process.kill)
        insist.daemon = True
        insist.start()

    def wait(self) -> None:
        """Wait for the end."""
        self._process.wait()

    def progress(self) -> dict[str, Any]:
        """Return how far it is: share from 0 to 1, seconds left, steps, notes."""
        state = self.state  # before the log is read: what has ended writes no more
        running = state in ("running", "stopping")
        with self.log.open("rb") as log:
            log.seek(self._log_begins)
            lines = [_line(text) for text in log.read().decode("utf-8", "replace").splitlines()]
        times = [line["at"] for line in lines if "at" in line]
        now = time.time() if running else max(times, default=self._begun)
        so_far = now - self._begun
        steps = [line for line in lines if "step" in line]
        # What was said last about the time that is left, of a step or of its parts.
        last: dict[str, Any] = next((line for line in reversed(lines) if "left" in line), {})
        # What has taken longer than expected will go on a little longer.
        left = max(self.expected - so_far, so_far / 10)
        if last.get("left") is not None:
            left = max(left, last["at"] + last["left"] - now)
        ends = [*(line["at"] for line in steps[1:]), None if running else now]
        notes = [line["note"] for line in lines if "note" in line]
        if state == "stopped":
            notes = [KEPT] if unfinished_folder(self.out).is_dir() else []
        elif state == "failed" and self._process.returncode < 0:
            notes.append(KILLED)
        return {
            "state": state,
            "share": 1.0 if state == "done" else min(so_far / max(so_far + left, 1e-9), 0.99),
            "left": time_words(left),
            "so_far": time_words(so_far),
            "parts": "{done} of {total} parts".format_map(last) if "done" in last else "",
            "steps": [
                {"words": line["step"], "took": end and time_words(end - line["at"])}
                for line, end in zip(steps, ends, strict=False)
            ],
            "notes": notes,
        }


def _line(text: str) -> dict[str, Any]:
    """Read a line of the log: JSON tells how it goes on, what the command says is a note."""
    with suppress(ValueError):
        line = json.loads(text)
        if isinstance(line, dict):
            return line
    return {"note": text.removeprefix("intravar: ")} if text.startswith("intravar: ") else {}


def time_words(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> time_words(3.4), time_words(200)
    ('3 seconds', '3 minutes')
    """
    whole = max(round(seconds), 1)
    if whole < 100:
        return f"{whole} second{'s' * (whole > 1)}"
    return f"{round(whole / 60)} minutes"
