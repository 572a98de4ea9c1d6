"""The home page: what is new, search, own work, and what anonymous visitors see."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.search_query import parse_search
from fieldgate.db import now
from fieldgate.settings import Settings
from fieldgate.web.pages.home import asset_search
from tests.conftest import Service, run_service
from tests.data.accounts import create_token, find_user
from tests.data.events import load_events
from tests.events.event_service import NEPAL, make_event
from tests.web.page_client import PageClient, visible_text

KENYA = 93
ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    """Two events in the last 90 days, one in the 90 days before."""
    today = now()
    dates = [today - timedelta(days=days) for days in (1, 80, 100)]
    made = [
        make_event(
            1,
            name={"en": "Kenya: Flood"},
            countries=(KENYA,),
            num_affected=300,
            disaster_start_date=dates[0],
        ),
        make_event(
            2,
            name={"en": ATTACK},
            countries=(NEPAL,),
            num_affected=100,
            disaster_start_date=dates[1],
        ),
        make_event(
            3,
            name={"en": "Nepal: Fire"},
            countries=(NEPAL,),
            num_affected=800,
            disaster_start_date=dates[2],
        ),
    ]
    async with run_service(
        Settings(data=tmp_path_factory.mktemp("home"), access_log=False)
    ) as service:
        await load_events(service, made)
        yield service


async def log_in(
    service: Service, username: str = "", language: str = "en", **details: bool
) -> PageClient:
    _, number = await service.create_user(username, **details)
    return await PageClient.logged_in(service, number, language)


async def test_newest_are_listed_and_the_map_has_links(home: Service) -> None:
    page = (await PageClient(home).get("/")).text
    newest = page.split('id="newest-title"')[1].split("</section>")[0]
    assert [unescape(name) for name in re.findall(r"<bdi>(.*?)</bdi>", newest)] == [
        "Kenya: Flood",
        ATTACK,
        "Nepal: Fire",
    ]
    [(url, title)] = re.findall(
        r'<a [^>]*href="([^"]*)" tabindex="-1"><title>(Kenya: 1)</title>', page
    )
    assert title
    found = (await home.get(unescape(url))).json()
    assert found["count"] == 1
    assert ATTACK not in page


@pytest.mark.parametrize("page", ["", "summary/"])
async def test_one_emergency_is_not_many(home: Service, page: str) -> None:
    text = visible_text(
        (await PageClient(home).get(f"/api/v2/event/{page}?countries__in={KENYA}")).text
    )
    assert "1 Emergency" in text


async def test_anonymous_visitors_are_told_what_they_see(home: Service) -> None:
    page = (await PageClient(home).get("/")).text
    text = visible_text(page)
    assert "Without logging in you see 3 public emergencies." in text
    assert "Your latest imports" not in text
    assert 'href="/login/"' in page


async def test_own_imports_have_their_status(home: Service) -> None:
    client, other = await log_in(home, "sender"), await log_in(home, "bystander")
    name = "<b>form</b>.xlsx"
    sent = await home.request(
        "POST", "/api/v2/imports/", files={"file": (name, b"PK\x03\x04 not a workbook")},
        headers={"Authorization": f"Token {await _token(home, 'sender')}"},
    )  # fmt: skip
    assert sent.status_code == 201, sent.text
    page = (await client.get("/")).text
    assert f"/api/v2/imports/{sent.json()['uid']}/" in page
    assert "<b>form" not in page
    assert "Being read" in visible_text(page)
    assert sent.json()["uid"] not in (await other.get("/")).text


async def _token(service: Service, username: str) -> str:
    row = find_user(service, username)
    assert row is not None
    return create_token(service, row.id)


async def test_search_finds_events_countries_and_people(home: Service) -> None:
    client = await log_in(home, "kenya-desk")
    text = visible_text((await client.get("/?q=kenya")).text)
    assert "Emergencies Kenya: Flood" in text
    assert "Countries Kenya" in text
    assert "People" not in text, "only the exact name finds a person"
    assert "People kenya-desk" in visible_text((await client.get("/?q=Kenya-Desk")).text)
    superuser = await log_in(home, is_superuser=True)
    assert "People kenya-desk" in visible_text((await superuser.get("/?q=kenya")).text)
    assert "People" not in visible_text((await PageClient(home).get("/?q=kenya-desk")).text)


@pytest.mark.parametrize(
    "typed",
    [
        "%3Cscript%3Ealert(1)%3C/script%3E",
        '"',
        "(",
        "OR",
        "a:b",
        "..",
        "%2e%2e%2f",
        "x" * 500,
        "a " * 50,
        "/",
        "?",
    ],
)
async def test_any_search_is_answered(home: Service, typed: str) -> None:
    client = await log_in(home)
    answer = await client.get(f"/?q={typed}")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text


@given(st.text(max_size=60).filter(str.strip))
def test_any_words_are_a_valid_search_for_assets(text: str) -> None:
    parse_search(asset_search(text))
