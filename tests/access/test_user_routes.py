"""`/api/v2/users/`: users who can be given permissions."""

import httpx
import pytest

from tests.access.permission_world import PUBLIC_USER, PermissionWorld
from tests.conftest import BASE_URL, PASSWORD, StartService

PATH = "/api/v2/users/"


@pytest.mark.parametrize("username", ["amina", "Zoë", "a+b@c.d-e_f", "Ецик", "x.y"])
async def test_user_detail_url(start: StartService, database_url: str, username: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        user, asking = await world.create_user(username=username), await world.create_user()
        url = str(httpx.URL(f"{BASE_URL}{PATH}{username}/"))
        answer = await service.get(url, headers=asking.headers)
        record = answer.json()
        assert list(record) == ["url", "username", "date_joined", "public_collection_subscribers_count",
                                "public_collections_count"]  # fmt: skip
        assert (record["username"], record["public_collections_count"]) == (username, 0)
        assert (await service.get(record["url"], headers=asking.headers)).json() == record
        assert (await service.get(f"{PATH}{username.upper()}", headers=asking.headers)).json() == record
        assert (await service.get(f"{PATH}{username}.json", headers=asking.headers)).json() == record
        collection = await world.create_asset(user, "collection")
        await world.grant(PUBLIC_USER, collection, "view_asset")
        assert (await service.get(url, headers=asking.headers)).json()["public_collections_count"] == 0
        await world.grant(PUBLIC_USER, collection, "discover_asset")
        assert (await service.get(url, headers=asking.headers)).json()["public_collections_count"] == 1


async def test_user_lookup(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        asking, closed = await world.create_user(), await world.create_user()
        assert (await service.get(f"{PATH}{asking.username}/")).status_code == 401
        public = (await service.get(f"{PATH}anonymoususer/", headers=asking.headers)).json()
        assert (public["url"], public["username"]) == (f"{BASE_URL}{PATH}AnonymousUser/", "AnonymousUser")
        await world.disable(closed)
        for name in (closed.username, "nobody"):
            gone = await service.get(f"{PATH}{name}/", headers=asking.headers)
            assert (gone.status_code, gone.json()) == (404, {"detail": f"There is no user {name}."})


async def test_user_list_requires_superuser(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        superuser = await world.create_user(username="root", is_superuser=True)
        for name in ("Zoë", "amina", "Amin_", "carl"):
            await world.create_user(username=name)
        await world.disable(world.users[-1])
        assert (await service.get(PATH)).status_code == 401
        refused = await service.get(PATH, headers=world.users[1].headers)
        assert refused.status_code == 403

        async def names(query: str = "") -> list[str]:
            answer = await service.get(f"{PATH}?{query}", headers=superuser.headers)
            return [record["username"] for record in answer.json()["results"]]

        assert await names() == ["Amin_", "amina", "root", "Zoë"]
        assert await names("search=AMIN") == ["Amin_", "amina"]
        assert await names("search=ZOË") == ["Zoë"]
        assert await names("search=n_") == ["Amin_"], "what means something to a database means itself"
        assert await names("limit=2&offset=1") == ["amina", "root"]


@pytest.mark.parametrize("name", ["AnonymousUser", "anonymoususer", "ANONYMOUSUSER"])
async def test_public_user_cannot_log_in(start: StartService, name: str) -> None:
    async with start() as service:
        for password in ("", PASSWORD):
            basic = await service.get("/token/", auth=httpx.BasicAuth(name, password))
            assert basic.status_code == 401
        body = {"username": name, "password": PASSWORD}
        assert (await service.client.post("/get_auth_token", json=body)).status_code == 400
        assert (await service.client.post("/login/", data=body)).status_code == 401
