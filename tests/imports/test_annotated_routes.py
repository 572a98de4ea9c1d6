"""`/api/v2/imports/{uid}/rows/` and `/annotated.xlsx`: problems next to their rows, and marked in the file."""

import asyncio
import io
import zipfile

import pytest
from openpyxl import load_workbook

from fieldgate.imports.sandbox.request_sandbox import MAX_WAITING_PER_USER
from fieldgate.imports.tables import imports
from tests.conftest import Service
from tests.data.sql import write_sql
from tests.imports.conftest import OpenHarness
from tests.imports.hostile import modified_workbook
from tests.imports.test_worker import ImportHarness
from tests.imports.workbooks import xlsx
from tests.imports.xlsform.test_excerpt_builder import HOUSEHOLD
from tests.imports.xlsform.workbooks import csv_with_sections
from tests.processes import TIMEOUT_SECONDS

PATH = "/api/v2/imports/"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BAD_FORM = xlsx(**HOUSEHOLD)


async def test_rows_with_problems(harness: ImportHarness) -> None:
    record = await harness.import_workbook(BAD_FORM)
    rows = await harness.get(record["url"] + "rows/")
    survey, choices = rows["sheets"]
    assert survey["header"] == {
        "row": 1,
        "cells": ["type", "name", "label", "relevant"],
        "marks": [],
    }
    [wrong_type] = [row for row in survey["rows"] if row["row"] == 4]
    assert wrong_type == {
        "row": 4,
        "cells": ["integr", "age", "Age", ""],
        "marks": [{"kind": "problem", "index": 0, "cell": 0}],
    }
    assert record["messages"]["problems"][0]["row"] == 4
    assert choices["rows"][1]["marks"] == [{"kind": "warning", "index": 0, "cell": 1}]


async def test_rows_of_forms_without_problems_and_files_that_cannot_be_read(
    harness: ImportHarness,
) -> None:
    for book in (xlsx(), b"PK\x03\x04 not a workbook"):
        record = await harness.import_workbook(book)
        assert await harness.get(record["url"] + "rows/") == {"sheets": []}


async def test_annotated_workbook_in_the_language_of_the_caller(harness: ImportHarness) -> None:
    record = await harness.import_workbook(BAD_FORM, filename="Ménage 2.0.xlsx")
    comments = set()
    for language in ("en", "fr"):
        response = await harness.service.get(
            record["url"] + "annotated.xlsx",
            headers={**harness.headers, "Accept-Language": language},
        )
        assert (response.status_code, response.headers["Content-Type"]) == (200, XLSX_TYPE)
        assert (
            "filename*=UTF-8''M%C3%A9nage%202.0-marked.xlsx"
            in response.headers["Content-Disposition"]
        )
        assert "ETag" not in response.headers
        sheet = load_workbook(io.BytesIO(response.content))["survey"]
        assert sheet["A4"].value == "integr"
        comments.add(sheet["A4"].comment.text)
    assert len(comments) == 2


async def test_annotated_copy_of_csv(harness: ImportHarness) -> None:
    record = await harness.import_workbook(csv_with_sections(HOUSEHOLD), filename="household.csv")
    response = await harness.service.get(record["url"] + "annotated.xlsx", headers=harness.headers)
    assert 'filename="household-marked.xlsx"' in response.headers["Content-Disposition"]
    assert load_workbook(io.BytesIO(response.content))["survey"]["A4"].comment is not None


async def test_nothing_to_mark(harness: ImportHarness) -> None:
    url = await harness.send(xlsx())
    for _ in range(2):  # while it is processed, and afterwards
        response = await harness.service.get(url + "annotated.xlsx", headers=harness.headers)
        assert response.status_code == 404
        assert response.json() == {"detail": "This import has no problems or warnings to mark."}
        await harness.worker.process_one()


async def test_only_the_owner_sees_rows_and_file(harness: ImportHarness) -> None:
    record = await harness.import_workbook(BAD_FORM)
    superuser = {"Authorization": f"Token {await harness.service.create_token(is_superuser=True)}"}
    for headers in ({}, superuser):
        for suffix in ("rows/", "annotated.xlsx"):
            response = await harness.service.get(record["url"] + suffix, headers=headers)
            assert response.status_code == 404
            assert response.json() == {"detail": f"There is no import {record['uid']}."}


async def _replace_problems(service: Service) -> None:
    """Give all imports a problem, whatever their files contain."""
    message = {"text": "x", "values": {}}
    problem = {"sheet": "survey", "row": 2, "column": "type", "code": "x", "message": message}
    messages = {
        "updated": [],
        "error": message,
        "error_type": "invalid_form",
        "problems": [problem],
    }
    with write_sql(service, "imports") as connection:
        connection.execute(imports.update().values(status="error", messages=messages))


async def test_files_that_cannot_be_marked(harness: ImportHarness) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"xl/part{number}.xml", b" " * 50_000_000)
    cases = [
        (
            b"PK\x03\x04 not a workbook",
            "The file could not be read. Save it as an Excel workbook (.xlsx)",
        ),
        (modified_workbook({"xl/workbook.xml": b"<broken"}), "The file could not be read."),
        (bomb.getvalue(), "The file could not be read."),
        (
            f'type,name\ntext,"{"x" * 40_000}"\n'.encode(),
            "Sheet “survey”, row 2: a cell has more text than Excel allows",
        ),
    ]
    for book, error in cases:
        url = await harness.send(book)
        await _replace_problems(harness.service)
        response = await harness.service.get(url + "annotated.xlsx", headers=harness.headers)
        assert response.status_code == 404
        assert response.json()["detail"].startswith(error)


async def test_marking_has_the_limits_of_the_sandbox(open_harness: OpenHarness) -> None:
    large = xlsx(survey=[["type", "name"], *([f"text {row}", "x" * 500] for row in range(20_000))])
    async with open_harness(import_memory=70 * 1024 * 1024) as harness:
        url = await harness.send(large)
        await _replace_problems(harness.service)
        response = await harness.service.get(url + "annotated.xlsx", headers=harness.headers)
    assert response.status_code == 404
    assert response.json()["detail"].startswith(
        "The file cannot be marked: it is too large, or damaged."
    )


async def test_flood_of_downloads_is_refused(
    harness: ImportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", TIMEOUT_SECONDS)
    record = await harness.import_workbook(BAD_FORM)

    async def download() -> int:
        return (
            await harness.service.get(record["url"] + "annotated.xlsx", headers=harness.headers)
        ).status_code

    statuses = await asyncio.gather(*(download() for _ in range(1 + MAX_WAITING_PER_USER + 3)))
    assert sorted(statuses) == [200] * (1 + MAX_WAITING_PER_USER) + [503] * 3
