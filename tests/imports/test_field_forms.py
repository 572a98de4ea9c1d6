"""Files as they are found in the field, sent over HTTP: each is imported, with the right texts."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import StartService
from tests.imports.test_worker import ImportHarness
from tests.imports.xlsform.large_forms import nested_repeats_form
from tests.imports.xlsform.test_fallback_readers import rows_as_dimension
from tests.imports.xlsform.workbooks import Rows, xls, xlsx

CPU_SECONDS = 20  # the large form takes half a second; before, it took 50


@pytest.fixture
async def harness(start: StartService, database_url: str) -> AsyncIterator[ImportHarness]:
    settings: dict[str, Any] = {"import_seconds": CPU_SECONDS}
    async with start(database_url=database_url, **settings) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        yield ImportHarness(service, headers, ImportWorker(Settings(**settings), service.database))


async def test_form_of_nested_repeats(harness: ImportHarness) -> None:
    """pyxform alone takes longer than the limit."""
    record = await harness.import_workbook(xlsx(nested_repeats_form()))
    assert record["status"] == "complete", record["messages"]
    asset = await harness.asset(record)
    assert len(asset["content"]["survey"]) > 1_200


@pytest.mark.parametrize("rows", [2**20, 2**24])
async def test_old_xls_file_with_a_large_extent(harness: ImportHarness, rows: int) -> None:
    """Calamine reserves 40 bytes for each cell that a sheet claims to have: 10 GB, or more than the process may."""
    survey: Rows = [["type", "name", "label"], *(["integer", f"q{number}", f"Âge {number}"] for number in range(28))]
    record = await harness.import_workbook(xls({"survey": survey}, extent=(rows, 256)), filename="old.xls")
    assert record["status"] == "complete", record["messages"]
    labels = [row["label"] for row in (await harness.asset(record))["content"]["survey"]]
    assert labels == [[f"Âge {number}"] for number in range(28)]


async def test_xlsx_with_only_rows_as_its_dimension(harness: ImportHarness) -> None:
    record = await harness.import_workbook(rows_as_dimension())
    assert record["status"] == "complete", record["messages"]
    asset = await harness.asset(record)
    assert (asset["name"], [row["label"] for row in asset["content"]["survey"]]) == ("Paint", [["Où?"]])


def csv_form(labels: list[str]) -> str:
    rows = "".join(f'text,q{number},"{label}"\n' for number, label in enumerate(labels))
    return f"type,name,label\n{rows}"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16", "utf-8"])
async def test_csv_in_unicode(harness: ImportHarness, encoding: str) -> None:
    labels = ["ما اسمك؟", "كم عمرك؟"]
    record = await harness.import_workbook(csv_form(labels).encode(encoding), filename="form.csv")
    assert record["status"] == "complete", record["messages"]
    survey = (await harness.asset(record))["content"]["survey"]
    assert [row["label"] for row in survey] == [[label] for label in labels]


@pytest.mark.parametrize(
    ("language", "advice"), [("en", "CSV UTF-8"), ("fr", "jeu de caractères"), ("ar", "مجموعة المحارف")]
)
async def test_csv_of_unknown_letters_is_refused_with_advice(
    harness: ImportHarness, language: str, advice: str
) -> None:
    url = await harness.send(csv_form(["Père"]).encode("cp1252"), filename="form.csv")
    assert await harness.worker.process_one()
    messages = (await harness.get(url, **{"Accept-Language": language}))["messages"]
    assert messages["error_type"] == "unknown_encoding"
    assert advice in messages["error"]
    listed = await harness.get("/api/v2/assets/")
    assert listed["count"] == 0
