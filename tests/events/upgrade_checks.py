"""What an upgrade must not change: the list records of all events."""

import hashlib
import re
from collections.abc import AsyncIterator, Set

from fieldgate.db import Database, DataVersions
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore

NEW_FIELD = b"report_count"
DIGEST_LANGUAGES = (Language.ENGLISH, Language.ARABIC)
PAGE_SIZE = 1000


def open_search(database: Database) -> EventSearch:
    changes = DataVersions(database)
    return EventSearch(EventStore(database, changes), ReferenceStore(database, changes), changes)


async def list_records(database: Database, language: Language) -> AsyncIterator[bytes]:
    """All list records, as a caller with full access gets them."""
    search = open_search(database)
    count, offset = 1, 0
    while offset < count:
        page = await search.find(EventFilters(), FULL_SCOPE, language, PageRequest(PAGE_SIZE, offset))
        count, offset = page.count, offset + PAGE_SIZE
        for record in page.records:
            yield record


async def record_digests(database: Database, edited_ids: Set[int]) -> dict[str, str]:
    """A digest by language of all records that are not edited, without the last field if that is `NEW_FIELD`."""
    is_edited = re.compile(rb'"id":(%s),"slug"' % b"|".join(b"%d" % id_ for id_ in edited_ids)).search
    digests = {}
    for language in DIGEST_LANGUAGES:
        digest = hashlib.sha256()
        async for record in list_records(database, language):
            if not is_edited(record):
                digest.update(re.sub(rb',"%s":\d+}$' % NEW_FIELD, b"}", record))
        digests[language.value] = digest.hexdigest()
    return digests
