"""What every recording begins with: users, forms, sharing, imports, teams, events, with fixed names."""

import base64
import json
import time
from pathlib import Path
from typing import Any

from tests.recording import workbooks
from tests.recording.checkout import Checkout
from tests.recording.recorder import Recorder

PASSWORD = "correct horse battery"
EVENTS = 60
IMPORT_SECONDS = 60
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
USERS = (
    "owner", "editor", "viewer", "manager", "partial", "denied", "ended", "stranger", "disabled", "team_admin",
    "member", "recipient", "secretariat", "nepal",
)  # fmt: skip
# Callers with a session, as in a browser
SESSIONS = ("owner", "viewer", "team_admin")  # and root
INVITES = "/api/v2/project-ownership/invites/"
SERVICE_ACCOUNTS = "/api/v2/service-accounts/"


def basic(username: str) -> dict[str, str]:
    return {
        "Authorization": "Basic " + base64.b64encode(f"{username}:{PASSWORD}".encode()).decode()
    }


class World:
    """The records, by name, for the placeholders of paths."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.names: dict[str, str] = {}

    def add(self, name: str, uid: str) -> str:
        self.names[name] = uid
        self.recorder.normaliser.name(uid, name)
        return uid

    def create_asset(self, name: str, title: str, caller: str = "owner", **fields: Any) -> str:
        asset = self.recorder.send(
            caller, "POST", "/api/v2/assets/", json={"name": title, **fields}
        )
        uid = self.add(name, asset["uid"])
        self.name_versions(name)
        return uid

    def name_versions(self, name: str) -> None:
        """Name the versions of an asset, the newest last."""
        versions = self.recorder.send(
            "root", "GET", f"/api/v2/assets/{self.names[name]}/versions/"
        )["results"]
        for number, version in enumerate(reversed(versions), 1):
            self.add(f"{name}_version{number}", version["uid"])

    def name_assignments(self, name: str) -> None:
        path = f"/api/v2/assets/{self.names[name]}/permission-assignments/?teams=true"
        for assignment in self.recorder.send("root", "GET", path):
            holder = _last(assignment.get("user") or assignment["team"])
            holder = next((known for known, uid in self.names.items() if uid == holder), holder)
            self.add(f"{name}_{holder}_{_last(assignment['permission'])}", _last(assignment["url"]))

    def import_file(self, name: str, content: bytes, caller: str = "owner", **fields: str) -> Any:
        """Import a workbook, wait until that has ended, and return the record."""
        files = {"file": ("form.xlsx", content, SHEET)}
        record = self.recorder.send(caller, "POST", "/api/v2/imports/", files=files, data=fields)
        self.add(name, record["uid"])
        return self.wait_for_import(caller, record["url"])

    def wait_for_import(self, caller: str, url: str) -> Any:
        until = time.monotonic() + IMPORT_SECONDS
        while (record := self.recorder.send(caller, "GET", url))["status"] == "processing":
            if time.monotonic() > until:
                raise SystemExit(f"{url} does not end.")
            time.sleep(0.02)
        return record

    def import_form(self, name: str, content: bytes, **fields: str) -> str:
        messages = self.import_file(f"{name}_import", content, **fields)["messages"]
        changed = [*messages.get("created", []), *messages["updated"]]
        uid = self.add(name, changed[0]["uid"])
        for number, asset in enumerate(changed[1:], 1):
            self.add(f"{name}_part{number}", asset["uid"])
        return uid

    def share(self, name: str, **assignment: Any) -> None:
        path = f"/api/v2/assets/{self.names[name]}/permission-assignments/"
        self.recorder.send("owner", "POST", path, json=assignment)


def _last(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


def prepare(checkout: Checkout, folder: Path) -> str:
    """What only the command line can do, before the service starts; return the token of the superuser."""
    checkout.run("migrate")
    file = folder / "events.json"
    file.write_text(json.dumps(workbooks.events(EVENTS)))
    checkout.run("events", "load", str(file))
    checkout.run(
        "user",
        "create",
        "root",
        "--superuser",
        "--first",
        "Root",
        "--password-stdin",
        stdin=PASSWORD,
    )
    return checkout.run("token", "create", "root").strip()


def build(recorder: Recorder, token: str) -> World:
    recorder.callers["root"] = {"Authorization": f"Token {token}"}
    world = World(recorder)
    _create_users(world)
    _create_team(world)
    _create_forms(world)
    _share(world)
    _create_imports(world)
    _create_tokens(world)
    for number in (EVENTS - 1, EVENTS):
        recorder.send("root", "DELETE", f"/api/v2/event/{number}/")
    recorder.send("root", "PATCH", "/api/v2/users/disabled/", json={"is_active": False})
    return world


def _create_users(world: World) -> None:
    send = world.recorder.send
    _log_in(world, "root")  # a session costs no check of a password with each request
    for username in USERS:
        body: dict[str, Any] = {
            "username": username,
            "password": PASSWORD,
            "first_name": username.title(),
            "last_name": "Test",
        }
        if username == "secretariat":
            body["is_ifrc"] = True
        if username == "nepal":
            body["countries"] = ["NPL"]
        send("root session", "POST", "/api/v2/users/", json=body)
    for username in USERS:
        token = send("anonymous", "POST", "/token/", basic(username))["token"]
        world.recorder.callers[username] = {"Authorization": f"Token {token}"}
        world.add(f"user_{username}", send(username, "GET", "/me/")["uid"])
    world.add("user_root", send("root", "GET", "/me/")["uid"])
    for username in SESSIONS:
        _log_in(world, username)


def _log_in(world: World, username: str) -> None:
    client = world.recorder.client
    client.cookies.clear()
    response = client.post("/login/", data={"username": username, "password": PASSWORD})
    cookies = "; ".join(f"{name}={value}" for name, value in response.cookies.items())
    page = client.get("/account/", headers={"Cookie": cookies, "Accept": "text/html"}).text
    csrf_token = page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]
    world.recorder.callers[f"{username} session"] = {"Cookie": cookies, "X-CSRFToken": csrf_token}


def _create_team(world: World) -> None:
    send = world.recorder.send
    uid = world.add(
        "team",
        send("team_admin", "POST", "/api/v2/teams/", json={"name": "WASH", "description": "x"})[
            "uid"
        ],
    )
    send("team_admin", "POST", f"/api/v2/teams/{uid}/members/", json={"users": ["member", "owner"]})
    body = {"username": "bot", "team": uid}
    send("team_admin session", "POST", SERVICE_ACCOUNTS, json=body)
    path = f"{SERVICE_ACCOUNTS}bot/tokens/"
    token = send("team_admin session", "POST", path, json={"name": "Sync"})
    world.names["bot_token_id"] = token["url"].rstrip("/").rsplit("/", 1)[1]
    world.recorder.callers["bot"] = {"Authorization": f"Token {token['token']}"}


def _create_forms(world: World) -> None:
    send = world.recorder.send
    collection = world.create_asset("collection", "Sennar 2026", asset_type="collection")
    household = world.import_form("household", workbooks.household("Household"))
    send("owner", "POST", f"/api/v2/assets/{household}/deployment/", json={"active": True})
    second = workbooks.household("Household", ("text", "phone", "Phone", "Téléphone", "هاتف"))
    world.import_file("second_import", second, destination=household)
    content = {**workbooks.CONTENT, "settings": {}}
    send(
        "owner",
        "PATCH",
        f"/api/v2/assets/{household}/",
        json={"content": content, "tag_string": "health,wash"},
    )
    world.name_versions("household")
    world.create_asset("child", "Water points", parent=collection, content=workbooks.CONTENT)
    world.create_asset("hidden", "Hidden child", parent=collection, content=workbooks.CONTENT)
    world.create_asset("public", "Public form =1+1", content=workbooks.CONTENT, tag_string="public")
    world.create_asset("empty", "Draft", asset_type="empty")
    world.create_asset("library_public", "Public library", asset_type="collection")
    world.create_asset("offered", "Offered", content=workbooks.CONTENT)
    world.create_asset("deleted", "Old form", content=workbooks.CONTENT)
    send("owner", "DELETE", f"/api/v2/assets/{world.names['deleted']}/")
    world.import_form("library", workbooks.workbook(library=workbooks.LIBRARY), library="true")
    world.import_form(
        "warned",
        workbooks.workbook(survey=workbooks.WARNINGS, settings=(("form_title",), ("Warned",))),
    )
    world.name_versions("warned")


def _share(world: World) -> None:
    filters = [{"url": "view_submissions", "filters": [{"_submitted_by": {"$in": ["owner"]}}]}]
    world.share("household", user="editor", permission="change_asset")
    world.share("household", user="viewer", permission="view_asset", expires_at="2031-01-01")
    world.share("household", user="manager", permission="manage_asset")
    world.share("household", user="disabled", permission="view_asset")
    world.share(
        "household", user="partial", permission="partial_submissions", partial_permissions=filters
    )
    world.share("household", team="WASH", permission="view_submissions")
    world.share("collection", user="denied", permission="view_asset")
    world.share("collection", user="viewer", permission="change_asset")
    world.share("collection", team="WASH", permission="view_asset")
    world.share("public", user="AnonymousUser", permission="view_submissions")
    for permission in ("view_asset", "discover_asset"):
        world.share("library_public", user="AnonymousUser", permission=permission)
    for name in ("household", "collection", "child", "hidden", "public"):
        world.name_assignments(name)
    path = f"/api/v2/assets/{world.names['hidden']}/permission-assignments/{world.names['hidden_denied_view_asset']}/"
    world.recorder.send("owner", "DELETE", path)
    world.name_assignments("hidden")
    body = {"recipient": "recipient", "assets": [world.names["offered"]]}
    invite = world.recorder.send("owner", "POST", INVITES, json=body)
    world.add("invite", _last(invite["url"]))
    world.add("transfer", _last(invite["transfers"][0]["url"]))


def _create_imports(world: World) -> None:
    problems = workbooks.workbook(survey=workbooks.PROBLEMS, choices=workbooks.CHOICES)
    world.import_file("problem_import", problems)
    world.import_file("asked_import", workbooks.household("Household"), if_exists="ask")


def _create_tokens(world: World) -> None:
    limits: dict[str, dict[str, Any]] = {
        "reading token": {"scopes": ["read"]},
        "sharing token": {"scopes": ["sharing"]},
        "limited token": {"assets": [world.names["household"]]},
    }
    for name, limit in limits.items():
        body = {"name": name, **limit}
        token = world.recorder.send("owner session", "POST", "/api/v2/account/tokens/", json=body)
        world.recorder.callers[name] = {"Authorization": f"Token {token['token']}"}
        world.names["owner_token_id"] = token["url"].rstrip("/").rsplit("/", 1)[1]
