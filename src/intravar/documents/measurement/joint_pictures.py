"""Pictures of several decisions: all together, each beside the others, which go together."""

from __future__ import annotations

from typing import Any, NamedTuple

from intravar.documents.measurement.physician_pictures import MOST_INTERVALS
from intravar.documents.measurement.plot import BOTTOM, MOST_HINTS, TOP, WIDE, Plot
from intravar.documents.measurement.row_plots import label_lines, row_plot, text_width
from intravar.errors import theirs
from intravar.measurement.verdict import UNRANKED
from intravar.publication.bands import Band
from intravar.publication.several_outputs import SeveralOutputs

Rows = list[dict[str, Any]]


class Together(NamedTuple):
    """The physicians by a joint figure or its band, and whether they are in its order."""

    rows: Rows
    most: float
    ordered: bool

    @property
    def banded(self) -> bool:
        """Whether some have a band."""
        return any(row["band"] for row in self.rows)

    @property
    def numbers(self) -> bool:
        """Whether some have a number."""
        return any(row["differ"] is not None for row in self.rows)


def _ends(text: str, most: float) -> tuple[float, float]:
    """Return the ends of a band; an open one ends with what there can be at the most."""
    band = Band.of_text(text)
    return band.low, most if text.endswith("more") else band.high


def together(outputs: SeveralOutputs) -> Together | None:
    """Return the physicians with a joint number or a band, the lowest first if data bear that."""
    most = 1 - 0.5 ** len(outputs.summary["decisions"])

    def middle(row: dict[str, Any]) -> float:
        if row["differ"] is not None:
            return float(row["differ"])
        return sum(_ends(row["band"], most)) / 2

    rows = [
        row
        for row in outputs.joint.with_row_index("p").iter_rows(named=True)
        if row["differ"] is not None or row["band"] is not None
    ]
    ordered = not set(outputs.summary["verdicts"].values()) & set(UNRANKED)
    rows.sort(key=lambda row: (middle(row) if ordered else 0.0, row["physician"]))
    return Together(rows, most, ordered) if rows else None


def together_key(data: Together) -> tuple[tuple[str, str], ...]:
    """Say what the marks stand for."""
    return (
        *(
            [
                ("point", "differ in at least one"),
                ("interval", "95 % interval"),
                ("hollow", "as if decisions did not look at each other"),
            ]
            if data.numbers
            else []
        ),
        *([("range", "a band, where small counts stand behind the figure")] * data.banded),
    )


def together_reading(data: Together) -> str:
    """Say how to read the picture."""
    if data.ordered:
        return (
            "Upper limits, the lowest first. Where intervals overlap widely, the order is a guess."
        )
    return "Upper limits, in the order of names: the data do not bear an order."


def plot_together(data: Together, width: int) -> Plot:
    """Plot how often two patients differ in at least one decision, a physician beside the other."""
    rows = data.rows
    plot = Plot(width, x=(0, len(rows) + 1), y=(0, data.most))
    order = "lowest first" if data.ordered else "in no order"
    plot.axes(f"physicians, {order}", "differ in at least one (probability)", count=len(rows))
    for position, row in enumerate(rows, 1):
        if row["differ"] is None:
            plot.line([(position, end) for end in _ends(row["band"], data.most)], "range")
            continue
        if len(rows) <= MOST_INTERVALS:
            plot.line([(position, row["differ_low"]), (position, row["differ_high"])], "interval")
            plot.point((position, row["differ_apart"]), "", "hollow", who=row["p"])
        value, low, high = (
            round(100 * row[name]) for name in ("differ", "differ_low", "differ_high")
        )
        hint = f"{theirs(row['physician'])}: {value} of 100 [{low}, {high}]"
        told = hint if len(rows) <= MOST_HINTS else ""
        plot.point((position, row["differ"]), told, who=row["p"])
    return plot


def together_in_words(data: Together) -> str:
    """Say what the picture shows."""
    order = "the lowest first" if data.ordered else "in no order"
    return (
        f"{len(data.rows)} physicians, {order}, each with the probability that two "
        "comparable patients differ in at least one decision. The table holds the numbers."
    )


class Alone(NamedTuple):
    """One decision of all physicians, in the order of the joint picture."""

    decision: str
    rows: Rows
    n_physicians: int
    most: float

    @property
    def given(self) -> bool:
        """Whether something is told among patients alike in the decisions before."""
        return any(row["given"] is not None for row in self.rows)

    @property
    def banded(self) -> bool:
        """Whether some have a band."""
        return any(row["discordance"] is None for row in self.rows)


def alone(outputs: SeveralOutputs, place: int) -> Alone | None:
    """Return a decision by itself; None where there are not so many, or it says nothing."""
    decisions = outputs.summary["decisions"]
    joint = together(outputs)
    if place >= len(decisions) or joint is None:
        return None
    order = {row["physician"]: (at, row["p"]) for at, row in enumerate(joint.rows, 1)}
    told = [
        row | dict(zip(("at", "p"), order[row["physician"]], strict=True))
        for row in outputs.decisions.iter_rows(named=True)
        if row["physician"] in order
    ]
    highest = max((row["high"] for row in told if row["high"] is not None), default=0.5)
    rows = [
        row
        for row in told
        if row["decision"] == decisions[place] and (row["high"] is not None or row["band"])
    ]
    label = outputs.words.label(decisions[place])
    return Alone(label, rows, len(order), min(0.5, 1.05 * highest)) if rows else None


