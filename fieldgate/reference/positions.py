"""Where countries are: one point for each, as longitude and latitude.

The point of the reference data wins, if another server gave one. For the others it comes from the files of the package
`countryinfo`, of which only the coordinates are read: loading all of it would take 20 MB.
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from fieldgate.reference.reference_data import Country

Position = tuple[float, float]  # longitude, latitude, as in GeoJSON

_MAX_LONGITUDE, _MAX_LATITUDE = 180, 90


class _Codes(msgspec.Struct):
    alpha3: str | None = None


class _CountryFile(msgspec.Struct):
    """The fields of a country file that are read. Coordinates are latitude and longitude."""

    iso: _Codes = msgspec.field(default_factory=_Codes, name="ISO")
    latlng: Any = None
    capital_latlng: Any = None


_decode_file = msgspec.json.Decoder(_CountryFile).decode


def country_position(country: Country) -> Position | None:
    """The point of a country; None if it is unknown, or if this is not a country."""
    centroid = country.profile.get("centroid")
    if isinstance(centroid, dict) and centroid.get("type") == "Point":
        own = _to_position(centroid.get("coordinates"))
        if own is not None:
            return own
    return packaged_positions().get(country.iso3 or "")


@cache
def packaged_positions() -> Mapping[str, Position]:
    """The points of all countries by ISO 3166-1 alpha-3 code. The first call reads files: 20 ms."""
    found: dict[str, Position] = {}
    for path in country_files():
        read = _decode_file(path.read_bytes())
        for pair in (read.latlng, read.capital_latlng):
            position = _to_position(pair[1::-1] if isinstance(pair, list) else None)
            if position is not None and read.iso.alpha3:
                found.setdefault(read.iso.alpha3, position)
    return found


def country_files() -> list[Path]:
    """The files of the package, one for each country."""
    spec = find_spec("countryinfo")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return sorted(path for folder in folders for path in Path(folder, "data").glob("*.json"))


def _to_position(coordinates: Any) -> Position | None:
    """Longitude and latitude from a list that starts with them."""
    if not isinstance(coordinates, list) or len(coordinates) < 2:
        return None
    longitude, latitude = coordinates[:2]
    if not all(
        isinstance(each, int | float) and not isinstance(each, bool)
        for each in (longitude, latitude)
    ):
        return None
    if not (abs(longitude) <= _MAX_LONGITUDE and abs(latitude) <= _MAX_LATITUDE):
        return None
    return float(longitude), float(latitude)
