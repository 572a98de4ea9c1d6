"""`/api/v2/imports/` over HTTP: creating and listing imports, and who sees which."""

import base64
import random
import re
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.assets.tables import files
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import create_token, create_user
from tests.data.sql import all_rows
from tests.imports.fake_host import ok_response, serve_fake_host, status_response
from tests.imports.workbooks import xlsx

PATH = "/api/v2/imports/"
BOOK = xlsx()
FILE = {
    "file": (
        "household.xlsx",
        BOOK,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )
}
EMPTY: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}


async def auth_headers(service: Service) -> dict[str, str]:
    return {"Authorization": f"Token {await service.create_token()}"}


async def test_anonymous_list_is_empty_and_post_is_401(service: Service) -> None:
    response = await service.get(PATH)
    assert (response.status_code, response.json()) == (200, EMPTY)
    assert response.headers["Allow"] == "GET, POST, HEAD, OPTIONS"
    refused = await service.client.post(PATH, files=FILE)
    assert refused.status_code == 401


@pytest.mark.parametrize("path", [PATH, "/api/v2/imports"])
@pytest.mark.parametrize("body_format", ["multipart", "form", "json"])
async def test_body_formats(service: Service, path: str, body_format: str) -> None:
    headers = await auth_headers(service)
    encoded = {
        "base64Encoded": f"data:x;base64,{base64.b64encode(BOOK).decode()}",
        "name": "household.xlsx",
    }
    bodies: dict[str, Any] = {
        "multipart": {"files": FILE},
        "form": {"data": encoded},
        "json": {"json": encoded},
    }
    response = await service.client.post(path, headers=headers, **bodies[body_format])
    assert response.status_code == 201
    record = response.json()
    assert re.fullmatch(r"i[2-9A-HJ-NP-Za-km-z]{21}", record["uid"])
    assert record == {
        "uid": record["uid"],
        "url": f"{BASE_URL}{PATH}{record['uid']}/",
        "status": "processing",
    }
    assert response.headers["Location"] == record["url"]
    detail = (await service.get(record["url"], headers=headers)).json()
    assert list(detail) == [
        *(
            "url",
            "status",
            "messages",
            "uid",
            "date_created",
            "filename",
            "destination",
            "library",
            "desired_type",
        )
    ]
    assert (detail["destination"], detail["library"], detail["desired_type"]) == (None, False, None)
    assert (detail["status"], detail["messages"], detail["filename"]) == (
        "processing", {"updated": []}, "household.xlsx",
    )  # fmt: skip
    listed = (await service.get(path, headers=headers)).json()
    assert listed == {"count": 1, "next": None, "previous": None, "results": [detail]}


@pytest.mark.parametrize(
    "second", [("second.xlsx", BOOK), (None, b"text")], ids=["a file", "a field"]
)
async def test_second_file_is_refused(service: Service, second: tuple[str | None, bytes]) -> None:
    headers = await auth_headers(service)
    response = await service.client.post(
        PATH, headers=headers, files=[*FILE.items(), ("file", second)]
    )
    assert response.status_code == 400
    assert response.json() == {"file": ["Send one file at a time."]}
    assert (await service.get(PATH, headers=headers)).json()["count"] == 0


async def test_import_is_visible_to_its_user_only(service: Service) -> None:
    mine, other = await auth_headers(service), await auth_headers(service)
    url = (await service.client.post(PATH, headers=mine, files=FILE)).json()["url"]
    assert (await service.get(PATH, headers=other)).json() == EMPTY
    for headers in (other, {}):
        assert (await service.get(url, headers=headers)).status_code == 404
    superuser = {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}
    assert (await service.get(url, headers=superuser)).status_code == 404


