"""Users of every kind, their assets, and requests they make."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx

from fieldgate.permissions.catalogue import BY_CODENAME
from tests.conftest import BASE_URL, Service
from tests.data.accounts import create_token
from tests.data.assets import create_asset

PUBLIC = "AnonymousUser"
BATCH_PATH = "/api/v2/permission-assignments/"
USERNAMES = ("owner", "manager", "editor", "viewer", "stranger", "boss", "ann", "bob")


def user_url(username: str) -> str:
    return f"{BASE_URL}/api/v2/users/{quote(username)}/"


def permission_url(codename: str) -> str:
    assert codename in BY_CODENAME
    return f"{BASE_URL}/api/v2/permissions/{codename}/"


def last_segment(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[-1]


class SharingTeam:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.headers: dict[str, dict[str, str]] = {"": {}}
        self.user_ids: dict[str, int] = {PUBLIC: -1}

    @classmethod
    async def create(cls, service: Service) -> "SharingTeam":
        team = cls(service)
        for name in USERNAMES:
            await team.add_user(name, is_superuser=name == "boss")
        return team

    async def add_user(self, name: str, **details: Any) -> str:
        _, user_id = await self.service.create_user(name, **details)
        token = create_token(self.service, user_id)
        self.headers[name] = {"Authorization": f"Token {token}"}
        self.user_ids[name] = user_id
        return name

    async def create_asset(
        self, asset_type: str = "survey", owner: str = "owner", parent: str | None = None
    ) -> str:
        """Create an asset and return its uid."""
        # In a thread: some tests create assets while requests write.
        return await asyncio.to_thread(
            create_asset, self.service, self.user_ids[owner], asset_type, collection=parent
        )

    async def create_shared_asset(
        self, asset_type: str = "survey", extra_grants: dict[str, str] | None = None, **given: str
    ) -> str:
        """Create an asset of the owner, shared with the manager, the editor and the viewer. Return its uid."""
        uid = await self.create_asset(asset_type, **given)
        held = {
            "manager": "manage_asset",
            "editor": "change_asset",
            "viewer": "view_asset",
            **(extra_grants or {}),
        }
        new = [{"user": name, "permission": permission} for name, permission in held.items()]
        answer = await self.request_assignments(uid, "boss", "POST", "bulk/", json=new)
        assert answer.status_code == 200, answer.text
        return uid

    async def request(self, by: str, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {**self.headers[by], **options.pop("headers", {})}
        return await self.service.request(method, path, headers=headers, **options)

    async def request_assignments(
        self, uid: str, by: str, method: str, rest: str = "", **options: Any
    ) -> httpx.Response:
        return await self.request(
            by, method, f"/api/v2/assets/{uid}/permission-assignments/{rest}", **options
        )

    async def status(self, uid: str, by: str, method: str, rest: str = "", **options: Any) -> int:
        return (await self.request_assignments(uid, by, method, rest, **options)).status_code

    async def grant(
        self, uid: str, name: str, *permissions: str, by: str = "owner", **more: Any
    ) -> None:
        for permission in permissions:
            body = {"user": name, "permission": permission, **more}
            answer = await self.request_assignments(uid, by, "POST", json=body)
            assert answer.status_code == 201, answer.text

    async def list_assignments(self, uid: str, by: str = "owner") -> list[dict[str, Any]]:
        answer = await self.request_assignments(uid, by, "GET")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found

    async def permissions_of(self, uid: str, name: str) -> set[str]:
        """Return the permissions of a user, as a superuser sees them listed."""
        rows = await self.list_assignments(uid, "boss")
        return {last_segment(row["permission"]) for row in rows if row["user"] == user_url(name)}

    async def assignment_uid(self, uid: str, name: str, permission: str) -> str:
        for row in await self.list_assignments(uid, "boss"):
            if (row["user"], last_segment(row["permission"])) == (user_url(name), permission):
                return last_segment(row["url"])
        raise LookupError(name, permission)

    async def history(self, uid: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        path: str | None = f"/api/v2/assets/{uid}/permission-assignments/history/?limit=1000"
        while path:
            page = (await self.request("boss", "GET", path)).json()
            found += page["results"]
            path = page["next"]
        return found

    async def snapshot(self, uid: str) -> tuple[list[dict[str, Any]], int]:
        """Return all assignments of an asset, and the length of its history."""
        return await self.list_assignments(uid, "boss"), len(await self.history(uid))
