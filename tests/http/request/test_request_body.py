"""Large bodies: parsed as they arrive, kept on disk, within limits of the process and of each client."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multipart import MultipartSegment

from fieldgate.errors import BadRequest, PayloadTooLarge, ServiceUnavailable
from fieldgate.http.request.body_parsing import BodyLimit, UploadedFile
from fieldgate.http.request.request_body import IncomingBody, Receive, part_filename
from fieldgate.overload import Overload
from tests.conftest import Service, StartService
from tests.data.sql import read_sql
from tests.imports.workbooks import xlsx

MIB = 1024 * 1024
IMPORTS = "/api/v2/imports/"
LIMIT = BodyLimit(file_limit=25 * MIB)


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


def multipart(content: bytes, **fields: str) -> bytes:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
        for name, text in fields.items()
    ]
    head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a/x.xlsx"\r\n\r\n'
    return "".join([*parts, head]).encode() + content + b"\r\n--b--\r\n"


def receiver(body: bytes, step: int, is_cut: bool = False) -> Receive:
    pieces = [body[start : start + step] for start in range(0, len(body), step)]
    events: list[Any] = [
        {"type": "http.request", "body": piece, "more_body": True} for piece in pieces
    ]
    events.append(
        {"type": "http.disconnect"}
        if is_cut
        else {"type": "http.request", "body": b"", "more_body": False}
    )

    async def receive() -> Any:
        return events.pop(0)

    return receive


class Reader(NamedTuple):
    spool: str
    overload: Overload


def open_body(
    reader: Reader,
    body: bytes,
    *,
    content_type: str = "multipart/form-data; boundary=b",
    is_declared: bool = True,
    step: int = 100_000,
    is_cut: bool = False,
) -> IncomingBody:
    headers = {b"content-type": content_type.encode()}
    if is_declared:
        headers[b"content-length"] = str(len(body)).encode()
    return IncomingBody(
        receiver(body, step, is_cut), headers, reader.spool, reader.overload, "amina"
    )


def new_reader(max_bytes: int = 128 * MIB, spool: str = "") -> Reader:
    return Reader(spool, Overload(10, max_bytes))


def is_free(reader: Reader) -> bool:
    return not reader.overload.uploads._held and not reader.overload.loaded_bodies._held


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return new_reader(spool=str(tmp_path))


@pytest.mark.parametrize("is_declared", [True, False])
@pytest.mark.parametrize("size", [10, 65_000, 300_000, 3 * MIB])
async def test_file_is_parsed_as_it_arrives(
    reader: Reader, tmp_path: Path, size: int, is_declared: bool
) -> None:
    content = os.urandom(size)
    body = multipart(content, name="Visit é", library="true")
    incoming = open_body(reader, body, is_declared=is_declared)
    values = await incoming.read_fields(LIMIT)
    file = values.pop("file")
    assert values == {"name": "Visit é", "library": "true"}
    assert isinstance(file, UploadedFile)
    assert (file.name, file.size, file.data) == ("x.xlsx", size, content)
    assert file.read_start(8) == content[:8]
    assert file.sha256() == UploadedFile("", content).sha256()
    assert is_empty(tmp_path), "the file has no name, so nothing is left behind"
    await incoming.close()
    assert is_free(reader)


@given(st.binary(max_size=300), st.integers(1, 50))
def test_pieces_of_any_size_give_the_same_fields(content: bytes, step: int) -> None:
    async def read() -> Any:
        incoming = open_body(
            new_reader(), multipart(content, name="x"), step=step, is_declared=False
        )
        values = await incoming.read_fields(LIMIT)
        found = values["name"], values["file"].data
        await incoming.close()
        return found

    if b"\r\n--b" not in content:
        assert asyncio.run(read()) == ("x", content)


async def test_form_can_have_several_files_of_a_name(reader: Reader) -> None:
    one = multipart(os.urandom(100_000)).removesuffix(b"--\r\n")
    both = one + b"\r\n" + multipart(os.urandom(200_000)).removeprefix(b"--b\r\n")
    incoming = open_body(reader, both)
    files = (await incoming.read_form(LIMIT))["file"]
    assert [file.size for file in files if isinstance(file, UploadedFile)] == [100_000, 200_000]
    await incoming.close()


async def test_json_is_read_from_disk(reader: Reader) -> None:
    text = base64.b64encode(os.urandom(MIB)).decode()
    body = json.dumps({"base64Encoded": text}).encode()
    incoming = open_body(reader, body, content_type="application/json")
    assert await incoming.read_fields(LIMIT) == {"base64Encoded": text}
    assert reader.overload.loaded_bodies._held["amina"] == len(body), "held until the request ends"
    await incoming.close()
    assert is_free(reader)


@pytest.mark.parametrize("is_declared", [True, False])
async def test_too_large_body_is_refused(reader: Reader, is_declared: bool) -> None:
    incoming = open_body(reader, multipart(bytes(2 * MIB)), is_declared=is_declared)
    with pytest.raises(PayloadTooLarge):
        await incoming.read_fields(BodyLimit(file_limit=MIB))
    await incoming.close()
    assert is_free(reader)


@pytest.mark.parametrize("body", [b"--b\r\n" + bytes(100_000), multipart(bytes(100_000))[:-10]])
async def test_malformed_multipart_is_a_bad_request(reader: Reader, body: bytes) -> None:
    incoming = open_body(reader, body)
    with pytest.raises(BadRequest, match="multipart"):
        await incoming.read_fields(LIMIT)
    await incoming.close()


def test_quote_that_is_not_closed_hides_what_follows() -> None:
    heads = {
        """filename="a.xlsx"; filename*=UTF-8''%C3%A9.xlsx""": "é.xlsx",
        """filename="a; filename*=UTF-8''b.xlsx"; size=1""": "a; filename*=UTF-8''b.xlsx",
        """filename=a.xlsx; x="; filename*=UTF-8''b.xlsx""": "a.xlsx",
    }
    for value, name in heads.items():
        assert (
            part_filename(
                MultipartSegment([("Content-Disposition", f"form-data; name=file; {value}")])
            )
            == name
        )


