"""The permission matrix in the documents equals what the service does."""

import difflib

import pytest

from fieldgate.app import operations
from tests.access.matrix import CALLS, DOCUMENT, render_table
from tests.conftest import StartService


def test_every_operation_has_a_request() -> None:
    assert {operation.name for operation in operations()} == set(CALLS), (
        "add a valid request to tests/access/matrix.py"
    )


@pytest.mark.nightly
async def test_document_equals_behaviour(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        found = (await render_table(service)).splitlines()
    expected = DOCUMENT.read_text().splitlines()
    difference = "\n".join(
        difflib.unified_diff(expected, found, "document", "service", lineterm="", n=0)
    )
    assert not difference, f"{difference}\nIf this is intended, run: make permission-matrix"