@pytest.mark.parametrize(
    ("sent", "status", "fields"),
    [
        ({"data": {"name": "x"}}, 400, ["file"]),
        ({"files": {"file": ("x.pdf", b"%PDF\x00")}}, 400, ["file"]),
        ({"files": {"file": ("x.xlsx", b"")}}, 400, ["file"]),
        ({"data": {"file": "just text"}}, 400, ["file"]),
        ({"json": {"base64Encoded": "!!!"}}, 400, ["base64Encoded"]),
        (
            {"json": {"base64Encoded": "AAAA", "url": "http://169.254.169.254/"}},
            400,
            ["base64Encoded", "url"],
        ),
        ({"json": {"url": "http://169.254.169.254/"}}, 400, ["url"]),
        (
            {"data": {"url": "https://forms.example.org/x.xlsx", "desired_type": "florb"}},
            400,
            ["desired_type"],
        ),
        ({"json": {"file": 5}}, 400, ["file"]),
        ({"files": FILE, "data": {"desired_type": "florb"}}, 400, ["desired_type"]),
        ({"files": FILE, "data": {"destination": "nonsense"}}, 400, ["destination"]),
        ({"files": FILE, "data": {"destination": "aKm3pVw8ZtQ2xYcRnB5dFh"}}, 404, ["detail"]),
        ({"files": FILE, "data": {"name": "x" * 256}}, 400, ["name"]),
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415, ["detail"]),
    ],
)
async def test_invalid_requests(
    service: Service, sent: dict[str, Any], status: int, fields: list[str]
) -> None:
    headers = {**await auth_headers(service), **sent.pop("headers", {})}
    english = await service.client.post(PATH, headers=headers, **sent)
    assert (english.status_code, list(english.json())) == (status, fields)
    arabic = await service.client.post(PATH, headers={**headers, "Accept-Language": "ar"}, **sent)
    assert arabic.json() != english.json()
    assert (await service.get(PATH, headers=headers)).json() == EMPTY


async def test_oversized_upload_is_refused_while_it_arrives(start: StartService) -> None:
    async with start(max_upload=len(BOOK) - 1) as service:
        headers = await auth_headers(service)
        assert (await service.client.post(PATH, headers=headers, files=FILE)).status_code == 413
        limit = {"detail": f"The file is too large; at most {len(BOOK) - 1} bytes are allowed."}

        async def endless() -> Any:
            for _ in range(1000):
                yield b"x" * 10_000

        streamed = {**headers, "Content-Type": "multipart/form-data; boundary=x"}
        refused = await service.client.post(PATH, headers=streamed, content=endless())
        assert (refused.status_code, refused.json()) == (413, limit)
        declared = await service.client.post(PATH, headers=streamed, content=b"x" * 200_000)
        assert (declared.status_code, declared.json()) == (413, limit)


@pytest.mark.parametrize("body_format", ["multipart", "form", "json"])
async def test_size_limit_is_exact_for_every_body_format(
    start: StartService, body_format: str
) -> None:
    limit = 2 * 1024 * 1024
    data = b"PK\x03\x04" + random.Random(1).randbytes(limit - 4)
    async with start(max_upload=limit) as service:
        headers = await auth_headers(service)
        for file, status in ((data, 201), (data + b"x", 413), (data * 2, 413)):
            encoded = {"base64Encoded": base64.b64encode(file).decode(), "name": "x.xlsx"}
            bodies: dict[str, Any] = {
                "multipart": {"files": {"file": ("x.xlsx", file)}},
                "form": {"data": encoded},
                "json": {"json": encoded},
            }
            response = await service.client.post(PATH, headers=headers, **bodies[body_format])
            assert response.status_code == status
            assert status == 201 or str(limit) in response.json()["detail"]


async def test_queue_of_a_user_is_bounded(start: StartService) -> None:
    async with start(max_queued_imports=3) as service:
        headers, others = (
            {**await auth_headers(service), "Idempotency-Key": "1"},
            await auth_headers(service),
        )
        first = await service.client.post(PATH, headers=headers, files=FILE)
        for key in ("2", "3"):
            sent = await service.client.post(
                PATH, headers={**headers, "Idempotency-Key": key}, files=FILE
            )
            assert sent.status_code == 201
        refused = await service.client.post(
            PATH, headers={**headers, "Idempotency-Key": "4"}, files=FILE
        )
        assert (refused.status_code, "3 of your files" in refused.json()["detail"]) == (429, True)
        assert int(refused.headers["Retry-After"]) > 0
        assert (
            await service.client.post(PATH, headers=headers, files=FILE)
        ).json() == first.json(), "a repetition"
        assert (await service.client.post(PATH, headers=others, files=FILE)).status_code == 201
        assert (await service.get(PATH, headers=headers)).json()["count"] == 3


