"""What an upgrade must not change: the list records of all events, in every language."""

import hashlib
from collections.abc import AsyncIterator, Set
from typing import Any

import msgspec

from fieldgate.db import Database, DataVersions
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore

NEW_FIELD = "report_count"
PAGE_SIZE = 1000


def open_search(database: Database) -> EventSearch:
    changes = DataVersions(database)
    return EventSearch(EventStore(database, changes), ReferenceStore(database, changes), changes)


async def list_records(database: Database, language: Language) -> AsyncIterator[dict[str, Any]]:
    """All list records, as a caller with full access gets them."""
    search = open_search(database)
    count, offset = 1, 0
    while offset < count:
        page = await search.find(EventFilters(), FULL_SCOPE, language, PageRequest(PAGE_SIZE, offset))
        count, offset = page.count, offset + PAGE_SIZE
        for record in page.records:
            yield msgspec.json.decode(record)


async def record_digests(database: Database, edited_ids: Set[int]) -> dict[str, str]:
    """A digest for each language of all records that are not edited, without the field of the later release."""
    digests = {}
    for language in Language:
        digest = hashlib.sha256()
        async for record in list_records(database, language):
            record.pop(NEW_FIELD, None)
            if record["id"] not in edited_ids:
                digest.update(msgspec.json.encode(record))
        digests[language.value] = digest.hexdigest()
    return digests
