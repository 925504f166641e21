"""What goes wrong on the machine, as opposed to a defect of the software: said in plain words."""

from __future__ import annotations

import errno
import re

_WORDS = {
    errno.ENOSPC: "no space is left on the disk; make room or write elsewhere",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EIO: "the disk or the network failed (input/output error)",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n) or use fewer --workers",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is not enough memory; use fewer --workers or less data",
}
# Windows has no quotas of this kind.
if hasattr(errno, "EDQUOT"):
    _WORDS[errno.EDQUOT] = "your quota of disk space is used up; make room or write elsewhere"

#: How libraries in other languages word an error of the system.
_FOREIGN = re.compile(r"\(os error (\d+)\)")


def machine_fault(error: BaseException) -> str | None:
    """Say what the machine lacks, if that is what an error or one of its causes is about.

    Examples
    --------
    >>> machine_fault(OSError(28, "No space left on device"))
    'no space is left on the disk; make room or write elsewhere'
    >>> machine_fault(RuntimeError("write failed: File too large (os error 27)"))
    'the file would be larger than the system allows'
    >>> machine_fault(ZeroDivisionError()) is None
    True
    """
    seen: BaseException | None = error
    for _ in range(10):  # a chain of causes may be a ring
        if seen is None:
            return None
        if words := _words(seen):
            return words
        seen = seen.__cause__ or seen.__context__
    return None


def _words(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return _WORDS[errno.ENOMEM]
    if isinstance(error, OSError):
        return _WORDS.get(error.errno or 0)
    foreign = _FOREIGN.search(str(error))
    return _WORDS.get(int(foreign[1])) if foreign else None
