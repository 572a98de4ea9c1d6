"""Services to move from and to, what they have, and runs between them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fieldgate_client.connection import ConnectionOptions
from sqlalchemy import func, select

from fieldgate.assets.tables import assets, assignments, versions
from fieldgate.cli.output import ignore_progress
from fieldgate.move.asset_mover import MoveResult
from fieldgate.move.people import InviteFile, People
from fieldgate.move.plan import MoveAction
from fieldgate.move.run import move as run_move
from fieldgate.move.server_source import ServerSource
from fieldgate.move.source_assets import Source
from fieldgate.settings import Settings
from tests.client.fieldgate_service import QUICK_RETRIES
from tests.conftest import BASE_URL, Service, run_service
from tests.data.accounts import create_token
from tests.data.assets import create_asset
from tests.data.sql import first_value, read_sql

PEOPLE = ("amina", "omar", "lena", "bob")
PUBLIC = "AnonymousUser"
CONTENT: dict[str, Any] = {
    "survey": [
        {"type": "text", "name": "who", "label": ["Who?", "Qui ?"]},
        {
            "type": "select_one",
            "select_from_list_name": "yn",
            "name": "ok",
            "label": ["Well?", None],
        },
    ],
    "choices": [{"list_name": "yn", "name": "y", "label": ["Yes", "Oui"]}],
    "settings": {"form_title": "Title of the form", "id_string": "visit"},
    "translations": ["English (en)", "French (fr)"],
}
BROKEN: dict[str, Any] = {
    "survey": [{"type": "calculate", "name": "x", "calculation": "1 +"}],
    "translations": [None],
}
# What a record has anew: keys of times, versions and assignments.
_NEW = {
    "version_id",
    "deployed_version_id",
    "date_deployed",
    "date_created",
    "date_modified",
    "deployed_versions",
}
_NEW |= {"version__content_hash", "version_count", "last_modified_by", "$kuid"}


class Place:
    """A service with users and their tokens."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, int] = {}

    async def add_user(self, name: str, **details: Any) -> None:
        _, self.ids[name] = await self.service.create_user(name, **details)
        self.tokens[name] = create_token(self.service, self.ids[name])

    async def request(self, method: str, path: str, json: Any = None, *, by: str = "amina") -> Any:
        headers = {"Authorization": f"Token {self.tokens[by]}"}
        answer = await self.service.request(method, f"/api/v2/{path}", json=json, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    async def create(self, by: str = "amina", **fields: Any) -> str:
        fields = {"asset_type": "survey", **fields}
        if "parent" in fields:
            fields["parent"] = f"/api/v2/assets/{fields['parent']}/"
        return str((await self.request("POST", "assets/", fields, by=by))["uid"])

    async def share(
        self, uid: str, user: str, permission: str, *, by: str = "amina", **fields: Any
    ) -> None:
        body = {"user": user, "permission": permission, **fields}
        await self.request("POST", f"assets/{uid}/permission-assignments/", body, by=by)

    async def rows(self, uid: str, by: str = "amina") -> list[Any]:
        """The assignments of an asset, as they can be compared."""
        found = await self.request("GET", f"assets/{uid}/permission-assignments/?teams=true", by=by)
        return [{key: value for key, value in row.items() if key != "url"} for row in found]

    async def record(self, uid: str, by: str = "amina") -> dict[str, Any]:
        """The record of an asset, as it can be compared."""
        found: dict[str, Any] = without(await self.request("GET", f"assets/{uid}/", by=by), _NEW)
        return {**found, "permissions": await self.rows(uid, by)}

    async def counts(self) -> tuple[int, int, int]:
        """Numbers of assets, versions and assignments."""
        tables = assets, versions, assignments
        found = [
            first_value(self.service, select(func.count()).select_from(table)) for table in tables
        ]
        return tuple(found)


def without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(each, keys) for key, each in value.items() if key not in keys}
    return [without(each, keys) for each in value] if isinstance(value, list) else value


@asynccontextmanager
async def places(
    folder: Path, *names: str, source_url: str = ""
) -> AsyncIterator[tuple[Place, Place]]:
    """A source and a target, each with these users."""
    async with (
        run_service(
            Settings(data=folder / "source", database_url=source_url, access_log=False)
        ) as source,
        run_service(Settings(data=folder / "target", access_log=False)) as target,
    ):
        both = Place(source), Place(target)
        for place in both:
            for name in names or PEOPLE:
                await place.add_user(name)
        yield both


def server_source(place: Place, *users: str) -> ServerSource:
    transport = httpx.ASGITransport(place.service.app)
    options = ConnectionOptions(retries=QUICK_RETRIES, transport=transport)
    return ServerSource(
        BASE_URL, {name: place.tokens[name] for name in users or ("amina",)}, options
    )


async def move(
    target: Place,
    source: Source,
    *,
    users: Mapping[str, str] | None = None,
    invites: InviteFile | None = None,
    is_dry_run: bool = False,
    may_invite: bool = False,
) -> dict[str, MoveResult]:
    """The results of a run by uid there."""
    people = People(target.service.database, dict(users or {}), invites, may_invite=may_invite)
    try:
        report = await run_move(
            target.service.database,
            Settings(),
            source,
            people,
            ignore_progress,
            is_dry_run=is_dry_run,
        )
    finally:
        await source.close()
    return {each.source_uid: each for each in report.results}


def actions(results: Mapping[str, MoveResult]) -> set[MoveAction]:
    return {each.action for each in results.values()}


async def fill(place: Place, count: int, people: Sequence[str], *, by: str = "amina") -> list[str]:
    """Create many surveys, each shared with all these people."""
    sample = await place.create(name="Sample", content=CONTENT, by=by)
    with read_sql(place.service) as connection:
        of_sample = (
            select(assets.c.summary, versions.c.content, versions.c.xform)
            .join_from(versions, assets)
            .where(assets.c.uid == sample)
        )
        row = connection.execute(of_sample).one()
    uids = [sample]
    for number in range(count - 1):
        uids.append(
            create_asset(
                place.service,
                place.ids[by],
                name=f"Form {number}",
                content=row.content,
                summary=row.summary,
                xform=row.xform,
                tags=(f"tag{number}",),
            )
        )
    for number, uid in enumerate(uids):
        body: list[dict[str, Any]] = [{"user": name, "permission": "view_asset"} for name in people]
        filters = [{"url": "view_submissions", "filters": [{"_submitted_by": f"user{number}"}]}]
        body[number % len(body)] |= {
            "permission": "partial_submissions",
            "partial_permissions": filters,
        }
        await place.request("POST", f"assets/{uid}/permission-assignments/bulk/", body, by=by)
    return uids
