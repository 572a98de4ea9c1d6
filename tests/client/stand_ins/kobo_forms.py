"""A server like KoboToolbox: its imports and permission assignments, with the traps of the live system.

`library` is true unless it is "false", a destination must be a URL, a name ends at its last dot, the name of the file
is not read, an Idempotency-Key means nothing, and there is no request for many assignments.
"""

import email.parser
import email.policy
from collections.abc import Callable
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tests.client.stand_ins.kobo import INNER_ADDRESS, INNER_HOST, TOKEN, kobo_asset
from tests.client.stand_ins.lenient_pages import KoboPages, page_of
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

OWNER = "amina"
IMPLIED = {
    "add_submissions": (),
    "change_asset": ("view_asset",),
    "change_submissions": ("view_submissions", "add_submissions", "view_asset"),
    "delete_submissions": ("view_submissions", "view_asset"),
    "discover_asset": ("view_asset",),
    "manage_asset": (
        *("view_asset", "change_asset", "discover_asset", "add_submissions", "view_submissions"),
        *("change_submissions", "delete_submissions", "validate_submissions"),
    ),
    "partial_submissions": ("view_asset",),
    "validate_submissions": ("view_submissions", "view_asset"),
    "view_asset": (),
    "view_submissions": ("view_asset",),
}
PARTIAL = "partial_submissions"
ASSIGNABLE = [codename for codename in IMPLIED if codename != "discover_asset"]  # on a survey
OWNED = [codename for codename in ASSIGNABLE if codename != PARTIAL]
RUNNING = ("created", "processing")  # what an import says before its result


