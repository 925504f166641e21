"""Panels for tests, patients in the order given."""

from dataclasses import replace

import numpy as np

from intravar.panels import Layout, Panels


def panels_of(x: np.ndarray, y: np.ndarray, who: np.ndarray) -> Panels:
    """Return patients who are sorted by physician already as panels in the same order."""
    n = int(who.max()) + 1
    names = tuple(str(number) for number in range(x.shape[1]))
    found = Layout(names, [np.empty(0)] * x.shape[1], True).sort(x, y, who, n)
    sizes = np.bincount(who, minlength=n)
    return replace(
        found,
        X=np.ascontiguousarray(x),
        y=y.astype(np.int64),
        code=who,
        first=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        rows=np.arange(len(y)),
        physicians=np.arange(n),
        pattern=found.as_given(found.pattern),
        key=found.by_physician(found.key),
    )
