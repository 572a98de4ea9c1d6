"""From a workbook to a shared form: upload, problems, preview, versions, sharing, and leaving."""

import re

import pytest
from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser import demo_forms
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor
from tests.imports.hostile import billion_laughs

IMPORT_TIMEOUT_MS = 60_000
TITLE = "Needs in Sennar"
WAYS = [
    pytest.param(Language.ENGLISH, "mouse", marks=pytest.mark.nightly),
    pytest.param(Language.ARABIC, "mouse", marks=pytest.mark.nightly),
    (Language.ENGLISH, "no-script"),
    pytest.param(Language.ARABIC, "keyboard", marks=pytest.mark.nightly),
]


@pytest.mark.parametrize(
    ("language", "way"), WAYS, ids=lambda value: getattr(value, "value", value)
)
def test_form_from_upload_to_sharing(
    start_actor: StartActor, people: tuple[str, str], language: Language, way: str
) -> None:
    coordinator, colleague = people
    leila = start_actor(language, way)
    leila.log_in(coordinator)
    upload_three_files(leila, has_script=way != "no-script")
    look_at_problems(leila)
    look_at_the_form(leila)
    upload_second_version(leila)
    compare_versions(leila)
    share_after_preview(leila, colleague)

    bashir = start_actor(language, way)
    bashir.log_in(colleague)
    see_as_colleague(bashir)
    leave(bashir)


@pytest.mark.parametrize("way", ["mouse", "no-script"])
def test_check_before_upload(start_actor: StartActor, people: tuple[str, str], way: str) -> None:
    actor = start_actor(Language.ARABIC, way)
    actor.log_in(people[0])
    actor.follow("Imports")
    files = [
        ("needs.xlsx", demo_forms.household(TITLE)),
        ("mistakes.xlsx", demo_forms.with_problems()),
    ]
    field = actor.main.locator("input[type=file]").first
    actor.choose_files(field, files)
    actor.press("Check only", actor.main)
    checks = actor.main.locator("#checks")
    expect(checks.get_by_role("heading", name="mistakes.xlsx")).to_be_visible(
        timeout=IMPORT_TIMEOUT_MS
    )
    expect(checks).to_contain_text(actor.words("Nothing was stored."))
    expect(checks.locator("td.marked.problem").first).to_be_visible()
    expect(checks.get_by_role("heading", name="needs.xlsx")).to_be_visible()
    actor.sees("You have not imported anything yet. Choose a file above; its result appears here.")
    if way == "no-script":
        actor.choose_files(field, files)  # a browser keeps no files for another page
    actor.press("Upload", actor.main)
    for filename, _ in files:
        expect(actor.page.get_by_role("row").filter(has_text=filename)).to_be_visible(
            timeout=IMPORT_TIMEOUT_MS
        )


def upload_three_files(actor: Actor, has_script: bool = True) -> None:
    words = actor.words
    actor.follow("Imports")
    actor.choose_files(
        actor.main.locator("input[type=file]").first,
        [
            ("needs.xlsx", demo_forms.household(TITLE)),
            ("mistakes.xlsx", demo_forms.with_problems()),
            ("bomb.xlsx", billion_laughs()),
        ],
    )
    actor.press("Upload", actor.main)
    expected = {
        "needs.xlsx": "Imported",
        "mistakes.xlsx": "Not imported",
        "bomb.xlsx": "Not imported",
    }
    for filename, status in expected.items():
        row = actor.page.get_by_role("row").filter(
            has=actor.page.get_by_role("link", name=filename)
        )
        # With a script the list changes by itself. Without one the browser reloads it.
        expect(row).to_contain_text(words(status), timeout=IMPORT_TIMEOUT_MS)


def look_at_problems(actor: Actor) -> None:
    actor.follow_named("mistakes.xlsx", actor.main)
    actor.sees_heading_about("{file} was not imported", "file", "mistakes.xlsx")
    actor.sees("Nothing was changed.")
    actor.sees("Row {row}", row=3)
    expect(actor.main).to_contain_text("integer")  # the message proposes the right spelling
    actor.follow("Imports")


def look_at_the_form(actor: Actor) -> None:
    words = actor.words
    actor.follow("Forms")
    actor.follow_named(TITLE, actor.main)
    expect(actor.page.get_by_role("heading", level=1)).to_have_text(TITLE)
    languages = actor.main.get_by_role(
        "navigation", name=words("Language of the form")
    ).get_by_role("link")
    actor.activate(languages.first)
    for label in ("Head of household", "How many people live here?", "Sennar"):
        actor.sees_text(label)
    actor.sees("Required")
    actor.activate(languages.last)
    actor.sees_text("رب الأسرة")
    expect(actor.page.get_by_role("link", name=words("Download Excel"))).to_be_visible()


def upload_second_version(actor: Actor) -> None:
    actor.follow("Upload a new version")
    actor.choose_files(
        actor.main.locator("input[type=file]").first,
        [("needs.xlsx", demo_forms.household_second_version(TITLE))],
    )
    actor.press("Upload", actor.main)
    link = actor.page.get_by_role("link", name=actor.words("View the form"))
    expect(link).to_be_visible(timeout=IMPORT_TIMEOUT_MS)
    actor.activate(link)


def compare_versions(actor: Actor) -> None:
    words = actor.words
    actor.follow_named(re.compile(re.escape(words("What changed"))), actor.main)
    actor.sees_heading("What changed in version {number}", number=2)
    is_arabic = words.language is Language.ARABIC  # the form has its labels in Arabic, too
    for text in (
        ("رقم الهاتف", "صورة المنزل") if is_arabic else ("Phone number", "Photo of the house")
    ):
        actor.sees_text(text)
    for text in ("Rice left, in kg", "Rice left, in kilograms"):
        actor.sees_text(text)
    for change in ("Added", "Deleted", "Changed"):
        actor.sees(change)
    actor.follow_named(TITLE, actor.main)


def share_after_preview(actor: Actor, colleague: str) -> None:
    words = actor.words
    actor.follow("Share", actor.main)
    actor.fill("Username or team", colleague)
    actor.tick("Edit form")
    actor.press("Preview", actor.main)
    preview = actor.main.get_by_role("status").filter(has=actor.page.get_by_role("heading"))
    expect(preview).to_contain_text(colleague)
    expect(preview).to_contain_text(words("View form"))
    expect(preview).to_contain_text(words("Edit form"))
    expect(actor.page.get_by_role("row").filter(has_text=colleague)).to_have_count(
        0
    )  # nothing is saved yet
    actor.press("Share", actor.main)
    expect(actor.page.get_by_role("row").filter(has_text=colleague)).to_be_visible()


def see_as_colleague(actor: Actor) -> None:
    actor.follow("Forms")
    actor.follow_named(TITLE, actor.main)
    expect(actor.page.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(actor.page.get_by_role("link", name=actor.words("Upload a new version"))).to_be_visible()
    expect(actor.page.locator("summary").filter(has_text=actor.words("Delete"))).to_have_count(0)


def leave(actor: Actor) -> None:
    actor.follow("Who has access", actor.main)
    actor.follow("Leave this form", actor.main)
    actor.press("Leave", actor.main)
    actor.follow("Forms")
    expect(actor.page.get_by_role("link", name=TITLE)).to_have_count(0)
