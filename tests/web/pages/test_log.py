"""Pages of the log: sentences, filters, and what people without rights see."""

from collections.abc import AsyncIterator
from html import unescape

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.web.pages.log import log_sentence
from tests.accounts.logged_world import LoggedWorld
from tests.conftest import StartService

HTML = "text/html"


@pytest.fixture
async def logged(start: StartService) -> AsyncIterator[LoggedWorld]:
    async with start() as service:
        world = LoggedWorld(service)
        await world.set_up()
        yield world


async def page(logged: LoggedWorld, path: str, user: str, **headers: str) -> str:
    answer = await logged.service.get(path, headers={**getattr(logged, user).headers, "Accept": HTML, **headers})
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
    raw = (await logged.service.get(f"{logged.path}history/", headers={**logged.bob.headers, "Accept": HTML})).text
    assert "<script>alert" not in raw


async def test_log_page_with_filters(logged: LoggedWorld) -> None:
    shown = await page(logged, "/api/v2/audit-logs/", "root")
    for sentence in ("bob logged in.", "Somebody tried to log in as bob.", "The operator created the user amina."):
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


async def test_quotes_in_filters_are_text(logged: LoggedWorld) -> None:
    headers = {**logged.root.headers, "Accept": HTML}
    params = {"username": 'a" OR username:"amina'}
    answer = await logged.service.get("/api/v2/audit-logs/", headers=headers, params=params)
    found = await logged.service.get(answer.headers["location"] + "&format=json", headers=logged.root.headers)
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
         "Somebody whose account is gone deleted the own account."),
        ({"username": "amina", "user_uid": "u", "action": "dance", "model_name": "star", "metadata": {}},
         "amina did this: dance."),
    ],
)  # fmt: skip
def test_sentences(record: dict[str, object], sentence: str) -> None:
    assert log_sentence(record, Language.ENGLISH).replace("\u2068", "").replace("\u2069", "") == sentence
