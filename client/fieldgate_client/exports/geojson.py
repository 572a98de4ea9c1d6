"""GeoJSON (RFC 7946): one point for each country of each event, as Fieldgate itself writes it.

The points are those that the server has for its countries. Submissions of KoboToolbox have their own point.
Records without a known place are features without a geometry, so that none is missing. Properties are the fields of the
record as in a table, and the name and code of the country that the point belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec

from fieldgate_client.exports.flatten import decode_record, flatten

BEGIN = b'{"type":"FeatureCollection","features":[\n'
SEPARATOR = b",\n"
END = b"\n]}\n"

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
    identifier = next((record[name] for name in ("id", "_id", "uid") if isinstance(record.get(name), int | str)), None)
    countries = record.get("countries")
    places = [each for each in countries if isinstance(each, dict)] if isinstance(countries, list) else []
    if not places:
        yield _feature(identifier, _own_position(record), properties)
    for place in places:
        number = place.get("id")
        position = positions.get(number) if isinstance(number, int) else None
        own = {"country": place.get("name"), "iso3": place.get("iso3"), **properties}
        yield _feature(None if identifier is None else f"{identifier}-{number}", position, own)


def country_positions(countries: list[dict[str, Any]]) -> dict[int, Position]:
    """The centres of the countries that have one, by id."""
    found = {}
    for country in countries:
        position, number = point_position(country.get("centroid")), country.get("id")
        if isinstance(number, int) and position is not None:
            found[number] = position
    return found


def point_position(geometry: Any) -> Position | None:
    """Where a point is; None if it is another geometry or impossible."""
    is_point = isinstance(geometry, dict) and geometry.get("type") == "Point"
    return _position(geometry.get("coordinates")) if is_point else None


def _feature(identifier: int | str | None, position: Position | None, properties: dict[str, Any]) -> Feature:
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
        if isinstance(number, bool) or not isinstance(number, int | float) or not -most <= number <= most:
            return None
    return longitude, latitude
