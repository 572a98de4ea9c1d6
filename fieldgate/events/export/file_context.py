"""What files are made from: query parameters, the context of a page or an export, and the fields that feeds need.

filter_title(filters, reference_data, Language.ENGLISH)  # "Emergencies: Africa, Flood"
file_name(filters, reference_data, Language.ENGLISH, date(2026, 11, 16))  # "emergencies-africa-flood-2026-11-16"
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from fieldgate.errors import Header
from fieldgate.events.filters import EventFilters, check_filters
from fieldgate.events.records import SEVERITY_NAMES
from fieldgate.events.rows import FIGURE_SOURCES, REPORT_FIGURES
from fieldgate.http.links import encode_query
from fieldgate.http.negotiation import Format
from fieldgate.http.pagination_links import PAGING_PARAMETERS
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.attachment import ascii_name, attachment, dated_name
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.positions import packaged_positions
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.regions import REGION_NAMES

LIST_PATH = "/api/v2/event/"
MAX_NAMES = 3  # of one kind, in a title or the name of a file; more would not fit

_TABLE_FORMATS = (Format.CSV, Format.XLSX)
# Parameters that do not change which events are in a list.
_NOT_FILTERS = PAGING_PARAMETERS | {"format", "ordering", "tableau", "bom"}


class FileFilters(EventFilters, frozen=True, kw_only=True):
    not_filters: ClassVar[frozenset[str]] = frozenset({"bom"})

    bom: Annotated[
        bool, Meta(description="Start CSV with a byte order mark, which Excel needs for UTF-8.")
    ] = False


check_filters(FileFilters)


class FileContext(msgspec.Struct, frozen=True, kw_only=True):
    language: Language
    reference_data: ReferenceData
    base_url: str = ""  # of the service
    self_url: str = ""  # of this file or page
    list_url: str = (
        ""  # of the list with the same filters: without paging and format, so it identifies a feed
    )
    title: str = ""
    with_bom: bool = False  # in CSV
    next_page: str | None = None
    previous_page: str | None = None

    def event_url(self, id_: int) -> str:
        return f"{self.base_url}/api/v2/event/{id_}/"


def file_context(
    request: ParsedRequest, query: FileFilters, reference_data: ReferenceData
) -> FileContext:
    if request.format is Format.GEOJSON:
        packaged_positions()  # the first call reads files
    if request.format in _TABLE_FORMATS:  # only these have options, and they need nothing else
        return FileContext(
            language=request.language,
            reference_data=reference_data,
            with_bom=query.bom,
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
    name = file_name(query, context.reference_data, context.language, day)
    return attachment(name, f".{suffix}", ascii_file_name(query, context.reference_data, day))


def filter_words(
    filters: EventFilters, reference_data: ReferenceData, language: Language
) -> list[str]:
    """What a filter narrows the list to: names of regions, countries, types and levels, dates, and search words."""
    codes = [
        *([] if filters.countries__iso3 is None else [filters.countries__iso3]),
        *filters.countries__iso3__in,
    ]
    by_iso3 = map(reference_data.country_by_iso3, codes)
    country_ids = [
        *filters.countries__in,
        *(country.id for country in by_iso3 if country is not None),
    ]
    type_ids = [*([] if filters.dtype is None else [filters.dtype]), *filters.dtype__in]
    levels = [*([] if filters.ifrc_severity_level is None else [filters.ifrc_severity_level])]
    levels += filters.ifrc_severity_level__in

    def region_name(id_: int) -> str:
        return translate(REGION_NAMES[id_], language)

    words = [
        *_names(filters.regions__in, REGION_NAMES, region_name),
        *_names(
            country_ids,
            reference_data.countries,
            lambda id_: reference_data.country_records.name(language, id_),
        ),
        *_names(
            type_ids,
            reference_data.types,
            lambda id_: reference_data.type_records.name(language, id_),
        ),
        *_names(levels, (0, 1, 2), lambda level: translate(SEVERITY_NAMES[level], language)),
    ]
    since = filters.disaster_start_date__gte or filters.disaster_start_date__gt
    until = filters.disaster_start_date__lte or filters.disaster_start_date__lt
    if since is not None:
        words.append(translate(Message("since {date}", date=_to_date(since)), language))
    if until is not None:
        words.append(translate(Message("until {date}", date=_to_date(until)), language))
    return [*words, *filter(None, (filters.glide, filters.appeal_code, filters.search))]


def filter_title(filters: EventFilters, reference_data: ReferenceData, language: Language) -> str:
    """The title of a list with a filter."""
    title = translate(Message("Emergencies"), language)
    words = filter_words(filters, reference_data, language)
    return title + ": " + ", ".join(words) if words else title


def file_name(
    filters: EventFilters, reference_data: ReferenceData, language: Language, day: date
) -> str:
    """The name of a file with what a filter selects, without its suffix."""
    words = filter_words(filters, reference_data, language)
    return dated_name([translate(Message("Emergencies"), language), *words], day)


def ascii_file_name(filters: EventFilters, reference_data: ReferenceData, day: date) -> str:
    """The same in English and in ASCII, for clients that know no other names."""
    return ascii_name(file_name(filters, reference_data, Language.ENGLISH, day))


def _names(ids: Iterable[int], known: Iterable[int], name: Callable[[int], str]) -> list[str]:
    return [name(id_) for id_ in dict.fromkeys(ids) if id_ in set(known)][:MAX_NAMES]


def _to_date(timestamp: datetime) -> str:
    return timestamp.date().isoformat()


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
    "FeedReport",
    [(source + name, int | None, None) for source in FIGURE_SOURCES for name in REPORT_FIGURES],
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
