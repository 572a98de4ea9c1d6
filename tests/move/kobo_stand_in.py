"""A server like KoboToolbox with collections, forms and permissions: links of Django REST framework, `start` in pages,
rows that do not say that they are inherited, rate limits, and failures."""

from collections import Counter
from typing import Any

from tests.client.stand_ins.kobo import INNER_ADDRESS, INNER_HOST, TOKEN, kobo_asset, uid_of
from tests.client.stand_ins.lenient_pages import KoboPages, page_of
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

OWNER = "amina"
OWNED = ("view_asset", "change_asset", "manage_asset")
CONTENT: dict[str, Any] = {
    "schema": "1",
    "survey": [
        {"type": "start", "name": "start", "$kuid": "a1b2c3d4e", "$autoname": "start", "$xpath": "start"},
        {"type": "text", "$kuid": "b1b2c3d4e", "label": ["Who?"], "$autoname": "Who", "$xpath": "Who"},
        {
            "type": "select_one", "select_from_list_name": "yn", "$kuid": "c1b2c3d4e", "label": ["Well?"],
            "required": True, "$autoname": "Well", "$xpath": "Well",
        },
    ],
    "choices": [
        {"list_name": "yn", "name": "yes", "label": ["Yes"], "$kuid": "d1b2c3d4e", "$autovalue": "yes"},
    ],
    "settings": {"style": "pages"},
    "translations": [None],
    "translated": ["label"],
}  # fmt: skip
BROKEN = {
    **CONTENT,
    "survey": [{"type": "calculate", "name": "x", "calculation": "1 +", "$kuid": "e1b2c3d4e"}],
}


class KoboServer:
    """`assets` are records by uid, `rows` the direct assignments of each: user, permission and filters."""

    def __init__(self, *, fails: bool = False) -> None:
        self.assets: dict[str, dict[str, Any]] = {}
        self.rows: dict[str, list[tuple[str, str, Any]]] = {}
        self.replies: dict[str, Reply] = {}  # instead of records, by path
        self.fails = fails
        self.username = OWNER
        self.server = LoopbackServer(self.respond)

    def add(self, number: int, asset_type: str = "survey", **fields: Any) -> str:
        content = {} if asset_type == "collection" else CONTENT
        parent = fields.pop("parent", None)
        record = kobo_asset(number, asset_type=asset_type, content=content, **fields)
        record["parent"] = parent and f"{INNER_ADDRESS}/api/v2/assets/{parent}/?format=json"
        self.assets[record["uid"]], self.rows[record["uid"]] = record, []
        return str(record["uid"])

    def held(self, uid: str) -> set[tuple[str, str]]:
        """Who has what, inherited or not, without the owner."""
        return {row[:2] for row in (*self.rows[uid], *self._inherited(uid))}

    def _inherited(self, uid: str) -> list[tuple[str, str, Any]]:
        parent = (self.assets[uid]["parent"] or "").partition("/assets/")[2].partition("/")[0]
        return [
            row for row in self.rows.get(parent, ()) if row[1] in ("view_asset", "change_asset")
        ]

    def respond(self, request: ReceivedRequest) -> Reply:
        number = len(self.server.requests)
        if self.fails and number % 5 == 0:
            return json_reply({"detail": "Request was throttled."}, 429, Retry_After="0")
        if self.fails and number % 7 == 0:
            return Reply(503, b"<html>busy</html>", content_type="text/html")
        if request.headers.get("authorization") != f"Token {TOKEN}":
            return json_reply({"detail": "Invalid token."}, 401, WWW_Authenticate="Session")
        path = request.path.removeprefix("/api/v2/").strip("/")
        if path in self.replies:
            return self.replies[path]
        match path.split("/"):
            case ["me"]:
                return json_reply({"username": self.username, "first_name": ""})
            case ["permissions"]:
                return json_reply(page_of([], request.target, KoboPages, INNER_HOST))
            case ["assets"]:
                listed = [{**each, "content": None} for each in self.assets.values()]
                return json_reply(page_of(listed, request.target, KoboPages, INNER_HOST))
            case ["assets", uid] if uid in self.assets:
                return json_reply(self.assets[uid])
            case ["assets", uid, "permission-assignments"] if uid in self.assets:
                rows = [
                    *((self.username, each, None) for each in OWNED),
                    *self.rows[uid],
                    *self._inherited(uid),
                ]
                return json_reply([_row(uid, *row) for row in rows])
        return Reply(404, b"Resource not found (404)", content_type="text/html")


def _row(uid: str, user: str, permission: str, filters: Any) -> dict[str, Any]:
    root = f"{INNER_ADDRESS}/api/v2"
    row = {
        "url": f"{root}/assets/{uid}/permission-assignments/p{user}{permission}/",
        "user": f"{root}/users/{user}/",
        "permission": f"{root}/permissions/{permission}/",
        "label": permission,
    }
    if filters:
        row["partial_permissions"] = [
            {"url": f"{root}/permissions/view_submissions/", "filters": filters}
        ]  # type: ignore[assignment]
    return row


def project(count: int, people: list[str], **options: Any) -> KoboServer:
    """A tenth of these are collections, whose forms inherit. Each form is shared with all, and one does not compile."""
    kobo = KoboServer(**options)
    collections = []
    for number in range(count):
        if number % 10 == 9:
            uid = kobo.add(number, "collection")
            collections.append(uid)
            kobo.rows[uid] = [(people[0], "view_asset", None), (people[1], "change_asset", None)]
            kobo.rows[uid].append((people[1], "view_asset", None))
            continue
        uid = kobo.add(number, parent=collections[-1] if collections and number % 3 else None)
        kobo.rows[uid] = [(each, "view_asset", None) for each in people[2:]]
        kobo.rows[uid] += [
            (people[2], "add_submissions", None),
            (people[3], "partial_submissions", [{"a": number}]),
        ]
        if number % 4 == 0:
            kobo.rows[uid].append((people[0], "view_asset", None))  # directly, too
        fields = {
            "has_deployment": True,
            "deployment__active": number % 2 == 0,
            "deployed_version_id": "vX",
        }
        kobo.assets[uid] |= fields | {"version_id": "vX", "tag_string": f"tag{number}"}
    kobo.assets[uid_of(1)]["content"] = BROKEN
    return kobo


def counted(rows: list[Any]) -> Counter[tuple[str, str]]:
    """Assignments by user and permission, without the owner's."""
    names = (
        tuple(str(row[key]).rstrip("/").rpartition("/")[2] for key in ("user", "permission"))
        for row in rows
    )
    return Counter((user, permission) for user, permission in names if user != OWNER)
