"""What may be told of all physicians together: over everybody, so that nobody follows from it.

Whoever has a score that may be shown counts with it, whoever has a band with its middle, and the
interval holds its ends. The others, whose panels are too small, count with one number: the mean of
all their patients, rounded from a secret point, so that nobody can tell which patient took it
across an edge. All figures of the group follow from these, and from no hidden count.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.stats import norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.noise import MOST_VARIANCE
from intravar.estimators.noise import Noise as MeasuredNoise
from intravar.inference.group import Group as MeasuredGroup
from intravar.inference.group import group_of
from intravar.inference.intervals import LEVEL
from intravar.measurement.result import Measurement
from intravar.measurement.scores import self_contradiction, with_rates
from intravar.publication import hiding
from intravar.publication.hiding import PublishedScores
from intravar.publication.policy import (
    COARSEST_NOISE,
    DOMINATED_STEP,
    FEWEST_PATIENTS,
    FINE,
    GROUP_DIGITS,
    SMALL_PANELS_COARSEST,
    SMALL_PANELS_STEP,
    TRACE,
)
from intravar.publication.results import Figure, Group, Noise
from intravar.tables import MOST_DISCORDANCE


def group_of_shown(published: PublishedScores, phase: float = 0.5) -> MeasuredGroup | None:
    """Return the group as far as it follows from what may be told of its members.

    Small panels, of which one number is known, are added to the mean and its interval. The secret
    `phase` between 0 and 1 is from where that number is rounded.
    """
    scores = published.scores
    value, low, high, error, size = _known(published)
    known = group_of(value, error, size, (low, high), counted=_counted(published))
    rest = np.flatnonzero(np.isfinite(scores.discordance) & ~np.isfinite(value))
    n = scores.n_patients[rest]
    few = 2 * (published.smallest_cell + 1)
    step = max(
        SMALL_PANELS_STEP,
        SMALL_PANELS_STEP * math.ceil(few / float(n.sum() or 1) / SMALL_PANELS_STEP),
    )
    if not n.sum() or step > SMALL_PANELS_COARSEST:
        return known
    mean_of_rest = float(n @ scores.discordance[rest]) / float(n.sum())
    rounded = hiding.coarse(mean_of_rest, step, phase) or 0.0
    common, patients = min(rounded, MOST_DISCORDANCE), float(size[rest].sum())
    # The interval also holds what rounding may have taken off.
    away = step + float(norm.ppf(0.5 + LEVEL / 2)) * MOST_DISCORDANCE / math.sqrt(patients)
    ends = np.clip([common, common - away, common + away], 0.0, MOST_DISCORDANCE)
    if known is None:
        mean, low, high = ends.tolist()
        return MeasuredGroup(mean, low, high, *(float("nan"),) * 4, 0)
    share = patients / (patients + float(size[np.isfinite(value)].sum()))
    own = np.array([known.discordance, known.low, known.high])
    mean, low, high = ((1 - share) * own + share * ends).tolist()
    return replace(known, discordance=mean, low=low, high=high)


def _known(
    published: PublishedScores,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Return per physician a score or the middle of a band, its ends, its error and the panel."""
    scores, evidence, hidden = published.scores, published.evidence, published.hidden
    size = np.where(hidden.size, FEWEST_PATIENTS, scores.n_patients)
    if evidence.caliper is not None:
        in_pairs = 2 * evidence.trials(scores.n_patients)
        known_pairs = hidden.size & ~hidden.score & ~published.pairs_are_hidden
        size = np.where(known_pairs, in_pairs, size)
    size = np.where(hidden.size & (hidden.least == 0), (published.smallest_cell + 1) // 2, size)
    fall = scores.columns.get("fall", np.zeros(len(size)))
    low, high = scores.identified or (scores.discordance - fall, scores.discordance)
    own = scores.discordance, low, high, scores.interval.standard_error
    value, low, high, error = np.where(hidden.score, published.banded(size), own)
    return value, low, high, error, size


def _counted(published: PublishedScores) -> BoolArray:
    """Return whose differences count: panels that are large enough, or may be.

    It follows from what is published, as the size of a panel does.
    """
    hidden = published.hidden
    large = published.scores.n_patients >= published.min_panel
    return np.asarray(large | hidden.size)


def all_are_shown(published: PublishedScores) -> bool:
    """Return whether the scores and panels of all physicians with a score are published.

    The group's figure then follows from the table, and needs no protection of its own.
    """
    shown = np.zeros(len(published.hidden.size), dtype=np.bool_)
    shown[published.measured] = True
    shown &= ~published.hidden.size
    scored = np.isfinite(published.scores.discordance)
    return published.scores.determined and bool(shown[scored].all())


SPREAD = ("spread", "spread_low", "spread_high")


def group_digits(smallest_cell: int) -> int:
    """Return the digits of what is told of everybody; all of them where nothing is to be hidden."""
    return GROUP_DIGITS if smallest_cell > 1 else 6


def published_group(
    measurement: Measurement, published: PublishedScores, phase: float
) -> Group | None:
    """Return the group's figures as they may be handed on; None where there are none.

    Figures over everybody are rounded from the secret `phase`; the mean and the spread are told as
    far as they follow from what is shown of each where their steps would be too coarse. Where the
    figures of all physicians are shown, the mean is that of the table: no secret moves it. Where
    one physician whose figure is not shown makes up that of all, it is rounded coarsely.
    """
    request, main = measurement.request, measurement.main
    smallest, group = request.smallest_cell, measurement.group
    if smallest > 1:
        group = group_of_shown(published, phase)
    if group is None:
        return None
    whole = group if measurement.group is None else measurement.group
    dominated = published.dominated
    digits, step = group_digits(smallest), step_over_all(measurement, dominated=dominated)
    limit, public = main.evidence.upper_limit, all_are_shown(published)
    fine = smallest > 1 and step <= FINE and not public
    basis = whole if fine or public else group
    mean = hiding.rounded_figure(
        (basis.discordance, basis.low, basis.high),
        max(step if fine or dominated else 0.0, 10.0**-digits),
        phase if fine or dominated else None,
        most=MOST_DISCORDANCE if limit else None,
    )
    if dominated:
        mean = _within(mean, MOST_DISCORDANCE)
    spread, explained, contradiction, rest = Figure(), None, None, None
    if whole.differences is not None:
        steps = spread_steps(published)
        spread = rounded_spread(whole, group, steps, phase, request.matters)
    if (shares := whole.explained) is not None:
        ends = np.clip([shares.share, shares.low, shares.high], 0.0, 1.0).tolist()
        explained = hiding.rounded_figure(ends, max(step, 0.01), phase)
        explained = _within(explained, 1.0) if dominated else explained
    if (repeats := measurement.repeats) is not None:
        contradiction, rest = self_contradiction(repeats, main.scores)
        digits = 1 if dominated else digits
    with_rate, with_half = with_rates(main.scores.take(published.measured)) or (None, None)
    return Group(
        discordance=mean,
        spread=spread,
        differences=whole.differences,
        matters=request.matters,
        # Nobody has a figure with fewer patients than are asked for.
        needed=whole.needed and hiding.two_digits(max(whole.needed, request.min_panel)),
        explained=explained,
        noise=published_noise(measurement.components, step),
        contradiction=hiding.fraction(contradiction, digits),
        share_not_inconsistency=hiding.fraction(rest, digits),
        with_rate=hiding.fraction(with_rate, 1),
        with_half=hiding.fraction(with_half, 1),
        dominated=dominated,
    )


def _within(figure: Figure, most: float) -> Figure:
    """Return a figure that is rounded coarsely without 0 or the most there can be as its value.

    Those would claim more than is known. A value there is told as half a step away from it.
    """
    if figure.value is None:
        return figure
    half = DOMINATED_STEP / 2
    return replace(figure, value=round(min(max(figure.value, half), most - half), 6))


def spread_steps(published: PublishedScores) -> tuple[float, ...]:
    """Return how coarse the spread and its ends must be: what one hidden physician moves them.

    A band, or where there is none any score, is all that is known of a physician whose score is
    hidden. Steps follow from what is told of each, so that they tell nothing themselves.
    """
    known, low, high, sureness, size = _known(published)
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=MOST_DISCORDANCE)
    counted = _counted(published)
    lost = published.hidden.score & np.isfinite(published.scores.discordance) & counted
    if not lost.any():
        return (TRACE,) * len(SPREAD)
    one = int(np.argmax(np.where(lost, size * (high - low) ** 2, -1.0)))
    widest = np.where(lost, MOST_DISCORDANCE / np.sqrt(np.maximum(size, 1)), sureness)
    spreads = []
    for share, sure in product((0.0, 0.5, 1.0), (1.0, 0.25)):
        value, error = known.copy(), widest.copy()
        value[one] = (1 - share) * low[one] + share * high[one]
        error[one] *= sure  # whoever nearly always decides alike has a small error
        group = group_of(value, error, size, counted=counted)
        spreads.append([0.0 if group is None else getattr(group, name) for name in SPREAD])
    moved = np.nan_to_num(np.ptp(np.array(spreads), axis=0), nan=MOST_DISCORDANCE)
    return tuple(hiding.step_over(each) for each in moved.tolist())


