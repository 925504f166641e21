"""Single deciders: their table, a dot for each, each with its interval, and the funnel."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.blocks import Block, Figure, Key, Paragraph, charted
from intravar.documents.charts.plot import NARROW, Dot, Plot
from intravar.documents.charts.rows import MOST_SINGLE, dot_plot, histogram
from intravar.inference.group import INNER, OUTER, FunnelLimits, funnel_limits
from intravar.measurement import columns
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import Decision, PhysicianRow
from intravar.publication.scores import FEWEST_PATIENTS
from intravar.tables import Table, hundred, of_pairs
from intravar.wording import Words, agree, capital

#: Marks up to which each says its numbers by itself; beyond, the script reads them off the table.
MOST_HINTS = 300
#: Deciders up to which each has an interval of its own; beyond, a band shows all of them.
MOST_INTERVALS = 150
BAND_STEPS = 60
#: Marks of their own among very many: those beyond the limits, the farthest first.
MOST_MARKS = 50
#: Deciders named at each end of the order, and on the first screen.
NAMED_ENDS, MOST_NAMED = 5, 6
#: With fewer deciders, or with panels of nearly one size, a funnel says no more than a sentence.
FUNNEL_FROM, FUNNEL_SIZES = 10, 1.3


def axis_of(claim: str) -> str:
    """Return what an axis of figures of this claim shows."""
    return f"decided differently, {of_pairs(claim)}"


def without_figure(missing: int) -> str:
    """Say how many are not in a chart."""
    return f" {missing:,} without a figure {agree(missing, 'is', 'are')} not in it." * (missing > 0)


def decider_table(decision: Decision, words: Words) -> Table:
    """Return the table of all deciders, with a band where a number is hidden."""
    made = columns.decider_table(
        decision.table,
        words,
        ranked=decision.n_ranked > 0,
        readable=decision.verdict != NOTHING,
        claim=decision.claim,
    )
    if decision.verdict != NOTHING:
        return made
    # Of the few columns that are left none is minor.
    return replace(made, columns=[each._replace(kind="") for each in made.columns])


class Known(NamedTuple):
    """A decider with an interval: the place in the table, the row, and the ends as numbers.

    An upper limit has no low end: its interval begins with the figure.
    """

    p: int
    row: PhysicianRow
    low: float
    high: float
    claim: str

    @property
    def level(self) -> float:
        """The figure, or the middle of the range of levels that fit equally well."""
        if self.row.discordance is not None:
            return self.row.discordance
        return sum(self.range or (self.low, self.high)) / 2

    @property
    def range(self) -> tuple[float, float] | None:
        """The levels that fit equally well, where they stand in the place of a number."""
        ends = self.row.identified_low, self.row.identified_high
        if self.row.discordance is not None or ends[0] is None or ends[1] is None:
            return None
        return ends[0], ends[1]

    @property
    def hint(self) -> str:
        """The figure in a few words."""
        low, high = hundred(self.low), hundred(self.high, self.claim)
        if self.row.discordance is None:
            return f"{self.row.physician}: between {low} and {high} of 100"
        level = f"{hundred(self.level, self.claim)} of 100"
        if self.claim == "at most":
            return f"{self.row.physician}: at most {level} (95 % sure: at most {high})"
        return f"{self.row.physician}: {level} [{low}, {high}]"


def with_intervals(decision: Decision) -> list[Known]:
    """Return those of whom something is known."""
    limits = decision.claim == "at most"
    return [
        Known(p, row, low, row.high, decision.claim)
        for p, row in enumerate(decision.physicians)
        if (low := row.discordance if limits else row.low) is not None and row.high is not None
    ]


def by_rank(known: Known) -> tuple[float, float, str]:
    """Return what deciders are sorted by: the rank, and behind all ranks the figure."""
    row = known.row
    return math.inf if row.rank is None else row.rank, known.level, row.physician


def everyone(decision: Decision) -> tuple[list[Known], bool]:
    """Return those with a figure or a range, and whether they are in the order of ranks."""
    rows = [] if decision.verdict == NOTHING else with_intervals(decision)
    ranked = decision.verdict not in UNRANKED and any(each.row.rank is not None for each in rows)
    rows.sort(key=by_rank if ranked else lambda known: known.row.physician)
    return rows, ranked


def _of_hundred(rows: list[Known]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return levels and the ends of their intervals, of 100."""
    levels, low, high = 100 * np.array([(each.level, each.low, each.high) for each in rows]).T
    return levels, low, high


