"""What usernames, names and passwords may be."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.accounts.account_rules import password_error, person_name_error, token_name_error, username_error
from fieldgate.accounts.store import username_key
from fieldgate.cli import main
from tests.conftest import PASSWORD


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


@pytest.mark.parametrize("name", ["..", "Zoë", "a+b@c.d-e_f", "аmina"])
def test_users_with_names_of_before_can_be_managed(tmp_path: Path, name: str) -> None:
    """An account that exists keeps working, although its name is refused for a new one."""

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*words, "--data", str(tmp_path)], input=f"{PASSWORD}\n")
        return done.exit_code, done.output

    status, output = run("user", "create", name, "--password-stdin")
    assert (status, "Begin with a letter from a to z" in output) == (2, True)
    assert run("user", "create", "amina", "--password-stdin")[0] == 0
    with closing(sqlite3.connect(tmp_path / "fieldgate.db")) as database, database:
        database.execute("UPDATE users SET username = ?, username_key = ? WHERE id > 0", (name, username_key(name)))
    assert run("user", "password", name, "--password-stdin") == (0, f"password of user {name} changed\n")
    assert run("token", "create", name)[0] == 0
    assert run("user", "disable", name) == (0, f"user {name} disabled\n")
    assert run("user", "enable", name) == (0, f"user {name} enabled\n")


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
