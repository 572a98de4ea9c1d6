"""`list.update(path)`: brings a copy of a list on disk up to date.

The first run reads everything. A later run asks for the version of the data first: if it is the one of the copy,
nothing changed. Otherwise, for events of a Fieldgate server:

1. Records that changed since the last run are requested in full. See `since.py` for the margins.
2. The ids of all records that changed, whatever the filters, tell which ones left the filters. `event/deleted/` tells
   which were deleted, merged or hidden.
3. The totals of `event/summary/` must then be those of the copy: the number of events and of people affected. If not,
   something changed without a new `updated_at`, as when records are loaded from a file with their own dates. The ids
   of the whole list are then read from the short list `event/mini/`: what is not there leaves the copy, and what the
   copy lacks is requested. If the totals still differ, everything is read.

Everything else is read completely every time: other lists, other servers, and after changes of countries and disaster
types, whose names are in the records. `UpdateResult.reason` tells why.

The copy is written whole next to the old file, then the state, then the file is renamed. The state knows the digests of
the old and of the new file, so after a crash at any moment it fits whichever is there.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any

import msgspec

from fieldgate_client.change_reader import ChangeReader
from fieldgate_client.copy_merge import CopyMerge, OldDigests
from fieldgate_client.copy_state import Copy, CopyState, ListIdentity, load_state, save_state
from fieldgate_client.errors import FieldgateError
from fieldgate_client.exports.export import Progress
from fieldgate_client.list_query import ListQuery
from fieldgate_client.ndjson_file import FileSummary, LineDigest, NewFile, summarize, to_line
from fieldgate_client.pages import Page, read_fields
from fieldgate_client.since import next_since_of_copy

EVENTS = "event/"
REFERENCE = "country/"  # its version is that of countries and disaster types
LONGEST_WITHOUT_COMPLETE_PULL = timedelta(days=30)


class UpdateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an update did. `reason` tells why everything was read, or that nothing had changed."""

    total: int
    added: int = 0
    changed: int = 0
    deleted: int = 0
    is_complete_pull: bool = False
    reason: str = ""


class ListProbe(msgspec.Struct, frozen=True):
    """What the server says about a list before it is read."""

    page: Page
    can_tell_changes: bool
    reference_version: str = ""


async def probe_list(query: ListQuery[Any]) -> ListProbe:
    page = await query.fetch_page(query.start, 1)
    if not page.is_fieldgate or query.name != EVENTS:
        return ListProbe(page, can_tell_changes=False)
    reference = msgspec.structs.replace(query, path=REFERENCE, parameters=())
    return ListProbe(page, can_tell_changes=True, reference_version=(await reference.fetch_page(0, 1)).data_version)


async def update_file(
    query: ListQuery[Any], path: str | os.PathLike[str], on_progress: Progress | None = None
) -> UpdateResult:
    """Bring the copy of a list up to date. If that fails, the old file stays as it is."""
    if query.since is not None:
        raise FieldgateError("update() keeps the time of the last run itself: leave out since=.")
    query = await query.resolved()
    with NewFile(path) as new:
        state = load_state(new.target, ListIdentity.of(query))
        return await CopyUpdate(query, new, state, on_progress).run()


