"""Pages of the versions of a form."""

import copy
import re
from typing import Any

import pytest

from tests.conftest import Service
from tests.web.page_client import PageClient, visible_text
from tests.web.pages.asset_world import CONTENT, AssetWorld


@pytest.fixture
def world(service: Service) -> AssetWorld:
    return AssetWorld(service)


def changed_content() -> dict[str, Any]:
    content = copy.deepcopy(CONTENT)
    content["survey"][1]["label"][0] = "What is the roof made of?"
    content["survey"][3]["relevant"] = "${roof} != ''"
    content["survey"].append({"type": "note", "name": "bye", "label": ["Thank you", None]})
    del content["choices"][1]
    content["settings"] = {"style": "pages"}
    return content


async def versions_of(client: PageClient, path: str) -> list[str]:
    """The paths of the versions, newest first."""
    page = (await client.get(f"{path}versions/")).text
    return list(dict.fromkeys(re.findall(rf'href="({path}versions/v\w+/)"', page)))


async def test_restore_and_undo(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    await world.add_version(path, changed_content())
    second, first = await versions_of(client, path)
    page = await client.submit_and_follow(first, "restore")
    assert page.request.url.path == path
    assert "Version 1 is the current one again, as version 3." in visible_text(page.text)
    assert "Thank you" not in visible_text(page.text)
    undo = page.text.split('class="notice"')[1].split("</form>")[0]
    assert f'action="{second}?form=restore#preview"' in undo
    back = await client.submit_and_follow(second, "restore")
    assert "Version 2 is the current one again, as version 4." in visible_text(back.text)
    assert "Thank you" in visible_text(back.text)


async def test_first_version_has_nothing_to_compare_with(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    await world.add_version(path, changed_content())
    second, first = await versions_of(client, path)
    for page in (f"{path}versions/", first, second):
        html = (await client.get(page)).text
        assert f'href="{first}diff/"' not in html
        assert (f'href="{second}diff/"' in html) == (page != first)


async def test_differences_in_words(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    await world.add_version(path, changed_content())
    second, first = await versions_of(client, path)
    text = visible_text((await client.get(f"{second}diff/")).text)
    assert "What changed in version 2" in text
    assert "Compared with version 1" in text
    assert "Questions Added: 1 Changed: 2" in text
    assert "Choices Deleted: 1" in text
    assert "Label English Roof? What is the roof made of?" in text
    assert "Shown if “Roof?” = “Tin” “What is the roof made of?” is answered" in text
    assert "+ Added Note Thank you" in text
    assert "− Deleted List: roof Mud" in text
    assert "Layout – pages" in text
    assert "{" not in text
    back = visible_text((await client.get(f"{first}diff/?against={second.split('/')[-2]}")).text)
    assert "− Deleted Note Thank you" in back
    assert "This is the first version" in visible_text((await client.get(f"{first}diff/")).text)
    same = visible_text((await client.get(f"{second}diff/?against={second.split('/')[-2]}")).text)
    assert "Nothing changed between these versions." in same
