"""A measurement made once for all tests of its page."""

from __future__ import annotations

import pytest

import intravar
from intravar.publication.outputs import Outputs, outputs_of


@pytest.fixture(scope="session")
def outputs() -> Outputs:
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=6, seed=2)
    found = intravar.measure(
        cohort.to_polars(),
        physician="physician",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis"],
        min_reliability=0,
        smallest_cell=1,
    )
    return outputs_of(found, {name: name for name in cohort.panel_sizes["physician"]})
