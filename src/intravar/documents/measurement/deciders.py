"""Single deciders: their table, a dot for each, each with its interval, and the funnel."""

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from intravar.documents import charts
from intravar.documents.blocks import TOLD, Block, Figure, Paragraph, charted, told
from intravar.documents.charts import MOST_SINGLE, Dot, Plot
from intravar.inference.group import INNER, OUTER, FunnelLimits, funnel_limits
from intravar.measurement import columns
from intravar.measurement.sentences import about
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.policy import FEWEST_PATIENTS
from intravar.publication.results import Decision, PhysicianRow
from intravar.tables import Table, axis_of_pairs, hundred, is_upper_limit
from intravar.wording import Words, agree, capital

#: Steps of the band that holds nine of ten among very many.
BAND_STEPS = 60
#: Marks of their own among very many: those beyond the limits, the farthest first.
MOST_MARKS = 50
#: Deciders named at each end of the order, and on the first screen.
NAMED_ENDS, MOST_NAMED = 5, 6
#: With fewer deciders, or with panels of nearly one size, a funnel says no more than a sentence.
FUNNEL_FROM, FUNNEL_SIZES = 10, 1.3


def axis_of(claim: str) -> str:
    """Return what an axis of figures of this claim shows; of limits their estimates."""
    return f"decided differently, {axis_of_pairs(claim)}"


def left_out(decision: Decision, n_shown: int, which: str = "without a figure") -> str:
    """Say how many are not in a chart, and which."""
    missing = len(decision.physicians) - n_shown
    return f" {missing:,} {which} {agree(missing, 'is', 'are')} not in it." * (missing > 0)


def decider_table(decision: Decision, words: Words) -> Table:
    """Return the table of all deciders, with a band where a number is hidden."""
    ranked, readable = decision.n_ranked > 0, decision.verdict != NOTHING
    table = columns.decider_table(
        decision.table, words, ranked=ranked, readable=readable, claim=decision.claim
    )
    if readable:
        return table
    # Of the few columns that are left none is minor.
    return replace(table, columns=[each._replace(kind="") for each in table.columns])


class Known(NamedTuple):
    """A decider with a figure: the place in the table, the row, the level and its ends.

    The level is the figure, or the middle of the range of levels that fit equally well. Of an upper
    limit it is the estimate, with which the interval begins: it has no low end. Ends are NaN
    without an interval.
    """

    p: int
    row: PhysicianRow
    level: float
    low: float
    high: float
    claim: str

    @property
    def hint(self) -> str:
        """The figure in a few words."""
        low, high = (None if math.isnan(end) else end for end in (self.low, self.high))
        if self.row.discordance is None:
            figure = f"between {hundred(low)} and {hundred(high)} of 100"
        else:
            figure = about(self.level, low, high, self.claim, then=" of 100")
        return f"{self.row.physician}: {figure}"


def everyone(decision: Decision) -> tuple[list[Known], bool]:
    """Return those with a figure or a range, and whether they are in the order of ranks."""
    known = []
    for p, row in enumerate(decision.physicians):
        level, low = row.discordance, row.low
        if is_upper_limit(decision.claim):
            low = level
        elif level is None and row.identified_low is not None and row.identified_high is not None:
            level = (row.identified_low + row.identified_high) / 2
        if level is not None:
            low, high = (math.nan if end is None else end for end in (low, row.high))
            known.append(Known(p, row, level, low, high, decision.claim))
    known.sort(key=lambda each: each.row.physician)
    ranked = decision.verdict not in UNRANKED and any(each.row.rank is not None for each in known)
    if ranked:
        known.sort(key=lambda each: (each.row.rank or math.inf, each.level))
    return known, ranked


def named_ones(decision: Decision) -> list[Known]:
    """Return those who stand out, the farthest first; else both ends of the order, if any."""
    rows, ordered = everyone(decision)
    funnel = funnel_of(decision)
    if ordered and funnel is not None and funnel.outside:
        return funnel.outside[:MOST_NAMED]
    ranked = [each for each in rows if ordered and each.row.rank is not None]
    return [*ranked[:1], *ranked[1:][-1:]]


def dots(decision: Decision, words: Words) -> Figure | None:
    """Return a dot for every decider, those who stand out with their names."""
    rows, ordered = everyone(decision)
    n, claim = len(rows), decision.claim
    if n < 2 or (decision.ranged and n <= MOST_SINGLE):  # the middle of a range is no figure
        return None
    levels = np.array([each.level for each in rows])
    shown = (hundred(each) for each in np.quantile(levels, np.linspace(0, 1, 5)))
    five = dict(zip(("least", "first", "median", "third", "largest"), shown, strict=True))
    limits = " (estimates of upper limits)" if is_upper_limit(claim) else ""
    text = told("quartiles", words, n=words.counted(n), limits=limits, **five)
    if n > MOST_SINGLE:
        return _counts(rows, text, words, left_out(decision, n))
    funnel, named = funnel_of(decision), named_ones(decision)
    outside = funnel.outside if funnel and ordered else []
    end = max(10.0, 108 * float(levels.max()))
    marks = []
    for each in rows:
        kind, label = "point out" if each in outside else "point", each.row.physician
        marks.append(Dot(100 * each.level, each.hint, kind, each.p, label if each in named else ""))
    step = max(end / 60, 0.5)
    plot = partial(charts.dot_plot, marks, axis=axis_of(claim), end=end, step=step)
    key = None if outside or is_upper_limit(claim) else ()
    hidden = () if outside else ("point out",)
    what = TOLD["claims"][claim]["what"]
    return charted("dots", words, plot, key=key, hidden=hidden, text=text, what=what)


