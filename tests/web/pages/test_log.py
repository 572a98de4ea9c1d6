"""Pages of the log: sentences, filters, and what people without rights see."""

import re
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.web.pages.log import log_sentence
from tests.accounts.logged_world import LoggedWorld
from tests.conftest import StartService
from tests.data.accounts import PASSWORD
from tests.data.commands import run_command

HTML = "text/html"
GUIDE = Path(__file__).parents[3] / "docs" / "guide.md"


@pytest.fixture
async def logged(start: StartService) -> AsyncIterator[LoggedWorld]:
    async with start() as service:
        world = LoggedWorld(service)
        await world.set_up()
        yield world


async def page(logged: LoggedWorld, path: str, user: str, **headers: str) -> str:
    answer = await logged.service.get(
        path, headers={**getattr(logged, user).headers, "Accept": HTML, **headers}
    )
    assert answer.status_code == 200, answer.text
    return unescape(answer.text).replace("\u2068", "").replace("\u2069", "")


async def test_history_of_a_form_in_sentences(logged: LoggedWorld) -> None:
    await logged.send("PATCH", logged.path, json={"name": "<script>alert(1)</script>"})
    shown = await page(logged, f"{logged.path}history/", "bob")
    for sentence in (
        "amina created it.",
        "amina gave bob “Manage project”.",
        "amina gave zoe “View form”.",
        "amina changed the name from “Survey” to “=cmd|' /C calc'!A0”.",
    ):
        assert sentence in shown
    assert "127.0.0.1" not in shown.split('class="programs"')[0].split("<main")[1]
    raw = (
        await logged.service.get(
            f"{logged.path}history/", headers={**logged.bob.headers, "Accept": HTML}
        )
    ).text
    assert "<script>alert" not in raw


@pytest.mark.parametrize("is_invited", [True, False])
async def test_hand_over_names_both_owners(logged: LoggedWorld, is_invited: bool) -> None:
    """Also if the former owner loses nothing, and the new one could do everything before."""
    if is_invited:
        body = {"recipient": "/api/v2/users/bob/", "assets": [logged.path.split("/")[-2]]}
        invite = (
            await logged.send("POST", "/api/v2/project-ownership/invites/", json=body)
        ).json()["url"]
        headers = logged.bob.headers
        answer = await logged.service.request(
            "PATCH", invite, json={"status": "accepted"}, headers=headers
        )
    else:
        headers = logged.root.headers
        answer = await logged.service.request(
            "POST", "/api/v2/users/amina/transfer/", json={"to": "bob"}, headers=headers
        )
    assert answer.status_code == 200, answer.text
    sentence = "bob became the owner." if is_invited else "root made bob the owner."
    for path, user in ((f"{logged.path}history/", "bob"), ("/api/v2/audit-logs/", "root")):
        shown = await page(logged, path, user)
        assert f"{sentence} Before, it belonged to amina." in shown
        assert ("root took away" in shown) != is_invited
    [entry] = [
        each
        for each in (await logged.read(f"{logged.path}history/", "bob"))["results"]
        if each["action"] == "transfer"
    ]
    assert entry["metadata"]["permissions"]["username"] == "bob"
    assert "effects" not in entry["metadata"]


async def test_sentences_about_permissions_say_until_when(logged: LoggedWorld) -> None:
    await logged.send("POST", "/api/v2/teams/", json={"name": "WASH"})
    for user, permission, more in (
        ("team:WASH", "change_asset", {"expires_at": "2099-12-31"}),
        ("zoe", "view_asset", {"expires_at": "2099-12-31"}),
        ("zoe", "change_asset", {}),
    ):
        body = {"user": user, "permission": permission, **more}
        await logged.send("POST", f"{logged.path}permission-assignments/", json=body)
    for path in (f"{logged.path}history/", f"{logged.path}permission-assignments/history/"):
        shown = await page(logged, path, "amina")
        for sentence in (
            "amina gave the team WASH “Edit form” until Dec 31, 2099.",
            "amina changed when the access of zoe ends: “View form” until Dec 31, 2099.",
            "amina gave zoe “Edit form”. This also changed when access ends: “View form” without an end.",
        ):
            assert sentence in shown, path


