"""Commands as processes, on both databases."""

import os
import pty
import re
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from fieldgate.cli import main
from fieldgate.db.schema import REQUIRED_REVISION
from tests.conftest import run_service
from tests.data.accounts import PASSWORD
from tests.processes import FIELDGATE_COMMAND, run_command


def made(
    data: Path, *options: str, name: str = "amina", environment: dict[str, str] | None = None
) -> None:
    done = run_command(
        "user",
        "create",
        name,
        "--password-stdin",
        *options,
        data=data,
        stdin=PASSWORD + "\n",
        environment=environment,
    )
    assert (done.returncode, done.stdout) == (0, f"user {name} created\n"), done.stderr


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without users, for commands that fail."""
    data = tmp_path_factory.mktemp("migrated")
    assert run_command("migrate", data=data).returncode == 0
    return data


def test_create_list_and_revoke(tmp_path: Path) -> None:
    made(
        tmp_path,
        "--superuser",
        "--ifrc",
        "--country",
        "KEN",
        "--country",
        "ssd",
        "--first",
        "Amina",
        "--last",
        "D",
    )
    created = run_command("token", "create", "amina", "--expires", "90d", data=tmp_path)
    assert re.fullmatch(r"fgt_\w{40}\n", created.stdout), (
        "the token stands alone on standard output"
    )
    users = run_command("user", "list", data=tmp_path).stdout
    assert re.search(r"1 +amina +superuser, ifrc +KEN, SSD +1 +\d{4}-\d\d-\d\d", users)
    tokens = run_command("token", "list", data=tmp_path).stdout
    assert created.stdout[:10] in tokens
    assert created.stdout.strip() not in tokens
    last = "This is the last active superuser. Make another user a superuser first."
    for refused in (("change", "amina", "--no-superuser"), ("disable", "amina")):
        done = run_command("user", *refused, data=tmp_path)
        assert (done.returncode, done.stderr) == (1, f"Error: {last}\n")
    changes = ("--first", "Zoë", "--no-ifrc", "--country", "tcd")
    assert (
        run_command("user", "change", "AMINA", *changes, data=tmp_path).stdout
        == "user AMINA changed\n"
    )
    assert re.search(
        r"1 +amina +superuser +TCD +1", run_command("user", "list", data=tmp_path).stdout
    )
    assert run_command("token", "revoke", "1", data=tmp_path).stdout == "token 1 revoked\n"
    again = run_command("token", "revoke", "1", data=tmp_path)
    assert (again.returncode, again.stderr) == (
        1,
        "Error: There is no valid token with the id 1.\n",
    )
    made(tmp_path, "--superuser", name="root")
    assert run_command("user", "disable", "AMINA", data=tmp_path).stdout == "user AMINA disabled\n"
    created = run_command("token", "create", "amina", data=tmp_path)
    assert (created.returncode, created.stdout) == (1, "")
    message = (
        f"The user amina does not exist or is disabled. The database is {tmp_path / 'fieldgate.db'}"
    )
    assert created.stderr == f"Error: {message}\n"


def test_service_account(tmp_path: Path) -> None:
    made(tmp_path)
    bot = ("user", "create", "wash_sync", "--owner")
    for options, message in (
        (("nobody",), "There is no user or team nobody."),
        (("team:WASH",), "There is no user or team team:WASH."),
        (
            ("amina", "--superuser"),
            "A service account has no password and no rights. Use --owner with names only.",
        ),
        (("AnonymousUser",), "A service account needs an active person or a team as its owner."),
    ):
        done = run_command(*bot, *options, data=tmp_path)
        assert (done.returncode != 0, f"Error: {message}\n" in done.stderr) == (True, True), (
            done.stderr
        )
    assert run_command(*bot, "Amina", data=tmp_path).stdout == "user wash_sync created\n"
    nested = run_command("user", "create", "nested", "--owner", "wash_sync", data=tmp_path)
    assert (
        nested.stderr == "Error: A service account needs an active person or a team as its owner.\n"
    )
    assert run_command("token", "create", "wash_sync", data=tmp_path).stdout.startswith("fgt_")
    assert re.search(r"wash_sync +amina +1 ", run_command("user", "list", data=tmp_path).stdout)
    for refused in (
        ("password", "wash_sync", "--password-stdin"),
        ("change", "wash_sync", "--superuser"),
    ):
        done = run_command("user", *refused, data=tmp_path, stdin=PASSWORD)
        assert (done.returncode, "is a service account" in done.stderr) == (1, True), done.stderr
    assert run_command("user", "disable", "amina", data=tmp_path).returncode == 0
    done = run_command("user", "enable", "wash_sync", data=tmp_path)
    assert (
        done.stderr == "Error: A service account needs an active person or a team as its owner.\n"
    )
    assert run_command("user", "enable", "amina", data=tmp_path).returncode == 0
    assert (
        run_command("user", "enable", "wash_sync", data=tmp_path).stdout
        == "user wash_sync enabled\n"
    )


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (
            ("user", "create", "amina", "--password-stdin"),
            "short",
            "The password is too short: at least 8 characters.",
        ),
        (
            ("user", "create", "amina", "--password-stdin"),
            f"fgt_{'a' * 40}",
            "The password has the form of a token",
        ),
        (
            ("user", "create", "a b", "--password-stdin"),
            PASSWORD,
            "then use a to z, digits and _ only",
        ),
        (
            ("user", "create", "xavier", "--password-stdin", "--country", "xyzzy"),
            PASSWORD,
            "Enter three letters such as KEN.",
        ),
        (
            ("user", "password", "AnonymousUser", "--password-stdin"),
            PASSWORD,
            "The user AnonymousUser does not exist.",
        ),
        (("token", "create", "AnonymousUser"), "", "The user AnonymousUser does not exist"),
        (("user", "disable", "nobody"), "", "The user nobody does not exist."),
        (("user", "delete", "nobody", "--yes"), "", "The user nobody does not exist."),
        (("token", "create", "nobody"), "", "The user nobody does not exist"),
        (("user", "enable", "nobody"), "", "The user nobody does not exist."),
        (("user", "change", "nobody", "--ifrc"), "", "The user nobody does not exist."),
        (("user", "change", "amina"), "", "Say what to change, for example --superuser."),
        (
            ("user", "password", "nobody", "--password-stdin"),
            PASSWORD,
            "The user nobody does not exist.",
        ),
        (("token", "revoke", "99999999999999999999"), "", "is not in the range"),
        (
            ("token", "create", "x", "--expires", "soon"),
            "",
            "expected a duration such as 90d, 12h or 30m, not 'soon'.",
        ),
    ],
)
def test_invalid_arguments_have_a_message(
    migrated: Path, arguments: tuple[str, ...], stdin: str, message: str
) -> None:
    done = run_command(*arguments, data=migrated, stdin=stdin)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_name_is_checked_before_the_password_is_read(tmp_path: Path) -> None:
    made(tmp_path)
    done = run_command("user", "create", "amina", "--password-stdin", data=tmp_path, stdin="short")
    assert (done.returncode, done.stderr) == (1, "Error: The user amina already exists.\n")
    other = tmp_path / "other"
    done = run_command("user", "create", "amina", "--password-stdin", data=other, stdin="short")
    assert "The password is too short" in done.stderr
    assert not other.exists(), "a command that fails creates no database"


def test_options_in_variables_are_not_unknown_settings(migrated: Path) -> None:
    done = run_command(
        "user",
        "list",
        data=migrated,
        environment={"FIELDGATE_SYNC_TOKEN": "x", "FIELDGATE_TYPO": "x"},
    )
    assert done.stderr == "Warning: FIELDGATE_TYPO is not a setting and has no effect.\n"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "FIELDGATE_PORT",
            "many",
            "FIELDGATE_PORT: expected a whole number from 0 to 65535, not 'many'.",
        ),
        (
            "FIELDGATE_DATABASE_URL",
            "foo",
            "FIELDGATE_DATABASE_URL: sqlite:///… or postgresql://… is needed",
        ),
        ("FIELDGATE_DATABASE_URL", "sqlite://", "the name of a database is missing"),
        (
            "FIELDGATE_DATABASE_URL",
            "postgresql://u@127.0.0.1:9/d",
            "The database cannot be reached: ",
        ),
    ],
)
def test_invalid_settings_are_reported(
    tmp_path: Path, variable: str, value: str, message: str
) -> None:
    done = run_command("user", "list", data=tmp_path, environment={variable: value})
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "fieldgate.db").write_text("not a database, but long enough to be looked at " * 50)
    done = run_command("user", "list", data=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "Error: The database cannot be used: file is not a database\n",
    )


def test_change_password_disable_and_enable(tmp_path: Path) -> None:
    made(tmp_path)
    done = run_command(
        "user", "password", "amina", "--password-stdin", data=tmp_path, stdin="another password"
    )
    assert done.stdout == "password of user amina changed\n"
    run_command("user", "disable", "amina", data=tmp_path)
    assert run_command("user", "enable", "amina", data=tmp_path).stdout == "user amina enabled\n"
    assert run_command("token", "create", "amina", data=tmp_path).returncode == 0
    entries = sqlite3.connect(tmp_path / "fieldgate.db").execute(
        "SELECT action, credential, subject_name FROM log"
    )
    assert entries.fetchall() == [
        (action, "command", "amina")
        for action in ("create", "change-password", "disable", "enable", "create")
    ]


def test_delete_asks_first_and_reserves_the_name(tmp_path: Path) -> None:
    made(tmp_path)
    asked = run_command("user", "delete", "amina", data=tmp_path, stdin="n\n")
    assert (asked.returncode, asked.stderr) == (1, "Aborted!\n")
    assert (
        run_command("user", "delete", "AMINA", "--yes", data=tmp_path).stdout
        == "user AMINA deleted\n"
    )
    again = run_command(
        "user", "create", "amina", "--password-stdin", data=tmp_path, stdin=PASSWORD + "\n"
    )
    assert (again.returncode, again.stderr) == (1, "Error: The user amina already exists.\n")


def test_password_must_be_utf8(tmp_path: Path) -> None:
    command: list[str | Path] = [
        FIELDGATE_COMMAND,
        "user",
        "create",
        "amina",
        "--password-stdin",
        "--data",
        tmp_path,
    ]
    done = subprocess.run(command, input=b"\xff" * 20, capture_output=True, check=False)
    assert done.stderr == b"Error: The password on standard input must be UTF-8.\n"


def test_postgresql_is_migrated_by_command_only(
    tmp_path: Path, empty_database_url: str, database_kind: str
) -> None:
    environment = {"FIELDGATE_DATABASE_URL": empty_database_url}
    before = run_command("user", "list", data=tmp_path, environment=environment)
    assert before.returncode == 1
    assert "Run: fieldgate migrate" in before.stderr
    if database_kind == "postgresql":
        begun = run_command("events", "demo", "1", data=tmp_path, environment=environment)
        assert "Run: fieldgate migrate" in begun.stderr
    migrated = run_command("migrate", data=tmp_path, environment=environment)
    assert migrated.stdout == f"schema {REQUIRED_REVISION}, was empty\n"
    assert migrated.stderr.startswith("Creating a new database: ")
    assert (
        run_command("migrate", data=tmp_path, environment=environment).stdout
        == f"schema {REQUIRED_REVISION} (nothing to do)\n"
    )
    made(tmp_path, environment=environment)
    assert "amina" in run_command("user", "list", data=tmp_path, environment=environment).stdout


async def test_commands_take_effect_in_a_running_service(tmp_path: Path) -> None:
    """A running service sees a new user, a disabled one and a revoked token in its next response."""
    from fieldgate.settings import Settings

    async with run_service(Settings(data=tmp_path, access_log=False)) as service:
        made(tmp_path)
        token = run_command("token", "create", "amina", data=tmp_path).stdout.strip()
        headers = {"Authorization": f"Token {token}"}
        assert (await service.get("/api/v2/permissions/", headers=headers)).status_code == 200
        answer = await service.client.get("/token/", auth=httpx.BasicAuth("amina", "wrong"))
        assert answer.status_code == 401
        for action, status in (("disable", 401), ("enable", 401)):
            run_command("user", action, "amina", data=tmp_path)
            for _ in range(2):
                assert (
                    await service.get("/api/v2/permissions/", headers=headers)
                ).status_code == status
        token = run_command("token", "create", "amina", data=tmp_path).stdout.strip()
        headers = {"Authorization": f"Token {token}"}
        assert (await service.get("/api/v2/permissions/", headers=headers)).status_code == 200
        run_command("token", "revoke", "2", data=tmp_path)
        assert (await service.get("/api/v2/permissions/", headers=headers)).status_code == 401


def test_unusable_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_command("migrate", data=tmp_path / "file" / "data")
    assert done.returncode == 1
    assert "cannot be used: Not a directory." in done.stderr


def run_in_terminal(*arguments: str | Path, answers: Sequence[str]) -> tuple[int, str]:
    """Run a command in a terminal, and answer each time it asks for a password. Return its status and what is shown."""
    ours, theirs = pty.openpty()
    command = [FIELDGATE_COMMAND, *arguments]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        shown, remaining = "", [*answers]
        with suppress(OSError):  # the command has ended
            while part := os.read(ours, 4096):
                shown += part.decode()
                if remaining and shown.endswith(": "):
                    os.write(ours, f"{remaining.pop(0)}\n".encode())
    os.close(ours)
    return process.returncode, shown


def test_password_prompt_needs_confirmation(tmp_path: Path) -> None:
    answers = (PASSWORD, "another", PASSWORD, PASSWORD)
    status, shown = run_in_terminal("user", "create", "amina", "--data", tmp_path, answers=answers)
    assert status == 0, shown
    assert "do not match" in shown
    assert PASSWORD not in shown


@pytest.mark.parametrize("command", ["create", "password"])
def test_password_is_not_asked_for_without_a_terminal(tmp_path: Path, command: str) -> None:
    if command == "password":
        made(tmp_path)
    done = run_command("user", command, "amina", data=tmp_path)
    message = "There is no terminal to ask for the password. Use --password-stdin to read it from standard input."
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {message}\n")


@pytest.mark.parametrize(
    ("code", "nearest"),
    [("KEM", "KEN (Kenya), "), ("germny", "DEU (Germany)"), ("perú", "PER (Peru)")],
)
def test_unknown_country_is_refused_with_the_nearest(
    migrated: Path, code: str, nearest: str
) -> None:
    options = ("--password-stdin", "--country", "SSD", "--country", code)
    done = run_command("user", "create", "amina", *options, data=migrated, stdin=PASSWORD)
    assert done.returncode == 2
    assert f"no country has the code '{code}'. The nearest are: {nearest}" in done.stderr
    assert "amina" not in run_command("user", "list", data=migrated).stdout


@pytest.mark.parametrize("name", ["fetch", "import", "share"])
def test_help_has_the_right_name(name: str) -> None:
    done = CliRunner().invoke(main, [name, "--help"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"usage: fieldgate {name} [-h]")
    assert f"\n  fieldgate {name} " in done.stdout
    assert "exit codes:" in done.stdout


def test_all_arguments_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = CliRunner().invoke(
        main, ["fetch", "--server", "field", "--out", "x.csv", "--", "event/"]
    )
    assert done.exit_code == 2
    assert done.stderr.startswith("fieldgate fetch: error: There is no server named 'field'.")
