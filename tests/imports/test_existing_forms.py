"""Importing a file whose form exists already: with `if_exists=ask`, the user decides before a second form is made."""

from typing import Any

import httpx
import pytest
from sqlalchemy import text

from fieldgate.imports.tables import imports
from tests.assets.routes.test_restore import restore, versions_of
from tests.assets.routes.test_write_routes import CONTENT, Author, author
from tests.conftest import StartService
from tests.data.imports import import_worker
from tests.data.sql import write_sql
from tests.imports.workbooks import SURVEY, xlsx

__all__ = ["author"]


def book(form_id: str = "", title: str = "") -> bytes:
    return xlsx(survey=SURVEY, settings=(("form_id", "form_title"), (form_id, title)))


async def names(author: Author) -> list[str]:
    return sorted(each["name"] for each in (await author.get("/api/v2/assets/"))["results"])


async def answer(author: Author, record: dict[str, Any], **body: Any) -> httpx.Response:
    return await author.service.client.patch(record["url"], json=body, headers=author.headers)


@pytest.mark.parametrize(
    ("first", "second", "asks"),
    [
        ({"book": book(title="Visit")}, {"book": book("other", title="VISIT")}, True),
        ({"book": book("v1", "Visit")}, {"book": book("v1", "Household")}, True),
        (
            {"book": book(), "filename": "visit.xlsx"},
            {"book": book(), "filename": "visit.xlsx"},
            True,
        ),
        ({"book": book("v1", "Visit")}, {"book": book("v2", "Household")}, False),
        ({"book": book(title="Visit")}, {"book": book(title="Visit"), "library": "true"}, False),
    ],
    ids=["name", "form id", "file name", "another form", "library"],
)
async def test_a_form_that_exists_is_a_question(
    author: Author, first: dict[str, Any], second: dict[str, Any], asks: bool
) -> None:
    created = await author.asset(await author.import_workbook(**first, if_exists="ask"))
    before = await names(author)
    record = await author.import_workbook(**second, if_exists="ask")
    assert (record["status"], record["messages"].get("error_type")) == (
        ("error", "form_exists") if asks else ("complete", None)
    )
    if asks:
        [existing] = record["messages"]["existing"]
        assert (existing["uid"], existing["name"]) == (created["uid"], created["name"])
        assert record["messages"]["error"].startswith(
            f"You have a form “{created['name']}” already."
        )
        assert await names(author) == before


async def test_an_unknown_answer_in_advance_is_refused(author: Author) -> None:
    sent: dict[str, Any] = {"files": {"file": ("a.xlsx", book())}, "data": {"if_exists": "maybe"}}
    response = await author.service.client.post("/api/v2/imports/", headers=author.headers, **sent)
    assert (response.status_code, response.json()) == (
        400,
        {"if_exists": ["Choose one of: create, ask."]},
    )


async def test_answers(author: Author) -> None:
    created = await author.asset(await author.import_workbook(book("v1", "Visit")))
    asked = await author.import_workbook(book("v1", "Visit"), if_exists="ask")
    for body in (
        {},
        {"destination": created["uid"], "if_exists": "create"},
        {"if_exists": "ask"},
        {"destination": "x"},
    ):
        assert (await answer(author, asked, **body)).status_code == 400
    stranger = await author.other()
    assert (await answer(stranger, asked, if_exists="create")).status_code == 404
    hidden = (await stranger.post(name="Hidden", content=CONTENT))["uid"]
    assert (await answer(author, asked, destination=hidden)).status_code == 404
    response = await answer(author, asked, destination=created["url"])
    assert (response.status_code, response.json()["status"]) == (200, "processing")
    assert response.json()["messages"] == {"updated": []}
    assert (await answer(author, asked, if_exists="create")).status_code == 409
    assert await author.worker.process_one()
    assert (await author.get(asked["url"]))["messages"]["updated"][0]["uid"] == created["uid"]
    assert (await author.get(created["url"]))["version_count"] == 2
    assert await names(author) == ["Visit"]
    again = await author.import_workbook(book("v1", "Visit"), if_exists="ask")
    assert (await answer(author, again, if_exists="create")).status_code == 200
    assert await author.worker.process_one()
    assert (await author.get(again["url"]))["status"] == "complete"
    assert await names(author) == ["Visit", "Visit"]
    unasked = await author.import_workbook(book("v1", "Visit"))
    assert (unasked["status"], await names(author)) == ("complete", ["Visit"] * 3)  # as before
    assert (await answer(author, unasked, if_exists="create")).status_code == 409


async def test_the_form_id_is_that_of_the_newest_version_and_of_the_callers_forms(
    author: Author,
) -> None:
    created = await author.asset(await author.import_workbook(book("old", "First")))
    await author.patch(
        created, content={**CONTENT, "settings": {"id_string": "new", "form_title": "Second"}}
    )
    assert (await author.import_workbook(book("old", "A"), if_exists="ask"))["status"] == "complete"
    assert (await author.import_workbook(book("new", "B"), if_exists="ask"))["status"] == "error"
    await restore(author, (await versions_of(author, created))[-1])
    assert (await author.import_workbook(book("new", "C"), if_exists="ask"))["status"] == "complete"
    other = await author.other()
    assert (await other.import_workbook(book("old", "First"), if_exists="ask"))[
        "status"
    ] == "complete"


async def test_answers_do_not_exceed_the_queue(start: StartService) -> None:
    async with start(max_queued_imports=1) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        author = Author(service, headers, import_worker(service))
        await author.import_workbook(book())
        asked = await author.import_workbook(book(), if_exists="ask")
        await author.send(book("other", "Other"))
        assert (await answer(author, asked, if_exists="create")).status_code == 429
        assert await author.worker.process_one()
        assert (await answer(author, asked, if_exists="create")).status_code == 200


async def test_the_time_until_the_answer_is_not_one_of_a_worker(author: Author) -> None:
    await author.import_workbook(book())
    asked = await author.import_workbook(book(), if_exists="ask")
    minute_ago = imports.update().values(claimed_at=imports.c.claimed_at - text("60000000"))
    with write_sql(author.service, "imports") as connection:
        connection.execute(minute_ago.where(imports.c.uid == asked["uid"]))
    assert (await answer(author, asked, if_exists="create")).status_code == 200
    assert await import_worker(author.service, only_quick=True).process_one()