def rounded_spread(
    whole: MeasuredGroup,
    group: MeasuredGroup,
    steps: tuple[float, ...],
    phase: float,
    matters: float,
) -> Figure:
    """Round the spread and its ends; what the word over all says stays true of them.

    The spread of physicians who differ is at least what `matters`, and its lower end is above 0.
    The spread of those who differ by less than matters is below that. `group` follows from what may
    be told of each; it is told in place of `whole`, which has two physicians or more, where the
    `steps` of that would be coarse.
    """
    known = whole
    if max(steps) > FINE:
        known, steps, phase = group, (TRACE,) * len(SPREAD), 0.5
    # What is shown of each may tell nothing of differences that there are.
    if not math.isfinite(known.spread) or (whole.spread_low > 0 and not known.spread_low > 0):
        return Figure()
    spread, low, high = (
        max(hiding.coarse(getattr(known, name), step, phase) or 0.0, 0.0)
        for name, step in zip(SPREAD, steps, strict=True)
    )
    if whole.spread_low > 0:
        spread = max(spread, steps[0] / 2)
    if whole.differences == "less than matters":
        spread = min(spread, max(matters - TRACE, matters / 2))
        high = max(high, spread, TRACE)
    else:
        spread = max(spread, matters) if whole.differences == "differ" else spread
        high = max(high, spread, matters)
    low = min(max(low, TRACE), spread) if whole.spread_low > 0 else 0.0
    # Rounding must not move the estimate to an end of its interval.
    apart = steps[0] / 2
    if known.spread_high > known.spread:
        high = max(high, spread + apart)
    if known.spread_low < known.spread:
        low = min(low, max(spread - apart, spread / 2 if low else 0.0))
    return Figure(*(round(each, 6) for each in (spread, low, high)))


