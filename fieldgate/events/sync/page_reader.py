"""Lists of a remote server, read page by page in all languages, without missing records while the list changes."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import msgspec

from fieldgate.events.model import MAX_ID
from fieldgate.events.sync.remote import (
    RemoteError,
    RemoteNotFound,
    RemotePage,
    RemoteServer,
    gather_or_cancel,
)
from fieldgate.i18n.languages import Language

EVENTS_PATH = "event/"
MINI_PATH = "event/mini/"
MINI_FIELDS = ("auto_generated_source", "countries_for_preview")  # in no other list
PAGE_SIZE = 500  # records
PAGE_OVERLAP = (
    5  # records requested again with the next page, to detect that the list moved in between
)
MAX_REREADS = 3  # of a record that changed while it was read, or of a list that moved
MAX_REREADS_BY_ID = 10  # of one page of a list that is ordered by id
SAME_PAGE = "{source} sends the same records of {path} whatever the offset, so the list cannot be read to its end."

Record = dict[str, Any]
RecordByLanguage = dict[Language, Record]  # one record in every language


class ListPosition(msgspec.Struct, frozen=True):
    """How far a list has been read."""

    offset: int = 0
    last_ids: tuple[
        Any, ...
    ] = ()  # of the records before the offset, to detect that the list moved


LIST_START = ListPosition()


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

    def repeats(self, other: "SyncPage") -> bool:
        """Whether it has the same records at another offset. A single one may have moved there."""
        return len(self.ids) > 1 and self.ids == other.ids and self.offset != other.offset

    def position_after(self, number: int) -> ListPosition:
        """The position after this number of its records."""
        return ListPosition(
            self.offset + number, tuple(self.ids[max(0, number - PAGE_OVERLAP) : number])
        )


class PageReader:
    """Reads lists of a remote server.

    A Fieldgate server can order any list by id. With other servers, the order is theirs and may change while the list
    is read.
    """

    def __init__(self, remote: RemoteServer, *, is_fieldgate: bool) -> None:
        self._remote = remote
        self._is_fieldgate = is_fieldgate
        self._has_mini_list = not is_fieldgate  # Fieldgate's list has all fields of the mini list
        self.list_changed = False  # a list moved on every attempt: records may be missing
        # The last list was read to its end, each page continued the one before, and if the server chooses the order,
        # the number of records stayed the same. Then what was not in the list is not on the server's list.
        self.is_consistent = False

    async def pages(
        self, path: str, parameters: Mapping[str, str], start: ListPosition = LIST_START
    ) -> AsyncIterator[SyncPage]:
        """Yield all pages of a list in order, from a position on. They overlap, and the next one is requested when the
        caller is done with the one before.

        A page that does not continue the one before means that the list has moved. Then reading goes back one page if
        the list is ordered by id, and starts again otherwise.
        """
        parameters = {**parameters, "ordering": "id"} if self._is_fieldgate else parameters
        max_rereads = MAX_REREADS_BY_ID if self._is_fieldgate else MAX_REREADS
        last_ids = list(start.last_ids)
        offset = end = start.offset - len(last_ids)
        count = offset + 1
        counts: set[int] = set()
        has_moved = self.is_consistent = False
        step, rereads, furthest = PAGE_SIZE, 0, 0
        previous: SyncPage | None = None
        while not offset or end < count:
            page = await self._fetch_page(path, parameters, offset)
            count = page.count
            is_repeated = previous is not None and page.repeats(previous)
            previous = page
            if is_repeated or (last_ids and page.offset and not self._continues(last_ids, page)):
                if rereads < max_rereads:
                    rereads += 1
                    offset = end = max(0, page.offset - step) if self._is_fieldgate else 0
                    counts.clear()
                    continue
                if is_repeated:
                    raise RemoteError(SAME_PAGE.format(source=self._remote.source, path=path))
                self.list_changed = has_moved = True
            counts.add(count)
            if page.end <= end:
                break
            yield page
            if self._is_fieldgate and page.end > furthest:
                furthest, rereads = page.end, 0
            overlap = min(1 if self._is_fieldgate else PAGE_OVERLAP, len(page.ids) // 2)
            step = len(page.ids) - overlap
            last_ids, end = page.ids[step:], page.end
            offset = end - overlap
        self.is_consistent = (
            end >= count and not has_moved and (self._is_fieldgate or len(counts) <= 1)
        )

    def _continues(self, last_ids: list[Any], page: SyncPage) -> bool:
        """Whether no record is missing between the last ids and this page."""
        if self._is_fieldgate:
            first, last = page.ids[0] if page.ids else None, last_ids[-1]
            return isinstance(first, int) and isinstance(last, int) and first <= last
        return page.ids[: len(last_ids)] == last_ids

    async def _fetch_page(self, path: str, parameters: Mapping[str, str], offset: int) -> SyncPage:
        pages = await self._fetch_all_languages(path, limit=PAGE_SIZE, offset=offset, **parameters)
        records = _group_by_id({language: page.results for language, page in pages.items()})
        if path == EVENTS_PATH:
            for id_ in [
                id_ for id_, by_language in records.items() if is_inconsistent(by_language)
            ]:
                reread = await self._reread(id_, records.pop(id_))
                records |= {id_: reread} if reread else {}
            await self._add_mini_fields(records, limit=PAGE_SIZE, offset=offset, **parameters)
        english = pages[Language.ENGLISH]
        without_id = [record for record in english.results if valid_id(record) is None]
        return SyncPage(
            offset,
            [record.get("id") for record in english.results],
            english.count,
            records,
            without_id,
        )

    async def _add_mini_fields(
        self, records: dict[int, RecordByLanguage], **parameters: Any
    ) -> None:
        """Add the fields that are only in the mini list. It has the same order; records that moved are requested."""
        if not (self._has_mini_list and records):
            return
        try:
            mini = _group_by_id({Language.ENGLISH: await self._mini_records(**parameters)})
            moved = [id_ for id_ in records if id_ not in mini]
            for found in await gather_or_cancel(self._mini_records(id=id_) for id_ in moved):
                mini |= _group_by_id({Language.ENGLISH: found})
        except RemoteNotFound:
            self._has_mini_list = False
            return
        for id_, by_language in records.items():
            short = mini.get(id_, {}).get(Language.ENGLISH, {})
            fields = {name: short[name] for name in MINI_FIELDS if name in short}
            records[id_] = {
                language: {**record, **fields} for language, record in by_language.items()
            }

    async def _mini_records(self, **parameters: Any) -> list[Record]:
        return (await self._remote.get_page(MINI_PATH, Language.ENGLISH, **parameters)).results

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

    async def _fetch_all_languages(
        self, path: str, **parameters: Any
    ) -> dict[Language, RemotePage]:
        languages = tuple(Language)
        pages = await gather_or_cancel(
            self._remote.get_page(path, language, **parameters) for language in languages
        )
        return dict(zip(languages, pages, strict=True))


def is_inconsistent(by_language: RecordByLanguage) -> bool:
    """Whether a language is missing, or the languages show different versions of the record."""
    versions = {str(record.get("updated_at")) for record in by_language.values()}
    return len(by_language) < len(Language) or len(versions) > 1


def record_id(by_language: RecordByLanguage) -> int:
    return int(next(iter(by_language.values()))["id"])


def valid_id(record: Record) -> int | None:
    id_ = record.get("id")
    return id_ if type(id_) is int and 0 <= id_ <= MAX_ID else None  # not a bool


def _group_by_id(lists: Mapping[Language, Iterable[Record]]) -> dict[int, RecordByLanguage]:
    grouped: dict[int, RecordByLanguage] = {}
    for language, records in lists.items():
        for record in records:
            id_ = valid_id(record)
            if id_ is not None:
                grouped.setdefault(id_, {})[language] = record
    return grouped