class KoboForms:
    """`before` is called with each request: it can return a reply, or raise OSError to drop the connection."""

    def __init__(
        self, users: tuple[str, ...] = (OWNER, "bob", "omar"), assets: tuple[str, ...] = ("aForm",)
    ) -> None:
        self.users = users
        self.assets: dict[str, dict[str, Any]] = {
            uid: self._asset(uid, f"Form {uid}", "survey") for uid in assets
        }
        self.files: dict[str, bytes] = {}  # by uid of the asset
        self.held: dict[str, dict[tuple[str, str], str]] = {uid: self._owned() for uid in assets}
        self.uploads: list[dict[str, str]] = []
        self.results: list[dict[str, Any]] = []  # of the imports, in their order
        self.looks: list[int] = []
        self.before: Callable[[ReceivedRequest], Reply | None] = lambda request: None
        self.after: Callable[[ReceivedRequest], None] = lambda request: None
        self.server = LoopbackServer(self.respond)

    def permissions_of(self, user: str, uid: str = "aForm") -> set[str]:
        return {permission for name, permission in self.held[uid] if name == user}

    def writes(self) -> list[tuple[str, str]]:
        return [(each.method, each.path) for each in self.server.requests if each.method != "GET"]

    def respond(self, request: ReceivedRequest) -> Reply:
        reply = self.before(request) or self._route(request)
        self.after(request)
        return reply

    def _route(self, request: ReceivedRequest) -> Reply:
        authorization, path = (
            request.headers.get("authorization", ""),
            request.path.removeprefix("/api/v2/"),
        )
        if authorization != f"Token {TOKEN}" and (
            authorization or not path.startswith("permissions/")
        ):
            text = (
                "Invalid token."
                if authorization
                else "Authentication credentials were not provided."
            )
            return json_reply({"detail": text}, 401, WWW_Authenticate="Session")
        match request.method, path.strip("/").split("/"):
            case "GET", ["permissions"]:
                found = [self._permission(codename) for codename in IMPLIED]
                return json_reply(page_of(found, request.target, KoboPages, INNER_HOST))
            case "GET", ["permissions", codename] if codename in IMPLIED:
                return json_reply(self._permission(codename))
            case "GET", ["users", name] if name in self.users:
                return json_reply(
                    {"url": f"{INNER_ADDRESS}/api/v2/users/{name}/", "username": name}
                )
            case "POST", ["imports"]:
                return self._import(request)
            case "GET", ["imports", uid] if uid[1:].isdecimal() and int(uid[1:]) < len(
                self.results
            ):
                return self._import_detail(int(uid[1:]))
            case "GET", ["assets", name] if name.endswith(".xls") and name[:-4] in self.files:
                return Reply(200, self.files[name[:-4]], content_type="application/vnd.ms-excel")
            case "GET", ["assets", uid] if uid in self.assets:
                return json_reply(self.assets[uid])
            case method, ["assets", uid, "permission-assignments", *rest]:
                if uid not in self.assets:
                    return Reply(404, b"Resource not found (404)", content_type="text/html")
                return self._assignments(method, uid, rest, request)
        return json_reply({"detail": "Not found."}, 404)

    def _import(self, request: ReceivedRequest) -> Reply:
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
        parts = {
            str(part.get_param("name", header="content-disposition")): part
            for part in message.iter_parts()
        }
        content = parts.pop("file").get_payload(decode=True)
        fields = {name: str(part.get_payload()) for name, part in parts.items()}
        self.uploads.append(fields)
        self.results.append(self._import_result(fields, content))
        self.looks.append(0)
        number = len(self.uploads) - 1
        return json_reply(
            {"uid": f"i{number}", "url": f"{INNER_ADDRESS}/…", "status": "processing"}, 201
        )

    def _import_result(self, fields: dict[str, str], content: Any) -> dict[str, Any]:
        if not content.startswith((b"PK", b"\xd0\xcf")):
            return {
                "error": "Unsupported format, or corrupt file",
                "error_type": "XlsFormatException",
            }
        key, path = "created", urlsplit(fields.get("destination", "")).path
        uid = f"aNew{len(self.uploads)}"
        if path:
            uid, key = path.removeprefix("/api/v2/assets/").rstrip("/"), "updated"
            if not (path.startswith("/api/v2/assets/") and path.endswith("/")):
                return {
                    "error": "{'tried': [" + "<URLPattern…>, " * 500,
                    "error_type": "Resolver404",
                }
            if uid not in self.assets:
                return {
                    "error": "Asset matching query does not exist.",
                    "error_type": "DoesNotExist",
                }
        else:
            kind = (
                "block"
                if fields.get("library") != "false"
                else fields.get("desired_type") or "survey"
            )
            self.assets[uid] = self._asset(uid, PurePath(fields.get("name", "")).stem, kind)
            self.held[uid] = self._owned()
        self.files[uid] = content
        changed = {
            "uid": uid,
            "kind": "asset",
            "summary": {"languages": []},
            "owner__username": OWNER,
        }
        logs = [
            {
                "source": "No information available",
                "asset_id": 12,
                "asset_uid": uid,
                "project_owner": OWNER,
            }
        ]
        return {key: [changed], **({"audit_logs": logs} if key == "updated" else {})}

    def _import_detail(self, number: int) -> Reply:
        look = self.looks[number]
        self.looks[number] += 1
        result = self.results[number] if look >= len(RUNNING) else {}
        ended = "error" if "error" in result else "complete"
        status = ended if look >= len(RUNNING) else RUNNING[max(look, 0)]
        record = {
            "status": status,
            "uid": f"i{number}",
            "messages": result,
            "date_created": "2026-01-01T00:00:00Z",
        }
        return json_reply(record)

    def _assignments(
        self, method: str, uid: str, rest: list[str], request: ReceivedRequest
    ) -> Reply:
        held = self.held[uid]
        if method == "GET" and not rest:
            return json_reply([self._assignment(uid, *key) for key in sorted(held)])
        if method == "POST" and not rest:
            body = msgspec.json.decode(request.body)
            paths = [
                urlsplit(body[name]).path.strip("/").split("/") for name in ("user", "permission")
            ]
            user, permission = (path[-1] for path in paths)
            if [path[:-1] for path in paths] != [
                ["api", "v2", "users"],
                ["api", "v2", "permissions"],
            ]:
                return json_reply({"user": ["Invalid hyperlink - No URL match."]}, 400)
            if user not in self.users:
                return json_reply({"user": ["Invalid hyperlink - Object does not exist."]}, 400)
            if permission not in ASSIGNABLE:
                text = f"{permission} cannot be assigned explicitly to Asset objects of this type."
                return json_reply({"permission": [text]}, 400)
            if user == OWNER:
                return json_reply(
                    {"user": "Owner's permissions cannot be assigned explicitly"}, 400
                )
            for codename in {permission, *IMPLIED[permission]} & {*ASSIGNABLE}:
                held.setdefault((user, codename), f"p{len(held)}{codename}")
            created = self._assignment(uid, user, permission)
            return json_reply(created, 201, Location=created["url"])
        found = [key for key, number in held.items() if [number] == rest]
        if method != "DELETE" or not found:
            return json_reply({"detail": "No ObjectPermission matches the given query."}, 404)
        user, permission = found[0]
        if user == OWNER:
            return json_reply({"detail": "Owner's permissions cannot be deleted"}, 409)
        for codename, implied in IMPLIED.items():
            if codename == permission or permission in implied:
                held.pop((user, codename), None)
        return Reply(204)

    @staticmethod
    def _permission(codename: str) -> dict[str, Any]:
        url = f"{INNER_ADDRESS}/api/v2/permissions/"
        implied = [f"{url}{each}/" for each in IMPLIED[codename]]
        record = {
            "url": f"{url}{codename}/",
            "codename": codename,
            "implied": implied,
            "contradictory": [],
        }
        return {**record, "name": f"Can {codename}"}

    @staticmethod
    def _owned() -> dict[tuple[str, str], str]:
        """The assignments of a new asset, by user and permission: all of the owner's."""
        return {(OWNER, codename): f"pOwner{codename}" for codename in OWNED}

    def _assignment(self, uid: str, user: str, permission: str) -> dict[str, Any]:
        root = f"{INNER_ADDRESS}/api/v2"
        return {
            "url": f"{root}/assets/{uid}/permission-assignments/{self.held[uid][user, permission]}/",
            "user": f"{root}/users/{user}/",
            "permission": f"{root}/permissions/{permission}/",
            "label": permission,
        }

    @staticmethod
    def _asset(uid: str, name: str, asset_type: str) -> dict[str, Any]:
        return kobo_asset(0, uid=uid, name=name, asset_type=asset_type, permissions=[])
