"""The file of providers of single sign-on: what it may say, and each refusal."""

from pathlib import Path

import pytest

from fieldgate.providers import Provider, is_safe_url, read_providers
from fieldgate.settings import BadSetting, PasswordLogin, Settings

KEYCLOAK = """
[[provider]]
id = "keycloak"
name = "Red Cross account"
issuer = "https://login.example.org/realms/field"
client_id = "fieldgate"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sign-on.toml"


def test_defaults(file: Path) -> None:
    file.write_text(KEYCLOAK)
    [provider] = read_providers(file)
    assert provider == Provider(
        id="keycloak",
        name="Red Cross account",
        issuer="https://login.example.org/realms/field",
        client_id="fieldgate",
        scopes=("openid", "profile", "email"),
        username_claim="preferred_username",
    )
    assert not provider.create_users
    assert not provider.trust_email


def test_several_providers_with_everything(file: Path) -> None:
    file.write_text(
        KEYCLOAK
        + """
client_secret = "ß…"
scopes = ["openid", "groups"]
username_claim = "email"
allowed_domains = ["example.org"]
trust_email = true
create_users = true
countries_claim = "countries"
ifrc_claim = "ifrc"
teams_claim = "groups"
[provider.teams]
wash-nepal = "tXq4"
"""
        + KEYCLOAK.replace("keycloak", "other").replace(
            "https://login.example.org", "http://[::1]:8080"
        )
    )
    keycloak, other = read_providers(file)
    assert keycloak.client_secret == "ß…"
    assert keycloak.teams == {"wash-nepal": "tXq4"}
    assert other.issuer == "http://[::1]:8080/realms/field"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('client_id = "fieldgate"', "", "missing required field `client_id`"),
        ('client_id = "fieldgate"', 'client_id = ""', "client_id"),
        (
            'client_id = "fieldgate"',
            'client_id = "x"\nis_admin_claim = "x"',
            "unknown field `is_admin_claim`",
        ),
        ('"keycloak"', '"Key cloak"', "id"),
        ('"Red Cross account"', '""', "name"),
        ("[[provider]]", "[provider]", "provider"),
        ("[[provider]]", "[[provider", "cannot read"),
        ('"fieldgate"', '"x"\nscopes = ["profile"]', "the scopes of keycloak lack openid"),
        ('"fieldgate"', '"x"\nteams = { a = "b" }', "keycloak has teams, but no teams_claim"),
        ('"fieldgate"', '"x"\n' + KEYCLOAK, "has the same id twice"),
        (
            '"fieldgate"',
            '"x"\nallowed_domains = [""]',
            "length >= 1",
        ),  # would allow everybody without an address
        (
            "https:",
            "http:",
            "the issuer 'http://login.example.org/realms/field' of keycloak must be an https URL",
        ),
        ("https://login.example.org", "login.example.org", "must be an https URL"),
        ("https://login.example.org", "https://[login", "must be an https URL"),
        ("https://login.example.org", "file://login.example.org", "must be an https URL"),
        (
            "/realms/field",
            "/x/.well-known/openid-configuration",
            "must be an https URL without /.well-known/",
        ),
    ],
)
def test_refusals_say_what_is_wrong(file: Path, old: str, new: str, message: str) -> None:
    text = KEYCLOAK.replace(old, new, 1)
    assert text != KEYCLOAK
    file.write_text(text)
    with pytest.raises(BadSetting) as refusal:
        _settings(file)
    assert str(refusal.value).startswith("FIELDGATE_SIGN_ON: ")
    assert message in str(refusal.value)


def test_files_that_cannot_be_read(file: Path) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read_providers(file)
    file.write_bytes(KEYCLOAK.encode() + b"\xff")
    with pytest.raises(ValueError, match="cannot read"):
        read_providers(file)


def test_a_refusal_does_not_show_the_secret(file: Path) -> None:
    file.write_text(KEYCLOAK + 'client_secret = "hunter2"\ncreate_users = "yes"\n')
    with pytest.raises(ValueError, match="create_users") as refusal:
        read_providers(file)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://login.example.org/x?y=z", True),
        ("http://localhost:8080/", True),
        ("http://127.8.0.1/", True),
        ("http://[::1]/", True),
        ("http://login.example.org/", False),
        ("http://localhost.example.org/", False),
        ("javascript:alert(1)", False),
        ("https:///x", False),
        ("//login.example.org", False),
        ("", False),
        ("https://login.example.org/\r\nSet-Cookie: x=y", False),
        ("https://login.example.org/\N{RIGHT-TO-LEFT OVERRIDE}", False),
        ("https://login.example.org/a b", False),
    ],
)
def test_only_https_and_this_machine_get_secrets(url: str, is_safe: bool) -> None:
    assert is_safe_url(url) is is_safe


def test_a_provider_needs_the_public_url(file: Path) -> None:
    file.write_text(KEYCLOAK)
    with pytest.raises(BadSetting, match=r"^FIELDGATE_SIGN_ON: set FIELDGATE_BASE_URL, too\."):
        Settings.from_environment({"FIELDGATE_SIGN_ON": str(file)})
    assert [each.id for each in _settings(file).sign_on] == ["keycloak"]


@pytest.mark.parametrize("value", ["superusers", "none"])
def test_passwords_cannot_be_switched_off_without_a_provider(file: Path, value: str) -> None:
    with pytest.raises(
        BadSetting, match=r"^FIELDGATE_PASSWORD_LOGIN: set FIELDGATE_SIGN_ON, too\."
    ):
        Settings.from_environment({"FIELDGATE_PASSWORD_LOGIN": value})
    file.write_text("provider = []")
    with pytest.raises(BadSetting, match=r"^FIELDGATE_PASSWORD_LOGIN: "):
        _settings(file, FIELDGATE_PASSWORD_LOGIN=value)
    file.write_text(KEYCLOAK)
    assert _settings(file, FIELDGATE_PASSWORD_LOGIN=value.upper()).password_login is PasswordLogin(
        value
    )


def test_unknown_kind_of_password_login() -> None:
    with pytest.raises(
        BadSetting, match=r"^FIELDGATE_PASSWORD_LOGIN: expected all, superusers or none, not 'some'"
    ):
        Settings.from_environment({"FIELDGATE_PASSWORD_LOGIN": "some"})


def _settings(file: Path, **more: str) -> Settings:
    values = {
        "FIELDGATE_SIGN_ON": str(file),
        "FIELDGATE_BASE_URL": "https://field.example.org",
        **more,
    }
    return Settings.from_environment(values)
