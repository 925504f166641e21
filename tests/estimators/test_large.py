"""Large panels, each in a process of its own, so that its memory is its own; many physicians."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from intravar.estimators import make_estimator

PROGRAM = """
import json, resource, sys
import numpy as np
from intravar.estimators import make_estimator

name, panel, physicians = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(0)
n = panel * physicians
x = random.normal(size=(n, 9))
y = (x[:, 0] + random.normal(size=n) > 0).astype(int)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
who = np.repeat(np.arange(physicians), panel)
model = make_estimator(name).fit(x, y, who)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
defined = int(np.isfinite(model.score_).sum())
print(json.dumps({"peak": peak - before, "defined": defined}))
"""


def measured(name, panel, physicians):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, name, str(panel), str(physicians)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["euclidean", "mahalanobis", "genetic-mahalanobis", "mutual-information", "rf-proximity",
     "learned-weights", "lpa-guided", "glmm"],
)  # fmt: skip
def test_a_panel_of_20_000_needs_no_matrix(name):
    """The matrix alone would take 3,200 MB."""
    found = measured(name, 20_000, 1)
    assert found["defined"] == 1
    assert found["peak"] < 1_000


@pytest.mark.parametrize("name", ["genetic-mahalanobis", "glmm"])
def test_five_thousand_physicians(name):
    random = np.random.default_rng(0)
    x = random.normal(size=(60_000, 9))
    y = (x[:, 0] + random.normal(size=60_000) > 0).astype(int)
    model = make_estimator(name).fit(x, y, np.repeat(np.arange(5_000), 12))
    assert np.isfinite(model.score_).sum() == 5_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["euclidean", "learned-weights", "rf-proximity", "lpa-guided", "genetic-mahalanobis", "glmm"],
)
def test_five_thousand_physicians_of_40_by_every_route(name):
    assert measured(name, 40, 5_000)["defined"] == 5_000
