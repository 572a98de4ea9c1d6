"""Every operation that changes something: by every caller, as a dry run, and with bad bodies. Each on fresh objects."""

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from tests.recording import workbooks
from tests.recording.reads import LOG
from tests.recording.world import INVITES, PASSWORD, SERVICE_ACCOUNTS, World, basic

A = "/api/v2/assets/"
S = "permission-assignments/"
MANY = f"/api/v2/{S}"
EVENT_ID = 9001
OTHER_SESSIONS = ("viewer session", "team_admin session")  # for page forms
QUICK_CALLERS = ("anonymous", "owner", "viewer", "limited token")
WRONG_VALUES: tuple[Any, ...] = ({"x": [1]}, ["x"], 5, None, "", "x" * 300)  # of a field
QUICK_WRONG_VALUES: tuple[Any, ...] = (["x"], "x" * 300)
Values = dict[str, str]
ASSET_RECORDS = (
    f"{A}{{asset}}/", f"{A}{{asset}}/{S}?teams=true", f"{A}{{asset}}/{S}history/", f"{A}{{asset}}/versions/",
    f"{A}{{asset}}/history/?{LOG}",
)  # fmt: skip
TEAM_RECORDS = ("/api/v2/teams/{team}/", "/api/v2/teams/{team}/members/")
USER_RECORDS = ("/api/v2/users/{user}/", "/api/v2/users/{user}/tokens/")
ACCOUNT_RECORDS = (f"{SERVICE_ACCOUNTS}{{account}}/", f"{SERVICE_ACCOUNTS}{{account}}/tokens/")
NEWEST_LOG = f"/api/v2/audit-logs/?limit=2&{LOG} AND NOT action:auth"


@dataclass(frozen=True)
class Write:
    """A valid request. `fresh` names what it is sent to; placeholders in path and body are its values."""

    method: str
    template: str
    body: Any = None
    fresh: str = "nothing"
    path: str = ""  # default: the template, with the values of the fresh object
    has_dry_run: bool = False
    with_password: bool = False  # tokens cannot do it
    able: str = "owner"  # a caller who may
    is_file: bool = False  # the body has a workbook, too


