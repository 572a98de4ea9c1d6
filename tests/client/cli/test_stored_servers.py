"""Which server a command talks to, and with which token; the file that they are stored in."""

import os
import stat
from pathlib import Path

import pytest
from fieldgate_client import InvalidURL
from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.stored_servers import (
    StoredServer,
    StoredServers,
    choose_server,
    is_below,
    is_readable_by_others,
    load_servers,
    read_token,
    save_servers,
    unused_token_note,
)
from fieldgate_client.errors import FieldgateError
from hypothesis import given
from hypothesis import strategies as st

SERVERS = StoredServers(
    "field",
    {
        "field": StoredServer("https://field.example", "field-token"),
        "kobo": StoredServer("https://kobo.example/k", "kobo-token"),
    },
)
FIELD = StoredServer("https://field.example", "secret-1", "amina")
KOBO = StoredServer("https://host.example/kobo", "secret-2")
ENVIRONMENT = {"FIELDGATE_URL": "https://env.example/", "FIELDGATE_TOKEN": " env-token\n"}


@pytest.mark.parametrize(
    ("options", "environment", "expected"),
    [
        ({}, {}, ("https://field.example", "field-token")),
        ({"name": "kobo"}, {}, ("https://kobo.example/k", "kobo-token")),
        ({"name": "kobo"}, ENVIRONMENT, ("https://kobo.example/k", "kobo-token")),
        ({}, ENVIRONMENT, ("https://env.example", "env-token")),
        ({}, {"FIELDGATE_URL": "https://field.example"}, ("https://field.example", "field-token")),
        (
            {"url": "https://env.example/api/v2/event/"},
            ENVIRONMENT,
            ("https://env.example", "env-token"),
        ),
        (
            {"url": "https://field.example/api/v2/event/"},
            ENVIRONMENT,
            ("https://field.example", "field-token"),
        ),
        (
            {"url": "https://other.example/api/v2/event/"},
            ENVIRONMENT,
            ("https://other.example", ""),
        ),
        ({"url": "http://field.example/api/v2/event/"}, {}, ("http://field.example", "")),
        (
            {"url": "https://kobo.example/k/api/v2/assets/"},
            {},
            ("https://kobo.example/k", "kobo-token"),
        ),
        ({"url": "https://kobo.example/api/v2/assets/"}, {}, ("https://kobo.example", "")),
    ],
)
def test_choice(
    options: dict[str, str], environment: dict[str, str], expected: tuple[str, str]
) -> None:
    chosen = choose_server(SERVERS, **options, environment=environment)
    assert (chosen.url, chosen.token) == expected
    assert "token" not in repr(chosen)


HOSTS = st.sampled_from(
    ["field.example", "kobo.example", "env.example", "evil.example", "field.example.evil.example"]
)
URLS = st.builds(
    "{}://{}{}{}api/v2/event/".format,
    st.sampled_from(["http", "https"]),
    HOSTS,
    st.sampled_from(["", ":443", ":80", ":8443"]),
    st.sampled_from(["/", "/k/", "/kk/"]),
)


@given(URLS, st.sampled_from([{}, ENVIRONMENT]))
def test_a_token_is_only_for_its_server(url: str, environment: dict[str, str]) -> None:
    chosen = choose_server(SERVERS, url=url, environment=environment)
    owner = {each.token: each.url for each in SERVERS.servers.values()} | {
        "env-token": "https://env.example",
        "": url,
    }
    assert is_below(url, owner[chosen.token])
    assert is_below(url, chosen.url)


def test_wrong_choices() -> None:
    with pytest.raises(InvalidURL, match="in its path"):
        choose_server(SERVERS, url="https://kobo.example/k/../api/v2/event/", environment={})
    with pytest.raises(UsageError, match="not on the server kobo"):
        choose_server(SERVERS, url="https://evil.example/api/v2/", name="kobo", environment={})
    with pytest.raises(UsageError, match="no server named 'nope'"):
        choose_server(SERVERS, name="nope", environment={})
    with pytest.raises(UsageError, match="No server is chosen"):
        choose_server(StoredServers(), environment={})


def test_token_without_a_server_is_not_used() -> None:
    alone = {"FIELDGATE_TOKEN": "x"}
    assert "set FIELDGATE_URL" in unused_token_note(alone)
    assert not unused_token_note(ENVIRONMENT)
    assert choose_server(SERVERS, name="kobo", environment=alone).token == "kobo-token"
    with pytest.raises(UsageError, match="Set FIELDGATE_URL"):  # it would go on as another user
        choose_server(SERVERS, environment=alone)


def test_token_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("file-token\n")
    chosen = choose_server(
        SERVERS, url="https://new.example/", token_file=str(file), environment=ENVIRONMENT
    )
    assert (chosen.url, chosen.token) == ("https://new.example", "file-token")
    file.write_bytes(b"\xff\xfe")
    for wrong in (file, tmp_path, tmp_path / "none"):
        with pytest.raises(FieldgateError, match="cannot be read"):
            read_token(str(wrong))


def test_stored_file_is_private_and_complete(tmp_path: Path) -> None:
    file = tmp_path / "new" / "servers.json"
    servers = StoredServers()
    servers.add("field", FIELD)
    servers.add("kobo", KOBO)
    previous = os.umask(0)
    try:
        save_servers(file, servers)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not is_readable_by_others(file)
    assert load_servers(file) == servers
    assert servers.default == "field"
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    (tmp_path / f".servers.json.{os.getpid()}").symlink_to(target)
    save_servers(tmp_path / "servers.json", StoredServers("x", {"x": FIELD}))
    assert target.read_text() == "untouched"


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    assert load_servers(tmp_path / "none.json") == StoredServers()
    damaged = tmp_path / "damaged.json"
    damaged.write_text(
        '{"servers": {"a": {"url": "https://a.example", "token": 7, "x": "secret-1"}}}'
    )
    with pytest.raises(FieldgateError, match=r"is damaged.*log in again") as raised:
        load_servers(damaged)
    assert "secret" not in str(raised.value)
    with pytest.raises(FieldgateError, match="cannot be read"):
        load_servers(tmp_path)
    with pytest.raises(FieldgateError, match="cannot be written"):
        save_servers(damaged / "servers.json", StoredServers())


@pytest.mark.parametrize(
    ("url", "server", "expected"),
    [
        ("https://field.example/api/v2/event/", "https://field.example", True),
        ("https://FIELD.example:443/api/v2/event/", "https://field.example", True),
        ("https://field.example", "https://field.example", True),
        ("http://field.example/api/v2/event/", "https://field.example", False),
        ("https://field.example:8443/", "https://field.example", False),
        ("https://field.example.evil.example/", "https://field.example", False),
        ("https://evil.example/https://field.example/", "https://field.example", False),
        ("https://field.example@evil.example/", "https://field.example", False),
        ("https://host.example/kobo/api/v2/assets/", "https://host.example/kobo", True),
        ("https://host.example/kobo-evil/api/v2/assets/", "https://host.example/kobo", False),
        ("https://host.example/api/v2/assets/", "https://host.example/kobo", False),
    ],
)
def test_url_on_a_server(url: str, server: str, expected: bool) -> None:
    assert is_below(url, server) is expected