@pytest.mark.parametrize(("size", "is_accepted"), [(4000, True), (4100, False)])
async def test_headers_of_a_part_are_limited(reader: Reader, size: int, is_accepted: bool) -> None:
    body = multipart(b"x").replace(b"a/x.xlsx", b"x" * size)
    incoming = open_body(reader, body)
    if is_accepted:
        assert (await incoming.read_fields(LIMIT))["file"].name == "x" * size
    else:
        with pytest.raises(BadRequest, match="multipart"):
            await incoming.read_fields(LIMIT)
    await incoming.close()


async def test_disconnected_client_frees_what_it_reserved(reader: Reader) -> None:
    incoming = open_body(reader, multipart(bytes(MIB)), is_cut=True)
    with pytest.raises(BadRequest, match="ended"):
        await incoming.read_fields(LIMIT)
    await incoming.close()
    assert is_free(reader)


def open_full_device(**_: object) -> IO[bytes]:
    return Path("/dev/full").open("r+b")


async def test_full_disk_is_503(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", open_full_device)
    incoming = open_body(reader, multipart(bytes(MIB)))
    with pytest.raises(ServiceUnavailable, match="no space"):
        await incoming.read_fields(LIMIT)
    await incoming.close()
    assert is_free(reader)


async def test_body_larger_than_the_share_of_a_caller_is_accepted() -> None:
    reader = new_reader(MIB)
    body = open_body(reader, multipart(bytes(2 * MIB)))
    assert (await body.read_fields(LIMIT))["file"].size == 2 * MIB
    await body.close()
    assert is_free(reader)


# The service


async def log_in(service: Service) -> dict[str, str]:
    return {"Authorization": f"Token {await service.create_token()}"}


async def test_upload_beyond_the_limit_is_refused(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    async with start(upload_bytes_in_flight=MIB) as service:
        headers = await log_in(service)
        uploads = service.app.app_context.overload.uploads

        async def content() -> AsyncIterator[bytes]:
            for _ in range(4):
                yield bytes(100_000)

        large = {"file": ("x.xlsx", xlsx() + bytes(100_000))}
        async with uploads.slot("another", MIB // 2), uploads.slot("third", MIB // 2):
            refused = await service.client.post(IMPORTS, files=large, headers=headers)
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
            assert "uploads" in refused.json()["detail"]
            chunked = {**headers, "Content-Type": "multipart/form-data; boundary=b"}
            assert (
                await service.client.post(IMPORTS, content=content(), headers=chunked)
            ).status_code == 503
            small = await service.client.post(
                IMPORTS, files={"file": ("x.xlsx", xlsx())}, headers=headers
            )
            assert small.status_code == 201, "small bodies are not limited"
        assert (await service.client.post(IMPORTS, files=large, headers=headers)).status_code == 201
        assert not uploads._held


async def test_stored_file_is_the_one_that_was_sent(start: StartService) -> None:
    async with start() as service:
        headers = await log_in(service)
        book = xlsx() + os.urandom(2 * MIB)
        sent: list[dict[str, Any]] = [
            {"files": {"file": ("x.xlsx", book)}},
            {"json": {"base64Encoded": base64.b64encode(book).decode(), "name": "x.xlsx"}},
            {"data": {"base64Encoded": base64.b64encode(book).decode(), "name": "x.xlsx"}},
        ]
        for body in sent:
            assert (await service.client.post(IMPORTS, headers=headers, **body)).status_code == 201
        with read_sql(service) as connection:
            stored = connection.exec_driver_sql("SELECT data FROM files").scalars().all()
        assert stored == [book] * 3


async def test_service_goes_on_without_its_spool_folder(
    start: StartService, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    large = {"file": ("x.xlsx", xlsx() + bytes(100_000))}
    async with start(spool=str(spool)) as service:
        headers = await log_in(service)
        refused = await service.client.post(IMPORTS, files=large, headers=headers)
        assert refused.status_code == 503
        assert "no space" in refused.json()["detail"]
        assert "Retry-After" in refused.headers
        small = await service.client.post(
            IMPORTS, files={"file": ("x.xlsx", xlsx())}, headers=headers
        )
        assert small.status_code == 201
        spool.mkdir()
        assert (await service.client.post(IMPORTS, files=large, headers=headers)).status_code == 201
    assert is_empty(spool)
