"""`login`, `logout` and `servers` against a real server."""

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fieldgate_client.cli.stored_servers import load_servers

from tests.client.cli.conftest import DemoServer, RunClient

TypeIn = Callable[[str], None]


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> TypeIn:
    """Standard input that is not a terminal."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_login_with_a_token(
    run: RunClient, demo_server: DemoServer, config: Path, type_in: TypeIn
) -> None:
    type_in(f"{demo_server.token}\n")
    done = run("login", f"{demo_server.url}/api/v2/")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"Logged in to {demo_server.url} as demo. The token is in {config}.\nThis is the default server.\n"
    )
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert demo_server.token in config.read_text()
    imports = run("fetch", "imports/", "--out", "-")
    assert imports.code == 0
    assert (
        run("fetch", f"{demo_server.url}/api/v2/account/tokens/", "--out", "-").out.count("fgt_")
        >= 1
    ), "by origin"
    listed = run("servers")
    assert listed.out.split() == [
        "name",
        "user",
        "url",
        "127.0.0.1",
        "demo",
        "default",
        demo_server.url,
    ]
    done = run("logout")
    assert done.code == 0
    assert "stays valid" in done.out
    assert load_servers(config).servers == {}
    assert run("logout").code == 2
    assert run("servers").err.startswith("No servers are stored.")


def test_login_with_a_password(
    run: RunClient, demo_server: DemoServer, config: Path, type_in: TypeIn
) -> None:
    for name in ("one", "two"):
        type_in(f"{demo_server.password}\n")
        done = run("login", demo_server.url, "--username", "demo", "--name", name)
        assert done.code == 0, done.err
        assert demo_server.password not in done.out + done.err
    assert "Use it with --server two; the default is one." in done.out
    assert demo_server.password not in config.read_text()
    assert run("servers", "--names").out.split() == ["one", "two"]
    assert run("servers", "--default", "two").code == 0
    assert load_servers(config).default == "two"
    assert run("servers", "--default", "three").code == 2
    assert run("fetch", "account/tokens/", "--server", "one", "--out", "-").code == 0


def test_login_with_scopes(run: RunClient, demo_server: DemoServer, type_in: TypeIn) -> None:
    assert run("login", demo_server.url, "--scopes", "read").code == 2
    type_in(f"{demo_server.password}\n")
    refused = run("login", demo_server.url, "--username", "demo", "--scopes", "fly")
    assert (refused.code, "scopes" in refused.err) == (1, True)
    type_in(f"{demo_server.password}\n")
    assert (
        run("login", demo_server.url, "--username", "demo", "--scopes", "read, imports").code == 0
    )
    assert run("fetch", "assets/", "--out", "-").code == 0
    done = run("fetch", "account/tokens/", "--out", "-")
    assert (done.code, "scope account" in done.err) == (3, True)


def test_refused_credentials_are_not_stored(
    run: RunClient, demo_server: DemoServer, config: Path, type_in: TypeIn
) -> None:
    for arguments, secret in ((["--username", "demo"], "wrong-password"), ([], "fgt_wrong-token")):
        type_in(f"{secret}\n")
        done = run("login", demo_server.url, *arguments)
        assert (done.code, done.out) == (3, "")
        assert "request " in done.err
        assert secret not in done.err
    for secret in ("", "two words"):
        type_in(f"{secret}\n")
        assert run("login", demo_server.url).code == 2
    assert not config.exists()


def test_a_name_is_not_taken_over(run: RunClient, demo_server: DemoServer, type_in: TypeIn) -> None:
    type_in(demo_server.token)
    assert run("login", demo_server.url, "--name", "field").code == 0
    type_in("never-sent")
    done = run("login", "http://127.0.0.1:9", "--name", "field")
    assert done.code == 2
    assert f"field is {demo_server.url} already." in done.err


def test_names_are_safe_in_shells(run: RunClient, demo_server: DemoServer, type_in: TypeIn) -> None:
    for name in ("$(touch x)", "a b", "`x`", "é", ""):
        type_in(demo_server.token)
        assert run("login", "http://$(x)/", "--name", name).code == 2


def test_readable_file_is_reported(run: RunClient, config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(
        json.dumps(
            {"default": "a", "servers": {"a": {"url": "https://a.example", "token": "secret"}}}
        )
    )
    config.chmod(0o644)
    done = run("servers")
    assert done.code == 0
    assert f"chmod 600 {config}" in done.err
    assert "secret" not in done.out + done.err
