"""A server like IFRC GO on a loopback port: its lists, fallbacks, visibility, merged events and errors."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.client.stand_ins.lenient_pages import GoPages, page_of

START = datetime(2026, 1, 1, tzinfo=UTC)
FALLBACKS = ("en", "fr", "es", "ar")
TOKEN = "f0e1d2c3"
COUNTRIES = {
    number: {"id": number, "iso": iso, "iso3": iso3, "region": region, "record_type": 1, "name": name,
             "record_type_display": "Country", "independent": True, "is_deprecated": False, "fdrs": None,
             "average_household_size": "4.60", "society_name": "", "translation_module_original_language": "en"}
    for number, iso, iso3, region, name in ((123, "NP", "NPL", 2, "Nepal"), (84, "IN", "IND", 2, "India"))
}  # fmt: skip
# The list of countries has more fields than countries in events have, and lacks one.
LISTED_COUNTRIES: list[dict[str, Any]] = [
    {**{name: value for name, value in country.items() if name != "average_household_size"},
     "society_url": "", "key_priorities": None, "inform_score": "6.40", "url_ifrc": "", "bbox": None,
     "centroid": {"type": "Point", "coordinates": [84.0, 28.2]}, "links": [], "address_1": None, "address_2": None,
     "city_code": None, "phone": None, "website": None, "emails": None, "overview": None}
    for country in COUNTRIES.values()
]  # fmt: skip
FLOOD = {"id": 12, "name": "Flood", "summary": "", "translation_module_original_language": "en"}
DETAIL_FIELDS = (
    "visibility", "districts", "contacts", "key_figures", "hide_attached_field_reports", "hide_field_report_map",
    "featured_documents", "links", "countries_for_preview", "response_activity_count",
)  # fmt: skip
MINI_FIELDS = (
    "id", "slug", "dtype", "auto_generated_source", "emergency_response_contact_email", "countries_for_preview",
    "name", "translation_module_original_language",
)  # fmt: skip
TRANSLATED = ("name", "summary", "description", "deck", "title")


def go_event(id_: int, **fields: Any) -> dict[str, Any]:
    """An event as that server stores it: texts by language, countries by id."""
    timestamp = (START + timedelta(days=id_)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "dtype": 12, "countries": [123], "num_affected": None, "ifrc_severity_level": 0,
        "ifrc_severity_level_update_date": None, "glide": "", "disaster_start_date": timestamp,
        "created_at": timestamp, "auto_generated": False, "appeals": [], "is_featured": False,
        "is_featured_region": False, "field_reports": [], "updated_at": timestamp, "id": id_, "slug": None,
        "parent_event": None, "tab_one_title": "Additional Information", "tab_two_title": None,
        "tab_three_title": None, "emergency_response_contact_email": None, "active_deployments": 0,
        "name": {"en": f"Flood {id_}", "fr": f"Inondation {id_}"}, "summary": {"en": "Much water"},
        "translation_module_original_language": "en", "auto_generated_source": None, "visibility": 3,
        "districts": [], "contacts": [], "key_figures": [], "hide_attached_field_reports": False,
        "hide_field_report_map": False, "featured_documents": [], "links": [], "countries_for_preview": [],
        "response_activity_count": 0,
        **fields,
    }  # fmt: skip


class GoServer:
    """Holds the events. `requests` has the path and query of every request; tests change `events` at any time."""

    def __init__(self, events: list[dict[str, Any]], max_page_size: int = 1000) -> None:
        self.events = {event["id"]: event for event in events}
        self.max_page_size = max_page_size
        self.hidden_from_lists: set[int] = set()
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda target: None  # called with each path and query
        self.statuses: dict[str, list[int]] = {}  # by path: errors to answer before the response
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> "GoServer":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def detail_requests(self) -> list[int]:
        """The ids of the detail records that were requested."""
        parts = [
            urlsplit(target).path.removeprefix("/api/v2/event/").rstrip("/")
            for target in self.requests
        ]
        return [int(part) for part in parts if part.isdigit()]

    def answer(self, target: str, language: str, authorization: str) -> tuple[int, Any]:
        with self.lock:
            self.requests.append(target)
            self.before(target)
            url = urlsplit(target)
            path = url.path.removeprefix("/api/v2/")
            if self.statuses.get(path):
                status = self.statuses[path].pop(0)
                return status, go_error(status, "Something unexpected has occured.")
            if authorization.startswith("Token ") and authorization != f"Token {TOKEN}":
                return 401, go_error(4012, "Invalid token.")
            return self._respond(target, language, has_token=authorization.startswith("Token "))

    def _respond(self, target: str, language: str, *, has_token: bool) -> tuple[int, Any]:
        url = urlsplit(target)
        path = url.path.removeprefix("/api/v2/")
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if path == "country/":
            return 200, self._page(LISTED_COUNTRIES, target)
        if path == "disaster_type/":
            return 200, self._page([FLOOD], target)
        levels = (1, 2, 3, 4) if has_token else (3,)
        visible = {
            id_: event for id_, event in self.events.items() if event["visibility"] in levels
        }
        if path in ("event/", "event/mini/"):
            listed = [
                event
                for event in visible.values()
                if event["parent_event"] is None
                and event["id"] not in self.hidden_from_lists
                and query.get("id") in (None, str(event["id"]))
            ]
            listed.sort(key=lambda event: event["id"])
            listed.sort(key=lambda event: event["disaster_start_date"], reverse=True)
            to_record = list_record if path == "event/" else mini_record
            return 200, self._page([to_record(event, language) for event in listed], target)
        id_ = path.removeprefix("event/").rstrip("/")
        if id_.isdigit() and int(id_) in visible:
            return 200, detail_record(visible[int(id_)], language)
        return 404, go_error(404, "Resource not found")

    def _page(self, found: list[dict[str, Any]], target: str) -> dict[str, Any]:
        return page_of(found, target, GoPages, "goadmin.internal", self.max_page_size)


def go_error(code: int, text: str, internal: str = "") -> dict[str, Any]:
    errors = {
        "non_field_errors": [text],
        **({"internal_non_field_errors": [internal]} if internal else {}),
    }
    return {"timestamp": "2026-05-20T14:26:09.123456Z", "error_code": code, "errors": errors}


def list_record(event: dict[str, Any], language: str) -> dict[str, Any]:
    hidden = (*DETAIL_FIELDS, "auto_generated_source")
    return localized({name: value for name, value in event.items() if name not in hidden}, language)


def detail_record(event: dict[str, Any], language: str) -> dict[str, Any]:
    record = localized(
        {name: value for name, value in event.items() if name != "auto_generated_source"}, language
    )
    return {**record, "dtype": event["dtype"]}


def mini_record(event: dict[str, Any], language: str) -> dict[str, Any]:
    return localized({name: event[name] for name in MINI_FIELDS}, language)


def localized(fields: dict[str, Any], language: str) -> dict[str, Any]:
    """A record in one language. Texts fall back to English, French, Spanish, Arabic, whatever the original is."""
    record: dict[str, Any] = {}
    for name, value in fields.items():
        if name in TRANSLATED and isinstance(value, dict):
            record[name] = next(
                (value[code] for code in (language, *FALLBACKS) if value.get(code)), ""
            )
        elif name in ("countries", "countries_for_preview"):
            record[name] = [COUNTRIES[id_] for id_ in value]
        elif name == "dtype":
            record[name] = None if value is None else FLOOD
        elif isinstance(value, list):
            record[name] = [localized(each, language) for each in value]
        else:
            record[name] = value
    return record


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that are stopped close their connections; that is no error."""


def _handler(server: GoServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            status, content = server.answer(
                self.path,
                self.headers.get("Accept-Language", "en"),
                self.headers.get("Authorization", ""),
            )
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler
