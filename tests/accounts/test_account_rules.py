"""What usernames, names and passwords may be."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.accounts.account_rules import password_error, username_error
from fieldgate.accounts.store import username_key


@pytest.mark.parametrize("name", ["amina", "a1", "a_", "amina_2_diallo", "x" * 150])
def test_valid_usernames(name: str) -> None:
    assert username_error(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "a", "Amina", "1a", "_a", "a b", "a/b", "a\0", "aa\n", "x" * 151, "AnonymousUser", "anonymoususer", "x.json",
     "..", "a-b", "a@b.c", "<b>", "a?b", "a%b", "zoë", "аmina", "ﬁx", "aｂ", "a٣"],
)  # fmt: skip
def test_invalid_usernames(name: str) -> None:
    assert username_error(name) is not None


@given(st.text(alphabet=st.sampled_from("az09_AZ.аａﬁſⅠ·-\n "), max_size=6))
def test_valid_usernames_cannot_be_confused(name: str) -> None:
    """No two valid names are the same in any normal form, and a URL shows each as it is."""
    if username_error(name) is None:
        assert username_key(name) == name == quote(name, safe="")


@pytest.mark.parametrize(
    ("password", "is_valid"),
    [("12345678", True), ("1234567", False), ("x" * 1000, True), ("x" * 1001, False), ("AMINA-DIALLO", False),
     ("كلمة المرور", True), ("12345678\0", False), ("12345678\n", False)],
)  # fmt: skip
def test_passwords(password: str, is_valid: bool) -> None:
    assert (password_error(password, "amina-diallo") is None) is is_valid
