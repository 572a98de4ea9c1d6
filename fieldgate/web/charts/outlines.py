"""Outlines of countries, as longitudes and latitudes, from the files of the package `countryinfo`.

The package has no outline of some countries, and bad ones of others. Those are here, drawn with the border points of
their neighbours. An area belongs to the country that ISO 3166 counts it to. Kosovo, which ISO 3166 does not list, is
land without a code: it is drawn, but never coloured.
"""

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

Ring = tuple[tuple[float, float], ...]
Outline = tuple[Ring, ...]

NO_CODE = "none"  # land that belongs to no code


def _ring(text: str) -> Ring:
    """Parse "16.2 46.9, 16.5 47.5": longitudes and latitudes."""
    pairs = [pair.split() for pair in text.split(",")]
    return tuple((float(longitude), float(latitude)) for longitude, latitude in pairs)


OWN_OUTLINES: Mapping[str, Outline] = {
    "CYP": (
        _ring(
            "32.26 35.10, 32.73 35.14, 32.95 35.39, 33.67 35.37, 34.58 35.67, 33.90 35.25, 33.97 35.06, 34.00 34.98, "
            "32.98 34.57, 32.49 34.70"
        ),
    ),
    "HUN": (
        _ring(
            "16.20 46.85, 16.53 47.50, 16.34 47.71, 16.90 47.71, 16.98 48.12, 17.49 47.87, 17.86 47.76, 18.70 47.88, "
            "18.78 48.08, 19.17 48.11, 19.66 48.27, 19.77 48.20, 20.24 48.33, 20.47 48.56, 20.80 48.62, 21.87 48.32, "
            "22.09 48.42, 22.64 48.15, 22.71 47.88, 22.10 47.67, 21.63 46.99, 21.02 46.32, 20.22 46.13, 19.60 46.17, "
            "18.83 45.91, 18.46 45.76, 17.63 45.95, 16.88 46.38, 16.56 46.50, 16.37 46.84"
        ),
    ),
    "JAM": (
        _ring(
            "-78.37 18.28, -78.22 18.45, -77.92 18.51, -77.60 18.49, -77.20 18.45, -76.90 18.40, -76.67 18.25, "
            "-76.37 18.16, -76.19 17.94, -76.39 17.87, -76.85 17.96, -77.02 17.84, -77.18 17.71, -77.42 17.85, "
            "-77.75 17.86, -77.95 18.02, -78.20 18.20"
        ),
    ),
    "MMR": (
        _ring(
            "92.37 20.67, 92.30 21.48, 92.65 21.32, 92.67 22.04, 93.17 22.28, 93.06 22.70, 93.29 23.04, 93.33 24.08, "
            "94.11 23.85, 94.55 24.68, 94.60 25.16, 95.16 26.00, 95.12 26.57, 96.42 27.26, 97.13 27.08, 97.05 27.70, "
            "97.40 27.88, 97.33 28.26, 97.91 28.34, 98.25 27.75, 98.68 27.51, 98.71 26.74, 98.67 25.92, 97.72 25.08, "
            "97.60 23.90, 98.66 24.06, 98.90 23.14, 99.53 22.95, 99.24 22.12, 99.98 21.74, 100.42 21.56, 101.15 21.85, "
            "101.18 21.44, 100.33 20.79, 100.12 20.42, 99.54 20.19, 98.96 19.75, 98.25 19.71, 97.80 18.63, "
            "97.38 18.45, 97.86 17.57, 98.49 16.84, 98.90 16.18, 98.54 15.31, 98.19 15.12, 98.43 14.62, 99.10 13.83, "
            "99.21 13.27, 99.20 12.80, 99.59 11.89, 99.04 10.96, 98.55 9.93, 98.45 10.70, 98.76 11.40, 98.50 12.10, "
            "98.60 13.10, 98.10 13.70, 97.80 14.90, 97.55 16.10, 97.20 16.95, 96.50 16.45, 95.35 15.75, 94.85 15.80, "
            "94.20 16.05, 94.55 17.30, 94.30 18.20, 93.55 19.35, 93.65 19.75, 93.05 19.85"
        ),
    ),
    "MNE": (
        _ring(
            "20.07 42.59, 19.80 42.50, 19.74 42.69, 19.30 42.20, 19.37 41.88, 19.16 41.96, 18.88 42.28, 18.45 42.48, "
            "18.56 42.65, 18.71 43.20, 19.03 43.43, 19.22 43.52, 19.48 43.35, 19.63 43.21, 19.96 43.11, 20.34 42.90, "
            "20.26 42.81"
        ),
    ),
    "PSE": (
        _ring(
            "35.18 32.53, 35.55 32.39, 35.55 31.78, 35.48 31.50, 35.40 31.49, 34.93 31.35, 34.97 31.62, 35.23 31.75, "
            "34.97 31.87"
        ),
        _ring("34.27 31.22, 34.56 31.55, 34.49 31.61, 34.22 31.32"),
    ),
    "SRB": (
        _ring(
            "18.83 45.91, 19.60 46.17, 20.22 46.13, 20.76 45.73, 20.87 45.42, 21.48 45.18, 21.56 44.77, 22.15 44.48, "
            "22.46 44.70, 22.71 44.58, 22.47 44.41, 22.66 44.23, 22.41 44.01, 22.50 43.64, 22.99 43.21, 22.60 42.90, "
            "22.44 42.58, 22.55 42.46, 22.38 42.32, 21.92 42.30, 21.58 42.25, 21.54 42.32, 21.66 42.44, 21.77 42.68, "
            "21.63 42.68, 21.44 42.86, 21.27 42.91, 21.14 43.07, 20.96 43.13, 20.81 43.27, 20.64 43.22, 20.50 42.88, "
            "20.26 42.81, 20.34 42.90, 19.96 43.11, 19.63 43.21, 19.48 43.35, 19.22 43.52, 19.45 43.57, 19.60 44.04, "
            "19.12 44.42, 19.37 44.86, 19.01 44.86, 19.39 45.24, 19.07 45.52"
        ),
    ),
    NO_CODE: (
        _ring(
            "20.76 42.05, 20.59 41.86, 20.52 42.22, 20.28 42.32, 20.07 42.59, 20.26 42.81, 20.50 42.88, 20.64 43.22, "
            "20.81 43.27, 20.96 43.13, 21.14 43.07, 21.27 42.91, 21.44 42.86, 21.63 42.68, 21.77 42.68, 21.66 42.44, "
            "21.54 42.32, 21.58 42.25, 21.35 42.21"
        ),
    ),
}

