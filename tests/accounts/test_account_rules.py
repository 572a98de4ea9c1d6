"""What usernames, names and passwords may be."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urljoin

import httpx
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from fieldgate.accounts.account_rules import password_error, person_name_error, token_name_error, username_error
from fieldgate.cli import main
from tests.conftest import PASSWORD


@pytest.mark.parametrize("name", ["amina", "Zoë", "a+b@c.d-e_f", "Ецик", "x" * 150, "٣", "..a", "1."])
def test_valid_usernames(name: str) -> None:
    assert username_error(name) is None


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a/b", "a\0", "a\n", "x" * 151, "ﷺ" * 20, "AnonymousUser", "anonymoususer", "x.json", "x.JSON", ".",
     "..", "...", "@", "-_+", "．．", "‥", "<b>", "a?b", "a#b", "a%b"],
)  # fmt: skip
def test_invalid_usernames(name: str) -> None:
    assert username_error(name) is not None


@given(st.text(alphabet=st.sampled_from("..·․‥…．/\\\\%2eE@+-_aé⒈٣ｊ"), max_size=6))
@example("..")
@example("⒈")
def test_valid_usernames_stay_whole_in_urls(name: str) -> None:
    """What browsers and proxies do with paths never makes another path of a name."""
    if username_error(name) is None:
        url = f"https://field.example/api/v2/users/{quote(name, safe='')}/"
        assert urljoin("https://field.example/", url) == url
        assert (
            httpx.URL("https://field.example/x/").join(url).raw_path
            == url.removeprefix("https://field.example").encode()
        )
        assert Path("/srv", name).resolve().parent == Path("/srv")


@pytest.mark.parametrize("name", ["..", "."])
def test_users_with_names_of_before_can_be_managed(tmp_path: Path, name: str) -> None:
    """An account that exists keeps working, although its name is refused for a new one."""

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, [*words, "--data", str(tmp_path)], input=f"{PASSWORD}\n")
        return done.exit_code, done.output

    status, output = run("user", "create", name, "--password-stdin")
    assert (status, "A name needs a letter or a digit." in output) == (2, True)
    assert run("user", "create", "amina", "--password-stdin")[0] == 0
    with closing(sqlite3.connect(tmp_path / "fieldgate.db")) as database, database:
        database.execute("UPDATE users SET username = ?, username_key = ? WHERE username = 'amina'", (name, name))
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
