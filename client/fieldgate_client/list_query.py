"""A list on a server: its path, filters, language, and how its records are decoded. Makes no request by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

import msgspec

from fieldgate_client.connection import Connection, HTTPResponse
from fieldgate_client.errors import FieldgateError, InvalidRequest, UnexpectedResponse
from fieldgate_client.pages import OFFSET_NAMES, Page, parse_page
from fieldgate_client.server_url import API_ROOT
from fieldgate_client.walk import Walk, WalkOptions

Record = TypeVar("Record")

PAGE_NAMES = frozenset({"limit", "offset", "start", "page", "page_size"})
# Orders in which a record never moves, of the lists of Fieldgate that have one.
_FIXED_ORDERINGS = {
    "event/": "id",
    "event/mini/": "id",
    "country/": "id",
    "disaster_type/": "id",
    "assets/": "date_created",
    "imports/": "date_created",
}

CHANGED_SINCE = "updated_at__gte"
# Asked for again next time: pages can be a little old, clocks tell seconds, and writes are dated before their commit.
SINCE_MARGIN = timedelta(minutes=5)
_DATE_CHARS = 10

FilterValue = Any  # str, int, float, bool, date, datetime, None, or several of these


class ListQuery(msgspec.Struct, Generic[Record], frozen=True):
    connection: Connection
    path: str
    parameters: tuple[tuple[str, str], ...] = ()
    record_type: Any = dict[str, Any]
    language: str = ""  # another than that of the connection
    options: WalkOptions = WalkOptions()  # page size, and which part of the list
    # Filters by name, which are looked up by the first request.
    resolve_names: Callable[[], Awaitable[list[tuple[str, str]]]] | None = None
    since: datetime | None = None  # only what changed at or after this time

    async def fetch_page(self, offset: int, limit: int, ordering: str = "") -> Page:
        dropped = PAGE_NAMES | ({"ordering"} if ordering else set())
        parameters = [(name, value) for name, value in self.parameters if name not in dropped]
        parameters += await self._named_filters()
        if ordering:
            parameters.append(("ordering", ordering))
        parameters += since_parameters(self.since)
        parameters += [("limit", str(limit)), *((name, str(offset)) for name in OFFSET_NAMES)]

        def parse(response: HTTPResponse) -> Page:
            return parse_page(response.body, response.headers, offset, limit)

        page = await self.connection.fetch(self.path, parameters, parse, language=self.language)
        if page.ignored_parameters:
            self._refuse_ignored(page, {name for name, _ in parameters} - PAGE_NAMES)
        if self.since is not None:
            check_page_of_changes(page, self.connection.server)
        return page

    async def _named_filters(self) -> list[tuple[str, str]]:
        """The filters by name, as the server knows them."""
        if self.resolve_names is None:
            return []
        pairs = await self.resolve_names()
        if twice := {name for name, _ in pairs} & {name for name, _ in self.parameters}:
            raise InvalidRequest(
                f"{', '.join(sorted(twice))} is given by name and by number: use one of them."
            )
        return pairs

    def _refuse_ignored(self, page: Page, sent: set[str]) -> None:
        """A filter that the server does not know, such as a misspelt one, would return everything."""
        ignored = [unquote(name) for name in page.ignored_parameters if unquote(name) in sent]
        if ignored:
            raise InvalidRequest(
                f"{self.path} has no filter {' or '.join(ignored)}: the server ignores it and would return everything.",
                url=self.connection.server + self.path,
                fields={name: ["The server does not know this filter."] for name in ignored},
            )

    def decode(self, records: list[msgspec.Raw]) -> list[Record]:
        """Records of the type of this list."""
        decode = msgspec.json.Decoder(
            self.record_type, strict=False
        ).decode  # some servers send numbers as text
        try:
            return [decode(record) for record in records]
        except (ValueError, RecursionError) as error:
            raise UnexpectedResponse(
                f"A record of {self.path} is not as expected: {error}. Read it with client.list({self.path!r})."
            ) from None

    def walk(self) -> Walk:
        """Read the whole list."""
        name = self.path.removeprefix(API_ROOT).strip("/") + "/"
        fixed_ordering = _FIXED_ORDERINGS.get(name, "")
        is_fixed = bool(fixed_ordering) and dict(self.parameters).get("ordering") == fixed_ordering
        return Walk(
            self,
            msgspec.structs.replace(self.options, fixed_ordering=fixed_ordering, is_fixed=is_fixed),
        )

    async def count(self) -> int | None:
        return self.options.size((await self.fetch_page(self.options.start, 1)).count)

    def part(self, start: int, stop: int | None) -> ListQuery[Record]:
        """A part of this part."""
        old = self.options
        ends = [
            end for end in (old.stop, None if stop is None else old.start + stop) if end is not None
        ]
        new_start = old.start + start
        new_stop = max(new_start, min(ends)) if ends else None
        return msgspec.structs.replace(
            self, options=msgspec.structs.replace(old, start=new_start, stop=new_stop)
        )


class ChangesUnknown(FieldgateError):
    """The server cannot tell what changed since a time."""


def parse_since(value: str | date | datetime) -> datetime:
    """A time in UTC. Without a time of day it is midnight, without a zone UTC."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = msgspec.convert(
                f"{text}T00:00:00" if len(text) == _DATE_CHARS else text, datetime
            )
        except msgspec.ValidationError:
            raise ValueError(
                f"{text!r} is not a time. Write it such as 2026-11-01 or 2026-11-01T06:30:00Z."
            ) from None
    elif not isinstance(value, datetime):
        if not isinstance(value, date):
            raise TypeError(f"since must be a text, date or datetime, not {type(value).__name__}.")
        value = datetime(value.year, value.month, value.day)
    return (
        value.replace(tzinfo=timezone.utc)
        if value.tzinfo is None
        else value.astimezone(timezone.utc)
    )


