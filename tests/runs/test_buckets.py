"""Physicians beyond the sample: the same whatever the buckets, the engine and the interruptions."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.estimators.evidence import AGAINST, PAIR, SURPRISE
from intravar.measurement.cases import MOST_REVIEWED, cases_of, patients_of, review_pairs_of
from intravar.measurement.measure import fit_method
from intravar.measurement.result import Measurement, OneDecision
from intravar.measurement.scores import Fitted, Scores
from intravar.measurement.wider.beyond import with_everybody, with_patients
from intravar.measurement.wider.strata import compare_strata, course_of
from intravar.observed import Observed
from intravar.preparation.check import Check, checked
from intravar.request import Request
from intravar.runs import RunSettings, buckets
from intravar.runs.buckets import BucketTask, Parts, read_bucket
from intravar.runs.settings import BUCKET_PATIENTS, Load, parse_memory, within

pytestmark = pytest.mark.usefixtures("learned_once")

ASKED: dict[str, Any] = {
    "physician": "doctor",
    "decision": "drug",
    "sample": 1_000,
    "smallest_cell": 1,
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Patients of 40 physicians with names, a category, gaps, a copy and a few panels of ten."""
    cohort = intravar.simulate("continuous", n_patients=3_000, n_physicians=40, random_state=3)
    X, y, physician = cohort.observed()
    random = np.random.default_rng(0)
    ward = random.choice(["north", "south", "east"], len(y))
    codes = physician.rank("dense").cast(pl.Int64)
    frame = X.select(X.columns[:4]).with_columns(
        pl.Series("ward", ward),
        pl.Series("drug", np.where(np.asarray(y) == 1, "yes", "no")),
        ("Dr " + codes.cast(pl.String).str.zfill(3)).alias("doctor"),
    )
    first = X.columns[0]
    gaps = pl.Series(random.random(len(y)) < 0.02)
    frame = frame.with_columns(
        pl.when(gaps).then(None).otherwise(pl.col(first)).alias(first),
    )
    small = frame.head(10).with_columns(
        pl.lit("Dr small").alias("doctor"), pl.Series(X.columns[1], random.normal(size=10))
    )
    # Every tenth row is there twice: enough for a sample to tell that they are copies.
    return pl.concat([frame, small, frame.gather_every(10)])


def measured(source: Any, settings: RunSettings | None = None, **options: Any) -> Measurement:
    return intravar.measure(source, settings=settings, **ASKED | options)


#: What was learned from a sample, by all that it holds: the same is not learned twice.
LEARNED: dict[tuple[bytes, ...], Fitted] = {}


def learned(observed: Observed, seed: int) -> Fitted:
    arrays = observed.covariates, observed.decision, observed.code
    names = "\0".join([*observed.names, *map(str, observed.physicians)])
    key = (*(each.tobytes() for each in arrays), repr(observed.blocks).encode(), names.encode())
    if key not in LEARNED:
        LEARNED[key] = fit_method("predictability", observed, seed)[0]
    return LEARNED[key]


def scored(source: Any, settings: RunSettings, **options: Any) -> tuple[Scores, Check]:
    """Go as far as everybody has a score: what follows in `measure` knows no buckets."""
    request = Request(**ASKED | options)
    found = checked(source, request, settings.spool)
    assert found.beyond is not None
    assert found.method == "predictability"
    fitted = {found.method: learned(found.prepared.observed, request.random_state)}
    decisions = {"drug": OneDecision(found, fitted)}
    everybody = with_everybody(decisions, settings, lambda *_: None)["drug"]
    return everybody.fitted[found.method].scores, everybody.check


def assert_same(one: Scores, other: Scores) -> None:
    """Not a bit is another: names, counts, scores, reasons, intervals and further columns."""
    assert one.physician.equals(other.physician)
    assert one.reason == other.reason
    assert one.columns.keys() == other.columns.keys()
    for name in ("n_patients", "n_for", "discordance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for values, others in zip(one.interval, other.interval, strict=True):
        np.testing.assert_array_equal(values, others)
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name])


@pytest.fixture(scope="module")
def found(table: pl.DataFrame) -> Measurement:
    return measured(table, RunSettings(n_jobs=1))


@pytest.fixture(scope="module")
def scores(table: pl.DataFrame, found: Measurement) -> Scores:
    """Everybody's scores, from which those of the whole measurement follow."""
    alone, _ = scored(table, RunSettings(n_jobs=1))
    assert alone.physician.equals(found.main.scores.physician)
    np.testing.assert_array_equal(alone.discordance, found.main.scores.discordance)
    return alone


