"""Schemas of bodies: one for each media type, also for bodies that operations share."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import Operation, patch, post
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.i18n.messages import Message
from tests.conftest import BASE_URL


class Upload(msgspec.Struct, frozen=True):
    file: Annotated[UploadedFile | None, Meta(description="A file.")] = None
    note: Annotated[Annotated[str, Meta(max_length=9)] | None, Meta(description="A note.")] = None
    size: Annotated[int | None, Meta(description="A number.")] = 3
    parts: Annotated[dict[str, int] | list[int] | None, Meta(description="Nested.")] = None


class UploadForm(msgspec.Struct, frozen=True):
    note: str = ""


def operations_with(kind: Any) -> list[Operation]:
    options: Any = {"title": Message("x"), "description": Message("x"), "tag": "x", "response": dict[str, Any]}

    @post("/first/", **options)
    async def first(body: kind) -> None: ...

    @patch("/second/", **options)
    async def second(body: kind) -> None: ...

    return [first, second]


def described(operations: list[Operation]) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(OpenAPIDocument(operations).as_json(BASE_URL))
    return decoded


def test_fields_in_each_media_type() -> None:
    schemas = described(operations_with(Upload))["components"]["schemas"]
    assert schemas["Upload"]["properties"].keys() == {"note", "size", "parts"}
    assert schemas["Upload"]["properties"]["size"]["default"] == 3
    assert {"type": "null"} in schemas["Upload"]["properties"]["note"]["anyOf"]
    form, multipart = schemas["UploadForm"]["properties"], schemas["UploadMultipart"]["properties"]
    assert form["note"] == {"type": "string", "maxLength": 9, "description": "A note.", "examples": [""]}
    assert form["size"] == {"type": "integer", "default": 3, "description": "A number."}
    assert (form["parts"]["type"], form["parts"]["contentMediaType"]) == ("string", "application/json")
    assert [each["type"] for each in form["parts"]["contentSchema"]["anyOf"]] == ["object", "array"]
    assert multipart == {**form, "file": multipart["file"]}
    assert multipart["file"]["format"] == "binary"


def test_operations_can_share_a_body() -> None:
    paths = described(operations_with(Upload))["paths"]
    assert paths["/first/"]["post"]["requestBody"] == paths["/second/"]["patch"]["requestBody"]


def test_names_must_not_collide() -> None:
    with pytest.raises(ValueError, match="UploadForm is the name of a struct"):
        OpenAPIDocument([*operations_with(Upload), *operations_with(UploadForm)]).as_json("")
