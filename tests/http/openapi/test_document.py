"""The OpenAPI document is complete and valid. (tests/test_fuzzing.py checks that it is true.)"""

from typing import Any

import msgspec
import pytest
import yaml
from jsonschema import Draft202012Validator

from fieldgate.app import operations
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import get
from fieldgate.i18n.messages import Message
from tests.conftest import BASE_URL, Service


def document() -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(OpenAPIDocument(operations()).as_json(BASE_URL))
    return decoded


def test_every_operation_is_documented() -> None:
    described = {(path, method.upper()) for path, item in document()["paths"].items() for method in item}
    assert described == {(each.route.path, each.route.method) for each in operations() if each.description.in_schema}
    hidden = {each.route.path for each in operations() if not each.description.in_schema}
    pages = {"/", "/login/", "/logout/", "/language/{code}/", "/favicon.ico", "/static/{release}/{name}"}
    other_paths = {f"/api/v2/assets/{{uid}}/{{name}}.{suffix}" for suffix in ("xls", "xlsx", "xml")}
    assert hidden == pages | other_paths


def test_everything_has_a_description() -> None:
    described = document()
    for path, item in described["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            for parameter in operation["parameters"]:
                assert parameter.get("description") or parameter["in"] == "path", f"{where}: {parameter['name']}"
            for status, response in operation["responses"].items():
                if "$ref" in response:
                    response = described["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
                assert response["description"], f"{where}: {status}"
    for schema in described["components"]["schemas"].values():
        for name, field in schema.get("properties", {}).items():
            assert field.get("description") or name in ("detail", "status", "version"), name


def test_examples_match_their_schemas() -> None:
    described = document()
    text = msgspec.json.encode(described)
    for path, item in described["paths"].items():
        for operation in item.values():
            for response in operation["responses"].values():
                content = response.get("content", {}).get("application/json")
                if content:
                    schema = {**content["schema"], "components": msgspec.json.decode(text)["components"]}
                    Draft202012Validator(schema).validate(content["example"])
                    assert content["example"] is not None, path
    for response in described["components"]["responses"].values():
        content = response["content"]["application/json"]
        schema = {**content["schema"], "components": described["components"]}
        Draft202012Validator(schema).validate(content["example"])


def test_type_without_a_schema_is_an_error() -> None:
    class Odd:
        pass

    @get("/odd/", response=Odd, title=Message("x"), description=Message("x"), tag="x")
    async def odd() -> None: ...

    with pytest.raises(TypeError, match="is not supported"):
        OpenAPIDocument([odd])


def test_operation_ids_are_unique_and_api_paths_end_with_a_slash() -> None:
    described = document()
    ids = [operation["operationId"] for item in described["paths"].values() for operation in item.values()]
    assert len(set(ids)) == len(ids)
    assert all(
        path.endswith(("/", ".xls", ".xlsx", ".xml")) for path in described["paths"] if path.startswith("/api/v2/")
    )


async def test_json_and_yaml_documents_are_equal(service: Service) -> None:
    as_json = (await service.get("/api-docs/openapi.json")).json()
    answer = await service.get("/api-docs/openapi.yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.safe_load(answer.text) == as_json
    assert as_json["servers"][0]["url"] == BASE_URL
