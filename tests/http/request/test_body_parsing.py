"""JSON array bodies, DELETE with a body, and previews."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from fieldgate.http.links import Link
from fieldgate.http.operations import Created, PreviewResult, Routes
from fieldgate.http.request.body_parsing import JSONArray
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from tests.conftest import StartService
from tests.openapi_checker import OpenAPIChecker

routes = Routes(tag="x", scope=Scope.NONE)
TEXT: dict[str, Any] = {"title": Message("x"), "description": Message("x")}


class Item(msgspec.Struct):
    name: Annotated[str, Meta(description="A name.")]


class Plan(msgspec.Struct):
    would: Annotated[str, Meta(description="What would be done.")]


class Dry(msgspec.Struct):
    dry_run: Annotated[bool, Meta(description="Only report what would happen.")] = False


@routes.post("/items/", response=list[Item], status=200, body_schema=list[Item], **TEXT)
async def take(body: JSONArray) -> list[Item]:
    return [Item(each["name"]) for each in body]


@routes.delete("/items/", alternate_response=Plan, **TEXT)
async def drop(body: Item, query: Dry) -> PreviewResult | None:
    return PreviewResult(Plan(f"drop {body.name}")) if query.dry_run else None


@routes.post("/made/", response=Item, alternate_response=Plan, **TEXT)
async def make(body: Item, query: Dry) -> Created | PreviewResult:
    return (
        PreviewResult(Plan(f"make {body.name}"))
        if query.dry_run
        else Created(Item(body.name), Link("/made/1/"))
    )


async def test_json_array_body(start: StartService) -> None:
    async with start(*routes) as service:
        assert (await service.client.post("/items/", json=[{"name": "a"}])).json() == [
            {"name": "a"}
        ]
        assert (await service.client.post("/items/", json=[])).json() == []
        large = [{"name": "a" * 50_000}]
        assert (await service.client.post("/items/", json=large)).json() == large
        ignored = await service.client.post(
            "/items/", json=[{"name": "a", "nmae": 1}, {"name": "b", "x": 1}]
        )
        assert ignored.headers["Fieldgate-Ignored"] == "nmae, x"
        strict = {"Prefer": "handling=strict"}
        refused = await service.client.post(
            "/items/", json=[{"name": "a", "nmae": 1}], headers=strict
        )
        assert refused.json() == {"nmae": ["There is no such field. Did you mean name?"]}
        sent = {"Content-Type": "application/json"}
        for body in (b"", b"{}", b"null"):
            answer = await service.client.post("/items/", content=body, headers=sent)
            assert answer.json() == {"detail": "The body must be a JSON array, a list of objects."}
        deep = await service.client.post("/items/", content=b"[" * 60 + b"]" * 60, headers=sent)
        assert deep.json() == {
            "detail": "The body is nested too deeply; at most 50 levels are allowed."
        }
        assert (await service.client.post("/items/", data={"name": "a"})).status_code == 415
        described = (await service.client.options("/items/")).json()
        assert described["parses"] == [
            "application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ]


async def test_number_of_reported_unknown_fields_is_limited(start: StartService) -> None:
    large_body = msgspec.structs.replace(
        take, body=msgspec.structs.replace(take.body, max_body=3_000_000)
    )
    body = [{"name": "a", **{f"x{number}": 1 for number in range(10_000)}, "y" * 100_000: 1}]
    async with start(large_body) as service:
        strict = await service.client.post(
            "/items/", json=body, headers={"Prefer": "handling=strict"}
        )
        assert (strict.status_code, len(strict.json())) == (400, 100)
        lenient = await service.client.post("/items/", json=body)
        assert len(lenient.headers["Fieldgate-Ignored"].split(", ")) == 20
        long = await service.client.post(
            "/items/", json=[{"y" * 100_000: 1}], headers={"Prefer": "handling=strict"}
        )
        assert len(long.content) < 1_000


async def test_large_array_is_parsed_in_a_thread(start: StartService) -> None:
    large_body = msgspec.structs.replace(
        take, body=msgspec.structs.replace(take.body, max_body=3_000_000)
    )
    async with start(large_body) as service:
        large = [{"name": "a" * 1_000}] * 1_500
        assert (await service.client.post("/items/", json=large)).json() == large


async def test_delete_with_a_body(start: StartService) -> None:
    async with start(*routes) as service:
        gone = await service.request("DELETE", "/items/", json={"name": "a"})
        assert (gone.status_code, gone.content) == (204, b"")
        assert (await service.request("DELETE", "/items/")).json() == {
            "name": ["This field is required."]
        }


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/items/"), ("POST", "/made/")])
async def test_preview_result_is_status_200(start: StartService, method: str, path: str) -> None:
    async with start(*routes) as service:
        answer = await service.request(method, f"{path}?dry_run=true", json={"name": "a"})
        assert (answer.status_code, list(answer.json())) == (200, ["would"])
        assert answer.headers["Cache-Control"] == "no-store"
        page = await service.request(method, f"{path}?dry_run=true&format=api", json={"name": "a"})
        assert (page.status_code, "would" in page.text) == (200, True)


def test_bodies_and_previews_are_documented() -> None:
    paths = OpenAPIChecker.for_operations(list(routes)).document["paths"]
    body = paths["/items/"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"type": "array", "items": {"$ref": "#/components/schemas/Item"}}
    assert "requestBody" in paths["/items/"]["delete"]
    for each in (paths["/items/"]["delete"], paths["/made/"]["post"]):
        content = each["responses"]["200"]["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/Plan"}
    assert "201" in paths["/made/"]["post"]["responses"]
    assert "204" in paths["/items/"]["delete"]["responses"]


def test_form_encoding_of_lists_is_documented() -> None:
    schemas = OpenAPIChecker.for_operations(()).document["components"]["schemas"]
    for name in ("AssignmentBodyForm", "AssignmentBodyMultipart"):
        field = schemas[name]["properties"]["partial_permissions"]
        assert (field["type"], field["contentMediaType"]) == ("string", "application/json")
        assert field["contentSchema"]["type"] == "array"
    assert "contentSchema" not in schemas["AssignmentBody"]["properties"]["partial_permissions"]
