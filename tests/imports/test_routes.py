"""`/api/v2/imports/` over HTTP: taking in, listing, and who sees what."""

import base64
import re
from typing import Any

import pytest

from fieldgate.accounts.store import IssuedBy
from tests.conftest import BASE, Service, Start
from tests.imports.workbooks import xlsx

PATH = "/api/v2/imports/"
BOOK = xlsx()
FILE = {"file": ("household.xlsx", BOOK, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")}
EMPTY: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}


async def signed_in(service: Service) -> dict[str, str]:
    return {"Authorization": f"Token {await service.token()}"}


async def test_the_public_sees_an_empty_list_and_cannot_send(service: Service) -> None:
    answer = await service.get(PATH)
    assert (answer.status_code, answer.json()) == (200, EMPTY)
    assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"
    refused = await service.client.post(PATH, files=FILE)
    assert refused.status_code == 401


@pytest.mark.parametrize("path", [PATH, "/api/v2/imports"])
@pytest.mark.parametrize("way", ["multipart", "form", "json"])
async def test_ways_to_send_a_file(service: Service, path: str, way: str) -> None:
    headers = await signed_in(service)
    encoded = {"base64Encoded": f"data:x;base64,{base64.b64encode(BOOK).decode()}", "name": "household.xlsx"}
    ways: dict[str, Any] = {"multipart": {"files": FILE}, "form": {"data": encoded}, "json": {"json": encoded}}
    answer = await service.client.post(path, headers=headers, **ways[way])
    assert answer.status_code == 201
    record = answer.json()
    assert re.fullmatch(r"i[2-9A-HJ-NP-Za-km-z]{21}", record["uid"])
    assert record == {"uid": record["uid"], "url": f"{BASE}{PATH}{record['uid']}/", "status": "processing"}
    assert answer.headers["Location"] == record["url"]
    detail = (await service.get(record["url"], headers=headers)).json()
    assert list(detail) == ["url", "status", "messages", "uid", "date_created", "filename"]
    assert (detail["status"], detail["messages"], detail["filename"]) == (
        "processing", {"updated": []}, "household.xlsx",
    )  # fmt: skip
    listed = (await service.get(path, headers=headers)).json()
    assert listed == {"count": 1, "next": None, "previous": None, "results": [detail]}


async def test_an_import_is_nobody_elses_business(service: Service) -> None:
    mine, other = await signed_in(service), await signed_in(service)
    url = (await service.client.post(PATH, headers=mine, files=FILE)).json()["url"]
    assert (await service.get(PATH, headers=other)).json() == EMPTY
    for headers in (other, {}):
        assert (await service.get(url, headers=headers)).status_code == 404
    superuser = {"Authorization": f"Token {await service.token(is_superuser=True)}"}
    assert (await service.get(url, headers=superuser)).status_code == 404


@pytest.mark.parametrize(
    ("sent", "status", "named"),
    [
        ({"data": {"name": "x"}}, 400, ["file"]),
        ({"files": {"file": ("x.pdf", b"%PDF\x00")}}, 400, ["file"]),
        ({"files": {"file": ("x.xlsx", b"")}}, 400, ["file"]),
        ({"data": {"file": "just text"}}, 400, ["file"]),
        ({"json": {"base64Encoded": "!!!"}}, 400, ["base64Encoded"]),
        ({"json": {"base64Encoded": "AAAA", "url": "http://169.254.169.254/"}}, 400, ["url"]),
        ({"json": {"file": 5}}, 400, ["file"]),
        ({"files": FILE, "data": {"desired_type": "florb"}}, 400, ["desired_type"]),
        ({"files": FILE, "data": {"destination": "nonsense"}}, 400, ["destination"]),
        ({"files": FILE, "data": {"destination": "aKm3pVw8ZtQ2xYcRnB5dFh"}}, 404, ["detail"]),
        ({"files": FILE, "data": {"name": "x" * 256}}, 400, ["name"]),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, ["detail"]),
    ],
)
async def test_mistakes_are_named_at_once(
    service: Service, sent: dict[str, Any], status: int, named: list[str]
) -> None:
    headers = {**await signed_in(service), **sent.pop("headers", {})}
    english = await service.client.post(PATH, headers=headers, **sent)
    assert (english.status_code, list(english.json())) == (status, named)
    arabic = await service.client.post(PATH, headers={**headers, "Accept-Language": "ar"}, **sent)
    assert arabic.json() != english.json()
    assert (await service.get(PATH, headers=headers)).json() == EMPTY


async def test_too_large_is_told_while_it_arrives(start: Start) -> None:
    async with start(max_upload=len(BOOK) - 1) as service:
        headers = await signed_in(service)
        assert (await service.client.post(PATH, headers=headers, files=FILE)).status_code == 413
        limit = {"detail": f"The file is too large; at most {len(BOOK) - 1} bytes are taken."}

        async def endless() -> Any:
            for _ in range(1000):
                yield b"x" * 10_000

        streamed = {**headers, "Content-Type": "multipart/form-data; boundary=x"}
        refused = await service.client.post(PATH, headers=streamed, content=endless())
        assert (refused.status_code, refused.json()) == (413, limit)
        declared = await service.client.post(PATH, headers=streamed, content=b"x" * 200_000)
        assert (declared.status_code, declared.json()) == (413, limit)


