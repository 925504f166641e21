"""Ids as people write them: with characters that nobody sees, or with thousands of digits."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.observed import in_natural_order
from intravar.publication.pseudonyms import Addresses, as_known
from intravar.text import clean_name, clean_texts


@pytest.mark.parametrize("unseen", ["\u200b", "\u200c", "\u200d", "\ufeff"])
def test_an_id_with_what_nobody_sees_is_the_same_id(unseen: str) -> None:
    random = np.random.default_rng(0)
    doctors = ["Ada", f"A{unseen}da", "Bob", "Cy"] * 40
    table = pl.DataFrame(
        {"doctor": doctors, "y": random.integers(0, 2, 160), "x": random.normal(size=160)}
    )
    found = intravar.check(table, physician="doctor", decision="y")
    assert set(found.prepared.observed.physicians) == {"Ada", "Bob", "Cy"}
    assert as_known(f"A{unseen}da", ["Ada", "Bob"]) == "Ada"
    assert Addresses(["P-1"], {"P-1": "Ada"}).published_name(f"Ada{unseen}") == "P-1"


def test_joiners_that_are_seen_stay() -> None:
    """They shape letters of other scripts, and make one picture of two."""
    for name in ("\U0001f469\u200d\u2695\ufe0f", "\u0645\u06cc\u200c\u062e"):
        assert clean_name(name) == name
        assert clean_texts(pl.Series([name])).to_list() == [name]


def test_ids_of_thousands_of_digits_are_sorted_by_size() -> None:
    """Python turns no text of more than 4,300 digits into a number."""
    long, longer = "9" * 4301, "1" + "0" * 4301
    values = pl.Series([longer, "10", long, "2", "002", "ward 10", "ward 9"])
    expected = ["002", "2", "10", long, longer, "ward 9", "ward 10"]
    found = in_natural_order(values).to_list()
    assert sorted(found) == sorted(expected)
    numbers = [text for text in found if text.isdigit()]
    assert numbers == ["002", "2", "10", long, longer]
    assert found.index("ward 9") < found.index("ward 10")
