"""Forms, users and browsers for tests of pages of forms."""

from typing import Any

from fieldgate.accounts.store import IssuedBy
from fieldgate.assets.form_checker import CheckedContent
from fieldgate.assets.store import AssetStore, NewAsset, NewVersion
from fieldgate.assets.tables import files
from tests.conftest import Service
from tests.web.page_client import PageClient

CONTENT: dict[str, Any] = {
    "schema": "1",
    "survey": [
        {"type": "begin_group", "name": "home", "label": ["Home", "البيت"]},
        {"type": "select_one", "select_from_list_name": "roof", "name": "roof", "label": ["Roof?", "السقف؟"],
         "hint": ["Look up", None], "required": True},
        {"type": "end_group"},
        {"type": "integer", "name": "rooms", "label": ["Rooms?", None], "relevant": "${roof} = 'tin'"},
    ],
    "choices": [
        {"list_name": "roof", "name": "tin", "label": ["Tin", "صفيح"]},
        {"list_name": "roof", "name": "mud", "label": ["Mud", "طين"]},
    ],
    "settings": {},
    "translations": ["English (en)", "Arabic (ar)"],
    "translated": ["label", "hint"],
}  # fmt: skip


def summary(content: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in content.get("translations", []) if name]
    return {
        **CheckedContent.empty("survey").summary,
        "row_count": len(content["survey"]),
        "languages": names,
    }


class AssetWorld:
    """Assets are stored as an import would store them, without the check, so that tests are fast."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._store = AssetStore(service.database, service.data_versions)

    async def user(
        self, username: str = "", language: str = "en", **details: Any
    ) -> tuple[int, PageClient]:
        _, number = await self.service.create_user(username, **details)
        return number, await PageClient.logged_in(self.service, number, language)

    async def create(
        self, owner: int, content: dict[str, Any] | None = None, **details: Any
    ) -> str:
        """Create an asset and return its path."""
        content = CONTENT if content is None else content
        values = {"asset_type": "survey", "name": "Household survey", **details}
        is_form = values["asset_type"] != "collection"
        new = NewAsset(
            owner_id=owner,
            content=content if is_form else {},
            summary=summary(content) if is_form else {"languages": []},
            xform="<xform/>" if is_form else None,
            **values,
        )
        async with self.service.database.transaction() as connection:
            [(_, uid)] = await self._store.create(connection, [new])
        return f"/api/v2/assets/{uid}/"

    async def asset_id(self, path: str) -> int:
        async with self.service.database.read_transaction() as connection:
            row = await self._store.find(connection, path.split("/")[-2])
        assert row is not None
        return int(row.id)

    async def add_version(
        self, path: str, content: dict[str, Any], file_name: str | None = None
    ) -> None:
        async with self.service.database.transaction() as connection:
            file_id = None
            if file_name is not None:
                inserted = files.insert().values(name=file_name, data=b"PK").returning(files.c.id)
                file_id = (await connection.execute(inserted)).scalar_one()
            row = await self._store.find(connection, path.split("/")[-2])
            assert row is not None
            version = NewVersion(
                content=content, summary=summary(content), xform="<xform/>", file_id=file_id
            )
            await self._store.add_version(connection, row, version)

    async def share(
        self, owner: int, path: str, username: str, permission: str = "view_asset"
    ) -> None:
        token = await self.service.store.issue_token(owner, IssuedBy.COMMAND, None)
        body, headers = (
            {"user": username, "permission": permission},
            {"Authorization": f"Token {token}"},
        )
        response = await self.service.request(
            "POST", f"{path}permission-assignments/", json=body, headers=headers
        )
        assert response.status_code == 201, response.text