def next_since(clock: datetime | None) -> datetime:
    """From when to ask for changes next time, if the first page was sent at this time of the server's clock."""
    if clock is None:
        raise FieldgateError(
            "next_since is known after the first page, from servers that tell the time."
        )
    return clock - SINCE_MARGIN


def since_parameters(since: datetime | None) -> list[tuple[str, str]]:
    return [] if since is None else [(CHANGED_SINCE, format_timestamp(since))]


def check_page_of_changes(page: Page, server: str) -> None:
    """A server that does not know the filter returns everything, which must not pass for what changed."""
    if not page.is_fieldgate or CHANGED_SINCE in page.ignored_parameters:
        raise ChangesUnknown(
            f"{server} cannot tell what changed since a time. Leave out since= to read everything."
        )


def encode_filters(filters: Mapping[str, FilterValue]) -> list[tuple[str, str]]:
    """Query parameters. None leaves a filter out; several values are joined by commas.

    An empty list is refused: servers take an empty value as no filter, and would return everything.
    """
    encoded = [(name, encode_value(value)) for name, value in filters.items() if value is not None]
    for name, text in encoded:
        if not text and not isinstance(filters[name], str):
            raise empty_filter(name)
    return encoded


def empty_filter(name: str) -> InvalidRequest:
    return InvalidRequest(
        f"The filter {name} has no values. Give at least one, or None for no filter."
    )


def encode_value(value: FilterValue) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00Z"  # IFRC GO refuses a date without a time
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(encode_value(each) for each in value)
    return str(value)


def format_timestamp(value: datetime) -> str:
    """In UTC, as `+` in a URL would be a space. A time without a zone is taken as UTC."""
    value = (
        value.replace(tzinfo=timezone.utc)
        if value.tzinfo is None
        else value.astimezone(timezone.utc)
    )
    return value.isoformat().replace("+00:00", "Z")
