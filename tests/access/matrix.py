"""Who may do what: every operation of the service, called by every kind of caller with a valid request.

    make who    writes docs/permission-matrix.md anew

`CALLS` holds a valid request for each operation. What can be called on assets of different kinds has a call for each.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from fieldgate.accounts.store import IssuedBy
from fieldgate.app import operations
from fieldgate.assets.tables import files, versions
from fieldgate.events.store import EventStore
from fieldgate.http.operations import Operation
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.store import ImportStore
from fieldgate.imports.upload import parse_upload
from fieldgate.settings import Settings
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, WorldAsset, WorldUser
from tests.conftest import PASSWORD, Service, run_service
from tests.events.event_service import make_event
from tests.imports.workbooks import xlsx

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "who-may-do-what.md"
CALLERS = ("anonymous", "stranger", "viewer", "editor", "manager", "owner", "superuser", "disabled")
CALLER_PERMISSIONS = {
    "viewer": "view_asset",
    "editor": "change_asset",
    "manager": "manage_asset",
    "disabled": "manage_asset",
}
PRIVATE, PUBLIC, IN_COLLECTION = "an asset", "a public asset", "an asset in a collection"
ASSET_KINDS = (PRIVATE, PUBLIC, IN_COLLECTION)
VISIBLE_ONLY = "what one may see"  # of a list: everybody gets one

HEADER = """\
# Who may do what

Every operation, called with a valid request by every kind of caller. `yes`: done. A number: refused, with that status.
404 is the answer to who may not even know that it is there. A collection passes down `view_asset` and `change_asset`
to what is in it, and no more.

| caller | is |
|---|---|
| anonymous | not logged in |
| stranger | logged in, and nothing was assigned to him |
| viewer, editor, manager | holds `view_asset`, `change_asset`, `manage_asset` on the asset, or on its collection |
| owner | owns the asset; made the import |
| superuser | may do everything that can be done with an asset |
| disabled | was a manager; the account is closed since, and its token is sent |

This page is written by `make who`, and the tests compare it with what the service does.
"""


class MatrixContext:
    """A service with one caller of each kind, and as many assets as it takes."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)
        self.callers: dict[str, WorldUser] = {"anonymous": PUBLIC_USER}
        self._shared_assets: dict[str, WorldAsset] = {}

    async def set_up(self) -> None:
        for kind in CALLERS[1:]:
            self.callers[kind] = await self.world.create_user(is_superuser=kind == "superuser")
        for kind in ASSET_KINDS:
            self._shared_assets[kind] = await self.create_asset(kind)
        await EventStore(self.service.database, self.service.data_versions).upsert([make_event(1)])
        await self.world.disable(self.callers["disabled"])

    @property
    def owner(self) -> WorldUser:
        return self.callers["owner"]

    def shared_asset(self, kind: str) -> WorldAsset:
        """An asset that nothing is done to."""
        return self._shared_assets[kind]

    async def create_asset(self, kind: str) -> WorldAsset:
        """A new asset of this kind, as all kinds of callers know it."""
        collection = await self.world.create_asset(self.owner, "collection") if kind == IN_COLLECTION else None
        asset = await self.world.create_asset(self.owner, "survey", collection)
        await self._attach_file(asset)
        for caller, permission in CALLER_PERMISSIONS.items():
            await self.world.grant(self.callers[caller], collection or asset, permission)
        if kind == PUBLIC:
            await self.world.grant(PUBLIC_USER, asset, "view_asset")
        return asset

    async def _attach_file(self, asset: WorldAsset) -> None:
        async with self.service.database.transaction() as connection:
            file = files.insert().values(name="household.xlsx", data=b"PK").returning(files.c.id)
            number = (await connection.execute(file)).scalar_one()
            await connection.execute(versions.update().where(versions.c.asset_id == asset.id).values(file_id=number))

    async def version_url(self, asset: WorldAsset) -> str:
        answer = await self.service.get(f"{asset.path}versions/", headers=self.owner.headers)
        return str(answer.json()["results"][0]["url"])

    async def request(self, caller: str, method: str, path: str, **options: Any) -> httpx.Response:
        self.service.client.cookies.clear()  # nobody is taken for who logged in before
        return await self.service.request(method, path, headers=self.callers[caller].headers, **options)

    async def request_with_password(self, caller: str, method: str, path: str) -> httpx.Response:
        person = self.callers[caller]
        self.service.client.cookies.clear()
        auth = None if caller == "anonymous" else httpx.BasicAuth(person.username, PASSWORD)
        return await self.service.request(method, path, auth=auth)


