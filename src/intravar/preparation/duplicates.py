"""Rows that are one patient: exact copies of a row, and several visits of one person.

Two rows of one patient are not two comparable patients. They belong into one fold and are never
matched with each other. Patients who are alike by chance are another matter: with a few yes-or-no
columns many are, and copies must be told from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from intravar.arrays import FloatArray, IntArray
from intravar.observed import MOST_UNIDENTIFIED, UNIDENTIFIED, number_patients
from intravar.panels import HashArray
from intravar.preparation.kinds import identifier, words_in
from intravar.request import Request
from intravar.sources.plain import plain_column
from intravar.text import is_plain
from intravar.wording import Sentence

#: Rows that are alike are copies if there are so many times more than chance gives.
SURELY = 3.0
#: Columns that are left out in turn, at the most, to see how close patients come by chance.
MOST_LEFT_OUT = 32
#: Fewer are not told by number.
FEW = 20
#: A table whose every row comes a multiple of times was put together from copies of itself.
ENOUGH_ROWS = 20
#: Why rows are not measured; templates, see :class:`intravar.wording.Sentence`.
COPIES = "they copy another row"
AGAIN = "the same {case} is in another row of the {decider}"
CASE_AGAIN = "the same case is in another row of the {decider} (seen twice, and counted there)"


def each_once(
    table: pl.DataFrame, roles: Request, rule: CopyRule | None
) -> tuple[IntArray, dict[str, int]]:
    """Keep one row of every patient of a physician.

    Which one is kept follows from what the rows hold, not from their order. Decisions are 0 and 1
    by now. Returns the rows that are kept, rising, and how many are not, by reason.
    """
    group, n_copies, n_again = find_repeated_rows(table, roles, rule)
    if not (n_copies or n_again):
        return np.arange(table.height), {}
    # Whoever decided is the same among those of whom one is kept, whatever the name.
    described = (name for name in sorted(table.columns) if name != roles.physician)
    plain = [name for name in described if is_plain(table.schema[name])]
    texts = table.select(pl.col(plain).cast(pl.String))  # 1 and "1" are one id
    order = np.argsort(texts.hash_rows(seed=0).to_numpy(), kind="stable")
    who = table[roles.physician].rank("dense").to_numpy().astype(np.int64)
    _, first = np.unique(np.column_stack([who, group])[order], axis=0, return_index=True)
    kept = np.sort(order[first])
    n_left_out = table.height - len(kept)
    again = AGAIN if roles.case is None or roles.patient != roles.case else CASE_AGAIN
    dropped = {COPIES: min(n_copies, n_left_out), again: max(0, n_left_out - n_copies)}
    return kept, {reason: count for reason, count in dropped.items() if count}


def find_repeated_rows(
    table: pl.DataFrame, roles: Request, rule: CopyRule | None
) -> tuple[IntArray, int, int]:
    """Find copies of rows and patients who come again.

    Patients are known by the column that names them, by default by every column whose name says
    that it does. Without a rule rows that agree are no copies. Returns a number per row, which rows
    of one patient share; and how many rows are exact copies, and how many are of patients who were
    in the table before, both without one of each.

    Examples
    --------
    >>> from intravar.preparation.kinds import assign_roles
    >>> table = pl.DataFrame({"doctor": ["a", "a", "b"], "drug": [1, 0, 1], "age": [50, 51, 62],
    ...                       "patient_id": [7, 7, 8]})
    >>> roles = assign_roles(table.columns, Request(physician="doctor", decision="drug"))
    >>> group, _, n_again = find_repeated_rows(table, roles, None)
    >>> group.tolist(), n_again
    ([0, 0, 1], 1)
    """
    links = [_places(each) for each in patient_identifiers(table, roles)]
    n_again = table.height - len(np.unique(_joined(links, table.height)))
    copied = [] if rule is None else [rule.groups(table, roles)]
    n_copies = sum(table.height - len(np.unique(each)) for each in copied)
    return _joined([*links, *copied], table.height), n_copies, n_again


def patient_columns(columns: Sequence[str], roles: Request) -> list[str]:
    """Return the columns that identify the patient.

    This is the column that was named, by default every column whose name says that it does.
    """
    if roles.patient:
        return [roles.patient]
    taken = (roles.physician, *roles.decisions)
    return [name for name in columns if words_in(name, "known_by") and name not in taken]


def patient_identifiers(table: pl.DataFrame, roles: Request) -> list[pl.Series]:
    """Return the columns that identify the patient, as texts."""
    columns = [
        plain_column(table[name], keep=True)
        for name in patient_columns(table.columns, roles)
        if name in table.columns
    ]
    return [column.cast(pl.String) for column in columns if is_plain(column.dtype)]


def patient_numbers(table: pl.DataFrame, roles: Request) -> HashArray | None:
    """Return a number per row that rows of one patient share; None without identifiers.

    Rows that share any identifier are of one patient. A row without any is `UNIDENTIFIED`.
    """
    identifiers = patient_identifiers(table, roles)
    if not identifiers:
        return None
    numbers, *others = (number_patients(each) for each in identifiers)
    if not others:
        return numbers
    for each in others:
        numbers = np.where(numbers == UNIDENTIFIED, each, numbers)
    group = _joined([_places(each) for each in identifiers], table.height)
    smallest = np.full(group.max() + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, group, numbers)
    return smallest[group]


def describe_visits(patient: HashArray, part: float) -> Sentence:
    """Return a sentence on the visits of identified patients.

    `patient` is the number of every row's patient, see :func:`patient_numbers`. The rows are a
    `part` of a table.

    Examples
    --------
    >>> print(describe_visits(np.arange(600, dtype=np.uint64) // np.uint64(3) + np.uint64(1), 1.0))
    about 200 patients with about 600 visits: all visits are used, and none is predicted from
    another visit of the same patient
    """
    n_patients = len(np.unique(patient[patient != UNIDENTIFIED]))
    n_patients += int((patient == UNIDENTIFIED).sum())
    return Sentence(
        "{patients} {cases} with {visits} visits: all visits are used, and none is predicted from "
        "another visit of the same {case}",
        patients=_about(n_patients / part),
        visits=_about(len(patient) / part),
    )


def ask_about_identifiers(unidentified: float) -> list[Sentence]:
    """Return a question if too many rows have no identifier of the patient.

    Parameters
    ----------
    unidentified
        Share of rows without an identifier.

    Examples
    --------
    >>> print(*ask_about_identifiers(0.5))
    50 % of rows have no identifier of the patient, so that identifiers are not used: can those rows
    be identified? Otherwise rows that are close to each other are held out together
    """
    if unidentified <= MOST_UNIDENTIFIED:
        return []
    return [
        Sentence(
            "{share} % of rows have no identifier of the {case}, so that identifiers are not used: "
            "can those rows be identified? Otherwise rows that are close to each other are held "
            "out together",
            share=max(round(100 * unidentified), 6),
        )
    ]


def _places(identifier: pl.Series) -> IntArray:
    """Return a number per row, the same where the identifier is, and another one without any."""
    numbers = number_patients(identifier)
    places = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    missing = np.flatnonzero(numbers == UNIDENTIFIED)
    places[missing] = len(numbers) + missing
    return places


def _joined(links: list[IntArray], n_rows: int) -> IntArray:
    """Give rows that share a number in any link one number, from 0 without gaps."""
    graph = csr_array((n_rows, n_rows), dtype=np.int8)
    for link in links:
        # Every row is linked to the first that shares its number.
        _, first, at = np.unique(link, return_index=True, return_inverse=True)
        ones = np.ones(n_rows, dtype=np.int8)
        graph = graph + csr_array((ones, (np.arange(n_rows), first[at])), (n_rows, n_rows))
    group: IntArray = connected_components(graph, directed=False)[1].astype(np.int64)
    return group


@dataclass(frozen=True)
class CopyRule:
    """Copies of rows are known by the columns that describe patients: rows that agree are copies.

    Where a table was put together from copies of itself and patients may be alike by chance, it
    has every row `common` times.
    """

    described: tuple[str, ...]
    common: int = 1

    def groups(self, table: pl.DataFrame, roles: Request) -> IntArray:
        """Return a number per row, the same for copies."""
        whole = _numbered(table, [*self.described, roles.physician, roles.decision])
        if self.common == 1:
            return whole
        # The k-th of so many copies of each patient stand together.
        place = pl.int_range(pl.len()).over("whole") % (pl.len().over("whole") // self.common)
        rows = pl.DataFrame({"whole": whole}).with_columns(place.alias("place"))
        return _numbered(rows, ["whole", "place"])

    def count(self, rows: pl.LazyFrame, n_rows: int, decided: list[str]) -> int:
        """Count the copies in the rows of a large table, not counting one of each.

        The columns `decided` say who decided and how.
        """
        if self.common > 1:
            return n_rows - n_rows // self.common
        key = pl.struct([*self.described, *decided]).hash()
        return n_rows - int(rows.select(key.n_unique()).collect(engine="streaming").item())


def learn_copies(
    table: pl.DataFrame, roles: Request, part: float = 1.0
) -> tuple[CopyRule | None, str]:
    """Find out whether rows that are alike are copies, and by what copies are known.

    These rows are a `part` of a table. There is no rule where rows are alike by chance; what is
    said of it is "" where no row comes twice.
    """
    # Nested values and names of rows say nothing about a patient.
    described = [
        name
        for name, dtype in table.schema.items()
        if name not in (roles.physician, roles.decision)
        and not (dtype.is_nested() or dtype == pl.Binary)
        and table[name].count()
        and not identifier(table[name], part)
    ]
    # A case seen twice and decided alike gives equal rows: with cases named, none is a copy.
    if table.height < 2 or roles.case is not None:
        return None, ""
    same = same_within([table[name] for name in described], table[roles.physician])
    described = [name for name, one in zip(described, same, strict=True) if not one]
    sizes = np.bincount(_numbered(table, [*described, roles.physician, roles.decision]))
    if not described or sizes.max() == 1:
        return None, ""
    common = int(np.gcd.reduce(sizes))
    if common > 1 and table.height // common >= ENOUGH_ROWS:
        # Where descriptions are fine two patients are hardly alike by chance.
        alike = np.bincount(_numbered(table, described))
        fine = np.median(alike) == alike.min() and len(alike) * 2 > table.height / alike.min()
        note = f"the table has every row {common} times; each counts once"
        return CopyRule(tuple(described), 1 if fine else common), note
    pairs, by_chance = _pairs(sizes), pairs_by_chance(table, roles, described)
    many = f"{_about(pairs)} pairs of rows are the same in everything that is recorded"
    if pairs > SURELY * by_chance + 3 * np.sqrt(by_chance):
        return CopyRule(tuple(described)), (
            f"{many}, where chance would give {_about(by_chance)}: they count as copies, unless "
            "all repeated rows are asked for"
        )
    return None, (
        Sentence(
            "{many}, about as many as chance gives: they count as different {cases}; "
            "name the column that tells {cases} apart if they are not",
            many=many,
        )
    )


def _about(count: float) -> str:
    """Say a number in two digits; a few tell too much of whom they are."""
    if count < FEW:
        return "none" if count < 0.5 else "a few"
    return f"about {float(f'{count:.2g}'):,.0f}"


def pairs_by_chance(table: pl.DataFrame, roles: Request, described: list[str]) -> float:
    """Return how many pairs of one physician and decision would be alike by chance.

    Patients who are alike in all columns but one are no copies: their number tells how close
    patients come. How many more are alike in all columns tell pairs of two physicians, among whom
    there are no copies either. Columns may go together, and physicians may see patients of their
    own kind.
    """
    whos = _numbered(table, [roles.physician])
    decided = _numbered(table, [roles.decision])
    several = len(np.unique(whos)) > 1
    # Two decisions of one physician stand in where there is nobody else.
    same, other = (decided, whos) if several else (whos, decided)
    bits = [table[name].hash(seed=place).to_numpy() for place, name in enumerate(described)]
    total: HashArray = np.add.reduce(bits, axis=0, dtype=np.uint64)
    step = max(len(bits) // MOST_LEFT_OUT, 1)
    exact = _within_and_across(total, same, other)
    near = np.sum(
        [_within_and_across(total - each, same, other) - exact for each in bits[::step]], axis=0
    )
    estimated = float(near[0] * (exact[1] + 0.5) / (near[1] + 0.5)) if near[0] else 0.0
    # No fewer than if columns had nothing to do with each other.
    every = _pairs(np.array([len(whos)]))
    apart = [_pairs(np.unique(each, return_counts=True)[1]) / every for each in bits]
    total_within = _pairs(np.unique(np.column_stack([same, other]), axis=0, return_counts=True)[1])
    return max(estimated, float(total_within * np.prod(apart)))


def _within_and_across(keys: HashArray, same: IntArray, other: IntArray) -> FloatArray:
    """Count pairs that share a key: of one physician and decision, and of two physicians."""
    counted = pl.DataFrame({"key": keys, "same": same, "other": other})
    counted = counted.group_by("key", "same", "other").len()
    within = _pairs(counted["len"].to_numpy().astype(np.int64))
    together = counted.group_by("key", "same").agg(pl.col("len").sum())["len"]
    return np.array([within, _pairs(together.to_numpy().astype(np.int64)) - within])


def same_within(columns: Sequence[pl.Series], physician: pl.Series) -> list[bool]:
    """Tell which columns are the same for all rows of each physician: they describe physicians.

    Examples
    --------
    >>> beds, age = pl.Series([9, 9, 5]), pl.Series([50, 61, 70])
    >>> same_within([beds, age], pl.Series(["Ada", "Ada", "Bo"]))
    [True, False]
    """
    if not columns or physician.n_unique() < 2:
        return [False] * len(columns)
    table = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    grouped = table.group_by(physician.alias("physician")).agg(pl.exclude("physician").n_unique())
    return [grouped[str(place)].max() == 1 for place in range(len(columns))]


def _numbered(table: pl.DataFrame, names: list[str]) -> IntArray:
    """Return a number per row, from 0 without gaps, that rows share which agree in columns."""
    ranks = table.select(pl.struct(names).rank("dense")).to_series()
    numbers: IntArray = ranks.to_numpy().astype(np.int64) - 1
    return numbers


def _pairs(counts: IntArray) -> float:
    return float((counts * (counts - 1) / 2).sum())
