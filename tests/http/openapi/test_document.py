"""The OpenAPI document is complete and valid. (tests/test_fuzzing.py checks that it is true.)"""

from functools import cache
from typing import Any

import msgspec
import pytest
import yaml
from jsonschema_rs import Draft202012Validator

from fieldgate.app import operations
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.openapi.operation_objects import EXAMPLES
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from tests.conftest import BASE_URL, Service


@cache
def document() -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(OpenAPIDocument(operations()).as_json(BASE_URL))
    return decoded


def test_every_operation_is_documented() -> None:
    described = {
        (path, method.upper()) for path, item in document()["paths"].items() for method in item
    }
    assert described == {
        (each.route.path, each.route.method) for each in operations() if each.description.in_schema
    }
    hidden = {each.route.path for each in operations() if not each.description.in_schema}
    pages = {"/account/", "/invitation/{secret}/"}
    pages |= {
        "/",
        "/login/",
        "/login/{provider}/",
        "/login/{provider}/callback/",
        "/login/{provider}/logout/",
        "/logout/",
        "/docs/{name}/",
        "/language/{code}/",
        "/favicon.ico",
        "/static/{release}/{name}",
    }
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
                assert parameter.get("description") or parameter["in"] == "path", (
                    f"{where}: {parameter['name']}"
                )
            for status, response in operation["responses"].items():
                if "$ref" in response:
                    response = described["components"]["responses"][
                        response["$ref"].rsplit("/", 1)[1]
                    ]
                assert response["description"], f"{where}: {status}"
    for schema in described["components"]["schemas"].values():
        for name, field in schema.get("properties", {}).items():
            assert field.get("description") or name in ("detail", "status", "version"), name


def test_examples_match_their_schemas() -> None:
    described = document()
    validators: dict[bytes, Draft202012Validator] = {}  # each of them reads all components

    def check(content: dict[str, Any]) -> None:
        schema = {**content["schema"], "components": described["components"]}
        key = msgspec.json.encode(content["schema"])
        (validators.get(key) or validators.setdefault(key, Draft202012Validator(schema))).validate(
            content["example"]
        )

    for path, item in described["paths"].items():
        for operation in item.values():
            for response in operation["responses"].values():
                content = response.get("content", {}).get("application/json")
                if content:
                    check(content)
                    assert content["example"] is not None, path
    for response in described["components"]["responses"].values():
        check(response["content"]["application/json"])
    assert {name.removesuffix(" (preview)") for name in EXAMPLES} <= {
        each.name for each in operations()
    }


def test_statuses_that_follow_from_the_declaration() -> None:
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            expected = {"401", "503"}
            if "{" in path:
                expected.add("404")
            if "requestBody" in operation:
                expected |= {"408", "413", "415"}
            if method != "get" and path != "/get_auth_token":  # which works without a session
                expected.add("403")  # of a session without the CSRF token
            assert expected <= set(operation["responses"]), f"{method} {path}"


def test_type_without_a_schema_is_an_error() -> None:
    class Odd:
        pass

    @Routes(tag="x", scope=Scope.NONE).get(
        "/odd/", response=Odd, title=Message("x"), description=Message("x")
    )
    async def odd() -> None: ...

    with pytest.raises(TypeError, match="is not supported"):
        OpenAPIDocument([odd]).as_json("")


def test_operation_ids_are_unique_and_api_paths_end_with_a_slash() -> None:
    described = document()
    ids = [
        operation["operationId"]
        for item in described["paths"].values()
        for operation in item.values()
    ]
    assert len(set(ids)) == len(ids)
    assert all(
        path.endswith(("/", ".xls", ".xlsx", ".xml"))
        for path in described["paths"]
        if path.startswith("/api/v2/")
    )


