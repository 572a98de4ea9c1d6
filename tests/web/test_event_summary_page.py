"""The page of the figures of all matching events."""

from collections.abc import AsyncIterator

import pytest

from fieldgate.events.model import Appeal
from fieldgate.events.store import EventStore
from fieldgate.reference.reference_data import Country
from fieldgate.reference.store import ReferenceStore
from tests.conftest import Service, StartService
from tests.events.event_service import INDIA, NEPAL, make_event
from tests.web.page_client import PageClient, visible_text
from tests.web.test_event_detail_page import XSS, assert_harmless

PATH = "/api/v2/event/summary/"
HOSTILE_COUNTRY = 9_000
APPEAL = Appeal(id=1, aid="1", atype=1, status=0, amount_requested=200_000, amount_funded=50_000)


@pytest.fixture
async def service(start: StartService) -> AsyncIterator[Service]:
    async with start() as running:
        store = ReferenceStore(running.database, running.data_versions)
        async with running.database.transaction() as connection:
            await store.upsert_countries(connection, [Country(id=HOSTILE_COUNTRY, names={"en": XSS}, region=0)])
        await EventStore(running.database, running.data_versions).upsert(
            [
                make_event(1, num_affected=1234, appeals=(APPEAL,)),
                make_event(2, countries=(NEPAL, INDIA), ifrc_severity_level=2),
                make_event(3, countries=(HOSTILE_COUNTRY,)),
            ]
        )
        yield running


async def page(service: Service, query: str = "", language: str = "en") -> str:
    response = await PageClient(service, language=language).get(PATH + query)
    assert response.status_code == 200
    return response.text


async def test_tables_lead_to_lists(service: Service) -> None:
    html = await page(service, "?countries__in=84,123")
    text = visible_text(html)
    assert "2 Emergencies" in text
    assert "1,234 People affected" in text
    assert "25% of CHF" in text
    assert f'<a href="/api/v2/event/?countries__in={INDIA}"><bdi>India</bdi></a>' in html
    assert '<a href="/api/v2/event/?countries__in=84%2C123&amp;ifrc_severity_level__in=2"><bdi>Red</bdi></a>' in html
    assert 'href="/api/v2/event/?countries__in=84%2C123">The same with map' in html


async def test_page_is_translated(service: Service) -> None:
    text = visible_text(await page(service, "?countries__in=123", "fr"))
    for word in ("Les urgences en chiffres", "Par région", "Par gravité", "Par type", "Népal", "janvier 2026"):
        assert word in text


async def test_hint_without_events(service: Service) -> None:
    html = await page(service, "?search=nothing")
    assert "No emergency matches these filters." in visible_text(html)
    assert "<table" not in html


async def test_names_are_escaped(service: Service) -> None:
    assert_harmless(await page(service, f"?countries__in={HOSTILE_COUNTRY}"))
    assert_harmless(await page(service, "?search=%3Cscript%3Ealert(1)%3C/script%3E"))
