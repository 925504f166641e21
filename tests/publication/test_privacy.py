"""What is published must not give a small count away, to whoever knows all the rest."""

import json
import stat
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import intravar
from intravar.estimators.evidence import EligibleRates, Evidence, Pairs
from intravar.inference import share_interval
from intravar.measurement.columns import COLUMNS
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import Verdict
from intravar.preparation.decisions import Panels
from intravar.publication import hiding
from intravar.publication.checks import published_check, unmeasurable
from intravar.publication.disclosure import published_of, without_small_bins
from intravar.publication.files import read_published
from intravar.publication.hiding import PublishedScores
from intravar.publication.policy import is_few, is_small, part_is_safe
from intravar.publication.pseudonyms import Pseudonyms

pytestmark = pytest.mark.usefixtures("learned_once")

Counts = tuple[int, int, int]
SMALLEST = 5  # a low bar keeps the search of the attacker short; the rule is the same
LARGEST = 26


Behind = tuple[Scores, Evidence]


def scores_of(panels: list[Counts]) -> Behind:
    """Make scores of (patients, pairs, discordant pairs)."""
    n, pairs, discordant = (
        np.array(column, dtype=np.int64) for column in zip(*panels, strict=True)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(pairs > 0, discordant / pairs, np.nan)
    evidence = Pairs(pairs, discordant, pl.DataFrame(), share, pl.DataFrame())
    scores = Scores(
        physician=pl.Series([f"P{j}" for j in range(len(panels))]),
        n_patients=n,
        n_for=n // 2,
        discordance=share,
        reason=[None if p else "no pair within the caliper" for p in pairs],
        interval=share_interval(discordant, pairs),
        columns=evidence.columns(),
    )
    return scores, evidence


def published(behind: Behind, smallest: int = SMALLEST) -> Any:
    """Return all that is published about the panels, in a form that can be compared."""
    found = PublishedScores(*behind, smallest_cell=smallest, min_panel=2, min_reliability=0.0)
    positions = (np.flatnonzero(~found.hidden.size).tolist(), found.measured.tolist())
    return found.table.rows(), int(found.table["n_patients"].sum()), *positions


def shown(behind: Behind, **limits: Any) -> PublishedScores:
    return PublishedScores(*behind, **({"smallest_cell": 11, "min_reliability": 0} | limits))


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


def own_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the part of a published row that depends on nobody else, ranks and shrinkage apart."""
    names = ("shrunken", "reliability", "rank", "rank_low", "rank_high", "physician")
    return tuple(
        value for column, value in zip(COLUMNS, row, strict=True) if column.name not in names
    )


@pytest.fixture(scope="module")
def alike() -> dict[tuple[Any, ...], list[Counts]]:
    """All panels by what is published about them alone."""
    found: dict[tuple[Any, ...], list[Counts]] = {}
    rows = published(scores_of(ALL_PANELS))[0]
    for counts, row in zip(ALL_PANELS, rows, strict=True):
        found.setdefault(own_row(row), []).append(counts)
    return found


def assert_open(
    hidden: dict[str, int],
    guesses: Iterable[Any],
    fits: Callable[[Any], bool],
    cells: Callable[[Any], dict[str, int]],
) -> None:
    """No small count may be the only one that fits; whoever has found two need not go on."""
    values: dict[str, set[int]] = {name: set() for name in hidden}
    for guess in guesses:
        if all(len(found) >= 2 for found in values.values()):
            return
        if fits(guess):
            for name, found in values.items():
                found.add(cells(guess).get(name, -1))
    for name, found in values.items():
        assert len(found) >= 2, f"{name} = {hidden[name]} follows"


@given(st.lists(panel, min_size=1, max_size=4), st.data())
@settings(max_examples=30, deadline=None)
def test_an_attacker_who_knows_all_other_physicians_cannot_tell(
    alike: dict[tuple[Any, ...], list[Counts]], panels: list[Counts], data: st.DataObject
) -> None:
    target = data.draw(st.integers(0, len(panels) - 1))
    hidden = small_cells(panels[target])
    assume(hidden)
    seen = published(scores_of(panels))

    def fits(guess: Counts) -> bool:
        others = [*panels[:target], guess, *panels[target + 1 :]]
        return bool(published(scores_of(others)) == seen)

    assert fits(panels[target])
    # A panel of which something else is published alone does not fit, whoever the others are.
    guesses = alike[own_row(seen[0][target])]
    assert panels[target] in guesses
    assert_open(hidden, guesses, fits, small_cells)


# --- the latent rule, at its worst: everybody knows who is eligible, and rates are raw shares ---

Cells = tuple[int, int, int, int]  # eligible decided for, against; others decided for, against
LATENT_SMALLEST = 3
LATENT_LARGEST = 15


def latent_scores_of(panels: list[Cells]) -> Behind:
    """Make scores that are an exact function of the four cells."""
    cells = np.array(panels, dtype=np.float64)
    eligible, others = cells[:, :2].sum(axis=1), cells[:, 2:].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_high, p_low = cells[:, 0] / eligible, cells[:, 2] / others
    evidence = EligibleRates(
        p_high, p_low, eligible, cells[:, 0], np.zeros(0, dtype=np.bool_), None
    )
    scores = Scores(
        physician=pl.Series([f"P{j}" for j in range(len(panels))]),
        n_patients=(eligible + others).astype(np.int64),
        n_for=(cells[:, 0] + cells[:, 2]).astype(np.int64),
        discordance=2 * p_high * (1 - p_high),
        reason=[None if n else "nobody is eligible" for n in eligible],
        interval=share_interval(cells[:, 0].astype(np.int64), eligible.astype(np.int64)),
        columns=evidence.columns(),
    )
    return scores, evidence


def small_latent_cells(cells: Cells) -> dict[str, int]:
    """Return the counts of a panel that must stay hidden: cells, margins and the panel."""
    a, b, c, d = cells
    counts = {
        "eligible decided for": a,
        "eligible decided against": b,
        "others decided for": c,
        "others decided against": d,
        "eligible": a + b,
        "others": c + d,
        "decided for": a + c,
        "decided against": b + d,
        "patients": a + b + c + d,
    }
    return {name: count for name, count in counts.items() if is_small(count, LATENT_SMALLEST)}


ALL_CELLS = [
    (a, b, c, n - a - b - c)
    for n in range(1, LATENT_LARGEST + 1)
    for a in range(n + 1)
    for b in range(n - a + 1)
    for c in range(n - a - b + 1)
]


#: Whoever guesses looks beyond the largest panel that there is.
GUESSED_CELLS = [cells for cells in ALL_CELLS if sum(cells) <= LATENT_LARGEST - LATENT_SMALLEST]


@pytest.fixture(scope="module")
def look_alikes() -> dict[tuple[Any, ...], list[Cells]]:
    """All panels by what is published about them alone."""
    found: dict[tuple[Any, ...], list[Cells]] = {}
    rows = published(latent_scores_of(ALL_CELLS), LATENT_SMALLEST)[0]
    for cells, row in zip(ALL_CELLS, rows, strict=True):
        found.setdefault(own_row(row), []).append(cells)
    return found


@given(st.lists(st.sampled_from(GUESSED_CELLS), min_size=1, max_size=3), st.data())
@settings(max_examples=30, deadline=None)
def test_an_attacker_who_knows_who_is_eligible_cannot_tell(
    look_alikes: dict[tuple[Any, ...], list[Cells]], panels: list[Cells], data: st.DataObject
) -> None:
    target = data.draw(st.integers(0, len(panels) - 1))
    hidden = small_latent_cells(panels[target])
    assume(hidden)
    seen = published(latent_scores_of(panels), LATENT_SMALLEST)

    def fits(guess: Cells) -> bool:
        others = [*panels[:target], guess, *panels[target + 1 :]]
        return bool(published(latent_scores_of(others), LATENT_SMALLEST) == seen)

    assert fits(panels[target])
    guesses = look_alikes[own_row(seen[0][target])]
    assert panels[target] in guesses
    assert_open(hidden, guesses, fits, small_latent_cells)


def test_every_small_cell_of_the_latent_rule_is_hidden(
    look_alikes: dict[tuple[Any, ...], list[Cells]],
) -> None:
    """One physician alone, every panel: no small count is the only one that fits."""
    for group in look_alikes.values():
        counts = [small_latent_cells(other) for other in group]
        fitting = {name: {each.get(name, -1) for each in counts} for name in set().union(*counts)}
        for cells in group:
            if sum(cells) <= LATENT_LARGEST - LATENT_SMALLEST:
                for name in small_latent_cells(cells):
                    assert len(fitting[name]) >= 2, f"{name} of {cells}"


def test_few_among_the_others_hide_p_low_and_keep_the_score() -> None:
    seen = shown(latent_scores_of([(60, 40, 3, 97)] * 3))
    row = seen.table.row(0, named=True)
    assert row["n_patients"] == 200
    assert (row["discordance"], row["p_high"]) == (0.48, 0.6)
    assert row["p_low"] is None
    assert row["discrimination"] is None
    few = shown(latent_scores_of([(60, 40, 3, 4)] * 3))
    assert few.table["n_patients"].to_list() == [None] * 3
    assert few.table["discordance"].to_list() == [0.48] * 3
    assert few.table["n_patients"].sum() == 0


def test_few_exceptions_among_the_eligible_hide_the_score() -> None:
    seen = shown(latent_scores_of([(96, 4, 50, 50)] * 3))
    row = seen.table.row(0, named=True)
    for name in ("discordance", "low", "high", "shrunken", "p_high", "p_low", "discrimination"):
        assert row[name] is None
    assert row["reason"] == ("at most 11 eligible decisions of one kind, too few to publish")


def test_published_numbers_are_rounded_unless_nothing_is_hidden() -> None:
    scores = latent_scores_of([(61, 46, 30, 61), (50, 50, 41, 52), (71, 16, 29, 41)])
    table, exact = shown(scores).table, shown(scores, smallest_cell=1).table
    assert exact["p_high"].to_list() == scores[0].columns["p_high"].tolist()
    for name in ("discordance", "low", "high", "shrunken", "p_high", "p_low", "reliability"):
        assert table[name].to_list() == exact[name].round(3).to_list()
    assert table["rank"].to_list() == exact["rank"].round(1).to_list()


def test_a_reliability_below_the_limit_is_not_rounded_up_to_it() -> None:
    scores = latent_scores_of([(61, 46, 30, 61), (50, 50, 41, 52), (71, 16, 29, 41)])
    exact = shown(scores, smallest_cell=1).table["reliability"]
    limit = next(round(each, 3) for each in exact if each < round(each, 3))
    told = shown(scores, min_reliability=limit).table.row(exact.round(3).to_list().index(limit))
    row = dict(zip(shown(scores).table.columns, told, strict=True))
    assert row["reason"] == f"cannot be ranked: reliability below {limit:g}"
    assert row["reliability"] == pytest.approx(limit - 0.001)


def test_totals_do_not_include_what_is_hidden() -> None:
    seen = shown(scores_of([(200, 80, 30), (4, 2, 1)]), min_panel=2)
    assert seen.table["n_patients"].sum() == 200
    assert seen.table["n_patients"].to_list() == [200, None]


def test_few_unpaired_patients_hide_the_size_but_not_the_score() -> None:
    seen = shown(scores_of([(200, 98, 30)] * 3))
    row = seen.table.row(0, named=True)
    assert row["n_patients"] is None
    assert row["discordance"] == round(30 / 98, 3)


def test_few_discordant_pairs_hide_the_score() -> None:
    seen = shown(scores_of([(200, 80, 3), (200, 80, 30)]))
    row = seen.table.row(0, named=True)
    assert row["n_patients"] == 200
    for name in ("discordance", "low", "high", "shrunken", "rank", "reliability", "n_pairs"):
        assert row[name] is None
    assert row["reason"] == "at most 11 discordant or concordant pairs, too few to publish"
    assert not row["reportable"]
    # Ranks are counted among those shown: a gap would tell the order of the hidden one.
    assert seen.table["rank"].to_list() == [None, 1.0]


@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([1, *range(3, 21)]))
def test_parts(part: int, rest: int, smallest: int) -> None:
    whole = part + rest
    text = hiding.shown(part, smallest, whole)
    assert (text == f"{part:,}") == part_is_safe(part, whole, smallest)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(1, 20))
@example([2, 0, 1], 2)
def test_merged_bins(counts: list[int], smallest: int) -> None:
    edges = np.arange(len(counts) + 1.0)
    bins = pl.DataFrame({"from": edges[:-1], "to": edges[1:], "n_pairs": counts})
    merged = without_small_bins(bins, smallest)
    if sum(counts) < max(smallest, 1):
        assert merged.height == 0
        return
    assert merged["share"].sum() == pytest.approx(1)
    assert (merged["lower"][0], merged["upper"][-1]) == (edges[0], edges[-1])
    assert merged["upper"][:-1].to_list() == merged["lower"][1:].to_list()
    for share in merged["share"]:
        assert not is_small(round(share * sum(counts)), smallest)


# --- pseudonyms ---


def test_pseudonyms_depend_on_the_key_and_tell_everyone_apart() -> None:
    names = [f"Dr {n}" for n in range(5000)]
    one, other = Pseudonyms.of(names), Pseudonyms.of(names)
    assert len(set(one.by_name.values())) == len(names)
    assert one.by_name != other.by_name
    assert Pseudonyms.of(names, one.key).by_name == one.by_name


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    cohort = intravar.simulate("score2", n_patients=1200, n_physicians=6, random_state=5)
    return cohort.to_polars().with_columns(
        pl.format("Dr. Secret {}", "physician").alias("physician")
    )


@pytest.fixture(scope="module")
def measured(table: pl.DataFrame) -> intravar.Measurement:
    return intravar.measure(table, physician="physician", decision="decision", method="euclidean")


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=20),
    smallest=st.sampled_from([1, *range(3, 21)]),
)
def test_totals_of_a_check_add_up_to_what_is_shown(
    measured: intravar.Measurement, sizes: list[int], smallest: int
) -> None:
    names = pl.Series([f"P{number}" for number in range(len(sizes))])
    panels = Panels.of(names, np.array(sizes), np.array(sizes) // 2)
    request = replace(measured.check.request, smallest_cell=smallest)
    check = replace(measured.check, panels=panels, request=request)
    told, shown = published_check(check), [n for n in sizes if not is_few(n, smallest)]
    assert told.n_patients == (round(sum(shown), -1) if smallest > 1 else sum(shown))
    assert told.n_physicians_with_few_patients == len(sizes) - len(shown)
    # Who can have no figure is counted; of panels that are few no size is told.
    counts = {
        row["n_patients"].split(" patients")[0]: row["n_physicians"] for row in unmeasurable(check)
    }
    assert sum(counts.values()) == sum(n < request.min_panel for n in sizes)
    assert counts.get(hiding.few(smallest), 0) == len(sizes) - len(shown)


@pytest.fixture(scope="module")
def folder(measured: intravar.Measurement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measured") / "out"
    intravar.write_measurement(measured, out)
    return out


def test_no_name_leaves_the_private_folder(folder: Path) -> None:
    for file in folder.iterdir():
        assert b"Secret" not in file.read_bytes(), file.name
    private = folder.with_name("out-private")
    key = json.loads((private / "key.json").read_text())
    assert set(key["physicians"].values()) == {f"Dr. Secret P0{n}" for n in range(1, 7)}
    shown = pl.read_csv(folder / "physicians.csv")["physician"].to_list()
    assert sorted(shown) == sorted(key["physicians"])


def test_no_figure_is_handed_on_where_none_may_be_read(measured: intravar.Measurement) -> None:
    judged = Verdict("not interpretable", ("'dose' gives the decision away",), 9.0)
    spoiled = replace(measured, judged=judged)
    names = {name: name for name in measured.main.scores.physician.cast(pl.String)}
    found = published_of(spoiled, names, lambda name: 0.5).first
    told = {name for name in found.table.columns if found.table[name].count()}
    assert told <= {"physician", "n_patients", "rate", "reason", "reportable"}
    assert not any(row.reportable for row in found.physicians)
    assert found.group is None
    assert (found.n_reportable, found.n_ranked, found.n_banded) == (0, 0, 0)


def test_no_order_is_promised_that_may_not_be_shown(measured: intravar.Measurement) -> None:
    """Ranks that are all hidden are none: the verdict says so by what is published."""
    judged = Verdict("ranks only", ("two halves agree",), 9.0)
    hidden = replace(measured.request, smallest_cell=150)
    names = {name: name for name in measured.main.scores.physician.cast(pl.String)}
    found = published_of(replace(measured, judged=judged, request=hidden), names, None).first
    assert found.n_ranked == 0
    assert found.verdict == "group only"
    assert "that may be shown are too few" in found.verdict_reasons[0]


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
    for parts in read_published(folder).first.diagnostics.attrition.values():
        assert not any(is_small(count) for count in parts.values())


@pytest.fixture(scope="module")
def latent(tmp_path_factory: pytest.TempPathFactory) -> tuple[intravar.Measurement, Path]:
    """A small cohort under the default method: some physicians have few exceptions."""
    table = intravar.simulate("score2", n_patients=1200, n_physicians=8, random_state=4).to_polars()
    found = intravar.measure(
        table,
        physician="physician",
        decision="decision",
        method="latent-rule",
        methods=["euclidean"],
        min_reliability=0,
    )
    out = tmp_path_factory.mktemp("latent") / "out"
    intravar.write_measurement(found, out, show_names=True)
    return found, out


def test_the_latent_rule_publishes_no_small_cell(latent: tuple[intravar.Measurement, Path]) -> None:
    found, out = latent
    scores, evidence = found.main.scores, found.main.evidence
    assert isinstance(evidence, EligibleRates)
    rows = {row["physician"]: row for row in pl.read_parquet(out / "physicians.parquet").to_dicts()}
    assert sorted(rows) == sorted(scores.physician.to_list())
    written = [rows[name] for name in scores.physician.to_list()]
    eligible, eligible_for = evidence.n_eligible, evidence.n_eligible_for
    cells = np.transpose(
        [
            eligible_for,
            eligible - eligible_for,
            scores.n_for - eligible_for,
            scores.n_patients - scores.n_for - eligible + eligible_for,
        ]
    )
    np.testing.assert_allclose(cells.sum(axis=1), scores.n_patients)
    assert (cells > -1e-9).all()
    hidden = 0
    for row, (a, b, c, d) in zip(written, cells, strict=True):
        if row["p_high"] is not None or row["discordance"] is not None:
            assert all(count >= 11 or count < 0.5 for count in (a, b))
        if row["p_low"] is not None or row["discrimination"] is not None:
            assert all(count >= 11 or count < 0.5 for count in (a, b, c, d))
        hidden += row["discordance"] is None
        for name in ("discordance", "low", "high", "shrunken", "p_high", "p_low"):
            assert row[name] is None or row[name] == round(row[name], 3)
    assert 0 < hidden < 8


def test_the_share_of_everybody_is_rounded_to_what_two_dozen_patients_move(
    latent: tuple[intravar.Measurement, Path],
) -> None:
    found, out = latent
    panels, share = found.check.panels.table, read_published(out).first.check.decision_share
    assert share is not None
    step = 2 * 12 / panels["n_patients"].sum()
    assert abs(share - panels["n_for"].sum() / panels["n_patients"].sum()) <= step
    assert round(share / step, 6) == round(share / step)


def test_agreement_of_methods_does_not_depend_on_hidden_physicians(
    latent: tuple[intravar.Measurement, Path],
) -> None:
    _, out = latent
    decision = read_published(out).first
    methods = pl.read_parquet(out / "methods.parquet").drop_nulls("score")
    both = methods.filter(pl.col("method") == "latent-rule").join(
        methods.filter(pl.col("method") == "euclidean"), on="physician"
    )
    (agreement,) = [
        row.spearman
        for row in decision.diagnostics.agreement
        if (row.method, row.other) == ("latent-rule", "euclidean")
    ]
    assert agreement == pytest.approx(
        both.select(pl.corr("score", "score_right", method="spearman")).item(), abs=0.006
    )


def test_a_tighter_caliper_sets_no_few_pairs_apart(
    table: pl.DataFrame, measured: intravar.Measurement
) -> None:
    names = {name: name for name in measured.physicians["physician"]}
    sweep = pl.DataFrame(published_of(measured, names).first.diagnostics.sweep)
    steps = sweep.sort("fraction")["share_paired"].to_numpy() * table.height / 2
    apart = np.diff(np.concatenate([[0.0], steps]))
    assert not any(is_small(round(float(count))) for count in apart)


def test_the_same_key_gives_the_same_pseudonyms(
    measured: intravar.Measurement, tmp_path: Path
) -> None:
    found = measured
    seen = []
    for key in (None, None, tmp_path / "out-private" / "key.json"):
        out = tmp_path / ("out" if key is None else "other")
        intravar.write_measurement(found, out, key=key)
        seen.append(pl.read_csv(out / "physicians.csv")["physician"].to_list())
    assert seen[0] == seen[1] == seen[2]
    intravar.write_measurement(found, tmp_path / "out", show_names=True)
    assert "Dr. Secret P01" in (tmp_path / "out" / "physicians.csv").read_text()
    # Names that are shown once do not cost the key.
    intravar.write_measurement(found, tmp_path / "out")
    assert pl.read_csv(tmp_path / "out" / "physicians.csv")["physician"].to_list() == seen[0]