async def test_json_and_yaml_documents_are_equal(service: Service) -> None:
    as_json = (await service.get("/api-docs/openapi.json")).json()
    answer = await service.get("/api-docs/openapi.yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.load(answer.text, yaml.CSafeLoader) == as_json
    assert as_json["servers"][0]["url"] == BASE_URL


@pytest.mark.parametrize(
    "base_url", ["http://[::1]:8000", "https://data.example.org/a%20b/c", "http://10.0.0.1"]
)
def test_yaml_has_the_base_url_of_the_request(base_url: str) -> None:
    prepared = OpenAPIDocument(operations())
    assert yaml.load(prepared.as_yaml(base_url), yaml.CSafeLoader) == msgspec.json.decode(
        prepared.as_json(base_url)
    )


def test_each_media_type_of_a_body_has_its_own_schema() -> None:
    described = document()
    content = described["paths"]["/api/v2/imports/"]["post"]["requestBody"]["content"]
    assert list(content) == [
        "multipart/form-data",
        "application/json",
        "application/x-www-form-urlencoded",
    ]
    multipart, as_json, form = (
        described["components"]["schemas"][each["schema"]["$ref"].rsplit("/", 1)[1]]["properties"]
        for each in content.values()
    )
    assert multipart["file"] == {
        "type": "string",
        "format": "binary",
        "contentMediaType": "application/octet-stream",
        "description": "The workbook, as a part of a multipart body.",
    }
    assert multipart.keys() - as_json.keys() == {"file"}
    assert as_json.keys() == form.keys()
    assert "type" not in as_json["library"], "true or text"
    assert form["library"]["type"] == multipart["library"]["type"] == "string"


def test_bodies_differ_by_name_and_have_no_blank_defaults() -> None:
    """Generated clients tell media types apart by the name of the schema, and send defaults."""
    described = document()
    for path, item in described["paths"].items():
        for operation in item.values():
            content = operation.get("requestBody", {}).get("content", {})
            if len(content) == 1:
                continue
            names = [each["schema"]["$ref"].rsplit("/", 1)[1] for each in content.values()]
            assert len(set(names)) == len(names), path
            for name in names:
                schema = described["components"]["schemas"][name]
                assert schema["title"] == name
                fields = schema["properties"]
                assert not [
                    field for field in fields if fields[field].get("default", 1) in ("", None)
                ], name
                if name.endswith(("Form", "Multipart")):
                    assert b'"null"' not in msgspec.json.encode(
                        [{**field, "contentSchema": None} for field in fields.values()]
                    ), name


def test_swagger_ui_fills_in_nothing_that_changes_a_request() -> None:
    """It sends examples of headers, and "string" in optional fields of forms that have no example."""
    described = document()
    for path, item in described["paths"].items():
        for operation in item.values():
            for parameter in operation["parameters"]:
                assert parameter["in"] != "header" or "example" not in {
                    *parameter,
                    *parameter["schema"],
                }, path
    schemas = described["components"]["schemas"]
    fields = schemas["ImportRequestMultipart"]["properties"]
    assert next(iter(fields)) == "file"
    assert {name for name, field in fields.items() if field.get("examples") != [""]} == {"file"}
    assert "examples" not in schemas["LoginForm"]["properties"]["username"]
    content = described["paths"]["/api/v2/imports/"]["post"]["requestBody"]["content"]
    assert next(iter(content)) == "multipart/form-data"


READABLE = ("application/json", "application/octet-stream", "text/")


def test_every_success_is_documented_in_a_media_type_that_generated_clients_read() -> None:
    for path, item in document()["paths"].items():
        for operation in item.values():
            for status, response in operation["responses"].items():
                content = response.get("content")
                assert not content or any(each.startswith(READABLE) for each in content), (
                    path,
                    status,
                )


async def test_file_of_an_unusual_media_type_is_also_served_as_bytes(service: Service) -> None:
    url = "/api-docs/openapi.yaml"
    usual = await service.get(url, headers={"Accept": "*/*"})
    for accept, expected in (
        ("application/octet-stream", "application/octet-stream"),
        ("application/octet-stream, application/yaml;q=0.5", "application/octet-stream"),
        ("application/yaml, application/octet-stream", "application/yaml"),
        ("text/html", "application/yaml"),
        ("application/octet-stream;q=0, */*", "application/yaml"),
    ):
        answer = await service.get(url, headers={"Accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, expected), accept
        assert answer.content == usual.content
    assert "Accept" in usual.headers["Vary"]