class CopyUpdate:
    def __init__(self, query: ListQuery[Any], new: NewFile, state: CopyState, on_progress: Progress | None) -> None:
        self._query = query
        self._new = new
        self._target = new.target
        self._state = state
        self._held: Copy | None = None  # what is known about the file on disk
        self._on_progress = on_progress or (lambda *_: None)

    async def run(self) -> UpdateResult:
        old = await asyncio.to_thread(summarize, self._target) if self._target.exists() else FileSummary()
        held = self._held = self._state.copy_with(old.digest)
        probe = await probe_list(self._query)
        if held and held.data_version and held.data_version == probe.page.data_version:
            return UpdateResult(total=held.count, reason="Nothing has changed.")
        reason = self._why_complete(held, probe)
        if not reason and held and held.next_since:
            changes = msgspec.structs.replace(self._query, since=held.next_since)
            number = await changes.count() or 0
            if number * 2 <= (probe.page.count or 0):
                result = await self._merge(changes, held, probe, old)
                if result is not None:
                    return result
                reason = "Records have changed without a new updated_at."
            else:
                reason = "Most records may have changed."
        return await self._pull(probe, old, reason)

    def _why_complete(self, held: Copy | None, probe: ListProbe) -> str:
        """Why everything must be read; empty if changes are enough."""
        if not self._state.copies or not self._target.exists():
            return "This is the first pull."
        if held is None:
            return "The file was changed by another program."
        if not probe.can_tell_changes:
            return "The server cannot tell which records of this list have changed."
        if is_filtered_by_change(self._query):
            return "The list is filtered by updated_at."
        if (self._query.start, self._query.stop) != (0, None):
            return "Only a part of the list is kept."
        if held.has_token != self._query.connection.has_token:
            return "The last pull was made with other rights."
        if held.next_since is None or held.pulled_at is None or probe.page.timestamp is None:
            return "The server does not tell the time."
        if not probe.reference_version or held.reference_version != probe.reference_version:
            return "Countries or disaster types have changed."
        if probe.page.timestamp - held.pulled_at > LONGEST_WITHOUT_COMPLETE_PULL:
            return f"The last complete pull was more than {LONGEST_WITHOUT_COMPLETE_PULL.days} days ago."
        return ""

    async def _pull(self, probe: ListProbe, old: FileSummary, reason: str) -> UpdateResult:
        """Read everything."""
        self._new.truncate(0)  # of an attempt to merge
        digest, added, unchanged = LineDigest(), 0, 0
        old_digests = await asyncio.to_thread(OldDigests.of_file, self._target) if old.count else OldDigests()
        walk = self._query.walk()
        async with aclosing(walk.pages()) as pages:
            async for records in pages:
                for record in records:
                    line = to_line(record)
                    fields = read_fields(line)
                    digest.add(line, fields)
                    added += fields.key not in old.keys
                    unchanged += line in old_digests
                    self._new.file.write(line)
                self._on_progress(walk.report.received, walk.report.count)
        copy = self._copy(digest, probe, walk.report.data_versions, pulled_at=probe.page.timestamp)
        kept = digest.count - added
        self._finish(copy, is_same=False)
        return UpdateResult(
            total=digest.count,
            added=added,
            changed=max(0, kept - unchanged),
            deleted=len(old.keys) - kept,
            is_complete_pull=True,
            reason=reason,
        )

    async def _merge(
        self, changes: ListQuery[Any], held: Copy, probe: ListProbe, old: FileSummary
    ) -> UpdateResult | None:
        """Read what changed. None if that does not make the copy equal to a list that stayed the same meanwhile."""
        with CopyMerge(self._target, self._new.file) as merge:
            reader = ChangeReader(self._query, changes, merge, old.keys, self._on_progress)
            await reader.read_changes()
            await reader.find_gone()
            digest = await asyncio.to_thread(merge.write)
            if await reader.fetch_totals() != digest.totals:
                await reader.read_ids()
                digest = await asyncio.to_thread(merge.write)
                if await reader.has_other_totals(digest.totals):
                    return None
        copy = self._copy(digest, probe, reader.versions, pulled_at=held.pulled_at)
        self._finish(copy, is_same=not merge.is_different)
        return UpdateResult(total=digest.count, added=merge.added, changed=merge.changed, deleted=merge.deleted)

    def _copy(self, digest: LineDigest, probe: ListProbe, versions: set[str], *, pulled_at: datetime | None) -> Copy:
        page = probe.page
        return Copy(
            digest=digest.digest,
            count=digest.count,
            has_token=self._query.connection.has_token,
            next_since=next_since_of_copy(page.timestamp, digest.newest) if probe.can_tell_changes else None,
            pulled_at=pulled_at,
            # Several processes can answer, each from its own state: only what all of them had is certain.
            data_version=page.data_version if versions <= {page.data_version} else "",
            reference_version=probe.reference_version,
        )

    def _finish(self, copy: Copy, *, is_same: bool) -> None:
        """Save the state, then put the new file in place, unless it is the same as the old one."""
        if not is_same:
            self._new.sync()
        before = [self._held] if self._held and self._held.digest != copy.digest else []
        save_state(self._target, msgspec.structs.replace(self._state, copies=[copy, *before]))
        if not is_same:
            self._new.put_in_place()


def is_filtered_by_change(query: ListQuery[Any]) -> bool:
    return any(name.startswith("updated_at") for name, _ in query.parameters)
