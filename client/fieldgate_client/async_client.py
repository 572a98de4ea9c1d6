"""The client for programs with an event loop.

async with AsyncClient("https://field.example", token="…") as client:
    async for event in client.events(type="Flood"):
        print(event.name)
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from fieldgate_client import forms, sharing, teams
from fieldgate_client.connection import Connection, ConnectionOptions
from fieldgate_client.forms import FormCheck, ImportProgress, ImportResult, UploadProgress
from fieldgate_client.list_query import (
    CHANGED_SINCE,
    PAGE_NAMES,
    FilterValue,
    ListQuery,
    encode_filters,
    parse_since,
)
from fieldgate_client.lists import AsyncRecordList
from fieldgate_client.names import NameResolver, split_filters
from fieldgate_client.records import Asset, Event, Import, Permission
from fieldgate_client.response_body import ByteProgress
from fieldgate_client.server_url import identifier, resolve_address
from fieldgate_client.sharing import Explanation, SharingResult
from fieldgate_client.teams import Team, TeamAsset, TeamChange, TeamMember
from fieldgate_client.walk import DEFAULT_CONCURRENCY, DEFAULT_PAGE_SIZE, WalkOptions


class AsyncClient:
    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        language: str = "",
        page_size: int = DEFAULT_PAGE_SIZE,
        concurrency: int = DEFAULT_CONCURRENCY,
        options: ConnectionOptions | None = None,
    ) -> None:
        for name, number in (("page_size", page_size), ("concurrency", concurrency)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1.")
        options = options or ConnectionOptions()
        if concurrency > options.max_concurrent:
            options = msgspec.structs.replace(options, max_concurrent=concurrency)
        self.connection = Connection(url, token, options, language=language)
        self._walk_options = WalkOptions(page_size, concurrency, timeout=options.list_timeout)
        self._names = NameResolver(self._read_all, self.connection.is_fieldgate, language)

    @property
    def has_token(self) -> bool:
        """Whether requests are made as a user."""
        return self.connection.has_token

    @property
    def server(self) -> str:
        """The address of the server, without a slash at the end."""
        return self.connection.server

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.connection.close()

    def _query(
        self, path: str, filters: dict[str, FilterValue], record_type: Any = dict[str, Any]
    ) -> ListQuery[Any]:
        for name in PAGE_NAMES & filters.keys():
            raise ValueError(
                f"{name} is not a filter: all pages are read. For a part of the list, write records[:10]."
            )
        address = resolve_address(path, self.connection.server)
        # The address may be that of a page in a browser: what belongs to the page only is left out.
        others = [
            pair
            for pair in address.query
            if pair[0] not in PAGE_NAMES | {"format"} | filters.keys()
        ]
        return ListQuery(
            self.connection,
            address.path,
            (*others, *encode_filters(filters)),
            record_type,
            options=self._walk_options,
        )

    def events(
        self, /, *, since: str | date | datetime | None = None, **filters: FilterValue
    ) -> AsyncRecordList[Event]:
        """Emergencies. Filters of the server, and names: `countries=["KEN", "Chad"]`, `type="Flood"`.

        With `since`, only what changed at or after this time; see `deleted()` and `next_since` of the list.
        """
        names, others = split_filters(filters)
        query = self._query("event/", others, Event)
        if since is not None:
            if others.get(CHANGED_SINCE) is not None:
                raise ValueError(
                    f"since= and {CHANGED_SINCE}= are the same filter: use one of them."
                )
            query = msgspec.structs.replace(query, since=parse_since(since))
        if names:
            query = msgspec.structs.replace(query, resolve_names=lambda: self._names.resolve(names))
        return AsyncRecordList(query)

    def permissions(self, /, **filters: FilterValue) -> AsyncRecordList[Permission]:
        """The catalogue of permissions."""
        return AsyncRecordList(self._query("permissions/", filters, Permission))

    def imports(self, /, **filters: FilterValue) -> AsyncRecordList[Import]:
        """Your imports."""
        return AsyncRecordList(self._query("imports/", filters, Import))

    def assets(self, /, **filters: FilterValue) -> AsyncRecordList[Asset]:
        """Forms and collections that you can view."""
        return AsyncRecordList(self._query("assets/", filters, Asset))

    def list(self, path: str, /, **filters: FilterValue) -> AsyncRecordList[dict[str, Any]]:
        """Any list of the server, as dicts."""
        return AsyncRecordList(self._query(path, filters))

    async def get(self, /, path: str, **parameters: FilterValue) -> Any:
        """One record, or any other JSON."""
        return await self.connection.fetch(
            path, encode_filters(parameters), lambda response: msgspec.json.decode(response.body)
        )

    async def import_form(
        self,
        path: str | Path,
        destination: Asset | str | None = None,
        *,
        name: str = "",
        library: bool = False,
        desired_type: str = "",
        timeout: float | None = None,
        on_progress: UploadProgress | None = None,
        on_status: ImportProgress | None = None,
    ) -> ImportResult:
        """Import an XLSForm, wait for the result, and return the assets. Raises `ImportFailed` with the problems.

        With `destination` (an asset, uid or URL) the form becomes a new version of that asset. `on_progress` gets the
        bytes sent and their number, `on_status` the import each time it is looked at. `timeout` is for the waiting.
        """
        uid = await forms.send_form(
            self.connection,
            path,
            destination,
            name=name,
            library=library,
            desired_type=desired_type,
            on_progress=on_progress,
        )
        return await self.wait_for_import(uid, timeout=timeout, on_status=on_status)

    async def check_form(
        self,
        path: str | Path,
        destination: Asset | str | None = None,
        *,
        name: str = "",
        library: bool = False,
        desired_type: str = "",
    ) -> FormCheck:
        """Check an XLSForm like an import, which stores nothing: `problems` and `warnings` of the result.

        Only for Fieldgate. Other servers get nothing, and there is `UnsupportedByServer`.
        """
        return await forms.check_form(
            self.connection,
            path,
            destination,
            name=name,
            library=library,
            desired_type=desired_type,
        )

    async def wait_for_import(
        self, uid: str, *, timeout: float | None = None, on_status: ImportProgress | None = None
    ) -> ImportResult:
        """Wait until an import has ended, for example after `ImportTimeout`."""
        return await forms.wait_for_import(self.connection, uid, timeout, on_status)

    async def download_form(
        self, asset: Asset | str, path: str | Path, *, on_progress: ByteProgress | None = None
    ) -> Path:
        """Save a form as an xlsx file, for example to translate it and import it again."""
        return await forms.download_form(self.connection, asset, path, on_progress)

    async def share(
        self,
        asset: Asset | str | Iterable[Asset | str],
        user: str | Iterable[str],
        *permissions: str,
        remove: bool = False,
        dry_run: bool = False,
        until: date | str | None = None,
    ) -> SharingResult:
        """Assign permissions to users on assets, or remove them. With `dry_run` nothing is changed.

        `until` is when they end: a date, which is included, a time, or "never". Without it, ends stay as they are.

        Fieldgate does everything or nothing. KoboToolbox cannot: the text of an error tells what was done.
        """
        steps = sharing.sharing_steps(asset, user, permissions)
        return await sharing.share(
            self.connection, steps, remove=remove, dry_run=dry_run, until=until
        )

    async def explain(self, asset: Asset | str, user: str, permission: str) -> Explanation:
        """Why a user has a permission on an asset, or has not."""
        return await sharing.explain(self.connection, asset, user, permission)

    def teams(self, /, **filters: FilterValue) -> AsyncRecordList[Team]:
        """The teams that you are in. Share with one by `share(asset, "team:NAME", …)`."""
        return AsyncRecordList(self._query("teams/", filters, Team))

    async def create_team(self, name: str, description: str = "") -> Team:
        """Create a team, of which you are the first admin."""
        return await teams.create_team(self.connection, name, description)

    def team_members(self, team: Team | str) -> AsyncRecordList[TeamMember]:
        return AsyncRecordList(self._query(f"{teams.team_path(team)}members/", {}, TeamMember))

    def team_assets(self, team: Team | str) -> AsyncRecordList[TeamAsset]:
        """The assets that are shared with a team."""
        return AsyncRecordList(self._query(f"{teams.team_path(team)}assets/", {}, TeamAsset))

    async def add_to_team(
        self,
        team: Team | str,
        users: str | Iterable[str],
        *,
        role: str = "member",
        dry_run: bool = False,
    ) -> TeamChange:
        """Add people to a team. With `dry_run` nothing is changed, and `assets` has what they would gain."""
        body = {"users": [users] if isinstance(users, str) else [*users], "role": role}
        path = f"{teams.team_path(team)}members/"
        return await teams.change_members(self.connection, "POST", path, body, dry_run=dry_run)

    async def remove_from_team(
        self, team: Team | str, user: str, *, dry_run: bool = False
    ) -> TeamChange:
        """Remove somebody from a team. With `dry_run` nothing is changed, and `assets` has what they would lose."""
        path = f"{teams.team_path(team)}members/{quote(identifier(user), safe='')}/"
        return await teams.change_members(self.connection, "DELETE", path, None, dry_run=dry_run)

    async def _read_all(self, path: str, language: str) -> builtins.list[dict[str, Any]]:
        query = msgspec.structs.replace(self._query(path, {}), language=language)
        return [record async for record in AsyncRecordList(query)]
