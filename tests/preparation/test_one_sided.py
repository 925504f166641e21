"""Columns that are recorded, or have a value, with one decision only; and harmless ones."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.stats import fisher_exact, hypergeom

import intravar
from intravar.preparation.check import check
from intravar.preparation.kinds import Column, understand
from intravar.preparation.leaks import Leak, find_leaks
from intravar.preparation.one_sided import FALSE_ALARM, _Tables, find_one_sided

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class World:
    """Physicians with a shared rule, levels of their own, and four covariates."""

    def __init__(
        self, seed: int, n_physicians: int = 20, n_each: int = 100, slope: float = 1.5
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.n = n_physicians * n_each
        self.physician = np.repeat(np.arange(n_physicians), n_each)
        self.x = self.random.normal(size=(self.n, 4))
        level = self.random.normal(0, 0.6, n_physicians)[self.physician]
        chance = 1 / (1 + np.exp(-slope * self.x[:, 0] - self.x[:, 1] - level))
        self.decision = (self.random.random(self.n) < chance).astype(np.int8)

    def some(self, share: float) -> Bools:
        """Return rows at random."""
        return self.random.random(self.n) < share

    def lab(self, recorded: Bools) -> pl.Series:
        """Return a column of numbers that is recorded in some rows."""
        return pl.Series(self.random.normal(size=self.n)).set(pl.Series(~recorded), None)

    def leaks(self, **columns: pl.Series) -> list[Leak]:
        """Return possible leaks among the covariates and further columns."""
        listed = {f"x{at}": pl.Series(values) for at, values in enumerate(self.x.T)} | columns
        understood = [understand(values.alias(name)) for name, values in listed.items()]
        kept = [each for each in understood if each.kind not in ("constant", "empty", "identifier")]
        return find_leaks(kept, self.decision, "decision", physician=self.physician)


@pytest.mark.parametrize("share", [0.6, 0.3, 0.1])
@pytest.mark.parametrize("decision", [0, 1])
@pytest.mark.parametrize("inverted", [False, True])
def test_a_column_recorded_or_missing_with_one_decision_only_is_a_certain_leak(
    share: float, decision: int, inverted: bool
) -> None:
    world = World(seed=1)
    rows = (world.decision == decision) & world.some(share)
    (leak,) = world.leaks(late=world.lab(~rows if inverted else rows))
    assert leak.column == "late"
    assert leak.certain
    assert "almost never" in leak.why


def test_errors_of_documentation_hide_no_leak() -> None:
    world = World(seed=2)
    recorded = np.where(world.decision == 1, world.some(0.5), world.some(0.01))
    (leak,) = world.leaks(late=world.lab(recorded))
    assert leak.certain


@pytest.mark.parametrize(
    "coded",
    [
        lambda given: pl.Series(given.astype(np.int64)),
        lambda given: pl.Series(np.where(given, np.arange(len(given)) % 7 + 1.5, 0.0)),
        lambda given: pl.Series(np.where(given, "Z51", np.array(["a", "b"])[given.cumsum() % 2])),
        lambda given: pl.Series(np.where(given, "tablet", "none")),
    ],
    ids=["0 and 1", "0 for nothing", "a level of many", "a word for nothing"],
)
def test_the_same_leak_in_another_coding(coded: Callable[[Bools], pl.Series]) -> None:
    world = World(seed=3)
    (leak,) = world.leaks(dispensed=coded((world.decision == 1) & world.some(0.4)))
    assert leak.certain


def test_a_leak_in_one_hospital_alone() -> None:
    world = World(seed=4, n_physicians=20, n_each=200)
    recorded = (world.decision == 1) & (world.physician < 2)
    (leak,) = world.leaks(late=world.lab(recorded))
    assert leak.certain


def test_four_rows_prove_nothing() -> None:
    world = World(seed=5)
    four = np.flatnonzero(world.decision == 1)[:4]
    recorded = np.isin(np.arange(world.n), four)
    assert world.leaks(late=world.lab(recorded)) == []


def test_a_small_table_is_not_flagged_by_chance() -> None:
    world = World(seed=6, n_physicians=3, n_each=8)
    assert world.leaks(lab=world.lab(world.some(0.3)), other=world.lab(world.some(0.7))) == []


def test_a_test_made_more_often_in_sick_patients_does_not_limit_the_verdict() -> None:
    world = World(seed=7, n_physicians=30, n_each=200)
    recorded = np.where(world.decision == 1, world.some(0.6), world.some(0.06))
    assert [leak.certain for leak in world.leaks(lab=world.lab(recorded))] == [False]
    recorded = np.where(world.decision == 1, world.some(0.6), world.some(0.2))
    assert world.leaks(lab=world.lab(recorded)) == []


def test_what_the_other_covariates_explain_is_no_leak() -> None:
    """A test that is made above a limit only, for a decision that is rare below it."""
    world = World(seed=8, slope=5.0)
    recorded = world.x[:, 0] > -0.5
    unexplained = [each for each in world.leaks(lab=world.lab(recorded)) if each.column == "lab"]
    assert unexplained == []


def test_a_column_that_one_hospital_does_not_record_is_no_leak() -> None:
    world = World(seed=9, n_physicians=2, n_each=500)
    world.decision = np.where(world.physician == 0, world.some(0.02), world.some(0.9)).astype(
        np.int8
    )
    assert world.leaks(lab=world.lab(world.physician == 1)) == []


def test_a_contraindication_is_asked_about_and_does_not_limit_the_verdict() -> None:
    world = World(seed=10)
    contraindicated = world.some(0.15)
    world.decision[contraindicated] = 0
    (leak,) = world.leaks(pregnant=pl.Series(contraindicated.astype(np.int64)))
    assert not leak.certain
    assert leak.why.startswith("is '1' in")


def test_an_indication_with_exceptions_does_not_limit_the_verdict() -> None:
    world = World(seed=11, n_physicians=30)
    indicated = world.some(0.3)
    world.decision[indicated] = world.some(0.96)[indicated]
    assert not any(leak.certain for leak in world.leaks(stemi=pl.Series(indicated.astype(int))))


def test_a_test_that_one_sex_has_is_asked_about_at_most() -> None:
    world = World(seed=12)
    woman = world.some(0.5)
    world.decision[woman] = 0
    sex = pl.Series(np.where(woman, "f", "m"))
    leaks = world.leaks(sex=sex, psa=world.lab(~woman))
    assert not any(leak.certain for leak in leaks)


def test_two_leaks_do_not_explain_each_other() -> None:
    world = World(seed=13)
    given = (world.decision == 1) & world.some(0.5)
    leaks = world.leaks(dose_time=world.lab(given), route=world.lab(given))
    assert {leak.column for leak in leaks if leak.certain} == {"dose_time", "route"}


def harmless(world: World) -> dict[str, pl.Series]:
    """Return twenty columns with missing values that say nothing of the decision itself."""
    draw, n_physicians = world.random, world.physician.max() + 1
    columns = {f"random{at}": world.lab(world.some(draw.uniform(0.02, 0.98))) for at in range(8)}
    for at in range(6):
        logit = draw.uniform(1, 6) * (world.x[:, at % 2] - draw.normal())
        columns[f"by_covariate{at}"] = world.lab(draw.random(world.n) < 1 / (1 + np.exp(-logit)))
    for at in range(6):
        records = draw.random(n_physicians) < 0.5
        columns[f"by_physician{at}"] = world.lab(records[world.physician])
    return columns


def flagged_among_harmless(seeds: range) -> list[Leak]:
    sizes = [(20, 100), (5, 40), (60, 30)]
    found = []
    for seed in seeds:
        n_physicians, n_each = sizes[seed % 3]
        world = World(seed, n_physicians, n_each, slope=[1.0, 2.5, 5.0][seed // 3 % 3])
        found += world.leaks(**harmless(world))
    return found


def test_harmless_missing_values_are_not_flagged() -> None:
    assert flagged_among_harmless(range(100, 103)) == []


@pytest.mark.slow
def test_harmless_missing_values_are_not_flagged_in_many_worlds() -> None:
    assert len(flagged_among_harmless(range(200, 245))) <= 1


# --- the exact test ---


def test_one_physician_is_tested_as_fisher_does() -> None:
    inside = np.repeat([True, True, False, False], [12, 2, 9, 20])
    decided = np.repeat([1, 0, 1, 0], [12, 2, 9, 20])
    tables = _Tables.of(inside, decided, np.zeros(43, dtype=np.int64))
    expected = fisher_exact([[12, 9], [2, 20]], alternative="greater").pvalue
    assert tables.probability_of_fewer(opposite=0, odds_ratio=1.0) == pytest.approx(expected)


def test_several_physicians_are_tested_as_all_their_tables_together() -> None:
    random = np.random.default_rng(3)
    physician = np.repeat([0, 1, 2], [20, 30, 25])
    decided = (random.random(75) < 0.6).astype(np.int64)
    inside = random.random(75) < np.where(decided == 1, 0.5, 0.25)
    observed = int((inside & (decided == 0)).sum())
    sums = np.zeros(200_000, dtype=np.int64)
    for each in range(3):
        own = physician == each
        sums += hypergeom.rvs(
            own.sum(),
            (own & (decided == 0)).sum(),
            (own & inside).sum(),
            size=len(sums),
            random_state=each,
        )
    simulated = float((sums <= observed).mean())
    exact = _Tables.of(inside, decided, physician).probability_of_fewer(0, odds_ratio=1.0)
    assert exact == pytest.approx(simulated, abs=4 * np.sqrt(simulated * (1 - simulated) / 2e5))


def test_chance_alone_is_flagged_as_rarely_as_promised() -> None:
    """Recorded at random in tables of every size; the test is exact, and so the rate is below."""
    n_flagged = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        n = int(random.integers(30, 400))
        decision = (random.random(n) < random.uniform(0.1, 0.9)).astype(np.int64)
        values = pl.Series("lab", random.normal(size=n)).set(
            pl.Series(random.random(n) < random.uniform(0.1, 0.9)), None
        )
        if 0 < decision.sum() < n:
            n_flagged += bool(
                find_one_sided([Column("lab", "number", values)], decision, np.arange(n) % 4)
            )
    assert n_flagged <= 300 * FALSE_ALARM + 4 * np.sqrt(300 * FALSE_ALARM)


# --- what becomes of it ---


def late_table(share: float = 0.6) -> pl.DataFrame:
    made = intravar.simulate("score2", n_patients=1500, n_physicians=10, random_state=3)
    table = made.to_polars(truth=False)
    random = np.random.default_rng(1)
    given = (table["decision"] == 1) & pl.Series(random.random(1500) < share)
    return table.with_columns(late=pl.Series(random.normal(size=1500)).set(~given, None))


def test_a_leak_limits_the_verdict_until_it_is_confirmed() -> None:
    table, names = late_table(), {"physician": "physician", "decision": "decision"}
    measured = intravar.measure(table, **names, method="euclidean")
    assert measured.verdict == "not interpretable"
    assert "'late' gives the decision away" in measured.judged.reasons[0]
    confirmed = intravar.measure(table, **names, method="euclidean", confirm=["late"])
    assert confirmed.verdict != "not interpretable"


def test_a_confirmed_column_is_used_and_noted() -> None:
    found = check(late_table(), physician="physician", decision="decision", confirm=["late"])
    assert found.leak_lines() == []
    (late,) = (each for each in found.prepared.columns if each.column == "late")
    assert late.use == "covariate"
    assert "confirmed as known before the decision" in late.note


def test_covariates_that_are_named_are_asked_about_and_do_not_limit_the_verdict() -> None:
    found = check(
        late_table(), physician="physician", decision="decision", covariates=["age", "late"]
    )
    (leak,) = found.prepared.leaks
    assert not leak.certain
    assert "does not limit the verdict" in leak.why


def test_a_column_that_is_confirmed_must_exist() -> None:
    with pytest.raises(intravar.InputError, match="there is no column 'early'"):
        check(late_table(), physician="physician", decision="decision", confirm=["early"])