def plot_alone(data: Alone, width: int) -> Plot:
    """Plot a decision's discordance, a physician beside the other as in the joint picture."""
    plot = Plot(width, x=(0, data.n_physicians + 1), y=(0, data.most))
    plot.axes("physicians, as above", "discordance (probability)", count=data.n_physicians)
    for row in data.rows:
        if row["discordance"] is None and row["band"]:
            low, high = _ends(row["band"], data.most)
            plot.line([(row["at"], low), (row["at"], min(high, data.most))], "range")
            continue
        if row["low"] is not None and data.n_physicians <= MOST_INTERVALS:
            plot.line([(row["at"], row["low"]), (row["at"], row["high"])], "interval")
        for name, kind in (("given", "hollow"), ("discordance", "point")):
            if row[name] is not None:
                hint = f"{theirs(row['physician'])}: {row[name]:.2f}"
                shown = hint if len(data.rows) <= MOST_HINTS else ""
                plot.point((row["at"], row[name]), shown, kind, who=row["p"])
    return plot


def alone_key(data: Alone) -> tuple[tuple[str, str], ...]:
    """Say what the marks stand for."""
    return (
        ("point", "by itself"),
        ("interval", "95 % interval"),
        *([("hollow", "given the decisions before it")] * data.given),
        *([("range", "a band")] * data.banded),
    )


def alone_in_words(data: Alone) -> str:
    """Say what the picture shows."""
    return (
        f"Discordance of {theirs(data.decision)} by itself, for {len(data.rows)} physicians in the "
        "order of the picture of all decisions together. The table holds the numbers."
    )


def order_rows(outputs: SeveralOutputs) -> Rows:
    """Return every decision alone and given those before it; none where nothing was learned."""
    label = outputs.words.label
    rows = [row | {"label": label(row["decision"])} for row in outputs.summary["by_decision"]]
    known = [row for row in rows if row["discordance"] is not None]
    return known if any(row["given"] is not None for row in known) else []


def plot_order(rows: Rows, width: int) -> Plot:
    """Plot a row per decision, in their order: by itself, and given those before it."""
    most = max(row[name] or 0.0 for row in rows for name in ("discordance", "given"))
    names = [f"{at}. {row['label']}" for at, row in enumerate(rows, 1)]
    plot = row_plot(names, most * 1.15, width, "discordance of all (probability)")
    for position, row in enumerate(rows, 1):
        at, name = plot.at(position), theirs(row["label"])
        plot.point((row["discordance"], at), f"{name}: {row['discordance']:.2f} by itself")
        if row["given"] is not None:
            told = f"{name}: {row['given']:.2f} given the decisions before it"
            plot.point((row["given"], at), told, "hollow", radius=6)
    return plot


def order_in_words(rows: Rows) -> str:
    """Say what the picture shows."""
    told = [
        f"{theirs(row['label'])}: {row['discordance']:.2f} by itself"
        + ("" if row["given"] is None else f", {row['given']:.2f} given those before it")
        for row in rows
    ]
    return (
        f"Discordance of every decision, in the order in which they are taken. {'; '.join(told)}."
    )


class Square(NamedTuple):
    """Correlations of every two decisions."""

    labels: list[str]
    cells: dict[tuple[int, int], dict[str, Any]]


def square(outputs: SeveralOutputs) -> Square | None:
    """Return how every two decisions go together."""
    decisions = outputs.summary["decisions"]
    cells = {
        (decisions.index(row["first"]), decisions.index(row["second"])): row
        for row in outputs.summary["pairs"]
        if row["correlation"] is not None
    }
    return Square([outputs.words.label(name) for name in decisions], cells) if cells else None


def plot_square(data: Square, width: int) -> Plot:
    """Plot the correlation of every two decisions, blue where they go together."""
    n = len(data.labels)
    names = [f"{at} {label}" for at, label in enumerate(data.labels, 1)]
    room = 200 if width == WIDE else 120
    left = round(min(max(text_width(name) for name in names), room)) + 16
    plot = Plot(width, 44 * n + TOP + BOTTOM, x=(0, n), y=(n + 0.5, 0.5), left=left)
    for position, name in enumerate(names, 1):
        a, b = plot.place(0, position)
        lines = label_lines(name, room)[:2]
        for at, line in enumerate(lines):
            plot.write(line, (a - 8, b + 14 * (at - (len(lines) - 1) / 2)), "label", "end")
        a, _ = plot.place(position - 0.5, 1)
        plot.write(f"{position}", (a, plot.height - BOTTOM + 12), "tick")
    for (one, other), row in data.cells.items():
        value = row["correlation"]
        kind = "cell" if value >= 0 else "cell against"
        strength = min(4, round(8 * abs(value)))
        hint = f"{theirs(row['first'])} and {theirs(row['second'])}: {value:+.2f}"
        for x, y in ((one, other + 1), (other, one + 1)):
            plot.bar((x + 0.03, x + 0.97), (y + 0.46, y - 0.46), hint, f"{kind} c{strength}")
            plot.write(f"{value:+.2f}" if value else "0", plot.place(x + 0.5, y), "cell-text")
    return plot


def square_in_words(data: Square) -> str:
    """Say what the picture shows."""
    told = [
        f"{theirs(row['first'])} and {theirs(row['second'])}: {row['correlation']:+.2f}"
        for row in data.cells.values()
    ]
    return f"Correlation of every two decisions beyond what covariates explain. {'; '.join(told)}."
