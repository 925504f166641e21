"""Page one in words: the verdict, the group's figure, who stands out, and what to do next."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from intravar.documents.measurement.first_pictures import NoiseShare, noise_parts
from intravar.documents.measurement.physician_pictures import Funnel, funnel_data, with_intervals
from intravar.errors import theirs
from intravar.measurement.estimand import rates_in_words
from intravar.measurement.sentences import MAY_BE_READ, at_most, explained_sentence
from intravar.measurement.verdict import UNRANKED
from intravar.publication.group_words import differences_line
from intravar.publication.outputs import Outputs
from intravar.publication.review_words import review_lines, review_sentence
from intravar.publication.shown_location import location_lines

#: How grave it is, as a class of the style sheet.
LOOK_OF = {"levels and ranks": "good", "upper limits and ranks": "good", "not interpretable": "bad"}
MOST_NAMED = 5
#: Loss of AUC from which on decisions are said to rest on a covariate.
TELLS = 0.01
#: What lowers each part of the noise.
LOWERS = {
    "level": "agree on the threshold: most of what can be agreed on is how readily to say yes",
    "pattern": "agree on what counts: physicians weigh the same findings differently",
    "occasion": "record the reasons and use a checklist: most of it is not between physicians",
}


class Named(NamedTuple):
    """A physician named on page one, with what is said of them."""

    p: int
    name: str
    of_hundred: str
    difference: str
    away: int


class FirstPage(NamedTuple):
    """What the template needs of page one.

    Attributes
    ----------
    verdict, look, may_be_read, reasons
        How much the data bear.
    headline, interval, caveats
        The group's figure, and what limits it.
    differ
        Whether physicians differ, in a sentence.
    standing, named
        Who stands out, or that nobody does.
    noise_whole
        Of a hundred patients seen by two, so many are decided differently.
    steps
        What to do next.
    """

    verdict: str
    look: str
    may_be_read: str
    reasons: list[str]
    headline: str
    interval: str
    caveats: list[str]
    differ: str
    standing: str
    named: list[Named]
    noise_whole: int
    steps: list[str]


def first_page(outputs: Outputs) -> FirstPage:
    """Put page one into words; every number comes from what is published."""
    summary, said = outputs.summary, outputs.words.said
    parts, group, verdict = noise_parts(outputs), summary["group"], summary["verdict"]
    standing, named = _standing(outputs, funnel_data(outputs))
    headline, interval = _headline(group, summary["claim"], summary["compared"])
    review = outputs.decision.review if outputs.decision else None
    if review is not None:
        by_prediction = f"{headline}. {interval}" if interval else ""
        headline, interval = review_sentence(review).rstrip("."), by_prediction
    return FirstPage(
        verdict,
        LOOK_OF.get(verdict, "care"),
        said(MAY_BE_READ[verdict]),
        [said(line) for line in summary["verdict_reasons"]],
        said(headline),
        said(interval),
        [said(line) for line in _caveats(outputs)],
        _differ(outputs),
        said(standing),
        named,
        sum(round(part.of_hundred) for part in parts),
        [said(line) for line in _steps(outputs, named, parts)],
    )


def _headline(group: dict[str, Any] | None, claim: str, compared: str) -> tuple[str, str]:
    if group is None or group["discordance"] is None:
        return "No figure can be given.", ""
    about = round(100 * group["discordance"])
    headline = f"Of 100 {theirs(compared)}, {claim} {about} get different decisions"
    if claim != "about" and group["high"] is not None:
        sure = at_most(group["discordance"], group["high"])
        return headline, f"An upper limit: {sure}; two patients of the same physician each."
    if group["low"] is None or group["high"] is None:
        return headline, "Two patients of the same physician each."
    low, high = (round(100 * group[end]) for end in ("low", "high"))
    return headline, f"95 % interval {low} to {high}; two patients of the same physician each."


def _caveats(outputs: Outputs) -> list[str]:
    """Return what limits the group's figure."""
    summary = outputs.summary
    review = outputs.decision.review if outputs.decision else None
    found = [] if review is None else review_lines(review)
    explained = (summary["group"] or {}).get("explained")
    if explained is not None:
        found.append(explained_sentence(explained["value"]))
    location = outputs.decision.location if outputs.decision else None
    found += location_lines(location)[:2]
    if summary["claim"] != "about":
        found.append(
            "What could not be predicted counts as different, even where the physician was "
            "consistent: the true figure lies at or below the limit."
        )
    if summary["verdict"] == "ranks only":
        found += [f"{line[0].upper()}{line[1:]}." for line in summary["verdict_reasons"][:1]]
    found += [_leak_line(leak) for leak in summary["leaks"][:1]]
    if summary.get("unrecorded"):
        found.append(summary["unrecorded"]["words"])
    if summary.get("banded"):
        found.append(f"{summary['banded']}.")
    group = summary["group"] or {}
    together = rates_in_words(group.get("with_rate"), group.get("with_half"))
    found += [] if together is None else [together]
    repeats = group.get("repeats") or {}
    if repeats.get("contradiction") is not None:
        share = round(100 * repeats["contradiction"])
        found.append(f"On cases seen twice they contradicted themselves in {share} of 100.")
    return found