def _ranges(rows: list[Known]) -> bool:
    """Tell whether ranges of levels stand in the place of numbers."""
    return any(each.row.discordance is None for each in rows)


def dots(decision: Decision, words: Words) -> Figure | None:
    """Return a dot for every decider, those who stand out with their names."""
    rows, ordered = everyone(decision)
    n = len(rows)
    if n < 2 or (decision.ranged and n <= MOST_SINGLE):  # the middle of a range is no figure
        return None
    levels, _, _ = _of_hundred(rows)
    least, first, median, third, largest = (
        hundred(each, decision.claim) for each in np.quantile(levels / 100, np.linspace(0, 1, 5))
    )
    told = (
        f"{words.counted(n)} with a figure{' (upper limits)' * (decision.claim == 'at most')}: "
        f"the median is {median} of 100 pairs, half of them lie between {first} and {third}, all "
        f"between {least} and {largest}."
    )
    if n > MOST_SINGLE:
        return _counts(rows, told, words, len(decision.physicians) - n)
    funnel = funnel_of(decision)
    outside = [each.p for each in funnel.outside] if funnel and ordered else []
    named = outside[:MOST_NAMED]
    if ordered and not outside:
        ranked = [each.p for each in rows if each.row.rank is not None]
        named = [*ranked[:1], *ranked[-1:]]
    out, end = set(outside), max(10.0, float(levels.max()) * 1.08)
    marks = [
        Dot(
            float(level),
            each.hint if n <= MOST_HINTS else "",
            "point out" if each.p in out else "point",
            each.p,
            each.row.physician if each.p in named else "",
        )
        for each, level in zip(rows, levels.tolist(), strict=True)
    ]

    def plot(width: int) -> Plot:
        axis = axis_of(decision.claim)
        return dot_plot(marks, width, axis, ends=(0, end), step=max(end / 60, 0.5))

    key = (("point", words.decider), ("point out", "stands out")) if out else ()
    return charted("dots", f"Every {words.decider} as a dot", told, plot, reading="", key=key)


def intervals(decision: Decision, words: Words) -> Figure | None:
    """Return estimate, interval and shrunken value of every decider, or the range of levels."""
    rows, ranked = everyone(decision)
    if not 0 < len(rows) <= MOST_SINGLE:  # the first screen counts many
        return None
    few, ranges = len(rows) <= MOST_INTERVALS, _ranges(rows)
    limits = decision.claim == "at most"
    interval = "95 % sure: at most" if limits else "95 % interval"
    unranked = ranked and any(each.row.rank is None for each in rows)
    entries = (
        (not ranges, "point", "at most" if limits else "estimate"),
        (ranges, "range", "levels that fit equally well"),
        (unranked, "point unranked", "the same, cannot be ranked"),
        (few and not ranges, "hollow", "pulled towards the average"),
        (few, "interval", interval),
        (not few, "band", f"{interval}, of neighbours together"),
    )
    order = "the most consistent by rank first" if ranked else "in the order of names"
    why = "" if ranked else " The data do not support a ranking."
    told = (
        f"{words.counted(len(rows))} with a figure, {order}, each with the "
        f"{'upper limit' if limits else 'estimate'}, its 95 % interval and the value pulled "
        "towards the average. The table holds the numbers."
    )
    return charted(
        "physicians-picture",
        f"Every {words.decider} with a figure, and the 95 % interval",
        told,
        lambda width: _each(rows, width, words, ranked=ranked),
        reading=f"{capital(order)}.{why}{without_figure(len(decision.physicians) - len(rows))}",
        key=[(look, what) for there, look, what in entries if there],
    )


