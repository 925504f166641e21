"""The sentences of a result, in one place: every page, sheet and terminal says the same.

Figures are shares between 0 and 1, said as "of 100".
"""

from intravar.estimators.assumptions import LITTLE_EXPLAINED
from intravar.measurement.verdict import SAID
from intravar.tables import hundred, is_upper_limit
from intravar.wording import Sentence

#: What may be read under each verdict.
MAY_BE_READ = {level: Sentence(each) for level, each in SAID["may_be_read"].items()}
#: How often two deciders differ, and by part of the noise why they do.
SEEN_BY_TWO = "{cases} seen by two {deciders}"
WHY_DIFFERENT: dict[str, str] = SAID["why_different"]
#: The name of the value where a figure is an upper limit.
ESTIMATE_OF_LIMIT = "estimate of the limit"
#: Rank correlation from which on scores and rates of "yes" are said to go together.
TOGETHER = 0.8


def about(
    value: float,
    low: float | None,
    high: float | None,
    claim: str = "about",
    *,
    then: str = "",
) -> str:
    """Return a figure in words, with its uncertainty where the method has intervals.

    Of an upper limit, "at most" gives the upper end of the 95 % interval, rounded up; the value
    itself is called the estimate of the limit. `then` follows the number.

    Examples
    --------
    >>> about(0.21, None, None), about(0.21, 0.19, 0.24)
    ('about 21', 'about 21 [19, 24]')
    >>> about(0.21, 0.1, 0.234, "at most"), about(0.21, None, None, "at most", then=" of 100")
    ('at most 24 (estimate of the limit: 21)', 'about 21 of 100 (estimate of the limit)')
    """
    if is_upper_limit(claim):
        if high is None:
            return f"about {hundred(value)}{then} ({ESTIMATE_OF_LIMIT})"
        return f"at most {hundred(high, claim)}{then} ({ESTIMATE_OF_LIMIT}: {hundred(value)})"
    if low is None or high is None:
        return f"about {hundred(value)}{then}"
    return f"about {hundred(value)} [{hundred(low)}, {hundred(high)}]{then}"


def explained_sentence(share: float) -> str:
    """Say how much the record explains, and what it means where that is little.

    Examples
    --------
    >>> explained_sentence(0.43)
    'What could be learned from the record with these patients explains 43 % of how decisions vary.'
    """
    begin = (
        "What could be learned from the record with these {cases} explains "
        f"{hundred(max(share, 0.0))} % of how decisions vary"
    )
    enough = share >= LITTLE_EXPLAINED
    if enough:
        return Sentence(f"{begin}.")
    return Sentence(SAID["little_explained"].replace("{begin}", begin))


def differences_sentence(
    differences: str,
    spread: float | None,
    low: float,
    high: float,
    *,
    needed: int | None = None,
    matters: float = 0.02,
    claim: str = "about",
) -> str:
    """Say whether physicians differ, and by how much.

    `differences` is one of :data:`intravar.inference.group.Differences`; `spread` is the standard
    deviation of figures without chance (of limits, by the `claim` "at most") if that is told,
    `needed` the patients of each physician that it would take where it is not known, `matters` the
    spread below which differences do not.

    Examples
    --------
    >>> differences_sentence("differ", 0.05, 0.03, 0.08)
    'Physicians differ: chance aside, their figures typically lie 5 of 100 from the average (95 % \
interval 3 to 8).'
    >>> differences_sentence("not known", 0.01, 0.0, 0.05, needed=400)
    'Physicians may differ, but there are not enough patients to tell: it would take about 400 \
patients of each physician.'
    """
    value, least, largest = (f"{100 * each:.2g}" for each in (spread or 0.0, low, high))
    size = (
        f": chance aside, their {'limits' if claim == 'at most' else 'figures'} typically lie "
        f"{value} of 100 from the average (95 % interval {least} to {largest})"
    ) * (spread is not None)
    if differences == "not known" and needed is not None:
        differences = "needed"
    none = "" if low > 0 else ", if at all"
    told = {"size": size, "none": none, "matters": 100 * matters, "needed": needed}
    return Sentence(SAID["differences"][differences], **told)


def rates_in_words(with_rate: float | None, with_half: float | None) -> str | None:
    """Say that scores and rates go together, where they do.

    Examples
    --------
    >>> rates_in_words(-0.9, 0.2)
    'Score and rate of "yes" go together (rank correlation -0.9): physicians that say yes more \
often have the lower score. The score may reflect the rate as much as consistency.'
    >>> rates_in_words(0.3, 0.2) is None
    True
    """
    if with_rate is None or with_half is None or max(abs(with_rate), with_half) < TOGETHER:
        return None
    if with_half > abs(with_rate):
        return Sentence(SAID["with_rates"]["half"], value=with_half)
    than = "higher" if with_rate > 0 else "lower"
    return Sentence(SAID["with_rates"]["rate"], value=with_rate, than=than)