async def test_storage_of_a_user_is_bounded(start: StartService, database_url: str) -> None:
    """Files of imports and content of forms count; nothing is stored beyond the limit."""
    assets, form = (
        "/api/v2/assets/",
        {"name": "A", "asset_type": "survey", "content": {"survey": []}},
    )
    limit = 3 * len(BOOK)
    async with start(database_url=database_url, max_storage_per_user=limit) as service:
        username, user_id = await service.create_user()
        token = create_token(service, user_id)
        headers, others = {"Authorization": f"Token {token}"}, await auth_headers(service)
        root = {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}
        created = await service.client.post(assets, headers=headers, json=form)
        for status in (201, 201, 413):
            assert (
                await service.client.post(PATH, headers=headers, files=FILE)
            ).status_code == status
        used = (await service.get(f"/api/v2/users/{username}/", headers=root)).json()[
            "stored_bytes"
        ]
        assert 2 * len(BOOK) < used < limit
        assert (await service.client.post(assets, headers=headers, files=FILE)).status_code == 413
        large = {
            "survey": [
                {"type": "note", "name": f"n{number}", "label": "x" * 500} for number in range(20)
            ]
        }
        refused = await service.client.patch(
            created.json()["url"], headers=headers, json={"content": large}
        )
        assert (refused.status_code, "no room left" in refused.json()["detail"]) == (413, True)
        assert (await service.client.post(PATH, headers=others, files=FILE)).status_code == 201
        bot_id = create_user(service, "bot", owner_id=user_id)  # nor a service account
        bot = {"Authorization": f"Token {create_token(service, bot_id)}"}
        assert (await service.client.post(PATH, headers=bot, files=FILE)).status_code == 413
        into = {
            "destination": created.json()["url"]
        }  # an editor cannot fill the storage of the owner
        assert (
            await service.client.post(PATH, headers=root, files=FILE, data=into)
        ).status_code == 413
        assert (await service.get(PATH, headers=headers)).json()["count"] == 2


async def test_repeated_idempotency_key_returns_first_response(service: Service) -> None:
    headers = {**await auth_headers(service), "Idempotency-Key": "one"}
    first = await service.client.post(PATH, headers=headers, files=FILE)
    again = await service.client.post(PATH, headers=headers, files=FILE)
    assert (again.status_code, again.json()) == (201, first.json())
    other = await service.client.post(PATH, headers=headers, files=FILE, data={"name": "another"})
    assert other.status_code == 422
    assert (await service.get(PATH, headers=headers)).json()["count"] == 1
    long = await service.client.post(
        PATH, headers={**headers, "Idempotency-Key": "x" * 256}, files=FILE
    )
    assert long.status_code == 400


@pytest.mark.parametrize("sent", ["json", "data"])
async def test_fetching_is_off_by_default(service: Service, sent: str) -> None:
    headers = await auth_headers(service)
    body: Any = {sent: {"url": "https://forms.example.org/household.xlsx"}}
    response = await service.client.post(PATH, headers=headers, **body)
    message = "This service does not fetch files from other hosts. Send the file itself."
    assert (response.status_code, response.json()) == (400, {"url": [message]})
    assert (await service.get(PATH, headers=headers)).json() == EMPTY


async def test_import_from_url(start: StartService) -> None:
    async with serve_fake_host() as host:
        host.responses |= {
            "/household.xlsx": ok_response(BOOK),
            "/page": ok_response(b"<!doctype html>"),
            "/gone": status_response(404),
        }
        async with start(fetcher=host.fetcher(), max_upload=len(BOOK)) as service:
            headers = await auth_headers(service)

            async def post(path: str, **fields: Any) -> Any:
                return await service.client.post(
                    PATH, headers=headers, json={"url": host.url(path), **fields}
                )

            response = await post("/household.xlsx")
            assert response.status_code == 201
            detail = (await service.get(response.json()["url"], headers=headers)).json()
            assert (detail["status"], detail["filename"]) == ("processing", "household.xlsx")
            stored = all_rows(service, select(files.c.name, files.c.data))
            assert [tuple(row) for row in stored] == [("household.xlsx", BOOK)]

            for path, message in (
                ("/page", "This file is not a workbook."),
                ("/gone", "answered with status 404."),
            ):
                refused = await post(path)
                assert (refused.status_code, list(refused.json())) == (400, ["url"])
                assert message in refused.json()["url"][0]
            host.responses["/large"] = ok_response(BOOK + b"x")
            assert (await post("/large")).status_code == 413
            request_count = len(host.requested_paths)
            assert (
                await post("/household.xlsx", destination="aKm3pVw8ZtQ2xYcRnB5dFh")
            ).status_code == 404
            assert len(host.requested_paths) == request_count
            assert (await service.get(PATH, headers=headers)).json()["count"] == 1


