"""Delete a form, undo that, delete it again, restart the service, restore the form with all its permissions."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import SUPERUSER, USERNAMES, DemoSite, DemoTexts
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor
from tests.data.accounts import PASSWORD
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

NAME = "Shelter needs"
WAYS = [
    ("sqlite", Language.ENGLISH, "no-script"),
    ("sqlite", Language.ENGLISH, "keyboard"),
    ("postgresql", Language.ARABIC, "mouse"),
]


@pytest.fixture
def environment(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """A database without users. Its fixtures cannot be used: they run in the event loop, which the browser has."""
    address = (
        f"sqlite:///{tmp_path}/trash.db"
        if kind == "sqlite"
        else request.getfixturevalue("postgres")
    )
    found = {"FIELDGATE_DATABASE_URL": address}
    done = run_command("migrate", data=tmp_path, environment=found)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def site(tmp_path: Path, environment: dict[str, str]) -> Iterator[DemoSite]:
    arguments = ("user", "create", USERNAMES[SUPERUSER], "--password-stdin", "--superuser")
    done = run_command(*arguments, data=tmp_path, stdin=PASSWORD, environment=environment)
    assert done.returncode == 0, done.stderr
    with ServerProcess(tmp_path, environment=environment) as process:
        yield DemoSite(process, DemoTexts())


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "language", "way"), WAYS, ids=lambda value: getattr(value, "value", value)
)
def test_delete_undo_restart_and_restore(
    start_actor: StartActor,
    site: DemoSite,
    environment: dict[str, str],
    people: tuple[str, str],
    language: Language,
    way: str,
) -> None:
    owner, colleague = people
    with httpx.Client(
        base_url=site.base_url, auth=(owner, PASSWORD), timeout=TIMEOUT_SECONDS
    ) as client:
        path = httpx.URL(
            client.post("/api/v2/assets/", json={"name": NAME}).raise_for_status().json()["url"]
        ).path
        for name, permission in ((colleague, "manage_asset"), ("AnonymousUser", "view_asset")):
            body = {"user": name, "permission": permission}
            client.post(f"{path}permission-assignments/", json=body).raise_for_status()
        before = read(client, path)
        leila, bashir = start_actor(language, way), start_actor(language, way)
        leila.log_in(owner)
        bashir.log_in(colleague)
        leila.follow("Forms")
        delete(leila)
        assert client.get(path).status_code == 404
        leila.press("Undo")
        expect(leila.page.get_by_role("heading", level=1)).to_have_text(NAME)
        assert read(client, path) == before
        leila.follow("Forms")
        delete(leila)

        site.process.stop()
        with ServerProcess(site.process.data, environment=environment, port=site.process.port):
            assert client.get(path).status_code == 404
            leila.follow("Deleted forms", leila.main)
            leila.sees_heading("Deleted forms")
            row = leila.page.get_by_role("row").filter(has_text=NAME)
            expect(row).to_contain_text("30")
            bashir.page.goto("/api/v2/assets/deleted/")
            bashir.sees("No form was deleted lately.")
            leila.activate(row.get_by_role("button"))
            expect(leila.page.get_by_role("heading", level=1)).to_have_text(NAME)
            assert read(client, path) == before
            bashir.follow("Forms")
            bashir.follow_named(NAME, bashir.main)


def delete(actor: Actor) -> None:
    actor.follow_named(NAME, actor.main)
    actor.open_section("Delete", actor.main)
    actor.press("Delete…")
    actor.press("Yes, delete")
    expect(actor.page.get_by_role("status")).to_contain_text(NAME)


def read(client: httpx.Client, path: str) -> list[object]:
    """The form, and who may do what with it, as the owner and as everybody."""
    public = httpx.get(client.base_url.join(path), timeout=TIMEOUT_SECONDS)
    answers = [client.get(path), client.get(f"{path}permission-assignments/"), public]
    return [answer.raise_for_status().json() for answer in answers]
