"""What may be told of all physicians together: over everybody, rounded so that nobody follows."""

from __future__ import annotations

from typing import Any

from intravar.arrays import IntArray
from intravar.errors import theirs
from intravar.estimators.noise import Noise
from intravar.measurement.estimand import rates_in_words, with_rates
from intravar.measurement.group import Group
from intravar.measurement.result import Measurement
from intravar.measurement.scores import COMPARABLE
from intravar.measurement.sentences import about, differences_sentence, explained_sentence
from intravar.publication.rounding import coarse, coarse_step, fraction, two_digits
from intravar.wording import USUAL, Words

#: Digits of what is told of everybody, hidden physicians included.
GROUP_DIGITS = 2


def group_digits(smallest_cell: int) -> int:
    """Return the digits of what is told of everybody; all of them where nothing is to be hidden."""
    return GROUP_DIGITS if smallest_cell > 1 else 6


def group_json(
    measurement: Measurement, group: Group | None, measured: IntArray
) -> dict[str, Any] | None:
    """Return the group's figures in a form that fits into JSON; None where there are none.

    Parameters
    ----------
    measurement
        With everything in it.
    group
        As far as it may be told.
    measured
        Positions of the physicians whose scores are shown.
    """
    if group is None:
        return None
    digits = group_digits(measurement.request.smallest_cell)
    alike = with_rates(measurement.main.scores.take(measured))
    whole = measurement.group
    return {
        **{name: fraction(getattr(group, name), digits) for name in ("discordance", "low", "high")},
        **_differences(group, whole, measurement.request.matters),
        "explained": None if whole is None else _explained(measurement, whole),
        "noise": None if measurement.noise is None else _noise(measurement, measurement.noise),
        "repeats": _repeats(measurement, digits),
        "with_rate": None if alike is None else fraction(alike[0], 1),
        "with_half": None if alike is None else fraction(alike[1], 1),
    }


def _differences(group: Group, whole: Group | None, matters: float) -> dict[str, Any]:
    """Return whether physicians differ: in a word over all, in figures from what may be told.

    The word is that of the verdict. Where bands stand for scores the figures know less than it,
    and keep within what it says.
    """
    word = None if whole is None else whole.differences
    spread, low, high = group.spread, group.spread_low, group.spread_high
    if word == "less than matters":
        spread, low, high = (min(each, matters) for each in (spread, low, high))
    return {
        "differences": word,
        "matters": matters,
        "spread": fraction(spread, 3),
        "spread_low": fraction(low, 3),
        "spread_high": fraction(high, 3),
        "needed": None if whole is None or whole.needed is None else two_digits(whole.needed),
    }


def _explained(measurement: Measurement, whole: Group) -> dict[str, Any] | None:
    """Return the explained share over all patients, rounded to what two dozen of them move."""
    if whole.explained is None:
        return None
    found, step = whole.explained, max(_step(measurement), 0.01)
    ends = {"share": found.share, "low": found.low, "high": found.high}
    return {name: coarse(max(value, 0.0), step) for name, value in ends.items()}


def _step(measurement: Measurement) -> float:
    """Return the step to which figures over all patients are rounded."""
    smallest = measurement.request.smallest_cell
    # Few exceptions of one physician move a share by their part of all patients.
    moved = 2 * (smallest + 1) / int(measurement.main.scores.n_patients.sum())
    return coarse_step(moved) if smallest > 1 else 1e-6


def _noise(measurement: Measurement, noise: Noise) -> dict[str, Any]:
    step = _step(measurement)
    return {
        row["component"]: {name: coarse(row[name], step) for name in ("value", "low", "high")}
        for row in noise.table.iter_rows(named=True)
    }


def _repeats(measurement: Measurement, digits: int) -> dict[str, Any] | None:
    seen = measurement.repeats
    if seen is None:
        return None
    scores = measurement.main.scores
    return {
        "contradiction": fraction(seen.model.overall_, digits),
        "share_not_inconsistency": fraction(
            seen.unexplained(scores.discordance, scores.n_patients), digits
        ),
    }


def group_lines(
    group: dict[str, Any] | None,
    n_physicians: int,
    claim: str = "about",
    words: Words = USUAL,
    compared: str | None = None,
) -> list[str]:
    """Say the group's figures in words that need no statistics.

    Parameters
    ----------
    group, n_physicians
        The figures, and over how many.
    claim
        How they are to be read: as they are, or as upper limits.
    words
        What whoever asked calls things.
    compared
        What is compared, in their words already.

    Examples
    --------
    >>> told = {"discordance": 0.2, "low": 0.17, "high": 0.23, "differences": None}
    >>> told |= {"noise": None, "repeats": None}
    >>> group_lines(told, 7)[0].split(": ")[1]
    'of 100 pairs of comparable patients, about 20 [17, 23] get different decisions.'
    """
    if group is None:
        return []
    ends = (group[name] for name in ("discordance", "low", "high"))
    who = "The one physician" if n_physicians == 1 else f"All {n_physicians:,} physicians together"
    lines = [
        f"{who}: of 100 "
        f"{COMPARABLE if compared is None else theirs(compared)}, "
        f"{about(*ends, limit=claim != 'about')} get different decisions."
    ]
    if group.get("explained") is not None:
        lines.append(explained_sentence(group["explained"]["share"]))
    if (told := differences_line(group)) is not None:
        lines.append(told)
    if group["noise"] is not None:
        lines.append(_noise_line(group["noise"]))
    if group["repeats"] is not None and group["repeats"]["contradiction"] is not None:
        lines.append(_repeats_line(group["repeats"]))
    if told := rates_in_words(group.get("with_rate"), group.get("with_half")):
        lines.append(told)
    return [words.said(line) for line in lines]


def _percent(value: float) -> int:
    return round(100 * value)


def differences_line(group: dict[str, Any]) -> str | None:
    """Say whether physicians differ; None where that is not asked."""
    if group["differences"] is None or group["spread"] is None:
        return None
    spread, low, high = (group[name] for name in ("spread", "spread_low", "spread_high"))
    return differences_sentence(
        group["differences"],
        spread,
        low,
        high,
        needed=group["needed"],
        matters=group["matters"],
    )


def _noise_line(noise: dict[str, Any]) -> str:
    parts = {name: 200 * noise[name]["value"] for name in ("level", "pattern", "occasion")}
    whole = sum(round(part) for part in parts.values())
    level, pattern, occasion = (
        "fewer than 1" if round(part) == 0 else f"{round(part)}" for part in parts.values()
    )
    return (
        f"Of 100 patients seen by two of them, about {whole} would be decided differently: {level} "
        f"because some say yes more often, {pattern} because they weigh patients differently, "
        f"{occasion} because the same one would decide otherwise another time, or for reasons not "
        "recorded."
    )


def _repeats_line(repeats: dict[str, Any]) -> str:
    share = repeats["share_not_inconsistency"]
    rest = (
        ""
        if share is None
        else f" So up to about {_percent(share)} % of the figure above may be reasons that are not "
        "recorded, or what could not be predicted, and not inconsistency."
    )
    return (
        f"On cases seen twice they contradicted themselves in {_percent(repeats['contradiction'])} "
        f"of 100.{rest}"
    )
