"""Pages of imports: uploading several files, status, and problems next to their rows."""

import re
from typing import Any

import pytest

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from fieldgate.web.pages.imports import MAX_FILES
from tests.conftest import Service
from tests.imports.workbooks import xlsx
from tests.imports.xlsform.test_excerpt_builder import HOUSEHOLD
from tests.web.page_client import PageClient, visible_text

PATH = "/api/v2/imports/"
GOOD, WITH_PROBLEMS, HOSTILE = xlsx(), xlsx(**HOUSEHOLD), b"PK\x03\x04 <script>alert(1)</script>"
SCRIPT = "<script>alert('x')</script>"


class ImportPages:
    """A user with pages, and a worker."""

    def __init__(self, service: Service, client: PageClient) -> None:
        self.service = service
        self.client = client
        self.worker = ImportWorker(Settings(), service.database)

    async def upload(self, *files: tuple[str, bytes], path: str = PATH, **fields: Any) -> Any:
        sent = [("files", file) for file in files]
        return await self.client.submit(path, "upload", {"key": "a key", **fields}, sent)

    async def import_file(self, name: str, data: bytes, **fields: Any) -> str:
        """Upload a file, process it and return the path of its page."""
        answer = await self.upload((name, data), **fields)
        assert answer.status_code == 303, visible_text(answer.text)
        await self.process_all()
        return str(answer.headers["Location"])

    async def process_all(self) -> None:
        while await self.worker.process_one():
            pass

    async def page(self, path: str) -> str:
        answer = await self.client.get(path)
        assert answer.status_code == 200
        return answer.text

    async def text(self, path: str) -> str:
        return visible_text(await self.page(path))


@pytest.fixture
async def pages(service: Service) -> ImportPages:
    _, number = await service.create_user()
    return ImportPages(service, await PageClient.logged_in(service, number))


async def test_page_of_a_file_that_is_being_read(pages: ImportPages) -> None:
    answer = await pages.upload(("good.xlsx", GOOD))
    page = await pages.page(answer.headers["Location"])
    assert "This page shows the result as soon as it is there." in visible_text(page)
    await pages.process_all()


async def test_three_files_at_once(pages: ImportPages) -> None:
    answer = await pages.upload(
        ("good.xlsx", GOOD), ("household.xlsx", WITH_PROBLEMS), ("hostile.xlsx", HOSTILE)
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, PATH)
    page = await pages.page(PATH)
    assert "3 files were sent." in visible_text(page)
    assert "3 files are being read." in visible_text(page)
    assert '<meta http-equiv="refresh"' in page
    assert 'data-pending="3"' in page
    await pages.process_all()
    page = await pages.page(PATH)
    assert '<meta http-equiv="refresh"' not in page
    assert "data-poll" not in page
    rows = [visible_text(f"<main>{row}") for row in page.split("<tr>")[2:]]
    assert ["hostile.xlsx" in rows[0], "household.xlsx" in rows[1], "good.xlsx" in rows[2]] == [
        True
    ] * 3
    assert "✗ Not imported" in rows[0]
    assert "✗ Not imported 3 problems 1 warning" in rows[1]
    assert "✓ Imported good" in rows[2]


async def test_one_bad_file_does_not_stop_the_others(pages: ImportPages) -> None:
    answer = await pages.upload((f"{SCRIPT}.txt", b"no workbook"), ("good.xlsx", GOOD))
    assert answer.status_code == 400
    assert SCRIPT not in answer.text
    text = visible_text(answer.text).replace("\u2068", "").replace("\u2069", "")
    assert f"{SCRIPT.rpartition('/')[2]}.txt: This file is not a workbook." in text
    assert "These files were sent: good.xlsx" in text
    assert "1 file is being read." in await pages.text(PATH)


@pytest.mark.parametrize(
    ("files", "fields", "error"),
    [
        ([], {}, "Choose a file first."),
        ([("", b"")], {}, "Choose a file first."),
        ([("a.xlsx", GOOD)] * (MAX_FILES + 1), {}, f"Send at most {MAX_FILES} files at a time."),
        (
            [("a.xlsx", GOOD)] * 2,
            {"destination": "a" * 22},
            "only one can be the new version of a form.",
        ),
        (
            [("a.xlsx", GOOD)],
            {"destination": "no uid"},
            "Enter the address or the uid of an asset.",
        ),
        (
            [("a.xlsx", GOOD)],
            {"destination": "aKm3pVw8ZtQ2xYcRnB5dFh"},
            "does not exist or is not shared with you",
        ),
    ],
)
async def test_mistakes_are_explained(
    pages: ImportPages, files: Any, fields: dict[str, str], error: str
) -> None:
    answer = await pages.upload(*files, **fields)
    assert answer.status_code == 400
    assert error in visible_text(answer.text)
    assert "You have not imported anything yet." in await pages.text(PATH)


async def test_problems_are_next_to_their_rows(pages: ImportPages) -> None:
    path = await pages.import_file("household.xlsx", WITH_PROBLEMS)
    page = await pages.page(path)
    text = visible_text(page).replace("\u2068", "").replace("\u2069", "")
    assert (
        "household.xlsx was not imported 3 problems to fix, all in the sheet “survey”. Nothing was changed."
        in text
    )
    assert (
        'class="marked problem" aria-describedby="problem-1"><bdi class="hidden">Problem: </bdi>integr</td>'
        in page
    )
    assert "Row 4 · Column type “integr” is not a question type. Did you mean “integer”?" in text
    assert f'href="{path}annotated.xlsx"' in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', page))
    assert {name for names in references for name in names.split()} <= set(ids)


