"""The page of an event, and the short lists of events."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from fieldgate.db import now
from fieldgate.events.model import (
    Appeal,
    District,
    EventLink,
    FeaturedDocument,
    FieldReport,
    KeyFigure,
    Person,
    Visibility,
)
from tests.conftest import BASE_URL, Service, StartService
from tests.data.events import delete_events, load_events
from tests.events.event_service import INDIA, NEPAL, START, make_event
from tests.web.page_client import PageClient, visible_text

PATH = "/api/v2/event/"
XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>"
CONTACT = Person(
    id=1,
    name="Amina Karki",
    title="Delegate",
    ctype="Originator",
    email="a@example.org",
    phone="+977 1 42",
)
REPORT = FieldReport(
    id=5,
    summary={"fr": "Premier rapport"},
    description={"fr": "<p>Les routes sont <b>coupées</b>.</p>"},
    original_language="fr",
    visibility=Visibility.PUBLIC,
    created_at=START,
    updated_at=START,
    report_date=START,
    num_affected=70,
    recent_affected=1,
    num_dead=2,
    gov_num_dead=3,
    num_volunteers=12,
    countries=(NEPAL,),
)
RICH = make_event(
    1,
    summary={"fr": "<p>De fortes pluies.</p>"},
    original_language="fr",
    countries=(NEPAL, INDIA),
    num_affected=12_000,
    ifrc_severity_level=1,
    glide="FL-2026-000123-NPL",
    appeals=(
        Appeal(
            id=1,
            aid="1",
            code="MDRNP1",
            atype=0,
            status=0,
            amount_requested=1000,
            amount_funded=250,
        ),
        Appeal(
            id=2,
            aid="2",
            code="MDRNP2",
            atype=1,
            status=1,
            amount_requested=1000,
            amount_funded=1500,
        ),
    ),
    field_reports=(REPORT,),
    contacts=(CONTACT,),
    districts=(District(id=1, name="Jhapa"), District(id=2, name="Morang")),
    key_figures=(
        KeyFigure(id=1, number="120", deck={"en": "schools closed"}, source="Government"),
    ),
    links=(EventLink(id=1, url="https://example.org/x", title={"en": "Situation page"}),),
    featured_documents=(FeaturedDocument(id=1, title="Plan", file="https://example.org/plan.pdf"),),
    emergency_response_contact_email="team@example.org",
)
HOSTILE = make_event(
    2,
    name={"en": XSS},
    summary={"en": f"<p onclick=alert(4)>{XSS}<a href='javascript:alert(5)'>x</a><iframe src=//x></iframe></p>"},
    glide='"><b>x',
    field_reports=(
        FieldReport(
            id=6, summary={"en": XSS}, description={"en": XSS}, visibility=Visibility.PUBLIC,
            created_at=START, updated_at=START, contacts=(Person(id=9, name=XSS, email=XSS),),
        ),
    ),
    contacts=(
        Person(id=2, name=XSS, title=XSS, ctype=XSS, email="javascript:alert(6)", phone=XSS),
        Person(id=3, name="b", email="b@example.org?bcc=all@example.org"),
    ),
    districts=(District(id=3, name=XSS),),
    key_figures=(KeyFigure(id=2, number=XSS, deck={"en": XSS}, source=XSS),),
    links=(
        EventLink(id=2, url="javascript:alert(7)", title={"en": XSS}, description={"en": XSS}),
        EventLink(id=3, url="data:text/html,<script>alert(8)</script>"),
        EventLink(id=4, url="//evil.example/x", title={"en": "no scheme"}),
        EventLink(id=5, url='https://example.org/"onmouseover="alert(9)', title={"en": "quoted"}),
    ),
    featured_documents=(FeaturedDocument(id=2, title=XSS, file="vbscript:x", description=XSS),),
    emergency_response_contact_email=XSS,
    appeals=(Appeal(id=3, aid="3", code=XSS, sector=XSS, atype=0, status=0),),
)  # fmt: skip


@pytest.fixture
async def service(start: StartService) -> AsyncIterator[Service]:
    async with start() as running:
        await load_events(
            running,
            [
                RICH,
                HOSTILE,
                make_event(3, parent_event=1, visibility=Visibility.MOVEMENT, name={"en": "Part"}),
                make_event(4, name={"en": "Bare"}, countries=(), dtype=None),
            ],
        )
        yield running


@pytest.fixture
async def reader(service: Service) -> PageClient:
    _, number = await service.create_user()
    return await PageClient.logged_in(service, number)


async def page_text(client: PageClient, path: str) -> str:
    response = await client.get(path)
    assert response.status_code == 200
    return visible_text(response.text)


async def test_key_facts(reader: PageClient) -> None:
    text = await page_text(reader, f"{PATH}1/")
    for expected in (
        "Flood 1", "Orange", "12,000 People affected", "88% of CHF 2,000 funded", "Jan 2, 2026",
        "Asia Pacific", "India , Nepal", "FL-2026-000123-NPL", "Jhapa and Morang", "Updated",
        "120 schools closed Government",
    ):  # fmt: skip
        assert expected in text
    html = (await reader.get(f"{PATH}1/")).text
    for link in ("?countries__in=123", "?countries__in=84", "?regions__in=2", "?dtype__in=12"):
        assert f'href="/api/v2/event/{link}"' in html
    assert "<title>Flood 1 · Fieldgate</title>" in html
    assert '<svg class="map"' in html


async def test_text_that_is_not_in_the_language_of_the_reader(
    service: Service, reader: PageClient
) -> None:
    html = (await reader.get(f"{PATH}1/")).text
    assert visible_text(html).count("This text is in French.") == 2, "the summary and a report"
    assert '<div class="prose" dir="auto" lang="fr"><p>De fortes pluies.</p></div>' in html
    assert "Ce texte est" not in await page_text(PageClient(service, language="fr"), f"{PATH}1/")


async def test_contacts_are_for_users(service: Service, reader: PageClient) -> None:
    html = (await reader.get(f"{PATH}1/")).text
    assert 'href="mailto:a@example.org"' in html
    assert "Amina Karki" in html
    anonymous = await page_text(PageClient(service), f"{PATH}1/")
    assert "Amina" not in anonymous
    assert "Contacts are shown to users who are logged in." in anonymous


async def test_links_and_documents(reader: PageClient) -> None:
    html = (await reader.get(f"{PATH}1/")).text
    rel = 'rel="noopener noreferrer nofollow"'
    assert f'<a href="https://example.org/x" {rel}><bdi>Situation page</bdi></a>' in html
    assert f'<a href="https://example.org/plan.pdf" {rel}><bdi>Plan</bdi></a>' in html


async def test_part_of_another_event_that_not_everybody_sees(
    service: Service, reader: PageClient
) -> None:
    text = await page_text(reader, f"{PATH}3/")
    assert "Part of Flood 1" in text
    assert "Visible to: RCRC Movement" in text
    assert (await PageClient(service).get(f"{PATH}3/")).status_code == 404


@pytest.mark.parametrize("path", ["2/", "mini/", "?limit=5"])
@pytest.mark.parametrize("language", ["en", "ar"])
async def test_stored_scripts_never_run(service: Service, path: str, language: str) -> None:
    _, number = await service.create_user("mallory")
    client = await PageClient.logged_in(service, number, language)
    html = (await client.get(PATH + path)).text
    assert "alert(1)" in html, "it is shown as text"
    assert_harmless(html)


def assert_harmless(html: str) -> None:
    tags = re.findall(r"<[a-zA-Z][^>]*>", html)
    assert not [
        tag
        for tag in tags
        if re.search(r"\son\w+\s*=", tag.split('"')[0] + "".join(tag.split('"')[::2]))
    ]
    assert not [tag for tag in tags if re.match(r"<(iframe|object|embed)\b", tag, re.IGNORECASE)]
    assert not [tag for tag in tags if re.match(r"<script\b", tag) and "/static/" not in tag]
    assert not re.search(
        r"(?:href|src|action)=[\"']?\s*(?:javascript|data|vbscript):", html, re.IGNORECASE
    )
    assert "<img src=x" not in html
    assert "<svg/onload" not in html


async def test_unsafe_links_are_text(reader: PageClient) -> None:
    html = (await reader.get(f"{PATH}2/")).text
    assert "mailto:" not in html, "neither a script nor an address with a query"
    assert "evil.example" not in re.sub(r"<details class=\"programs\".*", "", html, flags=re.DOTALL)
    assert 'href="https://example.org/&#34;onmouseover=&#34;alert(9)"' in html


# Short lists


async def test_mini_list(reader: PageClient) -> None:
    html = (await reader.get(f"{PATH}mini/?limit=2&search=Flood")).text
    assert '<a href="/api/v2/event/1/"><bdi>Flood 1</bdi></a>' in html
    assert 'href="/api/v2/event/?search=Flood"' in html
    text = await page_text(reader, f"{PATH}mini/?search=nothing")
    assert "No emergency matches these filters." in text


async def test_deleted_list(service: Service, reader: PageClient) -> None:
    assert "No emergency was deleted in this time." in await page_text(reader, f"{PATH}deleted/")
    await delete_events(service, [4])
    assert "1 deleted emergency" in await page_text(reader, f"{PATH}deleted/")
    later = (START + timedelta(days=9_999)).date().isoformat()
    assert "No emergency was deleted in this time." in await page_text(
        reader, f"{PATH}deleted/?since={later}"
    )
    hostile = (await reader.get(f'{PATH}deleted/?since="><script>')).text
    assert_harmless(hostile)


async def test_printed_event_has_its_address_and_the_date(reader: PageClient) -> None:
    page = (await reader.get(f"{PATH}1/")).text
    printed = re.search(r'<p class="on-paper">(.*?)</p>', page)
    assert printed
    assert re.fullmatch(
        rf"\u2066{BASE_URL}{PATH}1/\u2069, as of \w+ \d+, {now().year}, .* UTC", printed[1]
    )


async def test_absurd_amounts_are_shown(start: StartService) -> None:
    """They are mistakes, and no reason to show nothing."""
    amounts = (1e25, -1e300, 1.7e308)
    appeals = tuple(
        Appeal(id=number, aid="1", atype=0, status=0, amount_requested=amount, amount_funded=1.0)
        for number, amount in enumerate(amounts)
    )
    async with start() as service:
        await load_events(service, [make_event(1, appeals=appeals)])
        page = await service.get(f"{PATH}1/", headers={"Accept": "text/html"})
        assert page.status_code == 200
