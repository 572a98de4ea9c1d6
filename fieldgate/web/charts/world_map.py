"""A map of values by country: colours by class, dots for small countries, zoom, and names where they fit."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from fieldgate.web.charts.atlas import Place
from fieldgate.web.charts.projection import MAP_HEIGHT, MAP_WIDTH, Point
from fieldgate.web.charts.scales import ValueClass, class_of, classify

# Sizes are shares of the width of the view, so that they look the same at every zoom.
DOT_RADIUS = 0.0065
MIN_SHAPE_SIZE = 0.012  # a smaller country is a dot
FONT_SIZE = 0.021
CHARACTER_WIDTH = 0.55  # of the font size, on average
MARGIN = 0.06  # around a region
WIDE_MARGIN = 0.4  # around a few countries: their neighbours are in view
FEW = 3
MIN_VIEW_WIDTH = 70.0
MIN_ASPECT, MAX_ASPECT = 1.25, 1.7  # width to height
MAX_LABELS = 30
FAR_EAST = 600.0  # x of the east of Iran: a view that starts there continues into the Pacific


class MapValue(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a country. `text` is its tooltip, `href` where a click leads."""

    iso3: str | None
    name: str
    value: float
    text: str
    href: str | None = None


class MapMark(msgspec.Struct, frozen=True, kw_only=True):
    """A country on the map: a shape of the SVG file, or a dot at a point."""

    iso3: str
    text: str
    href: str | None
    class_number: int
    dot: Point | None


class MapLabel(msgspec.Struct, frozen=True):
    x: float
    y: float
    text: str
    class_number: int


class WorldMap(msgspec.Struct, frozen=True, kw_only=True):
    """What the macro `world_map` draws."""

    left: float
    top: float
    width: float
    height: float
    shapes: Sequence[MapMark]
    dots: Sequence[MapMark]
    labels: Sequence[MapLabel]
    classes: Sequence[ValueClass]
    missing: Sequence[MapValue]  # countries that are not on the map

    @property
    def view_box(self) -> str:
        return " ".join(
            f"{number:.1f}" for number in (self.left, self.top, self.width, self.height)
        )

    @property
    def dot_radius(self) -> float:
        return round(self.width * DOT_RADIUS, 2)

    @property
    def font_size(self) -> float:
        return round(self.width * FONT_SIZE, 2)


class _View(msgspec.Struct, frozen=True):
    left: float
    top: float
    width: float
    height: float
    is_wrapped: bool

    def point(self, place: Place) -> Point:
        return place.wrapped_centre if self.is_wrapped else place.centre

    def contains(self, point: Point) -> bool:
        return (
            self.left <= point[0] <= self.left + self.width
            and self.top <= point[1] <= self.top + self.height
        )


def build_map(
    places: Mapping[str, Place],
    values: Iterable[MapValue],
    focus: Collection[str] = (),
    *,
    has_labels: bool = False,
) -> WorldMap:
    """Make a map. `focus` has the codes of the countries to zoom to; without any, the map shows the world."""
    placed: list[tuple[MapValue, Place]] = []
    missing: list[MapValue] = []
    for value in values:
        place = places.get(value.iso3 or "")
        if place is None:
            missing.append(value)
        else:
            placed.append((value, place))
    view = _find_view([places[code] for code in focus if code in places])
    classes = classify([value.value for value, _ in placed])
    shapes: list[MapMark] = []
    dots: list[MapMark] = []
    for value, place in placed:
        is_dot = not place.has_outline or place.size < view.width * MIN_SHAPE_SIZE
        point = view.point(place)
        mark = MapMark(
            iso3=value.iso3 or "",
            text=value.text,
            href=value.href,
            class_number=class_of(value.value, classes),
            dot=(round(point[0], 1), round(point[1], 1)) if is_dot else None,
        )
        (dots if is_dot else shapes).append(mark)
    return WorldMap(
        left=view.left,
        top=view.top,
        width=view.width,
        height=view.height,
        shapes=shapes,
        dots=dots,
        labels=_place_labels(placed, view, classes) if has_labels else (),
        classes=classes,
        missing=missing,
    )


def _find_view(places: Sequence[Place]) -> _View:
    """The rectangle to show: all the places, with a margin, not too small, not too flat and not too high."""
    if not places:
        return _View(0, 0, MAP_WIDTH, MAP_HEIGHT, False)
    outlines = [place for place in places if place.has_outline]
    is_wrapped = bool(outlines) and min(place.left for place in outlines) > FAR_EAST
    if not outlines:
        is_wrapped = any(place.centre[0] > FAR_EAST for place in places)
    xs = [x for place in places for x in _horizontal(place, is_wrapped)]
    ys = [y for place in places for y in (place.top, place.bottom)]
    left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
    margin = (WIDE_MARGIN if len(places) <= FEW else MARGIN) * max(right - left, bottom - top)
    width = max(right - left + 2 * margin, MIN_VIEW_WIDTH)
    height = max(bottom - top + 2 * margin, width / MAX_ASPECT)
    width = max(width, height * MIN_ASPECT)
    return _View((left + right - width) / 2, (top + bottom - height) / 2, width, height, is_wrapped)


def _horizontal(place: Place, is_wrapped: bool) -> tuple[float, float]:
    if is_wrapped and not place.has_outline:
        return place.wrapped_centre[0], place.wrapped_centre[0]
    return place.left, place.right


def _place_labels(
    placed: Sequence[tuple[MapValue, Place]], view: _View, classes: Sequence[ValueClass]
) -> list[MapLabel]:
    """Names on the map, of the greatest values first, except those that would cover another or leave the map."""
    size = view.width * FONT_SIZE
    taken: list[tuple[float, float, float, float]] = []
    labels: list[MapLabel] = []
    for value, place in sorted(placed, key=lambda pair: (-pair[0].value, pair[0].name)):
        x, y = view.point(place)
        is_dot = not place.has_outline or place.size < view.width * MIN_SHAPE_SIZE
        half = len(value.name) * size * CHARACTER_WIDTH / 2
        if is_dot:
            y -= size * 0.6
        elif place.has_outline and place.right - place.left < half:
            continue  # it would cover the neighbours
        box = (x - half, y - size * 0.6, x + half, y + size * 0.6)
        corners = ((box[0], box[1]), (box[2], box[3]))
        if not all(view.contains(corner) for corner in corners) or any(
            _overlap(box, other) for other in taken
        ):
            continue
        taken.append(box)
        number = 0 if is_dot else class_of(value.value, classes)
        labels.append(MapLabel(round(x, 1), round(y + size * 0.35, 1), value.name, number))
        if len(labels) == MAX_LABELS:
            break
    return labels


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