async def test_corrected_file_replaces_the_same_form(pages: ImportPages) -> None:
    page = await pages.page(await pages.import_file("good.xlsx", GOOD))
    [uid] = set(re.findall(r"/api/v2/assets/(a\w{21})/permission-assignments/", page))
    form = await pages.page(f"{PATH}?destination={uid}")
    assert f'name="destination" value="{uid}"' in form
    assert "The file becomes a new version of this form: good" in visible_text(form)
    assert " multiple" not in form.split('type="file"')[1].split(">")[0]
    failed = await pages.import_file("bad.xlsx", WITH_PROBLEMS, destination=uid)
    assert f'name="destination" value="{uid}"' in await pages.page(failed)
    answer = await pages.upload(("fixed.xlsx", GOOD), path=failed, destination=uid)
    assert answer.status_code == 303
    await pages.process_all()
    assert "The form has a new version." in await pages.text(answer.headers["Location"])


async def test_destinations_are_forms_that_the_caller_may_change(pages: ImportPages) -> None:
    await pages.import_file(f"mine {SCRIPT[:7]}.xlsx", GOOD)
    # With owner and date, as names are often the same.
    option = r'<option value="a\w{21}">\u2068mine &lt;script\u2069 · \u2068user-\w+\u2069 · \w+ \d+, \d+</option>'
    assert re.search(option, await pages.page(PATH))
    _, other = await pages.service.create_user()
    stranger = ImportPages(pages.service, await PageClient.logged_in(pages.service, other))
    assert "<option" not in await stranger.page(PATH)


async def test_a_file_whose_form_exists_asks_before_it_makes_a_second_form(
    pages: ImportPages,
) -> None:
    assert 'name="if_exists" value="ask"' in await pages.page(PATH)
    await pages.import_file("visit.xlsx", GOOD)
    for is_new in (False, True):
        asked = await pages.import_file("visit.xlsx", GOOD, if_exists="ask", key=f"key {is_new}")
        page = await pages.page(asked)
        for part in (
            "You have a form “visit” already.",
            "Yes, make it the new version",
            "No, make a second form",
        ):
            assert part in visible_text(page)
        assert "Upload the corrected file" not in page
        assert "✗ Not imported A new version?" in await pages.text(PATH)
        home = await pages.text("/")
        assert ("visit.xlsx ? A new version?" in home, "problem" in home) == (True, False)
        chosen = re.search(
            r'<input type="radio" [^>]*name="destination" value="(a\w{21})" checked>', page
        )
        assert chosen
        fields = {"destination": chosen[1], **({"answer": "create"} if is_new else {})}
        assert (await pages.client.submit(asked, "answer", fields)).status_code == 303
        await pages.process_all()
        assert "visit.xlsx was imported" in await pages.text(asked)
        assert ("The form has a new version." in await pages.text(asked)) != is_new
        assert (await pages.client.submit(asked, "answer", fields)).status_code == 400
    assert chosen
    assert 'name="if_exists"' not in await pages.page(f"{PATH}?destination={chosen[1]}")


async def test_library_without_the_option_explains_and_offers_it(pages: ImportPages) -> None:
    library = xlsx(library=[("type", "name", "label"), ("text", "a", "A")])
    failed = await pages.import_file("library.xlsx", library)
    assert 'name="library" value="true" checked' in await pages.page(failed)
    made = await pages.import_file("library.xlsx", library, library="true", key="another key")
    assert "View the collection" in await pages.text(made)


async def test_check_only_shows_the_problems_and_stores_nothing(pages: ImportPages) -> None:
    files = [
        ("good.xlsx", GOOD),
        ("household.xlsx", WITH_PROBLEMS),
        (f"{SCRIPT}.txt", b"no workbook"),
    ]
    answer = await pages.upload(*files, ("bad.xlsx", HOSTILE), check="true", if_exists="ask")
    assert answer.status_code == 200
    assert SCRIPT not in answer.text
    text = visible_text(answer.text).replace("\u2068", "").replace("\u2069", "")
    assert "good.xlsx can be imported Nothing was stored. To import this file, upload it." in text
    assert (
        "household.xlsx cannot be imported Nothing was stored. Correct the file, then check or upload it."
        in text
    )
    assert "Row 4 · Column type “integr” is not a question type. Did you mean “integer”?" in text
    assert 'class="marked problem" aria-describedby="check-' in answer.text
    assert "This file is not a workbook." in text
    assert "bad.xlsx cannot be imported Nothing was stored." in text
    assert "You have not imported anything yet." in text
    ids = re.findall(r'\bid="([^"]+)"', answer.text)
    assert len(ids) == len(set(ids))
    references = set(re.findall(r'aria-(?:describedby|labelledby)="([^"]+)"', answer.text))
    assert {name for names in references for name in names.split()} <= set(ids)
    assert (await pages.upload(check="true")).status_code == 400


async def test_check_of_a_form_that_exists_is_about_the_file(pages: ImportPages) -> None:
    await pages.import_file("good.xlsx", GOOD)
    answer = await pages.upload(("good.xlsx", GOOD), check="true", if_exists="ask")
    assert "can be imported" in visible_text(answer.text)
    assert (await pages.page(PATH)).count('class="import-status') == 1


async def test_check_in_arabic(pages: ImportPages) -> None:
    pages.client.language = "ar"
    text = visible_text((await pages.upload(("household.xlsx", WITH_PROBLEMS), check="true")).text)
    for english in ("cannot be imported", "Nothing was stored", "Check only", "Correct the file"):
        assert english not in text