Call = Callable[[MatrixContext, str], Awaitable[httpx.Response]]


def get(path: str) -> Call:
    return lambda house, caller: house.request(caller, "GET", path)


def on_new_asset(kind: str, method: str, path: str = "", **options: Any) -> Call:
    """On an asset made for this one call."""

    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        return await house.request(caller, method, (await house.create_asset(kind)).path + path, **options)

    return call


def on_shared_asset(kind: str, path: str = "") -> Call:
    return lambda house, caller: house.request(caller, "GET", house.shared_asset(kind).path + path)


def on_version(kind: str, path: str = "") -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        return await house.request(caller, "GET", await house.version_url(house.shared_asset(kind)) + path)

    return call


def for_each_asset_kind(make: Callable[..., Call], *arguments: Any, **options: Any) -> dict[str, Call]:
    return {kind: make(kind, *arguments, **options) for kind in ASSET_KINDS}


def with_password(method: str) -> Call:
    return lambda house, caller: house.request_with_password(caller, method, "/token/")


async def _post_import(house: MatrixContext, caller: str, **fields: str) -> httpx.Response:
    file = {"file": ("household.xlsx", xlsx())}
    return await house.request(caller, "POST", "/api/v2/imports/", files=file, data=fields)


def post_import_into(kind: str) -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        return await _post_import(house, caller, destination=house.shared_asset(kind).uid)

    return call


async def _import_detail(house: MatrixContext, caller: str) -> httpx.Response:
    request = ImportRequest(file=UploadedFile("household.xlsx", xlsx()))
    store = ImportStore(house.service.database, house.service.data_versions)
    uid = await store.create(house.owner.id, parse_upload(request, 2**20), None)
    return await house.request(caller, "GET", f"/api/v2/imports/{uid}/")


async def _token_deletion(house: MatrixContext, caller: str) -> httpx.Response:
    if caller not in ("anonymous", "disabled"):
        await house.service.store.issue_token(house.callers[caller].id, IssuedBy.HTTP, None)
    return await house.request_with_password(caller, "DELETE", "/token/")


async def _get_auth_token(house: MatrixContext, caller: str) -> httpx.Response:
    body = {"username": house.callers[caller].username, "password": PASSWORD}
    return await house.request(caller, "POST", "/get_auth_token", json=body)


async def _login(house: MatrixContext, caller: str) -> httpx.Response:
    body = {"username": house.callers[caller].username, "password": PASSWORD}
    return await house.request(caller, "POST", "/login/", data=body)


def explain(kind: str, *, oneself: bool) -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        about = house.callers[caller if oneself else "owner" if caller != "owner" else "viewer"]
        query = f"?user={about.username}&permission=view_asset"
        return await house.request(
            caller, "GET", f"{house.shared_asset(kind).path}permission-assignments/explain/{query}"
        )

    return call


async def _event_deletion(house: MatrixContext, caller: str) -> httpx.Response:
    await EventStore(house.service.database, house.service.data_versions).upsert([make_event(2)])
    return await house.request(caller, "DELETE", "/api/v2/event/2/")


async def _static_file(house: MatrixContext, caller: str) -> httpx.Response:
    page = (await house.service.get("/")).text
    return await house.request(caller, "GET", "/static/" + page.split('"/static/', 1)[1].split('"', 1)[0])


SHARING = "permission-assignments/"
_ASSIGNMENT = {"user": "AnonymousUser", "permission": "view_asset"}


