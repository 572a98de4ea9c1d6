"""A served demo service with users, forms, versions, shares and imports, all made through the API."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from fieldgate.http.request.authentication import SESSION_COOKIE
from tests.browser import demo_forms
from tests.data.accounts import PASSWORD
from tests.imports.hostile import billion_laughs
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

ANONYMOUS, USER, COLLEAGUE, SUPERUSER = "anonymous", "user", "colleague", "superuser"
USERNAMES = {USER: "amina", COLLEAGUE: "omar", SUPERUSER: "sara"}
FIRST_NAMES = {USER: "Amina", COLLEAGUE: "Omar", SUPERUSER: "Sara"}
MEMBER = "lucia"  # invited, and in a team
EVENT_PATH = "/api/v2/event/"
WORKBOOK_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True)
class DemoTexts:
    """Names that people gave to things. The tests against script injection use others."""

    first_name: str = ""
    label: str = "Head of household"
    form: str = "Household assessment, Sennar"
    other_form: str = "Water points"
    collection: str = "Sennar 2026"
    team: str = "WASH, Sennar"
    filename: str = "household sennar.xlsx"
    event: str = "Kenya: Flood, May 2026"
    summary: str = "<p>Heavy rain since <b>Monday</b>.</p><ul><li>Roads are closed</li><li>Schools too</li></ul>"


@dataclass
class DemoSite:
    """The address, the sessions by role, and the paths of what was created by name, for example `form`."""

    process: ServerProcess
    texts: DemoTexts
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    _names: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return self.process.base_url

    def client(self, role: str) -> httpx.Client:
        headers = {"Authorization": f"Token {self.tokens[role]}"} if role in self.tokens else {}
        return httpx.Client(base_url=self.base_url, headers=headers, timeout=TIMEOUT_SECONDS)

    def cookies(self, role: str) -> list[Any]:
        """The cookies of a browser in which this role is logged in."""
        if role == ANONYMOUS:
            return []
        if role not in self.sessions:
            self.sessions[role] = self.log_in(USERNAMES[role])
        return [
            {"name": SESSION_COOKIE.decode(), "value": self.sessions[role], "url": self.base_url}
        ]

    def log_in(self, username: str) -> str:
        """Start a session as the login page does; return the value of its cookie."""
        with self.client(ANONYMOUS) as client:
            answer = client.post("/login/", data={"username": username, "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        return answer.cookies[SESSION_COOKIE.decode()]

    def create_user(self, username: str, first_name: str = "") -> str:
        """Create a user as a superuser does; return a token."""
        self.add_user(username=username, password=PASSWORD, first_name=first_name)
        with self.client(ANONYMOUS) as client:
            answer = client.post("/token/", auth=(username, PASSWORD)).raise_for_status()
        return str(answer.json()["token"])

    def add_user(self, **fields: str) -> dict[str, Any]:
        """Tokens cannot create users: send the password."""
        with self.client(ANONYMOUS) as client:
            answer = client.post(
                "/api/v2/users/", json=fields, auth=(USERNAMES[SUPERUSER], PASSWORD)
            )
        return dict(answer.raise_for_status().json())

    def create_superuser(self, username: str, first_name: str) -> str:
        """Create a superuser, which only the command line can do at first; return a token."""
        data, options = (
            self.process.data,
            ("--password-stdin", "--superuser", "--first", first_name),
        )
        done = run_command("user", "create", username, *options, data=data, stdin=PASSWORD)
        assert done.returncode == 0, done.stderr
        return run_command("token", "create", username, data=data).stdout.strip()

    def import_file(
        self, role: str, filename: str, content: bytes, **fields: str
    ) -> dict[str, Any]:
        """Import a workbook and wait until it has ended; return its record."""
        with self.client(role) as client:
            files = {"file": (filename, content, WORKBOOK_TYPE)}
            url = (
                client.post("/api/v2/imports/", files=files, data=fields)
                .raise_for_status()
                .json()["url"]
            )
            until = time.monotonic() + TIMEOUT_SECONDS
            while (record := client.get(url).raise_for_status().json())["status"] == "processing":
                assert time.monotonic() < until, record
                time.sleep(0.1)
        return dict(record)

    def import_form(self, role: str, filename: str, content: bytes, **fields: str) -> str:
        """Import a workbook that becomes or changes a form; return the uid of the form."""
        record = self.import_file(role, filename, content, **fields)
        assert record["status"] == "complete", record
        changed = [*record["messages"].get("created", []), *record["messages"]["updated"]]
        return str(changed[0]["uid"])

    def reference_names(self, language: str) -> frozenset[str]:
        """The names of countries, regions and disaster types in a language."""
        if language not in self._names:
            with self.client(ANONYMOUS) as client:
                answers = [
                    client.get(f"/api/v2/{path}/?limit=1000", headers={"Accept-Language": language})
                    for path in ("country", "region", "disaster_type")
                ]
            records = [
                record
                for answer in answers
                for record in answer.raise_for_status().json()["results"]
            ]
            names = {
                str(record.get(key) or "") for record in records for key in ("name", "region_name")
            }
            self._names[language] = frozenset(names - {""})
        return self._names[language]

    def send(self, role: str, method: str, path: str, **options: Any) -> Any:
        with self.client(role) as client:
            return client.request(method, path, **options).raise_for_status().json()


@contextmanager
def serve_demo_site(data: Path, texts: DemoTexts | None = None) -> Iterator[DemoSite]:
    """Serve demo events, with everything that pages show. Everything is made by the users themselves."""
    with ServerProcess(data, "--demo", "--import-workers", "1") as process:
        site = DemoSite(process, texts or DemoTexts())
        for role in (SUPERUSER, USER, COLLEAGUE):
            create = site.create_superuser if role == SUPERUSER else site.create_user
            site.tokens[role] = create(USERNAMES[role], site.texts.first_name or FIRST_NAMES[role])
        site.paths["invitation"] = httpx.URL(
            site.add_user(username=MEMBER)["invitation"]["url"]
        ).path
        _create_forms(site)
        _create_imports(site)
        _create_team(site)
        _share(site)
        _create_events(site)
        yield site


def _create_forms(site: DemoSite) -> None:
    texts = site.texts
    form = site.import_form(USER, texts.filename, demo_forms.household(texts.form, texts.label))
    site.send(USER, "POST", f"/api/v2/assets/{form}/deployment/", json={"active": True})
    second = demo_forms.household_second_version(texts.form, texts.label)
    site.import_form(USER, texts.filename, second, destination=form)
    site.paths["form"], site.paths["form_uid"] = f"/api/v2/assets/{form}/", form
    versions = site.send(USER, "GET", f"/api/v2/assets/{form}/versions/")["results"]
    site.paths["newest_version"], site.paths["oldest_version"] = (
        httpx.URL(versions[position]["url"]).path for position in (0, -1)
    )
    other = site.import_form(USER, "water points.xlsx", demo_forms.with_warnings(texts.other_form))
    site.paths["other_form"] = f"/api/v2/assets/{other}/"
    collection = site.send(
        USER, "POST", "/api/v2/assets/", json={"name": texts.collection, "asset_type": "collection"}
    )["uid"]
    site.paths["collection"] = f"/api/v2/assets/{collection}/"
    site.send(
        USER, "PATCH", site.paths["other_form"], json={"parent": f"/api/v2/assets/{collection}/"}
    )
    empty = site.send(
        USER, "POST", "/api/v2/assets/", json={"name": "Draft", "asset_type": "empty"}
    )["uid"]
    site.paths["empty_form"] = f"/api/v2/assets/{empty}/"
    deleted = site.send(
        USER, "POST", "/api/v2/assets/", json={"name": texts.form, "asset_type": "collection"}
    )["uid"]
    site.send(
        USER,
        "POST",
        "/api/v2/assets/",
        json={"name": "Draft", "parent": f"/api/v2/assets/{deleted}/"},
    )
    payload = {"action": "delete", "asset_uids": [deleted]}
    site.send(USER, "POST", "/api/v2/assets/bulk/", json={"payload": payload})


def create_large_form(site: DemoSite) -> None:
    uid = site.import_form(USER, "large.xlsx", demo_forms.large("3,000 questions"))
    site.paths["large_form"] = f"/api/v2/assets/{uid}/"


def _create_imports(site: DemoSite) -> None:
    """Imports that ended in each way."""
    files = {
        "complete_import": (site.texts.filename, demo_forms.household("Copy")),
        "import_with_problems": (site.texts.filename, demo_forms.with_problems(site.texts.label)),
        "import_with_warnings": (
            "water points.xlsx",
            demo_forms.with_warnings("Water points, second try"),
        ),
        "hostile_import": ("bomb.xlsx", billion_laughs()),
    }
    for name, (filename, content) in files.items():
        record = site.import_file(USER, filename, content)
        site.paths[name] = httpx.URL(record["url"]).path
    again = site.import_file(
        USER, site.texts.filename, demo_forms.household(site.texts.form), if_exists="ask"
    )
    site.paths["import_of_existing_form"] = httpx.URL(again["url"]).path


def _create_team(site: DemoSite) -> None:
    body = {"name": site.texts.team, "description": site.texts.label[:200]}
    uid = site.send(USER, "POST", "/api/v2/teams/", json=body)["uid"]
    site.paths["team"], site.paths["team_uid"] = f"/api/v2/teams/{uid}/", uid
    site.send(
        USER,
        "POST",
        f"/api/v2/teams/{uid}/members/",
        json={"users": [USERNAMES[COLLEAGUE], MEMBER]},
    )
    with site.client(ANONYMOUS) as client:  # not with a token
        for path, body in (
            ("", {"username": "wash_sync", "team": uid}),
            ("wash_sync/tokens/", {"name": "Server"}),
        ):
            auth = (USERNAMES[USER], PASSWORD)
            client.post(f"/api/v2/service-accounts/{path}", json=body, auth=auth).raise_for_status()


def _share(site: DemoSite) -> None:
    assignments = site.paths["form"] + "permission-assignments/"
    partial = [
        {"url": "view_submissions", "filters": [{"_submitted_by": {"$in": [USERNAMES[USER]]}}]}
    ]
    for body in (
        {"user": USERNAMES[COLLEAGUE], "permission": "change_asset"},
        {
            "user": USERNAMES[SUPERUSER],
            "permission": "partial_submissions",
            "partial_permissions": partial,
        },
        {"user": "AnonymousUser", "permission": "view_asset"},
        {"team": site.paths["team_uid"], "permission": "view_submissions"},
    ):
        created = site.send(USER, "POST", assignments, json=body)
        site.paths.setdefault("assignment", httpx.URL(created["url"]).path)
    site.send(
        USER,
        "POST",
        site.paths["collection"] + "permission-assignments/",
        json={"user": USERNAMES[COLLEAGUE], "permission": "view_asset"},
    )
    offered = site.paths["other_form"].rstrip("/").rsplit("/", 1)[1]
    invite = {"recipient": USERNAMES[COLLEAGUE], "assets": [offered]}
    site.send(USER, "POST", "/api/v2/project-ownership/invites/", json=invite)


def _create_events(site: DemoSite) -> None:
    site.send(
        SUPERUSER, "PUT", f"{EVENT_PATH}{HAND_WRITTEN_EVENT}/", json=hand_written_event(site.texts)
    )
    site.paths["event"] = f"{EVENT_PATH}{HAND_WRITTEN_EVENT}/"
    demo_event = site.send(
        ANONYMOUS, "GET", EVENT_PATH, params={"limit": "1", "ordering": "-num_affected"}
    )
    site.paths["demo_event"] = f"{EVENT_PATH}{demo_event['results'][0]['id']}/"


HAND_WRITTEN_EVENT = 900_001
KENYA, FLOOD = 93, 12


def hand_written_event(texts: DemoTexts) -> dict[str, Any]:
    """An event with HTML in its summary, a severity, figures and an appeal."""
    return {
        "name": {"en": texts.event},
        "summary": {"en": texts.summary},
        "disaster_start_date": "2026-05-04",
        "countries": [KENYA],
        "dtype": FLOOD,
        "visibility": 3,
        "num_affected": 120_000,
        "ifrc_severity_level": 1,
        "glide": "FL-2026-000052-KEN",
    }
