"""Errors of the real server become exceptions with status, message, fields and request id."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from fieldgate_client import (
    FieldgateError,
    InvalidRequest,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RequestFailed,
)
from fieldgate_client.errors import parse_error_body, request_failed

from tests.client.fieldgate_service import ClientService
from tests.conftest import StartService


@pytest.fixture
async def site(start: StartService) -> AsyncIterator[ClientService]:
    async with start(max_upload=2000) as service:
        yield ClientService(service)


def check(error: RequestFailed, status: int) -> None:
    assert error.status == status
    assert error.request_id
    assert f"(status {status}, request {error.request_id})" in str(error)
    assert error.message in str(error)


async def test_refusals(site: ClientService) -> None:
    token = await site.user("amina")
    async with site.client("wrong") as client:
        with pytest.raises(NotAuthenticated) as unknown:
            await client.assets().first()
        check(unknown.value, 401)
        assert "wrong" not in str(unknown.value)
    async with site.client(token) as client:
        with pytest.raises(NotAllowed) as forbidden:
            await client.get("users/")
        check(forbidden.value, 403)
        with pytest.raises(NotFound) as missing:
            await client.get("event/99/")
        check(missing.value, 404)
        with pytest.raises(InvalidRequest) as invalid:
            await client.events(regions__in="north", ordering="colour").first()
        check(invalid.value, 400)
        assert set(invalid.value.fields) == {"regions__in", "ordering"}
        assert all(
            isinstance(text, str) for texts in invalid.value.fields.values() for text in texts
        )
    async with site.client(token, language="ar") as client:
        with pytest.raises(InvalidRequest) as arabic:
            await client.events(ordering="colour").first()
        assert arabic.value.message != invalid.value.message


@pytest.mark.parametrize(
    ("body", "content_type", "message", "fields"),
    [
        (b'{"detail": "No."}', "application/json", "No.", {}),
        (b'{"error": "Server Error (500)"}', "application/json", "Server Error (500)", {}),
        (b'{"user": "text"}', "application/json", "user: text", {"user": ["text"]}),
        (b'{"a": ["x", "y"]}', "application/json", "a: x y", {"a": ["x", "y"]}),
        (b'{"b": {"c": 1}}', "application/json", 'b: {"c":1}', {"b": ['{"c":1}']}),
        (b'{"errors": {"non_field_errors": ["GO"]}}', "application/json", "GO", {"non_field_errors": ["GO"]}),
        (b'["one", "two"]', "application/json", "one two", {}),
        (b"Resource not found (404)", "text/html; charset=utf-8", "Resource not found (404)", {}),
        (b"<!doctype html><p>No</p>", "text/html", "", {}),
        (b'{"detail": "\\u001b[2Jgone\\nnext"}', "application/json", "gone next", {}),
        (b"\xff\xfe\x00", "text/plain", "\ufffd\ufffd", {}),
        (b"[" * 100_000, "application/json", "[" * 500, {}),
    ],
)  # fmt: skip
def test_error_bodies(body: bytes, content_type: str, message: str, fields: dict[str, Any]) -> None:
    assert parse_error_body(body, content_type) == (message, fields)


def test_an_error_without_a_text() -> None:
    error = request_failed(
        502, b"<html>", {"content-type": "text/html", "x-request-id": "r\x1b[2J1"}, "https://x/"
    )
    assert str(error) == "The server answered: Bad Gateway. (status 502, request r1)"
    assert request_failed(599, b"", {}, "").message == "The server answered an error."
    assert str(FieldgateError("plain")) == "plain"
