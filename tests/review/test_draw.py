"""Drawing pairs: known probabilities, blind packets, nothing half written."""

import json
import os
import re
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from intravar import InputError, review
from intravar.cli import main
from intravar.request import Request
from intravar.review import packet
from intravar.review.drawing import draw_pairs
from intravar.review.packet import with_patients
from intravar.review.store import Folder, Stored, open_folder, read_stored, write_stored
from review_folders import World, stored_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return stored_world(tmp_path)


def _kinds(world: World) -> dict[str, bool]:
    return {pair.pair: pair.different for pair in read_stored(world.private).pairs}


@pytest.mark.parametrize("each", [False, True])
def test_pairs_are_drawn_with_the_probability_that_is_stored(tmp_path: Path, each: bool) -> None:
    frame = open_folder(stored_world(tmp_path, n_physicians=4, n_each=30).out).pairs
    random = np.random.default_rng(1)
    times: Counter[tuple[int, int]] = Counter()
    stored: dict[tuple[int, int], float] = {}
    for _ in range(500):
        design = draw_pairs(frame, 10, random, Stored(each=each))
        design = draw_pairs(frame, 10, random, design)  # more of the same
        assert len(design.pairs) == 20
        for pair in design.pairs:
            key = min(pair.row_a, pair.row_b), max(pair.row_a, pair.row_b)
            times[key] += 1
            stored[key] = pair.probability
    for key, probability in stored.items():
        error = 4.5 * np.sqrt(probability * (1 - probability) / 500) + (0.1 if each else 0.02)
        assert abs(times[key] / 500 - probability) < error


def test_every_physician_gets_equally_many_pairs_where_asked(world: World) -> None:
    review.draw(world.out, pairs=48, each=True)
    pairs = read_stored(world.private).pairs
    assert set(Counter(pair.physician for pair in pairs).values()) <= {5, 6, 7}


def test_reviewers_share_the_pairs_and_review_some_twice(world: World, tmp_path: Path) -> None:
    found = review.draw(world.out, tmp_path / "packet", pairs=100, reviewers=3, twice=0.3)
    assert Counter(len(pair.reviewers) for pair in found) == {1: 70, 2: 30}
    by_reviewer = Counter(name for pair in found for name in pair.reviewers)
    assert set(by_reviewer.values()) <= {43, 44}
    own = pl.read_csv(tmp_path / "packet" / "answers-R2.csv", infer_schema=False)
    assert own.height == by_reviewer["R2"]
    assert own.columns == ["pair", "answer", "reason", "comment"]


def test_an_attacker_cannot_tell_pairs_apart(tmp_path: Path) -> None:
    """Order, numbers, sides, reviewers, formats and sizes of cells say nothing of the decision."""
    world = stored_world(tmp_path, n_physicians=12, n_each=100)
    review.draw(world.out, tmp_path / "packet", pairs=400, reviewers=2, twice=0.25)
    kinds = _kinds(world)
    listed = pl.read_csv(tmp_path / "packet" / "pairs.csv", infer_schema=False)
    different = np.array([kinds[pair] for pair in listed["pair"]])
    content = json.loads(_embedded(tmp_path / "packet" / "review.html"))
    assert [pair["pair"] for pair in content["pairs"]] == listed["pair"].to_list()
    a, b = (listed[name].cast(pl.Int64).to_numpy() for name in ("patient_a", "patient_b"))
    decision = world.table["decision"].to_numpy()
    guesses = {
        "order": np.arange(len(different)),
        "first half": np.arange(len(different)) < len(different) / 2,
        "row a": a,
        "sum of rows": a + b,
        "distance of rows": np.abs(a - b),
        "which side": a < b,
        "reviewer": [pair["reviewers"][0] == "R1" for pair in content["pairs"]],
        "reviewed twice": [len(pair["reviewers"]) for pair in content["pairs"]],
        "length of names": [
            len(x) + len(y) for x, y in listed.select("patient_a", "patient_b").rows()
        ],
    }
    for name, guess in guesses.items():
        assert abs(_z(np.asarray(guess, dtype=np.float64), different)) < 3.5, name
    # Which side was decided for is by lot, too.
    treated = decision[a - 1] > decision[b - 1]
    of_different = treated[different]
    assert abs(of_different.mean() - 0.5) < 3.5 * 0.5 / np.sqrt(len(of_different))


