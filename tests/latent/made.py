"""Panels for tests, patients in the order given."""

from dataclasses import replace

import numpy as np

from intravar.observed import Observed
from intravar.panels import Layout, Panels


def observed_of(x: np.ndarray, y: np.ndarray, who: np.ndarray) -> Observed:
    """Return patients whose physicians are numbered without gaps."""
    return Observed.of(x.reshape(len(y), -1), y, who, keep_missing=True)


def panels_of(x: np.ndarray, y: np.ndarray, who: np.ndarray) -> Panels:
    """Return patients who are sorted by physician already as panels in the same order."""
    observed = observed_of(x, y, who)
    found = Layout(
        observed.names, [np.empty(0)] * x.shape[1], True, np.zeros((x.shape[1], 64))
    ).panels(observed)
    return replace(
        found,
        covariates=np.ascontiguousarray(x, dtype=np.float64),
        decision=observed.decision,
        code=observed.code,
        named=observed.named,
        rows=np.arange(len(y)),
        places=np.arange(len(observed)),
        pattern=found.as_given(found.pattern),
        key=found.by_physician(found.key),
    )
