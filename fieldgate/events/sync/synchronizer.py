"""Events pulled from another server with this interface: all of them, or what changed since the last time.

    async with Far("https://goadmin.ifrc.org", token) as far:
        report = await Sync(far, database, store, reference, tell).run()

Every page is written in one transaction together with how far it went, so that whoever was killed goes on from
there. Nothing is deleted but what the other server says it has deleted.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec

from fieldgate.db import Database
from fieldgate.events.ingest.bulk_write import Failure, Tell, Waiting, Written, write
from fieldgate.events.ingest.parsing import read_event
from fieldgate.events.model import LARGEST_ID
from fieldgate.events.store import EventStore, Writing
from fieldgate.events.sync import sync_state
from fieldgate.events.sync.merge_translations import merge_languages
from fieldgate.events.sync.remote import Far, FarPage, Missing
from fieldgate.events.sync.sync_state import Progress
from fieldgate.i18n.languages import Language
from fieldgate.reference.parsing import InvalidReferenceRecord, parse_country, parse_disaster_type
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore

EVENTS, DELETED = "event/", "event/deleted/"
COUNTRIES, TYPES = "country/", "disaster_type/"
PAGE = 500  # records
PAGES_AT_ONCE = 4
MARGIN = timedelta(minutes=5)  # asked for once more: clocks differ, and what was being written then was not seen
OVERLAP = 5  # records of a page that are asked for once more with the next, to see that nothing moved in between
REREADS = 3  # of a record that changed while it was read, or of a list that moved
MOST_FAILING = 10_000  # events that are asked for again by their ids; with more of them, all are
IDS_AT_ONCE = 100
REMEMBERED = 10_000  # records of this run that need not be written again
CHANGING = "It changed all the time while it was read. The next run asks for it again."
MOVED = "The lists changed all the time while they were read, and records may be missing. Run the command again."

Record = dict[str, Any]
Spoken = dict[Language, Record]  # one record in every language
Watch = Callable[[int, int], None]  # how many of how many


class Report(msgspec.Struct):
    """What a sync did."""

    events: Written
    countries: int = 0
    types: int = 0
    since: datetime | None = None  # only what changed since was asked for
    went_on: bool = False  # an earlier run had begun it


class _Page(msgspec.Struct, frozen=True):
    offset: int
    ids: list[Any]  # of the records the server gave, as it gave them
    count: int
    found: dict[int, Spoken]
    nameless: list[Record]  # without an id we can take

    @property
    def end(self) -> int:
        return self.offset + len(self.ids)


def _watch_nothing(done: int, total: int) -> None:
    """Nobody looks."""


class Sync:
    def __init__(
        self,
        far: Far,
        database: Database,
        store: EventStore,
        reference: ReferenceStore,
        tell: Tell,
        watch: Watch = _watch_nothing,
    ) -> None:
        self._far = far
        self._database = database
        self._store = store
        self._reference = reference
        self._tell = tell
        self._watch = watch
        self._is_ours = False
        self._has_moved = False  # a list, each time it was read
        self._done: dict[str, str] = {}  # when records were changed that this run has seen

    async def run(self, since: datetime | None = None, *, full: bool = False) -> Report:
        """Pull everything, or what changed since a moment: the one given, or the beginning of the last whole sync."""
        report = Report(Written())
        first = await self._far.page(COUNTRIES, Language.ENGLISH, limit=1, who_are_you="fieldgate")
        # Only our own servers name what they do not know. They order by id, and fall back to the original language.
        self._is_ours = "who_are_you" in first.ignored
        report.countries, report.types = await self._pull_reference()

        state = await self._known(with_token=self._far.has_token)
        if since is None and not full and state.finished is not None:
            since = state.finished - MARGIN
        is_filtered = since is not None and await self._can_tell_changes(since)
        if state.goes_on(since, is_filtered=is_filtered):
            report.went_on = True
        else:
            failing = state.failing if is_filtered else ()
            state = msgspec.structs.replace(
                state, began=first.moment, since=since, is_filtered=is_filtered, reached=0, failing=failing
            )
        report.since = since if is_filtered else None

        if state.is_filtered:
            state = await self._pull_failing(state, report)
        state = await self._pull_events(state, report)
        # For the public also what was only hidden from it is gone: who has a copy with more asks with a token.
        if self._far.has_token or not (await self._known(with_token=True)).finished:
            report.events.deleted = await self._pull_deleted(since)
        if self._has_moved:
            self._tell(Failure(self._far.source, "", MOVED))
            report.events.failed += 1
        # Else the next run asks for the same once more.
        if state.leaves_no_gap and not self._has_moved and len(state.failing) <= MOST_FAILING:
            state = msgspec.structs.replace(state, finished=state.began)
        async with self._database.transaction() as connection:
            await sync_state.save(connection, msgspec.structs.replace(state, began=None, reached=0))
        return report

    async def _known(self, *, with_token: bool) -> Progress:
        return await sync_state.known(self._database, self._far.source, with_token=with_token)

    async def _can_tell_changes(self, since: datetime) -> bool:
        """Whether the server knows `updated_at__gte`: one that does not may say nothing, and give all there is."""
        asked = {"updated_at__gte": _written(since)}
        every, changed = await asyncio.gather(
            self._far.page(EVENTS, Language.ENGLISH, limit=1),
            self._far.page(EVENTS, Language.ENGLISH, limit=1, **asked),
        )
        return "updated_at__gte" not in changed.ignored and changed.count < every.count

    # Countries and disaster types

    async def _pull_reference(self) -> tuple[int, int]:
        return await self._learn(await self._whole(COUNTRIES, {"mini": "true"}), await self._whole(TYPES, {}))

    async def _whole(self, path: str, asked: Mapping[str, str]) -> list[Spoken]:
        """All records of a list. By name they stand on other pages in other languages."""
        found: dict[int, Spoken] = defaultdict(dict)
        async for page in self._pages(path, asked):
            for number, spoken in page.found.items():
                found[number] |= spoken
        return list(found.values())

    async def _learn(self, countries: Iterable[Spoken], types: Iterable[Spoken]) -> tuple[int, int]:
        """Take over countries and disaster types; how many changed."""
        directory = await self._reference.current()
        new_countries, new_types = [], []
        for spoken in countries:
            seen, number = _by_code(spoken), _id(spoken)
            with suppress(InvalidReferenceRecord):  # an event that needs it says what is missing
                new_countries.append(
                    parse_country(seen, directory.countries.get(number), english_first=not self._is_ours)
                )
        for spoken in types:
            seen, number = _by_code(spoken), _id(spoken)
            with suppress(InvalidReferenceRecord):
                new_types.append(
                    parse_disaster_type(seen, directory.types.get(number), english_first=not self._is_ours)
                )
        async with self._database.transaction() as connection:
            return (
                await self._reference.upsert_countries(connection, new_countries),
                await self._reference.upsert_disaster_types(connection, new_types),
            )

    async def _learn_from(self, spoken: Iterable[Spoken]) -> ReferenceData:
        """The directory, with what events name and no list has, such as countries no longer in use."""
        directory = await self._reference.current()
        countries: dict[int, Spoken] = defaultdict(dict)
        types: dict[int, Spoken] = defaultdict(dict)
        for each in spoken:
            for language, record in each.items():
                for country in _countries_in(record):
                    if country.get("id") not in directory.countries:
                        countries[country["id"]][language] = country
                kind = record.get("dtype")
                if isinstance(kind, dict) and isinstance(kind.get("id"), int) and kind["id"] not in directory.types:
                    types[kind["id"]][language] = kind
        if countries or types:
            await self._learn(countries.values(), types.values())
        return await self._reference.current()

    # Events

    async def _pull_failing(self, state: Progress, report: Report) -> Progress:
        """What could not be taken the last time, once more."""
        wanted = [str(number) for number in state.failing]
        state = msgspec.structs.replace(state, failing=())  # what is no longer there is not asked for again
        step = IDS_AT_ONCE if self._is_ours else 1
        for some in (wanted[start : start + step] for start in range(0, len(wanted), step)):
            asked = {"id__in": ",".join(some)} if self._is_ours else {"id": some[0]}
            async for page in self._pages(EVENTS, asked):
                state = await self._take(state, page, state.reached, report)
        return state

    async def _pull_events(self, state: Progress, report: Report) -> Progress:
        asked = {"updated_at__gte": _written(state.since)} if state.is_filtered and state.since else {}
        # A list that has become shorter meanwhile has moved up: the last page is looked at once more.
        async for page in self._pages(EVENTS, asked, max(0, state.reached - PAGE)):
            state = await self._take(state, page, page.end, report)
            self._watch(page.end, page.count)
        return state

    async def _take(self, state: Progress, page: _Page, reached: int, report: Report) -> Progress:
        """Write what a page has of news."""
        found = {number: spoken for number, spoken in page.found.items() if self._is_news(str(number), spoken)}
        for record in page.nameless:
            if self._is_news(str(record), {Language.ENGLISH: record}):
                self._tell(Failure(f"record {str(record.get('id'))[:40]!r}", "id", "A whole number is needed."))
                report.events.failed += 1
        torn = [number for number, spoken in found.items() if _is_torn(spoken)]
        for number in torn:  # a translation that was not seen would be lost
            self._tell(Failure(f"event {number}", "", CHANGING))
            report.events.failed += 1
            del found[number]
        if self._far.has_token:
            details = await asyncio.gather(*(self._with_detail(spoken) for spoken in found.values()))
            found = dict(zip(found, details, strict=True))
        directory = await self._learn_from(found.values())
        waiting = [self._waiting(number, spoken, directory) for number, spoken in found.items()]

        async def keep(writing: Writing, failed: Collection[int]) -> None:
            nonlocal state
            failing = (set(state.failing) - found.keys()).union(failed, torn)
            state = msgspec.structs.replace(state, reached=reached, failing=tuple(sorted(failing)))
            await sync_state.save(writing.connection, state)

        report.events.add(await write(self._store, waiting, self._tell, keep))
        return state

    def _is_news(self, key: str, spoken: Spoken) -> bool:
        """Whether this run has not seen a record in this state yet."""
        changed = str(next(iter(spoken.values())).get("updated_at"))
        if self._done.get(key) == changed:
            return False
        self._done[key] = changed
        if len(self._done) > REMEMBERED:
            del self._done[next(iter(self._done))]
        return True

    def _waiting(self, number: int, spoken: Spoken, directory: ReferenceData) -> Waiting:
        record = merge_languages(spoken, english_first=not self._is_ours)
        return Waiting(number, f"event {number}", lambda before: read_event(record, directory, before=before))

    async def _with_detail(self, spoken: Spoken) -> Spoken:
        """A record of a list, and what only the record alone tells. Most of that needs no other language."""
        path = f"{EVENTS}{_id(spoken)}/"
        try:
            alone = await self._far.record(path, Language.ENGLISH)
            details = dict.fromkeys(spoken, alone)
            if alone.get("key_figures") or alone.get("links"):
                others = [language for language in spoken if language is not Language.ENGLISH]
                found = await asyncio.gather(*(self._far.record(path, language) for language in others))
                details |= dict(zip(others, found, strict=True))
        except Missing:
            return spoken
        return {language: {**details[language], **record} for language, record in spoken.items()}

    async def _pull_deleted(self, since: datetime | None) -> int:
        """Delete what the other server says it has deleted, where it can say so."""
        asked = {} if since is None else {"since": _written(since)}
        gone: list[int] = []
        try:
            while True:
                page = await self._far.page(DELETED, Language.ENGLISH, limit=PAGE, offset=len(gone), **asked)
                numbers = [number for record in page.results if (number := _number(record)) is not None]
                gone += numbers
                if not numbers or len(gone) >= page.count:
                    break
        except Missing:
            return 0
        return await self._store.delete(gone) if gone else 0

    # Pages

    async def _pages(self, path: str, asked: Mapping[str, str], offset: int = 0) -> AsyncIterator[_Page]:
        """All pages of a list in their order, some asked for ahead, each with the end of the one before.

        Where a page does not go on from there, the list has moved: by id it is gone back in, else begun anew.
        """
        asked = {**asked, "ordering": "id"} if self._is_ours else asked
        overlap, step, rereads = 0, 0, 0
        following, end, count = offset, 0, offset + 1
        last: list[Any] = []  # ids
        ahead: deque[asyncio.Task[_Page]] = deque()
        try:
            while True:
                while (not following or following + overlap < count) and len(ahead) < (PAGES_AT_ONCE if step else 1):
                    ahead.append(asyncio.create_task(self._page(path, asked, following)))
                    following += step
                if not ahead:
                    return
                page = await ahead.popleft()
                count = page.count
                if last and page.offset and not self._goes_on(last, page):
                    if self._is_ours or rereads < REREADS:
                        await _cancel(ahead)
                        rereads += 1
                        following = end = max(0, page.offset - step) if self._is_ours else 0
                        continue
                    self._has_moved = True
                if page.end <= end:
                    return
                yield page
                if not step:
                    overlap = min(1 if self._is_ours else OVERLAP, len(page.ids) // 2)
                    step = len(page.ids) - overlap
                    following = page.end - overlap
                elif len(page.ids) < overlap + step and page.end < count:
                    await _cancel(ahead)
                    following = page.end - overlap
                last, end = page.ids[len(page.ids) - overlap :], page.end
        finally:
            await _cancel(ahead)

    def _goes_on(self, last: list[Any], page: _Page) -> bool:
        """Whether a page leaves nothing out after the last records."""
        if self._is_ours:
            return bool(page.ids) and page.ids[0] <= last[-1]
        return page.ids[: len(last)] == last

    async def _page(self, path: str, asked: Mapping[str, str], offset: int) -> _Page:
        pages = await self._in_all_languages(path, limit=PAGE, offset=offset, **asked)
        found = _together({language: page.results for language, page in pages.items()})
        torn = [number for number, spoken in found.items() if _is_torn(spoken)]
        for number in torn if path == EVENTS else ():
            again = await self._read_again(number, found.pop(number))
            found |= {number: again} if again else {}
        first = pages[Language.ENGLISH]
        nameless = [record for record in first.results if _number(record) is None]
        return _Page(offset, [record.get("id") for record in first.results], first.count, found, nameless)

    async def _read_again(self, number: int, spoken: Spoken) -> Spoken | None:
        """A record that was not the same in all languages, since it changed meanwhile. None if it is gone."""
        for _ in range(REREADS):
            pages = await self._in_all_languages(EVENTS, id=number)
            found = _together({language: page.results for language, page in pages.items()})
            if not found:
                return None
            spoken = found.get(number, spoken)
            if not _is_torn(spoken):
                break
        return spoken

    async def _in_all_languages(self, path: str, **asked: Any) -> dict[Language, FarPage]:
        languages = tuple(Language)
        pages = await asyncio.gather(*(self._far.page(path, language, **asked) for language in languages))
        return dict(zip(languages, pages, strict=True))


def _together(lists: Mapping[Language, Iterable[Record]]) -> dict[int, Spoken]:
    """The records of the same list in several languages, by id."""
    found: dict[int, Spoken] = {}
    for language, results in lists.items():
        for record in results:
            number = _number(record)
            if number is not None:
                found.setdefault(number, {})[language] = record
    return found


def _is_torn(spoken: Spoken) -> bool:
    return len(spoken) < len(Language) or len({str(record.get("updated_at")) for record in spoken.values()}) > 1


def _countries_in(record: Record) -> list[Record]:
    listed = [*_objects(record.get("countries"))]
    for report in _objects(record.get("field_reports")):
        listed += _objects(report.get("countries"))
    return [country for country in listed if isinstance(country.get("id"), int)]


def _objects(value: Any) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _by_code(spoken: Spoken) -> dict[str, Record]:
    return {language.value: record for language, record in spoken.items()}


def _id(spoken: Spoken) -> int:
    return int(next(iter(spoken.values()))["id"])


def _number(record: Record) -> int | None:
    number = record.get("id")
    return number if isinstance(number, int) and 0 <= number <= LARGEST_ID else None


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


async def _cancel(tasks: deque[asyncio.Task[_Page]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    tasks.clear()