ASSIGNMENT = {"user": "stranger", "permission": "view_asset", "expires_at": "2031-05-01"}
EVENT = {
    "name": {"en": "Nepal: Floods", "fr": "Népal"},
    "disaster_start_date": "2026-07-14",
    "countries": [123],
    "dtype": 12,
}
BASE64 = base64.b64encode(workbooks.household("In base64")).decode()
WRITES: tuple[Write, ...] = (
    Write("POST", "/api/v2/imports/", {"name": "Imported"}, is_file=True, has_dry_run=True),
    Write("POST", "/api/v2/imports/", {"name": "Imported", "base64Encoded": BASE64, "destination": "{asset}"}, "asset",
          has_dry_run=True),
    Write("PATCH", "/api/v2/imports/{uid}/", {"if_exists": "create"}, "import"),
    Write("POST", A, {"name": "New", "content": workbooks.CONTENT, "tag_string": "a,b", "settings": {"x": 1}}),
    Write("POST", A, {"clone_from": "{asset}", "name": "Copy"}, "asset"),
    Write("POST", A, {"name": "New child", "parent": "{collection}", "asset_type": "survey"}, "child"),
    Write("DELETE", f"{A}{{uid}}/", None, "asset", has_dry_run=True),
    Write("DELETE", f"{A}{{uid}}/", None, "child", f"{A}{{collection}}/", has_dry_run=True),
    Write("PATCH", f"{A}{{uid}}/", {"name": "Other", "tag_string": "c", "content": workbooks.CONTENT}, "asset"),
    Write("POST", f"{A}{{uid}}/undelete/", None, "deleted"),
    Write("POST", f"{A}{{uid}}/versions/{{version}}/restore/", None, "versions"),
    Write("POST", f"{A}{{uid}}/deployment/", {"active": True}, "asset"),
    Write("PATCH", f"{A}{{uid}}/deployment/", {"active": False}, "deployed"),
    Write("POST", f"{A}bulk/", {"payload": {"action": "archive", "asset_uids": ["{asset}"]}}, "deployed"),
    Write("POST", f"{A}bulk/", {"payload": {"action": "delete", "asset_uids": ["{asset}"]}}, "asset"),
    Write("POST", f"{A}{{uid}}/{S}", ASSIGNMENT, "asset", has_dry_run=True),
    Write("POST", f"{A}{{uid}}/{S}", {"team": "WASH", "permission": "change_asset"}, "child", has_dry_run=True),
    Write("DELETE", f"{A}{{uid}}/{S}{{assignment}}/", None, "asset", has_dry_run=True),
    Write("DELETE", f"{A}{{uid}}/{S}{{assignment}}/", None, "child", has_dry_run=True),
    Write("POST", f"{A}{{uid}}/{S}bulk/", [ASSIGNMENT, {"user": "viewer", "permission": "view_submissions"}], "asset",
          has_dry_run=True),
    Write("PATCH", f"{A}{{uid}}/{S}bulk/", {"user": "viewer", "permissions": ["change_asset"]}, "asset",
          has_dry_run=True),
    Write("DELETE", f"{A}{{uid}}/{S}bulk/", {"username": "viewer"}, "asset", has_dry_run=True),
    Write("PATCH", f"{A}{{uid}}/{S}clone/", {"clone_from": "{household}"}, "asset", has_dry_run=True),
    Write("POST", f"{A}{{uid}}/{S}csv/", {"text": "user,permission\nstranger,view_asset\n", "mode": "replace"},
          "asset", has_dry_run=True),
    Write("POST", f"{MANY}add/",
          {"assets": ["{asset}"], "users": ["stranger", "denied"], "permissions": ["view_asset"]}, "asset",
          has_dry_run=True),
    Write("POST", f"{MANY}remove/", {"assets": ["{asset}"], "users": ["viewer"], "permissions": ["view_asset"]},
          "asset", has_dry_run=True),
    Write("POST", "/api/v2/users/", {"username": "{new}", "first_name": "New"}, able="root", with_password=True),
    Write("PATCH", "/api/v2/users/{username}/", {"first_name": "Other", "is_active": False}, "user", able="root"),
    Write("DELETE", "/api/v2/users/{username}/", None, "user", able="root", with_password=True),
    Write("POST", "/api/v2/users/{username}/invitation/", None, "user", able="root", with_password=True),
    Write("DELETE", "/api/v2/users/{username}/tokens/{id}/", None, "user_token", able="root"),
    Write("DELETE", "/api/v2/users/{username}/sessions/", None, "user", able="root"),
    Write("POST", "/api/v2/users/{username}/transfer/", {"to": "viewer"}, "user", has_dry_run=True, able="root"),
    Write("POST", SERVICE_ACCOUNTS, {"username": "{new}"}, with_password=True),
    Write("PATCH", f"{SERVICE_ACCOUNTS}{{username}}/", {"is_active": False}, "account", able="team_admin"),
    Write("POST", f"{SERVICE_ACCOUNTS}{{username}}/tokens/", {"name": "x", "lifetime_days": 5, "scopes": ["read"]},
          "account", with_password=True, able="team_admin"),
    Write("DELETE", f"{SERVICE_ACCOUNTS}{{username}}/tokens/{{id}}/", None, "account", able="team_admin"),
    Write("DELETE", "/me/", {"confirm": "{user_uid}"}, "leaver", with_password=True, able="leaver"),
    Write("POST", INVITES, {"recipient": "recipient", "assets": ["{asset}"]}, "asset"),
    Write("PATCH", f"{INVITES}{{uid}}/", {"status": "accepted"}, "invite", able="recipient"),
    Write("PATCH", f"{INVITES}{{uid}}/", {"status": "declined"}, "invite", able="recipient"),
    Write("PATCH", f"{INVITES}{{uid}}/", {"status": "cancelled"}, "invite"),
    Write("DELETE", f"{INVITES}{{uid}}/", None, "invite"),
    Write("POST", "/api/v2/teams/", {"name": "{new}", "description": "x"}),
    Write("PATCH", "/api/v2/teams/{uid}/", {"description": "Other"}, "team", able="team_admin"),
    Write("DELETE", "/api/v2/teams/{uid}/", None, "team", has_dry_run=True, able="team_admin"),
    Write("POST", "/api/v2/teams/{uid}/members/", {"users": ["viewer", "stranger"], "role": "member"}, "team",
          has_dry_run=True, able="team_admin"),
    Write("PATCH", "/api/v2/teams/{uid}/members/{username}/", {"role": "admin"}, "team", able="team_admin"),
    Write("DELETE", "/api/v2/teams/{uid}/members/{username}/", None, "team", has_dry_run=True, able="team_admin"),
    Write("PUT", "/api/v2/event/{id}/", EVENT, "event", able="root"),
    Write("DELETE", "/api/v2/event/{id}/", None, "event", able="root"),
    Write("POST", "/token/", None, with_password=True),
    Write("DELETE", "/token/", None, with_password=True, able="leaver", fresh="leaver"),
    Write("POST", "/get_auth_token", {"username": "viewer", "password": PASSWORD}),
    Write("POST", "/api/v2/account/tokens/", {"name": "x", "scopes": ["read"], "networks": ["192.0.2.0/24"]},
          with_password=True),
    Write("DELETE", "/api/v2/account/tokens/{id}/", None, "own_token", able="viewer"),
    Write("DELETE", "/api/v2/account/sessions/", None, "leaver", with_password=True, able="leaver"),
    Write("DELETE", "/api/v2/account/identities/{id}/", None, path="/api/v2/account/identities/1/", with_password=True),
    Write("POST", "/api/v2/account/password/", {"current_password": PASSWORD, "new_password": "battery staple 1"},
          "leaver", with_password=True, able="leaver"),
)  # fmt: skip


