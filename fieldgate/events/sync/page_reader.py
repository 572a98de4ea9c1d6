"""Lists of a remote server, read page by page in all languages, without missing records while the list changes."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import msgspec

from fieldgate.events.model import MAX_ID
from fieldgate.events.sync.remote import RemotePage, RemoteServer
from fieldgate.i18n.languages import Language

EVENTS_PATH = "event/"
PAGE_SIZE = 500  # records
MAX_PREFETCHED_PAGES = 4
PAGE_OVERLAP = 5  # records requested again with the next page, to detect that the list moved in between
MAX_REREADS = 3  # of a record that changed while it was read, or of a list that moved

Record = dict[str, Any]
RecordByLanguage = dict[Language, Record]  # one record in every language


class SyncPage(msgspec.Struct, frozen=True):
    """One page of a list, in all languages."""

    offset: int
    ids: list[Any]  # as sent by the server, valid or not
    count: int
    records: dict[int, RecordByLanguage]
    without_id: list[Record]  # records without a valid id

    @property
    def end(self) -> int:
        return self.offset + len(self.ids)


class PageReader:
    """Reads lists of a remote server.

    A Fieldgate server can order any list by id. With other servers, the order is theirs and may change while the list
    is read.
    """

    def __init__(self, remote: RemoteServer, *, is_fieldgate: bool) -> None:
        self._remote = remote
        self._is_fieldgate = is_fieldgate
        self.list_changed = False  # a list moved on every attempt: records may be missing

    async def pages(self, path: str, parameters: Mapping[str, str], offset: int = 0) -> AsyncIterator[SyncPage]:
        """Yield all pages of a list in order. Pages are prefetched and overlap.

        A page that does not continue the one before means that the list has moved. Then reading goes back one page if
        the list is ordered by id, and starts again otherwise.
        """
        parameters = {**parameters, "ordering": "id"} if self._is_fieldgate else parameters
        overlap, step, rereads = 0, 0, 0
        next_offset, end, count = offset, 0, offset + 1
        last_ids: list[Any] = []
        prefetched: deque[asyncio.Task[SyncPage]] = deque()
        try:
            while True:
                max_prefetched = MAX_PREFETCHED_PAGES if step else 1
                while (not next_offset or next_offset + overlap < count) and len(prefetched) < max_prefetched:
                    prefetched.append(asyncio.create_task(self._fetch_page(path, parameters, next_offset)))
                    next_offset += step
                if not prefetched:
                    return
                page = await prefetched.popleft()
                count = page.count
                if last_ids and page.offset and not self._continues(last_ids, page):
                    if self._is_fieldgate or rereads < MAX_REREADS:
                        await _cancel(prefetched)
                        rereads += 1
                        next_offset = end = max(0, page.offset - step) if self._is_fieldgate else 0
                        continue
                    self.list_changed = True
                if page.end <= end:
                    return
                yield page
                if not step:
                    overlap = min(1 if self._is_fieldgate else PAGE_OVERLAP, len(page.ids) // 2)
                    step = len(page.ids) - overlap
                    next_offset = page.end - overlap
                elif len(page.ids) < overlap + step and page.end < count:
                    await _cancel(prefetched)
                    next_offset = page.end - overlap
                last_ids, end = page.ids[len(page.ids) - overlap :], page.end
        finally:
            await _cancel(prefetched)

    def _continues(self, last_ids: list[Any], page: SyncPage) -> bool:
        """Whether no record is missing between the last ids and this page."""
        if self._is_fieldgate:
            return bool(page.ids) and page.ids[0] <= last_ids[-1]
        return page.ids[: len(last_ids)] == last_ids

    async def _fetch_page(self, path: str, parameters: Mapping[str, str], offset: int) -> SyncPage:
        pages = await self._fetch_all_languages(path, limit=PAGE_SIZE, offset=offset, **parameters)
        records = _group_by_id({language: page.results for language, page in pages.items()})
        if path == EVENTS_PATH:
            for id_ in [id_ for id_, by_language in records.items() if is_inconsistent(by_language)]:
                reread = await self._reread(id_, records.pop(id_))
                records |= {id_: reread} if reread else {}
        english = pages[Language.ENGLISH]
        without_id = [record for record in english.results if valid_id(record) is None]
        return SyncPage(offset, [record.get("id") for record in english.results], english.count, records, without_id)

    async def _reread(self, id_: int, by_language: RecordByLanguage) -> RecordByLanguage | None:
        """Fetch an event again that changed between the requests for its languages. None if it no longer exists."""
        for _ in range(MAX_REREADS):
            pages = await self._fetch_all_languages(EVENTS_PATH, id=id_)
            records = _group_by_id({language: page.results for language, page in pages.items()})
            if not records:
                return None
            by_language = records.get(id_, by_language)
            if not is_inconsistent(by_language):
                break
        return by_language

    async def _fetch_all_languages(self, path: str, **parameters: Any) -> dict[Language, RemotePage]:
        languages = tuple(Language)
        pages = await asyncio.gather(*(self._remote.get_page(path, language, **parameters) for language in languages))
        return dict(zip(languages, pages, strict=True))


def is_inconsistent(by_language: RecordByLanguage) -> bool:
    """Whether a language is missing, or the languages show different versions of the record."""
    versions = {str(record.get("updated_at")) for record in by_language.values()}
    return len(by_language) < len(Language) or len(versions) > 1


def record_id(by_language: RecordByLanguage) -> int:
    return int(next(iter(by_language.values()))["id"])


def valid_id(record: Record) -> int | None:
    id_ = record.get("id")
    return id_ if isinstance(id_, int) and 0 <= id_ <= MAX_ID else None


def _group_by_id(lists: Mapping[Language, Iterable[Record]]) -> dict[int, RecordByLanguage]:
    grouped: dict[int, RecordByLanguage] = {}
    for language, records in lists.items():
        for record in records:
            id_ = valid_id(record)
            if id_ is not None:
                grouped.setdefault(id_, {})[language] = record
    return grouped


async def _cancel(tasks: deque[asyncio.Task[SyncPage]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()
