"""The pictures of a measurement: one entry each is all that a picture needs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import intravar
import intravar.pages.measurement.picture_register as register
from intravar.pages.measurement import render_page
from intravar.pages.measurement.picture_register import PICTURES, Picture, pictures_of
from intravar.pages.measurement.plot import NARROW, WIDE, Plot, bar_plot
from intravar.publication.outputs import Outputs, outputs_of


@pytest.fixture(scope="module")
def outputs() -> Outputs:
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=6, seed=2)
    found = intravar.measure(
        cohort.to_polars(),
        physician="physician",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis"],
        min_reliability=0,
        smallest_cell=1,
    )
    return outputs_of(found, {name: name for name in cohort.panel_sizes["physician"]})


class Captions(HTMLParser):
    """The text of everything that is open in a page."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]


def test_every_picture_is_there_once_with_words_and_caption(outputs: Outputs) -> None:
    names = [picture.name for picture in PICTURES]
    assert len(set(names)) == len(names)
    shown = [picture for section in pictures_of(outputs).values() for picture in section]
    assert [picture.name for picture in shown] == names
    for picture in shown:
        assert picture.reading.endswith((".", "?"))
        for svg in picture.svgs:
            assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", svg)
    ids = Captions(render_page(outputs)).ids
    assert len(set(ids)) == len(ids)
    assert set(names) <= set(ids)


def test_one_entry_adds_a_picture(outputs: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Picture(
        "sizes",
        "believe",
        "Sizes of panels",
        lambda rows: f"Panels of {len(rows)} physicians.",
        lambda published: published.physicians.select("physician", "n_patients").rows(),
        lambda rows, width: bar_plot("patients", rows, width),
        lambda rows: f"From {min(n for _, n in rows)} patients on.",
    )
    assert "Sizes of panels" not in render_page(outputs)
    monkeypatch.setattr(register, "PICTURES", (*PICTURES, new))
    page = render_page(outputs)
    assert '<figure id="sizes">' in page
    assert "Panels of 6 physicians." in page
    assert page.count("<title>Sizes of panels</title>") == 2
    assert page.count("<desc>From ") == 2


def test_without_data_a_picture_is_left_out(outputs: Outputs) -> None:
    nothing = replace(outputs, diagnostics={**outputs.diagnostics, "love": [], "sweep": []})
    found = {picture.name for section in pictures_of(nothing).values() for picture in section}
    assert {"love", "sweep"}.isdisjoint(found)
    assert "balance" in found


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_plot_keeps_to_its_width(width: int) -> None:
    plot = Plot((0, 1), (0, 1), width, labelled=True)
    assert plot.place(1, 0)[0] < width
    assert plot.place(0, 0)[0] == plot.left
    plot.label(0.5, "a covariate with a very long name indeed")
    label = plot.svg("a", "b")
    shown = re.search(r"middle\">([^<]*)<title>", label)
    assert shown
    assert shown[1].endswith("…")
    assert "<title>a covariate with a very long name indeed</title>" in label
    assert f'class="{"wide" if width == WIDE else "narrow"}"' in plot.svg("a", "b")
