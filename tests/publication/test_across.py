"""Several decisions side by side tell no small count: the attacker subtracts all from all.

Of every physician the attacker has whatever counts the decisions publish: panel sizes, patients in
pairs, patients by stratum, and rates times sizes. Every difference between two decisions that would
be a small number of patients is a success.
"""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intravar
from intravar.publication.disclosure import published_of
from intravar.publication.hiding import names_of
from intravar.publication.joint import hidden_across, hidden_sizes
from intravar.publication.policy import is_few, is_small
from intravar.publication.results import Published

pytestmark = pytest.mark.usefixtures("learned_once")

N_PHYSICIANS, N_PATIENTS = 6, 900


def cohort(missing: dict[str, list[int]]) -> pl.DataFrame:
    """A table in which so many patients of each physician miss a decision."""
    found = intravar.simulate(
        "multi-interacting", n_patients=N_PATIENTS, n_physicians=N_PHYSICIANS, random_state=7
    ).to_polars()
    at = pl.int_range(pl.len()).over("physician")
    which = pl.col("physician").rank("dense").cast(pl.Int64) - 1
    found = found.with_columns(
        pl.when(at % 2 == 0).then(pl.lit("F")).otherwise(pl.lit("M")).alias("sex")
    )
    for name, counts in missing.items():
        n = which.replace_strict(dict(enumerate(counts)), return_dtype=pl.Int64)
        found = found.with_columns(pl.when(at >= n).then(pl.col(name)).alias(name))
    return found


def measured(table: pl.DataFrame, **asked: object) -> intravar.Measurement:
    return intravar.measure(
        table,
        physician="physician",
        decision="decision,decision_2",
        exclude=["decision_3"],
        min_reliability=0.0,
        **asked,
    )


def published(found: intravar.Measurement) -> Published:
    names = {name: name for each in found.decisions.values() for name in names_of(each.main.scores)}
    return published_of(found, names, lambda _: 0.5)


def counts_of(found: Published) -> list[dict[str, list[int]]]:
    """What each decision publishes of every physician: counts that may be subtracted."""
    listed = []
    for decision in found.decisions:
        counts: dict[str, list[int]] = {}
        for row in decision.physicians:
            own = counts.setdefault(row.physician, [])
            if row.n_patients is not None:
                own.append(row.n_patients)
            if row.n_pairs is not None:
                own.append(2 * row.n_pairs)
        listed.append(counts)
    return listed


def successes(found: Published) -> list[tuple[str, int]]:
    """Return physicians and the small counts that follow by subtraction."""
    told = []
    for first, second in combinations(counts_of(found), 2):
        for who in set(first) & set(second):
            for a in first[who]:
                told += [(who, abs(a - b)) for b in second[who] if is_small(abs(a - b))]
    strata = [
        {(row.stratified_by, row.physician, row.stratum): row.n_patients for row in rows}
        for rows in (each.strata for each in found.decisions)
    ]
    for one, other in combinations(strata, 2):
        for cell in set(one) & set(other):
            if is_small(abs(one[cell] - other[cell])):
                told.append((cell[1], abs(one[cell] - other[cell])))
    return told


def test_missing_decisions_do_not_follow_from_sizes_and_strata() -> None:
    table = cohort({"decision_2": [0, 3, 0, 20, 1, 11]})
    found = published(measured(table, by="sex"))
    assert successes(found) == []
    sizes = [each.table["n_patients"] for each in found.decisions]
    assert [size.null_count() for size in sizes] == [3, 3]
    for decision in found.decisions:
        # Totals and notes tell no number of rows without a decision either.
        text = " ".join([*decision.check.dropped, decision.check.missing])
        counts = text.replace("at most 11", "few").split()
        assert not any(word.strip(",").isdigit() for word in counts)
        assert {row.missing for row in decision.check.columns} <= {"at most 11", "some"}


def test_a_size_that_one_decision_hides_stands_in_no_other() -> None:
    """Of pairs, who stays without one follows from the panel's size."""
    both = measured(cohort({}), method="euclidean")
    found = published(both)
    assert successes(found) == []
    assert both.together is not None
    parts = [each.parts for each in hidden_across(both.together).values()]
    assert parts[0].size.any()
    # What a hidden panel is known to hold would else tell the pairs of one decision in the other.
    assert parts[0].least[parts[0].size].tolist() == parts[1].least[parts[1].size].tolist()
    hidden = [each.table["n_patients"].is_null().to_list() for each in found.decisions]
    assert hidden[0] == hidden[1]
    for first, second in permutations(found.decisions, 2):
        for row, other in zip(first.physicians, second.physicians, strict=True):
            if row.n_patients is not None and other.n_pairs is not None:
                assert not is_few(abs(row.n_patients - 2 * other.n_pairs))


@given(
    st.lists(
        st.tuples(st.integers(12, 60), st.integers(0, 30), st.booleans()), min_size=2, max_size=4
    )
)
@settings(max_examples=300, deadline=None)
def test_whatever_is_shown_of_a_physician_tells_no_small_difference(
    given_panels: list[tuple[int, int, bool]],
) -> None:
    paired = [2 * min(pairs, n // 2) for n, pairs, _ in given_panels]
    hides = [
        own or is_few(n - in_pairs)
        for (n, _, own), in_pairs in zip(given_panels, paired, strict=True)
    ]
    leasts = [
        in_pairs if own else n
        for (n, *_), in_pairs, own in zip(given_panels, paired, hides, strict=True)
    ]
    panels = [
        pl.DataFrame(
            {
                "physician": ["A"],
                "n_patients": [n],
                "in_pairs": [[in_pairs]],
                "least": [least],
                "hidden": [own],
            }
        )
        for (n, *_), in_pairs, least, own in zip(given_panels, paired, leasts, hides, strict=True)
    ]
    hidden = hidden_sizes(panels, 11)
    assert hidden in ({}, {"A": min(leasts)})  # hidden panels share one
    shown = not hidden
    assert not (shown and any(hides))
    for a, b in permutations(range(len(panels)), 2):
        if shown:
            assert not is_small(abs(given_panels[a][0] - given_panels[b][0]))
            assert not is_few(abs(given_panels[a][0] - paired[b]))


def test_rates_that_tell_a_combination_are_hidden() -> None:
    """Whoever got the second decision got the first: the difference of rates counts the others."""
    table = cohort({})
    at = pl.int_range(pl.len()).over("physician")
    first = pl.col("decision") == 1
    nested = pl.when(first & (at > 12)).then(1).otherwise(0)
    found = measured(table.with_columns(decision_2=nested))
    assert found.together is not None
    for parts in hidden_across(found.together).values():
        assert parts.parts.rate.all()
    for decision in published(found).decisions:
        assert decision.table["rate"].null_count() == N_PHYSICIANS
    whole = replace(found.together, request=replace(found.together.request, smallest_cell=1))
    assert not any(np.any(each.parts.size) for each in hidden_across(whole).values())
