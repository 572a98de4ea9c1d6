"""What files are made from: query parameters, the context of a page or an export, and the fields that feeds need."""

import asyncio
from datetime import date
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from fieldgate.errors import Header
from fieldgate.events.csv_rows import FIGURE_SOURCES, REPORT_FIGURES
from fieldgate.events.export.filter_words import ascii_file_name, file_name, filter_title
from fieldgate.events.search.filters import EventFilters, check_filters
from fieldgate.http.links import encode_query
from fieldgate.http.negotiation import Format
from fieldgate.http.pagination_links import PAGING_PARAMETERS
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.attachment import attachment
from fieldgate.i18n.languages import Language
from fieldgate.reference.positions import packaged_positions
from fieldgate.reference.reference_data import ReferenceData

LIST_PATH = "/api/v2/event/"

_TABLE_FORMATS = (Format.CSV, Format.XLSX)
# Parameters that do not change which events are in a list.
_NOT_FILTERS = PAGING_PARAMETERS | {"format", "ordering", "tableau", "hxl", "bom"}


class FileFilters(EventFilters, frozen=True, kw_only=True):
    not_filters: ClassVar[frozenset[str]] = frozenset({"hxl", "bom"})

    hxl: Annotated[bool, Meta(description="Add the row of HXL hashtags below the header of CSV and XLSX.")] = False
    bom: Annotated[bool, Meta(description="Start CSV with a byte order mark, which Excel needs for UTF-8.")] = False


check_filters(FileFilters)


class FileContext(msgspec.Struct, frozen=True, kw_only=True):
    language: Language
    reference_data: ReferenceData
    base_url: str = ""  # of the service
    self_url: str = ""  # of this file or page
    list_url: str = ""  # of the list with the same filters: without paging and format, so it identifies a feed
    title: str = ""
    with_hashtags: bool = False  # the HXL row in tables
    with_bom: bool = False  # in CSV
    next_page: str | None = None
    previous_page: str | None = None

    def event_url(self, id_: int) -> str:
        return f"{self.base_url}/api/v2/event/{id_}/"


async def file_context(request: ParsedRequest, query: FileFilters, reference_data: ReferenceData) -> FileContext:
    if request.format is Format.GEOJSON:
        await asyncio.to_thread(packaged_positions)  # the first call reads files
    if request.format in _TABLE_FORMATS:  # only these have options, and they need nothing else
        return FileContext(
            language=request.language, reference_data=reference_data, with_hashtags=query.hxl, with_bom=query.bom
        )
    given = request.query_params.items()
    filters = [(name, value) for name, value in given if name not in _NOT_FILTERS and value]
    list_url = request.base_url.url + LIST_PATH
    return FileContext(
        language=request.language,
        reference_data=reference_data,
        base_url=request.base_url.url,
        self_url=f"{request.url}?{encode_query(given)}" if given else request.url,
        list_url=f"{list_url}?{encode_query(filters)}" if filters else list_url,
        title=filter_title(query, reference_data, request.language),
    )


def attachment_header(query: FileFilters, context: FileContext, suffix: str, day: date) -> Header:
    """Content-Disposition with a name made from the filter and the date, in the language of the request."""
    kind = ("HXL",) if context.with_hashtags else ()
    name = file_name(query, context.reference_data, context.language, day, *kind)
    return attachment(name, f".{suffix}", ascii_file_name(query, context.reference_data, day, *kind))


class FeedCountry(msgspec.Struct):
    id: int
    name: str
    iso3: str | None
    region: int | None


class FeedType(msgspec.Struct):
    id: int
    name: str


class FeedAppeal(msgspec.Struct):
    amount_requested: float
    amount_funded: float


FeedReport = msgspec.defstruct(
    "FeedReport", [(source + name, int | None, None) for source in FIGURE_SOURCES for name in REPORT_FIGURES]
)


class FeedEvent(msgspec.Struct):
    """The fields of list records that feeds and GeoJSON need; the decoder skips the others."""

    id: int
    name: str
    summary: str
    dtype: FeedType | None
    countries: list[FeedCountry]
    appeals: list[FeedAppeal]
    field_reports: list[FeedReport]  # type: ignore[valid-type]
    num_affected: int | None
    ifrc_severity_level: int
    ifrc_severity_level_display: str
    glide: str
    disaster_start_date: str
    created_at: str
    updated_at: str
    demo: bool = False


decode_event = msgspec.json.Decoder(FeedEvent).decode
