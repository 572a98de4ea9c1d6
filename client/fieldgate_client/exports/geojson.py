"""GeoJSON (RFC 7946): one point for each country of each event, as Fieldgate itself writes it.

The points are those that the server has for its countries. IFRC GO has a centre in each record of a country. Fieldgate
may have none there, but has points in its own GeoJSON of events. Submissions of KoboToolbox have their own point.
Records without a known place are features without a geometry, so that none is missing. Properties are the fields of the
record as in a table, and the name and code of the country that the point belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any, BinaryIO

import msgspec

from fieldgate_client.connection import Connection
from fieldgate_client.errors import NotAllowed, NotFound
from fieldgate_client.exports.flatten import decode_record, flatten
from fieldgate_client.list_query import ListQuery
from fieldgate_client.server_url import API_ROOT
from fieldgate_client.walk import DEFAULT_PAGE_SIZE

BEGIN = b'{"type":"FeatureCollection","features":[\n'
SEPARATOR = b",\n"
END = b"\n]}\n"

MAX_REQUESTS = 20  # for points in the GeoJSON of events: usually three are enough
_MAX_LONGITUDE, _MAX_LATITUDE = 180, 90

Position = tuple[float, float]  # longitude, latitude
Feature = dict[str, Any]


class GeoJSONWriter:
    """Writes records to a file, then `finish`."""

    def __init__(self, file: BinaryIO, positions: Mapping[int, Position]) -> None:
        self._file = file
        self._positions = positions
        self._is_first = True

    def write(self, records: list[msgspec.Raw]) -> None:
        encode = msgspec.json.encode
        for record in records:
            for feature in features(decode_record(record), self._positions):
                self._file.write((BEGIN if self._is_first else SEPARATOR) + encode(feature))
                self._is_first = False

    def finish(self) -> None:
        self._file.write((BEGIN if self._is_first else b"") + END)


def features(record: dict[str, Any], positions: Mapping[int, Position]) -> Iterator[Feature]:
    properties = flatten(record)
    identifier = next(
        (record[name] for name in ("id", "_id", "uid") if isinstance(record.get(name), int | str)),
        None,
    )
    countries = record.get("countries")
    places = (
        [each for each in countries if isinstance(each, dict)]
        if isinstance(countries, list)
        else []
    )
    if not places:
        yield _feature(identifier, _own_position(record), properties)
    for place in places:
        number = place.get("id")
        position = positions.get(number) if isinstance(number, int) else None
        own = {"country": place.get("name"), "iso3": place.get("iso3"), **properties}
        yield _feature(None if identifier is None else f"{identifier}-{number}", position, own)


class _Collection(msgspec.Struct):
    features: list[Any]


async def read_country_positions(connection: Connection) -> dict[int, Position]:
    """Points by the id of the country. Empty if the server does not have them."""
    query: ListQuery[Any] = ListQuery(connection, f"{API_ROOT}country/")
    countries: list[dict[str, Any]] = []
    with suppress(NotFound, NotAllowed):
        async with aclosing(query.walk().pages()) as pages:
            async for records in pages:
                countries += map(decode_record, records)
    centres = {
        country["id"]: _point(country.get("centroid"))
        for country in countries
        if type(country.get("id")) is int
    }
    positions = {number: position for number, position in centres.items() if position is not None}
    if missing := centres.keys() - positions.keys():
        with suppress(NotFound, NotAllowed):
            if await connection.is_fieldgate():
                positions |= await _read_event_points(connection, missing)
    return positions


async def _read_event_points(connection: Connection, wanted: set[int]) -> dict[int, Position]:
    """Points of the countries that have events. Each request asks for those that are not known yet."""
    found: dict[int, Position] = {}
    for _ in range(MAX_REQUESTS):
        parameters = {
            "format": "geojson",
            "countries__in": ",".join(map(str, sorted(wanted))),
            "limit": str(DEFAULT_PAGE_SIZE),
        }
        collection = await connection.fetch_json(f"{API_ROOT}event/", _Collection, parameters)
        seen = set()
        for feature in collection.features:
            number = _country_id(feature)
            if number in wanted:
                seen.add(number)
                position = _point(feature.get("geometry"))
                if position is not None:
                    found[number] = position
        wanted = wanted - seen
        if not seen or not wanted:
            break
    return found


def _country_id(feature: Any) -> int:
    """Of an id such as 7001-123; -1 if it has none."""
    identifier = feature.get("id") if isinstance(feature, dict) else None
    number = (
        identifier.rpartition("-")[2] if isinstance(identifier, str) and "-" in identifier else ""
    )
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1


def _point(geometry: Any) -> Position | None:
    """Where a point is; None if it is another geometry or impossible."""
    is_point = isinstance(geometry, dict) and geometry.get("type") == "Point"
    return _position(geometry.get("coordinates")) if is_point else None


def _feature(
    identifier: int | str | None, position: Position | None, properties: dict[str, Any]
) -> Feature:
    feature: Feature = {"type": "Feature"}
    if identifier is not None:
        feature["id"] = identifier
    feature["geometry"] = {"type": "Point", "coordinates": [*position]} if position else None
    feature["properties"] = properties
    return feature


def _own_position(record: dict[str, Any]) -> Position | None:
    """Of a submission of KoboToolbox: latitude and longitude."""
    pair = record.get("_geolocation")
    return _position(pair[::-1]) if isinstance(pair, list) else None


def _position(pair: Any) -> Position | None:
    if not isinstance(pair, list) or len(pair) < 2:
        return None
    longitude, latitude = pair[:2]
    for number, most in ((longitude, _MAX_LONGITUDE), (latitude, _MAX_LATITUDE)):
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not -most <= number <= most
        ):
            return None
    return longitude, latitude
