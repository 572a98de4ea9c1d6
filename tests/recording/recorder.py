"""Send requests as one of the callers, and write down what was answered."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx

from tests.recording.normalisation import Normaliser

TIMEOUT_SECONDS = 60
MAX_CONDITIONAL_ATTEMPTS = 10
SHOWN_BODY_CHARS = 120
RANDOM_FIELDS = frozenset({"csrf_token", "key", "id"})  # of page forms
HEADERS = {"Accept-Encoding": "identity", "User-Agent": "recording"}


class Recorder:
    """One connection, kept open. Requests are sent one after the other."""

    def __init__(
        self, base_url: str, file: Path, *, only: str = "", is_quick: bool = False
    ) -> None:
        """`only`: leave out operations whose name does not have this text. `is_quick`: send each in fewer ways."""
        self.client = httpx.Client(base_url=base_url, timeout=TIMEOUT_SECONDS, headers=HEADERS)
        self.normaliser = Normaliser()
        self.callers: dict[str, dict[str, str]] = {"anonymous": {}}
        self.count = 0
        self.is_quick = is_quick
        self._only = only
        self._file = gzip.open(file, "wt", compresslevel=1)  # noqa: SIM115 -- closed in __exit__
        self._names: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.client.close()

    def send(
        self,
        caller: str,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        **body: Any,
    ) -> Any:
        """Send a request that must succeed, without a record of it; return the JSON."""
        response = self._request(caller, method, path, headers or {}, body)
        if response.is_error:
            raise SystemExit(
                f"{method} {path} as {caller}: {response.status_code} {response.text[:1000]}"
            )
        return (
            response.json() if response.headers.get("content-type") == "application/json" else None
        )

    def skips(self, method: str, template: str) -> bool:
        return self._only not in f"{method} {template}"

    def record(
        self,
        caller: str,
        method: str,
        template: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        note: str = "",
        **body: Any,
    ) -> httpx.Response:
        """Send a request and write down the answer. Its name is the same in each recording of the same requests."""
        headers = headers or {}
        response = self._request(caller, method, path, headers, body)
        shown = f"{_shown_headers(headers)} {note} {_shown(body, self.normaliser)}"
        name = f"{method} {path} as {caller} {shown}"
        self._write(name, method, template, response)
        return response

    def record_conditional(
        self, caller: str, template: str, path: str, headers: Mapping[str, str]
    ) -> None:
        """Record a GET with the ETag that the same request was just given.

        A page can show a time, such as "5 seconds ago". If the page changed in between, both are sent again.
        """
        for _ in range(MAX_CONDITIONAL_ATTEMPTS):
            etag = self._request(caller, "GET", path, headers, {}).headers["etag"]
            conditional = {**headers, "If-None-Match": etag}
            response = self._request(caller, "GET", path, conditional, {})
            has_changed = response.headers.get("etag") != etag
            if not has_changed:
                break
        name = f"GET {path} as {caller} {_shown_headers(conditional)}"
        self._write(name, "GET", template, response)

    def _write(self, name: str, method: str, template: str, response: httpx.Response) -> None:
        name = " ".join(self.normaliser.text(name).split())
        self._names[name] += 1
        exchange = {
            "name": name if self._names[name] == 1 else f"{name} #{self._names[name]}",
            "method": method,
            "template": template,
            "status": response.status_code,
            "headers": self.normaliser.headers(response.headers),
            "body": self.normaliser.body(response),
        }
        self._file.write(json.dumps(exchange, ensure_ascii=False) + "\n")
        self.count += 1

    def _request(
        self,
        caller: str,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
    ) -> httpx.Response:
        self.client.cookies.clear()
        return self.client.request(
            method, path, headers={**self.callers[caller], **headers}, **body
        )


def _shown_headers(headers: Mapping[str, str]) -> str:
    return " ".join(f"{name}: {value}" for name, value in headers.items() if name != "Cookie")


def _shown(body: Mapping[str, Any], normaliser: Normaliser) -> str:
    """The body in short, for the name of the request."""
    parts = []
    for kind, value in body.items():
        if kind == "files":
            parts.append("files" if value else "")
        elif kind == "data":
            fields = {name: item for name, item in value.items() if name not in RANDOM_FIELDS}
            parts.append(f"data={normaliser.text(json.dumps(fields))[:SHOWN_BODY_CHARS]}")
        else:
            text = json.dumps(value, ensure_ascii=False, default=repr)
            parts.append(f"{kind}={normaliser.text(text)[:SHOWN_BODY_CHARS]}")
    return " ".join(parts)
