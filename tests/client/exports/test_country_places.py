"""Where countries are, from servers that know it, know it in another place, or answer nonsense."""

from typing import Any

import httpx
import pytest
from fieldgate_client.connection import Connection, ConnectionOptions
from fieldgate_client.exports.geojson import MAX_REQUESTS, read_country_positions
from fieldgate_client.retries import RetryPolicy

POINT = {"type": "Point", "coordinates": [18.5, 15]}


def feature(identifier: Any, geometry: Any = POINT) -> dict[str, Any]:
    return {"type": "Feature", "id": identifier, "geometry": geometry, "properties": {}}


class PlaceServer:
    """Countries 1, 2 and 3, of which 3 has a centre; and GeoJSON of events, one answer after the other."""

    def __init__(self, *answers: list[Any], is_fieldgate: bool = True) -> None:
        self._answers = iter(answers)
        self._headers = {"fieldgate-data-version": "none"} if is_fieldgate else {}
        self.asked: list[str] = []

    async def read(self) -> dict[int, Any]:
        options = ConnectionOptions(
            transport=httpx.MockTransport(self._answer), retries=RetryPolicy(attempts=1)
        )
        async with Connection("https://field.example", "", options) as connection:
            return {**await read_country_positions(connection)}

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.params.get("format") == "geojson":
            self.asked.append(request.url.params["countries__in"])
            features = next(self._answers, [])
            return httpx.Response(200, json={"type": "FeatureCollection", "features": features})
        records: list[Any] = []
        if request.url.path == "/api/v2/country/":
            records = [
                {"id": 1, "centroid": None},
                {"id": 2},
                {"id": 3, "centroid": POINT},
                "nonsense",
            ]
        body = {"count": len(records), "next": None, "results": records}
        return httpx.Response(200, json=body, headers=self._headers)


async def test_countries_without_a_centre_are_asked_for_in_the_events_of_fieldgate() -> None:
    server = PlaceServer([feature("7-1"), feature("7-3", None)], [feature("8-2", None)])
    assert await server.read() == {1: (18.5, 15), 3: (18.5, 15)}
    assert server.asked == ["1,2", "2"]


async def test_other_servers_are_not_asked() -> None:
    server = PlaceServer([feature("7-1")], is_fieldgate=False)
    assert await server.read() == {3: (18.5, 15)}
    assert server.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [
            1,
            None,
            {},
            feature(5),
            feature("7"),
            feature("7-"),
            feature("7-９"),
            feature("x-99999999999999"),
        ],
        [
            feature("7-1", {"type": "Point", "coordinates": ["a", "b"]}),
            feature("7-2", {"type": "Polygon"}),
        ],
        [feature("7-1", {"type": "Point", "coordinates": [181, 0]}), feature("7-2", [1, 2])],
    ],
)
async def test_nonsense_is_no_place(answer: list[Any]) -> None:
    server = PlaceServer(*[answer] * (MAX_REQUESTS + 5))
    assert await server.read() == {3: (18.5, 15)}
    assert len(server.asked) <= MAX_REQUESTS
