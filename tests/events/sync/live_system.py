"""A stand-in for the live system, answering without a network."""

from typing import Any

import httpx

from tests.client.stand_ins.lenient_pages import GoPages, page_of


class LiveSystem:
    """A server like IFRC GO: falls back to English, does not list changes or deletions, and is sometimes busy."""

    def __init__(self, records: list[dict[str, Any]], max_page_size: int = 1000) -> None:
        self.records = records
        self.max_page_size = max_page_size
        self.failures: list[httpx.Response | None] = [
            httpx.Response(503, headers={"Retry-After": "0"}),
            httpx.Response(429),
            None,
        ]
        self.shrinks_at: int | None = None

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.respond)

    def respond(self, request: httpx.Request) -> httpx.Response:
        if self.failures:
            failure = self.failures.pop()
            if failure is None:
                raise httpx.ConnectError("unreachable")
            return failure
        language = request.headers["Accept-Language"]
        path = request.url.path.removeprefix("/api/v2/")
        if path == "country/":
            country = {"id": 123, "iso": "NP", "iso3": "NPL", "region": 2, "record_type": 1,
                       "name": {"fr": "Népal"}.get(language, "Nepal")}  # fmt: skip
            return self.page(request, [country])
        if path == "disaster_type/":
            return self.page(request, [{"id": 12, "name": "Flood", "summary": ""}])
        if path == "event/":
            if self.shrinks_at is not None and int(request.url.params["offset"]) >= self.shrinks_at:
                self.records, self.shrinks_at = self.records[3:], None
            matching = [
                each
                for each in self.records
                if request.url.params.get("id") in (None, str(each["id"]))
            ]
            return self.page(request, [self.localized(each, language) for each in matching])
        return self.detail(path, language)

    def detail(self, path: str, language: str) -> httpx.Response:
        id_ = path.removeprefix("event/").rstrip("/")
        for record in self.records:
            if str(record["id"]) == id_:
                return httpx.Response(200, json=self.localized(record, language))
        return httpx.Response(404, json={"error_code": 404})

    def localized(self, record: dict[str, Any], language: str) -> dict[str, Any]:
        def translated(value: Any) -> Any:
            return next(value[code] for code in (language, "en", "fr", "es", "ar") if code in value)

        return {
            name: translated(value) if name in ("name", "summary") else value
            for name, value in record.items()
        }

    def page(self, request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        target = request.url.raw_path.decode()
        return httpx.Response(
            200, json=page_of(found, target, GoPages, "goadmin.internal", self.max_page_size)
        )


def live_record(id_: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "name": {"es": "Inundación", "en": "Flood"},
        "summary": {"es": "Mucho"},
        "translation_module_original_language": "es",
        "disaster_start_date": "2026-01-01T00:00:00Z",
        "created_at": "2026-01-01T00:00:00.123456Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "countries": [{"id": 123, "name": "Nepal", "average_household_size": "4.60"}],
        "dtype": {"id": 12, "name": "Flood"},
        **fields,
    }
