"""Which pictures the page of a measurement has: data, plot, caption and words, one entry each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from intravar.errors import theirs
from intravar.pages.measurement import pair_pictures as pairs
from intravar.pages.measurement import physician_pictures as physicians
from intravar.pages.measurement import rule_pictures as rule
from intravar.pages.measurement import trust_pictures as trust
from intravar.pages.measurement.plot import NARROW, WIDE, Plot
from intravar.publication.outputs import Outputs


@dataclass(frozen=True)
class Picture:
    """A picture of the page. A text may depend on the data.

    Texts speak of physicians and patients; they are shown in the words of whoever asked. Text of
    theirs within one is marked with :func:`intravar.errors.theirs`.

    Parameters
    ----------
    name
        Its anchor in the page.
    section
        Part of the page that it stands in.
    title
        Its name, read aloud first.
    reading
        Caption: how to read it.
    data
        From what is published to what it shows; nothing (None, no rows) leaves the picture out.
    plot
        Plots the data in a width.
    alternative
        Says in words what it shows, from the same data.
    key
        What its colours stand for: class of the style sheet and words.
    widths
        Widths in which it is plotted; the page shows the one that fits.
    """

    name: str
    section: str
    title: str | Callable[[Any], str]
    reading: str | Callable[[Any], str]
    data: Callable[[Outputs], Any]
    plot: Callable[[Any, int], Plot]
    alternative: str | Callable[[Any], str]
    key: tuple[tuple[str, str], ...] = ()
    widths: tuple[int, ...] = (WIDE, NARROW)

    def shown(self, outputs: Outputs) -> ShownPicture | None:
        """Return the picture as the page shows it; None where there is nothing to show."""
        data = self.data(outputs)
        if not data:
            return None
        words = outputs.words
        title, alternative, reading = (
            words.said(_told(text, data)) for text in (self.title, self.alternative, self.reading)
        )
        svgs = tuple(self.plot(data, width).svg(title, alternative, words) for width in self.widths)
        key = tuple((look, words.said(told)) for look, told in self.key)
        return ShownPicture(self.name, reading, svgs, key)


@dataclass(frozen=True)
class ShownPicture:
    """What the template needs of a picture."""

    name: str
    reading: str
    svgs: tuple[Markup, ...]
    key: tuple[tuple[str, str], ...]


def _told(text: str | Callable[[Any], str], data: Any) -> str:
    return text if isinstance(text, str) else text(data)


def _diagnostic(name: str) -> Callable[[Outputs], Any]:
    return lambda outputs: outputs.diagnostics[name]


def _dependence(place: int) -> Picture:
    return Picture(
        f"dependence-{place + 1}",
        "dependence",
        lambda data: f"How decisions depend on {theirs(data.covariate)}",
        lambda data: f"How decisions depend on {theirs(data.covariate)}, all else as it is.",
        partial(rule.dependence_data, place=place),
        rule.plot_dependence,
        rule.dependence_in_words,
        widths=(NARROW,),
    )


PICTURES: tuple[Picture, ...] = (
    Picture(
        "physicians-picture",
        "physicians",
        "Discordance of every physician",
        "Each physician's discordance with its 95 % interval, the most consistent first.",
        physicians.reported,
        physicians.plot_physicians,
        physicians.physicians_in_words,
        (("k1", "estimate"), ("k2", "shrunken towards the mean"), ("k3", "95 % interval")),
    ),
    Picture(
        "funnel",
        "chance",
        "Funnel plot",
        physicians.funnel_reading,
        physicians.funnel_data,
        physicians.plot_funnel,
        physicians.funnel_in_words,
    ),
    Picture(
        "importance",
        "rule",
        "What the decisions depend on",
        "How much worse the decisions are predicted when a covariate is shuffled.",
        rule.importance_rows,
        rule.plot_importance,
        "Loss of AUC when the values of a covariate are shuffled, the most important first.",
    ),
    *(_dependence(place) for place in range(rule.MOST_DEPENDENCE)),
    Picture(
        "love",
        "believe",
        "Love plot",
        "Love plot: how alike the patients of a pair are (filled), against two patients at random "
        "(hollow).",
        pairs.love_rows,
        pairs.plot_love,
        "Standardised difference of each covariate within pairs (filled) and between two patients "
        "of the same physician at random (hollow); the closer to zero, the more comparable.",
    ),
    Picture(
        "distances",
        "believe",
        "Distances of the pairs",
        "How far apart the patients of a pair are, as a fraction of the caliper.",
        _diagnostic("distances"),
        pairs.plot_distances,
        "Share of pairs per tenth of the caliper; 1 is the caliper.",
    ),
    Picture(
        "attrition",
        "believe",
        "What became of the patients",
        "What became of each physician's patients.",
        _diagnostic("attrition"),
        pairs.plot_attrition,
        "Share of each physician's patients that were paired, lay outside the caliper, or were "
        "lost in a longer cycle of the assignment. Physicians with small counts are left out.",
        (("k1", "paired"), ("k2", "outside the caliper"), ("k3", "lost in a cycle")),
    ),
    Picture(
        "sweep",
        "believe",
        "Another caliper",
        "If the result changes much as the caliper tightens or loosens, pairs at its edge are not "
        "comparable.",
        pairs.sweep_rows,
        pairs.plot_sweep,
        "Mean discordance (line) and share of patients in pairs (dashed) as the caliper changes; 1 "
        "is the caliper used.",
        (("k1", "mean discordance"), ("k2", "patients in pairs")),
    ),
    Picture(
        "agreement",
        "believe",
        "Agreement between methods",
        "Do other methods rank the physicians alike?",
        trust.agreement_rows,
        trust.plot_agreement,
        "Rank correlation of every two methods over the physicians.",
    ),
    Picture(
        "balance",
        "believe",
        "Are patients alike across physicians?",
        "Do physicians see different patients? Long bars: yes, in this covariate.",
        trust.balance_rows,
        trust.plot_balance,
        "Share of each covariate's variance that lies between physicians; near zero where "
        "patients were dealt out as if at random.",
    ),
    Picture(
        "overlap",
        "believe",
        "Overlap",
        "How much each physician's patients are like those of all.",
        trust.overlap_rows,
        trust.plot_overlap,
        "One mark per physician; 1 where the panel is like the whole, 0 where it has nothing in "
        "common with it.",
    ),
    Picture(
        "calibration",
        "believe",
        "Calibration",
        "Predicted against observed decisions in patients held out.",
        trust.calibration_bins,
        trust.plot_calibration,
        "Predicted against observed share decided for in patients held out; on the line where the "
        "model is right on average.",
    ),
)


def pictures_of(outputs: Outputs) -> dict[str, list[ShownPicture]]:
    """Return the pictures that there are data for, by section of the page."""
    found: dict[str, list[ShownPicture]] = {picture.section: [] for picture in PICTURES}
    for picture in PICTURES:
        shown = picture.shown(outputs)
        if shown is not None:
            found[picture.section].append(shown)
    return found