def intervals(decision: Decision, words: Words) -> Figure | None:
    """Return estimate, interval and shrunken value of every decider, or the range of levels."""
    rows, ranked = everyone(decision)
    if not 0 < len(rows) <= MOST_SINGLE:  # the first screen counts many
        return None
    figures = [each for each in rows if each.row.discordance is not None]
    shown = {
        "point": figures,
        "range": len(figures) < len(rows),
        "point unranked": ranked and any(each.row.rank is None for each in rows),
        "hollow": figures,
    }
    order, why = "the most consistent by rank first", ""
    if not ranked:
        order, why = "in the order of names", " The data do not support a ranking."
    return charted(
        "physicians-picture",
        words,
        partial(_each, rows, words, ranked=ranked),
        hidden=[look for look, there in shown.items() if not there],
        n=words.counted(len(rows)),
        order=order,
        reading=f"{capital(order)}.{why}{left_out(decision, len(rows))}",
        **TOLD["claims"][decision.claim],
    )


def _each(rows: list[Known], words: Words, width: int, *, ranked: bool) -> Plot:
    top = min(100.0, 105 * float(np.nanmax([(each.level, each.high) for each in rows])))
    plot = Plot(width, x=(0, len(rows) + 1), y=(0, top))
    order = "most consistent by rank first" if ranked else "by name"
    places = {round(at) for at in charts.round_ticks(1, len(rows))}
    ticks = [(at, str(at)) for at in sorted(places)]
    label = "of 100 pairs"  # of limits, bars reach from the estimate to the upper end
    plot.axes(f"{words.deciders}, {order}", label, x_ticks=ticks)
    radius = max(1.5, min(4.0, 0.35 * width / len(rows)))
    for position, each in enumerate(rows, 1):
        row = each.row
        if math.isfinite(each.high - each.low):
            ends = [(position, 100 * end) for end in (each.low, each.high)]
            plot.line(ends, "interval")
        if row.discordance is None:
            levels = row.identified_low or 0.0, row.identified_high or 0.0
            plot.line([(position, 100 * level) for level in levels], "range")
            continue
        kind = "point unranked" if ranked and row.rank is None else "point"
        for look, value in (("hollow", row.shrunken), (kind, each.level)):
            if value is not None:
                plot.point((position, 100 * value), each.hint, look, who=each.p, radius=radius)
    return plot


def _counts(rows: list[Known], text: str, words: Words, missing: str) -> Figure:
    """Return how many have which score, and how long an interval typically is."""
    claim, ranges = rows[0].claim, any(each.row.discordance is None for each in rows)
    levels, lows, highs = np.array([(each.level, each.low, each.high) for each in rows]).T
    middle = float(np.median(levels))
    low = max(middle - float(np.nanmedian(levels - lows)), 0.0)
    high = min(middle + float(np.nanmedian(highs - levels)), 1.0)
    axis = f"{axis_of(claim)}{', middle of the range' * ranges}"
    names = axis, f"{words.deciders} per 1 of 100"

    def plot(width: int) -> Plot:
        drawn = charts.histogram(levels, width, names, words.counted, reach=100 * high, unit=100)
        height = 0.95 * drawn.y[1]
        drawn.line([(100 * low, height), (100 * high, height)], "interval")
        typical = (
            f"median, with a typical interval: {hundred(middle)} [{hundred(low)}, {hundred(high)}]"
        )
        drawn.point((100 * middle, height), typical)
        drawn.finder("discordance", 0.05 * drawn.y[1])
        return drawn

    return replace(charted("counts", words, plot, text=text, missing=missing), name="dots")


def order_ends(decision: Decision, words: Words) -> Paragraph | None:
    """Name the ends of the order, where not everybody has a mark."""
    rows, in_order = everyone(decision)
    if len(rows) <= MOST_SINGLE or not in_order:
        return None
    ranked = [each.hint for each in rows if each.row.rank is not None]
    most, least = (", ".join(part) for part in (ranked[:NAMED_ENDS], ranked[-NAMED_ENDS:]))
    return Paragraph(told("order_ends", words, most=most, least=least))


