"""People who use the pages: with a mouse or a finger, or with the keyboard only.

An actor finds things as people do, by their role and name. It counts its steps: every click, and every field filled.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from playwright.sync_api import FileChooser, FilePayload, Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.demo_site import WORKBOOK_TYPE
from tests.browser.journeys.words import Words
from tests.data.accounts import PASSWORD

MAX_TABS = 600
MAX_KEY_PRESSES = 3  # a busy browser can lose the first
FILE_DIALOG_TIMEOUT_MS = 10_000


class Actor:
    """Somebody at a page, with a mouse or a finger."""

    def __init__(self, page: Page, words: Words) -> None:
        self.page = page
        self.words = words
        self.steps: list[str] = []

    # What people see

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    def sees(self, text: str, **values: object) -> None:
        expect(self.main).to_contain_text(self.words(text, **values))

    def sees_heading(self, text: str, **values: object) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(self.words(text, **values))

    def sees_heading_about(self, text: str, name: str, value: str, timeout: float = 5_000) -> None:
        """A heading with a name that somebody wrote, perhaps between isolating characters."""
        pattern = re.escape(self.words(text, **{name: "@@"})).replace(
            "@@", f"\u2068?{re.escape(value)}\u2069?"
        )
        expect(self.page.get_by_role("heading", level=1)).to_have_text(
            re.compile(f"^\\s*{pattern}\\s*$"), timeout=timeout
        )

    def sees_text(self, text: str) -> None:
        expect(self.main).to_contain_text(text)

    # What people do

    def follow(self, text: str, within: Locator | None = None, **values: object) -> None:
        """Follow a link with this name."""
        self.activate(
            (within or self.page).get_by_role("link", name=self.words(text, **values)).first
        )

    def follow_named(self, name: str | re.Pattern[str], within: Locator | None = None) -> None:
        """Follow a link whose name somebody wrote, such as the name of a form."""
        self.activate((within or self.page).get_by_role("link", name=name).first)

    def press(self, text: str, within: Locator | None = None, **values: object) -> None:
        self.activate(
            (within or self.page)
            .get_by_role("button", name=self.words(text, **values), exact=True)
            .first
        )

    def open_section(self, text: str, within: Locator | None = None, **values: object) -> None:
        """Open what is behind a title."""
        label = self.words(text, **values)
        self.activate((within or self.page).locator("summary").filter(has_text=label).first)

    def fill(self, label: str, value: str, within: Locator | None = None) -> None:
        self.enter((within or self.main).get_by_label(self.words(label), exact=True).first, value)

    def tick(self, label: str, within: Locator | None = None) -> None:
        self.activate(
            (within or self.main).get_by_label(self.words(label), exact=True).first, key="Space"
        )

    def choose_files(self, field: Locator, files: Sequence[tuple[str, bytes]]) -> None:
        self._count("choose files")
        field.set_input_files(_payloads(files))

    def log_in(self, username: str) -> None:
        self.follow("Log in")
        self.fill("Username", username)
        self.fill("Password", PASSWORD)
        self.press("Log in", self.main)
        expect(self.page.get_by_role("link", name=username)).to_be_visible()

    # How they do it

    def activate(self, target: Locator, key: str = "Enter") -> None:
        self._count(f"activate {_describe(target)}")
        target.click()

    def enter(self, field: Locator, value: str) -> None:
        self._count(f"fill {_describe(field)}")
        field.fill(value)

    def select(self, label: str, option: str) -> None:
        field = self.main.get_by_label(self.words(label), exact=True).first
        self._count(f"select {option}")
        field.select_option(label=option)

    def _count(self, step: str) -> None:
        self.steps.append(step)


class KeyboardActor(Actor):
    """Somebody without a mouse: Tab to everything, then Enter, Space or letters."""

    def __init__(self, page: Page, words: Words) -> None:
        super().__init__(page, words)
        self._file_choosers: list[FileChooser] = []
        # Listen all the time: a listener that is added with the key press can be too late for the dialog.
        page.on("filechooser", lambda chooser: self._file_choosers.append(chooser))

    def activate(self, target: Locator, key: str = "Enter") -> None:
        self._count(f"activate {_describe(target)}")
        self._tab_to(target)
        self.page.keyboard.press(key)

    def enter(self, field: Locator, value: str) -> None:
        self._count(f"fill {_describe(field)}")
        self._tab_to(field)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(value)

    def select(self, label: str, option: str) -> None:
        field = self.main.get_by_label(self.words(label), exact=True).first
        self._count(f"select {option}")
        self._tab_to(field)
        self.page.keyboard.press("Home")
        options = field.locator("option").all_inner_texts()
        for _ in range([each.strip() for each in options].index(option)):
            self.page.keyboard.press("ArrowDown")
        expect(field.locator("option:checked")).to_have_text(option)

    def choose_files(self, field: Locator, files: Sequence[tuple[str, bytes]]) -> None:
        self._count("choose files")
        self.page.wait_for_load_state()
        self._tab_to(field)
        self._file_choosers.clear()
        for _ in range(MAX_KEY_PRESSES):
            with (
                suppress(PlaywrightTimeout),
                self.page.expect_event("filechooser", timeout=FILE_DIALOG_TIMEOUT_MS),
            ):
                self.page.keyboard.press("Space")
            if self._file_choosers:
                break
        self._file_choosers[-1].set_files(_payloads(files))

    def _tab_to(self, target: Locator) -> None:
        """Press Tab until the target has the focus, which must be visible."""
        expect(target).to_be_visible()
        for _ in range(MAX_TABS):
            if target.evaluate("element => element === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"Tab does not reach {target}")
        outline = target.evaluate(
            "element => { const style = getComputedStyle(element);"
            " return [style.outlineStyle, style.boxShadow, parseFloat(style.outlineWidth)] }"
        )
        assert outline[0] != "none" or outline[1] != "none", f"the focus of {target} cannot be seen"


def _payloads(files: Sequence[tuple[str, bytes]]) -> list[FilePayload]:
    return [{"name": name, "mimeType": WORKBOOK_TYPE, "buffer": content} for name, content in files]


def _describe(target: Locator) -> str:
    return str(target).split("selector='")[-1].rstrip("'>")