def _each(rows: list[Known], width: int, words: Words, *, ranked: bool) -> Plot:
    _, low, high = _of_hundred(rows)
    plot = Plot(width, x=(0, len(rows) + 1), y=(0, min(100.0, float(high.max()) * 1.05)))
    order = "most consistent by rank first" if ranked else "by name"
    plot.axes(f"{words.deciders}, {order}", of_pairs(rows[0].claim), count=len(rows))
    few = len(rows) <= MOST_INTERVALS
    if not few:  # the mean interval of neighbours
        parts = np.array_split(np.arange(len(rows)), BAND_STEPS)
        plot.band([(p.mean() + 1, low[p].mean(), high[p].mean()) for p in parts])
    radius = max(1.5, min(4.0, 0.35 * width / max(len(rows), 1)))
    for position, each in enumerate(rows, 1):
        if few:
            plot.interval(position, 100 * each.low, 100 * each.high)
        if each.range is not None:
            plot.interval(position, *(100 * end for end in each.range), kind="range")
            continue
        told = each.hint if len(rows) <= MOST_HINTS else ""
        kind = "point unranked" if ranked and each.row.rank is None else "point"
        marks = [("hollow", each.row.shrunken if few else None), (kind, each.level)]
        for look, value in marks:
            if value is not None:
                plot.point((position, 100 * value), told, look, who=each.p, radius=radius)
    return plot


def _counts(rows: list[Known], told: str, words: Words, missing: int) -> Figure:
    """Return how many have which score, and how long an interval typically is."""
    claim = rows[0].claim
    axis = f"{axis_of(claim)}{', middle of the range' if _ranges(rows) else ''}"
    levels, lows, highs = _of_hundred(rows)
    middle = float(np.median(levels))
    low = max(middle - float(np.median(levels - lows)), 0.0)
    high = min(middle + float(np.median(highs - levels)), 100.0)
    typical = f"typical 95 % interval from {low:.0f} to {high:.0f}"
    if claim == "at most":
        typical = f"typically 95 % sure: at most {hundred(high / 100, claim)}"

    def plot(width: int) -> Plot:
        names = axis, f"{words.deciders} per 1 of 100"
        drawn = histogram(levels / 100, width, names, words.counted, reach=high, unit=100)
        height = 0.95 * drawn.y[1]
        drawn.interval(height, low, high, upright=False)
        drawn.point((middle, height), f"median {hundred(middle / 100, claim)}, {typical}")
        drawn.finder("discordance", 0.05 * drawn.y[1])
        return drawn

    reading = f"{words.Deciders} closer together than the line are hard to tell apart."
    key = (("fill", words.deciders), ("interval", "typical 95 % interval, around the median"))
    title = f"How many {words.deciders} have which figure"
    return charted("dots", title, told, plot, reading=reading + without_figure(missing), key=key)


def order_ends(decision: Decision, words: Words) -> Paragraph | None:
    """Name the ends of the order, where not everybody has a mark."""
    rows, in_order = everyone(decision)
    if len(rows) <= MOST_SINGLE or not in_order:
        return None
    ranked = [each.hint for each in rows if each.row.rank is not None]
    most, least = (", ".join(part) for part in (ranked[:NAMED_ENDS], ranked[-NAMED_ENDS:]))
    return Paragraph(
        f"The most consistent {words.deciders} by rank: {most}. The least consistent by rank: "
        f"{least}. Where intervals overlap, which comes first is a guess."
    )


class Funnel(NamedTuple):
    """Deciders by how much is known of them, and what they are held against."""

    rows: list[Known]
    sizes: list[int]
    of_pairs: bool
    limits: FunnelLimits
    distance: FloatArray

    @property
    def outside(self) -> list[Known]:
        """Those beyond the outer limits, the farthest first."""
        order = np.argsort(-np.abs(self.distance), kind="stable")
        return [self.rows[at] for at in order if abs(self.distance[at]) > OUTER]

    @property
    def binned(self) -> bool:
        """Whether there are too many for a mark each."""
        return len(self.rows) > MOST_SINGLE

    @property
    def alone(self) -> list[Known]:
        """Those who have a mark of their own: of very many the farthest."""
        return self.outside[:MOST_MARKS] if self.binned else self.rows

    def usual(self) -> list[tuple[float, float, float]]:
        """Return between which figures nine of ten lie, from the smallest panels to the largest."""
        levels = (100 * each.level for each in self.rows)
        pairs = sorted(zip(self.sizes, levels, strict=True))
        parts = np.array_split(np.array(pairs, dtype=float), BAND_STEPS)
        return [
            (float(part[:, 0].mean()), *np.quantile(part[:, 1], (0.05, 0.95)).tolist())
            for part in parts
        ]


