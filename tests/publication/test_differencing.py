"""Bands, rates and group figures tell no small count, nor do two runs that differ by a patient."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from intravar.arrays import FloatArray
from intravar.estimators.evidence import Decisions, EligibleRates, Evidence, Pairs
from intravar.inference import discordance_interval, rank_normal, ranking, share_interval
from intravar.measurement.columns import COLUMNS
from intravar.measurement.scores import Scores
from intravar.publication.group import group_of_shown
from intravar.publication.hiding import PublishedScores, band_of
from intravar.publication.policy import FROM, TO, is_small
from intravar.publication.results import Band

#: Secrets and points of rounding that the attacker, who knows none, tries.
SECRETS = tuple(np.linspace(0.0, 0.98, 8).tolist())
PHASES = (0.1, 0.5, 0.9)
#: What is said of a physician beside others depends on them; the rest is the physician's own.
OF_ALL = {"shrunken", "reliability", "rank", "rank_low", "rank_high", "physician"}

Panel = tuple[int, int]  # patients, decided for


@contextmanager
def ranks_unread() -> Iterator[None]:
    """Draw few ranks where nobody looks at them: thousands of panels take long to be ranked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "rank_normal", partial(rank_normal, n_draws=2))
        yield


def counted(panels: list[Panel]) -> Scores:
    """Make scores that are an exact function of how many were decided for."""
    n, k = (np.array(column, dtype=np.int64) for column in zip(*panels, strict=True))
    return Scores(
        physician=pl.Series([f"P{j}" for j in range(len(panels))]),
        n_patients=n,
        n_for=k,
        discordance=2 * k / n * (1 - k / n),
        reason=[None] * len(panels),
        interval=discordance_interval(k, np.maximum(n, 2)),
        columns={},
        most=0.5,
    )


def deciding(scores: Scores) -> FloatArray:
    """Return of every physician the smallest secret by which the lower band is told."""
    return np.clip((scores.discordance - FROM) / (TO - FROM) + 1e-12, 0.0, 0.999)


def all_secrets(before: Scores, after: Scores) -> list[FloatArray]:
    """Return secrets of every physician by which all is told that may be told of both runs."""
    least, most = np.zeros(len(before.physician)), np.full(len(before.physician), 0.999)
    return [least, most, deciding(before), deciding(after)]


def told(
    panels: list[Panel], secrets: list[float], smallest: int, min_panel: int
) -> PublishedScores:
    return PublishedScores(
        counted(panels),
        Decisions(),
        smallest_cell=smallest,
        min_panel=min_panel,
        min_reliability=0.0,
        secrets=np.array(secrets),
    )


def published_by(
    scores: Scores, evidence: Evidence, smallest: int, secrets: FloatArray
) -> PublishedScores:
    return PublishedScores(
        scores,
        evidence,
        smallest_cell=smallest,
        min_panel=2,
        min_reliability=0.0,
        secrets=np.nan_to_num(secrets),
    )


def own_rows(found: PublishedScores) -> list[tuple[Any, ...]]:
    names = [column.name for column in COLUMNS if column.name not in OF_ALL]
    return found.table.select(names).rows()


def cells_of(panel: Panel, smallest: int) -> tuple[int, ...]:
    """Return patients, decided for and against; -1 for what is not small."""
    n, k = panel
    return tuple(count if is_small(count, smallest) else -1 for count in (n, k, n - k))


def assert_left_open(
    look_alikes: dict[Any, set[tuple[Panel, ...]]], smallest: int, largest: int
) -> None:
    """Of all that is published alike, no small count may be the only one that fits."""
    for seen, alike in look_alikes.items():
        for run in range(len(next(iter(alike)))):
            cells = [cells_of(panels[run], smallest) for panels in alike]
            for name, values in zip(
                ("patients", "for", "against"), map(set, zip(*cells, strict=True)), strict=True
            ):
                edge = any(panels[run][0] >= largest for panels in alike)
                assert values == {-1} or len(values) >= 2 or edge, f"{name} is {values}: {seen}"


