"""`list.to_ndjson(path, resume=True)`: a download that continues where a killed or failed one ended.

Records go to `path.part`, and `path.part.state` tells which list they are from. The position is the number of complete
lines in the part; a line that was cut off is dropped. The next run continues behind it if it can prove that nothing is
lost, otherwise it starts again, and `report.restarted_because` tells why:

- Events of a Fieldgate server are read in the order of their ids, each page beginning with a record that was read
  before. If something changed meanwhile, what changed is merged into the part at the end, as `update()` does.
- Other lists are read in their own order, beginning with the last records of the part. They must be the same as
  before, and so must the version of the data. Where the server sends no version, the first page and the number of
  records must be the same; a record that was replaced by another one in between is then not noticed.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate_client.change_reader import ChangeReader
from fieldgate_client.copy_merge import CopyMerge
from fieldgate_client.copy_state import ListIdentity
from fieldgate_client.incremental import ListProbe, is_filtered_by_change, probe_list
from fieldgate_client.list_query import ListQuery
from fieldgate_client.ndjson_file import FileSummary, NewFile, replace_file, summarize, to_line
from fieldgate_client.since import next_since_of_copy
from fieldgate_client.walk import NotContinued, WalkPosition, WalkReport

if TYPE_CHECKING:
    from fieldgate_client.exports.export import Progress
    from fieldgate_client.exports.output_file import Target
    from fieldgate_client.lists import AsyncRecordList

PART_SUFFIX = ".part"
STATE_SUFFIX = ".part.state"
SEVERAL = "several"  # versions of the data


class PartState(msgspec.Struct, frozen=True, kw_only=True):
    """Which list a part is from, and what the server said when it was begun."""

    source: ListIdentity
    has_token: bool
    is_by_id: bool  # in the order of ids, not of the list
    count: int | None
    data_version: str
    reference_version: str
    started_at: datetime | None
    ordering: str = ""


async def write_resumable(records: AsyncRecordList[Any], path: Target, on_progress: Progress | None) -> int:
    """Write a whole list, or the rest of it. Returns the number of records."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError("Only a download to a file with a name can be continued.")
    query = await records.query.resolved()
    with NewFile(path, PART_SUFFIX, keep=True) as part:
        return await ResumableDownload(records, query, part, on_progress).run()


class ResumableDownload:
    def __init__(
        self, records: AsyncRecordList[Any], query: ListQuery[Any], part: NewFile, on_progress: Progress | None
    ) -> None:
        self._records = records
        self._query = query
        self._part = part
        self._state_path = part.target.with_name(part.target.name + STATE_SUFFIX)
        self._on_progress = on_progress or (lambda *_: None)

    async def run(self) -> int:
        probe = await probe_list(self._query)
        state, held, reason = await self._load(probe)
        if held.count:
            try:
                return await self._continue(state, held, probe)
            except NotContinued:
                reason = "The list has changed since the interruption."
        state = self._first_state(probe)
        self._part.truncate(0)
        self._save(state)
        report = await self._read(state, FileSummary(), reason)
        self._part.put_in_place()
        self._state_path.unlink(missing_ok=True)
        return report.received

    async def _continue(self, state: PartState, held: FileSummary, probe: ListProbe) -> int:
        if not state.data_version and not state.is_by_id:
            await self._check_beginning()
        report = await self._read(state, held, "")
        is_unchanged = bool(state.data_version) and report.data_versions == {state.data_version}
        if is_unchanged or not state.is_by_id:
            self._part.put_in_place()
            count = report.received
        else:
            count = await self._merge(state, held, probe)
        self._state_path.unlink(missing_ok=True)
        return count

    async def _check_beginning(self) -> None:
        """Without versions: most lists have new records at the beginning, so the first page must still be the same."""
        page = await self._query.fetch_page(self._query.start, self._query.page_size)
        with self._part.path.open("rb") as file:
            for line, record in zip(file, page.records, strict=False):
                if line != to_line(record):
                    raise NotContinued

    async def _merge(self, state: PartState, held: FileSummary, probe: ListProbe) -> int:
        """Events changed since the first run: merge what changed into the complete part."""
        since = next_since_of_copy(state.started_at, held.newest)
        if since is None or probe.reference_version != state.reference_version or is_filtered_by_change(self._query):
            raise NotContinued
        old = await asyncio.to_thread(summarize, self._part.path)
        changes = msgspec.structs.replace(self._query, since=since)
        with NewFile(self._part.target) as new, CopyMerge(self._part.path, new.file) as merge:
            reader = ChangeReader(self._query, changes, merge, old.keys, self._on_progress)
            await reader.read_changes()
            await reader.read_ids()
            digest = await asyncio.to_thread(merge.write)
            if await reader.has_other_totals(digest.totals):
                raise NotContinued
            new.put_in_place()
        self._part.path.unlink(missing_ok=True)
        return digest.count

    async def _load(self, probe: ListProbe) -> tuple[PartState, FileSummary, str]:
        """What an interrupted run left, or why it is of no use."""
        wanted, nothing = self._first_state(probe), FileSummary()
        held = await asyncio.to_thread(summarize, self._part.path)
        if not held.count:
            return wanted, nothing, ""
        try:
            state = msgspec.json.decode(self._state_path.read_bytes(), type=PartState)
        except (OSError, ValueError, RecursionError):
            return wanted, nothing, "It is not known which list the part is from."
        if (state.source, state.ordering) != (wanted.source, wanted.ordering):
            return wanted, nothing, f"The part is from {state.source.describe()}."
        if (state.has_token, state.is_by_id) != (wanted.has_token, wanted.is_by_id):
            return wanted, nothing, "The part was read with other rights or from another server."
        if len(held.keys) != held.count:
            return wanted, nothing, "The part has a record twice."
        self._part.truncate(held.end)
        return state, held, ""

    def _first_state(self, probe: ListProbe) -> PartState:
        query = self._query
        is_whole = (query.start, query.stop) == (0, None)
        return PartState(
            source=ListIdentity.of(query),
            has_token=query.connection.has_token,
            is_by_id=probe.can_tell_changes and is_whole,
            count=probe.page.count,
            data_version=probe.page.data_version,
            reference_version=probe.reference_version,
            started_at=probe.page.timestamp,
            ordering=dict(query.parameters).get("ordering", ""),
        )

    def _save(self, state: PartState) -> None:
        replace_file(self._state_path, msgspec.json.encode(state))

    async def _read(self, state: PartState, held: FileSummary, reason: str) -> WalkReport:
        """Read what the part lacks."""
        position = WalkPosition(held.keys, held.last_keys, state.count, state.data_version) if held.count else None
        walk = self._query.walk(is_fixed=state.is_by_id, position=position)
        walk.report.restarted_because = reason
        self._records.report = walk.report
        is_noted = False
        async with aclosing(walk.pages()) as pages:
            async for records in pages:
                if not is_noted and not walk.report.data_versions <= {state.data_version}:
                    # Before the first record of another version is in the part.
                    self._save(msgspec.structs.replace(state, data_version=SEVERAL))
                    is_noted = True
                self._part.write(map(to_line, records))
                self._part.file.flush()
                self._on_progress(walk.report.received, walk.report.count)
        return walk.report