async def test_log_page_with_filters(logged: LoggedWorld) -> None:
    created = await run_command(
        logged.service, "user", "create", "lucia", "--password-stdin", stdin=PASSWORD
    )
    assert created.exit_code == 0, created.output
    shown = await page(logged, "/api/v2/audit-logs/", "root")
    for sentence in (
        "bob logged in.",
        "Somebody tried to log in as bob.",
        "The operator created the user lucia.",
    ):
        assert sentence in shown
    query = "?action=update-name&username=amina&from=2020-01-01&to=&form="
    headers = {**logged.root.headers, "Accept": HTML}
    answer = await logged.service.get(f"/api/v2/audit-logs/{query}", headers=headers)
    assert answer.status_code == 303
    target = answer.headers["location"]
    filtered = await page(logged, target, "root")
    assert "amina changed the name" in filtered
    assert "logged in." not in filtered
    assert 'name="action" value="update-name"' in filtered
    assert 'value="amina"' in filtered
    assert 'value="2020-01-01"' in filtered


async def test_guide_has_all_actions(logged: LoggedWorld) -> None:
    section = GUIDE.read_text().split("### The log")[1].split("\n## ")[0]
    offered = re.findall(
        r'<option value="([\w-]+)"></option>', await page(logged, "/api/v2/audit-logs/", "root")
    )
    assert len(offered) > 30
    assert [each for each in offered if f"`{each}`" not in section] == []


async def test_quotes_in_filters_are_text(logged: LoggedWorld) -> None:
    headers = {**logged.root.headers, "Accept": HTML}
    params = {"username": 'a" OR username:"amina'}
    answer = await logged.service.get("/api/v2/audit-logs/", headers=headers, params=params)
    found = await logged.service.get(
        answer.headers["location"] + "&format=json", headers=logged.root.headers
    )
    assert found.json()["count"] == 0


async def test_account_page_shows_logins(logged: LoggedWorld) -> None:
    shown = await page(logged, "/account/", "amina")
    assert "My logins" in shown
    assert "Browser of Amina" in shown
    assert "audit-logs" not in shown
    assert "audit-logs" in await page(logged, "/account/", "root")


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"username": "", "user_uid": "uX", "action": "create", "metadata": {"asset_uid": "a"}},
         "Somebody whose account is gone created it."),
        ({"username": "", "user_uid": "", "action": "export", "metadata": {"asset_uid": "a", "credential": ""}},
         "Somebody who was not logged in downloaded it."),
        ({"username": "amina", "user_uid": "u", "action": "update-content",
          "metadata": {"asset_uid": "a", "restored_version_uid": "v"}}, "amina restored an earlier version."),
        ({"username": "amina", "user_uid": "u", "action": "remove", "model_name": "token",
          "metadata": {"changed_user": "bob"}}, "amina revoked a token of bob."),
        ({"username": "amina", "user_uid": "u", "action": "transfer-invite",
          "metadata": {"asset_uid": "a", "changed_user": "bob"}}, "amina invited bob to own it."),
        ({"username": "", "user_uid": "u", "action": "delete", "model_name": "user", "metadata": {}},
         "Somebody whose account is gone deleted their own account."),
        ({"username": "", "user_uid": "", "action": "auth-failed", "metadata": {"credential": "password"}},
         "Somebody tried to log in with an unknown name."),
        ({"username": "amina", "user_uid": "u", "action": "transfer-invite",
          "metadata": {"asset_uid": "a", "changed_user": ""}},
         "amina invited somebody whose account is gone to own it."),
        *(({"username": "amina", "user_uid": "u", "action": "update-member", "model_name": "team",
            "metadata": {"changed_user": "bob", "name": "WASH", "role": role}}, f"amina made bob {what}.")
          for role, what in (("admin", "an admin of the team WASH"),
                             ("member", "a member of the team WASH who is not an admin"))),
        ({"username": "amina", "user_uid": "u", "action": "delete", "model_name": "event", "metadata": {"uid": "7001"}},
         "amina deleted the emergency with the number 7001."),
        ({"username": "amina", "user_uid": "u", "action": "dance", "model_name": "star", "metadata": {}},
         "amina did this: dance."),
    ],
)  # fmt: skip
def test_sentences(record: dict[str, object], sentence: str) -> None:
    assert (
        log_sentence(record, Language.ENGLISH).replace("\u2068", "").replace("\u2069", "")
        == sentence
    )
