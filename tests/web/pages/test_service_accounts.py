"""Pages of service accounts, without JavaScript."""

import re

from tests.access.permission_world import PermissionWorld
from tests.conftest import StartService
from tests.web.page_client import PageClient, visible_text

LIST = "/api/v2/service-accounts/"
BOT = f"{LIST}wash_sync/"


async def test_create_use_and_disable_an_account(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        admin, root = (
            await world.create_user(username="amina"),
            await world.create_user(is_superuser=True),
        )
        team = await world.create_team(admin)
        client = await PageClient.logged_in(service, admin.id)
        assert (
            f'href="{LIST}?team={team.uid}"'
            in (await client.get(f"/api/v2/teams/{team.uid}/")).text
        )
        assert f'value="{team.uid}" selected' in (await client.get(f"{LIST}?team={team.uid}")).text

        by_root = await (await PageClient.logged_in(service, root.id)).get(
            f"{LIST}?team={team.uid}"
        )
        assert f'value="{team.uid}" selected' in by_root.text

        wrong = await client.submit(LIST, "create", {"username": "Wash Sync", "team": ""})
        assert (wrong.status_code, 'id="create-username-error"' in wrong.text) == (400, True)
        page = await client.submit_and_follow(
            LIST, "create", {"username": "wash_sync", "team": team.uid}
        )
        assert "The service account wash_sync was created." in visible_text(page.text)
        created = await client.submit(
            BOT, "create-token", {"name": "Server", "lifetime_days": "30", "scopes": "read"}
        )
        [token] = re.findall(r"fgt_\w{40}", created.text)
        headers = {"Authorization": f"Token {token}"}
        assert (await service.get("/me/", headers=headers)).json()["username"] == "wash_sync"
        for path in (LIST, "/account/"):
            assert "wash_sync Team 0 Active 1" in visible_text((await client.get(path)).text)
        listed = visible_text((await client.get(f"{BOT}tokens/")).text)
        assert ("Server" in listed, token in listed) == (True, False)
        of_users = visible_text(
            (await (await PageClient.logged_in(service, root.id)).get("/api/v2/users/")).text
        )
        assert "wash_sync Service account of \u2068team:Team 0\u2069" in of_users

        [token_id] = re.findall(r'name="id" value="(\d+)"', (await client.get(BOT)).text)
        await client.submit_and_follow(BOT, "revoke", {"id": token_id, "name": "Server"})
        assert (await service.get("/me/", headers=headers)).status_code == 401
        disabled = await client.submit_and_follow(BOT, "disable")
        assert ("form-enable" in disabled.text, "form-create-token" in disabled.text) == (
            True,
            False,
        )
        assert "form-create-token" in (await client.submit_and_follow(BOT, "enable")).text


async def test_log_says_why_an_account_was_disabled(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        owner, root = (
            await world.create_user(username="amina"),
            await world.create_user(is_superuser=True),
        )
        client = await PageClient.logged_in(service, owner.id)
        await client.submit_and_follow(LIST, "create", {"username": "wash_sync", "team": ""})
        await world.disable(owner)
        log = visible_text(
            (await (await PageClient.logged_in(service, root.id)).get("/api/v2/audit-logs/")).text
        )
        assert "wash_sync\u2069 was disabled, because its owner was disabled or deleted." in log
