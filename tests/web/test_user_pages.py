"""Pages of users: for superusers with forms, for others what the API shows them."""

import re
from html import unescape

from sqlalchemy import func, select

from fieldgate.assets.tables import assets
from tests.access.permission_world import PermissionWorld
from tests.conftest import Service, StartService
from tests.data.accounts import find_user, tokens_of
from tests.data.sql import read_sql
from tests.web.page_client import PageClient, visible_text

USERS = "/api/v2/users/"
HOSTILE = '"><script>alert(1)</script>'


async def new_admin(service: Service, language: str = "en") -> PageClient:
    _, user_id = await service.create_user(is_superuser=True)
    return await PageClient.logged_in(service, user_id, language)


def link_of(page: str) -> str:
    [link] = re.findall(r"/invitation/(fgi_\w{40})/", page)
    return str(link)


async def test_user_is_created_with_a_link(start: StartService) -> None:
    async with start() as service:
        admin = await new_admin(service)
        fields = {
            "username": "zoe",
            "first_name": HOSTILE,
            "last_name": "Ali",
            "rights": ["is_ifrc"],
            "countries": ["KEN", "SSD"],
        }
        page = await admin.submit(USERS, "create", fields)
        assert page.status_code == 200
        assert page.headers["Cache-Control"] == "no-store"
        assert "<script>alert" not in page.text
        link = await service.get(f"/invitation/{link_of(page.text)}/")
        assert link.status_code == 200
        assert 'value="zoe"' in link.text
        found = find_user(service, "zoe")
        assert found is not None
        assert (found.username, found.is_ifrc, found.is_superuser, found.countries) == (
            "zoe",
            True,
            False,
            ["KEN", "SSD"],
        )
        again = await admin.get(USERS)
        assert "fgi_" not in again.text
        assert HOSTILE in unescape(again.text)
        assert "Kenya and South Sudan" in visible_text(again.text)


async def test_reload_replaces_no_link_and_creates_no_second_user(start: StartService) -> None:
    async with start() as service:
        admin = await new_admin(service)
        for path, form, fields in (
            (USERS, "create", {"username": "zoe"}),
            (f"{USERS}zoe/", "invite", {}),
        ):
            page = await admin.get(path)
            created = await admin.submit_from(page, path, form, fields)
            secret = link_of(created.text)
            reloaded = await admin.submit_from(page, path, form, fields)
            assert reloaded.status_code == 400
            assert "This form was sent before" in visible_text(reloaded.text)
            assert "fgi_" not in reloaded.text
            link = await service.get(f"/invitation/{secret}/")
            assert link.status_code == 200, "the link that was sent to the user still works"


async def test_transfer_is_previewed_and_confirmed(start: StartService) -> None:
    async with start() as service:
        admin = await new_admin(service)
        world = PermissionWorld(service)
        omar, amina = (
            await world.create_user(username="omar"),
            await world.create_user(username="amina"),
        )
        for asset_type in ("survey", "survey", "collection"):
            survey = await world.create_asset(omar, asset_type)
        await world.grant(amina, survey, "view_asset")

        async def owned(user_id: int) -> int:
            with read_sql(service) as connection:
                query = select(func.count()).select_from(assets).where(assets.c.owner_id == user_id)
                return int(connection.execute(query).scalar_one())

        page = await admin.submit(f"{USERS}omar/", "transfer", {"to": "amina"})
        text = visible_text(page.text)
        assert page.status_code == 200
        assert "3 items of omar would belong to amina:" in text
        assert "Forms: 2" in text
        assert "Collections: 1" in text
        assert "1 permission that amina has now is replaced by ownership." in text
        assert (await owned(omar.id), await owned(amina.id)) == (3, 0)
        done = await admin.submit_and_follow(
            f"{USERS}omar/", "transfer", {"to": "amina", "step": "confirm"}
        )
        assert "3 items now belong to amina." in visible_text(done.text)
        assert (await owned(omar.id), await owned(amina.id)) == (0, 3)
        nothing = await admin.submit(f"{USERS}omar/", "transfer", {"to": "amina"})
        assert "omar owns nothing that could be transferred." in visible_text(nothing.text)
        wrong = await admin.submit(f"{USERS}omar/", "transfer", {"to": HOSTILE, "step": "confirm"})
        assert wrong.status_code == 400
        assert 'id="transfer-to-error"' in wrong.text
        assert "<script>alert" not in wrong.text


async def test_user_is_changed_on_the_page(start: StartService) -> None:
    async with start() as service:
        admin = await new_admin(service)
        world = PermissionWorld(service)
        omar = await world.create_user(username="omar", first_name="Omar", countries=("KEN",))
        await PageClient.logged_in(service, omar.id)
        path = f"{USERS}omar/"
        page = await admin.get(path)
        assert 'value="Omar"' in page.text
        assert '<option value="KEN" selected>' in page.text
        fields = {"first_name": HOSTILE, "rights": ["is_superuser"], "countries": ["SSD"]}
        changed = await admin.submit_and_follow(path, "change", fields)
        assert "The account of omar was changed." in visible_text(changed.text)
        assert "<script>alert" not in changed.text
        record = find_user(service, "omar")
        assert record is not None
        assert (record.first_name, record.is_superuser, record.is_ifrc, record.countries) == (
            HOSTILE,
            True,
            False,
            ["SSD"],
        )
        wrong = await admin.submit(path, "change", {"first_name": "x" * 151})
        assert (wrong.status_code, 'id="change-first_name-error"' in wrong.text) == (400, True)

        [token] = [row for row in tokens_of(service, omar.id) if row.issued_by == "command"]
        shown = await admin.get(f"{path}tokens/")
        assert token.prefix in shown.text
        revoked = await admin.submit_and_follow(path, "revoke", {"id": str(token.id)})
        assert "omar has no tokens." in visible_text(revoked.text)
        ended = await admin.submit_and_follow(path, "end-sessions")
        assert "omar is logged out in all browsers." in visible_text(ended.text)
        assert "omar is not logged in in any browser." in visible_text(ended.text)


async def test_ordinary_users_see_no_forms(start: StartService) -> None:
    async with start() as service:
        _, user_id = await service.create_user(first_name="Secret", last_name="Name")
        await service.create_user("amina", first_name="Hidden", is_superuser=True)
        client = await PageClient.logged_in(service, user_id)
        assert (await client.get(USERS)).status_code == 403
        page = await client.get(f"{USERS}amina/")
        assert page.status_code == 200
        assert 'id="form-' not in page.text
        for word in ("Hidden", "Superuser", "Last login"):
            assert word not in visible_text(page.text)
        public = await client.get(f"{USERS}AnonymousUser/")
        assert "Everybody (public)" in visible_text(public.text)
        for form in ("invite", "disable", "enable", "transfer", "change", "revoke", "end-sessions"):
            answer = await client.submit(f"{USERS}amina/", form, {"to": "amina", "id": "1"})
            assert answer.status_code == 400
            assert "Only superusers can do this." in visible_text(answer.text)
        assert (await client.submit(USERS, "create", {"username": "xavier"})).status_code in (
            400,
            403,
        )
        assert find_user(service, "xavier") is None