async def test_repeated_idempotency_key_does_not_fetch_again(start: StartService) -> None:
    async with serve_fake_host() as host:
        host.responses["/household.xlsx"] = ok_response(BOOK)
        async with start(fetcher=host.fetcher()) as service:
            headers = {**await auth_headers(service), "Idempotency-Key": "one"}
            body = {"url": host.url("/household.xlsx")}
            first = await service.client.post(PATH, headers=headers, json=body)
            host.responses["/household.xlsx"] = status_response(410)
            again = await service.client.post(PATH, headers=headers, json=body)
            assert (again.status_code, again.json()) == (201, first.json())
            assert host.requested_paths == ["/household.xlsx"]
            for other in (
                {"json": {**body, "name": "another"}},
                {"json": {"url": host.url("/b")}},
                {"files": FILE},
            ):
                sent: Any = other
                assert (await service.client.post(PATH, headers=headers, **sent)).status_code == 422
            assert host.requested_paths == ["/household.xlsx"]


async def test_status_filter_and_ordering(service: Service) -> None:
    headers = await auth_headers(service)
    sent = [
        (await service.client.post(PATH, headers=headers, files=FILE)).json()["uid"]
        for _ in range(3)
    ]

    async def listed(query: str) -> list[str]:
        return [
            record["uid"]
            for record in (await service.get(f"{PATH}?{query}", headers=headers)).json()["results"]
        ]

    assert await listed("") == sent
    assert await listed("ordering=-date_created") == sent[::-1]
    assert await listed("status=processing&limit=1&offset=1") == sent[1:2]
    assert await listed("status=complete") == []
    for query in ("status=done", "ordering=name"):
        refused = await service.get(f"{PATH}?{query}", headers=headers)
        assert refused.status_code == 400
        assert "Choose one of" in str(refused.json())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("filename*=UTF-8''na%C3%AFve.xlsx", "naïve.xlsx"),
        (
            "filename=\"=?utf-8?B?bmHDr3ZlLnhsc3g=?=\"; filename*=utf-8'fr'na%C3%AFve.xlsx",
            "naïve.xlsx",
        ),
        ("filename=\"naive.xlsx\"; FileName*=iso-8859-1''na%EFve.xlsx", "naïve.xlsx"),
        ("filename*=florb''na%C3%AFve.xlsx", "naïve.xlsx"),
        ("filename*=UTF-8''..%2Fetc%2Fna%C3%AFve.xlsx", "naïve.xlsx"),
        ('filename="=?utf-8?B?bmHDr3ZlLnhsc3g=?="', "naïve.xlsx"),
        ('filename="=?utf-8?Q?na=C3=AFve?= =?utf-8?Q?_2.xlsx?="', "naïve 2.xlsx"),
        ('filename="=?florb?B?bmHDr3ZlLnhsc3g=?="', "=?florb?B?bmHDr3ZlLnhsc3g=?="),
        ("filename=\"a; filename*=utf-8''b.xlsx\"", "a; filename*=utf-8''b.xlsx"),
    ],
)
async def test_file_name_encodings(service: Service, written: str, expected: str) -> None:
    headers = {**await auth_headers(service), "Content-Type": "multipart/form-data; boundary=x"}
    head = f'--x\r\nContent-Disposition: form-data; name="file"; {written}\r\n\r\n'.encode()
    response = await service.client.post(
        PATH, headers=headers, content=head + BOOK + b"\r\n--x--\r\n"
    )
    assert response.status_code == 201, response.text
    assert (await service.get(response.json()["url"], headers=headers)).json()[
        "filename"
    ] == expected


async def test_unknown_fields_are_reported_or_refused(service: Service) -> None:
    headers = await auth_headers(service)
    sent: dict[str, Any] = {
        "files": FILE,
        "data": {"destinaton": "x", "zzz": "1", "lastModified": "5", "name": "a"},
    }
    response = await service.client.post(f"{PATH}?q=1", headers=headers, **sent)
    assert (response.status_code, response.headers["Fieldgate-Ignored"]) == (
        201,
        "q, destinaton, zzz",
    )
    strict = {**headers, "Prefer": "handling=strict"}
    refused = await service.client.post(PATH, headers=strict, **sent)
    assert refused.status_code == 400
    assert list(refused.json()) == ["destinaton", "zzz"]
    assert refused.json()["destinaton"] == ["There is no such field. Did you mean destination?"]
    assert refused.json()["zzz"][0].startswith(
        "There is no such field. Known ones: assetUid, base64Encoded, "
    )
    clean = await service.client.post(
        PATH, headers=strict, files=FILE, data={"name": "a", "totalFiles": "1"}
    )
    assert (clean.status_code, clean.headers["Preference-Applied"]) == (201, "handling=strict")
    assert "Fieldgate-Ignored" not in clean.headers