def test_everybody_is_there(table: pl.DataFrame, found: Measurement):
    assert found.check.beyond is not None
    counts = table.unique().group_by("doctor").len()
    sizes = dict(counts.iter_rows())
    assert dict(found.table.select("physician", "n_patients").iter_rows()) == sizes
    assert found.check.panels.n_patients == table.unique().height
    n_copies = table.height - table.unique().height
    assert found.check.prepared.dropped == {"they copy another row": n_copies}
    assert any("a sample of" in note for note in found.check.notes)
    scored = found.table.filter(pl.col("n_patients") >= 30)
    assert scored["discordance"].null_count() == 0
    assert scored["expected"].null_count() == 0


def test_cases_of_everybody_are_kept(found: Measurement):
    learned = set(found.check.prepared.observed.physicians)
    beyond = next(name for name in found.table["physician"] if name not in learned)
    shown = intravar.explain(found, beyond, most=2)
    assert shown["case"].max() == 2
    assert {"age", "ward"} <= set(shown["covariate"])
    assert intravar.explain(found, min(learned), most=2).height


def test_pairs_of_everybody_can_be_reviewed(found: Measurement):
    pairs, patients = review_pairs_of(found), patients_of(found)
    decided = dict(patients.select("row", "decision").iter_rows())
    whose = dict(patients.select("row", "physician").iter_rows())
    names = found.table["physician"].cast(pl.String)
    assert pairs["physician"].n_unique() > 0.9 * len(names)
    assert set(pairs["physician"]) <= set(names)
    for name, first, second, _, different, weight in pairs.iter_rows():
        assert whose[first] == whose[second] == name
        assert (decided[first] != decided[second]) == different
        assert weight >= 1
    assert found.beyond_cases is not None
    kept = found.beyond_cases["pairs"]
    assert kept["physician"].value_counts()["count"].max() <= MOST_REVIEWED
    # What is kept stands for all pairs of its physician.
    assert kept["weight"].sum() > 1.5 * kept.height
    assert cases_of(found)["kind"].is_in([SURPRISE, AGAINST, PAIR]).all()


