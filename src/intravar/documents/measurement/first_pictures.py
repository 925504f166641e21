"""The pictures of page one, which need no statistics: a hundred pairs, and why they differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from intravar.documents.measurement.plot import Drawing
from intravar.publication.outputs import Outputs

#: Pairs side by side, and the pixels of a pair.
ACROSS, WIDTH, HEIGHT = 10, 30, 19
#: Pixels of the bar of noise.
BAR = 360, 28
NOISE = {
    "level": ("fill", "some say yes more often than others"),
    "pattern": ("second", "they weigh patients differently"),
    "occasion": (
        "third",
        "the same one would decide otherwise another time, or for reasons not recorded",
    ),
}


def pairs_differing(outputs: Outputs) -> dict[str, Any] | None:
    """Return the group's figure; None where there is none."""
    group: dict[str, Any] | None = outputs.summary["group"]
    return None if group is None or group["discordance"] is None else group


def plot_pairs(group: dict[str, Any], _width: int) -> Drawing:
    """Draw a hundred pairs of patients; those decided differently have two kinds of dots."""
    differ = round(100 * group["discordance"])
    picture = Drawing(ACROSS * WIDTH, 100 // ACROSS * HEIGHT)
    for pair in range(100):
        a, b = pair % ACROSS * WIDTH + 8, pair // ACROSS * HEIGHT + 9.5
        kinds = ("one-way", "other-way") if pair < differ else ("alike", "alike")
        for n, kind in enumerate(kinds):
            picture.add(
                '<circle class="{kind}" cx="{a}" cy="{b}" r="5"/>', kind=kind, a=a + 13 * n, b=b
            )
    return picture


class NoiseShare(NamedTuple):
    """A part of the noise: how many of a hundred patients, and why."""

    name: str
    of_hundred: float
    kind: str
    why: str

    @property
    def shown(self) -> str:
        """The part in whole patients of a hundred."""
        return "fewer than 1" if round(self.of_hundred) == 0 else f"{round(self.of_hundred)}"


def noise_parts(outputs: Outputs) -> list[NoiseShare]:
    """Return the parts of noise; none where it was not taken apart."""
    noise = (outputs.summary["group"] or {}).get("noise") or {}
    return [
        NoiseShare(name, 200 * noise[name]["value"], kind, why)
        for name, (kind, why) in NOISE.items()
        if noise.get(name, {}).get("value") is not None
    ]


def noise_in_words(parts: list[NoiseShare]) -> str:
    """Say what the bar of noise shows."""
    listed = "; ".join(f"{part.name} {part.shown}: {part.why}" for part in parts)
    return f"Of 100 patients seen by two physicians, decided differently: {listed}."


def plot_noise(parts: list[NoiseShare], _width: int) -> Drawing:
    """Draw the noise as one bar, in parts."""
    picture = Drawing(*BAR)
    whole, at = sum(part.of_hundred for part in parts) or 1.0, 0.0
    for part in parts:
        across = BAR[0] * part.of_hundred / whole
        hint = f"{part.name}: {part.shown} of 100"
        picture.box((at, 0), (max(across - 2, 1), BAR[1]), hint, part.kind)
        if across > 24:
            picture.write(part.shown, (at + across / 2 - 1, BAR[1] / 2), f"on-{part.kind}")
        at += across
    return picture


def noise_key(parts: list[NoiseShare]) -> tuple[tuple[str, str], ...]:
    """Say what the parts of the bar stand for."""
    return tuple((part.kind, f"{part.shown} {part.name}: {part.why}") for part in parts)
