"""Parsing and validating the request that creates an import."""

import base64
from typing import Any

import pytest

from fieldgate.errors import ValidationError
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.upload import destination_uid, looks_like_workbook, parse_upload
from tests.imports.workbooks import xlsx

UID = "aKm3pVw8ZtQ2xYcRnB5dFh"
BOOK = xlsx()
MIB = 1024 * 1024


def new_request(**fields: Any) -> ImportRequest:
    return ImportRequest(**{"file": UploadedFile("household.xlsx", BOOK), **fields})


def invalid_fields(request: ImportRequest) -> list[str]:
    with pytest.raises(ValidationError) as error:
        parse_upload(request, MIB)
    return list(error.value.fields)


def test_default_name_is_file_name() -> None:
    assert (parse_upload(new_request(), MIB).filename, parse_upload(new_request(), MIB).name) == (
        "household.xlsx",
        "household",
    )
    assert parse_upload(new_request(name="Visit 2.0"), MIB).name == "Visit 2.0"


def test_control_characters_are_removed_from_names() -> None:
    sent = ImportRequest(
        file=UploadedFile("a\x01b\x1b[31m.xlsx", BOOK), name=" Visit\r\n\x85\ud800\uffff"
    )
    assert (parse_upload(sent, MIB).filename, parse_upload(sent, MIB).name) == (
        "a b [31m.xlsx",
        "Visit",
    )
    assert parse_upload(new_request(name="\x01"), MIB).name == "household"


@pytest.mark.parametrize("text", ["{}", "data:application/x;base64,{}", "base64:{}", "  {}\n"])
def test_base64_prefixes_and_whitespace(text: str) -> None:
    encoded = text.format(base64.b64encode(BOOK).decode())
    assert parse_upload(ImportRequest(base64Encoded=encoded), MIB).data == BOOK


def test_fetched_file_is_validated() -> None:
    request = ImportRequest(url="https://forms.example.org/household.xlsx")
    found = parse_upload(request, MIB, UploadedFile("household.xlsx", BOOK))
    assert (found.data, found.filename, found.name) == (BOOK, "household.xlsx", "household")
    assert len(parse_upload(request, MIB, UploadedFile("x" * 300 + ".xlsx", BOOK)).filename) == 255
    with pytest.raises(ValidationError) as error:
        parse_upload(request, MIB, UploadedFile("household.xlsx", b"<!doctype html>\0"))
    assert list(error.value.fields) == ["url"]


@pytest.mark.parametrize(
    ("library", "expected"),
    [("true", True), ("True", True), ("1", True), ("yes", True), (True, True), ("false", False), (False, False),
     ("", False), ("0", False), ("maybe", False), (1.0, True), ({}, False)],
)  # fmt: skip
def test_library_values(library: Any, expected: bool) -> None:
    assert parse_upload(new_request(library=library), MIB).is_library is expected


@pytest.mark.parametrize(
    "text",
    [UID, f"/api/v2/assets/{UID}/", f"https://kf.example/api/v2/assets/{UID}/?format=json", f"/assets/{UID}.json",
     f"http://other.example/assets/{UID}"],
)  # fmt: skip
def test_destination_formats(text: str) -> None:
    assert destination_uid("destination", text) == UID
    assert parse_upload(new_request(assetUid=text), MIB).destination_uid == UID


@pytest.mark.parametrize(
    "text", ["x", "aShort", f"/api/v2/users/{UID}/", "http://[", "a" + "0" * 21, f"{UID}/x", "/"]
)
def test_invalid_destinations(text: str) -> None:
    assert invalid_fields(new_request(destination=text)) == ["destination"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (BOOK, True),
        (b"\xd0\xcf\x11\xe0rest", True),
        (b"type,name,label\ntext,a,A\n", True),
        ("type;name\ntext;é\n".encode("utf-16"), True),
        ("type;name;label\ntext;a;École\n".encode("cp1252"), True),
        (b"type;name;label\n" + "text;a;École\n".encode("cp1252") * 9000, True),
        (b"text,\x01\xe9\n", False),
        (b"type,name\n" + "é".encode() * 40_000, True),
        (b"", False),
        (b"just words", False),
        (b"\x89PNG\r\n", False),
        (b"%PDF-1.4\n1, 2\n", False),
        (b"\x1f\x8b\x08,\n", False),
        (b"<!doctype html>\n<p>Forms, and more</p>\n", False),
        (b"\xef\xbb\xbf \n<html>,\n", False),
        ("<html>,\n".encode("utf-16"), False),
        (b'{"survey": [1,\n2]}\n', False),
        (b"Dear all\n\nforms, and more\n", False),
        (b"type,name,label", False),
        (b"\n\ntype\tname\n", True),
        (b"\xef\xbb\xbftype;name\n", True),
        (b"survey\n,type,name\n,text,a\n", True),
        (b"survey,,\n,type,name\n", True),
    ],
)
def test_looks_like_workbook(data: bytes, expected: bool) -> None:
    assert looks_like_workbook(data) is expected


def test_digest() -> None:
    assert (
        parse_upload(new_request(), MIB).digest
        == parse_upload(new_request(totalFiles="1"), MIB).digest
    )
    for other in (
        new_request(name="x"),
        new_request(library="true"),
        new_request(desired_type="block"),
        new_request(destination=UID),
    ):
        assert parse_upload(other, MIB).digest != parse_upload(new_request(), MIB).digest
