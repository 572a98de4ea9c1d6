"""The page of the list of events: numbers, filters, chips, order, exports and size."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from fieldgate.events.filters import LABELS, EventFilters
from fieldgate.events.model import Appeal, Event, Visibility
from fieldgate.i18n.languages import Language
from fieldgate.settings import Settings
from fieldgate.web.formatting import Formatter
from fieldgate.web.pages.event_filters import (
    DATE_LABELS,
    NOT_FILTERS,
    PERIODS,
    first_day_of,
)
from tests.conftest import Service, run_service
from tests.data.events import load_events
from tests.events.event_service import INDIA, NEPAL, PATH, make_event
from tests.web.page_client import PageClient, visible_text

KENYA, CHAD = 93, 45
ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def _day(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 9, tzinfo=UTC)


EVENTS = [
    make_event(
        1,
        name={"en": "Kenya: Flood", "fr": "Kenya : inondation"},
        countries=(KENYA,),
        num_affected=1_250_000,
        ifrc_severity_level=2,
        disaster_start_date=_day(2026, 10, 31),
        appeals=(
            Appeal(
                id=1,
                aid="1",
                code="MDRKE001",
                atype=1,
                status=0,
                amount_requested=1_000_000,
                amount_funded=410_000,
            ),
        ),
    ),
    make_event(
        2,
        name={"en": ATTACK},
        countries=(KENYA, CHAD),
        dtype=1,
        disaster_start_date=_day(2026, 9, 1),
    ),
    make_event(
        3,
        name={"en": "Chad: Epidemic"},
        countries=(CHAD,),
        dtype=1,
        disaster_start_date=_day(2024, 2, 1),
    ),
    make_event(
        4,
        name={"en": "Nepal: Earthquake"},
        countries=(NEPAL,),
        dtype=2,
        disaster_start_date=_day(2015, 4, 25),
    ),
    make_event(5, name={"en": "Secret: Fire"}, countries=(INDIA,), visibility=Visibility.MOVEMENT),
]


async def _serve(folder: Any, events: list[Event]) -> AsyncIterator[Service]:
    async with run_service(Settings(data=folder, access_log=False)) as service:
        await load_events(service, events)
        yield service


@pytest.fixture(scope="module")
async def events(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async for service in _serve(tmp_path_factory.mktemp("pages"), EVENTS):
        yield service


async def open_page(service: Service, query: str = "", language: str = "en") -> str:
    answer = await PageClient(service, language=language).get(PATH + query)
    assert answer.status_code == 200, answer.text
    return answer.text


def chips(page: str) -> dict[str, str]:
    """The texts of the chips, and the queries that they lead to."""
    block = re.search(r'<ul class="chips".*?</ul>', page, re.DOTALL)
    found = (
        re.findall(r'<a href="([^"]*)"><span>(.*?)</span>', block[0], re.DOTALL) if block else []
    )
    return {unescape(re.sub(r"<[^>]*>", "", text)): unescape(url) for url, text in found}


def names_in_table(page: str) -> list[str]:
    return [unescape(name) for name in re.findall(r'<th scope="row"><a [^>]*>(.*?)</a></th>', page)]


async def test_numbers_are_those_of_the_summary(events: Service) -> None:
    page = await open_page(events)
    summary = (await events.get(PATH + "summary/")).json()
    text, formatter = visible_text(page), Formatter(Language.ENGLISH)
    assert f"{summary['count']} Emergencies" in text
    assert f"{formatter.compact(summary['num_affected'])} People affected" in text
    assert "41% of CHF 1.0 million funded" in text or "41% of CHF 1 million funded" in text
    for country in summary["countries"]:
        assert f"<title>{country['name']}: {country['count']}</title>" in page
        assert f"{country['name']} {country['count']} " in text, "the table behind the map"
    for period in summary["periods"]:
        assert f"<title>{period['name']}: {period['count']}</title>" in page


async def test_links_of_the_charts_lead_to_what_they_count(events: Service) -> None:
    page = await open_page(events, "?regions__in=0")
    marks = re.findall(r'<a [^>]*href="([^"]*)" tabindex="-1"><title>[^<]*: (\d+)</title>', page)
    assert len(marks) >= 4
    for url, count in marks:
        found = (await events.get(unescape(url), headers={"Accept": "application/json"})).json()
        assert found["count"] == int(count), url


async def test_newest_start_is_first_and_headers_sort(events: Service) -> None:
    page = await open_page(events)
    assert names_in_table(page) == ["Kenya: Flood", ATTACK, "Chad: Epidemic", "Nepal: Earthquake"]
    assert re.search(
        r'<th scope="col" aria-sort="descending"><a href="\?ordering=disaster_start_date">Start',
        page,
    )
    by_name = await open_page(events, "?ordering=name")
    assert names_in_table(by_name)[1] == "Chad: Epidemic"
    assert re.search(
        r'<th scope="col" aria-sort="ascending"><a href="\?ordering=-name">Name', by_name
    )
    assert len(re.findall("aria-sort", by_name)) == 1


async def test_flat_records_are_not_for_the_page(events: Service) -> None:
    answer = await events.get(
        "/api/v2/event/?tableau=true&dtype=12", headers={"Accept": "text/html"}
    )
    assert answer.status_code == 303
    assert answer.headers["Location"].endswith("/api/v2/event/?dtype=12")


async def test_only_events_that_the_caller_may_see(events: Service) -> None:
    assert "Secret" not in await open_page(events)
    _, number = await events.create_user()
    assert "Secret: Fire" in (await (await PageClient.logged_in(events, number)).get(PATH)).text


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("country=Kenya&from=&until=&search=&regions__in=", {"countries__in": ["93"]}),
        ("country=kenya", {"countries__in": ["93"]}),
        ("country=KEN", {"countries__in": ["93"]}),
        ("country=%D9%83%D9%8A%D9%86%D9%8A%D8%A7", {"countries__in": ["93"]}),
        ("country=Tchad,%20Kenya", {"countries__in": ["45,93"]}),
        ("country=Chad&countries__in=93", {"countries__in": ["93,45"]}),
        (
            "country=Kenya&countries__in=93&offset=50&limit=20",
            {"countries__in": ["93"], "limit": ["20"]},
        ),
        (
            "from=2026-01-01&until=2026-10-31&country=",
            {"disaster_start_date__gte": ["2026-01-01"], "disaster_start_date__lt": ["2026-11-01"]},
        ),
        ("from=&until=&country=&disaster_start_date__gte=2020-01-01", {}),
        (
            "region-0=on&region-2=on&type-1=on&country=",
            {"regions__in": ["0,2"], "dtype__in": ["1"]},
        ),
        (
            "type-12=on&type-1=on&severity-2=on",
            {"dtype__in": ["12,1"], "ifrc_severity_level__in": ["2"]},
        ),
        ("region-0=on&regions__in=1,2", {"regions__in": ["0"]}),
        ("country=Kenya&dtype=1", {"countries__in": ["93"], "dtype__in": ["1"]}),
        (
            "country=&search=flood%20%26%20fire&ordering=name",
            {"search": ["flood & fire"], "ordering": ["name"]},
        ),
    ],
)
async def test_typed_filters_become_those_of_the_api(
    events: Service, typed: str, query: dict[str, list[str]]
) -> None:
    answer = await PageClient(events).get(f"{PATH}?{typed}")
    assert answer.status_code == 303
    target = urlsplit(answer.headers["Location"])
    assert target.path == PATH
    assert parse_qs(target.query) == query


@pytest.mark.parametrize(
    ("today", "period", "start"),
    [
        ("2026-11-16", "5-years", "2021-11-16"),
        ("2028-02-29", "5-years", "2023-02-28"),
        ("2026-11-16", "1-year", "2025-11-16"),
        ("2026-01-31", "90-days", "2025-11-02"),
    ],
)
def test_first_day_of_a_period(today: str, period: str, start: str) -> None:
    _, months, days = PERIODS[period]
    assert first_day_of(date.fromisoformat(today), months, days).isoformat() == start


async def test_button_for_the_last_five_years_sends_the_whole_form(events: Service) -> None:
    page = await open_page(events, "?disaster_start_date__lt=2020-01-01")
    form = page.split('<form class="filters"')[1].split("</form>")[0]
    texts = dict(re.findall(r'<button name="period" value="([^"]*)">(.*?)</button>', form))
    assert list(texts) == ["90-days", "1-year", "5-years"]
    assert form.index('class="primary"') < form.index('name="period"'), (
        "Enter in a field must not choose a period"
    )
    query = "?country=Kenya&from=2010-01-01&until=2019-12-31&limit=20&offset=20&period=5-years"
    answer = await PageClient(events).get(PATH + query)
    assert answer.status_code == 303
    found = parse_qs(urlsplit(answer.headers["Location"]).query)
    start = date.fromisoformat(found.pop("disaster_start_date__gte")[0])
    assert (
        timedelta(days=5 * 365) <= datetime.now(UTC).date() - start <= timedelta(days=5 * 365 + 3)
    )
    assert found == {"countries__in": ["93"], "limit": ["20"]}


@pytest.mark.parametrize(
    ("typed", "field", "text"),
    [
        ("country=Kenyya", "country", "No country is called “Kenyya”. Did you mean Kenya"),
        ("country=kenyyá", "country", "No country is called “kenyyá”. Did you mean Kenya"),
        ("country=Cote%20d'Ivoir%20x", "country", "Did you mean Côte d’Ivoire?"),
        ("country=cote%20d%60ivoire", "", ""),
        ("country=zzzz", "country", "No country is called “zzzz”. Write its name"),
        ("country=guinea%20", "", ""),
        ("country=united", "country", "Several countries match “united”: "),
        ("from=31/10/2026", "from", "Write the date as year-month-day"),
        ("until=9999-12-31", "until", "Write the date as year-month-day"),
        ("from=2026-02-01&until=2026-01-01", "until", "This date is before the first one."),
        ("country=%3Cscript%3Ealert(1)%3C/script%3E", "country", "No country is called"),
    ],
)
async def test_error_is_next_to_the_field_that_keeps_what_was_typed(
    events: Service, typed: str, field: str, text: str
) -> None:
    answer = await PageClient(events).get(f"{PATH}?{typed}")
    if not field:
        assert answer.status_code == 303, "an exact name wins over names that contain it"
        return
    page = answer.text
    assert answer.status_code == 200
    assert re.search(
        rf'<input id="filter-{field}"[^>]*aria-describedby="filter-{field}-error"', page
    )
    assert text in visible_text(page)
    assert f'<a href="#filter-{field}">' in page, "in the summary of errors"
    value = parse_qs(typed)[field][-1]
    assert value in unescape(page)
    assert "<script>alert" not in page


async def test_chips_name_the_filters_and_remove_them_one_by_one(events: Service) -> None:
    query = (
        "?regions__in=0,1&countries__in=93,45&dtype=1&ifrc_severity_level__in=1,2&search=flood"
        "&disaster_start_date__gte=2020-01-01&disaster_start_date__lt=2026-11-01&ordering=name&offset=50"
    )
    page = await open_page(events, query)
    found = chips(page)
    assert list(found) == [
        "Region: Africa", "Region: Americas", "Country: Kenya", "Country: Chad", "Type: Epidemic",
        "Severity: Orange", "Severity: Red", "Words: flood", "Started from: Jan 1, 2020",
        "Started until: Oct 31, 2026", "Clear all",
    ][: len(found)]  # fmt: skip
    assert parse_qs(found["Country: Kenya"][1:])["countries__in"] == ["45"]
    assert "search" not in parse_qs(found["Words: flood"][1:])
    assert all("offset" not in url for url in found.values()), (
        "a wider list starts at its first page"
    )
    assert 'value="2026-10-31"' in page


async def test_chip_of_a_country_code_has_the_name_of_the_country(events: Service) -> None:
    assert list(chips(await open_page(events, "?countries__iso3=ken"))) == ["Country: Kenya"]


@pytest.mark.parametrize(
    "query",
    [
        "?appeal_type=0,1", "?is_featured=true", "?glide=X", "?appeal_code=Y", "?id=3",
        "?auto_generated_source=New%20field%20report",
        "?created_at__gte=2020-01-01T10:00:00Z", "?updated_at__lt=2030-01-01", "?id__in=1,2", "?countries__all=93,45",
        "?regions__all=0", "?disaster_start_date=2026-01-01", "?ifrc_severity_level=2", "?is_featured_region=false",
    ],
)  # fmt: skip
async def test_chips_have_no_names_of_the_api(events: Service, query: str) -> None:
    found = chips(await open_page(events, query))
    assert found
    assert not any("_" in text for text in found), found


def test_every_filter_has_a_label() -> None:
    dates = {
        f"{name}__{end}".removesuffix("__") for name, ends in DATE_LABELS.items() for end in ends
    }
    assert set(EventFilters.__struct_fields__) - NOT_FILTERS - dates - set(LABELS) == set()


@pytest.mark.parametrize(
    ("query", "summary", "ticked"),
    [
        ("?regions__in=0,2", "Africa, Asia Pacific", ["region-0", "region-2"]),
        ("?dtype=12&ifrc_severity_level=2", "Flood", ["type-12", "severity-2"]),
        ("?country=zzzz&type-1=on&type-12=on", "Epidemic, Flood", ["type-1", "type-12"]),
        ("?dtype__in=999", "999", ["type-999"]),
        ("", "All types", []),
    ],
)
async def test_several_values_are_ticked_in_the_form(
    events: Service, query: str, summary: str, ticked: list[str]
) -> None:
    form = (await open_page(events, query)).split('<form class="filters"')[1].split("</form>")[0]
    assert set(re.findall(r'<input type="checkbox" name="([^"]*)" checked>', form)) == set(ticked)
    assert f">{summary}</summary>" in form
    assert not re.search(r'type="hidden" name="(regions__in|dtype|dtype__in)"', form), (
        "unticked boxes remove a filter"
    )


@pytest.mark.parametrize("is_logged_in", [False, True])
async def test_snippets_read_what_the_page_shows(events: Service, is_logged_in: bool) -> None:
    client = (
        await PageClient.logged_in(events, (await events.create_user())[1])
        if is_logged_in
        else PageClient(events)
    )
    page = (await client.get(f'{PATH}?countries__in=93,45&search="flood"&limit=20')).text
    block = unescape(page.split('<details class="snippets">')[1].split("<table")[0])
    codes = re.findall(
        r"<summary>([^<]*)</summary><div class=.copyable.><pre[^>]*>([^<]*(?:<-[^<]*)?)</pre>",
        block,
    )
    assert [name for name, _ in codes] == ["Python", "R", "Power BI"]
    for _, code in codes:
        [url] = re.findall(r'"(http[^"]*)"', code)
        assert parse_qs(urlsplit(url).query) == {
            "countries__in": ["93,45"],
            "search": ['"flood"'],
            "format": ["csv"],
        }
        assert (await events.get(url)).text.count("Kenya: Flood") == 1
        assert ("YOUR_TOKEN" in code) == is_logged_in


async def test_no_matches_offers_to_loosen_the_filter(events: Service) -> None:
    page = await open_page(events, "?regions__in=1&search=flood")
    text = visible_text(page)
    assert "No emergency matches these filters." in text
    assert 'href="?search=flood">Region:' in page
    assert 'href="?regions__in=1">Words:' in page
    assert "<table" not in page


async def test_exports_have_the_filters_of_the_page(events: Service) -> None:
    page = await open_page(events, "?countries__in=93&search=flood&limit=20&measure=gap")
    block = page.split('<nav class="exports"')[1].split("</nav>")[0]
    urls = [urlsplit(unescape(url)) for url in re.findall(r'href="([^"]*)"', block)]
    queries = [parse_qs(url.query) for url in urls]
    assert [query["format"][0] for query in queries] == [
        "csv",
        "xlsx",
        "geojson",
        "ndjson",
        "json",
        "atom",
    ]
    assert all(
        query["countries__in"] == ["93"] and query["search"] == ["flood"] for query in queries
    )
    assert all("measure" not in query and "limit" not in query for query in queries)
    assert queries[0]["bom"] == ["true"]
    assert (await events.get(urls[0].geturl())).text.count("Kenya: Flood") == 1


async def test_what_is_unknown_is_not_zero(events: Service) -> None:
    """Of four events one states how many people are affected."""
    assert "1.2 million People affected (3 emergencies without a figure)" in visible_text(
        await open_page(events)
    )
    summary = visible_text((await PageClient(events).get(f"{PATH}summary/")).text)
    assert "(3 emergencies without a figure)" in summary
    assert re.search(r"Chad 2 – 0 –", summary), "in the tables, too"
    page = await open_page(events, f"?countries__in={CHAD}&measure=affected")
    text = visible_text(page)
    assert "– People affected (2 emergencies without a figure)" in text
    assert text.count("There is nothing to draw: no emergency here has a number for this.") >= 3
    assert ('<svg class="map"' in page, '<svg class="timeline"' in page) == (False, False)
    assert "nothing to draw" not in visible_text(await open_page(events, "?measure=affected"))


async def test_legend_of_severities(events: Service) -> None:
    for path in (PATH, "/"):
        legend = re.search(r'<p class="legend">.*?</p>', (await PageClient(events).get(path)).text)
        assert legend
        assert re.findall(r'dot-(\d)" aria-hidden="true"></span> (\w+)', legend[0]) == [
            ("0", "Yellow"), ("1", "Orange"), ("2", "Red")
        ]  # fmt: skip
    assert "● itself ✓ gives it, too" in visible_text(
        (await PageClient(events).get("/api/v2/permissions/")).text
    )


BANNER = "These are demo data: the emergencies, figures and people are invented."


async def test_demo_events_have_a_banner(events: Service, tmp_path: Any) -> None:
    async with run_service(Settings(data=tmp_path, access_log=False)) as demo:
        await load_events(demo, EVENTS, is_demo=True)
        for path in (
            "/",
            PATH,
            f"{PATH}1/",
            f"{PATH}summary/?countries__in={KENYA}",
            f"/api/v2/country/{KENYA}/",
        ):
            assert BANNER in visible_text((await PageClient(demo).get(path)).text), path
            assert BANNER not in visible_text((await PageClient(events).get(path)).text), path


async def test_page_works_under_a_path(tmp_path: Any) -> None:
    async with run_service(
        Settings(data=tmp_path, access_log=False, base_url="https://data.example.org/field"),
        base_url="https://data.example.org",
    ) as service:
        await load_events(service, EVENTS)
        page = await open_page(service, "?regions__in=0")
        assert 'href="/field/api/v2/event/1/"' in page
        assert re.search(r'<use href="/field/static/[0-9a-f]+/world.svg#KEN"', page)
        answer = await PageClient(service).get(f"{PATH}?country=Kenya")
        assert answer.headers["Location"] == "/field/api/v2/event/?countries__in=93"


async def test_tables_of_the_summary_lead_to_lists(events: Service) -> None:
    page = (await PageClient(events).get(f"{PATH}summary/?countries__in={KENYA},{CHAD}")).text
    text = visible_text(page)
    assert "3 Emergencies" in text
    assert "1.2 million People affected" in text
    assert "41% of CHF" in text
    assert f'<a href="/api/v2/event/?countries__in={CHAD}"><bdi>Chad</bdi></a>' in page
    assert f'href="/api/v2/event/?countries__in={KENYA}%2C{CHAD}">The same with map' in page
