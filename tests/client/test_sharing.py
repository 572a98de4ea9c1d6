"""Sharing on Fieldgate: effects before and after, explanations, what-if, and everything or nothing."""

from collections.abc import AsyncIterator
from datetime import date

import pytest
from fieldgate_client import AsyncClient
from fieldgate_client.errors import ConnectionFailed, InvalidRequest

from tests.assets.sharing.sharing_team import SharingTeam
from tests.client.fieldgate_service import ClientService
from tests.conftest import StartService

BATCH = "/api/v2/permission-assignments/add/"


class SharingSite(ClientService):
    team: SharingTeam

    def of(self, user: str, **options: str) -> AsyncClient:
        return self.client(
            self.team.headers[user].get("Authorization", "").removeprefix("Token "), **options
        )


@pytest.fixture
async def site(start: StartService) -> AsyncIterator[SharingSite]:
    async with start() as service:
        opened = SharingSite(service)
        opened.team = await SharingTeam.create(service)
        yield opened


async def test_a_dry_run_then_the_same_effects(site: SharingSite) -> None:
    uid = await site.team.create_asset()
    async with site.of("owner") as client:
        tried = await client.share(uid, "ann", "view_submissions", dry_run=True)
        assert tried.dry_run
        assert not (await client.explain(uid, "ann", "view_submissions")).allowed
        done = await client.share(uid, "ann", "view_submissions")
        assert (done.dry_run, done.effects) == (False, tried.effects)
        assert done.counts == {"granted": 2}
        assert {(each.username, each.codename, each.effect) for each in done.effects} == {
            ("ann", "view_submissions", "granted"),
            ("ann", "view_asset", "granted"),
        }
        assert done.result[0].codenames == ["view_asset", "view_submissions"]
        explained = await client.explain(uid, "ann", "view_asset")
        assert explained.allowed
        assert explained.rules[0].decided
        again = await client.share(uid, "ann", "view_submissions")
        assert (again.counts, again.effects) == ({}, [])


async def test_many_users_and_assets_by_any_reference(site: SharingSite) -> None:
    uids = [await site.team.create_asset() for _ in range(2)]
    async with site.of("owner") as client:
        first = await client.assets(q=f"uid:{uids[0]}").first()
        assert first is not None
        assets = (first, f"{client.connection.server}/assets/{uids[1]}/")
        done = await client.share(
            assets, ["ann", "/api/v2/users/bob/"], "change_asset", "add_submissions"
        )
        assert done.counts == {"granted": 12}
        removed = await client.share(uids, "ann", "view_asset", remove=True)
        assert removed.counts == {"removed": 4}
        assert removed.result[0].codenames == ["add_submissions"]


async def test_a_lost_answer_is_not_repeated_but_a_dry_run_is(site: SharingSite) -> None:
    uid = await site.team.create_asset()
    site.lose = lambda request: request.method == "POST" and len(site.requests("POST", BATCH)) == 1
    async with site.of("owner") as client:
        assert (await client.share(uid, "ann", "view_asset", dry_run=True)).counts == {"granted": 1}
        assert len(site.requests("POST", BATCH)) == 2
        site.lose = lambda request: request.method == "POST"
        with pytest.raises(ConnectionFailed, match="not known whether the server received"):
            await client.share(uid, "ann", "view_asset")
        assert len(site.requests("POST", BATCH)) == 3
        assert (await client.explain(uid, "ann", "view_asset")).allowed


async def test_full_team(site: SharingSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_TEAM_MEMBERS", 2)
    async with site.of("owner") as client:
        team = await client.create_team("WASH")
        await client.add_to_team(team, "ann")
        for dry_run in (True, False):
            with pytest.raises(InvalidRequest, match="A team has at most 2 members"):
                await client.add_to_team(team, ["bob", "viewer"], dry_run=dry_run)


async def test_access_that_ends(site: SharingSite) -> None:
    uid = await site.team.create_asset()
    async with site.of("owner") as client:
        done = await client.share(uid, "ann", "view_asset", until=date(2099, 12, 31))
        assert [each.expires_at for each in done.effects] == ["2099-12-31T23:59:59Z"]
        assert (await client.explain(uid, "ann", "view_asset")).rules[
            0
        ].expires_at == "2099-12-31T23:59:59Z"
        assert (await client.share(uid, "ann", "view_asset")).effects == [], "the end stays"
        [effect] = (await client.share(uid, "ann", "view_asset", until="never")).effects
        assert (effect.effect, effect.expires_at) == ("ends", None)
        with pytest.raises(InvalidRequest, match="in the past"):
            await client.share(uid, "ann", "view_asset", until="2020-01-01")
        with pytest.raises(InvalidRequest, match="not for those that are removed"):
            await client.share(uid, "ann", "view_asset", until="never", remove=True)
