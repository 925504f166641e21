"""Which pictures the page of a measurement has: one entry each is all that a picture needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from intravar.documents.measurement import first_pictures as first
from intravar.documents.measurement import pair_pictures as pairs
from intravar.documents.measurement import physician_pictures as physicians
from intravar.documents.measurement import rule_pictures as rule
from intravar.documents.measurement import strata_pictures as strata
from intravar.documents.measurement import trust_pictures as trust
from intravar.documents.measurement.binned_pictures import MOST_SINGLE
from intravar.documents.measurement.plot import NARROW, WIDE, Drawing
from intravar.errors import theirs
from intravar.publication.outputs import Outputs
from intravar.publication.several_outputs import SeveralOutputs

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A picture of the page. A text may depend on the data.

    Parameters
    ----------
    name
        Its anchor in the page.
    section
        Part of the page that it stands in.
    title
        Its name, over it in the page and read aloud first.
    reading
        Caption: how to read it.
    reads
        The published fields that it shows, and nothing else: `file.field`. What makes each of them
        safe stands in `publication/fields.py`, and makes the picture safe.
    data
        From what is published to what it shows; nothing (None, no rows) leaves the picture out.
    plot
        Plots the data in a width.
    alternative
        Says in words what it shows, from the same data.
    key
        What its marks stand for: class of the style sheet and words.
    left_out
        Who is missing from it, and why, where somebody may be.
    widths
        Widths in which it is plotted; the page shows the one that fits.
    """

    name: str
    section: str
    title: str | Callable[[Any], str]
    reading: str | Callable[[Any], str]
    reads: tuple[str, ...]
    data: Callable[[Any], Any]
    plot: Callable[[Any, int], Drawing]
    alternative: str | Callable[[Any], str]
    key: Key | Callable[[Any], Key] = ()
    left_out: Callable[[Any], str] | None = None
    widths: tuple[int, ...] = (WIDE, NARROW)

    def shown(self, outputs: Outputs | SeveralOutputs) -> ShownPicture | None:
        """Return the picture as the page shows it; None where there is nothing to show."""
        data = self.data(outputs)
        if not data:
            return None
        said = outputs.words.said
        title, words = said(_of(self.title, data)), said(_of(self.alternative, data))
        left_out = "" if self.left_out is None else self.left_out(outputs)
        return ShownPicture(
            self.name,
            title,
            said(f"{_of(self.reading, data)} {left_out}".strip()),
            tuple(self.plot(data, width).svg(title, words, outputs.words) for width in self.widths),
            tuple((look, said(text)) for look, text in _of(self.key, data)),
        )


@dataclass(frozen=True)
class ShownPicture:
    """What the template needs of a picture."""

    name: str
    title: str
    reading: str
    svgs: tuple[Markup, ...]
    key: Key


def _of(given: Any, data: Any) -> Any:
    return given(data) if callable(given) else given


def _diagnostic(name: str) -> Callable[[Outputs], Any]:
    return lambda outputs: outputs.diagnostics[name]


def _without_score(outputs: Outputs) -> str:
    shown = physicians.with_intervals(outputs).height
    missing = outputs.physicians.height - shown
    elsewhere = " and may lie elsewhere" if shown > MOST_SINGLE else ""
    return f"{missing:,} without a number to show are not in it{elsewhere}." if missing else ""


def _with_small_counts(field: str) -> Callable[[Outputs], str]:
    def left_out(outputs: Outputs) -> str:
        missing = outputs.physicians.height - len(outputs.diagnostics[field])
        return f"{missing:,} with small counts are not in it." if missing else ""

    return left_out


def _dependence(place: int) -> Picture:
    return Picture(
        f"dependence-{place + 1}",
        "dependence",
        lambda data: theirs(data.covariate),
        "How decisions go with it, all else as it is.",
        ("summary.rule", "checks.columns"),
        partial(rule.dependence_data, place=place),
        rule.plot_dependence,
        rule.dependence_in_words,
        widths=(NARROW,),
    )


def _strata(part: str, title: str) -> Picture:
    return Picture(
        f"strata-{part}",
        f"strata-{part}",
        title,
        "Patients alike: as if as many were indicated everywhere, physicians compared with "
        "themselves.",
        (f"summary.{part}",),
        strata.strata_rows(part),
        strata.plot_strata,
        strata.strata_in_words,
        (("hollow", "as it is"), ("point", "on patients alike, with its 95 % interval")),
    )


_SCORES = tuple(f"physicians.{name}" for name in ("physician", "discordance", "low", "high"))


