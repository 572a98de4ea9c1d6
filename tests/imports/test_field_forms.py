"""Files as they are found in the field, sent over HTTP: each is imported, with the right texts."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import StartService
from tests.imports.test_worker import ImportHarness
from tests.imports.xlsform.large_forms import nested_repeats_form
from tests.imports.xlsform.workbooks import xlsx

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


def csv_form(labels: list[str]) -> str:
    rows = "".join(f'text,q{number},"{label}"\n' for number, label in enumerate(labels))
    return f"type,name,label\n{rows}"


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
