"""A password is never shown, whatever characters it holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intravar import InputError
from intravar.sources.paths import check_server_url, scrubbed, without_password

AWKWARD = "?#/@:%&= \\'\"[]é"
PASSWORDS = st.text(st.sampled_from("KXYZW789" + AWKWARD), min_size=4, max_size=12).filter(
    lambda text: any(each in text for each in "KXYZW789")
)


@given(PASSWORDS, st.sampled_from(["postgresql", "https", "postgres", "mysql+driver"]))
def test_no_password_is_shown(password: str, scheme: str) -> None:
    url = f"{scheme}://ann:{password}@host/base?password={password}"
    for shown in (
        without_password(url),
        scrubbed(f"could not reach '{url}': no", url),
        scrubbed(f'FATAL: bad port "{password}"', url),
    ):
        assert not any(letter in shown for letter in "KXYZW789"), shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:se?cret@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:se#cret@host/db", "postgresql://ann@host/db"),
        ("postgresql://ann:se/cret@host/db", "postgresql://…"),
        ("postgresql://ann:se@cret@host/db", "postgresql://…"),
        ("postgresql://ann:secret", "postgresql://…"),
        ("postgresql:/ann:secret@host/db", "postgresql:/…"),
        ("postgresql://[bad", "postgresql://…"),
        ("postgresql://ann@[::1]:5432/db", "postgresql://ann@[::1]:5432/db"),
        ("postgresql://ann@h1:1,h2:2/db", "postgresql://ann@h1:1,h2:2/db"),
        ("postgresql://postgres:@/postgres?host=/tmp/x", "postgresql://postgres@/postgres"),
        ("host=h password=secret", "host=h password=…"),
        ("host=h password='se cret' user=u", "host=h password=… user=u"),
        ("duckdb:///home/a@b/t.duckdb", "duckdb:///home/a@b/t.duckdb"),
        ("C:/patients.csv", "C:/patients.csv"),
    ],
)
def test_what_is_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize("url", ["postgresql://ann:a/b@host/db", "postgresql://ann:a@b@host/db"])
def test_a_password_that_cannot_be_told_apart_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="write '@' as %40, '/' as %2F") as met:
        check_server_url(url)
    assert "a@b" not in str(met.value)
    with pytest.raises(InputError, match="is not understood; write postgresql://user@host"):
        check_server_url("postgresql://[bad")
    check_server_url("postgresql://ann:a%2Fb@host/db")
