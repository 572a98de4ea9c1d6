"""A small map of some countries, for pages about an event or a country."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fieldgate.i18n.messages import Message, translate
from fieldgate.web.charts.atlas import load_places
from fieldgate.web.charts.world_map import MapValue, WorldMap, build_map
from fieldgate.web.page_views import Page


class SmallMap(WorldMap, frozen=True):
    """A map of a third of the page's width: its dots are larger in proportion."""

    @property
    def dot_radius(self) -> float:
        return round(self.width * 0.018, 2)


async def build_small_map(page: Page, countries: Sequence[Mapping[str, Any]]) -> SmallMap | None:
    """A map of countries, given as records, zoomed to them; None if none of them is on the map."""
    events_url = urlsplit(page.request.base_url.url).path + "/api/v2/event/"
    values = [
        MapValue(
            iso3=country["iso3"],
            name=country["name"],
            value=1,
            text=translate(Message("Emergencies: {country}", country=country["name"]), page.language),
            href=f"{events_url}?countries__in={country['id']}",
        )
        for country in countries
        if country["iso3"]
    ]
    if not values:
        return None
    world = build_map(await load_places(), values, focus=[value.iso3 for value in values if value.iso3])
    return SmallMap(**msgspec.structs.asdict(world)) if world.shapes or world.dots else None