def test_no_file_of_a_packet_holds_decision_physician_or_kind(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    review.draw(world.out, tmp_path / "packet", pairs=60)
    names = {"answers-R1.csv", "answers-R1.xlsx", "pairs.csv", "review.html", "README.txt"}
    assert set(os.listdir(tmp_path / "packet")) == names
    for name in names - {"answers-R1.xlsx"}:
        text = (tmp_path / "packet" / name).read_text("utf-8")
        assert "Dr " not in text
        assert "probability" not in text
        assert "weight" not in text.split("<script", 1)[-1]
    assert "Data of single cases" in (tmp_path / "packet" / "README.txt").read_text()
    content = json.loads(_embedded(tmp_path / "packet" / "review.html"))
    assert set(content["pairs"][0]) == {"pair", "a", "b", "reviewers"}
    # The same pairs with all decisions turned round would make the very same packet.
    opened = open_folder(world.out)
    turned = replace(opened, patients=opened.patients.with_columns(decision=1 - pl.col("decision")))
    stored = read_stored(world.private)
    assert review_files(opened, stored) == review_files(turned, stored)


def review_files(opened: Folder, stored: Stored) -> dict[str, bytes]:
    seen = with_patients(opened, stored)
    return packet.packet_files(seen, opened)


def test_packets_are_for_their_owner_alone(world: World, tmp_path: Path) -> None:
    review.draw(world.out, tmp_path / "packet", pairs=30)
    for path in (
        tmp_path / "packet",
        *(tmp_path / "packet").iterdir(),
        world.private / "review.json",
    ):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_draw_that_fails_leaves_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(packet, "_form", full)
    with pytest.raises(InputError, match="No space left"):
        review.draw(world.out, tmp_path / "packet", pairs=30)
    assert not (world.private / "review.json").exists()
    assert not [name for name in os.listdir(tmp_path) if "packet" in name]


def test_rows_in_the_order_of_decisions_are_replaced_by_numbers(tmp_path: Path) -> None:
    world = stored_world(tmp_path, sort=True)
    with pytest.warns(review.BlindingWarning, match="rows of the table tell the decision"):
        found = review.draw(world.out, tmp_path / "packet", pairs=30)
    assert [found[0].a.patient, found[0].b.patient] == ["P0001-A", "P0001-B"]
    stored = read_stored(world.private)
    mapping = dict(pl.read_csv(world.private / "review-patients.csv", infer_schema=False).rows())
    assert len(mapping) == 60
    for pair in stored.pairs:
        assert mapping[f"{pair.pair}-A"] == str(pair.row_a)
        assert mapping[f"{pair.pair}-B"] == str(pair.row_b)
    assert stat.S_IMODE((world.private / "review-patients.csv").stat().st_mode) & 0o077 == 0
    assert "review-patients.csv" not in os.listdir(tmp_path / "packet")


def test_rows_in_the_order_of_physicians_are_replaced_by_numbers(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    patients = pl.read_parquet(world.private / "patients.parquet")
    pairs = pl.read_parquet(world.private / "pairs.parquet")
    by_physician = patients.with_columns(random=pl.Series(np.random.default_rng(0).random(480)))
    place = by_physician.sort("physician", "random").with_row_index("new", 1)
    new = dict(place.select("row", pl.col("new").cast(pl.Int64)).iter_rows())
    patients.with_columns(pl.col("row").replace_strict(new)).sort("row").write_parquet(
        world.private / "patients.parquet"
    )
    pairs.with_columns(pl.col("first", "second").replace_strict(new)).write_parquet(
        world.private / "pairs.parquet"
    )
    with pytest.warns(review.BlindingWarning, match="rows of the table tell the physician"):
        found = review.draw(world.out, pairs=30)
    assert found[0].a.patient == "P0001-A"


def test_more_pairs_keep_the_numbers_of_the_first(tmp_path: Path) -> None:
    world = stored_world(tmp_path, sort=True)
    with pytest.warns(review.BlindingWarning):
        first = review.draw(world.out, pairs=30)
    with pytest.warns(review.BlindingWarning):
        more = review.draw(world.out, more=20)
    assert [pair.a for pair in more[:30]] == [pair.a for pair in first]
    assert more[40].b.patient == "P0041-B"


def _asked(**changes: object) -> Request:
    fields: dict[str, object] = {"physician": "physician", "decision": "decision"}
    return Request(**{**fields, "covariates": ("age", "sex"), **changes})  # type: ignore[arg-type]


def test_patients_have_their_ids_and_columns_that_were_asked_for(tmp_path: Path) -> None:
    world = stored_world(tmp_path, request=_asked(patient="patient"))
    found = review.draw(world.out, pairs=40, show=["ward"])
    by_id = {row["patient"]: row for row in world.table.iter_rows(named=True)}
    assert found[0].names == ("age", "sex", "ward")
    for pair in found:
        for patient in (pair.a, pair.b):
            row = by_id[patient.patient]
            assert patient.values == (f"{row['age']:.0f}", row["sex"], row["ward"])
        assert pair.differs == tuple(
            x != y for x, y in zip(pair.a.values, pair.b.values, strict=True)
        )


def test_nothing_is_shown_of_a_source_that_has_changed(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    world.table[::-1].write_csv(tmp_path / "patients.csv")
    with pytest.raises(InputError, match="rows have changed"):
        review.draw(world.out, pairs=30, show=["ward"])


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("decision", None, "is the decision"),
        ("physician", None, "is who decided"),
        ("dose", pl.col("decision") * 20.0, "tells the decision"),
        ("refused", pl.when(pl.col("decision") == 0).then(pl.lit("why")), "tells the decision"),
        ("clinic", pl.col("physician").str.replace("Dr", "at"), "tells who decided"),
        ("nothing", None, "unknown column"),
    ],
)
def test_columns_that_would_unblind_are_refused(
    tmp_path: Path, column: str, values: pl.Expr | None, words: str
) -> None:
    world = stored_world(tmp_path)
    if values is not None:
        world.table.with_columns(values.alias(column)).write_csv(tmp_path / "patients.csv")
    with pytest.raises(InputError, match=words):
        review.draw(world.out, pairs=30, show=[column])


@pytest.mark.parametrize(
    ("made_from", "revealed"),
    [
        (pl.when(pl.col("decision") == 1).then(pl.lit("t")).otherwise(pl.lit("u")), "the decision"),
        (pl.col("physician").str.replace("Dr ", "P0") + "-", "the physician"),
    ],
)
def test_ids_that_unblind_are_replaced_by_numbers(
    tmp_path: Path, made_from: pl.Expr, revealed: str
) -> None:
    world = stored_world(tmp_path, request=_asked(patient="patient"))
    changed = world.table.with_columns(patient=made_from + pl.col("patient"))
    changed.write_csv(tmp_path / "patients.csv")
    with pytest.warns(review.BlindingWarning, match=f"ids in column 'patient' tell {revealed}"):
        found = review.draw(world.out, tmp_path / "packet", pairs=30)
    stored = read_stored(world.private)
    mapping = dict(pl.read_csv(world.private / "review-patients.csv", infer_schema=False).rows())
    ids = changed["patient"].to_list()
    for pair in stored.pairs:
        assert mapping[f"{pair.pair}-A"] == ids[pair.row_a - 1]
    assert found[3].b.patient == "P0004-B"
    listed = pl.read_csv(tmp_path / "packet" / "pairs.csv", infer_schema=False)
    assert listed.row(3) == ("P0004", "P0004-A", "P0004-B")
    assert not any(name in (tmp_path / "packet" / "review.html").read_text() for name in ids)


def test_the_command_refuses_and_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = stored_world(tmp_path, sort=True)
    told = pl.when(pl.col("decision") == 1).then(pl.lit("statin started"))
    note = told.otherwise(pl.lit("no treatment"))
    numbered = (pl.int_range(pl.len()) % 7).cast(pl.String) + ": " + note
    world.table.with_columns(note=numbered).write_csv(tmp_path / "patients.csv")
    command = ["review", "draw", str(world.out), "--out", str(tmp_path / "packet"), "--pairs", "30"]
    with pytest.raises(SystemExit) as refused:
        main([*command, "--show", "note"])
    assert refused.value.code == 2
    assert "column 'note' tells the decision" in capsys.readouterr().err
    assert not (tmp_path / "packet").exists()
    with pytest.raises(SystemExit) as drawn:
        main(command)
    assert not drawn.value.code
    printed = " ".join(capsys.readouterr().err.split())
    assert "warning: the rows of the table tell the decision" in printed


def test_a_mapping_does_not_stay_when_ids_are_shown_again(tmp_path: Path) -> None:
    world = stored_world(tmp_path, sort=True)
    with pytest.warns(review.BlindingWarning):
        review.draw(world.out, pairs=30)
    stored = replace(read_stored(world.private), originals={})
    write_stored(world.private, stored)
    assert pl.read_csv(world.private / "review-patients.csv").height == 0


def test_a_recorded_covariate_that_tells_the_physician_is_a_warning(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    patients = pl.read_parquet(world.private / "patients.parquet")
    patients.with_columns(clinic=pl.col("physician").str.replace("Dr", "at")).write_parquet(
        world.private / "patients.parquet"
    )
    with pytest.warns(review.BlindingWarning, match="recorded covariate 'clinic'"):
        review.draw(world.out, pairs=30)


def test_a_leaking_covariate_is_named(tmp_path: Path) -> None:
    world = stored_world(tmp_path)
    patients = pl.read_parquet(world.private / "patients.parquet")
    leaking = patients.with_columns(dose=pl.col("decision") * 10.0 + 1)
    leaking.write_parquet(world.private / "patients.parquet")
    with pytest.raises(InputError, match="column 'dose' tells the decision"):
        review.draw(world.out, pairs=30)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"pairs": 5}, "pairs is 5"),
        ({"reviewers": 0}, "reviewers is 0"),
        ({"twice": 0.5}, "with one reviewer"),
        ({"twice": 2.0, "reviewers": 2}, "from 0 to 1"),
        ({"more": 30}, "no pairs were drawn yet"),
    ],
)
def test_what_cannot_be_drawn_is_refused(world: World, asked: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        review.draw(world.out, **asked)  # type: ignore[arg-type]


def test_pairs_with_answers_are_kept(world: World, tmp_path: Path) -> None:
    first = review.draw(world.out, pairs=30)
    again = review.draw(world.out, pairs=30)
    assert [pair.a for pair in first] == [pair.a for pair in again]
    review.answer(world.out, "P0003", "different", reason="frail")
    with pytest.raises(InputError, match="1 pairs that were drawn before have answers"):
        review.draw(world.out, pairs=30)
    more = review.draw(world.out, tmp_path / "packet", more=20)
    assert len(more) == 50
    assert [pair.a for pair in more[:30]] == [pair.a for pair in first]
    assert len({(pair.a.patient, pair.b.patient) for pair in more}) == 50
    assert more[2].answers["R1"].reason == "frail"
    written = pl.read_csv(tmp_path / "packet" / "answers-R1.csv", infer_schema=False)
    assert written.row(2) == ("P0003", "different", "frail", "")


def _embedded(page: Path) -> str:
    found = re.search(r'type="application/json">(.*?)</script>', page.read_text("utf-8"), re.S)
    assert found is not None
    return found[1]


def _z(guess: np.ndarray, different: np.ndarray) -> float:  # type: ignore[type-arg]
    """Return how far two kinds of pairs lie apart in a guess, in standard errors."""
    one, other = guess[different], guess[~different]
    error = np.sqrt(one.var() / len(one) + other.var() / len(other))
    return float((one.mean() - other.mean()) / max(error, 1e-9))


def test_pairs_that_are_added_are_of_both_kinds_as_before(tmp_path: Path) -> None:
    """Were one kind used up, the numbers of the others would tell how they were decided."""
    world = stored_world(tmp_path, n_physicians=4, n_each=60)
    review.draw(world.out, pairs=40)
    review.draw(world.out, more=500)
    kinds = list(_kinds(world).values())
    assert 40 < len(kinds) < 120
    assert abs(np.mean(kinds[:40]) - np.mean(kinds[40:])) < 0.03
    with pytest.raises(InputError, match="none are left"):
        review.draw(world.out, more=60)


def test_what_is_not_interpretable_is_not_reviewed(world: World) -> None:
    file = world.out / "summary.json"
    content = json.loads(file.read_text())
    content["decisions"][0]["verdict"] = "not interpretable"
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"is not interpretable: .*measure again"):
        review.draw(world.out, pairs=48)


@pytest.mark.parametrize("content", [None, "source = "])
def test_a_request_that_cannot_be_read_is_named(tmp_path: Path, content: str | None) -> None:
    """Rows in the place of ids that were asked for would be a silent change."""
    world = stored_world(tmp_path, request=_asked(patient="patient"))
    file = world.out / "request.toml"
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    with pytest.raises(InputError, match=r"request\.toml' cannot be read.*'patient'; restore it"):
        review.draw(world.out, pairs=30)
    by_rows = review.draw(world.out, pairs=30, source=tmp_path / "patients.csv")
    assert by_rows[0].a.patient.startswith("c")
