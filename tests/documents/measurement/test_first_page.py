"""Page one in words: every sentence follows from what is published."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from documents.measurement.many_physicians import many_physicians
from intravar.documents.measurement.first_page import MAY_BE_READ, FirstPage, first_page
from intravar.documents.measurement.measurement_page import render_page
from intravar.publication.outputs import Outputs


@pytest.fixture(scope="module")
def thirty(outputs: Outputs) -> Outputs:
    return many_physicians(outputs, 30)


def told(outputs: Outputs, **summary: Any) -> FirstPage:
    return first_page(replace(outputs, summary=outputs.summary | summary))


def moved(outputs: Outputs, row: int, score: float) -> Outputs:
    """Give one physician another score."""
    given = {"discordance": score, "low": score - 0.03, "high": score + 0.03}
    table = outputs.physicians.with_columns(
        pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in given.items()
    )
    return replace(outputs, physicians=table)


@pytest.mark.parametrize("verdict", MAY_BE_READ)
def test_every_verdict_has_its_words_and_steps(thirty: Outputs, verdict: str) -> None:
    page = told(thirty, verdict=verdict, verdict_reasons=["something is so"])
    assert page.may_be_read
    assert page.steps
    ranked = verdict.endswith("ranks") or verdict == "ranks only"
    assert bool(page.named) == ranked
    assert page.standing.startswith("Nobody is singled out") != ranked


def test_who_stands_out_is_named_with_the_difference(thirty: Outputs) -> None:
    close = pl.lit(0.22) + 0.1 * (pl.col("discordance") - 0.22)
    alike = replace(thirty, physicians=thirty.physicians.with_columns(discordance=close))
    nobody = first_page(alike)
    assert nobody.standing.startswith("Nobody stands out by more than chance")
    assert len(nobody.named) == 2
    high = first_page(moved(alike, 3, 0.7))
    assert high.standing.startswith("1 of 27 stands out")
    assert high.named[0].name == "P-0003-XYZ"
    assert high.named[0].of_hundred == "70 of 100 [67, 73]"
    assert high.named[0].difference.endswith(" more than the mean")
    assert any("intravar explain DIR --physician P-0003-XYZ" in step for step in high.steps)
    low = first_page(moved(alike, 3, 0.0))
    assert low.named[0].difference.endswith(" fewer than the mean")
    assert low.steps[0].startswith("Ask P-0003-XYZ how they decide")


def test_caveats_stand_beside_the_number(thirty: Outputs) -> None:
    leak = {"column": "discharge", "why": "its name"}
    page = told(
        thirty,
        claim="at most",
        verdict="ranks only",
        verdict_reasons=["the level leans"],
        leaks=[leak],
        unrecorded={"words": "An unrecorded reason as strong as age would bring 23 to 17."},
        banded="3 are told as a band",
    )
    assert "at most" in page.headline
    assert page.interval.startswith("An upper limit: at most ")
    assert page.caveats[0].startswith("What could not be predicted counts as different")
    assert page.caveats[1:] == [
        "The level leans.",
        "'discharge' may give the decision away; if it is known only afterwards, the true figure "
        "is higher.",
        "An unrecorded reason as strong as age would bring 23 to 17.",
        "3 are told as a band.",
    ]
    assert page.steps[0].startswith("Find out when 'discharge' was known")


def test_without_a_figure_it_says_so(thirty: Outputs) -> None:
    nothing = replace(thirty, summary=thirty.summary | {"group": None})
    assert first_page(nothing).headline == "No figure can be given."
    assert "hundred-pairs" not in render_page(nothing)


def test_ranges_stand_in_the_place_of_numbers(thirty: Outputs) -> None:
    ends = {"identified_low": pl.col("low") + 0.01, "identified_high": pl.col("high") - 0.01}
    nothing = [pl.lit(None, pl.Float64).alias(name) for name in ("discordance", "shrunken")]
    ranged = replace(thirty, physicians=thirty.physicians.with_columns(*nothing, **ends))
    page = first_page(ranged)
    assert "the level is not determined" in page.standing
    assert page.named[0].of_hundred.startswith("between ")
    assert 'class="range"' in render_page(ranged)


def test_their_words_are_used(thirty: Outputs) -> None:
    words = {"decider_word": "hospital,hospitals", "case_word": "stay,stays"}
    request = thirty.summary["request"] | {"words": words}
    page = told(thirty, request=request, compared="pairs of stays alike")
    assert page.headline.startswith("Of 100 pairs of stays alike, about ")
    assert page.interval.endswith("two stays of the same hospital each.")
