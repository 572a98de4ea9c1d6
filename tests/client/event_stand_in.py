"""A stand-in for the lists of events of a server. Tests change its clock and data, also between two requests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
from fieldgate_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.retries import RetryPolicy

SERVER = "http://events.example"
START = datetime(2026, 3, 1, tzinfo=UTC)
FLOOD, CYCLONE = 12, 4


class EventStandIn:
    """Records are in the order of `rank`, newest first. `on_request` is called before each answer."""

    def __init__(self, *, is_fieldgate: bool = True) -> None:
        self.records: dict[int, dict[str, Any]] = {}
        self.deletions: dict[int, datetime] = {}
        self.clock = START
        self.version = 0
        self.reference_version = 0
        self.is_fieldgate = is_fieldgate
        self.requests: list[httpx.URL] = []
        self.on_request: Callable[[int], None] = lambda _: None

    def put(self, id_: int, dtype: int = FLOOD, *, updated_at: datetime | None = None, **fields: Any) -> None:
        self.version += 1
        self.records[id_] = {
            "id": id_,
            "dtype": {"id": dtype},
            "updated_at": (updated_at or self.clock).isoformat().replace("+00:00", "Z"),
            "num_affected": self.version,  # another one with every change
            **fields,
        }
        self.deletions.pop(id_, None)

    def delete(self, id_: int, *, is_recorded: bool = True) -> None:
        self.version += 1
        if self.records.pop(id_, None) and is_recorded:
            self.deletions[id_] = self.clock

    def matching(self, **filters: str) -> list[dict[str, Any]]:
        """The records of a list, in its order."""
        found = [each for each in self.records.values() if str(each["dtype"]["id"]) == filters.get("dtype", "")]
        found = found if "dtype" in filters else [*self.records.values()]
        if self.is_fieldgate:
            if since := filters.get("updated_at__gte"):
                limit = datetime.fromisoformat(since)
                found = [each for each in found if datetime.fromisoformat(each["updated_at"]) >= limit]
            if ids := filters.get("id__in"):
                found = [each for each in found if str(each["id"]) in ids.split(",")]
            if filters.get("ordering") == "id":
                return sorted(found, key=lambda each: int(each["id"]))
        return sorted(found, key=lambda each: (-int(each.get("rank", 0)), -int(each["id"])))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request.url)
        self.on_request(len(self.requests))
        self.clock += timedelta(seconds=1)
        filters = dict(request.url.params)
        name = request.url.path.removeprefix("/api/v2/")
        if name == "event/summary/" and self.is_fieldgate:
            numbers = [each["num_affected"] for each in self.matching(**filters)]
            totals = {"count": len(numbers), "num_affected": sum(numbers), "events_with_num_affected": len(numbers)}
            return httpx.Response(200, json={**totals, "periods": []})
        if name == "event/deleted/" and self.is_fieldgate:
            since = datetime.fromisoformat(filters["since"])
            found = [{"id": id_, "deleted_at": at} for id_, at in self.deletions.items() if at >= since]
        elif name == "country/" and self.is_fieldgate:
            found = []
        elif name in ("event/", "event/mini/"):
            found = self.matching(**filters)
            if name == "event/mini/":
                found = [{"id": each["id"]} for each in found]
        else:
            return httpx.Response(404, json={"detail": "Not found."})
        offset, limit = int(filters["offset"]), min(int(filters["limit"]), 1000)
        following = request.url.copy_merge_params({"offset": offset + limit, "limit": limit})
        body = {
            "count": len(found),
            "next": str(following) if offset + limit < len(found) else None,
            "previous": None,
            "results": found[offset : offset + limit],
        }
        headers = {"Date": format_datetime(self.clock, usegmt=True), "Content-Type": "application/json"}
        if self.is_fieldgate:
            version = self.reference_version if name == "country/" else (self.version, self.reference_version)
            headers["Fieldgate-Data-Version"] = str(version)
        return httpx.Response(200, content=msgspec.json.encode(body), headers=headers)

    def client(self, **options: Any) -> AsyncClient:
        connection = ConnectionOptions(transport=httpx.MockTransport(self.answer), retries=RetryPolicy(attempts=1))
        return AsyncClient(SERVER, options=connection, **options)


def read_records(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def by_id(records: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    found = {each["id"]: each for each in records}
    assert len(found) == len(records), "each record once"
    return found
