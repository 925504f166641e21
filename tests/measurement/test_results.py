"""What a measurement says: assessment, pairs, rule, diagnostics, and the page."""

import re
import shutil
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar import InputError, Measurement
from intravar.documents.measurement.handover import pages, write_measurement
from intravar.estimators import Euclidean, Observed
from intravar.estimators.base import Size
from intravar.estimators.evidence import Decisions, EligibleRates
from intravar.measurement.cases import cases_of, pairs_behind, patients_of, side_by_side
from intravar.measurement.diagnostics import SWEEP, agreement
from intravar.measurement.rule import _condition, leaf_conditions
from intravar.measurement.scores import in_words, result_table
from intravar.preparation.check import checked, estimate_cost, pace
from intravar.publication.disclosure import published_of
from intravar.publication.explain import explain
from intravar.request import Request
from intravar.text import clean_name

pytestmark = pytest.mark.usefixtures("learned_once")

EVIL = [
    "<script>alert(1)</script>",
    "\"quoted\" & 'more'",
    "\u202eright to left",
    "x" * 200,
    "🩺 Dr",
    "{{ 7 * 7 }}",
]
#: What nobody sees is no part of a name.
SHOWN = [clean_name(name) for name in EVIL]


@pytest.fixture(scope="module")
def cohort() -> intravar.Cohort:
    return intravar.simulate("score2", n_patients=2400, n_physicians=6, random_state=2)


@pytest.fixture(scope="module")
def measured(cohort: intravar.Cohort) -> Measurement:
    names = dict(zip([f"P0{n}" for n in range(1, 7)], EVIL, strict=True))
    table = cohort.to_polars().with_columns(pl.col("physician").replace_strict(names))
    return intravar.measure(
        table.rename({"age": "<b>age</b>"}),
        physician="physician",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis", "glmm"],
    )