class Funnel(NamedTuple):
    """Deciders with how many pairs or cases each has, and the limits they are held against.

    `outside` are those beyond the outer limits, the farthest first.
    """

    sizes: dict[Known, int]
    of_pairs: bool
    limits: FunnelLimits
    outside: list[Known]

    def usual(self) -> list[tuple[float, float, float]]:
        """Return between which figures nine of ten lie, from the smallest panels to the largest."""
        pairs = np.array(sorted((float(n), 100 * each.level) for each, n in self.sizes.items()))
        parts = (part.T for part in np.array_split(pairs, BAND_STEPS))
        return [(sizes.mean(), *np.quantile(levels, (0.05, 0.95))) for sizes, levels in parts]


def funnel_of(decision: Decision) -> Funnel | None:
    """Return what the funnel shows: pairs where all have them, patients elsewhere."""
    listed = [
        each
        for each in everyone(decision)[0]
        if each.row.discordance is not None and math.isfinite(each.high - each.low)
    ]
    of_pairs = all(each.row.n_pairs is not None for each in listed)
    counts = {each: each.row.n_pairs if of_pairs else each.row.n_patients for each in listed}
    sizes = {each: n for each, n in counts.items() if n}
    if not sizes:
        return None
    score, size = np.array([(each.level, n) for each, n in sizes.items()]).T
    if of_pairs:
        limits = funnel_limits(score, size, None)
    else:
        # What lies below an upper limit is no matter of chance: its interval has one side.
        width = INNER if is_upper_limit(decision.claim) else 2 * INNER
        every = [(each.level, n, (each.high - each.low) / width) for each, n in sizes.items()]
        for row in decision.physicians:  # limits are those of everybody
            if (band := row.band) is not None:
                n_patients = row.n_patients or FEWEST_PATIENTS
                every.append((band.middle, n_patients, band.error(n_patients)))
        limits = funnel_limits(*np.array(every).T)
    distance = dict(zip(sizes, np.abs(limits.distance(score, size)).tolist(), strict=True))
    outside = [each for each, far in distance.items() if far > OUTER]
    outside.sort(key=lambda each: -distance[each])
    return Funnel(sizes, of_pairs, limits, outside)


def funnel(decision: Decision, words: Words) -> Block | None:
    """Return the funnel; a sentence where deciders are few or have panels of about one size."""
    data = funnel_of(decision)
    if data is None:
        return None
    n, sizes, binned = len(data.outside), data.sizes.values(), len(data.sizes) > MOST_SINGLE
    who = "none does" if n == 0 else f"{words.counted(n)} {agree(n, 'does', 'do')}"
    text = told("beyond_chance", words, who=who)
    if len(sizes) < FUNNEL_FROM or max(sizes) < FUNNEL_SIZES * min(sizes):
        return Paragraph(text)
    if binned and n > MOST_MARKS:
        text += f" The {MOST_MARKS} farthest have a mark each."
    hidden = [look for look, there in (("point out", n), ("band", binned)) if not there]
    return charted("funnel", words, partial(_plot_funnel, data, words), hidden=hidden, text=text)


def _plot_funnel(data: Funnel, words: Words, width: int) -> Plot:
    """Plot discordance against pairs or patients, with what chance and usual spread allow."""
    unit, sizes = "pairs" if data.of_pairs else words.cases, data.sizes
    smallest, largest = min(sizes.values()), 1.05 * max(sizes.values())
    first = 0.0 if smallest < 0.4 * largest else 0.8 * smallest
    along = np.linspace(max(first, 4.0, 0.6 * smallest), largest, 60)
    middle, half = 100 * data.limits.middle, 100 * data.limits.width(along)
    highest = max(*(100 * each.level for each in sizes), middle + OUTER * float(half[-1]))
    plot = Plot(width, x=(first, largest), y=(0, min(100.0, highest * 1.15)))
    plot.axes(f"{unit} of {words.a_decider}", axis_of_pairs(next(iter(sizes)).claim))
    marked, radius = list(sizes), 4 if len(sizes) <= 150 else 2 if width == charts.NARROW else 2.5
    if len(sizes) > MOST_SINGLE:  # of very many the farthest alone have marks
        plot.band(data.usual())
        marked = data.outside[:MOST_MARKS]
    for kind, z in (("limit", -INNER), ("limit", INNER), ("outer", -OUTER), ("outer", OUTER)):
        edge = middle + z * half
        inside = (edge >= 0) & (edge <= plot.y[1])
        plot.line(list(zip(along[inside], edge[inside], strict=True)), kind)
    plot.line([(first, middle), (largest, middle)])
    for each in marked:
        kind = "point out" if each in data.outside else "point"
        hint = f"{each.hint}, {sizes[each]:,} {unit}"
        plot.point((sizes[each], 100 * each.level), hint, kind, who=each.p, radius=radius)
    if len(marked) < len(sizes):
        plot.finder("n_pairs" if data.of_pairs else "n_patients", "discordance")
    return plot
