"""Saves event records of a remote server, and requests their detail records if there is a token.

Detail records are requested only where the list record changed, and for all events once a week or in a full run.
Events with details are saved in small batches, each in one transaction together with the progress.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec

from fieldgate.cache import BoundedCache
from fieldgate.db import AsyncDatabase
from fieldgate.events.event_writer import BulkWriteResult, EventWriter
from fieldgate.events.ingest.bulk_write import (
    FailureCallback,
    PendingRecord,
    WriteFailure,
    write_records,
)
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import SOURCES, Event, Visibility
from fieldgate.events.store import EventStore
from fieldgate.events.sync import page_reader, sync_state
from fieldgate.events.sync.event_sources import EventSource, load_sources, mark_listed, save_sources
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.sync.page_reader import (
    EVENTS_PATH,
    MAX_REREADS,
    ListPosition,
    RecordByLanguage,
    SyncPage,
    is_inconsistent,
    valid_id,
)
from fieldgate.events.sync.reference_sync import ReferenceSync
from fieldgate.events.sync.remote import RemoteError, RemoteNotFound, RemoteServer, gather_or_cancel
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.i18n.languages import Language

DETAIL_BATCH_SIZE = (
    25  # events with detail records in one transaction: what a stopped run requests again
)
MAX_CACHED_RECORDS = 10_000  # records this run need not write again
CHANGED_DURING_READ = "The event kept changing while it was read. The next run requests it again."
REFERENCE_FIELDS = ("countries", "countries_for_preview", "dtype")

ProgressCallback = Callable[[int, int], None]  # records done, records in total
ProgressHook = Callable[
    [EventWriter, Collection[int]], Awaitable[None]
]  # gets the ids of the failed records


def ignore_progress(done: int, total: int) -> None:
    pass


class EventPuller:
    """Saves event records of one remote server."""

    def __init__(
        self,
        remote: RemoteServer,
        database: AsyncDatabase,
        store: EventStore,
        reference_sync: ReferenceSync,
        on_failure: FailureCallback,
        *,
        is_fieldgate: bool,
        take_over: bool = False,
    ) -> None:
        self._remote = remote
        self._database = database
        self._store = store
        self._reference_sync = reference_sync
        self._on_failure = on_failure
        self._is_fieldgate = is_fieldgate
        self._take_over = take_over
        self.of_other_sources: set[int] = set()  # events that this run left alone
        self._seen = BoundedCache[str, bytes](
            MAX_CACHED_RECORDS
        )  # digests of records seen in this run

    async def save_page(
        self,
        state: SyncState,
        page: SyncPage,
        result: BulkWriteResult,
        on_progress: ProgressCallback = ignore_progress,
        *,
        keep_position: bool = False,
    ) -> SyncState:
        """Save the records of a page that this run has not seen, and the progress, in batches."""
        self._report_records_without_id(page, result)
        batch_size = DETAIL_BATCH_SIZE if self._remote.has_token else page_reader.PAGE_SIZE
        for start in range(0, len(page.ids), batch_size):
            end = min(start + batch_size, len(page.ids))
            ids = [id_ for id_ in page.ids if isinstance(id_, int)]  # the server may send anything
            listed = [
                id_ for id_ in page.ids[start:end] if isinstance(id_, int) and id_ in page.records
            ]
            if end == len(page.ids):  # records that were not on this page in English
                listed += [id_ for id_ in page.records if id_ not in set(ids)]
            position = state.position if keep_position else page.position_after(end)
            records = await self._without_other_sources({id_: page.records[id_] for id_ in listed})
            state = await self._save_batch(state, records, position, result)
            on_progress(page.offset + end, page.count)
        return state

    async def save_details(
        self, state: SyncState, records: Mapping[int, RecordByLanguage], result: BulkWriteResult
    ) -> None:
        """Save detail records of events that are not in the list."""
        consistent = self._without_inconsistent(records, result)
        await self._write(state, consistent, {}, set(consistent), result)

    async def fetch_by_id(self, id_: int) -> RecordByLanguage | None:
        """Fetch the detail record of an event in all languages. None if the server has no such event."""
        records: RecordByLanguage = {}
        for _ in range(MAX_REREADS):
            try:
                records = await self._fetch_detail(id_, tuple(Language))
            except RemoteNotFound:
                return None
            if not is_inconsistent(records):
                break
        return records

    async def _save_batch(
        self,
        state: SyncState,
        records: Mapping[int, RecordByLanguage],
        position: ListPosition,
        result: BulkWriteResult,
    ) -> SyncState:
        unseen = {id_: each for id_, each in records.items() if self._is_unseen(str(id_), each)}
        consistent = self._without_inconsistent(unseen, result)
        digests = {
            id_: _digest(_without_reference_data(merge_translations(each)))
            for id_, each in consistent.items()
        }
        events, detailed = await self._with_details(state, consistent, digests)
        written = state
        inconsistent = unseen.keys() - consistent.keys()

        async def save_progress(writer: EventWriter, failed: Collection[int]) -> None:
            nonlocal written
            failing = (set(state.failing) - unseen.keys()).union(failed, inconsistent)
            written = msgspec.structs.replace(
                state,
                reached=position.offset,
                last_ids=position.last_ids,
                failing=tuple(sorted(failing)),
            )
            await mark_listed(writer.connection, list(records), written)
            await sync_state.save_state(writer.connection, written)

        await self._write(state, events, digests, detailed, result, save_progress)
        return written

    async def _write(
        self,
        state: SyncState,
        records: Mapping[int, RecordByLanguage],
        digests: Mapping[int, bytes],
        detailed: Collection[int],
        result: BulkWriteResult,
        save_progress: ProgressHook | None = None,
    ) -> None:
        """Write events and their sources. Those with a digest are in the list, those in `detailed` have details."""
        reference_data = await self._reference_sync.update_from_events(records.values())
        async with self._database.read_transaction() as connection:
            sources = await load_sources(connection, list(records))

        def pending(id_: int, record: Mapping[str, Any]) -> PendingRecord:
            def parse(before: Event | None) -> Event:
                is_own = id_ in sources and sources[id_].source == state.source
                # It becomes public: what else is stored of it here was not shown by this server.
                if (
                    before
                    and before.visibility is not Visibility.PUBLIC
                    and not (is_own or self._remote.has_token)
                ):
                    before = None
                return parse_event(record, reference_data, before=before)

            return PendingRecord(id_, f"event {id_}", parse)

        async def save_sources_and_progress(
            writer: EventWriter, events: Mapping[int, Event], failed: Collection[int]
        ) -> None:
            known = await load_sources(writer.connection, list(events))
            rows = [
                self._source_row(state, id_, known.get(id_), digests.get(id_), id_ in detailed)
                for id_ in events
            ]
            await save_sources(writer.connection, rows)
            if save_progress is not None:
                await save_progress(writer, failed)

        merged = {id_: self._merged(each) for id_, each in records.items()}
        # Fieldgate shows more to a token: a public record has only the reports that are public, without contacts.
        # Fields that a record does not have are kept.
        if self._is_fieldgate and not self._remote.has_token:
            for id_ in (id_ for id_, row in sources.items() if row.with_token):
                merged[id_].pop("field_reports", None)
        new = [pending(id_, record) for id_, record in merged.items()]
        result.add(
            await write_records(self._store, new, self._on_failure, save_sources_and_progress)
        )

    def _source_row(
        self,
        state: SyncState,
        id_: int,
        known: EventSource | None,
        digest: bytes | None,
        has_detail: bool,
    ) -> EventSource:
        known = known or EventSource(id=id_, source=state.source, with_token=False)
        if (
            known.source != state.source
        ):  # taken over; what was known of the other server's record does not count
            known = EventSource(id=id_, source=state.source, with_token=known.with_token)
        return EventSource(
            id=id_,
            source=state.source,
            with_token=state.with_token or known.with_token,
            listed_in=state.walk,
            digest=digest
            or b"",  # without one, the detail is requested when the event is listed again
            detail_in=state.run if has_detail else known.detail_in,
            detail_at=state.began if has_detail else known.detail_at,
        )

    def _merged(self, by_language: RecordByLanguage) -> dict[str, Any]:
        """The record in all languages, as it is parsed."""
        record = merge_translations(by_language)
        if not self._remote.has_token:  # what everybody is shown is public
            record["visibility"] = int(Visibility.PUBLIC)
        if self._is_fieldgate:  # its lists leave them out if they are all countries
            record.setdefault("countries_for_preview", None)
        record.setdefault("demo", None)  # only records of demo events have it
        if record.get("auto_generated_source") not in (None, *SOURCES):
            record["auto_generated_source"] = None
        return record

    async def _with_details(
        self,
        state: SyncState,
        records: Mapping[int, RecordByLanguage],
        digests: Mapping[int, bytes],
    ) -> tuple[dict[int, RecordByLanguage], set[int]]:
        """Add detail records where they are needed. Returns all records, and the ids of those that have details."""
        if not self._remote.has_token:
            return dict(records), set()
        async with self._database.read_transaction() as connection:
            known = await load_sources(connection, list(records))
        needed = [
            id_
            for id_ in records
            if id_ not in known
            or known[id_].source != state.source
            or known[id_].digest != digests[id_]
            or not known[id_].has_fresh_detail(state)
        ]
        found = await gather_or_cancel(
            self._fetch_needed_detail(id_, records[id_]) for id_ in needed
        )
        details = {id_: each for id_, each in zip(needed, found, strict=True) if each is not None}
        return {**records, **details}, set(details)

    async def _fetch_needed_detail(
        self, id_: int, by_language: RecordByLanguage
    ) -> RecordByLanguage | None:
        """Add the fields that only the detail record has. Few events have translated texts among them."""
        try:
            details = await self._fetch_detail(id_, (Language.ENGLISH,))
            english = details[Language.ENGLISH]
            if english.get("key_figures") or english.get("links"):
                details = await self._fetch_detail(id_, tuple(by_language))
        except RemoteNotFound:
            return None
        return {
            language: {**details.get(language, english), **record}
            for language, record in by_language.items()
        }

    async def _fetch_detail(self, id_: int, languages: Iterable[Language]) -> RecordByLanguage:
        path = f"{EVENTS_PATH}{id_}/"
        records: RecordByLanguage = {}
        for language in languages:
            records[language] = await self._remote.get_record(path, language)
            if valid_id(records[language]) != id_:
                raise RemoteError(f"{self._remote.source} did not return event {id_} at {path}.")
        return records

    async def _without_other_sources(
        self, records: dict[int, RecordByLanguage]
    ) -> dict[int, RecordByLanguage]:
        """Leave out events that another server is the source of: it may have shown more of them."""
        if self._take_over:
            return records
        async with self._database.read_transaction() as connection:
            known = await load_sources(connection, list(records))
        others = {id_ for id_, row in known.items() if row.source != self._remote.source}
        self.of_other_sources |= others
        return {id_: record for id_, record in records.items() if id_ not in others}

    def _without_inconsistent(
        self, records: Mapping[int, RecordByLanguage], result: BulkWriteResult
    ) -> dict[int, RecordByLanguage]:
        """Leave out events that kept changing. Saving them would lose the translations that were not seen."""
        consistent = dict(records)
        for id_ in [id_ for id_, by_language in records.items() if is_inconsistent(by_language)]:
            self._on_failure(WriteFailure(f"event {id_}", "", CHANGED_DURING_READ))
            result.failed += 1
            del consistent[id_]
        return consistent

    def _report_records_without_id(self, page: SyncPage, result: BulkWriteResult) -> None:
        for record in page.without_id:
            if self._is_unseen(str(record), {Language.ENGLISH: record}):
                location = f"record {str(record.get('id'))[:40]!r}"
                self._on_failure(WriteFailure(location, "id", "A whole number is needed."))
                result.failed += 1

    def _is_unseen(self, key: str, by_language: RecordByLanguage) -> bool:
        """Whether this run has not seen the record yet, or with other content, names of countries and types included.

        Not every change of a record changes its `updated_at`.
        """
        digest = _digest(list(by_language.values()))
        if self._seen.get(key) == digest:
            return False
        self._seen.put(key, digest)
        return True


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=16).digest()


def _without_reference_data(value: Any) -> Any:
    """A record without the names of countries and types, which change on their own."""
    if isinstance(value, list):
        return [_without_reference_data(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: _reference_ids(each) if name in REFERENCE_FIELDS else _without_reference_data(each)
        for name, each in value.items()
        if not name.endswith("_display")
    }


def _reference_ids(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(str(_reference_ids(each)) for each in value)
    return value.get("id") if isinstance(value, Mapping) else value