@pytest.fixture(scope="module")
def folder(measured: Measurement, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results") / "out"
    write_measurement(measured, out, show_names=True)
    return out


def test_the_score_is_the_estimators(measured: Measurement) -> None:
    fitted = measured.fitted["euclidean"].estimator
    scores = dict(zip(fitted.physicians_, fitted.score_, strict=True))
    for name, score in measured.physicians.select("physician", "discordance").iter_rows():
        assert score == scores[name]


def test_intervals_hold_the_estimate_and_shrinkage_moves_towards_the_mean(
    measured: Measurement,
) -> None:
    table = measured.physicians
    assert (table["low"] <= table["discordance"]).all()
    assert (table["discordance"] <= table["high"]).all()
    assert table["reliability"].is_between(0, 1).all()
    assert table["shrunken"].std() < table["discordance"].std()  # type: ignore[operator]
    assert (table["rank_low"] <= table["rank"]).all()
    assert (table["rank"] <= table["rank_high"]).all()
    assert table["rank"].sum() == pytest.approx(21)


def test_not_reportable_has_a_reason(measured: Measurement) -> None:
    strict = result_table(measured.main.scores, min_panel=10_000)
    assert strict["reason"].to_list() == ["fewer than 10000 decisions"] * 6
    assert not strict["reportable"].any()
    assert in_words(strict.row(0, named=True)) == "not reportable: fewer than 10000 decisions"


def test_whoever_cannot_be_ranked_has_a_value_and_no_rank(measured: Measurement) -> None:
    sure = result_table(measured.main.scores, min_reliability=1.0)
    assert sure["reason"].to_list() == ["cannot be ranked: reliability below 1"] * 6
    assert sure["reportable"].all()
    for name in ("discordance", "low", "high", "shrunken"):
        assert sure[name].null_count() == 0
    for name in ("rank", "rank_low", "rank_high"):
        assert sure[name].null_count() == 6


def test_a_level_that_is_not_determined_is_a_range(measured: Measurement) -> None:
    scores = measured.main.scores
    wide = {
        "identified_low": scores.discordance - 0.08,
        "identified_high": scores.discordance + 0.06,
    }
    table = result_table(replace(scores, columns={**scores.columns, **wide}))
    assert table["reportable"].all()
    for name in ("discordance", "shrunken"):
        assert table[name].null_count() == 6
    assert (table["low"] <= table["identified_low"]).all()
    assert (table["high"] >= table["identified_high"]).all()
    assert table["reason"][0] == "the level is not determined: a range for a number"
    row = table.row(0, named=True)
    low, high = (round(100 * row[name]) for name in ("identified_low", "identified_high"))
    assert f"between {low} and {high} get different decisions" in in_words(row)
    # An upper limit stands, wherever below it the level lies.
    limit = replace(scores, columns={**scores.columns, **wide}, upper=True)
    assert result_table(limit)["discordance"].null_count() == 0
    # A narrow range stays beside the number, and the interval holds it.
    narrow = {**wide, "identified_low": wide["identified_high"] - 0.09}
    kept = result_table(replace(scores, columns={**scores.columns, **narrow}))
    assert kept["discordance"].null_count() == 0
    assert (kept["high"] >= kept["identified_high"]).all()


def test_explained_pairs_are_discordant_and_close(measured: Measurement) -> None:
    name = measured.physicians["physician"][0]
    panel = list(measured.fitted["euclidean"].estimator.physicians_).index(name)
    pairs = measured.pairs.filter((pl.col("panel") == panel) & pl.col("discordant"))
    shown = explain(measured, name, most=3)
    assert shown["pair"].n_unique() == 3
    np.testing.assert_allclose(
        shown.unique("pair", maintain_order=True)["distance"], pairs["distance"].sort()[:3]
    )
    assert set(shown["covariate"]) == set(measured.check.prepared.covariates)
    with pytest.raises(InputError, match="give 1 to 1,000,000"):
        explain(measured, name, most=0)
    with pytest.raises(InputError, match="unknown physician 'nobody'"):
        explain(measured, "nobody")


def test_pairs_of_a_core() -> None:
    """A method without pairs but with a core: its patients are paired by nearness."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(60, 2)), random.integers(0, 2, 60)
    observed = Observed.of(x, y, ["a", "b"] * 30)
    assert pairs_behind(Decisions(), observed).height >= 20
    core = np.arange(60) < 40
    nothing = np.zeros(2)
    rates = EligibleRates(nothing, nothing, nothing, nothing, core, None)
    pairs = pairs_behind(rates, observed)
    used = np.concatenate([pairs["first"].to_numpy(), pairs["second"].to_numpy()])
    assert len(np.unique(used)) == len(used) >= 30
    assert core[used].all()
    assert (observed.code[pairs["first"]] == observed.code[pairs["second"]]).all()
    np.testing.assert_array_equal(pairs["discordant"], y[pairs["first"]] != y[pairs["second"]])
    assert (observed.code[pairs["first"]] == pairs["panel"].to_numpy()).all()


def test_diagnostics(measured: Measurement) -> None:
    found = measured.diagnostics
    love = found.love
    assert (love["within_pairs"] < love["at_random"]).all()
    assert found.distances["n_pairs"].sum() == measured.pairs.height
    whole = found.sweep
    sweep = {row["fraction"]: row for row in whole.to_dicts()}
    assert sweep[1.0]["share_paired"] == pytest.approx(2 * measured.pairs.height / 2400)
    assert sweep[1.0]["mean_discordance"] == pytest.approx(
        measured.physicians["discordance"].mean()
    )
    assert whole["fraction"].to_list() == list(SWEEP)
    assert whole["share_paired"].is_sorted()
    assert whole["share_paired"][-1] > sweep[1.0]["share_paired"]
    assert found.split_half is not None
    assert -1 <= found.split_half <= 1
    assert (found.overlap["overlap"] <= 1).all()
    scores = {name: each.scores.discordance for name, each in measured.fitted.items()}
    compared = {name: (each, np.arange(len(each))) for name, each in scores.items()}
    assert agreement(compared).height == 9
    # Patients were dealt out at random: hardly any variance lies between physicians.
    assert found.balance["between_physicians"].max() < 0.02  # type: ignore[operator]


def test_tightening_the_caliper_is_what_a_new_run_finds(cohort: intravar.Cohort) -> None:
    observed = Observed.of(*cohort.observed())
    wide, tight = (Euclidean(caliper=c).fit_observed(observed) for c in (0.25, 0.01))
    limit = dict(zip(tight.physicians_, tight.caliper_, strict=True))
    kept = wide.pairs_.filter(
        pl.col("distance") <= pl.col("physician").replace_strict(limit, return_dtype=pl.Float64)
    )
    assert (
        kept.select("first", "second")
        .sort("first")
        .equals(tight.pairs_.select("first", "second").sort("first"))
    )


def test_the_rule_finds_what_matters(measured: Measurement) -> None:
    assert "<b>age</b>" in measured.rule.importance["covariate"].head(2).to_list()
    assert measured.rule.auc > 0.6
    shares = [leaf["n_for"] / leaf["n_patients"] for leaf in measured.rule.tree]
    assert shares == sorted(shares, reverse=True)
    assert sum(leaf["n_patients"] for leaf in measured.rule.tree) == 2400


def test_the_measurement_explains_itself(measured: Measurement) -> None:
    text = repr(measured)
    assert text.splitlines()[0] == str(measured.judged)
    assert text.splitlines()[1].startswith("euclidean: ")
    assert "of 100 pairs of similar patients, about" in text
    page = measured._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<tr>") == 7
    assert re.search(r'<th title="of 100 pairs of comparable [^"]*">of 100 pairs</th>', page)


def test_explain_without_the_private_folder(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "out")
    with pytest.raises(InputError, match="explain where the measurement was made"):
        explain(tmp_path / "out", "anyone")
    with pytest.raises(InputError, match="unknown physician 'anyone'"):
        explain(folder, "anyone")


def test_cost_of_the_latent_rule() -> None:
    """Between half and twice what was measured; see the module."""
    for n, p, seconds in ((3000, 20, 3.3), (12000, 5, 4.2), (40000, 20, 22.1)):
        observed = Observed.of(np.zeros((n, p)), np.arange(n) % 2, np.arange(n) // 500)
        size = Size.of(observed)
        work = intravar.LatentRule.work(size)
        assert 0.5 < (work.alone + work.shared) / seconds < 2
        # The whole and both halves, and noise taken apart.
        assert estimate_cost(size, intravar.LatentRule).seconds > 2 * seconds


def test_cases_without_anybody_beside_them_are_written() -> None:
    """Panels of eight: surprises there are, and nobody alike who was decided otherwise."""
    table = intravar.simulate("score2", n_patients=40, n_physicians=5, random_state=22).to_polars()
    few = intravar.measure(table, physician="physician", decision="decision", min_panel=2)
    cases = cases_of(few)
    assert cases.height > 0
    assert cases["other"].null_count() == cases.height
    assert side_by_side(cases, patients_of(few), cases["physician"][0])["row"].null_count() == 0


def test_an_equals_sign_in_a_name_is_not_a_level() -> None:
    assert _condition("a='b'", "a='b'", "a='b'", "", -np.inf, 1.5) == "a='b' ≤ 1.5"
    assert _condition("colour=red", "colour", "colour", "binary", 0.5, np.inf) == "colour is red"


def test_dates_are_written_as_dates_no_finer_than_numbers() -> None:
    words = _condition("seen", "seen", "seen", "date", 17_418.5, 2_932_896.0)
    assert words == "seen is 2017-09-11 to 10000-04-13"
    assert _condition("days", "days", "days", "", -np.inf, 17_418.5) == "days ≤ 1.742e+04"


def test_a_missing_level_reads_like_a_missing_number() -> None:
    assert _condition("TV=(missing)", "TV", "TV", "", 0.5, np.inf) == "TV is missing"
    known = _condition("age (missing)", "age", "age", "binary", -np.inf, 0.5)
    assert known == "age is known"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (
            60.0,
            70.0,
            {
                1: "age ≤ 60",
                3: "age > 60 and sbp ≤ 140",
                5: "age is 60 to 70 and sbp > 140",
                6: "age > 70 and sbp > 140",
            },
        ),
        (
            70.0,
            60.0,
            {
                1: "age > 70",
                3: "age ≤ 70 and sbp ≤ 140",
                5: "age ≤ 60 and sbp > 140",
                6: "age is 60 to 70 and sbp > 140",
            },
        ),
    ],
)
def test_two_bounds_of_a_column_are_told_together(
    first: float, second: float, expected: dict[int, str]
) -> None:
    n = np.arange(200)
    table = pl.DataFrame(
        {"doctor": n % 4, "drug": n // 4 % 2, "age": 40 + n % 41, "sbp": 100 + n * 7 % 83}
    )
    prepared = checked(table, Request(physician="doctor", decision="drug")).prepared
    age, sbp = (prepared.observed.names.index(name) for name in ("age", "sbp"))
    # Nodes 0 and 4 cut the age, node 2 between them the blood pressure; the others are leaves.
    left, right = (1, 2) if first < second else (2, 1)
    tree = SimpleNamespace(
        feature=np.array([age, -2, sbp, -2, age, -2, -2]),
        threshold=np.array([first, -2, 140, -2, second, -2, -2]),
        children_left=np.array([left, -1, 3, -1, 5, -1, -1]),
        children_right=np.array([right, -1, 4, -1, 6, -1, -1]),
    )
    assert leaf_conditions(tree, prepared) == expected


# --- the page ---


class Page(HTMLParser):
    """Collects the tags and the cells of the table of physicians."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    parsed = Page()
    parsed.feed((folder / "report.html").read_text("utf-8"))
    return parsed


def test_names_are_escaped_everywhere(page: Page, folder: Path) -> None:
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "b" not in {tag for tag, _ in page.tags}
    text = "".join(page.text)
    for name in SHOWN:
        assert name in text
    assert "49" not in re.findall(r"<td>(\d+)</td>", (folder / "report.html").read_text())


def test_the_page_reaches_for_nothing(page: Page) -> None:
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not {"src", "onclick", "onload"} & set(attributes)
        href = attributes.get("href") or "#"
        assert href.startswith("#") or href in ("physicians.html", "physicians.csv")


def test_every_figure_has_a_text_alternative(page: Page) -> None:
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) >= 12
    assert all(attributes.get("role") == "img" for attributes in pictures)
    assert [tag for tag, _ in page.tags].count("desc") == len(pictures)


