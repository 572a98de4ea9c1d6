"""A team on both databases."""

from collections.abc import AsyncIterator

import pytest

from tests.assets.sharing.sharing_team import Team
from tests.conftest import Start


@pytest.fixture
async def team(start: Start, database_url: str) -> AsyncIterator[Team]:
    async with start(database_url=database_url) as service:
        yield await Team.gathered(service)