@given(
    st.integers(1, 330),
    st.sampled_from([3, 5, 11]),
    st.sampled_from([2, 30, 60]),
    st.sampled_from([0, 1]),
)
@settings(max_examples=40, deadline=None)
def test_two_runs_that_differ_by_a_patient_tell_no_small_count(
    n: int, smallest: int, min_panel: int, decided_for: int
) -> None:
    """The attacker knows how the new patient was decided, and who of for and against is rarer."""
    # A hidden size is guessed as well.
    sizes = range(1, smallest + 3) if n <= smallest else [n]
    possible = [(size, k) for size in sizes for k in range(min(size // 2 + 1, smallest + 4))]
    next_to = [(size + 1, k + decided_for) for size, k in possible]
    look_alikes: dict[Any, set[tuple[Panel, ...]]] = {}
    for secrets in all_secrets(counted(possible), counted(next_to)):
        with ranks_unread():
            runs = [
                own_rows(told(panels, secrets.tolist(), smallest, min_panel))
                for panels in (possible, next_to)
            ]
        for one, other, first, second in zip(possible, next_to, *runs, strict=True):
            look_alikes.setdefault((first, second), set()).add((one, other))
            look_alikes.setdefault(first, set()).add((one,))
    assert_left_open(look_alikes, smallest, largest=10_000)


panels_of_others = st.lists(
    st.integers(1, 160).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=4,
)


@given(
    panels_of_others,
    st.integers(12, 160),
    st.integers(1, 10),
    st.sampled_from([0, 1]),
    st.sampled_from(SECRETS),
    st.sampled_from(PHASES),
)
@example([(30, 2), (109, 102)], 12, 1, 0, 0.14, 0.1)
@settings(max_examples=20, deadline=None)
def test_nor_do_all_figures_of_both_runs_together(
    others: list[Panel], n: int, k: int, decided_for: int, secret: float, phase: float
) -> None:
    """All rows, the group's figures and totals, to whoever knows all other physicians exactly."""
    assume(2 * k <= n)

    @cache
    def rows(panel: Panel, own: float) -> PublishedScores:
        # Everybody has a secret of their own; those of the others stay as they are.
        return told([panel, *others], [own, *[secret] * len(others)], 11, 30)

    def published(panel: Panel, own: float, phase: float) -> Any:
        found = rows(panel, own)
        group = group_of_shown(found, phase)
        told_of_all = {} if group is None else vars(group)
        figures = [
            round(float(each), 2) if isinstance(each, (int, float)) else each
            for each in told_of_all.values()
        ]
        return (found.table.rows(), int(found.table["n_patients"].sum()), str(figures))

    def guessed(n: int, k: int) -> set[float]:
        runs = counted([(n, k)]), counted([(n + 1, k + decided_for)])
        return {float(each[0]) for each in all_secrets(*runs)}

    first = published((n, k), secret, phase)
    second = published((n + 1, k + decided_for), secret, phase)

    def fits(guess: int) -> bool:
        return any(
            published((n, guess), other, point) == first
            and published((n + 1, guess + decided_for), other, point) == second
            for other in guessed(n, guess)
            for point in {phase, PHASES[0]}
        )

    def is_open(guesses: set[int]) -> bool:
        """Tell whether two small counts fit, or one and that it is none, before and after."""
        told = [{g + added if is_small(g + added, 11) else -1 for g in guesses} for added in more]
        return all(len(values) >= 2 for values in told)

    more, found = (0, decided_for), {k}
    for guess in sorted(range(min(n // 2, 12) + 1), key=lambda guess: abs(guess - k)):
        if not is_open(found) and fits(guess):
            found.add(guess)
    assert is_open(found), f"{k} of {n} follows from {first} and {second}"


# --- pairs: the number of pairs is hidden with a hidden score ---

Triple = tuple[int, int, int]  # patients, pairs, discordant pairs


def paired(panels: list[Triple]) -> tuple[Scores, Pairs]:
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
        reason=[None] * len(panels),
        interval=share_interval(discordant, pairs),
        columns=evidence.columns(),
    )
    return scores, evidence


@pytest.mark.parametrize("change", [(1, 0, 0), (1, 1, 0), (1, 1, 1)])
def test_pairs_of_two_runs_tell_no_small_count(change: Triple) -> None:
    """A patient who stays alone, or makes a pair, concordant or discordant."""
    smallest, largest = 3, 42
    before = [
        (n, pairs, discordant)
        for n in range(20, largest + 1)
        for pairs in range(max(10, n // 2 - 8), n // 2 + 1)
        for discordant in range(pairs + 1)
        if n + 1 >= 2 * (pairs + change[1])
        and (discordant <= smallest + 1 or discordant >= pairs - smallest - 1 or pairs == 15)
    ]
    add_n, add_pairs, add_discordant = change
    after = [(n + add_n, m + add_pairs, d + add_discordant) for n, m, d in before]
    look_alikes: dict[Any, set[tuple[Triple, Triple]]] = {}
    both = [paired(panels) for panels in (before, after)]
    for secrets in all_secrets(both[0][0], both[1][0]):
        with ranks_unread():
            runs = [own_rows(published_by(*each, smallest, secrets)) for each in both]
        for at, panel in enumerate(before):
            seen = (runs[0][at], runs[1][at])
            look_alikes.setdefault(seen, set()).add((panel, after[at]))
    for seen, alike in look_alikes.items():
        if any(panel[0] > largest - 4 for panel, _ in alike):
            continue  # whoever guesses looks beyond the largest panel that there is
        for run in (0, 1):
            cells = [
                (each[run][2], each[run][1] - each[run][2], each[run][0] - 2 * each[run][1])
                for each in alike
            ]
            for counts in zip(*cells, strict=True):
                values = {count if is_small(count, smallest) else -1 for count in counts}
                assert values == {-1} or len(values) >= 2, f"{counts} follows from {seen}"


# --- the latent rule: everybody knows who is eligible, and rates are raw shares ---

Cells = tuple[int, int, int, int]  # eligible decided for, against; others decided for, against


def rated(panels: list[Cells]) -> tuple[Scores, EligibleRates]:
    cells = np.array(panels, dtype=np.float64)
    eligible, others = cells[:, :2].sum(axis=1), cells[:, 2:].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_high, p_low = cells[:, 0] / eligible, cells[:, 2] / others
    nobody = np.zeros(0, dtype=np.bool_)
    evidence = EligibleRates(p_high, p_low, eligible, cells[:, 0], nobody, None)
    scores = Scores(
        physician=pl.Series([f"P{j}" for j in range(len(panels))]),
        n_patients=(eligible + others).astype(np.int64),
        n_for=(cells[:, 0] + cells[:, 2]).astype(np.int64),
        discordance=2 * p_high * (1 - p_high),
        reason=[None] * len(panels),
        interval=share_interval(cells[:, 0], eligible),
        columns=evidence.columns(),
        most=0.5,
    )
    return scores, evidence


@pytest.mark.parametrize("cell", range(4))
def test_rates_of_two_runs_tell_no_small_count(cell: int) -> None:
    """A patient more among the eligible or the others, decided for or against."""
    smallest, sizes = 5, range(36, 41)
    before = [
        (n - b - c - d, b, c, d)
        for n in sizes
        for b in range(8)
        for c in range(11)
        for d in range(11 - c)
    ]
    more = [int(at == cell) for at in range(4)]
    after = [(a + more[0], b + more[1], c + more[2], d + more[3]) for a, b, c, d in before]
    look_alikes: dict[Any, set[tuple[Any, Any]]] = {}
    both = [rated(panels) for panels in (before, after)]
    for secrets in all_secrets(both[0][0], both[1][0]):
        with ranks_unread():
            runs = [own_rows(published_by(*each, smallest, secrets)) for each in both]
        for at, panel in enumerate(before):
            look_alikes.setdefault((runs[0][at], runs[1][at]), set()).add((panel, after[at]))
    for seen, alike in look_alikes.items():
        if any(sum(panel) not in sizes[:-3] for panel, _ in alike):
            continue  # whoever guesses looks beyond the panels that there are
        for run in (0, 1):
            for at in range(4):
                values = {each[run][at] for each in alike}
                values = {count if is_small(count, smallest) else -1 for count in values}
                assert values == {-1} or len(values) >= 2, f"cell {at}: {alike} from {seen}"


# --- what the bands are ---


@given(st.integers(30, 2000), st.integers(0, 11), st.floats(0, 1, exclude_max=True))
def test_a_band_holds_the_score_and_at_least_two_small_counts(
    n: int, k: int, secret: float
) -> None:
    score = 2 * k / n * (1 - k / n)
    for known in (True, False):
        band = band_of(score, secret, n, 11, known=known)
        assert band is not None
        assert band.low <= score <= band.high
        scores = [2 * j / n * (1 - j / n) for j in range(12)]
        assert sum(band.low < each <= band.high for each in scores[1:]) >= 3


def test_words_of_bands() -> None:
    assert band_of(float("nan"), 0.5, 60, 11) is None
    # A score above what counts allow is told without what follows from them.
    assert band_of(0.3, 0.5, 500, 11, known=True) is None
    assert band_of(0.08, 0.5, 500, 11, known=True) == Band(0.0, 0.25)
    assert band_of(0.4, 0.5, 60, 11, known=True) == Band(0.1, 0.5)


def test_a_trial_of_many_small_hospitals_is_not_mute() -> None:
    """466 hospitals with a median of 23 patients, most of whom are decided alike."""
    random = np.random.default_rng(0)
    n = np.maximum(2, np.exp(random.normal(np.log(23), 1.1, 466))).astype(np.int64)
    k = random.binomial(n, 1 / (1 + np.exp(random.normal(2.2, 1.3, 466))))
    panels = list(zip(n.tolist(), k.tolist(), strict=True))
    found = told(panels, random.random(466).tolist(), 11, 30)
    has_value, has_band = found.table["reportable"], found.table["band_low"].is_not_null()
    assert (has_value & has_band).sum() == 0
    assert (has_value | has_band).sum() >= 150
    # Hardly any of the most consistent would be there without bands.
    large = n >= 30
    score = 2 * k / n * (1 - k / n)
    first = np.argsort(np.where(large, score, np.inf))[:20]
    assert has_value.to_numpy()[first].sum() <= 2
    assert has_band.to_numpy()[first].all()
    for band, value in zip(found.bands, score, strict=True):
        assert band is None or band.low <= value <= band.high
    group = group_of_shown(found, phase=0.3)
    assert group is not None
    mean = float(n @ score) / float(n.sum())
    assert group.low <= mean <= group.high
    assert group.discordance == pytest.approx(mean, abs=0.03)


@pytest.mark.parametrize("phase", PHASES)
def test_panels_too_small_for_bands_still_make_a_group(phase: float) -> None:
    panels = [(15, k % 8) for k in range(60)]
    found = told(panels, [0.5] * 60, 11, 30)
    group = group_of_shown(found, phase)
    assert group is not None
    mean = float(np.mean([2 * k / n * (1 - k / n) for n, k in panels]))
    assert group.low < mean < group.high
    assert group.discordance == pytest.approx(round(group.discordance / 0.05) * 0.05)
    assert group.differences is None
    few = told([(15, 2), (14, 1)], [0.5] * 2, 11, 30)
    assert group_of_shown(few, phase) is None