def test_numbers_of_the_page_are_those_stored(page: Page, folder: Path) -> None:
    stored = pl.read_parquet(folder / "physicians.parquet")
    annex = Page()
    annex.feed((folder / "physicians.html").read_text("utf-8"))
    tags = [*page.tags, *annex.tags]
    values = {a[key] for _, a in tags for key in ("data-value", "data-high") if a.get(key)}
    for column in ("discordance", "low", "high", "shrunken", "reliability", "rank"):
        for value in stored[column].drop_nulls().to_list():
            assert str(value) in values


# --- whatever the table ---


def any_column(random: np.random.Generator, n: int) -> list[Any]:
    """Draw a column of some kind, pleasant or not."""
    choices: list[list[Any]] = [
        [0.5, 1.5, 2.0, None],
        ["a", "b", "c"],
        [None],
        [True, False, None],
        ["x", "", None],
        ["2020-01-01", "2021-02-03", None],
        [7],
        [float("nan"), 1.0, 2.0],
    ]
    kind = int(random.integers(len(choices) + 2))
    if kind == len(choices):
        return list(range(n))
    if kind > len(choices):
        return list(random.normal(size=n).tolist())
    return [choices[kind][i] for i in random.integers(len(choices[kind]), size=n)]


@pytest.mark.parametrize("seed", range(15))
def test_any_table_is_measured_or_refused_in_words(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    n = int(random.choice([2, 10, 40, 120]))
    table = pl.DataFrame(
        {
            "doctor": random.choice(["A", "B", "C"], n),
            "drug": random.integers(0, 2, n),
            **{f"c{i}": any_column(random, n) for i in range(random.integers(1, 4))},
        },
        strict=False,
    )
    refused = None
    try:
        found = intravar.measure(
            table,
            physician="doctor",
            decision="drug",
            method="euclidean",
            missing=["drop", "indicator", "impute"][seed % 3],  # type: ignore[arg-type]
            min_panel=2,
            smallest_cell=[1, 11][seed % 2],
            min_reliability=0,
        )
    except InputError as error:
        refused = str(error)
    if refused is not None:
        assert "\n" not in refused
        return
    write_measurement(found, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").stat().st_size > 1000


def test_a_failure_while_writing_leaves_the_old_result(
    measured: Measurement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_measurement(measured, out)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    def broken(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("intravar.writing.write_private", broken)
    with pytest.raises(InputError, match=f"cannot write '{out}': No space left on device"):
        write_measurement(measured, out)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_without_a_rule_it_says_so():
    """Decisions that no covariate explains: crude rates, and no word of anchors."""
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "doctor": np.repeat([f"d{i}" for i in range(6)], 80),
            "age": random.normal(60, 8, 480),
            "given": (random.random(480) < np.repeat(np.linspace(0.2, 0.8, 6), 80)).astype(int),
        }
    )
    found = intravar.measure(frame, physician="doctor", decision="given")
    assert any("no rule was found in these covariates" in each for each in found.warnings)
    assert found.verdict in ("group only", "not interpretable")
    assert found.judged is not None
    assert found.judged.reasons[0].startswith("no rule was found")
    assert found.main.evidence.anchors is None
    published = published_of(found, {f"d{i}": f"P-{i}" for i in range(6)})
    page = pages(published)["report.html"].decode()
    assert "Clear cases" not in page
    assert ">of 100 pairs, at most</button>" in page
    assert ">pairs</button>" not in page


def test_the_forecast_follows_the_machine_and_counts_periods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It took 9.6 processor seconds on a busy machine, loading included, partly in two threads.

    On two processors that are idle it must lie between half of that and all of it; it was not
    measured there.
    """
    size = Size(4_800, 9, np.full(16, 300.0))
    cost = estimate_cost(size, intravar.Predictability)
    assert 9.6 / 2 < cost.seconds < 9.6
    longer = estimate_cost(size, intravar.Predictability, periods=[1_200] * 4)
    assert longer.seconds > 1.5 * cost.seconds
    # The noise of each period is taken apart, so that many short ones take longer than few.
    many = estimate_cost(size, intravar.Predictability, periods=[400] * 12)
    assert many.seconds > 1.2 * longer.seconds
    monkeypatch.setattr("intravar.preparation.check.pace", lambda: 3.0)
    monkeypatch.setattr("intravar.preparation.check.loading", lambda: 2.0)
    assert cost.here().seconds == pytest.approx(3 * (cost.seconds + 2))


def test_the_machine_is_measured_in_less_than_a_second() -> None:
    pace.cache_clear()
    begun = time.process_time()
    assert pace() > 0
    assert time.process_time() - begun < 1


@pytest.mark.filterwarnings("error:Degrees of freedom:RuntimeWarning")
def test_one_physician_is_measured_without_a_warning(cohort: intravar.Cohort) -> None:
    table = cohort.to_polars(truth=False)
    alone = table.filter(pl.col("physician") == table["physician"][0])
    measured = intravar.measure(alone, physician="physician", decision="decision")
    assert measured.physicians.height == 1
