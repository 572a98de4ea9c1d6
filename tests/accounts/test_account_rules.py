"""What usernames, names and passwords may be."""

import pytest

from fieldgate.accounts.account_rules import password_error, person_name_error, token_name_error, username_error


@pytest.mark.parametrize("name", ["amina", "Zoë", "a+b@c.d-e_f", "Ецик", "x" * 150, "٣", "..."])
def test_valid_usernames(name: str) -> None:
    assert username_error(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a/b", "a\0", "a\n", "x" * 151, "ﷺ" * 20, "AnonymousUser", "anonymoususer", "x.json", "x.JSON", ".",
     "..", "<b>", "a?b", "a#b", "a%b"],
)  # fmt: skip
def test_invalid_usernames(name: str) -> None:
    assert username_error(name) is not None


def test_names_of_people_and_tokens() -> None:
    assert person_name_error("") is None
    assert person_name_error("Amina N'Diaye 🙂") is None
    assert person_name_error("x" * 151) is not None
    assert person_name_error("a\nb") is not None
    assert token_name_error("Power BI") is None
    for name in ("", "x" * 101, "a\u202eb", "a\tb"):
        assert token_name_error(name) is not None


@pytest.mark.parametrize(
    ("password", "is_valid"),
    [("12345678", True), ("1234567", False), ("x" * 1000, True), ("x" * 1001, False), ("AMINA-DIALLO", False),
     ("كلمة المرور", True), ("12345678\0", False), ("12345678\n", False)],
)  # fmt: skip
def test_passwords(password: str, is_valid: bool) -> None:
    assert (password_error(password, "amina-diallo") is None) is is_valid