def assignment(kind: str, whose: str, method: str) -> Call:
    """On an assignment of an asset made for this one call. Who holds nothing there asks for one that is not there."""

    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        asset = await house.create_asset(kind)
        holder = house.callers[{"the owner's": "owner", "the viewer's": "viewer"}.get(whose, caller)]
        listed = (await house.service.get(asset.path + SHARING, headers=house.owner.headers)).json()
        addresses = [each["url"] for each in listed if each["user"].endswith(f"/{holder.username}/")]
        return await house.request(caller, method, next(iter(addresses), f"{asset.path}{SHARING}pNone/"))

    return call


def clear(kind: str, whom: str) -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        name = house.callers[caller].username if whom == "oneself" else "AnonymousUser"
        asset = await house.create_asset(kind)
        return await house.request(caller, "DELETE", f"{asset.path}{SHARING}bulk/", json={"username": name})

    return call


def clone(kind: str) -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        own = await house.world.create_asset(house.callers[caller] if caller != "anonymous" else house.owner, "survey")
        path = f"{(await house.create_asset(kind)).path}{SHARING}clone/"
        return await house.request(caller, "PATCH", path, json={"clone_from": own.uid})

    return call


async def _clone_from(house: MatrixContext, caller: str) -> httpx.Response:
    own = await house.world.create_asset(house.callers[caller] if caller != "anonymous" else house.owner, "survey")
    path = f"{own.path}{SHARING}clone/"
    return await house.request(caller, "PATCH", path, json={"clone_from": house.shared_asset(PRIVATE).uid})


def batch(kind: str, action: str) -> Call:
    async def call(house: MatrixContext, caller: str) -> httpx.Response:
        body = {
            "assets": [(await house.create_asset(kind)).uid],
            "users": ["AnonymousUser"],
            "permissions": ["view_asset"],
        }
        return await house.request(caller, "POST", f"/api/v2/permission-assignments/{action}/", json=body)

    return call


_EVENT = {"name": "Floods", "disaster_start_date": "2026-07-14", "countries": [123]}

