"""Saves events of a remote server, and requests their detail records if there is a token.

A detail record is requested if the list shows another `updated_at` than when it was last requested, once a week, and in
a full run. Events with details are saved in small batches: what is saved is not requested again after an interruption.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
from fieldgate_client.walk import Records

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.ingest.bulk_write import (
    FailureCallback,
    PendingRecord,
    WriteFailure,
    write_records,
)
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import SOURCES, Event, Visibility
from fieldgate.events.sync.event_records import (
    RecordByLanguage,
    by_language,
    fetch_event,
    is_inconsistent,
    with_details,
)
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.sync.reference_sync import ReferenceSync
from fieldgate.events.sync.remote import (
    PAGE_SIZE,
    Record,
    RemoteServer,
    gather_or_cancel,
    valid_id,
)
from fieldgate.events.sync.sync_state import EventSource, load_sources, save_sources
from fieldgate.events.writes import BulkWriteResult
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

BATCH_SIZE = 25  # events with detail records in one transaction
CHANGED_DURING_READ = "The event kept changing while it was read. The next run requests it again."

Result = TypeVar("Result")

_decode = msgspec.json.Decoder(dict[str, Any]).decode  # a record of `EventPages`


class EventPuller:
    """Saves events of one server. `result` counts them, `failing` has the ids of those that could not be saved."""

    def __init__(
        self,
        remote: RemoteServer,
        database: Database,
        reference_sync: ReferenceSync,
        on_failure: FailureCallback,
        *,
        is_fieldgate: bool,
        take_over: bool,
        failing: Collection[int],
    ) -> None:
        self._remote = remote
        self._database = database
        self._reference_sync = reference_sync
        self._on_failure = on_failure
        self._is_fieldgate = is_fieldgate
        self._take_over = take_over
        self.result = BulkWriteResult()
        self.failing = set(failing)
        self.of_other_sources: set[int] = set()  # events that this run left alone

    async def save_page(self, records: Records) -> None:
        """Save the records of a page of `EventPages`."""
        size = BATCH_SIZE if self._remote.has_token else PAGE_SIZE
        for start in range(0, len(records), size):
            await self._save_listed([_decode(raw) for raw in records[start : start + size]])

    async def pull_by_id(self, ids: Sequence[int]) -> list[int]:
        """Request the detail records of events and save them. Return the ids that the server does not have."""
        own = await self._without_other_sources(ids)
        answers = await gather_or_cancel(fetch_event(self._remote, id_) for id_ in own)
        gone: list[int] = []
        consistent: dict[int, RecordByLanguage] = {}
        for id_, record in zip(own, answers, strict=True):
            if record is None:
                gone.append(id_)
            elif is_inconsistent(record):  # saving it would lose translations that were not seen
                self._fail(f"event {id_}", "", CHANGED_DURING_READ)
                self.failing.add(id_)
            else:
                consistent[id_] = record
        await self._save(consistent, detailed=consistent.keys())
        self.failing.difference_update(gone)
        return gone

    async def _save_listed(self, listed: Sequence[dict[str, Any]]) -> None:
        records: dict[int, RecordByLanguage] = {}
        for versions in listed:
            english = versions[Language.ENGLISH.value]
            id_ = valid_id(english)
            if id_ is None:
                shown = english.get("id") if isinstance(english, dict) else None
                self._fail(f"record {str(shown)[:40]!r}", "id", "A whole number is needed.")
            else:
                records[id_] = by_language(versions)
        own = await self._without_other_sources(list(records))
        changed_meanwhile = [id_ for id_ in own if is_inconsistent(records[id_])]
        consistent = {id_: records[id_] for id_ in own if not is_inconsistent(records[id_])}
        detailed = await self._request_details(consistent) if self._remote.has_token else {}
        await self._save({**consistent, **detailed}, detailed=detailed.keys())
        if changed_meanwhile:
            await self.pull_by_id(changed_meanwhile)

    async def _without_other_sources(self, ids: Sequence[int]) -> list[int]:
        """Leave out events that another server is the source of: it may have shown more of them."""
        if self._take_over:
            return list(ids)
        sources = await self._read(load_sources, ids)
        others = {id_ for id_, row in sources.items() if row.source != self._remote.source}
        self.of_other_sources |= others
        return [id_ for id_ in ids if id_ not in others]

    async def _request_details(
        self, records: Mapping[int, RecordByLanguage]
    ) -> dict[int, RecordByLanguage]:
        """The records of those events whose details are not known, with their details."""
        sources = await self._read(load_sources, list(records))
        now = await self._read(lambda transaction: transaction.now)
        needed = []
        for id_, record in records.items():
            source = sources.get(id_, EventSource(id=id_, source=""))
            is_own = source.source == self._remote.source
            if not is_own or not source.has_detail(_version(record), now):
                needed.append(id_)
        requests = [with_details(self._remote, id_, records[id_]) for id_ in needed]
        answers = zip(needed, await gather_or_cancel(requests), strict=True)
        return {id_: detailed for id_, detailed in answers if detailed is not None}

    async def _save(
        self, records: Mapping[int, RecordByLanguage], *, detailed: Collection[int]
    ) -> None:
        """Write events and their sources in one transaction."""
        if not records:
            return
        reference_data = await self._reference_sync.update_from_events(records.values())
        sources = await self._read(load_sources, list(records))
        pending = [
            self._pending(id_, record, sources.get(id_), reference_data)
            for id_, record in records.items()
        ]
        saved: set[int] = set()

        def write_sources(
            transaction: WriteTransaction, events: Mapping[int, Event], _: Collection[int]
        ) -> None:
            saved.clear()  # this function may run twice
            saved.update(events)
            changed = []
            for id_ in events:
                row = self._source_of(id_, sources.get(id_))
                if id_ in detailed:
                    # Without a token, some details are not shown: with one they are requested.
                    version = _version(records[id_]) if self._remote.has_token else ""
                    row = msgspec.structs.replace(
                        row, detail_at=transaction.now, detail_version=version
                    )
                if row != sources.get(id_):
                    changed.append(row)
            save_sources(transaction, changed)

        write = partial(write_records, self._database, pending, self._on_failure, write_sources)
        self.result.add(await asyncio.to_thread(write))
        self.failing -= saved
        self.failing |= records.keys() - saved

    def _source_of(self, id_: int, known: EventSource | None) -> EventSource:
        """The source of an event that is saved. What was known of another server's record does not count."""
        with_token = self._remote.has_token or (known is not None and known.with_token)
        if known is None or known.source != self._remote.source:
            known = EventSource(id=id_, source=self._remote.source)
        return msgspec.structs.replace(known, with_token=with_token)

    def _pending(
        self,
        id_: int,
        translations: RecordByLanguage,
        source: EventSource | None,
        reference_data: ReferenceData,
    ) -> PendingRecord:
        record = self._merge(translations)
        # Fieldgate shows more to a token: a public record has only the reports that are public. A field that a record
        # does not have is kept.
        is_public_fieldgate = self._is_fieldgate and not self._remote.has_token
        if source is not None and source.with_token and is_public_fieldgate:
            record.pop("field_reports", None)
        is_own = source is not None and source.source == self._remote.source

        def parse(before: Event | None) -> Event:
            # It becomes public: what else is stored of it here was not shown by this server.
            is_private = before is not None and before.visibility is not Visibility.PUBLIC
            if is_private and not is_own and not self._remote.has_token:
                before = None
            return parse_event(record, reference_data, before=before)

        return PendingRecord(id_, f"event {id_}", parse)

    def _merge(self, record: RecordByLanguage) -> Record:
        """The record with all languages, as it is parsed."""
        merged = merge_translations(record)
        if not self._remote.has_token:  # what everybody is shown is public
            merged["visibility"] = int(Visibility.PUBLIC)
        if self._is_fieldgate:  # its lists leave them out if they are all countries
            merged.setdefault("countries_for_preview", None)
        merged.setdefault("demo", None)  # only records of demo events have it
        if merged.get("auto_generated_source") not in (None, *SOURCES):
            merged["auto_generated_source"] = None
        return merged

    async def _read(self, function: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.to_thread(
            self._database.read, lambda transaction: function(transaction, *arguments)
        )

    def _fail(self, location: str, field: str, reason: str) -> None:
        self._on_failure(WriteFailure(location, field, reason))
        self.result.failed += 1


def _version(record: RecordByLanguage) -> str:
    return str(record[Language.ENGLISH].get("updated_at"))[:40]
