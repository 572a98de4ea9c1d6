"""Lists of a server like KoboToolbox: at most 1000, `start` in links, bare arrays, lists without a count."""

import pytest
from fieldgate_client import AsyncClient, Client
from fieldgate_client.errors import FieldgateError

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.kobo import TOKEN, KoboStandIn


@pytest.mark.parametrize("page_size", [1, 7, 50, 5000])
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_assets_are_complete_with_every_page_size(page_size: int, concurrency: int) -> None:
    number = {1: 20, 7: 60, 50: 220}.get(page_size, 1100)
    kobo = KoboStandIn(number, number)
    with kobo.server:
        async with AsyncClient(
            kobo.server.base_url, TOKEN, page_size=page_size, concurrency=concurrency, options=QUICK
        ) as client:
            assets = client.assets()
            assert [asset.uid async for asset in assets] == [asset["uid"] for asset in kobo.assets]
            assert assets.report.passes == 1
            without_count = client.list("assets/minimal-list/")
            assert [record async for record in without_count] == kobo.assets
            assert without_count.report.count is None
            with pytest.raises(FieldgateError, match="does not tell how many"):
                await without_count.count()
            data = client.list(f"assets/{kobo.assets[0]['uid']}/data/")
            assert [record async for record in data] == kobo.submissions
            assert data.report.passes == 1
            limits = {int(request.query.get("limit", 0)) for request in kobo.server.requests}
            assert max(limits) <= max(2, page_size)


def test_a_bare_array_is_the_whole_list() -> None:
    kobo = KoboStandIn(1)
    path = f"assets/{kobo.assets[0]['uid']}/permission-assignments/"
    with kobo.server, Client(kobo.server.base_url, TOKEN, page_size=4, options=QUICK) as client:
        everything = list(client.list(path))
        assert len(everything) == len(client.list(path)) == 15
        assert [*client.list(path)[10:13]] == everything[10:13]
        assert [*client.list(path)[10:40]] == everything[10:]
        assert [*client.list(path)[20:]] == []
        assert client.list(path)[-1] == everything[-1]
        assert client.list(path).first() == everything[0]


async def test_the_language_is_not_kept_in_a_cookie() -> None:
    """The live system sends its first language as a cookie, and prefers the cookie to the header."""
    kobo = KoboStandIn()
    with kobo.server:
        async with AsyncClient(kobo.server.base_url, language="fr", options=QUICK) as client:
            english = await client.connection.fetch(
                "permissions/", (), lambda sent: sent, language="en"
            )
            assert b"Can view asset" in english.body
            assert "set-cookie" in english.headers
            assert [each.name async for each in client.permissions()][1] == "Peut voir"
            assert all("cookie" not in request.headers for request in kobo.server.requests)
