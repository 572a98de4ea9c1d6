"""Rights and teams from claims: brought in line at each login, never more than the settings say."""

import pytest

from tests.accounts.sign_on.conftest import StartSignOn, user_id_of
from tests.accounts.sign_on.sign_on_browser import SignOnBrowser
from tests.accounts.sign_on.stand_in_provider import StandInProvider
from tests.conftest import Service
from tests.data.accounts import PASSWORD, create_token, link_identity


async def create_team(service: Service, name: str, owner: str) -> str:
    body = {"name": name}
    answer = await service.request("POST", "/api/v2/teams/", json=body, auth=(owner, PASSWORD))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["uid"])


async def teams_of(browser: SignOnBrowser) -> set[str]:
    answer = await browser.service.get(
        "/api/v2/teams/", headers={"Cookie": f"fieldgate_session={browser.session}"}
    )
    return {team["name"] for team in answer.json()["results"]}


async def test_countries_and_ifrc(sign_on: StartSignOn, provider: StandInProvider) -> None:
    steps: list[tuple[dict[str, object], list[str], bool]] = [
        ({"countries": ["KEN", "tcd", "KEN", "XXX", 7], "ifrc": True}, ["KEN", "TCD"], True),
        ({"countries": "NPL, KEN", "ifrc": "true"}, ["NPL", "KEN"], True),
        ({"countries": "NPL KEN", "ifrc": ["true"]}, ["NPL", "KEN"], False),
        ({"countries": {"KEN": 1}, "ifrc": "yes"}, [], False),
        ({"countries": "KEN", "ifrc": "true"}, ["KEN"], True),
        ({"countries": [], "ifrc": 1}, [], False),
        ({"countries": "KEN", "ifrc": "true"}, ["KEN"], True),
        ({}, [], False),  # Keycloak leaves out a claim that has no value
    ]
    async with sign_on(countries_claim="countries", ifrc_claim="ifrc") as browser:
        for claims, countries, is_ifrc in steps:
            provider.claims = {"preferred_username": "amina", **claims}
            assert (await browser.log_in()).status_code == 303
            me = await browser.me()
            assert (me["countries"], me["is_ifrc"]) == (countries, is_ifrc), claims


async def test_rights_without_a_claim_stay(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """Who is configured to decide about nothing decides about nothing, whatever it sends."""
    async with sign_on() as browser:
        await browser.log_in()
        await browser.service.create_user("sara", is_superuser=True)
        changes = {"is_ifrc": True, "countries": ["KEN"]}
        answer = await browser.service.request(
            "PATCH", "/api/v2/users/amina/", json=changes, auth=("sara", PASSWORD)
        )
        assert answer.status_code == 200
        provider.claims |= {"is_ifrc": False, "countries": [], "groups": []}
        await browser.log_in()
        me = await browser.me()
        assert (me["is_ifrc"], me["countries"]) == (True, ["KEN"])


async def test_teams(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async with sign_on() as before:
        service = before.service
        await service.create_user("sara")
        wash, health, other = [
            await create_team(service, name, "sara") for name in ("WASH", "Health", "Other")
        ]
    teams = {"wash": wash, "water": wash, "health": health, "gone": "tGone", "odd name": health}
    async with sign_on(teams_claim="groups", teams=teams) as browser:
        await browser.log_in()
        assert await teams_of(browser) == set()
        joins = f"/api/v2/teams/{other}/members/"
        await browser.service.request(
            "POST", joins, json={"users": ["amina"]}, auth=("sara", PASSWORD)
        )
        steps: list[tuple[object, set[str]]] = [
            (["wash", "water", "unknown"], {"WASH"}),
            (["health"], {"Health"}),
            ("wash", {"WASH"}),
            ("odd name", {"Health"}),  # a text is one value
            ("wash,health", set()),
            ("wash health", set()),
            (["odd name", "gone", 5], {"Health"}),
            ([], set()),
            (["wash"], {"WASH"}),
            (None, set()),
        ]
        for groups, expected in steps:
            provider.claims = {"preferred_username": "amina", "groups": groups}
            assert (await browser.log_in()).status_code == 303
            assert await teams_of(browser) == {"Other", *expected}, groups
        assert "(team tGone)" in caplog.text
        await browser.service.create_user("root", is_superuser=True)
        answer = await browser.service.get(
            "/api/v2/audit-logs/?q=action:add-member", auth=("root", PASSWORD)
        )
        entry = answer.json()["results"][0]
        assert entry["username"] == "amina"


async def test_a_full_team_does_not_stop_a_login(
    sign_on: StartSignOn,
    provider: StandInProvider,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_TEAM_MEMBERS", 1)
    async with sign_on() as before:
        await before.service.create_user("sara")
        full = await create_team(before.service, "Full", "sara")
    async with sign_on(teams_claim="groups", teams={"full": full}) as browser:
        provider.claims["groups"] = "full"
        assert (await browser.log_in()).status_code == 303
        assert await teams_of(browser) == set()
        assert (
            f"A team has at most 1 members. Create another team for more people. (team {full})"
            in caplog.text
        )


async def test_groups_that_entra_leaves_out_change_nothing(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    async with sign_on() as before:
        await before.service.create_user("sara")
        team = await create_team(before.service, "WASH", "sara")
    async with sign_on(teams_claim="groups", teams={"wash": team}) as browser:
        provider.claims["groups"] = ["wash"]
        await browser.log_in()
        provider.claims = {"preferred_username": "amina", "_claim_names": {"groups": "src1"}}
        await browser.log_in()
        assert await teams_of(browser) == {"WASH"}


async def test_the_last_admin_of_a_team_stays(
    sign_on: StartSignOn, provider: StandInProvider, caplog: pytest.LogCaptureFixture
) -> None:
    async with sign_on() as before:
        await before.log_in()
        token = create_token(before.service, await user_id_of(before.service, "amina"))
        answer = await before.service.request(
            "POST",
            "/api/v2/teams/",
            json={"name": "Own"},
            headers={"Authorization": f"Token {token}"},
        )
        own = answer.json()["uid"]
    async with sign_on(teams_claim="groups", teams={"own": own}) as browser:
        assert (await browser.log_in()).status_code == 303
        assert await teams_of(browser) == {"Own"}
        assert f"(team {own})" in caplog.text


async def test_nobody_becomes_a_superuser_by_a_claim(
    sign_on: StartSignOn, provider: StandInProvider
) -> None:
    values: list[object] = [True, "true", ["superuser", "admin"], "superuser"]
    claim = "is_superuser"
    async with sign_on(
        ifrc_claim=claim, countries_claim=claim, teams_claim=claim, teams={"superuser": "tX"}
    ) as browser:
        for value in values:
            provider.claims = {
                "preferred_username": "amina",
                "admin": True,
                "roles": ["admin"],
                claim: value,
            }
            assert (await browser.log_in()).status_code == 303
            assert (await browser.me())["is_superuser"] is False


async def test_a_superuser_stays_one(sign_on: StartSignOn, provider: StandInProvider) -> None:
    """The last superuser, too, whom no claim can lock out."""
    async with sign_on(ifrc_claim="ifrc") as browser:
        _, user_id = await browser.service.create_user("sara", is_superuser=True, is_ifrc=True)
        link_identity(browser.service, user_id, provider.issuer, provider.subject)
        provider.claims = {"is_superuser": False}
        assert (await browser.log_in()).status_code == 303
        me = await browser.me()
        assert (me["is_superuser"], me["is_ifrc"]) == (True, False)
