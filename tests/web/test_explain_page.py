"""The page that explains a permission."""

import re
from html import unescape

import pytest

from tests.access.permission_world import PermissionWorld
from tests.conftest import StartService

WORDS = {
    "en": ("Allowed", "Not allowed", "What applies", "Because of", "Decided", "For which submissions"),
    "ar": ("مسموح", "غير مسموح", "ما ينطبق", "بسبب", "الحاسم", "لأي إرسالات"),
}


def cells(page: str) -> list[list[str]]:
    """Return the table rows of a page, as text."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [
        [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[dh]>(.*?)</t[dh]>", row, re.DOTALL)]
        for row in rows
    ]


@pytest.mark.parametrize("language", ["en", "ar"])
async def test_page_shows_the_record(start: StartService, language: str) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        owner, reader = await world.create_user(username="O'Neil"), await world.create_user(username="amina")
        collection = await world.create_asset(owner, "collection")
        thing = await world.create_asset(owner, "survey", collection)
        await world.grant(reader, collection, "change_asset")
        await world.revoke(reader, thing, "change_asset")
        await world.grant(reader, thing, "partial_submissions")
        allowed, refused, applies, because, decided, which = WORDS[language]
        headers = {**owner.headers, "Accept-Language": language}
        shown = set()
        for codename in ("view_asset", "change_asset", "manage_asset", "view_submissions", "discover_asset"):
            query = f"user=amina&permission={codename}"
            path = f"{thing.path}permission-assignments/explain/?{query}"
            told = (await service.get(path, headers=headers)).json()
            answer = await service.get(f"{path}&format=api", headers=headers)
            page = answer.text
            assert answer.headers["Content-Type"].startswith("text/html")
            assert f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}"' in page
            says = re.search(r'<p class="outcome (\w+)" role="status">(.*?)</p>', page, re.DOTALL)
            assert says is not None
            outcome = ("complete", f"✓ {allowed}") if told["allowed"] else ("error", f"✗ {refused}")
            assert (says[1], says[2].strip()) == outcome
            head, *rows = cells(page)
            assert head == [applies, because, decided]
            for rule, row in zip(told["rules"], rows, strict=False):
                names = " ".join(url.split("/")[-2] for url in rule["because"])
                assert row == [rule["message"], names, "✓" if rule["decided"] else ""]
                shown.add(rule["rule"])
            for need in told["needs"]:
                assert f'<a href="{need["permission"]}?format=api">' in page
            assert (which in page) == ("partial_permissions" in told)
            assert ("&#34;_submitted_by&#34;" in page or '"_submitted_by"' in page) == ("partial_permissions" in told)
        assert {"passed_down", "denied"} & shown, shown
