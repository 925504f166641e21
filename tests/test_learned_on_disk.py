"""What tests keep on disk is what would be learned, and is never used where tests meddle."""

from pathlib import Path

import pytest

import intravar
from intravar.observed import Observed
from intravar.prediction import held_out
from learned_on_disk import kept


def cohort() -> Observed:
    simulated = intravar.simulate("score2", n_patients=200, n_physicians=5)
    return Observed.of(*simulated.observed())


def predictions(observed: Observed) -> list[list[float]]:
    found = held_out.held_out(observed, 3, 0)
    own, _ = held_out.half_predictions(observed, 3, 0)[0]
    return [found.personal.tolist(), own.tolist()]


def test_the_same_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept(tmp_path):
        first = predictions(cohort())
        stored = list(tmp_path.glob("*/*"))
        assert len(stored) == 2
        assert predictions(cohort()) == first

        def broken(*_: object) -> None:
            raise ZeroDivisionError

        # Whoever replaces a part of a learner wants it to be used.
        monkeypatch.setattr(held_out, "learn_candidates", broken)
        with pytest.raises(ZeroDivisionError):
            predictions(cohort())
