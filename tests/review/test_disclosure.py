"""What is published of a review: an attacker learns no small count and no single decision."""

import json
from collections import Counter
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar import review
from intravar.publication import results
from intravar.review import publishing
from intravar.review.estimate import Kind
from intravar.review.publishing import BLOCK, FEWEST_COUNTS, publishable
from intravar.review.store import open_folder, read_stored, write_stored
from review_folders import World, stored_world

SMALLEST = 11


@settings(max_examples=15)
@given(st.data(), st.floats(0.05, 0.6), st.integers(200, 4_000))
def test_an_attacker_who_tries_all_counts_finds_no_small_one(
    data: st.DataObject, record: float, n_frame: int
) -> None:
    """The attacker knows how many pairs of each kind were judged, and how figures are made."""
    n = data.draw(st.integers(8, 30)), data.draw(st.integers(8, 30))
    own = data.draw(st.integers(0, n[0])), data.draw(st.integers(0, n[1]))

    def told(first: int, second: int) -> tuple[results.Figure, float] | None:
        kinds = Kind.whole(first, n[0]), Kind.whole(second, n[1])
        return publishable(*kinds, record, n_frame, SMALLEST)

    seen = told(*own)
    if seen is None:
        return
    fitting = [
        (first, second)
        for first in range(n[0] + 1)
        for second in range(n[1] + 1)
        if first + second and _near(record, first / n[0], second / n[1], *seen)
        if told(first, second) == seen
    ]
    assert own in fitting
    for count in (
        [first for first, _ in fitting],
        [n[0] - first for first, _ in fitting],
        [second for _, second in fitting],
        [n[1] - second for _, second in fitting],
    ):
        assert min(count) > SMALLEST or len(set(count)) >= FEWEST_COUNTS


def _near(record: float, first: float, second: float, seen: results.Figure, step: float) -> bool:
    """Tell whether counts could look the same: those that differ by more need not be tried."""
    value = record * first / (record * first + (1 - record) * second)
    assert seen.value is not None
    return abs(value - seen.value) <= 0.51 * step


def test_published_figures_hold_the_exact_ones() -> None:
    for first in range(0, 61, 10):
        for second in range(5, 61, 10):
            kinds = Kind.whole(first, 60), Kind.whole(second, 60)
            exact = publishable(*kinds, 0.3, 1_000, 1)
            told = publishable(*kinds, 0.3, 1_000, SMALLEST)
            assert exact is not None
            if told is not None:
                middle, low, high = astuple(exact[0])
                value, least, most = astuple(told[0])
                assert least <= low <= high <= most
                assert abs(value - middle) <= told[1] / 2 + 1e-6


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("intravar.documents.write_files", lambda *_: None)
    return stored_world(tmp_path, n_physicians=10, n_each=80)


def _answer_all(world: World) -> list[review.ReviewPair]:
    pairs = review.pairs(world.out)
    given = {}
    for pair in pairs:
        word = "comparable" if world.comparable(pair.a.patient, pair.b.patient) else "different"
        given[pair.pair] = review.Answer(word, "frail" if word == "different" else "")
    stored = replace(read_stored(world.private), answers={"R1": given})
    write_stored(world.private, stored)
    return pairs


def _published(world: World) -> dict[str, Any] | None:
    summary = json.loads((world.out / "summary.json").read_text("utf-8"))
    found = summary["decisions"][0]["review"]
    return found if isinstance(found, dict) else None


def test_a_review_is_published_in_blocks(world: World) -> None:
    """Whoever reads after every answer sees no figure move by one answer."""
    review.draw(world.out, pairs=80)
    pairs = review.pairs(world.out)
    seen: list[tuple[int, object]] = []
    for number, pair in enumerate(pairs, 1):
        word = "comparable" if world.comparable(pair.a.patient, pair.b.patient) else "different"
        review.answer(world.out, pair.pair, word)
        review.read(world.out)
        told = _published(world)
        if told is not None and (not seen or told != seen[-1][1]):
            seen.append((number, told))
    at = [number for number, _ in seen]
    assert at[-1] == 80
    assert min(np.diff([0, *at])) >= BLOCK
    assert 1 < len(at) <= 4
    # One answer changed afterwards changes nothing that is published.
    for word, reason in (("unsure", ""), ("different", "tried before")):
        review.answer(world.out, pairs[0].pair, word, reason=reason)
        assert not review.read(world.out).published
        assert _published(world) == seen[-1][1]


