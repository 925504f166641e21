"""Numbers and dates as people write them: read as they are meant, or asked about."""

from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar import InputError
from intravar.preparation.kinds import understand
from intravar.sources import read_source
from intravar.sources.plain import plain_table
from intravar.sources.texts import typed_texts


def read(*values: str | None) -> list[Any]:
    return typed_texts(pl.Series("x", values, dtype=pl.String)).values.to_list()


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["5,6", "7"], [5.6, 7.0]),
        (["0,125", "0,250"], [0.125, 0.25]),
        (["1,234", "1500"], [1.234, 1500.0]),
        (["1,234.5", "3"], [1234.5, 3.0]),
        (["1,234,567", "3"], [1234567, 3]),
        (["1.234,5", "3"], [1234.5, 3.0]),
        (["1.234.567"], [1234567]),
        (["1 234", "12 345,5"], [1234.0, 12345.5]),
        (["1\u202f234", "2"], [1234, 2]),
        (["1'234.5"], [1234.5]),
        (["5.4%", "6 %"], [5.4, 6.0]),
        (["5,4%"], [5.4]),
        (["$1,234.50", "$ 3"], [1234.5, 3.0]),
        (["1 234,50 €", "0,5€"], [1234.5, 0.5]),
        (["+5", "-3"], [5, -3]),
        (["1e3", ".5", "5."], [1000.0, 0.5, 5.0]),
        (["007", "8"], [7, 8]),
        (["7.0", "8.0"], [7, 8]),
        (["9007199254740993"], [9007199254740993]),
        (["99999999999999999999"], [1e20]),
    ],
)
def test_numbers(texts: list[str], numbers: list[float]) -> None:
    found = read(*texts)
    assert found == numbers
    assert [type(each) for each in found] == [type(each) for each in numbers]


@pytest.mark.parametrize(
    "texts",
    [
        ["5%", "5"],
        ["5 €", "5 $"],
        ["$5", "5"],
        ["1,2,3"],
        ["12,34.5"],
        ["1,234 "],
        ["٥"],
        ["0x10"],
        ["1_000"],
        ["-"],
    ],
)
def test_what_is_no_number_stays_text(texts: list[str]) -> None:
    assert read(*texts) == texts


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["2020-01-31"], [date(2020, 1, 31)]),
        (["2020/1/31"], [date(2020, 1, 31)]),
        (["31/12/20", "01/02/21"], [date(2020, 12, 31), date(2021, 2, 1)]),
        (["31/12/2020"], [date(2020, 12, 31)]),
        (["12/31/2020", "01/02/2020"], [date(2020, 12, 31), date(2020, 1, 2)]),
        (["01.02.2020"], [date(2020, 2, 1)]),
        (["01.02.20"], [date(2020, 2, 1)]),
        (["31-12-1999"], [date(1999, 12, 31)]),
        (["05/05/2020"], [date(2020, 5, 5)]),
        (["2020-01-31T10:20Z"], [datetime(2020, 1, 31, 10, 20)]),
        (["2020-01-31 10:20"], [datetime(2020, 1, 31, 10, 20)]),
        (["2020-01-31T10:20:30.5+02:00"], [datetime(2020, 1, 31, 10, 20, 30, 500_000)]),
        (["2020-01-31 10:20:30 UTC"], [datetime(2020, 1, 31, 10, 20, 30)]),
        (["1/31/2020 1:05 PM"], [datetime(2020, 1, 31, 13, 5)]),
        (["31-Jan-2020"], [date(2020, 1, 31)]),
        (["January 31, 2020"], [date(2020, 1, 31)]),
        (["10:20", "9:05"], [time(10, 20), time(9, 5)]),
    ],
)
def test_dates(texts: list[str], dates: list[Any]) -> None:
    assert read(*texts) == dates


