"""Pages of countries, regions and disaster types."""

from collections.abc import AsyncIterator

import pytest

from fieldgate.reference.reference_data import Country
from tests.conftest import Service, StartService
from tests.data.events import load_events
from tests.data.reference import put_countries
from tests.events.event_service import NEPAL, make_event
from tests.web.page_client import PageClient, visible_text
from tests.web.test_event_detail_page import XSS, assert_harmless

HOSTILE_COUNTRY = 9_000


@pytest.fixture
async def service(start: StartService) -> AsyncIterator[Service]:
    async with start() as running:
        country = Country(
            id=HOSTILE_COUNTRY,
            names={"en": XSS},
            society_names={"en": XSS},
            overviews={"en": XSS},
            region=0,
            profile={
                "society_url": "javascript:alert(1)", "website": "https://example.org/society", "key_priorities": XSS,
                "phone": XSS, "emails": [XSS], "address_1": XSS, "inform_score": "4.5",
                "links": [{"title": XSS, "url": "https://example.org/a", "id": 1}, {"title": "", "url": "x", "id": 2}],
            },
        )  # fmt: skip
        put_countries(running, [country])
        await load_events(
            running,
            [
                make_event(1),
                *(make_event(id_) for id_ in range(10, 22)),
                make_event(2, countries=(HOSTILE_COUNTRY,), dtype=1, name={"en": XSS}),
            ],
        )
        yield running


async def page(service: Service, path: str, language: str = "en") -> str:
    response = await PageClient(service, language=language).get(path)
    assert response.status_code == 200
    return response.text


async def test_country_list(service: Service) -> None:
    html = await page(service, "/api/v2/country/?search=nepal")
    assert "1 country or territory" in visible_text(html)
    assert '<a href="/api/v2/country/123/"><bdi>Nepal</bdi></a>' in html
    assert f'href="/api/v2/event/?countries__in={NEPAL}"' in html
    assert '<a href="/api/v2/region/2/">Asia Pacific</a>' in html
    assert 'value="nepal"' in html
    narrowed = await page(service, "/api/v2/country/?region=4&limit=100", "fr")
    assert '<option value="4" selected>' in narrowed
    assert "Égypte" in narrowed
    assert "Nepal" not in narrowed
    assert "13 emergencies" in visible_text(html)
    assert "No country matches." in visible_text(
        await page(service, "/api/v2/country/?search=atlantis")
    )


async def test_country_has_its_latest_emergencies(service: Service) -> None:
    html = await page(service, "/api/v2/country/123/")
    text = visible_text(html)
    assert "Nepal" in text
    assert "Asia Pacific" in text
    assert "NP , NPL" in text
    assert "Show all 13 emergencies" in text
    assert html.count("<bdi>Flood ") == 10
    assert '<svg class="map"' in html
    bare = visible_text(await page(service, "/api/v2/country/2/"))
    assert "There is no emergency here that you can see." in bare


async def test_regions(service: Service) -> None:
    html = await page(service, "/api/v2/region/", "es")
    assert '<a href="/api/v2/region/0/">África</a>' in html
    assert 'href="/api/v2/event/?regions__in=2"' in html
    assert "13 emergencias" in visible_text(html)
    region = await page(service, "/api/v2/region/2/")
    assert '<a href="/api/v2/country/123/"><bdi>Nepal</bdi></a>' in region
    assert "Show all 13 emergencies" in visible_text(region)


async def test_disaster_types(service: Service) -> None:
    html = await page(service, "/api/v2/disaster_type/?search=flood")
    assert '<a href="/api/v2/disaster_type/12/"><bdi>Flood</bdi></a>' in html
    assert 'href="/api/v2/event/?dtype__in=12"' in html
    assert "13 emergencies" in visible_text(html)
    assert "No type matches." in visible_text(
        await page(service, "/api/v2/disaster_type/?search=zzz")
    )
    assert "Show all 13 emergencies" in visible_text(
        await page(service, "/api/v2/disaster_type/12/")
    )


async def test_hostile_texts_and_links_of_a_country(service: Service) -> None:
    html = await page(service, f"/api/v2/country/{HOSTILE_COUNTRY}/")
    assert "alert(1)" in html, "it is shown as text"
    assert_harmless(html)
    assert (
        'href="https://example.org/society" rel="noopener noreferrer nofollow"><bdi>example.org</bdi>'
        in html
    )
    assert 'href="x"' not in html