def test_publishing_that_was_cut_short_is_done_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    review.draw(world.out, pairs=120)
    _answer_all(world)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(publishing, "add_files", full)
        with pytest.raises(OSError, match="No space"):
            review.read(world.out)
    assert _published(world) is None
    assert review.read(world.out).published
    assert _published(world) is not None


def test_what_is_published_has_its_fields_and_no_counts(world: World) -> None:
    review.draw(world.out, pairs=240)
    _answer_all(world)
    found = review.read(world.out)
    told = _published(world)
    assert told is not None
    assert found.published
    assert found.group is not None
    assert set(told) == {
        *("discordance", "n_pairs", "record", "step", "n_left", "explained"),
        *("reasons", "unsure", "agreement", "physicians"),
    }
    assert told["n_pairs"] == 240
    assert found.group.value is not None
    assert told["discordance"]["value"] == pytest.approx(found.group.value, abs=0.005)
    assert found.group.value < found.record - 0.05
    assert told["physicians"] == {}  # a dozen pairs each is too few
    # A judgement counts for its physician.
    drawn = Counter(pair.physician for pair in read_stored(world.private).pairs)
    counted = dict(found.physicians.select("physician", "n_pairs").iter_rows())
    assert counted == {name: n for name, n in drawn.items() if n >= 6}
    assert 0 < len(counted) <= 10
    for _, _, middle, low, high, record in found.physicians.iter_rows():
        assert 0 < low < middle < high < 1
        assert middle < record


def test_small_counts_behind_the_rest_hide_it(world: World) -> None:
    """Reasons, unsure pairs and kappa are told where no small count follows from them."""
    review.draw(world.out, pairs=240)
    _answer_all(world)
    opened, stored = open_folder(world.out), read_stored(world.private)
    found = review.results(world.out)

    def told(**changes: object) -> results.Review:
        changed = replace(found, **changes)  # type: ignore[arg-type]
        made = publishing.published_review(opened, stored, changed)
        assert made is not None
        return made

    rare = told(reasons={"contraindication": 40, "tried before": 30, "patient's wish": 3})
    assert rare.reasons == {"contraindication": 0.55, "other reasons": 0.45}
    named = told(reasons={"contraindication": 40, "Mrs Miller refused": 20})
    assert list(named.reasons) == ["contraindication", "other reasons"]
    assert told(reasons={"contraindication": 5}).reasons == {}
    assert told(n_unsure=4, unsure=results.Figure(None, 0.1, 0.12)).unsure is None
    both = told(n_unsure=20, unsure=results.Figure(None, 0.113, 0.135)).unsure
    assert both == results.Figure(None, 0.11, 0.14)
    kappa = results.Figure(0.412, 0.2, 0.63)
    assert told(agreement=kappa, n_twice=40, n_same=37).agreement is None
    agreed = told(agreement=kappa, n_twice=60, n_same=40).agreement
    assert agreed == results.Figure(0.4, 0.2, 0.6)


def test_unsure_pairs_are_not_judged(world: World) -> None:
    review.draw(world.out, pairs=40)
    pairs = _answer_all(world)
    before = review.results(world.out)
    for pair in pairs[:10]:
        review.answer(world.out, pair.pair, "unsure")
    found = review.results(world.out)
    assert (before.n_pairs, found.n_pairs, found.n_unsure, found.n_left) == (40, 30, 10, 0)
    assert found.unsure is not None
    low, high = found.unsure.low or 0.0, found.unsure.high or 0.0
    assert low < high
    told = f"it lies between {100 * low:.0f} and {100 * high:.0f} of 100"
    assert told in " ".join(found.lines())


