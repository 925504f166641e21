"""What is said of a defect of intravar: a sentence, and the place of a log to report it with."""

import sys
import tempfile
import traceback

from intravar.sources.paths import scrubbed
from intravar.version import __version__


def defect_lines(error: BaseException) -> list[str]:
    """Write the log of a defect; return what to tell the user, without a traceback."""
    text = "".join(traceback.format_exception(error))
    log = f"intravar {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n{text}"
    summary = scrubbed(f"{type(error).__name__}: {error}", *sys.argv)
    words = f"this is a defect of intravar, not of your input: {summary}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="intravar-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.write(scrubbed(log, *sys.argv))
    except OSError:
        return [words, scrubbed(text, *sys.argv)]
    return [words, f"please report it with {file.name}"]