@pytest.mark.parametrize("texts", [["2020-13-45"], ["31/02/2020"], ["25:00"], ["99/99/99"]])
def test_what_is_no_date_stays_text(texts: list[str]) -> None:
    assert read(*texts) == texts


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["1,234", "12,500"], "in column 'x' '1,234' may be 1234 or 1.234; write 1234 or 1.2340"),
        (["01/02/2020", "03/04/2020"], "'01/02/2020' may be 1 February or January 2; write dates"),
        (["01/02/20", "03/04/20"], "'01/02/20' may be 1 February or January 2; write dates as"),
        (["31/12/45", "31/12/20", "31/12/80"], "'31/12/20' may be of either century; write years"),
    ],
)
def test_what_may_be_two_things_is_asked_about(texts: list[str], words: str) -> None:
    with pytest.raises(InputError) as met:
        understand(pl.Series("x", texts))
    assert words in str(met.value)
    assert met.value.on_command_line.endswith("or drop the column with --exclude x")


@pytest.mark.parametrize(
    ("odd", "others"),
    [("2020-02-31", "2020-03-{}"), ("31.01.2020", "2020-03-{}"), ("unclear", "{}.03.2020")],
)
def test_an_odd_text_among_dates_is_named(odd: str, others: str) -> None:
    texts = [others.format(10 + n) for n in range(20)]
    texts[7] = odd
    with pytest.raises(InputError, match=f"'seen' has '{odd}' in data row 8 where other rows have"):
        understand(pl.Series("seen", texts))
    numbers = pl.Series("number", [f"{n % 90 + 10}-{n % 70 + 20}-{n + 1000}" for n in range(50)])
    assert understand(numbers).kind == "identifier"


def test_other_columns_tell_what_a_column_means() -> None:
    texts = pl.DataFrame({"a": ["1,234", "12,500"], "b": ["5,6", "7"], "c": ["1.234", "2.345"]})
    table, notes = plain_table(texts)
    assert table["a"].to_list() == [1.234, 12.5]
    assert table["c"].to_list() == [1234, 2345]
    assert notes == ["decimal commas in a, b", "thousands separators in c"]
    table, _ = plain_table(texts.with_columns(pl.Series("b", ["1,000.5", "7"])))
    assert table["a"].to_list() == [1234, 12500]
    assert table["c"].to_list() == [1.234, 2.345]
    days = pl.DataFrame({"a": ["01/02/2020"], "b": ["31/12/2020"]})
    table, notes = plain_table(days)
    assert table.row(0) == (date(2020, 2, 1), date(2020, 12, 31))
    assert notes == ["dates as day/month/year in a, b"]


def test_thousands_in_a_file_with_semicolons(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("doctor;cost;lab\na;1,234.50;5.4\nb;12;6.1\n")
    found = read_source(file)
    assert found.table.rows() == [("a", 1234.5, 5.4), ("b", 12.0, 6.1)]
    assert found.notes == ("separator ';'", "thousands separators in cost")


@given(st.dates(date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d-%b-%Y"]))
def test_every_date_is_read_as_it_was_written(day: date, form: str) -> None:
    assert read(day.strftime(form)) == [day]


@given(st.floats(-1e12, 1e12), st.sampled_from([".", ","]))
def test_every_number_is_read_as_it_was_written(number: float, sign: str) -> None:
    text = repr(number).replace(".", sign)
    found = typed_texts(pl.Series("x", [text, f"0{sign}5"])).values
    assert found[0] == number


@given(st.lists(st.text(max_size=12) | st.none(), min_size=1, max_size=20))
def test_any_text_is_something(values: list[str | None]) -> None:
    table, _ = plain_table(pl.DataFrame({"x": pl.Series(values, dtype=pl.String), "y": values}))
    assert table.height == len(values)


def test_dates_that_lie_in_several_pieces_are_read() -> None:
    texts = ["01/02/2024", "25/02/2024", "25/02/2024", "25/02/2024"]
    pieces = pl.concat([pl.Series("seen", [text]) for text in texts], rechunk=False)
    assert pieces.n_chunks() == 4
    assert typed_texts(pieces).values.to_list() == [date(2024, 2, int(text[:2])) for text in texts]
