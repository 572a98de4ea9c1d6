"""Countries of a remote server."""

from typing import Any

import httpx

from fieldgate.db import DataVersions
from fieldgate.reference.store import ReferenceStore
from tests.events.sync.conftest import SyncTarget
from tests.events.sync.live_system import LiveSystem, live_record


async def test_countries_on_different_pages_by_language(target: SyncTarget) -> None:
    system = LiveSystem([live_record(1)], max_page_size=2)
    page = system.page
    names = {9001: {"fr": "Zoulou"}, 9002: {}, 9003: {"fr": "Alpha"}, 9004: {}}

    def by_name(request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        if request.url.path.endswith("/country/"):
            language = request.headers["Accept-Language"]
            found = [{**found[0], "id": id_, "iso": None, "iso3": None, "name": name.get(language, f"Land {id_}")}
                     for id_, name in names.items()]  # fmt: skip
            found.sort(key=lambda country: str(country["name"]))
        return page(request, found)

    system.page = by_name  # type: ignore[method-assign]
    system.records[0]["countries"] = [{"id": 9001}]
    await target.sync(system.transport())
    reference_data = await ReferenceStore(target.database, DataVersions(target.database)).current()
    assert reference_data.countries[9001].names == {"en": "Land 9001", "fr": "Zoulou"}
    assert reference_data.countries[9003].names == {"en": "Land 9003", "fr": "Alpha"}
