"""Nobody gets in: what the service does is what the table in the documents says."""

import difflib

from fieldgate.app import operations
from tests.access.matrix import CALLS, DOCUMENT, render_table
from tests.conftest import StartService


def test_every_operation_is_called() -> None:
    assert {operation.name for operation in operations()} == set(CALLS), "add a valid request to tests/access/matrix.py"


async def test_who_may_do_what(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        found = (await render_table(service)).splitlines()
    told = DOCUMENT.read_text().splitlines()
    difference = "\n".join(difflib.unified_diff(told, found, "told", "found", lineterm="", n=0))
    assert not difference, f"{difference}\nIf it is meant: make who"
