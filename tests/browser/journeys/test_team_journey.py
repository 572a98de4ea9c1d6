"""A coordinator in Arabic on a phone: a team, pasted names, a shared form, and who has access through the team."""

import secrets

import pytest
from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser.chromium import PHONE
from tests.browser.demo_site import DemoSite
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor

FORM = "Water points"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("language", "way"),
    [(Language.ARABIC, "mouse"), (Language.ENGLISH, "no-script")],
    ids=lambda value: str(value),
)
def test_team_from_creation_to_removal(
    start_actor: StartActor, site: DemoSite, language: Language, way: str
) -> None:
    suffix = secrets.token_hex(3)
    coordinator, *members = (
        f"{name}_{suffix}" for name in ("leila", "ann", "bashir", "carla", "dina", "emil")
    )
    for name in members:
        site.add_user(username=name)
    site.tokens[coordinator] = site.create_user(coordinator)
    site.send(coordinator, "POST", "/api/v2/assets/", json={"name": FORM, "asset_type": "block"})
    actor = start_actor(language, way, width=PHONE)
    actor.log_in(coordinator)
    create_team(actor, f"WASH {suffix}")
    paste_names(actor, members)
    share_with_team(actor, f"WASH {suffix}", members)
    see_why(actor, f"WASH {suffix}", members[1])
    remove_member(actor, f"WASH {suffix}", members[0])
    with site.client(coordinator) as client:
        found = client.get("/api/v2/teams/").json()["results"]
    assert [each["member_count"] for each in found] == [len(members)]


def create_team(actor: Actor, name: str) -> None:
    actor.follow("Teams")
    actor.fill("Name", name)
    actor.press("Create a team", actor.main)
    expect(actor.page.get_by_role("heading", level=1)).to_have_text(name)


def paste_names(actor: Actor, members: list[str]) -> None:
    actor.fill("Usernames", ",\n".join(members))
    actor.press("Preview", actor.main)
    actor.press("Add to the team", actor.main)
    for name in members:
        expect(actor.main.get_by_role("link", name=name)).to_be_visible()


def share_with_team(actor: Actor, team: str, members: list[str]) -> None:
    actor.follow("Forms")
    actor.follow_named(FORM, actor.main)
    actor.follow("Share", actor.main)
    assert actor.main.locator(f'datalist option[value="team:{team}"]').count() == 1
    actor.fill("Username or team", f"team:{team}")
    actor.main.locator("[name=permissions][value=view_asset]").check()
    actor.press("Preview", actor.main)
    actor.press("Share", actor.main)
    rows = actor.page.get_by_role("row")
    for name in (team, *members):
        expect(rows.filter(has=actor.page.get_by_text(name, exact=True)).first).to_be_visible()


def see_why(actor: Actor, team: str, member: str) -> None:
    row = (
        actor.page.locator(".people tr")
        .filter(has=actor.page.locator("th bdi", has_text=member))
        .last
    )
    actor.follow("Why?", row)
    actor.sees("Comes from the team {name}.", name=f"\u2068{team}\u2069")
    actor.page.go_back()


def remove_member(actor: Actor, team: str, member: str) -> None:
    actor.follow_named(team, actor.main)
    actor.follow_named(member, actor.main)
    actor.press("Remove from the team", actor.main)
    actor.sees("{name} is not in the team any more.", name=f"\u2068{member}\u2069")
    expect(actor.main.get_by_role("link", name=member)).to_have_count(0)
