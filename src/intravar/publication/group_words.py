"""What may be told of all physicians together: over everybody, rounded so that nobody follows."""

from __future__ import annotations

from typing import Any

from intravar.estimators.noise import Noise
from intravar.measurement.result import Measurement
from intravar.publication.rounding import fraction

#: Digits of what is told of everybody, hidden physicians included.
GROUP_DIGITS = 2
#: Probability from which on it is said that physicians differ.
SURE_TO_DIFFER = 0.95


def group_json(measurement: Measurement) -> dict[str, Any] | None:
    """Return the group's figures in a form that fits into JSON; None where there are none."""
    group = measurement.group
    if group is None:
        return None
    digits = GROUP_DIGITS if measurement.request.smallest_cell > 1 else 6
    told = ("discordance", "low", "high", "spread", "spread_low", "spread_high", "differ")
    return {
        **{name: fraction(getattr(group, name), digits) for name in told},
        "p_value": None if group.p_value != group.p_value else float(f"{group.p_value:.1g}"),
        "noise": None if measurement.noise is None else _noise(measurement.noise, digits),
        "repeats": _repeats(measurement, digits),
    }


def _noise(noise: Noise, digits: int) -> dict[str, Any]:
    return {
        row["component"]: {name: fraction(row[name], digits) for name in ("value", "low", "high")}
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


def group_lines(group: dict[str, Any] | None, n_physicians: int, who: str) -> list[str]:
    """Say the group's figures in words that need no statistics.

    Examples
    --------
    >>> told = {"discordance": 0.2, "low": 0.17, "high": 0.23, "differ": None}
    >>> told |= {"noise": None, "repeats": None}
    >>> group_lines(told, 7, "comparable patients")[0].split(": ")[1]
    'of 100 pairs of comparable patients, about 20 [17, 23] get different decisions.'
    """
    if group is None:
        return []
    about, low, high = (_percent(group[name]) for name in ("discordance", "low", "high"))
    lines = [
        f"All {n_physicians:,} physicians together: of 100 pairs of {who}, about {about} "
        f"[{low}, {high}] get different decisions."
    ]
    if group["differ"] is not None:
        lines.append(_difference(group))
    if group["noise"] is not None:
        lines.append(_noise_line(group["noise"]))
    if group["repeats"] is not None and group["repeats"]["contradiction"] is not None:
        lines.append(_repeats_line(group["repeats"]))
    return lines


def _percent(value: float) -> int:
    return round(100 * value)


def _difference(group: dict[str, Any]) -> str:
    sure = _percent(group["differ"])
    if group["differ"] < SURE_TO_DIFFER:
        return (
            f"No difference between them can be told from chance (probability that they differ: "
            f"{sure} %)."
        )
    low, high = _percent(group["spread_low"]), _percent(group["spread_high"])
    return (
        f"They differ (probability {sure} %): their true values spread by about "
        f"{_percent(group['spread'])} [{low}, {high}] of 100 around the mean."
    )


def _noise_line(noise: dict[str, Any]) -> str:
    of_two = {name: round(200 * part["value"]) for name, part in noise.items()}
    return (
        f"Of 100 patients seen by two of them, {of_two['system']} would be decided differently: "
        f"{of_two['level']} because some decide for more often, {of_two['pattern']} because they "
        f"weigh patients differently, {of_two['occasion']} because the same one would decide "
        "otherwise another time, or for reasons not recorded."
    )


def _repeats_line(repeats: dict[str, Any]) -> str:
    share = repeats["share_not_inconsistency"]
    rest = (
        ""
        if share is None
        else f" {_percent(share)} % of the discordance above is not inconsistency but reasons that "
        "are not recorded."
    )
    return (
        f"On cases seen twice they contradicted themselves in {_percent(repeats['contradiction'])} "
        f"of 100.{rest}"
    )
