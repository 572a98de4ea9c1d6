"""A team of users on both databases."""

from collections.abc import AsyncIterator

import pytest

from tests.assets.sharing.sharing_team import SharingTeam
from tests.conftest import StartService


@pytest.fixture
async def team(start: StartService, database_url: str) -> AsyncIterator[SharingTeam]:
    async with start(database_url=database_url) as service:
        yield await SharingTeam.create(service)
