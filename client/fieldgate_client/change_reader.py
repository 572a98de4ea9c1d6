"""Requests what a copy of a list of events needs to be up to date, and gives it to a `CopyMerge`."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import msgspec

from fieldgate_client.copy_merge import CopyMerge
from fieldgate_client.errors import NotFound, ServerFailed
from fieldgate_client.exports.export import Progress
from fieldgate_client.list_query import PAGE_NAMES, ListQuery
from fieldgate_client.ndjson_file import Totals
from fieldgate_client.pages import read_fields
from fieldgate_client.seen_keys import Key, SeenKeys
from fieldgate_client.since import deleted_query

SHORT_EVENTS = "event/mini/"
SUMMARY = "event/summary/"
ID_BATCH_SIZE = 100  # ids in one URL


class ChangeReader:
    """`query` is the list, `changes` the same list since a time, and `old` what the copy has."""

    def __init__(
        self, query: ListQuery[Any], changes: ListQuery[Any], merge: CopyMerge, old: SeenKeys, on_progress: Progress
    ) -> None:
        self._query = query
        self._changes = changes
        self._merge = merge
        self._old = old
        self._on_progress = on_progress
        self.versions: set[str] = set()  # of the data, of all pages

    async def read_changes(self) -> None:
        """Request what changed."""
        walk = self._changes.walk(is_fixed=True)
        async with aclosing(walk.pages()) as pages:
            async for records in pages:
                self._merge.add(records)
                self._on_progress(walk.report.received, walk.report.count)
        self.versions |= walk.report.data_versions

    async def find_gone(self) -> None:
        """Ask which records were deleted or hidden, and which of the changed ones no longer match the filters."""
        if any(name not in PAGE_NAMES | {"ordering"} for name, _ in self._query.parameters):
            anything = msgspec.structs.replace(self._changes, path=SHORT_EVENTS, parameters=())
            for key in await self._keys(anything):
                if key in self._old and not self._merge.has(key):
                    self._merge.gone.add(key)
        for key in await self._keys(deleted_query(self._changes, dict[str, Any])):
            self._merge.gone.add(key)

    async def read_ids(self) -> None:
        """Ask which records the whole list has, and request those that the copy lacks."""
        listed = await self._keys(msgspec.structs.replace(self._query, path=SHORT_EVENTS))
        self._merge.listed = SeenKeys()
        missing: list[Key] = []
        for key in listed:
            self._merge.listed.add(key)
            if key not in self._old and not self._merge.has(key):
                missing.append(key)
        for start in range(0, len(missing), ID_BATCH_SIZE):
            ids = ",".join(map(str, missing[start : start + ID_BATCH_SIZE]))
            walk = self._query.replace_parameters(id__in=ids).walk(is_fixed=True)
            async with aclosing(walk.pages()) as pages:
                async for records in pages:
                    self._merge.add(records)
            self.versions |= walk.report.data_versions

    async def fetch_totals(self) -> Totals | None:
        """What the server adds up over the list. None if it cannot, as during an upgrade."""
        unimportant = PAGE_NAMES | {"ordering"}
        parameters = [pair for pair in self._query.parameters if pair[0] not in unimportant]
        try:
            return await self._query.connection.fetch(
                SUMMARY, parameters, lambda response: msgspec.json.decode(response.body, type=Totals)
            )
        except (NotFound, ServerFailed):
            return None

    async def has_other_totals(self, totals: Totals) -> bool:
        """Whether the list has other totals than the copy, although it has not changed since it was first asked."""
        if await self.fetch_totals() == totals:
            return False
        after = await self._query.fetch_page(0, 1)
        return len(self.versions | {after.data_version}) == 1

    async def _keys(self, query: ListQuery[Any]) -> list[Key]:
        keys: list[Key] = []
        walk = query.walk(is_fixed=True)
        async with aclosing(walk.pages()) as pages:
            async for records in pages:
                keys += [read_fields(bytes(record)).key for record in records]
        self.versions |= walk.report.data_versions
        return keys
