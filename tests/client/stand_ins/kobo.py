"""A server like KoboToolbox: default page 100, at most 1000, `start` in links, a language cookie, bare arrays."""

from typing import Any

import msgspec

from tests.client.stand_ins.lenient_pages import KoboDataPages, KoboPages, page_of
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

TOKEN = "0123456789abcdef0123456789abcdef01234567"
INNER_HOST = "kpi.internal"
INNER_ADDRESS = f"http://{INNER_HOST}"
NAMES = {
    "en": {"view_asset": "Can view asset", "change_asset": "Can change asset"},
    "fr": {"view_asset": "Peut voir", "change_asset": "Can change asset"},
}


def uid_of(number: int) -> str:
    """KoboToolbox has neither 0 nor 1 in uids."""
    return "a" + f"{number:021d}".translate(str.maketrans("01", "zy"))


def kobo_asset(number: int, **fields: Any) -> dict[str, Any]:
    uid = uid_of(number)
    return {
        "url": f"{INNER_ADDRESS}/api/v2/assets/{uid}/?format=json",
        "date_created": "2026-01-01T00:00:00Z",
        "date_modified": "2026-01-01T00:00:00.123456Z",
        "date_deployed": None,
        "owner": f"{INNER_ADDRESS}/api/v2/users/amina/",
        "summary": {"default_translation": False, "languages": [], "row_count": 1},
        "owner__username": "amina",
        "parent": None,
        "uid": uid,
        "tag_string": "",
        "settings": {
            "country": [],
            "sector": {},
            "description": "",
            "organization": "",
            "country_codes": [],
        },
        "kind": "asset",
        "name": f"Form {number}",
        "asset_type": "survey",
        "version_id": f"v{number:021d}",
        "has_deployment": False,
        "deployed_version_id": None,
        "deployment__active": False,
        "deployment__submission_count": 0,
        "deployment__last_submission_time": None,
        "deployment__encrypted": False,
        "deployment__uuid": None,
        "deployment_status": "draft",
        "permissions": kobo_assignments(uid),
        "export_settings": [],
        "downloads": [{"format": "xls", "url": f"{INNER_ADDRESS}/api/v2/assets/{uid}.xls"}],
        "data": f"{INNER_ADDRESS}/api/v2/assets/{uid}/data/",
        "subscribers_count": 0,
        "status": "shared",
        "access_types": None,
        "children": {"count": 0},
        "data_sharing": {},
        "owner_label": "amina",
        "last_modified_by": None,
        "created_by": "amina",
        **fields,
    }


def kobo_assignments(uid: str) -> list[dict[str, Any]]:
    """What the users of an asset may do. For partial_submissions, the label is an object."""
    rows: list[dict[str, Any]] = [
        {
            "url": f"{INNER_ADDRESS}/api/v2/assets/{uid}/permission-assignments/p{number}/",
            "user": f"{INNER_ADDRESS}/api/v2/users/user{number}/",
            "permission": f"{INNER_ADDRESS}/api/v2/permissions/view_asset/",
            "label": "View form",
        }
        for number in range(15)
    ]
    seen = {
        "url": f"{INNER_ADDRESS}/api/v2/permissions/view_submissions/",
        "filters": [{"_submitted_by": "bob"}],
    }
    rows[-1] |= {
        "permission": f"{INNER_ADDRESS}/api/v2/permissions/partial_submissions/",
        "partial_permissions": [seen],
        "label": {
            "default": "Act on submissions only from specific users",
            "view_submissions": "View …",
        },
    }
    return rows


class KoboStandIn:
    """Holds assets and the submissions of each."""

    def __init__(self, number_of_assets: int = 0, number_of_submissions: int = 0) -> None:
        self.assets = [kobo_asset(number) for number in range(number_of_assets)]
        self.submissions = [
            {
                "_id": number,
                "_uuid": f"{number:036d}",
                "meta/rootUuid": f"uuid:{number:036d}",
                "age": str(number),
            }
            for number in range(number_of_submissions)
        ]
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
        if request.method != "GET":
            return json_reply({"detail": f'Method "{request.method}" not allowed.'}, 405)
        if not request.path.endswith("/"):
            return Reply(
                301,
                headers=(
                    ("Location", request.target.replace(request.path, request.path + "/", 1)),
                ),
            )
        if not request.path.startswith("/api/v2/"):
            return json_reply({"detail": "This API was removed: migrating_api.html"}, 410)
        is_user = bool(authorization)
        uids = [each["uid"] for each in self.assets] if is_user else []

        def page(records: list[Any], pages: type[KoboDataPages] = KoboPages) -> dict[str, Any]:
            return page_of(records, request.target, pages, INNER_HOST)

        match request.path.removeprefix("/api/v2/").strip("/").split("/"):
            case ["permissions"]:
                return json_reply(page(self._permissions(language)))
            case ["assets"]:
                return json_reply(page(self.assets if is_user else []))
            case ["assets", "minimal-list"]:
                whole = page(self.assets if is_user else [])
                return json_reply({name: value for name, value in whole.items() if name != "count"})
            case ["assets", uid, "data"] if uid in uids:
                return json_reply(page(self.submissions, KoboDataPages))
            case ["assets", uid, "permission-assignments"] if uid in uids:
                return json_reply(kobo_assignments(uid))  # a bare array, whatever the limit is
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
