"""Events of a remote server in all languages.

A list shows one language at a time. `EventPages` reads the same page in every language, as one list for the walk of the
client library. An event that changed in between shows several versions; then its detail record is requested.
"""

from datetime import datetime

import msgspec
from fieldgate_client.errors import NotFound, UnexpectedResponse
from fieldgate_client.pages import Page

from fieldgate.events.sync.remote import Record, RemoteServer, gather_or_cancel, valid_id
from fieldgate.i18n.languages import Language

EVENTS_PATH, MINI_PATH = "event/", "event/mini/"
MINI = "mini"  # its records stand beside those of the languages
MINI_FIELDS = ("auto_generated_source", "countries_for_preview")  # in no other list of IFRC GO
MAX_REREADS = 3  # of an event that changes while it is read

RecordByLanguage = dict[Language, Record]


class EventPages:
    """The list of events. Each of its records is an object with the records by language code, and by "mini"."""

    def __init__(self, remote: RemoteServer, since: datetime | None, *, has_mini: bool) -> None:
        self._remote = remote
        self._lists = {
            language.value: remote.list_of(EVENTS_PATH, language, since=since)
            for language in Language
        }
        if has_mini:
            self._lists[MINI] = remote.list_of(MINI_PATH)

    async def fetch_page(self, offset: int, limit: int, ordering: str = "") -> Page:
        """The page in English, with what the other lists have at the same place of the same records."""
        requests = [query.fetch_page(offset, limit, ordering) for query in self._lists.values()]
        pages = dict(zip(self._lists, await gather_or_cancel(requests), strict=True))
        self._remote.status = ""
        by_key = {
            name: dict(zip(page.keys, page.records, strict=True)) for name, page in pages.items()
        }
        english = pages[Language.ENGLISH.value]
        records = []
        for key in english.keys:
            versions = {name: raw[key] for name, raw in by_key.items() if key in raw}
            records.append(msgspec.Raw(msgspec.json.encode(versions)))
        return msgspec.structs.replace(english, records=records)


def by_language(versions: dict[str, Record]) -> RecordByLanguage:
    """A record of `EventPages` by language, each with the fields that only the mini list has."""
    mini = versions.get(MINI, {})
    fields = {name: mini[name] for name in MINI_FIELDS if name in mini}
    return {
        language: {**versions[language.value], **fields}
        for language in Language
        if language.value in versions
    }


def is_inconsistent(record: RecordByLanguage) -> bool:
    """Whether a language is missing, or the languages show different versions of the event."""
    versions = {str(translation.get("updated_at")) for translation in record.values()}
    return len(record) < len(Language) or len(versions) > 1


async def has_mini_list(remote: RemoteServer) -> bool:
    try:
        await remote.list_of(MINI_PATH).fetch_page(0, 1)
    except NotFound:
        return False
    return True


async def fetch_event(remote: RemoteServer, id_: int) -> RecordByLanguage | None:
    """The detail record of an event in all languages. None if the server has no such event."""
    record: RecordByLanguage = {}
    for _ in range(MAX_REREADS):
        try:
            record = {language: await _fetch_detail(remote, id_, language) for language in Language}
        except NotFound:
            return None
        if not is_inconsistent(record):
            break
    return record


async def with_details(
    remote: RemoteServer, id_: int, record: RecordByLanguage
) -> RecordByLanguage | None:
    """Add the fields that only the detail record has. None if the server has none.

    Few events have translated texts among these fields, so the other languages are rarely requested.
    """
    try:
        english = await _fetch_detail(remote, id_, Language.ENGLISH)
        details = dict.fromkeys(record, english)
        if english.get("key_figures") or english.get("links"):
            details = {language: await _fetch_detail(remote, id_, language) for language in record}
    except NotFound:
        return None
    return {
        language: {**details[language], **translation} for language, translation in record.items()
    }


async def _fetch_detail(remote: RemoteServer, id_: int, language: Language) -> Record:
    path = f"{EVENTS_PATH}{id_}/"
    record = await remote.fetch_record(path, language)
    if valid_id(record) != id_:
        raise UnexpectedResponse(f"{remote.source} did not return event {id_} at {path}.")
    return record
