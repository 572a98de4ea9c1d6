"""Where the countries of events are, as the server knows it.

IFRC GO has a centre in each record of a country. Fieldgate may have none there, but has points in its own GeoJSON of
events.
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import Any

import msgspec

from fieldgate_client.connection import Connection, HTTPResponse
from fieldgate_client.errors import NotAllowed, NotFound
from fieldgate_client.exports.flatten import decode_record
from fieldgate_client.exports.geojson import Position, country_positions, point_position
from fieldgate_client.list_query import DEFAULT_PAGE_SIZE, ListQuery
from fieldgate_client.server_url import API_ROOT

MAX_REQUESTS = 20  # for GeoJSON: usually three are enough


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
    positions = country_positions(countries)
    ids = {country["id"] for country in countries if type(country.get("id")) is int}
    if missing := ids - positions.keys():
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
        collection = await connection.fetch(f"{API_ROOT}event/", parameters, _decode)
        seen = set()
        for feature in collection.features:
            number = _country_id(feature)
            if number in wanted:
                seen.add(number)
                position = point_position(feature.get("geometry"))
                if position is not None:
                    found[number] = position
        wanted = wanted - seen
        if not seen or not wanted:
            break
    return found


def _decode(response: HTTPResponse) -> _Collection:
    return msgspec.json.decode(response.body, type=_Collection)


def _country_id(feature: Any) -> int:
    """Of an id such as 7001-123; -1 if it has none."""
    identifier = feature.get("id") if isinstance(feature, dict) else None
    number = identifier.rpartition("-")[2] if isinstance(identifier, str) and "-" in identifier else ""
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1