# The north of Somalia, between two points of its outline in the package: from the border with Ethiopia to the coast.
_NORTH_OF_SOMALIA = _ring(
    "47.79 8.00, 46.95 8.00, 43.68 9.18, 43.30 9.54, 42.93 10.02, 42.56 10.57, 42.78 10.93, 43.15 11.46, 43.67 10.86, "
    "44.12 10.45, 44.61 10.44, 45.56 10.70, 46.65 10.82, 47.53 11.13, 48.38 11.38, 48.95 11.41"
)

OMITTED = ("ATA",)  # Antarctica


class _Codes(msgspec.Struct):
    alpha3: str | None = None


class _Geometry(msgspec.Struct):
    type: str
    coordinates: list[Any]


class _Feature(msgspec.Struct):
    geometry: _Geometry


class _FeatureCollection(msgspec.Struct):
    features: list[_Feature] = []


class _CountryFile(msgspec.Struct):
    """The fields of a country file that are read. Coordinates of points are latitude and longitude."""

    iso: _Codes = msgspec.field(default_factory=_Codes, name="ISO")
    geo: _FeatureCollection | None = msgspec.field(default=None, name="geoJSON")
    latlng: Any = None
    capital_latlng: Any = None


class Territory(msgspec.Struct, frozen=True):
    """A country as the package has it: an outline, or only a point, or neither."""

    iso3: str
    outline: Outline
    point: tuple[float, float] | None  # longitude, latitude


_decode_file = msgspec.json.Decoder(_CountryFile).decode


def package_version() -> str:
    """The version of the package the outlines come from."""
    return version("countryinfo")


def read_territories() -> Iterator[Territory]:
    """Read all countries, one file after the other. A country can come twice: with an outline and without."""
    spec = find_spec("countryinfo")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for path in sorted(path for folder in folders for path in Path(folder, "data").glob("*.json")):
        read = _decode_file(path.read_bytes())
        code = read.iso.alpha3
        if not code or code in OMITTED:
            continue
        outline = OWN_OUTLINES.get(code) or _read_outline(read.geo)
        yield Territory(code, _with_north(outline) if code == "SOM" else outline, _read_point(read))
    yield Territory(NO_CODE, OWN_OUTLINES[NO_CODE], None)


def _read_outline(geo: _FeatureCollection | None) -> Outline:
    rings: list[Ring] = []
    for feature in geo.features if geo else ():
        shape = feature.geometry
        polygons = shape.coordinates if shape.type == "MultiPolygon" else [shape.coordinates]
        rings += [tuple((x, y) for x, y, *_ in ring) for polygon in polygons for ring in polygon]
    return tuple(rings)


def _read_point(read: _CountryFile) -> tuple[float, float] | None:
    for pair in (read.latlng, read.capital_latlng):
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, int | float) for each in pair):
            return float(pair[1]), float(pair[0])
    return None


def _with_north(outline: Outline) -> Outline:
    """Replace the border between the two parts of Somalia by the border around its north."""

    def replace(ring: Ring) -> Ring:
        start, end = (_nearest(ring, point) for point in (_NORTH_OF_SOMALIA[0], _NORTH_OF_SOMALIA[-1]))
        return ring[:start] + _NORTH_OF_SOMALIA + ring[end + 1 :] if start < end else ring

    return tuple(replace(ring) for ring in outline)


def _nearest(ring: Ring, point: tuple[float, float]) -> int:
    return min(range(len(ring)), key=lambda place: (ring[place][0] - point[0]) ** 2 + (ring[place][1] - point[1]) ** 2)