def funnel_of(decision: Decision) -> Funnel | None:
    """Return what the funnel shows: pairs where all have them, patients elsewhere."""
    if decision.verdict == NOTHING:
        return None
    listed = [each for each in with_intervals(decision) if each.row.discordance is not None]
    of_pairs = all(each.row.n_pairs is not None for each in listed)
    counts = [each.row.n_pairs if of_pairs else each.row.n_patients for each in listed]
    sized = [(each, n) for each, n in zip(listed, counts, strict=True) if n]
    if not sized:
        return None
    rows, sizes = [each for each, _ in sized], [n for _, n in sized]
    score, size = np.array([each.level for each in rows]), np.array(sizes, dtype=float)
    if of_pairs:
        limits = funnel_limits(score, size, None)
    else:
        # What lies below an upper limit is no matter of chance: its interval has one side.
        width = INNER if decision.claim == "at most" else 2 * INNER
        every = [(each.level, float(n), (each.high - each.low) / width) for each, n in sized]
        for row in decision.physicians:
            if (band := row.band) is not None:
                n_patients = float(row.n_patients or FEWEST_PATIENTS)
                # Limits are those of everybody.
                every.append((band.middle, n_patients, band.error(n_patients)))
        limits = funnel_limits(*np.array(every).T)
    return Funnel(rows, sizes, of_pairs, limits, limits.distance(score, size))


def funnel(decision: Decision, words: Words) -> Block | None:
    """Return the funnel; a sentence where deciders are few or have panels of about one size."""
    data = funnel_of(decision)
    if data is None:
        return None
    n = len(data.outside)
    who = "none does" if n == 0 else f"{words.counted(n)} {agree(n, 'does', 'do')}"
    told = (
        f"Does any {words.decider} differ by more than chance and the usual spread allow? By "
        f"limits that 2 of 1,000 would cross by chance, {who}."
    )
    if len(data.sizes) < FUNNEL_FROM or max(data.sizes) < FUNNEL_SIZES * min(data.sizes):
        return Paragraph(told)
    if data.binned and n > MOST_MARKS:
        told += f" The {MOST_MARKS} farthest have a mark each."
    key: Key = (
        ("line", f"average of single {words.deciders}"),
        ("limit", "95 % limits"),
        ("outer", "99.8 % limits"),
        *([("point out", "beyond them")] if n else []),
        *([("band", f"nine of ten {words.deciders}")] if data.binned else ()),
    )
    title = f"Which {words.deciders} differ by more than chance?"
    return charted("funnel", title, told, lambda width: _plot_funnel(data, width, words), key=key)


def _plot_funnel(data: Funnel, width: int, words: Words) -> Plot:
    """Plot discordance against pairs or patients, with what chance and usual spread allow."""
    unit = "pairs" if data.of_pairs else words.cases
    smallest, largest = min(data.sizes), 1.05 * max(data.sizes)
    first = 0.0 if smallest < 0.4 * largest else 0.8 * smallest
    along = np.linspace(max(first, 4.0, 0.6 * smallest), largest, 60)
    half = 100 * data.limits.width(along)
    middle = 100 * data.limits.middle
    highest = max(*(100 * each.level for each in data.rows), middle + OUTER * half[-1])
    plot = Plot(width, x=(first, largest), y=(0, min(100.0, float(highest) * 1.15)))
    plot.axes(f"{unit} of {words.a_decider}", of_pairs(data.rows[0].claim))
    if data.binned:
        plot.band(data.usual())
    for kind, z in (("limit", INNER), ("outer", OUTER)):
        for sign in (-1, 1):
            edge = middle + sign * z * half
            inside = (edge >= 0) & (edge <= plot.y[1])
            plot.line(list(zip(along[inside], edge[inside], strict=True)), kind)
    plot.line([(first, middle), (largest, middle)], "line")
    radius = 4 if len(data.rows) <= MOST_INTERVALS else 2 if width == NARROW else 2.5
    hinted = data.binned or len(data.rows) <= MOST_HINTS
    out = {each.p for each in data.outside}
    size = {each.p: n for each, n in zip(data.rows, data.sizes, strict=True)}
    for each in data.alone:
        shown = f"{each.hint}, {size[each.p]:,} {unit}" if hinted else ""
        kind = "point out" if each.p in out else "point"
        plot.point((size[each.p], 100 * each.level), shown, kind, who=each.p, radius=radius)
    if data.binned:
        plot.finder("n_pairs" if data.of_pairs else "n_patients", "discordance")
    return plot
