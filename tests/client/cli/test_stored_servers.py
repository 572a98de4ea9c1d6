"""The file with servers and tokens."""

import os
import stat
from pathlib import Path

import pytest
from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.stored_servers import (
    StoredServer,
    StoredServers,
    config_file,
    is_below,
    is_readable_by_others,
    load_servers,
    save_servers,
)
from fieldgate_client.errors import FieldgateError

FIELD = StoredServer("https://field.example", "secret-1", "amina")
KOBO = StoredServer("https://host.example/kobo", "secret-2")


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


def test_a_readable_file_is_replaced_by_a_private_one(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text("{}")
    file.chmod(0o644)
    assert is_readable_by_others(file)
    save_servers(file, StoredServers())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    (tmp_path / f".servers.json.{os.getpid()}").symlink_to(target)
    save_servers(tmp_path / "servers.json", StoredServers("x", {"x": FIELD}))
    assert target.read_text() == "untouched"


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    assert load_servers(tmp_path / "none.json") == StoredServers()
    damaged = tmp_path / "damaged.json"
    damaged.write_text('{"servers": {"a": {"url": "https://a.example", "token": 7, "x": "secret-1"}}}')
    with pytest.raises(FieldgateError, match=r"is damaged.*log in again") as raised:
        load_servers(damaged)
    assert "secret" not in str(raised.value)
    with pytest.raises(FieldgateError, match="cannot be read"):
        load_servers(tmp_path)
    with pytest.raises(FieldgateError, match="cannot be written"):
        save_servers(damaged / "servers.json", StoredServers())


def test_tokens_are_not_in_the_representation() -> None:
    assert "secret" not in repr(StoredServers("field", {"field": FIELD}))


def test_removing_the_default(tmp_path: Path) -> None:
    servers = StoredServers()
    servers.add("a", FIELD)
    servers.add("b", KOBO)
    servers.remove("a")
    assert servers.default == "b", "the only one left"
    servers.add("a", FIELD)
    servers.add("c", FIELD)
    servers.remove("b")
    assert servers.default == "", "two are left: the user chooses"
    with pytest.raises(UsageError, match=r"no server named 'b'.*a, c"):
        servers.remove("b")


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


def test_the_longest_path_wins() -> None:
    servers = StoredServers("", {"root": StoredServer("https://host.example", "secret-3"), "kobo": KOBO})
    assert servers.at("https://host.example/kobo/api/v2/assets/") == KOBO
    assert servers.at("https://host.example/api/v2/assets/") == servers.servers["root"]
    assert servers.at("https://other.example/") is None


def test_folder_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_file({"XDG_CONFIG_HOME": "/x"}) == Path("/x/fieldgate-client/servers.json")
    monkeypatch.setattr("sys.platform", "linux")
    assert config_file({}) == Path.home() / ".config/fieldgate-client/servers.json"
    monkeypatch.setattr("sys.platform", "darwin")
    assert config_file({}) == Path.home() / "Library/Application Support/fieldgate-client/servers.json"
    monkeypatch.setattr("sys.platform", "win32")
    assert config_file({"APPDATA": "/r"}) == Path("/r/fieldgate-client/servers.json")
