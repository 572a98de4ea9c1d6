"""`team`, and `share` with one, against a real server."""

from typing import Any

import httpx
import pytest

from tests.client.cli.conftest import DemoServer, RunClient
from tests.processes import TIMEOUT_SECONDS


def send(server: DemoServer, method: str, path: str, **options: Any) -> Any:
    headers = {"Authorization": f"Token {server.token}"}
    return httpx.request(
        method, server.url + path, headers=headers, timeout=TIMEOUT_SECONDS, **options
    ).json()


@pytest.fixture
def wash(logged_in: DemoServer) -> str:
    """The uid of a team of the demo user."""
    return str(send(logged_in, "POST", "/api/v2/teams/", json={"name": "Wash"})["uid"])


@pytest.fixture
def asset(logged_in: DemoServer) -> str:
    return str(
        send(logged_in, "POST", "/api/v2/assets/", json={"name": "Visit", "asset_type": "survey"})[
            "uid"
        ]
    )


def test_people_join_and_leave_a_team(run: RunClient, wash: str, asset: str) -> None:
    assert f"Wash  admin  1        {wash}" in run("team", "list").out
    shared = run("share", asset, f"team:{wash}", "view_asset")
    assert shared.code == 0, shared.err
    assert f"{asset}  team:Wash  granted  view_asset" in shared.out
    dry = run("team", "add", wash, "bashir", "--dry-run")
    assert (dry.code, dry.err) == (0, "Nothing was changed: this was a dry run.\n")
    assert dry.out.splitlines()[1].split() == [
        "bashir",
        "gains",
        "Visit",
        "Can",
        "view",
        "the",
        "form",
    ]
    assert run("explain", asset, "bashir", "view_asset").out.startswith("No: ")
    assert run("team", "add", wash, "bashir").err == "Added: bashir.\n"
    assert run("team", "add", wash, "bashir").err == "They are in the team already.\n"
    assert "Through Wash." in run("explain", asset, "bashir", "view_asset").out
    shown = run("team", "show", wash).out
    assert "bashir  member" in shown
    assert "Visit" in shown
    dry = run("team", "remove", wash, "bashir", "--dry-run")
    assert dry.out.splitlines()[1].split() == [
        "bashir",
        "loses",
        "Visit",
        "Can",
        "view",
        "the",
        "form",
    ]
    assert run("team", "remove", wash, "bashir").err == "Removed: bashir.\n"
    assert run("explain", asset, "bashir", "view_asset").out.startswith("No: ")


def test_create_a_team(run: RunClient, logged_in: DemoServer) -> None:
    created = run("team", "create", "Water and health", "--description", "Wells")
    assert created.code == 0, created.err
    uid = created.out.split()[-1]
    assert f"Water and health  admin  1        {uid}" in run("team", "list").out
    assert send(logged_in, "GET", f"/api/v2/teams/{uid}/")["description"] == "Wells"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add"], "Give the TEAM"),
        (["add", "wash"], "Give at least one USER."),
        (["create", "Water", "and", "health"], "in quotes if it has several words"),
        (["create", "Water", "--dry-run"], "no --dry-run"),
        (["show", "no team"], "You are in no team 'no team'."),
    ],
)
def test_errors_say_what_to_do(
    run: RunClient, logged_in: DemoServer, arguments: list[str], said: str
) -> None:
    result = run("team", *arguments)
    assert result.code != 0
    assert said in result.err
