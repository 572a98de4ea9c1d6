"""A filter in words: the title of a feed, and the name of a file.

filter_title(filters, reference_data, Language.ENGLISH)  # "Emergencies: Africa, Flood"
file_name(filters, reference_data, Language.ENGLISH, date(2026, 11, 16))  # "emergencies-africa-flood-2026-11-16"
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime

from fieldgate.events.document_templates import SEVERITY_NAMES
from fieldgate.events.search.filters import EventFilters
from fieldgate.http.response.attachment import ascii_name, dated_name
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.regions import REGION_NAMES

MAX_NAMES = 3  # of one kind; more would not fit


def filter_words(filters: EventFilters, reference_data: ReferenceData, language: Language) -> list[str]:
    """What a filter narrows the list to: names of regions, countries, types and levels, dates, and search words."""
    by_iso3 = map(reference_data.country_by_iso3, filters.countries__iso3__in)
    country_ids = [*filters.countries__in, *(country.id for country in by_iso3 if country is not None)]
    type_ids = [*([] if filters.dtype is None else [filters.dtype]), *filters.dtype__in]
    levels = [*([] if filters.ifrc_severity_level is None else [filters.ifrc_severity_level])]
    levels += filters.ifrc_severity_level__in

    def region_name(id_: int) -> str:
        return translate(REGION_NAMES[id_], language)

    words = [
        *_names(filters.regions__in, REGION_NAMES, region_name),
        *_names(country_ids, reference_data.countries, lambda id_: reference_data.country_records.name(language, id_)),
        *_names(type_ids, reference_data.types, lambda id_: reference_data.type_records.name(language, id_)),
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


def file_name(filters: EventFilters, reference_data: ReferenceData, language: Language, day: date, *kind: str) -> str:
    """The name of a file with what a filter selects, without its suffix. `kind` tells apart files of one suffix."""
    return dated_name(
        [translate(Message("Emergencies"), language), *kind, *filter_words(filters, reference_data, language)], day
    )


def ascii_file_name(filters: EventFilters, reference_data: ReferenceData, day: date, *kind: str) -> str:
    """The same in English and in ASCII, for clients that know no other names."""
    return ascii_name(file_name(filters, reference_data, Language.ENGLISH, day, *kind))


def _names(ids: Iterable[int], known: Iterable[int], name: Callable[[int], str]) -> list[str]:
    return [name(id_) for id_ in dict.fromkeys(ids) if id_ in set(known)][:MAX_NAMES]


def _to_date(timestamp: datetime) -> str:
    return timestamp.date().isoformat()