# By the name of the operation: one call, or one for each kind of what it is called on.
CALLS: dict[str, Call | dict[str, Call]] = {
    "permission_list": get("/api/v2/permissions/"),
    "permission_detail": get("/api/v2/permissions/view_asset/"),
    "permission_effects": get("/api/v2/permissions/view_asset/effects/"),
    "import_list": {VISIBLE_ONLY: get("/api/v2/imports/")},
    "import_creation": {
        "a new asset": _post_import,
        **{f"into {kind}": post_import_into(kind) for kind in ASSET_KINDS},
    },
    "import_detail": {"the owner's import": _import_detail},
    "asset_list": {VISIBLE_ONLY: get("/api/v2/assets/")},
    "asset_detail": for_each_asset_kind(on_shared_asset),
    "asset_change": for_each_asset_kind(on_new_asset, "PATCH", json={"name": "Another"}),
    "asset_deletion": for_each_asset_kind(on_new_asset, "DELETE"),
    "asset_xform": for_each_asset_kind(on_shared_asset, "xform/"),
    "version_list": for_each_asset_kind(on_shared_asset, "versions/"),
    "version_detail": for_each_asset_kind(on_version),
    "version_file": for_each_asset_kind(on_version, "file/"),
    "assignment_explanation": {
        **{f"oneself, on {kind}": explain(kind, oneself=True) for kind in ASSET_KINDS},
        **{f"somebody else, on {kind}": explain(kind, oneself=False) for kind in ASSET_KINDS},
    },
    "assignment_list": for_each_asset_kind(on_shared_asset, SHARING),
    "assignment_creation": for_each_asset_kind(on_new_asset, "POST", SHARING, json=_ASSIGNMENT),
    "assignment_history": for_each_asset_kind(on_shared_asset, f"{SHARING}history/"),
    "assignment_detail": {
        f"{whose} assignment, on {kind}": assignment(kind, whose, "GET")
        for kind in ASSET_KINDS
        for whose in ("one's own", "the owner's", "the viewer's")
    },
    "assignment_deletion": {
        f"{whose} assignment, on {kind}": assignment(kind, whose, "DELETE")
        for kind in ASSET_KINDS
        for whose in ("one's own", "the owner's", "the viewer's")
    },
    "assignment_replacement": for_each_asset_kind(on_new_asset, "POST", f"{SHARING}bulk/", json=[_ASSIGNMENT]),
    "assignment_clearing": {
        f"{whom}, on {kind}": clear(kind, whom) for kind in ASSET_KINDS for whom in ("oneself", "the public")
    },
    "assignment_cloning": {
        **{f"from one's own, to {kind}": clone(kind) for kind in ASSET_KINDS},
        "from an asset, to one's own": _clone_from,
    },
    "assignment_table": for_each_asset_kind(on_shared_asset, f"{SHARING}csv/"),
    "assignment_table_upload": for_each_asset_kind(
        on_new_asset, "POST", f"{SHARING}csv/", json={"text": "user,permission\nAnonymousUser,view_asset\n"}
    ),
    "many_added": {kind: batch(kind, "add") for kind in ASSET_KINDS},
    "many_removed": {kind: batch(kind, "remove") for kind in ASSET_KINDS},
    "user_list": get("/api/v2/users/"),
    "user_detail": get("/api/v2/users/AnonymousUser/"),
    "event_list": {VISIBLE_ONLY: get("/api/v2/event/")},
    "event_mini_list": {VISIBLE_ONLY: get("/api/v2/event/mini/")},
    "event_deleted_list": get("/api/v2/event/deleted/"),
    "event_export": {VISIBLE_ONLY: get("/api/v2/event/export/")},
    "event_detail": {"a public event": get("/api/v2/event/1/")},
    "event_replacement": lambda house, caller: house.request(caller, "PUT", "/api/v2/event/3/", json=_EVENT),
    "event_deletion": _event_deletion,
    "country_list": get("/api/v2/country/"),
    "country_detail": get("/api/v2/country/123/"),
    "region_list": get("/api/v2/region/"),
    "region_detail": get("/api/v2/region/1/"),
    "disaster_type_list": get("/api/v2/disaster_type/"),
    "disaster_type_detail": get("/api/v2/disaster_type/12/"),
    "token_reading": {"with a password": with_password("GET"), "with a token": get("/token/")},
    "token_creation": {
        "with a password": with_password("POST"),
        "with a token": lambda house, caller: house.request(caller, "POST", "/token/"),
    },
    "token_deletion": {"with a password": _token_deletion},
    "get_auth_token": {"with a password": _get_auth_token},
    "endpoint_index": get("/api/v2/"),
    "healthz": get("/healthz"),
    "readyz": get("/readyz"),
    "metrics": {"from an address that is allowed": get("/metrics")},
    "start": get("/"),
    "login_form": get("/login/"),
    "login": {"with a password": _login},
    "logout": lambda house, caller: house.request(caller, "POST", "/logout/", data={"csrf_token": "x"}),
    "language_switch": get("/language/fr/"),
    "openapi_json": get("/api-docs/openapi.json"),
    "openapi_yaml": get("/api-docs/openapi.yaml"),
    "swagger_ui": get("/api-docs/swagger-ui/"),
    "favicon": get("/favicon.ico"),
    "asset": _static_file,
}


async def cell(house: MatrixContext, call: Call, caller: str) -> str:
    status = (await call(house, caller)).status_code
    assert status < 500, status
    return "yes" if status < 400 else str(status)


async def render_table(service: Service) -> str:
    """The document."""
    house = MatrixContext(service)
    await house.set_up()
    lines = [HEADER, f"| operation | on | {' | '.join(CALLERS)} |", "|---|---|" + "---|" * len(CALLERS)]
    for operation in operations():
        for kind, call in calls_of(operation).items():
            cells = [await cell(house, call, caller) for caller in CALLERS]
            lines.append(f"| `{operation.route.method} {operation.route.path}` | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def calls_of(operation: Operation) -> dict[str, Call]:
    calls = CALLS[operation.name]
    return calls if isinstance(calls, dict) else {"": calls}


async def write_document() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with run_service(Settings(data=Path(folder), access_log=False)) as service:
            DOCUMENT.write_text(await render_table(service))


if __name__ == "__main__":
    asyncio.run(write_document())
    sys.stdout.write(f"{DOCUMENT.name} written\n")
