"""A stand-in for the list of events of a server, with a clock of its own."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
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
    """Events, newest first. Every request takes a second."""

    def __init__(self, *, is_fieldgate: bool = True) -> None:
        self.records: dict[int, dict[str, Any]] = {}
        self.deletions: dict[int, datetime] = {}
        self.clock = START
        self.is_fieldgate = is_fieldgate

    def put(self, id_: int, dtype: int = FLOOD) -> None:
        self.records[id_] = {"id": id_, "dtype": {"id": dtype}, "updated_at": self.clock}

    def delete(self, id_: int) -> None:
        del self.records[id_]
        self.deletions[id_] = self.clock

    def matching(self, **filters: str) -> list[dict[str, Any]]:
        """The records of the list, in its order."""
        found = sorted(self.records.values(), key=lambda each: -int(each["id"]))
        if "dtype" in filters:
            found = [each for each in found if str(each["dtype"]["id"]) == filters["dtype"]]
        if self.is_fieldgate and "updated_at__gte" in filters:
            found = [
                each
                for each in found
                if each["updated_at"] >= datetime.fromisoformat(filters["updated_at__gte"])
            ]
        return found

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.clock += timedelta(seconds=1)
        filters = dict(request.url.params)
        found = self.matching(**filters)
        if request.url.path == "/api/v2/event/deleted/":
            since = datetime.fromisoformat(filters["since"])
            found = [
                {"id": id_, "deleted_at": at} for id_, at in self.deletions.items() if at >= since
            ]
        body = {"count": len(found), "next": None, "previous": None, "results": found}
        headers = {
            "Date": format_datetime(self.clock, usegmt=True),
            "Content-Type": "application/json",
        }
        if self.is_fieldgate:
            headers["Fieldgate-Data-Version"] = "1"
        return httpx.Response(200, content=msgspec.json.encode(body), headers=headers)

    def client(self, **options: Any) -> AsyncClient:
        connection = ConnectionOptions(
            transport=httpx.MockTransport(self.answer), retries=RetryPolicy(attempts=1)
        )
        return AsyncClient(SERVER, options=connection, **options)
