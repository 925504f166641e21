"""What a sheet says to a physician, in words that follow from what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intravar.errors import theirs
from intravar.measurement.verdict import UNRANKED
from intravar.wording import Words

#: Nats a patient from which on an own rule is worth a word.
WORTH = 0.005
HOW = {
    "more": "You weigh {} more than the others.",
    "less": "You weigh {} less than the others.",
    "the other way": "You weigh {} the other way round than the others.",
    "up": "A higher value of {} speaks for a yes with you; to the others it says little.",
    "down": "A higher value of {} speaks against a yes with you; to the others it says little.",
}


def headline(row: Mapping[str, Any], claim: str, compared: str) -> tuple[str, str]:
    """Return a physician's figure in large letters, and the sentence that goes with it.

    Parameters
    ----------
    row
        Of the published table.
    claim, compared
        How the figure is to be read, and what is compared, as in `summary.json`.

    Examples
    --------
    >>> row = {"discordance": 0.18, "low": 0.12, "high": 0.25, "reason": None}
    >>> headline(row, "about", "pairs of similar patients")[0]
    'about 18 of 100'
    >>> headline({"discordance": None, "reason": "fewer than 30 patients"}, "about", "pairs")[0]
    'not reported'
    """
    if row["discordance"] is not None:
        value, low, high = (round(100 * row[name]) for name in ("discordance", "low", "high"))
        sure = (
            f"the 95 % interval goes from {low} to {high}"
            if claim == "about"
            else f"95 % sure: at most {high}"
        )
        return (
            f"{claim} {value} of 100",
            f"Among your patients: of 100 {theirs(compared)}, {claim} {value} get different "
            f"decisions; {sure}.{_unranked(row)}",
        )
    if row.get("identified_low") is not None and row.get("identified_high") is not None:
        low, high = (round(100 * row[name]) for name in ("identified_low", "identified_high"))
        return (
            f"{low} to {high} of 100",
            "These data do not pin your figure down further: every value in this range fits them "
            "equally well.",
        )
    if row.get("band"):
        return (
            theirs(str(row["band"])),
            "Your figure is told as a band, because a number would give small counts of patients "
            "away. Small counts stand behind figures of consistent physicians most of all.",
        )
    if row.get("shrunken") is not None:
        value = round(100 * row["shrunken"])
        return (
            f"{claim} {value} of 100",
            "Too little is known of you alone: this is your figure drawn towards the mean of all, "
            "and it is not for comparing.",
        )
    return "not reported", f"There is no figure for you: {theirs(row['reason'])}."


def _unranked(row: Mapping[str, Any]) -> str:
    return f" You have no rank: {theirs(row['reason'])}." if row["reason"] else ""


def facts(
    row: Mapping[str, Any], summary: Mapping[str, Any], checks: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return the numbers that stand beside the figure, each with what it is."""
    group, review = summary["group"] or {}, summary.get("review") or {}
    reviewed = review.get("physicians", {}).get(row["physician"], {})
    found = [
        ("your patients", _count(row["n_patients"])),
        (
            'your rate of "yes"',
            _beside(_share(row.get("rate")), _share(checks["decision_share"]), "all"),
        ),
        ("the figure of all together", _hundred(group.get("discordance"))),
        (
            "all together, among pairs that reviewers found comparable",
            _hundred(review.get("discordance")),
        ),
        (
            "yours, among pairs that reviewers found comparable",
            _hundred(reviewed.get("discordance")),
        ),
        (
            "what the average colleague would score on your patients",
            _hundred(row.get("expected")),
        ),
        ("share of how your decisions vary that the record explains", _share(row.get("explained"))),
        ("share of your figure in close calls", _share(row.get("in_close_calls"))),
        ("your figure, drawn towards the mean of all", _hundred(row.get("shrunken"))),
        ("cases seen twice that you decided differently", _hundred(row.get("contradiction"))),
        ("your rank (1 is the most consistent)", _rank(row, summary)),
        ("reliability of your figure (1 is the best)", _number(row["reliability"])),
    ]
    return [(name, value) for name, value in found if value]


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _hundred(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} of 100"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _beside(own: str, others: str, whose: str) -> str:
    return f"{own} ({whose}: {others})" if own and others else own


def _rank(row: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    if row["rank"] is None or summary["verdict"] in UNRANKED:
        return ""
    return f"{row['rank']:.0f}, from {row['rank_low']} to {row['rank_high']}"


def own_rule(
    row: Mapping[str, Any], differences: Sequence[Mapping[str, str]], words: Words
) -> list[str]:
    """Say in what way a physician's rule differs from that of the others.

    Examples
    --------
    >>> told = [{"covariate": "age", "how": "more"}]
    >>> own_rule({"gain": 0.1}, told, Words())[-1]
    'You weigh age more than the others.'
    >>> own_rule({"gain": -0.01}, [], Words())
    ['The rule of all predicts your decisions as well as a rule of your own.']
    >>> own_rule({"gain": None}, [], Words())
    []
    """
    gain = row.get("gain")
    if gain is None:
        return []
    if gain < WORTH and not differences:
        return ["The rule of all predicts your decisions as well as a rule of your own."]
    lines = []
    if gain >= WORTH:
        lines.append("A rule of your own predicts your decisions better than that of all.")
    if not differences:
        return [*lines, "No single covariate stands out in it."]
    return lines + [
        words.said(HOW[each["how"]].format(theirs(words.label(each["covariate"]))))
        for each in differences
        if each["how"] in HOW
    ]
