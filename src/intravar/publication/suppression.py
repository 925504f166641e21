"""Counts that must not be shown: disclosure control as short pure functions.

A count of 1 to `smallest - 1` patients or events can point at a person. Zero points at nobody and
is shown; so is everything from `smallest` on.
"""

from __future__ import annotations

from intravar.request import SMALLEST_CELL


def is_small(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count must be hidden.

    Examples
    --------
    >>> [is_small(count) for count in (0, 1, 10, 11)]
    [False, True, True, False]
    """
    return 0 < count < smallest


def is_few(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count is small, or would be with one patient more or less.

    What is told of a physician changes where a count is few or is not. Whoever sees two
    publications that differ by one patient, and one of them tells more, knows that the count
    crossed that bar: it must not be a small one on either side, and so zero is few as well.

    Examples
    --------
    >>> [is_few(count) for count in (0, 1, 11, 11.9, 12)]
    [True, True, True, True, False]
    >>> is_few(0, smallest=1)
    False
    """
    return smallest > 1 and count < smallest + 1


def shown(count: int, smallest: int = SMALLEST_CELL) -> str:
    """Write a count, or the range in which it lies.

    Examples
    --------
    >>> shown(1234), shown(3), shown(0)
    ('1,234', '1 to 10', '0')
    """
    if not is_small(count, smallest):
        return f"{count:,}"
    return f"1 to {smallest - 1}" if smallest > 2 else "1"


def part_is_safe(part: int, whole: int, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a part of a known whole may be shown: neither it nor the rest is small.

    Examples
    --------
    >>> part_is_safe(95, 100), part_is_safe(50, 100)
    (False, True)
    """
    return not is_small(part, smallest) and not is_small(whole - part, smallest)


def shown_part(part: int, whole: int, smallest: int = SMALLEST_CELL) -> str:
    """Write a part of a known whole, or the range in which it lies.

    Examples
    --------
    >>> shown_part(3, 100), shown_part(98, 100), shown_part(40, 100)
    ('1 to 10', 'all but 1 to 10', '40')
    """
    if is_small(part, smallest):
        return shown(part, smallest)
    if is_small(whole - part, smallest):
        return f"all but {shown(whole - part, smallest)}"
    return f"{part:,}"


def safe_total(parts: list[int], smallest: int = SMALLEST_CELL) -> tuple[int, int]:
    """Return the sum of the parts that may be shown, and how many may not.

    A total over everything would give a hidden part away by subtraction, so it is never formed.

    Examples
    --------
    >>> safe_total([200, 4, 30])
    (230, 1)
    """
    visible = [part for part in parts if not is_small(part, smallest)]
    return sum(visible), len(parts) - len(visible)