async def test_a_repeated_post_gives_the_first_answer(service: Service) -> None:
    headers = {**await signed_in(service), "Idempotency-Key": "one"}
    first = await service.client.post(PATH, headers=headers, files=FILE)
    again = await service.client.post(PATH, headers=headers, files=FILE)
    assert (again.status_code, again.json()) == (201, first.json())
    other = await service.client.post(PATH, headers=headers, files=FILE, data={"name": "another"})
    assert other.status_code == 422
    assert (await service.get(PATH, headers=headers)).json()["count"] == 1
    long = await service.client.post(PATH, headers={**headers, "Idempotency-Key": "x" * 256}, files=FILE)
    assert long.status_code == 400


async def test_narrowing_and_order(service: Service) -> None:
    headers = await signed_in(service)
    sent = [(await service.client.post(PATH, headers=headers, files=FILE)).json()["uid"] for _ in range(3)]

    async def listed(query: str) -> list[str]:
        return [record["uid"] for record in (await service.get(f"{PATH}?{query}", headers=headers)).json()["results"]]

    assert await listed("") == sent
    assert await listed("ordering=-date_created") == sent[::-1]
    assert await listed("status=processing&limit=1&offset=1") == sent[1:2]
    assert await listed("status=complete") == []
    for query in ("status=done", "ordering=name"):
        refused = await service.get(f"{PATH}?{query}", headers=headers)
        assert refused.status_code == 400
        assert "Choose one of" in str(refused.json())


async def test_a_session_needs_the_pages_token_to_send(service: Service) -> None:
    _, number = await service.user()
    session = await service.store.issue_token(number, IssuedBy.SESSION, None)
    answer = await service.client.post(PATH, files=FILE, headers={"Cookie": f"fieldgate_session={session}"})
    assert answer.status_code == 403


async def test_the_index_lists_imports_and_assets(service: Service) -> None:
    index = (await service.get("/api/v2/")).json()
    assert {"imports", "assets", "permissions"} <= set(index)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("filename*=UTF-8''na%C3%AFve.xlsx", "naïve.xlsx"),
        ("filename=\"=?utf-8?B?bmHDr3ZlLnhsc3g=?=\"; filename*=utf-8'fr'na%C3%AFve.xlsx", "naïve.xlsx"),
        ("filename=\"naive.xlsx\"; FileName*=iso-8859-1''na%EFve.xlsx", "naïve.xlsx"),
        ("filename*=florb''na%C3%AFve.xlsx", "naïve.xlsx"),
        ("filename*=UTF-8''..%2Fetc%2Fna%C3%AFve.xlsx", "naïve.xlsx"),
        ('filename="=?utf-8?B?bmHDr3ZlLnhsc3g=?="', "naïve.xlsx"),
        ('filename="=?utf-8?Q?na=C3=AFve?= =?utf-8?Q?_2.xlsx?="', "naïve 2.xlsx"),
        ('filename="=?florb?B?bmHDr3ZlLnhsc3g=?="', "=?florb?B?bmHDr3ZlLnhsc3g=?="),
        ("filename=\"a; filename*=utf-8''b.xlsx\"", "a; filename*=utf-8''b.xlsx"),
    ],
)
async def test_file_names_as_clients_write_them(service: Service, written: str, expected: str) -> None:
    headers = {**await signed_in(service), "Content-Type": "multipart/form-data; boundary=x"}
    head = f'--x\r\nContent-Disposition: form-data; name="file"; {written}\r\n\r\n'.encode()
    answer = await service.client.post(PATH, headers=headers, content=head + BOOK + b"\r\n--x--\r\n")
    assert answer.status_code == 201, answer.text
    assert (await service.get(answer.json()["url"], headers=headers)).json()["filename"] == expected


async def test_misspelt_fields_are_named_or_refused(service: Service) -> None:
    headers = await signed_in(service)
    sent: dict[str, Any] = {"files": FILE, "data": {"destinaton": "x", "zzz": "1", "lastModified": "5", "name": "a"}}
    answer = await service.client.post(f"{PATH}?q=1", headers=headers, **sent)
    assert (answer.status_code, answer.headers["Fieldgate-Ignored"]) == (201, "q, destinaton, zzz")
    strict = {**headers, "Prefer": "handling=strict"}
    refused = await service.client.post(PATH, headers=strict, **sent)
    assert refused.status_code == 400
    assert list(refused.json()) == ["destinaton", "zzz"]
    assert refused.json()["destinaton"] == ["There is no such field. Did you mean destination?"]
    assert refused.json()["zzz"][0].startswith("There is no such field. Known ones: assetUid, base64Encoded, ")
    for language in ("fr", "es", "ar"):
        other = await service.client.post(PATH, headers={**strict, "Accept-Language": language}, **sent)
        assert all(other.json()[name] != refused.json()[name] for name in refused.json())
    clean = await service.client.post(PATH, headers=strict, files=FILE, data={"name": "a", "totalFiles": "1"})
    assert (clean.status_code, clean.headers["Preference-Applied"]) == (201, "handling=strict")
    assert "Fieldgate-Ignored" not in clean.headers


async def test_file_names_are_only_names(service: Service) -> None:
    headers = await signed_in(service)
    for name in ("../../etc/x.xlsx", "C:\\temp\\x.xlsx", "a/b/x.xlsx"):
        url = (await service.client.post(PATH, headers=headers, files={"file": (name, BOOK)})).json()["url"]
        assert (await service.get(url, headers=headers)).json()["filename"] == "x.xlsx"