PICTURES: tuple[Picture, ...] = (
    Picture(
        "hundred-pairs",
        "group",
        "A hundred pairs of patients",
        "Each two dots are two patients of the same physician.",
        ("summary.group",),
        first.pairs_differing,
        first.plot_pairs,
        lambda group: (
            f"A hundred pairs of dots; in {round(100 * group['discordance'])} of them the two "
            "patients got different decisions."
        ),
        (("one-way other-way", "decided differently"), ("alike", "decided alike")),
        widths=(first.ACROSS * first.WIDTH,),
    ),
    Picture(
        "noise",
        "noise",
        "Why two physicians would decide differently about the same patient",
        "",
        ("summary.group",),
        first.noise_parts,
        first.plot_noise,
        first.noise_in_words,
        first.noise_key,
        widths=(first.BAR[0],),
    ),
    Picture(
        "physicians-picture",
        "physicians",
        physicians.everyone_title,
        physicians.everyone_reading,
        (
            *_SCORES,
            *(f"physicians.{name}" for name in ("shrunken", "rank")),
            *(f"physicians.identified_{end}" for end in ("low", "high")),
            "summary.verdict",
        ),
        physicians.everyone,
        physicians.plot_everyone,
        physicians.everyone_in_words,
        physicians.everyone_key,
        _without_score,
    ),
    Picture(
        "ends",
        "physicians",
        "The ends of the order",
        "The most and the least consistent, each with the 95 % interval. Where intervals overlap, "
        "who comes first is a guess.",
        (
            *_SCORES,
            *(f"physicians.{name}" for name in ("shrunken", "rank")),
            *(f"physicians.identified_{end}" for end in ("low", "high")),
            "summary.verdict",
        ),
        physicians.order_ends,
        physicians.plot_ends,
        physicians.ends_in_words,
        physicians.ends_key,
    ),
    Picture(
        "funnel",
        "physicians",
        "Does anybody differ by more than chance and the usual spread?",
        physicians.funnel_reading,
        (*_SCORES, "physicians.n_pairs", "physicians.n_patients"),
        physicians.funnel_data,
        physicians.plot_funnel,
        physicians.funnel_in_words,
        physicians.funnel_key,
        _without_score,
    ),
    _strata("by", "Do subgroups of patients differ?"),
    _strata("course", "Did it change over time?"),
    Picture(
        "importance",
        "rule",
        "What the decisions depend on",
        "How much worse the decisions are predicted when a covariate is shuffled.",
        ("summary.rule",),
        rule.importance_rows,
        rule.plot_importance,
        "Loss of AUC when the values of a covariate are shuffled, the most important first.",
    ),
    *(_dependence(place) for place in range(rule.MOST_DEPENDENCE)),
    Picture(
        "love",
        "believe",
        "Are the two patients of a pair alike?",
        "Love plot: how alike the patients of a pair are, against two patients at random. Left is "
        "better.",
        ("diagnostics.love",),
        pairs.love_rows,
        pairs.plot_love,
        "Standardised difference of each covariate within pairs (filled) and between two patients "
        "of the same physician at random (hollow); the closer to zero, the more comparable.",
        (("point", "within pairs"), ("hollow", "two patients at random")),
    ),
    Picture(
        "distances",
        "believe",
        "Distances of the pairs",
        "How far apart the patients of a pair are, as a fraction of the caliper.",
        ("diagnostics.distances",),
        _diagnostic("distances"),
        pairs.plot_distances,
        "Share of pairs per tenth of the caliper; 1 is the caliper.",
    ),
    Picture(
        "attrition",
        "believe",
        "What became of the patients",
        "What became of each physician's patients.",
        ("diagnostics.attrition",),
        pairs.attrition_parts,
        pairs.plot_attrition,
        "Share of each physician's patients that were paired, lay outside the caliper, or were "
        "lost in a longer cycle of the assignment.",
        (("fill", "paired"), ("second", "outside the caliper"), ("third", "lost in a cycle")),
        _with_small_counts("attrition"),
    ),
    Picture(
        "sweep",
        "believe",
        "Another caliper",
        "If the result changes much as the caliper tightens or loosens, pairs at its edge are not "
        "comparable.",
        ("diagnostics.sweep",),
        pairs.sweep_rows,
        pairs.plot_sweep,
        "Mean discordance (line) and share of patients in pairs (dashed) as the caliper changes; 1 "
        "is the caliper used.",
        (("line", "mean discordance"), ("limit", "patients in pairs")),
    ),
    Picture(
        "agreement",
        "believe",
        "Do other methods rank the physicians alike?",
        "Rank correlations; 1 is the same order.",
        ("diagnostics.agreement",),
        trust.agreement_rows,
        trust.plot_agreement,
        "Rank correlation of every two methods over the physicians.",
    ),
    Picture(
        "balance",
        "believe",
        "In what do physicians' patients differ?",
        "Long bars: physicians see different patients in this respect.",
        ("diagnostics.balance",),
        trust.balance_rows,
        trust.plot_balance,
        "Share of each covariate's variance that lies between physicians; near zero where "
        "patients were dealt out as if at random.",
    ),
    Picture(
        "overlap",
        "believe",
        "Does each physician see patients like the others'?",
        "How much each physician's patients are like those of all.",
        ("diagnostics.overlap", "physicians.physician"),
        trust.overlap_rows,
        trust.plot_overlap,
        trust.overlap_in_words,
        left_out=_with_small_counts("overlap"),
    ),
    Picture(
        "calibration",
        "believe",
        "Are the predictions right on average?",
        "Predicted against observed decisions in patients held out.",
        ("diagnostics.calibration",),
        trust.calibration_bins,
        trust.plot_calibration,
        "Predicted against observed share decided for in patients held out; on the line where the "
        "model is right on average.",
    ),
)


def pictures_of(
    outputs: Outputs | SeveralOutputs, register: Sequence[Picture] | None = None
) -> dict[str, list[ShownPicture]]:
    """Return the pictures that there are data for, by section; of one decision by default."""
    asked = PICTURES if register is None else register
    found: dict[str, list[ShownPicture]] = {picture.section: [] for picture in asked}
    for picture in asked:
        shown = picture.shown(outputs)
        if shown is not None:
            found[picture.section].append(shown)
    return found
