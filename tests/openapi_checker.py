"""Validate every response in tests against the OpenAPI document: status, headers, media type and body."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import httpx
import msgspec
from jsonschema_rs import Draft202012Validator, Registry, ValidationError

from fieldgate.app import operations
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import Operation

REQUIRED_HEADERS = (
    "Vary",
    "Content-Language",
    "X-Request-ID",
    "X-Content-Type-Options",
    "Content-Security-Policy",
)
# Errors that need not be documented for each operation.
UNDOCUMENTED_STATUSES = {400, 401, 404, 405, 500}


class SchemaMismatch(AssertionError):
    """A response that does not match the OpenAPI document."""


class OpenAPIChecker:
    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._registry = Registry([("urn:openapi", document)])
        self._validators: dict[bytes, Draft202012Validator] = {}
        # Same order as the router: a literal segment before a parameter, a parameter with a suffix before one without.
        paths = sorted(
            document["paths"],
            key=lambda path: [
                (segment.startswith("{"), segment.endswith("}")) for segment in path.split("/")
            ],
        )
        self._paths = [(_pattern(path), document["paths"][path]) for path in paths]

    @classmethod
    def for_operations(cls, extra: Sequence[Operation]) -> "OpenAPIChecker":
        return _default_checker() if not extra else cls(_decode(openapi_document(extra)))

    async def check(self, response: httpx.Response) -> None:
        """An httpx response hook."""
        await response.aread()
        request = response.request
        where = f"{request.method} {request.url} -> {response.status_code}"
        for name in REQUIRED_HEADERS:
            if name not in response.headers:
                raise SchemaMismatch(f"{where}: no {name}")
        is_page_redirect = response.status_code == 303 and "text/html" in request.headers.get(
            "Accept", ""
        )
        if is_page_redirect or (request.method == "POST" and "form" in request.url.params):
            self._check_page(response, where)
            return
        item = next(
            (item for pattern, item in self._paths if pattern.fullmatch(request.url.path)), None
        )
        if item is not None and "Allow" not in response.headers:
            raise SchemaMismatch(f"{where}: no Allow")
        documented = self._documented_response(item, request.method, response.status_code, where)
        if documented is None or (item is None and "text/html" in response.headers["Content-Type"]):
            return
        for name, header in documented.get("headers", {}).items():
            resolved = self._resolve_reference(header)
            if name in response.headers:
                schema, text = resolved["schema"], response.headers[name]
                value = int(text) if schema["type"] == "integer" else text
                self._validate(schema, value, f"{where}: {name}")
            elif resolved.get("required") and (item is not None or name != "Allow"):
                raise SchemaMismatch(f"{where}: no {name}")
        if request.method == "HEAD" or response.status_code in (204, 304):
            if response.content:
                raise SchemaMismatch(f"{where}: unexpected body")
            return
        media_type = response.headers["Content-Type"].split(";")[0]
        content = documented["content"]
        if media_type not in content:
            raise SchemaMismatch(f"{where}: {media_type} is not documented")
        if media_type == "application/json" or media_type.endswith("+json"):
            self._validate(content[media_type]["schema"], response.json(), where)

    @staticmethod
    def _check_page(response: httpx.Response, where: str) -> None:
        """The response to a form is a redirect or a page, or a page redirects; these are not part of the API."""
        if response.status_code != 303 and not response.headers.get("Content-Type", "").startswith(
            "text/html"
        ):
            raise SchemaMismatch(f"{where}: a form is answered by a page or a redirect")
        if response.headers.get("Cache-Control") != "no-store":
            raise SchemaMismatch(f"{where}: the response to a form must not be stored")

    def _documented_response(
        self, item: dict[str, Any] | None, method: str, status: int, where: str
    ) -> dict[str, Any] | None:
        error_response: dict[str, Any] | None = self.document["components"]["responses"].get(
            str(status)
        )
        if item is None:
            if status >= 400 and error_response is None:
                raise SchemaMismatch(f"{where}: status is not documented anywhere")
            return error_response
        if method == "OPTIONS":
            return None if status == 200 else error_response
        operation = item.get("get" if method == "HEAD" else method.lower())
        if operation is None:
            if status not in UNDOCUMENTED_STATUSES | {406}:
                raise SchemaMismatch(f"{where}: the method is not documented")
            return error_response
        if str(status) not in operation["responses"] and status not in (500,):
            raise SchemaMismatch(f"{where}: the status is not documented")
        return self._resolve_reference(operation["responses"].get(str(status), error_response))

    def _resolve_reference(self, node: dict[str, Any]) -> dict[str, Any]:
        reference = node.get("$ref")
        if reference is None:
            return node
        found: Any = self.document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return dict(found)

    def _validate(self, schema: dict[str, Any], value: Any, where: str) -> None:
        text = msgspec.json.encode(schema).replace(b'"#/', b'"urn:openapi#/')
        if text not in self._validators:
            self._validators[text] = Draft202012Validator(
                msgspec.json.decode(text), registry=self._registry, validate_formats=True
            )
        try:
            self._validators[text].validate(value)
        except ValidationError as error:
            raise SchemaMismatch(f"{where}: {error.message}") from None


def openapi_document(extra: Sequence[Operation]) -> OpenAPIDocument:
    """The document of the service. It takes longer to make than the rest of a service, and tests start thousands."""
    return _default_document() if not extra else OpenAPIDocument([*operations(), *extra])


@cache
def _default_document() -> OpenAPIDocument:
    return OpenAPIDocument(operations())


@cache
def _default_checker() -> OpenAPIChecker:
    """The checker of the service without extra operations, which nearly every test uses."""
    return OpenAPIChecker(_decode(_default_document()))


def _decode(document: OpenAPIDocument) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(document.as_json("http://127.0.0.1:8000"))
    return decoded


def _pattern(path: str) -> re.Pattern[str]:
    bare = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path.rstrip("/")))
    return re.compile(bare + r"(\.json)?/?")