def _leak_line(leak: dict[str, str]) -> str:
    return (
        f"'{leak['column']}' may give the decision away; if it is known only afterwards, the true "
        "figure is higher."
    )


def _differ(outputs: Outputs) -> str:
    """Return the sentence on whether physicians differ."""
    group = outputs.decision.group if outputs.decision else None
    if group is None:
        return ""
    line = differences_line(group)
    return "" if line is None else outputs.words.said(line)


def _standing(outputs: Outputs, funnel: Funnel | None) -> tuple[str, list[Named]]:
    """Say who stands out and by how much, or that nobody does."""
    if outputs.summary["verdict"] in UNRANKED:
        return "Nobody is singled out: the data do not support a ranking of physicians.", []
    if funnel is not None and funnel.outside:
        n, more = len(funnel.outside), len(funnel.outside) - MOST_NAMED
        rest = f"; the {MOST_NAMED} farthest" if more > 0 else ""
        told = (
            f"{n:,} of {len(funnel.rows):,} {'stands' if n == 1 else 'stand'} out by more than "
            f"chance and the usual spread allow{rest}:"
        )
        return told, [_named(row, funnel) for row in funnel.outside[:MOST_NAMED]]
    ranked = with_intervals(outputs).drop_nulls("rank").sort("rank", "physician")
    if ranked.height < 2:
        return "Nobody stands out; too few physicians can be ranked to name the ends.", []
    told = (
        "Whether anybody stands out cannot be said: the level is not determined."
        if funnel is None
        else "Nobody stands out by more than chance and the usual spread allow."
    )
    ends = pl.concat([ranked.head(1), ranked.tail(1)]).to_dicts()
    return f"{told} The most and the least consistent:", [_named(row, funnel) for row in ends]


def _named(row: dict[str, Any], funnel: Funnel | None) -> Named:
    if row["discordance"] is None or funnel is None:
        low, high = (100 * row[end] for end in ("low", "high"))
        return Named(row["p"], row["physician"], f"between {low:.0f} and {high:.0f} of 100", "", 0)
    score, middle = 100 * row["discordance"], 100 * funnel.limits.middle
    away = round(score - middle)
    return Named(
        row["p"],
        row["physician"],
        f"{score:.0f} of 100 [{100 * row['low']:.0f}, {100 * row['high']:.0f}]",
        f"{abs(away)} {'more' if away > 0 else 'fewer'} than the mean" if away else "as the mean",
        away,
    )


def _steps(outputs: Outputs, named: list[Named], parts: list[NoiseShare]) -> list[str]:
    """Return what to do next, the most pressing first."""
    summary = outputs.summary
    steps = []
    if summary["leaks"]:
        column = summary["leaks"][0]["column"]
        steps.append(f"Find out when '{column}' was known. If after the decision: --after.")
    if summary["verdict"] == "not interpretable":
        steps.append("Mend what the verdict names, and measure again.")
        return steps
    if summary["verdict"] == "group only":
        steps.append(
            "Work with the group, not with single physicians. More patients each, or covariates "
            "that decisions rest on, would tell them apart."
        )
    elif named:
        steps.append(_about(named))
    largest = max(parts, key=lambda part: part.of_hundred, default=None)
    if largest is not None and largest.of_hundred >= 1:
        away = LOWERS[largest.name]
        steps.append(f"{away[0].upper()}{away[1:]} ({largest.shown} of 100).")
    important = [row for row in summary["rule"]["importance"][:3] if row["importance"] >= TELLS]
    if important and summary["rule"]["auc"] is not None:
        words = outputs.words
        listed = ", ".join(theirs(words.label(row["covariate"])) for row in important)
        steps.append(f"Begin with what decisions rest on most: {listed}.")
    return steps


def _about(named: list[Named]) -> str:
    """Say what to do about those who are named: look at cases, or learn."""
    farthest = max(named, key=lambda each: each.away)
    if farthest.away >= 0:
        return (
            "Look at cases before you talk about people: intravar explain DIR --physician "
            f"{theirs(farthest.name)}."
        )
    return f"Ask {theirs(named[0].name)} how they decide; they are more consistent than is usual."
