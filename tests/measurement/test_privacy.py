"""What is published must not give a small count away, to whoever knows all the rest."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import intravar
from intravar.inference import share_interval
from intravar.measurement.assessment import Scores
from intravar.measurement.diagnostics import without_small_bins
from intravar.measurement.pseudonyms import Pseudonyms
from intravar.measurement.publication import publish
from intravar.measurement.suppression import is_small, part_is_safe, safe_total, shown_part

Counts = tuple[int, int, int]
SMALLEST = 5  # a low bar keeps the search of the attacker short; the rule is the same
LARGEST = 26


def scores_of(panels: list[Counts]) -> Scores:
    """Make scores of (patients, pairs, discordant pairs)."""
    n, pairs, discordant = (
        np.array(column, dtype=np.int64) for column in zip(*panels, strict=True)
    )
    unknown = np.full(len(panels), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(pairs > 0, discordant / pairs, np.nan)
    ends = share_interval(discordant, pairs)
    return Scores(
        physician=[f"P{j}" for j in range(len(panels))],
        n_patients=n,
        discordance=share,
        reason=[None if p else "no pair within the caliper" for p in pairs],
        n_positive=n // 2,
        n_pairs=pairs.astype(np.float64),
        n_discordant=discordant.astype(np.float64),
        low=ends.low,
        high=ends.high,
        standard_error=ends.standard_error,
        p_high=unknown,
        p_low=unknown,
        discrimination=unknown,
    )


def published(panels: list[Counts]) -> Any:
    """Return all that is published about the panels, in a form that can be compared."""
    found = publish(scores_of(panels), smallest_cell=SMALLEST, min_panel=2, min_reliability=0.0)
    return found.table.rows(), found.n_patients, found.n_hidden, found.withheld


def small_cells(panel: Counts) -> dict[str, int]:
    """Return the counts of a panel that must stay hidden."""
    n, pairs, discordant = panel
    cells = {
        "patients": n,
        "pairs": pairs,
        "discordant": discordant,
        "concordant": pairs - discordant,
        "unpaired": n - 2 * pairs,
    }
    return {name: count for name, count in cells.items() if is_small(count, SMALLEST)}


ALL_PANELS = [
    (n, pairs, discordant)
    for n in range(1, LARGEST + 1)
    for pairs in range(n // 2 + 1)
    for discordant in range(pairs + 1)
]
panel = st.sampled_from(ALL_PANELS)


@given(st.lists(panel, min_size=1, max_size=4), st.data())
@settings(max_examples=12, deadline=None)
def test_an_attacker_who_knows_all_other_physicians_cannot_tell(
    panels: list[Counts], data: st.DataObject
) -> None:
    target = data.draw(st.integers(0, len(panels) - 1))
    hidden = small_cells(panels[target])
    assume(hidden)
    seen = published(panels)
    row = seen[0][target]
    possible = []
    for guess in ALL_PANELS:
        if row[1] is not None and guess[0] != row[1]:  # a size that is shown need not be guessed
            continue
        others = list(panels)
        others[target] = guess
        if published(others) == seen:
            possible.append(guess)
    assert panels[target] in possible
    for name, count in hidden.items():
        values = {small_cells(guess).get(name, -1) for guess in possible}
        assert len(values) >= 2, f"{name} = {count} follows from {seen}"


def test_totals_do_not_include_what_is_hidden() -> None:
    seen = publish(scores_of([(200, 80, 30), (4, 2, 1)]), smallest_cell=11, min_panel=2)
    assert seen.n_patients == 200
    assert seen.table["n_patients"].to_list() == [200, None]


def test_few_unpaired_patients_hide_the_size_but_not_the_score() -> None:
    seen = publish(scores_of([(200, 98, 30)] * 3), smallest_cell=11, min_reliability=0)
    row = seen.table.row(0, named=True)
    assert row["n_patients"] is None
    assert row["discordance"] == 30 / 98


def test_few_discordant_pairs_hide_the_score() -> None:
    seen = publish(scores_of([(200, 80, 3), (200, 80, 30)]), smallest_cell=11, min_reliability=0)
    row = seen.table.row(0, named=True)
    assert row["n_patients"] == 200
    for name in ("discordance", "low", "high", "shrunken", "rank", "reliability", "n_pairs"):
        assert row[name] is None
    assert row["reason"] == "1 to 10 discordant or concordant pairs, too few to publish"
    assert not row["reportable"]
    # Ranks are counted among those shown: a gap would tell the order of the hidden one.
    assert seen.table["rank"].to_list() == [None, 1.0]


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 20))
def test_parts(part: int, rest: int, smallest: int) -> None:
    whole = part + rest
    text = shown_part(part, whole, smallest)
    assert (text == f"{part:,}") == part_is_safe(part, whole, smallest)


@given(st.lists(st.integers(0, 60), max_size=20), st.integers(1, 20))
def test_safe_totals_add_up_to_what_is_shown(parts: list[int], smallest: int) -> None:
    total, hidden = safe_total(parts, smallest)
    assert total == sum(part for part in parts if not is_small(part, smallest))
    assert hidden == sum(is_small(part, smallest) for part in parts)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(1, 20))
def test_merged_bins(counts: list[int], smallest: int) -> None:
    edges = np.arange(len(counts) + 1.0)
    merged, kept = without_small_bins(np.array(counts), edges, smallest)
    assert merged.sum() == sum(counts)
    assert (kept[0], kept[-1]) == (edges[0], edges[-1])
    assert len(kept) == len(merged) + 1
    if sum(counts) >= smallest:
        assert not any(is_small(count, smallest) for count in merged)


# --- pseudonyms ---


def test_pseudonyms_depend_on_the_key_and_tell_everyone_apart() -> None:
    names = [f"Dr {n}" for n in range(5000)]
    one, other = Pseudonyms.of(names), Pseudonyms.of(names)
    assert len(set(one.by_name.values())) == len(names)
    assert one.by_name != other.by_name
    assert Pseudonyms.of(names, one.key).by_name == one.by_name


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    cohort = intravar.simulate("score2", n_patients=1200, n_physicians=6, seed=5)
    return cohort.to_polars().with_columns(
        pl.format("Dr. Secret {}", "physician").alias("physician")
    )


@pytest.fixture(scope="module")
def folder(table: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measured") / "out"
    found = intravar.measure(table, physician="physician", decision="decision", method="euclidean")
    found.write(out)
    return out


def test_no_name_leaves_the_private_folder(folder: Path) -> None:
    for file in folder.iterdir():
        assert b"Secret" not in file.read_bytes(), file.name
    private = folder.with_name("out-private")
    key = json.loads((private / "key.json").read_text())
    assert set(key["physicians"].values()) == {f"Dr. Secret P0{n}" for n in range(1, 7)}
    shown = pl.read_csv(folder / "physicians.csv")["physician"].to_list()
    assert sorted(shown) == sorted(key["physicians"])


def test_only_the_owner_reads_the_private_folder(folder: Path) -> None:
    private = folder.with_name("out-private")
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    for file in private.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_small_counts_are_nowhere_in_what_is_published(folder: Path) -> None:
    written = pl.read_parquet(folder / "physicians.parquet")
    for row in written.iter_rows(named=True):
        if row["discordance"] is not None:
            discordant = round(row["discordance"] * row["n_pairs"])
            assert part_is_safe(discordant, row["n_pairs"])
        if row["n_patients"] is not None and row["n_pairs"] is not None:
            assert part_is_safe(2 * row["n_pairs"], row["n_patients"])
    for row in json.loads((folder / "diagnostics.json").read_text())["attrition"]:
        assert not any(is_small(count) for name, count in row.items() if name != "physician")


def test_the_same_key_gives_the_same_pseudonyms(table: pl.DataFrame, tmp_path: Path) -> None:
    found = intravar.measure(table, physician="physician", decision="decision", method="euclidean")
    seen = []
    for key in (None, None, tmp_path / "out-private" / "key.json"):
        out = tmp_path / ("out" if key is None else "other")
        found.write(out, key=key)
        seen.append(pl.read_csv(out / "physicians.csv")["physician"].to_list())
    assert seen[0] == seen[1] == seen[2]
    found.write(tmp_path / "named", show_names=True)
    assert "Dr. Secret P01" in (tmp_path / "named" / "physicians.csv").read_text()
    assert not (tmp_path / "named-private" / "key.json").exists()
