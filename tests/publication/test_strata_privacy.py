"""Subgroups and periods tell no small count, nor do two runs that differ by one patient.

The attacker knows all other physicians, the size of the panel where it is published, and, of two
runs, who the new patient is. Figures are taken at their worst: that of a physician in a stratum
tells how many patients there are and how many were decided for.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.inference.contrasts import Effects
from intravar.measurement.wider.strata import Strata, strata_of
from intravar.publication.policy import is_few, is_small
from intravar.publication.strata import published_strata, strata_tables, unsafe_physicians

COLUMNS = ("decision", "own", "pooled", "code", "stratum")
SMALLEST = 3  # a low bar keeps the search short; the rule is the same
#: Decided against and for in the first stratum, in the second, and of those in neither.
Panel = tuple[int, int, int, int, int, int]
Sizes = dict[str, tuple[int, int] | None]


def strata_with(panels: list[Panel]) -> tuple[Strata, Sizes]:
    """Make strata whose figures are an exact function of the counts, and panel sizes."""
    columns: list[list[float]] = []
    for who, panel in enumerate(panels):
        for place, count in enumerate(panel[:4]):
            stratum, decided = divmod(place, 2)
            cell = panel[2 * stratum : 2 * stratum + 2]
            share = cell[1] / max(sum(cell), 1)
            columns += [[decided, share, 0.3 + 0.4 * share, who, stratum]] * count
    values = np.array(columns, dtype=np.float64).reshape(-1, 5).T
    places = pl.col("code", "stratum").cast(pl.Int64)
    patients = pl.DataFrame(dict(zip(COLUMNS, values, strict=True))).with_columns(places)
    names = pl.Series([f"P{who}" for who in range(len(panels))])
    sizes: Sizes = {
        name: (sum(panel), sum(panel[1::2])) for name, panel in zip(names, panels, strict=True)
    }
    return strata_of(patients, names, ("a", "b")), sizes


def cells_only(panels: list[Panel]) -> tuple[Strata, Sizes]:
    """The same without what is estimated: fast enough for all panels that there are."""
    rows = [
        {
            "physician": f"P{who}",
            "stratum": name,
            "n_patients": panel[at] + panel[at + 1],
            "n_for": panel[at + 1],
        }
        for who, panel in enumerate(panels)
        for name, at in (("a", 0), ("b", 2))
        if panel[at] + panel[at + 1]
    ]
    nobody = pl.DataFrame()
    sizes: Sizes = {f"P{who}": (sum(panel), sum(panel[1::2])) for who, panel in enumerate(panels)}
    unknown = Effects(np.full(2, np.nan), np.zeros((2, 2)))
    return Strata(("a", "b"), nobody, pl.DataFrame(rows), unknown, nobody), sizes


def told_alone(panel: Panel) -> tuple[Any, ...]:
    """What the measurement tells without strata: the size, and how many were decided for."""
    n, n_for = sum(panel), panel[1] + panel[3] + panel[5]
    few = is_few(n_for, SMALLEST) or is_few(n - n_for, SMALLEST)
    return (None if is_few(n, SMALLEST) else n, None if few else n_for)


def counts_of(panel: Panel) -> list[int]:
    counts = [*panel, *(panel[at] + panel[at + 1] for at in (0, 2, 4))]
    return [count if is_small(count, SMALLEST) else -1 for count in counts]


def assert_nothing_follows(panels: Iterable[Panel], place: int | None, largest: int) -> None:
    """Of all panels that are published alike, no small count may be the only one that fits."""
    before = list(panels)
    runs = [before]
    if place is not None:
        runs.append([tuple(c + (at == place) for at, c in enumerate(p)) for p in before])  # type: ignore[misc]
    hidden = []
    for run in runs:
        strata, sizes = cells_only(run)
        for name, panel in zip(sizes, run, strict=True):
            if told_alone(panel)[0] is None:
                sizes[name] = None
        unsafe = unsafe_physicians(strata, sizes, SMALLEST)
        # Whose score is hidden has no strata either.
        unsafe |= {f"P{at}" for at, panel in enumerate(run) if None in told_alone(panel)}
        hidden.append(unsafe)
    alike: dict[Any, list[list[int]]] = defaultdict(list)
    edge, shown_ever = set(), False
    for at in range(len(before)):
        seen = tuple(
            (told_alone(run[at]), None if f"P{at}" in unsafe else run[at][:4])
            for run, unsafe in zip(runs, hidden, strict=True)
        )
        shown_ever = shown_ever or seen[0][1] is not None
        alike[seen].append([count for run in runs for count in counts_of(run[at])])
        if sum(before[at]) >= largest or all(cells is None for _, cells in seen):
            edge.add(seen)
    assert shown_ever
    for seen, fitting in alike.items():
        for number, values in enumerate(map(set, zip(*fitting, strict=True))):
            own = place is not None and values == {1} and _is_their_own(seen, fitting, number)
            assert values == {-1} or len(values) >= 2 or seen in edge or own, (
                f"count {number} is {values}: {seen}"
            )


def _is_their_own(seen: tuple[Any, ...], fitting: list[list[int]], number: int) -> bool:
    """Tell whether the only patient is the one whom the attacker added: nobody was there before."""
    half = len(fitting[0]) // 2
    return number >= half and all(counts[number - half] == -1 for counts in fitting)


@pytest.mark.parametrize("place", [None, *range(6)])
def test_no_panel_gives_a_small_count_away(place: int | None) -> None:
    sizes = range(5), range(3, 8)
    panels: list[Panel] = [
        (a, b, c, d, e, f)
        for a, b in product(sizes[1], range(8))
        for c, d in product(range(8), (0, 4, 5))
        for e, f in product(sizes[0], (0, 1, 5))
    ]
    assert_nothing_follows(panels, place, largest=10_000)


panels_of_all = st.lists(
    st.tuples(*[st.integers(0, 30)] * 4, st.sampled_from([0, 0, 2, 20]), st.just(0)),
    min_size=2,
    max_size=5,
)


@given(panels_of_all)
@settings(max_examples=30, deadline=None)
def test_tables_hold_nobody_who_must_be_hidden(panels: list[Panel]) -> None:
    panels = [*panels, (20, 20, 20, 20, 0, 0)]
    strata, sizes = strata_with(panels)
    hidden = unsafe_physicians(strata, sizes, 11)
    cells, changes = strata_tables("by", strata, {name: name for name in sizes}, hidden, 11)
    shown = set(cells["physician"].to_list())
    assert f"P{len(panels) - 1}" in shown
    assert set(changes["physician"].to_list()) <= shown
    for who, panel in enumerate(panels):
        few = any(is_few(count, 11) for count in panel[:4])
        outside = any(count and is_few(count, 11) for count in panel[4:])
        assert (f"P{who}" in shown) == (not few and not outside)
    hidden_size = unsafe_physicians(strata, sizes | {f"P{len(panels) - 1}": None}, 11)
    assert f"P{len(panels) - 1}" in hidden_size


@given(st.floats(-0.5, 0.5), st.floats(0.01, 0.3))
@settings(max_examples=30, deadline=None)
def test_what_changes_say_together_comes_from_those_that_are_shown(
    change: float, half: float
) -> None:
    """Whatever a hidden physician did, nothing else that is published changes."""
    panels: list[Panel] = [(30, 20, 25, 30, 0, 0)] * 3 + [(40, 4, 20, 40, 0, 0)]
    strata, sizes = cells_only(panels)
    hidden = unsafe_physicians(strata, sizes, 11)
    assert hidden == {"P3"}

    def published(change: float, half: float) -> list[Any]:
        values = np.array([0.1, 0.02, -0.05, change])
        wide = np.array([0.05, 0.04, 0.06, half])
        changes = pl.DataFrame(
            {
                "physician": list(sizes),
                "change": values,
                "low": values - wide,
                "high": values + wide,
                "shrunken": np.full(4, change),
                "probability": np.full(4, 0.5),
            }
        )
        cells = strata.cells.with_columns(
            discordance=pl.lit(0.2), low=pl.lit(0.1), high=pl.lit(0.3)
        )
        made = replace(strata, changes=changes, cells=cells)
        names = {name: name for name in sizes}
        return [table.rows() for table in strata_tables("period", made, names, hidden, 11)]

    assert published(change, half) == published(0.0, 0.1)
    assert len(published(change, half)[1]) == 3


@given(st.integers(0, 11), st.integers(30, 60), st.integers(12, 40))
@settings(max_examples=40, deadline=None)
def test_figures_of_all_tell_no_small_count(few: int, n: int, known: int) -> None:
    """To whoever knows all other physicians: no small count of the hidden one is the only one."""

    def told(count: int) -> str:
        strata, sizes = strata_with([(40, 40, 40, 40, 0, 0), (n - count, count, known, 20, 0, 0)])
        hidden = unsafe_physicians(strata, sizes, 11)
        return str(published_strata(strata, 11, hidden=bool(hidden)).strata[0].rate)

    seen = told(few)
    fits = {count for count in range(12) if told(count) == seen}
    values = {count if is_small(count, 11) else -1 for count in fits}
    assert len(values) >= 2 or values == {-1}
