"""Find events by map, timeline and the name of a country, page to the end, and download them."""

import csv
import io
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import ANONYMOUS, EVENT_PATH, KENYA, DemoSite
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor

WAYS = [
    (Language.ENGLISH, "mouse"),
    pytest.param(Language.ARABIC, "mouse", marks=pytest.mark.nightly),
    (Language.ARABIC, "no-script"),
    pytest.param(Language.ENGLISH, "keyboard", marks=pytest.mark.nightly),
]
MAX_PAGES = 20


@pytest.mark.parametrize(
    ("language", "way"), WAYS, ids=lambda value: getattr(value, "value", value)
)
def test_filter_page_and_export(
    start_actor: StartActor, site: DemoSite, language: Language, way: str
) -> None:
    actor = start_actor(language, way)
    kenya = _country_name(site, language)
    actor.follow("Emergencies", actor.page.get_by_role("banner"))
    actor.sees_heading("Emergencies")
    filter_by_map(actor, kenya, uses_table=way == "keyboard")
    filter_by_timeline(actor, uses_table=way == "keyboard")
    filter_by_country_name(actor, kenya)
    count = page_to_the_end(actor, site)
    export(actor, count)


def _country_name(site: DemoSite, language: Language) -> str:
    with site.client(ANONYMOUS) as client:
        answer = client.get(
            f"/api/v2/country/{KENYA}/", headers={"Accept-Language": language.value}
        )
    return str(answer.raise_for_status().json()["name"])


def _count(site: DemoSite, filters: dict[str, str]) -> int:
    return int(site.send(ANONYMOUS, "GET", EVENT_PATH, params={**filters, "limit": "1"})["count"])


def _chips(actor: Actor) -> Locator:
    return actor.main.get_by_role("list", name=actor.words("Active filters"))


def filter_by_map(actor: Actor, country: str, uses_table: bool) -> None:
    if uses_table:
        _follow_in_table(actor, actor.main.locator("#map-table"), country)
    else:
        actor.activate(actor.main.locator("svg.map a").filter(has_text=country).first)
    expect(_chips(actor)).to_contain_text(country)
    actor.follow("Clear all", actor.main)
    expect(_chips(actor)).to_have_count(0)


def filter_by_timeline(actor: Actor, uses_table: bool) -> None:
    """The bar of the last period but one: the last is not over yet."""
    if uses_table:
        _follow_in_table(actor, actor.main.locator("#timeline-table"), None)
    else:
        actor.activate(actor.main.locator("svg.timeline a").nth(-2))
    expect(_chips(actor).get_by_role("link").first).to_be_visible()
    actor.follow("Clear all", actor.main)


def _follow_in_table(actor: Actor, table: Locator, name: str | None) -> None:
    """The way without a mouse: the table behind a chart has the same links."""
    actor.open_section("Show as a table", table)
    links = table.get_by_role("link", name=name) if name else table.get_by_role("link")
    actor.activate(links.first)


def filter_by_country_name(actor: Actor, country: str) -> None:
    actor.fill("Countries", country)
    actor.press("Show", actor.main)
    expect(_chips(actor)).to_contain_text(country)


def page_to_the_end(actor: Actor, site: DemoSite) -> int:
    """Follow “Next page” to the last page; return how many events there were."""
    seen: list[str] = []
    for _ in range(MAX_PAGES):
        seen += actor.main.locator("table.events tbody th").all_inner_texts()
        following = actor.page.get_by_role("link", name=actor.words("Next page"))
        if not following.count():
            break
        address = actor.page.url
        actor.activate(following)
        expect(actor.page).not_to_have_url(address)
    assert len(seen) == _count(site, {"countries__in": str(KENYA)})
    return len(seen)


def export(actor: Actor, count: int) -> None:
    with actor.page.expect_download() as download:
        actor.activate(actor.main.get_by_role("link", name="CSV", exact=True))
    content = Path(download.value.path()).read_bytes()
    assert content.startswith(b"\xef\xbb\xbf"), "Excel needs a byte order mark"
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert len(rows) == count
    assert download.value.suggested_filename.endswith(".csv")
