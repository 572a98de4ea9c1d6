"""A server like IFRC GO: default page 50, no maximum, nothing refused, links with http."""

from collections.abc import Callable
from typing import Any

from tests.client.stand_ins.lenient_pages import GoPages, page_of
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)
from tests.events.sync.go_server import (
    FLOOD,
    LISTED_COUNTRIES,
    go_error,
    go_event,
    list_record,
    mini_record,
)

TOKEN = "f0e1d2c3"
# Behind a proxy that ends TLS, links have the scheme and host that the inner server sees.
INNER_HOST = "goadmin.internal:8000"
REGIONS = [
    {
        "name": id_,
        "id": id_,
        "region_name": name,
        "bbox": None,
        "label": "",
        "translation_module_original_language": "en",
    }
    for id_, name in enumerate(
        ("Africa", "Americas", "Asia Pacific", "Europe", "Middle East & North Africa")
    )
]


class GoStandIn:
    """Holds the events; tests change `events` and the attributes at any time."""

    def __init__(self, number_of_events: int) -> None:
        self.events = {id_: go_event(id_) for id_ in range(1, number_of_events + 1)}
        self.server = LoopbackServer(self.respond)

    def respond(self, request: ReceivedRequest) -> Reply:
        if request.method != "GET":
            return error_reply(405, f'Method "{request.method}" not allowed.')
        authorization = request.headers.get("authorization", "")
        if authorization.startswith("Token ") and authorization != f"Token {TOKEN}":
            return error_reply(401, "Invalid token.", code=4012)
        if not request.path.endswith("/"):
            return Reply(
                301,
                headers=(
                    ("Location", request.target.replace(request.path, request.path + "/", 1)),
                ),
            )
        language = request.headers.get("accept-language", "en")[:2]
        if request.query.get("format", "json") != "json":
            return error_reply(404, "Resource not found")
        match request.path.removeprefix("/api/v2/"):
            case "event/":
                return self._events(request, language, list_record)
            case "event/mini/":
                return self._events(request, language, mini_record)
            case "country/":
                return json_reply(page_of(LISTED_COUNTRIES, request.target, GoPages, INNER_HOST))
            case "region/":
                return json_reply(page_of(REGIONS, request.target, GoPages, INNER_HOST))
            case "disaster_type/":
                return json_reply(page_of([FLOOD], request.target, GoPages, INNER_HOST))
        return Reply(404, b"<!doctype html><title>Not Found</title>", content_type="text/html")

    def _events(
        self, request: ReceivedRequest, language: str, to_record: Callable[..., Any]
    ) -> Reply:
        query = request.query
        found = [
            event
            for event in self.events.values()
            if event["visibility"] == 3 and event["parent_event"] is None
        ]
        for name in ("countries__in", "regions__in"):
            wanted = [part.strip() for part in query.get(name, "").split(",") if part.strip()]
            if not all(part.isdigit() for part in wanted):
                bad = next(part for part in wanted if not part.isdigit())
                return error_reply(
                    500,
                    "Something unexpected has occured.",
                    f"Field 'id' expected a number but got '{bad}'.",
                )
            if wanted and name == "countries__in":
                found = [event for event in found if {*map(int, wanted)} & {*event["countries"]}]
        found.sort(key=lambda event: event["id"])
        found.sort(key=lambda event: event["disaster_start_date"], reverse=True)
        records = [to_record(event, language) for event in found]
        return json_reply(
            page_of(records, request.target, GoPages, INNER_HOST), Content_Language=language
        )


def error_reply(status: int, text: str, internal: str = "", code: int = 0) -> Reply:
    return json_reply(go_error(code or status, text, internal), status)
