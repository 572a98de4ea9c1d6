"""Delete a form, undo that, delete it again, find it among the deleted ones, restore it with its people."""

import httpx
import pytest
from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import DemoSite
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor
from tests.conftest import PASSWORD

NAME = "Shelter needs"
WAYS = [
    (Language.ENGLISH, "no-script"),
    pytest.param(Language.ARABIC, "mouse", marks=pytest.mark.nightly),
    pytest.param(Language.ENGLISH, "keyboard", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(("language", "way"), WAYS, ids=lambda value: getattr(value, "value", value))
def test_delete_undo_and_restore(
    start_actor: StartActor, site: DemoSite, people: tuple[str, str], language: Language, way: str
) -> None:
    owner, colleague = people
    with httpx.Client(base_url=site.base_url, auth=(owner, PASSWORD)) as client:
        path = httpx.URL(client.post("/api/v2/assets/", json={"name": NAME}).raise_for_status().json()["url"]).path
        for name in (colleague, "AnonymousUser"):
            body = {"user": name, "permission": "view_asset"}
            client.post(f"{path}permission-assignments/", json=body).raise_for_status()
        before = client.get(path).json()
        leila = start_actor(language, way)
        leila.log_in(owner)
        leila.follow("Forms")
        delete(leila)
        assert client.get(path).status_code == 404
        leila.press("Undo")
        expect(leila.page.get_by_role("heading", level=1)).to_have_text(NAME)
        assert client.get(path).json() == before

        leila.follow("Forms")
        delete(leila)
        leila.follow("Deleted forms", leila.main)
        leila.sees_heading("Deleted forms")
        row = leila.page.get_by_role("row").filter(has_text=NAME)
        expect(row).to_contain_text("30")
        bashir = start_actor(language, way)
        bashir.log_in(colleague)
        bashir.page.goto("/api/v2/assets/deleted/")
        bashir.sees("No form was deleted lately.")
        leila.activate(row.get_by_role("button"))
        expect(leila.page.get_by_role("heading", level=1)).to_have_text(NAME)
        assert client.get(path).json() == before
        bashir.follow("Forms")
        bashir.follow_named(NAME, bashir.main)


def delete(actor: Actor) -> None:
    actor.follow_named(NAME, actor.main)
    actor.open_section("Delete", actor.main)
    actor.press("Delete…")
    actor.press("Yes, delete")
    expect(actor.page.get_by_role("status")).to_contain_text(NAME)
