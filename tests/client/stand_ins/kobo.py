"""A server like KoboToolbox: default page 100, at most 1000, `start` in links, a language cookie, bare arrays."""

from collections.abc import Callable
from typing import Any

import msgspec

from tests.client.stand_ins.lenient_pages import PageRules, page_of
from tests.client.stand_ins.loopback_server import LoopbackServer, ReceivedRequest, Reply, json_reply

TOKEN = "0123456789abcdef0123456789abcdef01234567"
INNER_ADDRESS = "http://kpi.internal"
RULES = PageRules(default_limit=100, max_limit=1000, offset_name="start")
NAMES = {
    "en": {"view_asset": "Can view asset", "change_asset": "Can change asset"},
    "fr": {"view_asset": "Peut voir", "change_asset": "Can change asset"},
}


def kobo_asset(number: int, **fields: Any) -> dict[str, Any]:
    uid = f"a{number:021d}"
    return {
        "url": f"{INNER_ADDRESS}/api/v2/assets/{uid}/?format=json",
        "date_created": "2026-01-01T00:00:00Z",
        "date_modified": "2026-01-01T00:00:00Z",
        "owner": f"{INNER_ADDRESS}/api/v2/users/amina/",
        "owner__username": "amina",
        "uid": uid,
        "kind": "asset",
        "name": f"Form {number}",
        "asset_type": "survey",
        "summary": {"default_translation": False, "languages": [None], "row_count": 1},
        "permissions": [],
        "has_deployment": False,
        **fields,
    }


class KoboStandIn:
    """Holds assets and imports; other paths are added with `routes`."""

    def __init__(self, number_of_assets: int = 0, number_of_imports: int = 0) -> None:
        self.assets = [kobo_asset(number) for number in range(number_of_assets)]
        self.imports = [
            {
                "url": f"{INNER_ADDRESS}/api/v2/imports/i{number:021d}/",
                "status": "complete",
                "messages": {"updated": []},
                "uid": f"i{number:021d}",
                "date_created": "2026-01-01T00:00:00Z",
            }
            for number in range(number_of_imports)
        ]
        self.routes: dict[tuple[str, str], Callable[[ReceivedRequest], Reply]] = {}  # by method and path
        self.server = LoopbackServer(self.respond)

    def respond(self, request: ReceivedRequest) -> Reply:
        language = self._language(request)
        reply = self._respond(request, language)
        headers = [*reply.headers, ("Content-Language", language)]
        if "django_language" not in request.headers.get("cookie", ""):
            headers.append(("Set-Cookie", f"django_language={language}; Max-Age=604800; Path=/"))
        return msgspec.structs.replace(reply, headers=tuple(headers))

    def _language(self, request: ReceivedRequest) -> str:
        """A cookie wins over the header, and every response without it sets it."""
        _, _, cookie = request.headers.get("cookie", "").partition("django_language=")
        wanted = cookie[:2] or request.headers.get("accept-language", "en")[:2]
        return wanted if wanted in NAMES else "en"

    def _respond(self, request: ReceivedRequest, language: str) -> Reply:
        authorization = request.headers.get("authorization", "")
        if authorization.startswith("Token ") and authorization != f"Token {TOKEN}":
            return json_reply({"detail": "Invalid token."}, 401, WWW_Authenticate="Session")
        if route := self.routes.get((request.method, request.path)):
            return route(request)
        if request.method != "GET":
            return json_reply({"detail": f'Method "{request.method}" not allowed.'}, 405)
        if not request.path.endswith("/"):
            return Reply(301, headers=(("Location", request.path + "/"),))
        if not request.path.startswith("/api/v2/"):
            return json_reply({"detail": "This API was removed: migrating_api.html"}, 410)
        is_user = bool(authorization)
        address = INNER_ADDRESS + request.path
        match request.path.removeprefix("/api/v2/").strip("/").split("/"):
            case ["permissions"]:
                return json_reply(page_of(self._permissions(language), request.query, RULES, address))
            case ["assets"]:
                return json_reply(page_of(self.assets if is_user else [], request.query, RULES, address))
            case ["assets", "minimal-list"]:
                rules = msgspec.structs.replace(RULES, has_count=False)
                return json_reply(page_of(self.assets if is_user else [], request.query, rules, address))
            case ["imports"]:
                return json_reply(page_of(self.imports if is_user else [], request.query, RULES, address))
            case ["assets", uid, "permission-assignments"] if is_user and any(
                uid == each["uid"] for each in self.assets
            ):
                return json_reply(self._assignments(uid))
        return Reply(404, b"Resource not found (404)", content_type="text/html")

    def _permissions(self, language: str) -> list[dict[str, Any]]:
        return [
            {
                "url": f"{INNER_ADDRESS}/api/v2/permissions/{codename}/",
                "codename": codename,
                "implied": [],
                "contradictory": [],
                "name": name,
            }
            for codename, name in sorted(NAMES[language].items())
        ]

    def _assignments(self, uid: str) -> list[dict[str, Any]]:
        """A bare array, which ignores `limit` and `start`."""
        return [
            {
                "url": f"{INNER_ADDRESS}/api/v2/assets/{uid}/permission-assignments/p{number}/",
                "user": f"{INNER_ADDRESS}/api/v2/users/user{number}/",
                "permission": f"{INNER_ADDRESS}/api/v2/permissions/view_asset/",
                "label": "View form",
            }
            for number in range(15)
        ]