def test_buckets_and_processes_change_no_bit(
    table: pl.DataFrame, found: Measurement, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path = tmp_path / "patients.parquet"
    table.sample(fraction=1, shuffle=True, seed=1).write_parquet(path)
    monkeypatch.setattr("intravar.runs.settings.BUCKET_PATIENTS", 300)
    other = measured(path, RunSettings(n_jobs=2))
    assert other.table.equals(found.table)
    one, same = (cases_of(each).drop("patient", "other") for each in (found, other))
    assert one.sort(one.columns).equals(same.sort(same.columns))


def test_subgroups_and_periods_are_of_everybody(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
):
    """Also levels that the sample does not hold; whatever the buckets."""
    day = pl.int_range(pl.len()) * 7 % 700
    rare = pl.when(pl.col("doctor") == "Dr small").then(pl.lit("rare")).otherwise("ward")
    dated = table.with_columns(
        ward=rare, seen=pl.when(day > 5).then(pl.date(2023, 1, 1) + pl.duration(days=day))
    )
    request = Request(**ASKED, by="ward", date="seen", repeated="all")
    found = checked(dated, request)
    assert "rare" not in found.prepared.raw["ward"]
    main = learned(found.prepared.observed, 0)
    assert isinstance(main.estimator, intravar.Predictability)
    one = OneDecision(found, {found.method: main}, predicting=main)
    tables = []
    for size in (BUCKET_PATIENTS, 300):
        monkeypatch.setattr("intravar.runs.settings.BUCKET_PATIENTS", size)
        each = with_everybody({"drug": one}, RunSettings(n_jobs=1), lambda *_: None)["drug"]
        assert each.patients is not None
        assert each.physicians is not None
        tables.append(each.patients.sort("row"))
    assert tables[0].equals(tables[1])
    assert tables[0]["row"].to_list() == list(range(table.height))
    levels, course = compare_strata(replace(each, patients=tables[0]))
    assert levels is not None
    assert course is not None
    counts = dated["ward"].value_counts().sort("ward")["count"].to_list()
    assert levels.levels.sort("stratum")["n_patients"].to_list() == counts
    assert levels.cells["physician"].n_unique() == 41
    monkeypatch.setattr("intravar.measurement.wider.strata._noise", lambda *_: None)
    # Whether a rule changed is judged by those who were learned from, as in a small table.
    assert course.gain == course_of(with_patients(one)).gain
    assert dated["seen"].null_count() > 0
    assert course.strata.levels["n_patients"].sum() == dated["seen"].count()
    assert course.strata.changes["change"].null_count() < 41


def test_a_sample_of_everybody_is_the_method_itself(table: pl.DataFrame):
    some = table.filter(pl.col("doctor") <= "Dr 012")
    whole = measured(some, sample=100_000)
    assert whole.check.beyond is None
    model = intravar.Predictability().fit_observed(whole.check.prepared.observed)
    np.testing.assert_array_equal(whole.main.scores.discordance, np.minimum(model.score_, 0.5))


def test_a_run_that_was_ended_goes_on(
    table: pl.DataFrame, scores: Scores, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    path = tmp_path / "patients.parquet"
    table.write_parquet(path)
    folder = tmp_path / "unfinished"
    monkeypatch.setattr("intravar.runs.settings.BUCKET_PATIENTS", 300)
    read: list[int] = []

    def ended_after_two(task: BucketTask) -> Any:
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(task.number)
        return read_bucket(task)

    monkeypatch.setattr(buckets, "read_bucket", ended_after_two)
    with pytest.raises(KeyboardInterrupt):
        scored(path, RunSettings(n_jobs=1, folder=folder))
    assert len(list(folder.glob("read/*.json"))) == 2
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0
    # One of both is not what was written: it is read again.
    changed = next(iter(sorted(folder.glob("read/*-panels.parquet"))))
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    rest: list[int] = []

    def counted(task: BucketTask) -> Any:
        rest.append(task.number)
        return read_bucket(task)

    monkeypatch.setattr(buckets, "read_bucket", counted)
    again, _ = scored(path, RunSettings(n_jobs=1, folder=folder))
    assert_same(again, scores)
    assert set(rest) == set(range(max(rest) + 1)) - {read[1]}
    RunSettings(folder=folder).clear_unfinished()
    assert not folder.exists()


def test_what_was_kept_of_another_table_is_not_used(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, folder = tmp_path / "patients.parquet", tmp_path / "unfinished"
    table.write_parquet(path)
    scored(path, RunSettings(n_jobs=1, folder=folder))
    turned = table.with_columns(
        pl.when(pl.col("drug") == "yes").then(pl.lit("no")).otherwise(pl.lit("yes")).alias("drug")
    )
    turned.write_parquet(path)
    read: list[int] = []

    def counted(task: BucketTask) -> Any:
        read.append(task.number)
        return read_bucket(task)

    monkeypatch.setattr(buckets, "read_bucket", counted)
    scored(path, RunSettings(n_jobs=1, folder=folder))
    assert read


def test_two_runs_do_not_share_a_folder(tmp_path: Path):
    first, second = (Parts(tmp_path / "unfinished", {}) for _ in range(2))
    first.open()
    with pytest.raises(InputError, match="another run is working"):
        second.open()
    first.close(finished=True)
    second.open()
    second.close(finished=True)
    assert not list(tmp_path.iterdir())


def test_what_others_put_there_stays(tmp_path: Path):
    parts = Parts(tmp_path / "unfinished", {})
    parts.open()
    (tmp_path / "unfinished" / "mine.txt").write_text("mine")
    parts.close(finished=True)
    assert [path.name for path in (tmp_path / "unfinished").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("kind", ["csv", "folder", "duckdb"])
def test_every_source_gives_the_same(
    kind: str, table: pl.DataFrame, scores: Scores, tmp_path: Path
):
    source: Any = tmp_path / f"patients.{kind}"
    if kind == "csv":
        table.write_csv(source)
    elif kind == "folder":
        source.mkdir()
        table.head(1_000).write_parquet(source / "a.parquet")
        table.tail(-1_000).write_parquet(source / "b.parquet")
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(source)) as connection:
            connection.register("given", table.to_arrow())
            connection.execute("CREATE TABLE patients AS SELECT * FROM given")
    assert_same(scored(source, RunSettings(n_jobs=1))[0], scores)


def test_pandas_gives_the_same(table: pl.DataFrame, found: Measurement):
    pytest.importorskip("pandas")
    other = measured(table.to_pandas(), RunSettings(n_jobs=1))
    assert pl.DataFrame(other.physicians).equals(pl.DataFrame(found.table.to_pandas()))


def test_a_population_of_a_large_table(table: pl.DataFrame, tmp_path: Path):
    path = tmp_path / "patients.parquet"
    table.write_parquet(path)
    filtered = table.filter(pl.col("ward") != "east")
    asked = {"where": "ward != 'east'", "sample": 1_000}
    found, check = scored(path, RunSettings(n_jobs=1), **asked)
    assert_same(found, scored(filtered, RunSettings(n_jobs=1))[0])
    assert check.prepared.dropped["they do not belong to the population"] == (
        table.height - filtered.height
    )
    with pytest.raises(InputError, match="no row of .* belongs to the population"):
        measured(path, where="ward = 'west'")


def test_one_huge_panel_is_no_more_than_a_part_of_the_sample(table: pl.DataFrame):
    huge = pl.concat([table] * 4).with_columns(pl.lit("Dr huge").alias("doctor"))
    random = np.random.default_rng(1)
    first = table.columns[0]
    huge = huge.with_columns(pl.Series(first, random.normal(size=huge.height)))
    both = pl.concat([table, huge])
    found = checked(both, Request(**ASKED))
    observed = found.prepared.observed
    sizes = np.bincount(observed.code)
    at = list(observed.physicians).index("Dr huge") if "Dr huge" in observed.physicians else None
    assert at is None or sizes[at] < 100
    scores, _ = scored(both, RunSettings(n_jobs=1))
    at = scores.physician.to_list().index("Dr huge")
    assert scores.n_patients[at] == huge.unique().height
    assert np.isfinite(scores.discordance[at])


def test_text_among_numbers_beyond_the_sample(table: pl.DataFrame, tmp_path: Path):
    path = tmp_path / "patients.csv"
    name = table.columns[1]
    found = checked(table, Request(**ASKED))
    assert found.beyond is not None
    inside = set(map(str, found.prepared.observed.physicians))
    texts = table.with_columns(pl.col(name).cast(pl.String))
    at = next(n for n, doctor in enumerate(texts["doctor"]) if doctor not in inside)
    texts[at, name] = "unclear"
    texts.write_csv(path)
    with pytest.raises(InputError, match=f"has 'unclear' in data row {at + 1} where other"):
        scored(path, RunSettings(n_jobs=1))


def test_sizes_of_memory():
    assert parse_memory(None) is None
    assert parse_memory(2e9) == 2e9
    for wrong in ("much", "-1GB", "0", "4 GB 2"):
        with pytest.raises(InputError, match="give a size such as '4GB'"):
            parse_memory(wrong)


LOAD = Load(n_sampled=100_000, n_values=20, fixed=0.5e9, each=8_000, largest=500)


def test_memory_limits_what_is_done_at_a_time():
    free = within(None, LOAD, 4)
    assert free.workers == 4
    assert free.bucket_patients == BUCKET_PATIENTS
    assert within(None, LOAD, 4, available=1.3e9).workers < 4
    before = within(8e9, LOAD, 4)
    assert before == free
    for memory in np.arange(7.5e9, LOAD.least(), -0.1e9):
        limits = within(float(memory), LOAD, 4)
        assert LOAD.reading(limits.workers, limits.bucket_patients) <= memory
        assert LOAD.learner <= memory
        assert (limits.workers, limits.bucket_patients) <= (before.workers, BUCKET_PATIENTS)
        before = limits


def test_a_limit_that_cannot_be_kept_is_refused_with_one_that_can():
    with pytest.raises(
        InputError, match=r"allow memory='1\.3GB', or learn from fewer with sam"
    ) as told:
        within(1.2e9, LOAD, 4)
    within(1.3e9, LOAD, 4)
    fewer = int(str(told.value).rsplit("=", 1)[1].strip("'"))
    within(1.2e9, replace(LOAD, n_sampled=fewer), 4)
    with pytest.raises(InputError, match=r"allow memory='1\.3GB'$"):
        within(0.51e9, LOAD, 4)


def test_the_largest_panel_counts():
    skewed = replace(LOAD, largest=1_000_000)
    assert skewed.least() > 3e9
    with pytest.raises(InputError, match="allow memory="):
        within(2e9, skewed, 1)


def test_too_little_memory_is_refused_before_anything_is_learned(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
):
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("intravar.measurement.measure.fit_method", never)
    with pytest.raises(InputError, match="memory is 0.20 GB; to learn from"):
        measured(table, RunSettings(n_jobs=1, memory="200MB"))


def test_of_a_huge_panel_so_many_are_read(table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(1)
    huge = pl.concat([table.unique()] * 4).with_columns(pl.lit("Dr Ünal / ward 7").alias("doctor"))
    huge = huge.with_columns(pl.Series(table.columns[1], random.normal(size=huge.height)))
    both = pl.concat([table, huge])
    whole, _ = scored(both, RunSettings(n_jobs=1))
    monkeypatch.setattr(buckets, "most_read", lambda _: 2_000)
    scores, _ = scored(both, RunSettings(n_jobs=1))
    again, _ = scored(both.sample(fraction=1, shuffle=True, seed=1), RunSettings(n_jobs=1))
    assert_same(scores, again)
    at = scores.physician.to_list().index("Dr Ünal / ward 7")
    assert abs(scores.n_patients[at] - 2_000) < 200
    assert abs(scores.discordance[at] - whole.discordance[at]) < 0.05
    others = np.arange(len(scores.n_patients)) != at
    assert np.array_equal(scores.discordance[others], whole.discordance[others], equal_nan=True)
