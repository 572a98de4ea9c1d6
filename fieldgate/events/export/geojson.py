"""Events as GeoJSON (RFC 7946): one point for each country of each event.

An event without a country, or in one whose place is unknown, is a feature without a geometry, so that none is missing.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.events.export.file_context import FeedCountry, FeedEvent, FileContext, decode_event
from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.rows import REPORT_FIGURES, newest_figure
from fieldgate.http.negotiation import Format
from fieldgate.i18n.messages import translate
from fieldgate.reference.positions import Position, country_position
from fieldgate.reference.regions import REGION_NAMES

BEGIN = b'{"type":"FeatureCollection","features":[\n'
SEPARATOR = b",\n"
END = b"\n]}\n"


class PointGeometry(msgspec.Struct, frozen=True):
    type: Annotated[Literal["Point"], Meta(description="Kind of geometry.")]
    coordinates: Annotated[
        Sequence[float],  # generated clients do not know tuples
        Meta(
            min_length=2,
            max_length=2,
            description="Longitude and latitude of a point in the country, in degrees.",
        ),
    ]


class ReportFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of field reports: each of the newest report that states it; null if unknown."""

    reported_affected: Annotated[int | None, Meta(description="People affected, by field reports.")]
    reported_potentially_affected: Annotated[
        int | None, Meta(description="People potentially affected.")
    ]
    reported_highest_risk: Annotated[int | None, Meta(description="People at highest risk.")]
    reported_dead: Annotated[int | None, Meta(description="Dead.")]
    reported_injured: Annotated[int | None, Meta(description="Injured.")]
    reported_missing: Annotated[int | None, Meta(description="Missing.")]
    reported_displaced: Annotated[int | None, Meta(description="Displaced.")]
    reported_assisted: Annotated[int | None, Meta(description="Assisted.")]


class EventProperties(ReportFigures, frozen=True, kw_only=True):
    """An event in one of its countries. Numbers are those of the whole event."""

    event: Annotated[int, Meta(description="Id of the event.")]
    url: Annotated[str, Meta(description="URL of the event.")]
    name: Annotated[str, Meta(description="Name of the event.")]
    country: Annotated[str | None, Meta(description="Name of the country.")]
    iso3: Annotated[str | None, Meta(description="Three-letter code of the country.")]
    region: Annotated[str | None, Meta(description="Name of the country's region.")]
    type: Annotated[str | None, Meta(description="Name of the disaster type.")]
    severity: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    severity_name: Annotated[str, Meta(description="Name of the severity level.")]
    start: Annotated[str, Meta(description="Start of the disaster.")]
    updated: Annotated[str, Meta(description="When the event was last changed.")]
    affected: Annotated[int | None, Meta(description="People affected; null if unknown.")]
    appeals: Annotated[int, Meta(description="Number of its appeals.")]
    amount_requested: Annotated[
        float, Meta(description="Amount that its appeals request, in Swiss francs.")
    ]
    amount_funded: Annotated[
        float, Meta(description="Amount received for its appeals, in Swiss francs.")
    ]
    demo: Annotated[bool, Meta(description="Whether the event is invented.")]
    glide: Annotated[str, Meta(description="GLIDE number; empty if unknown.")]
    summary: Annotated[str, Meta(description="Plain text, possibly empty.")]


class EventFeature(msgspec.Struct, frozen=True, kw_only=True):
    type: Annotated[Literal["Feature"], Meta(description="Kind of object.")] = "Feature"
    id: Annotated[str, Meta(description="Ids of event and country, such as 7001-123.")]
    geometry: Annotated[
        PointGeometry | None, Meta(description="Where the country is; null if unknown.")
    ]
    properties: Annotated[EventProperties, Meta(description="The event.")]


class FeatureLink(msgspec.Struct, frozen=True):
    rel: Annotated[str, Meta(description="`self`, `next` or `prev`.")]
    href: Annotated[str, Meta(description="URL of the page.")]
    type: Annotated[str, Meta(description="Media type of the page.")] = Format.GEOJSON.media_type


class EventFeatureCollection(msgspec.Struct, frozen=True, kw_only=True):
    """The GeoJSON of a page or an export. It is written in parts, see `encode_features`."""

    type: Annotated[Literal["FeatureCollection"], Meta(description="Kind of object.")]
    features: Annotated[
        list[EventFeature], Meta(description="A feature for each country of each event.")
    ]
    links: (
        Annotated[list[FeatureLink], Meta(description="This page and the pages around it.")]
        | UnsetType
    ) = UNSET


_encode = msgspec.json.Encoder().encode


def encode_features(records: Sequence[bytes], context: FileContext) -> bytes:
    """The features of some records, separated but not enclosed."""
    return SEPARATOR.join(
        [
            _encode(feature)
            for record in records
            for feature in _event_features(decode_event(record), context)
        ]
    )


def encode_geojson_page(records: Sequence[bytes], context: FileContext) -> bytes:
    """A page as a complete document, with links as in OGC API Features."""
    targets = (
        ("self", context.self_url),
        ("next", context.next_page),
        ("prev", context.previous_page),
    )
    links = _encode([FeatureLink(rel, url) for rel, url in targets if url])
    return BEGIN + encode_features(records, context) + b'\n],"links":' + links + b"}\n"


def _event_features(event: FeedEvent, context: FileContext) -> Iterator[EventFeature]:
    summary = to_plain_text(event.summary)
    countries: Sequence[FeedCountry | None] = event.countries or [None]
    for country in countries:
        position = None if country is None else _position(country, context)
        yield EventFeature(
            id=f"{event.id}-{country.id}" if country else str(event.id),
            geometry=PointGeometry("Point", position) if position else None,
            properties=_properties(event, country, summary, context),
        )


def _position(country: FeedCountry, context: FileContext) -> Position | None:
    known = context.reference_data.countries.get(country.id)
    return None if known is None else country_position(known)


def _properties(
    event: FeedEvent, country: FeedCountry | None, summary: str, context: FileContext
) -> EventProperties:
    region = REGION_NAMES.get(country.region) if country and country.region is not None else None
    figures = {
        name.replace("num_", "reported_"): newest_figure(event.field_reports, name)
        for name in REPORT_FIGURES
    }
    return EventProperties(
        **figures,
        event=event.id,
        url=context.event_url(event.id),
        name=event.name,
        country=country.name if country else None,
        iso3=country.iso3 if country else None,
        region=translate(region, context.language) if region else None,
        type=event.dtype.name if event.dtype else None,
        severity=event.ifrc_severity_level,
        severity_name=event.ifrc_severity_level_display,
        start=event.disaster_start_date,
        updated=event.updated_at,
        affected=event.num_affected,
        appeals=len(event.appeals),
        amount_requested=sum([appeal.amount_requested for appeal in event.appeals]),
        amount_funded=sum([appeal.amount_funded for appeal in event.appeals]),
        demo=event.demo,
        glide=event.glide,
        summary=summary,
    )