class FreshObjects:
    """Objects that no request has changed yet."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._send = world.recorder.send
        self._number = 0

    def create(self, kind: str) -> Values:
        self._number += 1
        make: Callable[[], Values] = getattr(self, f"_{kind}")
        values = make()
        for name, value in values.items():
            if len(value) > 20:
                self._world.recorder.normaliser.name(value, f"fresh {name}")
        return {"new": f"fresh{self._number}", **self._world.names, **values}

    def _nothing(self) -> Values:
        return {}

    def _asset(self, **fields: Any) -> Values:
        asset = self._send(
            "owner", "POST", A, json={"name": "Form", "content": workbooks.CONTENT, **fields}
        )["uid"]
        assignments = [
            {"user": "editor", "permission": "change_asset"},
            {"user": "manager", "permission": "manage_asset"},
            {"user": "viewer", "permission": "view_asset"},
            {"team": "WASH", "permission": "view_submissions"},
        ]
        listed = self._send("owner", "POST", f"{A}{asset}/{S}bulk/?teams=true", json=assignments)
        return {"asset": asset, "uid": asset, "assignment": self._assignment_of("viewer", listed)}

    def _assignment_of(self, username: str, listed: Any) -> str:
        urls = [
            record["url"]
            for record in listed
            if (record.get("user") or "").endswith(f"/{username}/")
        ]
        return str(urls[0]).rstrip("/").rsplit("/", 1)[1] if urls else "p"

    def _child(self) -> Values:
        body = {"name": "Collection", "asset_type": "collection"}
        collection = self._send("owner", "POST", A, json=body)["uid"]
        self._send(
            "owner",
            "POST",
            f"{A}{collection}/{S}",
            json={"user": "denied", "permission": "change_asset"},
        )
        return {**self._asset(parent=collection), "collection": collection}

    def _deleted(self) -> Values:
        values = self._asset()
        self._send("owner", "DELETE", f"{A}{values['asset']}/")
        return values

    def _deployed(self) -> Values:
        values = self._asset()
        self._send("owner", "POST", f"{A}{values['asset']}/deployment/", json={"active": True})
        return values

    def _versions(self) -> Values:
        values = self._asset()
        path = f"{A}{values['asset']}/"
        version = self._send("owner", "GET", f"{path}versions/")["results"][0]["uid"]
        self._send(
            "owner",
            "PATCH",
            path,
            json={"content": {"survey": [{"type": "text", "name": "x", "label": ["X"]}]}},
        )
        return {**values, "version": version}

    def _import(self) -> Values:
        self._world.import_file("fresh uid", workbooks.household("Household"), if_exists="ask")
        return {"uid": self._world.names["fresh uid"]}

    def _user(self, **fields: str) -> Values:
        """Without a password, which takes as long to store as many requests."""
        username = f"fresh{self._number}"
        body = {"username": username, **fields}
        self._send("root session", "POST", "/api/v2/users/", json=body)
        return {"user": username, "username": username}

    def _user_token(self) -> Values:
        values = self._user(password=PASSWORD)
        return {**values, "id": self._new_token_id("anonymous", basic(values["user"]))}

    def _new_token_id(self, caller: str, headers: Values | None = None) -> str:
        path = "/api/v2/account/tokens/"
        token = self._send(caller, "POST", path, headers, json={"name": "x"})
        return str(token["url"]).rstrip("/").rsplit("/", 1)[1]

    def _own_token(self) -> Values:
        return {"id": self._new_token_id("viewer session")}

    def _leaver(self) -> Values:
        values = self._user(password=PASSWORD)
        token = self._send("anonymous", "POST", "/token/", basic(values["user"]))["token"]
        headers = {"Authorization": f"Token {token}"}
        return {
            **values,
            "user_uid": self._send("anonymous", "GET", "/me/", headers)["uid"],
            "leaver": values["user"],
        }

    def _account(self) -> Values:
        username = f"fresh{self._number}"
        body = {"username": username, "team": self._team()["team"]}
        self._send("team_admin session", "POST", SERVICE_ACCOUNTS, json=body)
        path = f"{SERVICE_ACCOUNTS}{username}/tokens/"
        token = self._send("team_admin session", "POST", path, json={"name": "x"})
        return {
            "account": username,
            "username": username,
            "id": token["url"].rstrip("/").rsplit("/", 1)[1],
        }

    def _invite(self) -> Values:
        values = self._asset()
        invite = self._send(
            "owner", "POST", INVITES, json={"recipient": "recipient", "assets": [values["asset"]]}
        )
        return {**values, "uid": invite["url"].rstrip("/").rsplit("/", 1)[1]}

    def _team(self) -> Values:
        body = {"name": f"Fresh {self._number}"}
        team = self._send("team_admin", "POST", "/api/v2/teams/", json=body)["uid"]
        self._send(
            "team_admin", "POST", f"/api/v2/teams/{team}/members/", json={"users": ["member"]}
        )
        return {"team": team, "uid": team, "username": "member"}

    def _event(self) -> Values:
        self._send("root", "PUT", f"/api/v2/event/{EVENT_ID}/", json={**EVENT, "num_affected": 3})
        return {"id": str(EVENT_ID), "event": str(EVENT_ID)}


class WriteRecorder:
    """Sends one operation in all ways. An object is used again until a request has changed it."""

    def __init__(self, world: World, write: Write, fresh: FreshObjects) -> None:
        self._world = world
        self._write = write
        self._fresh = fresh
        self._values: Values = {}

    def record_callers(self) -> None:
        callers = [
            caller for caller in self._world.recorder.callers if caller not in OTHER_SESSIONS
        ]
        if self._write.able == "leaver":
            callers = ["anonymous", "owner"]
        if self._world.recorder.is_quick:
            wanted = (*QUICK_CALLERS, self._write.able)
            callers = [caller for caller in callers if caller in wanted]
        for caller in callers:
            if self._write.has_dry_run:
                self.send(caller, query="?dry_run=true")
            self.send(caller, follows=True)
        if self._write.with_password:
            for caller in self._callers_with_password():
                self.send(caller, has_password=True, follows=True)

    def _callers_with_password(self) -> list[str]:
        able = self._write.able
        if able == "leaver":
            return [able]
        if self._world.recorder.is_quick:
            return [able, "viewer"]
        return ["owner", "viewer", "team_admin", "root"]

    def record_bad_bodies(self) -> None:
        able = self._write.able
        has_password = self._write.with_password
        if f"{able} session" in self._world.recorder.callers:
            able, has_password = f"{able} session", False
        send = partial(self.send, able, has_password=has_password)
        body = self._write.body
        send(content=b"{", headers={"Content-Type": "application/json"})
        if "{" in self._write.template:
            send(unknown=True)
        send(headers={"Accept": "text/html"})
        send(headers={"Accept-Language": "ar"})
        self._follow("with a bad body")
        if body is None:
            return
        send(content=b"", headers={"Content-Type": "application/json"})
        send(content=b"x", headers={"Content-Type": "text/plain"})
        send(content=b"\xff", headers={"Content-Type": "application/x-www-form-urlencoded"})
        bodies: tuple[Any, ...] = ([], {}, "x", None, 5, {"unknown": 1})
        for wrong_body in bodies:
            send(json=wrong_body)
        if isinstance(body, dict):
            send(json={**body, "unknown": 1}, headers={"Prefer": "handling=strict"})
            send(json={**body, "unknown": 1})
            is_quick = self._world.recorder.is_quick
            for field in body:
                for value in QUICK_WRONG_VALUES if is_quick else WRONG_VALUES:
                    send(json={**body, field: value})
                send(json={name: value for name, value in body.items() if name != field})
            texts = {name: value for name, value in body.items() if isinstance(value, str)}
            send(data=texts)
            send(
                files={name: (None, value) for name, value in texts.items()}
                | {"other": ("x.txt", b"x")}
            )
        self._follow("with a bad body")

    def send(
        self,
        caller: str,
        query: str = "",
        headers: dict[str, str] | None = None,
        has_password: bool = False,
        follows: bool = False,
        unknown: bool = False,
        **body: Any,
    ) -> None:
        if not self._values:
            self._values = self._fresh.create(self._write.fresh)
        write = self._write
        values = dict.fromkeys(self._values, "unknown1") if unknown else self._values
        path = (write.path or write.template).format(**values) + query
        headers = dict(headers or {})
        note = ""
        if has_password:
            headers |= basic(self._values.get(caller, caller))
            note = f"with the password of {caller}"
            caller = "anonymous"
        if not body:
            body = self._valid_body()
        record = self._world.recorder.record
        response = record(caller, write.method, write.template, path, headers, note, **body)
        if not response.is_error and not query:
            self._wait_for_import(caller, response)
            if follows:
                self._follow(f"by {caller} {note}", response)
            self._values = {}

    def _valid_body(self) -> dict[str, Any]:
        body = _filled(self._write.body, self._values)
        if self._write.is_file:
            content = workbooks.household("Imported")
            return {"data": body, "files": {"file": ("form.xlsx", content)}}
        return {} if body is None else {"json": body}

    def _wait_for_import(self, caller: str, response: httpx.Response) -> None:
        if (
            "/imports/" in self._write.template
            and response.headers.get("content-type") == "application/json"
        ):
            url = response.json().get("url")
            if url:
                self._world.wait_for_import(caller, url)
                self._world.recorder.record(
                    caller, "GET", "/api/v2/imports/{uid}/", httpx.URL(url).path
                )

    def _follow(self, how: str, response: httpx.Response | None = None) -> None:
        """Record what the request changed."""
        if not self._values:
            return
        paths = [NEWEST_LOG]
        for name, records in (
            ("asset", ASSET_RECORDS), ("team", TEAM_RECORDS), ("user", USER_RECORDS), ("account", ACCOUNT_RECORDS),
            ("event", ("/api/v2/event/{event}/",)),
        ):  # fmt: skip
            if self._values.get(name, self._world.names.get(name)) != self._world.names.get(name):
                paths += [path.format(**self._values) for path in records]
        if response is not None and (location := response.headers.get("location")):
            paths.append(httpx.URL(location).path)
        template = f"after {self._write.method} {self._write.template}"
        for path in paths:
            self._world.recorder.record("root", "GET", template, path, note=f"{template} {how}")


def _filled(value: Any, values: Values) -> Any:
    """Replace the placeholders in the texts of a body."""
    if isinstance(value, str):
        return value.format(**values) if value.startswith("{") else value
    if isinstance(value, list):
        return [_filled(item, values) for item in value]
    if isinstance(value, dict):
        return {name: _filled(item, values) for name, item in value.items()}
    return value


def record_writes(world: World) -> Iterator[str]:
    fresh = FreshObjects(world)
    for write in WRITES:
        if world.recorder.skips(write.method, write.template):
            continue
        yield f"{write.method} {write.template}"
        recorder = WriteRecorder(world, write, fresh)
        recorder.record_callers()
        if world.recorder.is_quick and write.able == "leaver":
            continue  # each request checks a password
        recorder.record_bad_bodies()