@pytest.mark.parametrize("different", [True, False])
def test_unsure_pairs_tell_the_lower_end_first(world: World, different: bool) -> None:
    """If comparable they raise the figure where they were decided differently, else lower it."""
    review.draw(world.out, pairs=160)
    stored = read_stored(world.private)
    given = {
        p.pair: review.Answer("comparable" if at % 2 else "different")
        for at, p in enumerate(stored.pairs)
    }
    write_stored(world.private, replace(stored, answers={"R1": given}))
    unsure = [p.pair for p in stored.pairs if p.different == different][:20]
    ends = []
    for word in ("comparable", "different", "unsure"):
        for pair in unsure:
            review.answer(world.out, pair, word)
        found = review.results(world.out)
        assert found.group is not None
        ends.append(found.group.value or 0.0)
    assert found.unsure is not None
    assert (ends[0] > ends[1]) == different
    assert astuple(found.unsure)[1:] == pytest.approx(sorted(ends[:2]))
    told = publishing.published_review(open_folder(world.out), read_stored(world.private), found)
    assert told is not None
    assert told.unsure is not None
    _, low, high = astuple(told.unsure)
    assert low <= min(ends[:2]) <= max(ends[:2]) <= high


def test_unsure_pairs_alone_have_no_range(world: World) -> None:
    """If none of them is comparable there is no figure, and so no end."""
    for at, pair in enumerate(review.draw(world.out, pairs=20)):
        review.answer(world.out, pair.pair, "unsure" if at else "different")
    found = review.results(world.out)
    assert (found.group, found.unsure, found.n_unsure) == (None, None, 19)


def test_nothing_comparable_is_no_figure(world: World) -> None:
    drawn = review.draw(world.out, pairs=20)
    assert review.results(world.out).lines() == ["0 pairs judged, 0 unsure, 20 left."]
    for pair in drawn:
        review.answer(world.out, pair.pair, "different")
    found = review.read(world.out)
    assert (found.group, found.published) == (None, False)
    assert found.lines()[0] == "20 pairs judged, 0 unsure, 0 left."


def test_the_figure_of_a_physician_is_published_where_all_counts_are_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four counts, comparable or not and decided alike or not, must be twelve or more."""
    monkeypatch.setattr("intravar.documents.write_files", lambda *_: None)
    world = stored_world(tmp_path, n_physicians=2, n_each=500)
    review.draw(world.out, pairs=400, each=True)
    counts: Counter[tuple[str, bool, bool]] = Counter()
    given = {}
    for at, pair in enumerate(read_stored(world.private).pairs):
        # One of the two has few pairs that were decided alike and found not comparable.
        same = at % 2 == 0 or (pair.physician == "Dr 1" and not pair.different)
        given[pair.pair] = review.Answer("comparable" if same else "different")
        counts[pair.physician, pair.different, same] += 1
    write_stored(world.private, replace(read_stored(world.private), answers={"R1": given}))
    assert min(n for (name, *_), n in counts.items() if name == "Dr 0") > SMALLEST
    assert counts["Dr 1", False, False] == 0
    found = review.read(world.out)
    told = _published(world)
    assert told is not None
    [own] = told["physicians"].values()
    assert [*told["physicians"]] == [open_folder(world.out).shown_names["Dr 0"]]
    exact = found.physicians.row(0, named=True)
    assert exact["physician"] == "Dr 0"
    assert abs(own["value"] - exact["discordance"]) <= 0.025 + 1e-9
    assert own["low"] <= exact["low"] <= exact["high"] <= own["high"]
    # Rounded to steps of 0.05.
    assert all(abs(20 * end - round(20 * end)) < 1e-9 for end in own.values())


def test_a_plan_promises_what_is_published(world: World) -> None:
    planned = review.plan(world.out)
    widths = [each.high - each.low for each in planned.sizes]
    assert widths == sorted(widths, reverse=True)
    for each in planned.sizes:
        if each.published_low is not None and each.published_high is not None:
            assert each.published_low <= each.low + 1e-9
            assert each.published_high >= each.high - 1e-9
    review.draw(world.out, pairs=120)
    _answer_all(world)
    found = review.results(world.out)
    assert found.group is not None
    _, low, high = astuple(found.group)
    width = high - low
    assert width < 1.6 * planned.sizes[2].high - planned.sizes[2].low
    again = review.plan(world.out)
    assert again.reviewed == 120
    assert again.comparable != planned.comparable
