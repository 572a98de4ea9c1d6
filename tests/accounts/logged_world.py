"""A service with entries in its log."""

from typing import Any

import httpx

from tests.access.permission_world import PermissionWorld
from tests.conftest import Service
from tests.data.accounts import PASSWORD

AGENT = {"User-Agent": "Browser of Amina", "X-Forwarded-For": "6.6.6.6", "X-Request-Id": "forged"}


class LoggedWorld:
    """A form of amina, which bob manages and zoe views, with a history; logins of amina and bob."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        create = self.world.create_user
        self.root = await create(username="root", is_superuser=True)
        self.amina, self.bob, self.zoe = [
            await create(username=name) for name in ("amina", "bob", "zoe")
        ]
        created = await self.send("POST", "/api/v2/assets/", json={"name": "Survey"})
        self.path = f"/api/v2/assets/{created.json()['uid']}/"
        await self.send("PATCH", self.path, json={"name": "=cmd|' /C calc'!A0"})
        for name, permission in (("bob", "manage_asset"), ("zoe", "view_asset")):
            body = {"user": name, "permission": permission}
            await self.send("POST", f"{self.path}permission-assignments/", json=body)
        for name, password in (("amina", PASSWORD), ("bob", PASSWORD), ("bob", "wrong")):
            body = {"username": name, "password": password}
            await self.service.request("POST", "/get_auth_token", json=body, headers=AGENT)

    async def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = await self.service.request(
            method, path, headers={**self.amina.headers, **AGENT}, **options
        )
        assert answer.status_code < 400, answer.text
        return answer

    async def read(self, path: str, user: str = "root", status: int = 200, **params: Any) -> Any:
        headers = getattr(self, user).headers if user else {}
        answer = await self.service.request("GET", path, headers=headers, params=params)
        assert answer.status_code == status, answer.text
        return (
            answer.json()
            if answer.headers["content-type"].startswith("application/json")
            else answer.text
        )

    async def actions(self, path: str, user: str = "root", **params: Any) -> list[str]:
        return [each["action"] for each in (await self.read(path, user, **params))["results"]]
