"""Forms, users and browsers for tests of pages of forms."""

from typing import Any

from fieldgate.assets.form_checker import CheckedContent
from tests.conftest import Service
from tests.data.accounts import create_token
from tests.data.assets import add_version, create_asset
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
        uid = create_asset(
            self.service,
            owner,
            content=content if is_form else {},
            summary=summary(content) if is_form else {"languages": []},
            xform="<xform/>" if is_form else None,
            **values,
        )
        return f"/api/v2/assets/{uid}/"

    async def add_version(
        self, path: str, content: dict[str, Any], file_name: str | None = None
    ) -> None:
        add_version(
            self.service,
            path.split("/")[-2],
            content,
            summary=summary(content),
            xform="<xform/>",
            file=None if file_name is None else (file_name, b"PK"),
        )

    async def share(
        self, owner: int, path: str, username: str, permission: str = "view_asset"
    ) -> None:
        token = create_token(self.service, owner)
        body, headers = (
            {"user": username, "permission": permission},
            {"Authorization": f"Token {token}"},
        )
        response = await self.service.request(
            "POST", f"{path}permission-assignments/", json=body, headers=headers
        )
        assert response.status_code == 201, response.text
