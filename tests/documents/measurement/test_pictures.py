"""The pictures of a measurement: one entry each is all that a picture needs."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import intravar.documents.measurement.picture_register as register
from documents.measurement.many_physicians import many_physicians
from intravar.documents.measurement import render_page
from intravar.documents.measurement.picture_register import PICTURES, Picture, pictures_of
from intravar.documents.measurement.plot import NARROW, WIDE, Plot
from intravar.documents.measurement.row_plots import bar_plot, label_lines, row_plot, text_width
from intravar.documents.measurement.rule_pictures import dependence_data, plot_dependence
from intravar.publication.fields import FIELDS
from intravar.publication.outputs import Outputs


class Captions(HTMLParser):
    """The ids of everything that is open in a page."""

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
    there = [picture.name for picture in shown]
    assert there == [name for name in names if name in there]
    # Where there are no subgroups and few covariates, their pictures are not there; the ends of
    # the order have one where not everybody has a mark.
    absent = ("dependence", "strata", "ends")
    assert {name for name in names if not name.startswith(absent)} <= set(there)
    for picture in shown:
        assert picture.reading.endswith((".", "?")) or picture.key
        for svg in picture.svgs:
            assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", svg)
    ids = Captions(render_page(outputs)).ids
    assert len(set(ids)) == len(ids)
    assert set(there) <= set(ids)


def only(outputs: Outputs, reads: tuple[str, ...]) -> Outputs:
    """Return outputs in which nothing is left but what a picture says that it reads."""
    fields = {tuple(each.split(".")) for each in reads} | {("summary", "request")}

    def kept(file: str, content: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in content.items() if (file, name) in fields}

    columns = outputs.physicians.columns
    hidden = [name for name in columns if ("physicians", name) not in fields]
    return replace(
        outputs,
        physicians=outputs.physicians.with_columns(
            pl.lit(None, outputs.physicians.schema[name]).alias(name) for name in hidden
        ),
        methods=None,
        **{
            name: kept(name, getattr(outputs, name))
            for name in ("summary", "checks", "diagnostics")
        },
    )


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_reads_what_it_says_and_that_is_safe(picture: Picture, outputs: Outputs) -> None:
    for field in picture.reads:
        file, _, name = field.partition(".")
        listed = FIELDS.get(file) or FIELDS[f"{file}.json"]
        assert any(
            re.match(rf"(decisions\[\]\.)?{re.escape(name)}(\W|$)", path) for path in listed
        ), field
    assert picture.shown(only(outputs, picture.reads)) == picture.shown(outputs)


def test_one_entry_adds_a_picture(outputs: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Picture(
        "sizes",
        "believe",
        "Sizes of panels",
        lambda rows: f"Panels of {len(rows)} physicians.",
        ("physicians.physician", "physicians.n_patients"),
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


def test_who_is_not_in_a_picture_is_said(outputs: Outputs) -> None:
    shown = pictures_of(many_physicians(outputs, 40))["physicians"]
    assert all(
        picture.reading.endswith("4 without a number to show are not in it.") for picture in shown
    )


def test_many_physicians_share_marks(outputs: Outputs) -> None:
    few, many = (pictures_of(many_physicians(outputs, n))["physicians"][0] for n in (40, 400))
    assert few.svgs[0].count('class="interval"') == 36
    assert many.svgs[0].count('class="interval"') == 0
    assert many.svgs[0].count('class="band"') == 1
    assert many.svgs[0].count("data-p=") == 360  # each can still be lit


def test_yes_and_no_and_categories_are_bars(outputs: Outputs) -> None:
    rule = {
        "importance": [
            {"covariate": name, "importance": 0.2} for name in ("smoker", "ward", "age", "sex")
        ],
        "dependence": [
            {"covariate": name, "value": value, "share": share}
            for name, value, share in (
                ("smoker", 0.0, 0.1),
                ("smoker", 1.0, 0.4),
                ("ward=A", 0.0, 0.2),
                ("ward=A", 1.0, 0.3),
                ("ward=B", 0.0, 0.2),
                ("ward=B", 1.0, 0.5),
                ("sex=f", 0.0, 0.2),
                ("sex=f", 1.0, 0.25),
                *(("age", float(age), age / 100) for age in range(40, 90, 10)),
            )
        ],
    }
    kinds = [{"column": "smoker", "kind": "yes/no"}, {"column": "ward", "kind": "category"}]
    given = replace(
        outputs,
        summary=outputs.summary | {"rule": rule},
        checks=outputs.checks | {"columns": kinds},
    )
    found = [dependence_data(given, place) for place in range(4)]
    assert all(found)
    smoker, ward, age, sex = (each for each in found if each)
    assert smoker.named == [("no", 0.1), ("yes", 0.4)]
    assert ward.named == [("A", 0.3), ("B", 0.5)]
    assert sex.named == [("f", 0.25), ("not f", 0.2)]
    assert age.named == []
    assert str(plot_dependence(smoker).svg("a", "b")).count("<rect") == 2
    assert "<polyline" not in plot_dependence(ward).svg("a", "b")
    assert "<polyline" in plot_dependence(age).svg("a", "b")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ["age", "a covariate with a very long name indeed", "x" * 300])
def test_a_label_is_never_cut(width: int, name: str) -> None:
    plot = row_plot([name, "b"], 1.0, width, "share")
    assert plot.place(1, 1)[0] < width
    assert "".join(plot.lines[0]).replace(" ", "") == name.replace(" ", "")
    assert all(text_width(line) < width for line in plot.lines[0])
    assert f'class="{"wide" if width == WIDE else "narrow"}"' in plot.svg("a", "b")


def test_lines_of_a_label_fit() -> None:
    lines = label_lines("systolic_blood_pressure_at_admission", 120)
    assert lines == ["systolic_blood_", "pressure_at_", "admission"]


def test_a_plot_keeps_to_its_width() -> None:
    plot = Plot(NARROW, x=(0, 1), y=(0, 1))
    assert plot.place(1, 0)[0] < NARROW
    assert plot.place(0, 0)[0] == plot.left
