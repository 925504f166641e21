"""Hash of everything in a cohort; `python -m reference.fingerprint CONDITION...` prints it."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import TypedDict

from intravar import Cohort, simulate


class Sizes(TypedDict):
    """Sizes of a cohort."""

    n_patients: int
    n_physicians: int


SMALL: Sizes = {"n_patients": 600, "n_physicians": 6}


def fingerprint(cohort: Cohort) -> str:
    """Return a hash of every value of the cohort and its truth (floats to their last bit)."""
    table = cohort.to_polars(truth=True)
    digest = hashlib.sha256(repr(table.schema).encode())
    for column in table:
        digest.update(json.dumps(column.to_list()).encode())
    return digest.hexdigest()


def fingerprint_of(name: str) -> str:
    """Return the hash of a small cohort of a condition."""
    return fingerprint(simulate(name, **SMALL))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(fingerprint_of(argument))
