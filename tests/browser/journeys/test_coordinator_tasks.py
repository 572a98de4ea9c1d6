"""A field coordinator's five tasks, in Arabic on a phone, by clicks from the home page only, with few steps.

A step is a click, or a field that is filled. Run with `-s` to see the steps of each task.
"""

import csv
import io
from pathlib import Path

from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser import demo_forms
from tests.browser.chromium import PHONE
from tests.browser.demo_site import FLOOD, USER, DemoSite
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor
from tests.browser.journeys.test_form_journey import IMPORT_TIMEOUT_MS, TITLE

AFRICA = 0
MAX_STEPS = {"log in": 4, "upload": 3, "problems": 0, "view": 2, "share": 6, "floods": 3}


def test_five_tasks_in_few_steps(
    start_actor: StartActor, site: DemoSite, people: tuple[str, str]
) -> None:
    coordinator, colleague = people
    actor = start_actor(Language.ARABIC, width=PHONE)
    steps = {"log in": _count(actor, lambda: actor.log_in(coordinator))}
    steps["upload"] = _count(
        actor, lambda: _upload(actor, "mistakes.xlsx", demo_forms.with_problems())
    )
    steps["problems"] = _count(actor, lambda: _understand_problems(actor))
    actor.page.goto("/")
    _upload(actor, "needs.xlsx", demo_forms.household(TITLE))
    expect(actor.page.get_by_role("link", name=actor.words("View the form"))).to_be_visible(
        timeout=IMPORT_TIMEOUT_MS
    )
    actor.page.goto("/")
    steps["view"] = _count(actor, lambda: _view(actor))
    steps["share"] = _count(actor, lambda: _share(actor, colleague))
    actor.page.goto("/")
    steps["floods"] = _count(actor, lambda: _export_floods(actor, site))
    print("steps per task:", steps)
    for task, count in steps.items():
        assert count <= MAX_STEPS[task], (task, steps)


def _count(actor: Actor, task: object) -> int:
    before = len(actor.steps)
    task()  # type: ignore[operator]
    return len(actor.steps) - before


def _upload(actor: Actor, filename: str, content: bytes) -> None:
    actor.follow("Upload a form", actor.main)
    actor.choose_files(actor.main.locator("input[type=file]").first, [(filename, content)])
    actor.press("Upload", actor.main)


def _understand_problems(actor: Actor) -> None:
    """The page of the import opens by itself, and says what to do next to each row."""
    actor.sees_heading_about("{file} was not imported", "file", "mistakes.xlsx", IMPORT_TIMEOUT_MS)
    first = actor.main.locator(".issue").first
    expect(first).to_contain_text(actor.words("Row {row}", row=3))
    expect(first).to_contain_text("integr")
    expect(first).to_be_in_viewport()


def _view(actor: Actor) -> None:
    actor.follow("View and share forms", actor.main)
    actor.follow_named(TITLE, actor.main)
    actor.sees_text("رب الأسرة")


def _share(actor: Actor, colleague: str) -> None:
    actor.follow("Share", actor.main)
    actor.follow("Share with somebody", actor.main)
    actor.fill("Username or team", colleague)
    actor.tick("Edit form")
    actor.press("Preview", actor.main)
    actor.press("Share", actor.main)
    expect(actor.page.get_by_role("row").filter(has_text=colleague)).to_be_visible()


def _export_floods(actor: Actor, site: DemoSite) -> None:
    headers = {"Accept-Language": actor.words.language.value}
    with site.client(USER) as client:
        region = client.get(f"/api/v2/region/{AFRICA}/", headers=headers).json()["region_name"]
        flood = client.get(f"/api/v2/disaster_type/{FLOOD}/", headers=headers).json()["name"]
        filters = {"regions__in": AFRICA, "dtype__in": FLOOD, "limit": 1}
        newest = client.get("/api/v2/event/", params=filters).json()
    actor.follow_named(region, actor.main)
    actor.activate(actor.main.locator(".bars").get_by_role("link", name=flood, exact=True))
    expect(actor.main.get_by_role("list", name=actor.words("Active filters"))).to_contain_text(
        flood
    )
    with actor.page.expect_download() as download:
        actor.activate(actor.main.get_by_role("link", name="CSV", exact=True))
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig"))))
    assert len(rows) == newest["count"]
