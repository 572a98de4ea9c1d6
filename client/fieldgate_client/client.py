"""The client for scripts and notebooks.

with Client("https://field.example", token="…") as client:
    for event in client.events(type="Flood"):
        print(event.name)
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

# The other modules are loaded by the first client: importing this one is fast, however large the package becomes.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from fieldgate_client.connection import ConnectionOptions
    from fieldgate_client.filters import FilterValue
    from fieldgate_client.form_import import ImportProgress, ImportResult
    from fieldgate_client.lists import AsyncRecordList, RecordList
    from fieldgate_client.multipart import UploadProgress
    from fieldgate_client.records import Asset, Event, Import, Permission
    from fieldgate_client.response_body import ByteProgress
    from fieldgate_client.sharing_records import Explanation, SharingResult, WhatIf

Record = TypeVar("Record")


class Client:
    """The same methods as `AsyncClient`, without `await`. Requests run in a thread of their own."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        language: str = "",
        page_size: int = 1000,
        concurrency: int = 4,
        options: ConnectionOptions | None = None,
    ) -> None:
        from fieldgate_client.async_client import AsyncClient
        from fieldgate_client.event_loop_thread import EventLoopThread

        self._client = AsyncClient(
            url, token, language=language, page_size=page_size, concurrency=concurrency, options=options
        )
        self._loop = EventLoopThread()

    @property
    def has_token(self) -> bool:
        """Whether requests are made as a user."""
        return self._client.has_token

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._loop.run(self._client.close())
        self._loop.stop()

    def events(self, /, *, since: str | date | datetime | None = None, **filters: FilterValue) -> RecordList[Event]:
        """Emergencies. Filters of the server, and names: `countries=["KEN", "Chad"]`, `type="Flood"`.

        With `since`, only what changed at or after this time; see `deleted()` and `next_since` of the list.
        """
        return self._synchronous(self._client.events(since=since, **filters))

    def permissions(self, **filters: FilterValue) -> RecordList[Permission]:
        """The catalogue of permissions."""
        return self._synchronous(self._client.permissions(**filters))

    def imports(self, **filters: FilterValue) -> RecordList[Import]:
        """Your imports."""
        return self._synchronous(self._client.imports(**filters))

    def assets(self, **filters: FilterValue) -> RecordList[Asset]:
        """Forms and collections that you can view."""
        return self._synchronous(self._client.assets(**filters))

    def list(self, path: str, /, **filters: FilterValue) -> RecordList[dict[str, Any]]:
        """Any list of the server, as dicts."""
        return self._synchronous(self._client.list(path, **filters))

    def get(self, path: str, **parameters: FilterValue) -> Any:
        """One record, or any other JSON."""
        return self._loop.run(self._client.get(path, **parameters))

    def import_form(
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
        return self._loop.run(
            self._client.import_form(
                path,
                destination,
                name=name,
                library=library,
                desired_type=desired_type,
                timeout=timeout,
                on_progress=on_progress,
                on_status=on_status,
            )
        )

    def wait_for_import(
        self, uid: str, *, timeout: float | None = None, on_status: ImportProgress | None = None
    ) -> ImportResult:
        """Wait until an import has ended, for example after `ImportTimeout`."""
        return self._loop.run(self._client.wait_for_import(uid, timeout=timeout, on_status=on_status))

    def download_form(self, asset: Asset | str, path: str | Path, *, on_progress: ByteProgress | None = None) -> Path:
        """Save a form as an xlsx file, for example to translate it and import it again."""
        return self._loop.run(self._client.download_form(asset, path, on_progress=on_progress))

    def share(
        self,
        asset: Asset | str | Iterable[Asset | str],
        user: str | Iterable[str],
        *permissions: str,
        remove: bool = False,
        dry_run: bool = False,
    ) -> SharingResult:
        """Assign permissions to users on assets, or remove them. With `dry_run` nothing is changed.

        Fieldgate does everything or nothing. KoboToolbox cannot: `SharingIncomplete` tells what was done.
        """
        return self._loop.run(self._client.share(asset, user, *permissions, remove=remove, dry_run=dry_run))

    def explain(self, asset: Asset | str, user: str, permission: str) -> Explanation:
        """Why a user has a permission on an asset, or has not."""
        return self._loop.run(self._client.explain(asset, user, permission))

    def what_if(
        self,
        held: str | Iterable[str] = (),
        assign: str | Iterable[str] = (),
        remove: str | Iterable[str] = (),
        asset_type: str = "",
    ) -> WhatIf:
        """What removing and assigning permissions would do to somebody who has those in `held`, without any asset."""
        return self._loop.run(self._client.what_if(held, assign, remove, asset_type))

    def _synchronous(self, records: AsyncRecordList[Record]) -> RecordList[Record]:
        from fieldgate_client.lists import RecordList

        return RecordList(records.query, self._loop)