def step_over_all(measurement: Measurement, *, dominated: bool = False) -> float:
    """Return the step to which figures over all patients are rounded.

    It is coarse where they are `dominated` by one physician whose figure is not published.
    """
    n = int(measurement.main.scores.n_patients.sum())
    step = hiding.coarse_step(n, measurement.request.smallest_cell)
    return max(step, DOMINATED_STEP) if dominated else step


def published_noise(noise: MeasuredNoise | None, step: float) -> Noise | None:
    """Return the components of noise, rounded once.

    As shares of pairs they are twice as large. They are left out where the step is coarse.
    """
    if noise is None or step > COARSEST_NOISE:
        return None
    half = (max(step, 0.01) if step > 1e-6 else step) / 2
    rows = noise.table.select("component", "value", "low", "high").iter_rows()
    figures = {name: _possible(hiding.rounded_figure(ends, half)) for name, *ends in rows}
    pattern, occasion = figures["pattern"].value, figures["occasion"].value
    if pattern is not None and occasion is not None:
        both = figures["pattern_and_occasion"]
        figures["pattern_and_occasion"] = _at(round(pattern + occasion, 6), both)
    parts = (figures["level"].value, figures["pattern_and_occasion"].value)
    figures["system"] = _at(round(sum(part or 0.0 for part in parts), 6), figures["system"])
    return Noise(
        **figures,
        reason=None if noise.reason is None else str(noise.reason),
        patients_needed=noise.patients_needed,
    )


def _possible(figure: Figure) -> Figure:
    """Return a component whose rounded ends are not beyond the largest variance."""
    return replace(figure, high=min(figure.high or 0.0, MOST_VARIANCE))


def _at(value: float, figure: Figure) -> Figure:
    """Return a figure with another value, which its interval then holds."""
    return Figure(value, min(figure.low or 0.0, value), max(figure.high or 0.0, value))
