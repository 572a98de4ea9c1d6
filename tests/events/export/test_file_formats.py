"""GeoJSON, Atom and CSV for Excel: pages and exports over HTTP."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from python_calamine import CalamineWorkbook

from fieldgate.events.export.file_context import ascii_file_name, file_name, filter_title
from fieldgate.events.filters import EventFilters
from fieldgate.events.model import Appeal, FieldReport, Visibility
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from tests.conftest import Service, StartService
from tests.data.events import load_events
from tests.events.event_service import INDIA, NEPAL, PATH, START, SUDAN, make_event

EXPORT = f"{PATH}export/"
ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = "<script>alert('x')</script>\x01 ]]> & \"q\" 'a'"
SUMMARY = "<p>Heavy &amp; long <b>rain</b></p><script>alert(1)</script><p>=1+1</p>"


@pytest.fixture
async def service(start: StartService) -> AsyncIterator[Service]:
    later = START + timedelta(days=300)
    appeals = (
        Appeal(id=1, aid="1", atype=0, status=0, amount_requested=100.5, amount_funded=40),
        Appeal(id=2, aid="2", atype=1, status=0, amount_requested=50, amount_funded=60),
    )
    async with start() as running:
        await load_events(
            running,
            [
                make_event(
                    1, summary={"en": SUMMARY}, updated_at=later, num_affected=1200, appeals=appeals
                ),
                make_event(
                    2, name={"en": HOSTILE}, summary={"en": HOSTILE}, countries=(INDIA, NEPAL)
                ),
                make_event(3, countries=(), dtype=None),
                make_event(
                    4,
                    countries=(SUDAN,),
                    num_affected=1,
                    ifrc_severity_level=2,
                    glide="DR-2026-000102-SSD",
                ),
                make_event(5, visibility=Visibility.SECRETARIAT, name={"en": "Secret"}),
            ],
        )
        yield running


async def features(service: Service, url: str) -> list[dict[str, Any]]:
    response = await service.get(url)
    assert response.headers["Content-Type"] == "application/geo+json"
    collection = response.json()
    assert collection["type"] == "FeatureCollection"
    found: list[dict[str, Any]] = collection["features"]
    return found


async def test_geojson_has_a_point_for_each_country(service: Service) -> None:
    for url in (f"{PATH}?format=geojson", f"{EXPORT}?format=geojson"):
        found = await features(service, url)
        assert [each["id"] for each in found] == ["4-290", "3", "2-84", "2-123", "1-123"]
        points = {each["id"]: each["geometry"] for each in found}
        assert points["3"] is None, "an event without a country is not left out"
        assert points["2-123"]["type"] == "Point"
        longitude, latitude = points["2-123"]["coordinates"]
        assert (80 < longitude < 89, 26 < latitude < 31) == (True, True)
        assert points["2-84"] != points["2-123"]
        properties = found[-1]["properties"]
        assert properties["summary"] == "Heavy & long rain\n=1+1", "without tags"
        assert (properties["amount_requested"], properties["amount_funded"]) == (150.5, 100)
        assert (properties["country"], properties["iso3"], properties["type"]) == (
            "Nepal",
            "NPL",
            "Flood",
        )
        assert properties["url"].endswith("/api/v2/event/1/")
        assert found[2]["properties"]["name"] == HOSTILE


async def test_geojson_pages_link_to_each_other(service: Service) -> None:
    page = (await service.get(f"{PATH}?format=geojson&limit=1&offset=1")).json()
    links = {link["rel"]: link["href"] for link in page["links"]}
    assert set(links) == {"self", "next", "prev"}
    following = (await service.get(links["next"])).json()
    assert [each["id"] for each in following["features"]] == ["2-84", "2-123"]
    assert (await service.get(f"{PATH}?format=geojson&id=99")).json()["features"] == []
    assert (await service.get(f"{EXPORT}?format=geojson&id=99")).json() == {
        "type": "FeatureCollection",
        "features": [],
    }


async def feed(service: Service, url: str, language: str = "en") -> ElementTree.Element:
    response = await service.get(url, headers={"Accept-Language": language})
    assert response.headers["Content-Type"] == "application/atom+xml; charset=utf-8"
    return ElementTree.fromstring(response.content)


def text(element: ElementTree.Element, name: str) -> str:
    found = element.find(ATOM + name)
    assert found is not None
    return found.text or ""


def links(element: ElementTree.Element) -> dict[str, str]:
    return {link.attrib["rel"]: link.attrib["href"] for link in element.findall(f"{ATOM}link")}


@pytest.mark.parametrize(
    "url", [f"{PATH}?format=atom", f"{EXPORT}?format=atom", f"{PATH}?format=atom&ordering=name"]
)
async def test_feed_has_the_last_changes_first(service: Service, url: str) -> None:
    found = await feed(service, url)
    entries = found.findall(f"{ATOM}entry")
    assert [text(entry, "id").split("/")[-2] for entry in entries] == ["1", "4", "3", "2"]
    assert text(found, "updated") == text(entries[0], "updated") == "2026-10-28T00:00:00Z"
    assert text(entries[0], "published") == "2026-01-02T00:00:00Z"
    assert (
        text(entries[0], "summary")
        == "Yellow · Flood · Nepal · People affected: 1,200\n\nHeavy & long rain\n=1+1"
    )
    assert text(entries[1], "summary") == "Red · Flood · South Sudan · People affected: 1"
    assert text(entries[3], "title") == HOSTILE.replace("\x01", "")
    assert text(found, f"author/{ATOM}name") == "Fieldgate"
    assert links(entries[0]) == {"alternate": text(entries[0], "id")}
    categories = [
        (each.attrib["term"], each.attrib["label"])
        for each in entries[3].findall(f"{ATOM}category")
    ]
    assert categories == [("Flood", "Flood"), ("IND", "India"), ("NPL", "Nepal")]


async def test_feed_of_a_filter(service: Service) -> None:
    found = await feed(
        service, f"{PATH}?format=atom&limit=1&offset=1&countries__in={NEPAL}&dtype=12", "fr"
    )
    assert found.attrib["{http://www.w3.org/XML/1998/namespace}lang"] == "fr"
    assert text(found, "title") == "Urgences: Népal, Inondation"
    assert len(found.findall(f"{ATOM}entry")) == 1
    around = links(found)
    assert set(around) == {"self", "alternate", "previous"}
    assert around["alternate"] == text(found, "id"), "the same on every page"
    assert around["alternate"].endswith(f"/api/v2/event/?countries__in={NEPAL}&dtype=12")
    assert text(await feed(service, around["previous"]), "id") == text(found, "id")
    assert "next" in links(await feed(service, around["previous"]))
    empty = await feed(service, f"{PATH}?format=atom&id=99")
    assert (text(empty, "updated"), empty.findall(f"{ATOM}entry")) == ("1970-01-01T00:00:00Z", [])


@pytest.mark.parametrize("kind", ["geojson", "atom", "csv", "ndjson", "json"])
async def test_hidden_events_are_in_no_format(service: Service, kind: str) -> None:
    urls = [f"{PATH}?format={kind}"] + ([] if kind == "json" else [f"{EXPORT}?format={kind}"])
    for url in urls:
        assert b"Secret" not in (await service.get(url)).content


@pytest.mark.parametrize("path", [PATH, EXPORT])
async def test_csv_with_byte_order_mark(service: Service, path: str) -> None:
    plain = await service.get(f"{path}?format=csv")
    assert plain.content.startswith(b"appeals.id,")
    marked = await service.get(f"{path}?format=csv&bom=true")
    assert marked.content == b"\xef\xbb\xbf" + plain.content
    refused = await service.get(f"{path}?format=csv&bom=maybe")
    assert (refused.status_code, refused.json()) == (400, {"bom": ["Enter true or false."]})


async def test_text_that_becomes_a_formula_without_its_tags(service: Service) -> None:
    formula = "<p>=HYPERLINK(&quot;http://x&quot;)</p>"
    event = make_event(7, summary={"en": formula}, name={"en": "＝1+1"})
    await load_events(service, [event])
    rows = list(csv.DictReader(io.StringIO((await service.get(f"{PATH}?format=csv&id=7")).text)))
    assert (rows[0]["summary"], rows[0]["name"]) == ('\'=HYPERLINK("http://x")', "'＝1+1")
    book = (await service.get(f"{EXPORT}?format=xlsx&id=7")).content
    header, row = CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_index(0).to_python()
    assert row[header.index("What happened")] == '=HYPERLINK("http://x")', "a text, not a formula"


@pytest.mark.parametrize("path", [PATH, EXPORT])
async def test_csv_has_no_formulas_whatever_it_is_split_at(service: Service, path: str) -> None:
    name, summary = "a;=1+1;\t=2+2\t|=3+3|", 'b;"=4+4;\n=5+5;c'
    event = make_event(7, name={"en": name}, summary={"en": summary, "fr": "d;-1-1"})
    await load_events(service, [event])
    text = (await service.get(f"{path}?format=csv")).text
    for separator in ",;\t|":
        cells = [
            cell
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)
            for cell in row
        ]
        assert not [cell for cell in cells if cell.lstrip()[:1] in {*"=+-@"}], separator
    book = (await service.get(f"{EXPORT}?format=xlsx&id=7")).content
    header, row = CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_index(0).to_python()
    assert (row[header.index("Name")], row[header.index("What happened")]) == (name, summary), (
        "as it was written"
    )


FIGURES = {
    "appeals.count": "2", "amount_requested": "150.5", "amount_funded": "100", "regions.name": "Asia Pacific",
    "field_reports.num_dead": "3", "field_reports.num_affected": "70", "field_reports.num_displaced": "",
}  # fmt: skip


async def test_tables_have_amounts_appeals_regions_and_figures_of_reports(service: Service) -> None:
    old = FieldReport(
        id=1,
        created_at=START,
        updated_at=START,
        visibility=Visibility.PUBLIC,
        num_affected=70,
        gov_num_dead=2,
    )
    new = msgspec.structs.replace(
        old, id=2, created_at=START + timedelta(1), num_affected=None, gov_num_dead=3
    )
    hidden = msgspec.structs.replace(
        new, id=3, created_at=START + timedelta(2), num_displaced=9, visibility=1
    )
    appeals = [
        Appeal(id=1, aid="1", atype=0, status=0, amount_requested=100.5, amount_funded=40),
        Appeal(id=2, aid="2", atype=1, status=0, amount_requested=50, amount_funded=60),
    ]
    event = make_event(7, appeals=tuple(appeals), field_reports=(old, new, hidden))
    await load_events(service, [event])
    [row] = csv.DictReader(io.StringIO((await service.get(f"{EXPORT}?id=7")).text))
    assert {name: row[name] for name in FIGURES} == FIGURES
    [without] = csv.DictReader(io.StringIO((await service.get(f"{EXPORT}?id=3")).text))
    assert [without[name] for name in FIGURES] == ["0", *[""] * (len(FIGURES) - 1)], (
        "unknown is not zero"
    )
    headers = {"Authorization": f"Token {await service.create_token()}", "Accept-Language": "fr"}
    [row] = csv.DictReader(io.StringIO((await service.get(f"{EXPORT}?id=7", headers=headers)).text))
    assert (row["field_reports.num_displaced"], row["regions.name"]) == ("9", "Asie-Pacifique")
    [feature] = await features(service, f"{EXPORT}?format=geojson&id=7")
    properties = feature["properties"]
    assert (properties["appeals"], properties["region"], properties["reported_dead"]) == (
        2,
        "Asia Pacific",
        3,
    )
    assert (properties["reported_affected"], properties["reported_displaced"]) == (70, None)


async def test_demo_events_are_labelled_in_every_format(start: StartService) -> None:
    async with start() as service:
        for is_demo in (True, False):
            await load_events(service, [make_event(1)], is_demo=is_demo, replaces_demo=not is_demo)
            [row] = csv.DictReader(io.StringIO((await service.get(EXPORT)).text))
            [feature] = await features(service, f"{EXPORT}?format=geojson")
            book = CalamineWorkbook.from_filelike(
                io.BytesIO((await service.get(f"{EXPORT}?format=xlsx")).content)
            )
            header, cells = book.get_sheet_by_index(0).to_python()
            labels = (
                row["demo"],
                feature["properties"]["demo"],
                cells[header.index("Invented (demo)")],
            )
            assert labels == (str(is_demo), is_demo, is_demo)
            records = [
                json.loads((await service.get(f"{EXPORT}?format=ndjson")).text),
                (await service.get(PATH)).json()["results"][0],
                (await service.get(f"{PATH}1/")).json(),
            ]
            assert [each.get("demo") for each in records] == [True if is_demo else None] * 3


async def test_file_name_from_filter_and_date(service: Service) -> None:
    named = await service.get(f"{EXPORT}?regions__in=0&dtype=12")
    assert re.fullmatch(
        r'attachment; filename="emergencies-africa-flood-\d{4}-\d\d-\d\d\.csv"; '
        r"filename\*=UTF-8''emergencies-africa-flood-\d{4}-\d\d-\d\d\.csv",
        named.headers["Content-Disposition"],
    )
    localized = await service.get(
        f"{EXPORT}?regions__in=0&format=geojson", headers={"Accept-Language": "ar"}
    )
    disposition = localized.headers["Content-Disposition"]
    assert re.search(
        r'filename="emergencies-africa-\d{4}-\d\d-\d\d\.geojson"; filename\*=UTF-8\'\'%D8',
        disposition,
    )
    hostile = await service.get(EXPORT, params={"search": 'a"; filename="x.exe\r\nX-Injected: 1'})
    assert "X-Injected" not in hostile.headers
    assert re.match(
        r'attachment; filename="[a-z0-9.-]+\.csv"; ', hostile.headers["Content-Disposition"]
    )


DAY = date(2026, 11, 16)
REFERENCE = ReferenceData(
    [
        Country(id=123, names={"en": "Nepal", "fr": "Népal", "ar": "نيبال"}, iso3="NPL"),
        Country(id=84, names={"en": "Côte d’Ivoire"}, iso3="CIV"),
        *(Country(id=id_, names={"en": f"Land {id_}"}) for id_ in range(1, 6)),
    ],
    [DisasterType(id=12, names={"en": "Flood", "fr": "Inondation", "ar": "فيضان"})],
)
SINCE = datetime(2021, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (EventFilters(), "emergencies-2026-11-16"),
        (EventFilters(regions__in=(0,), dtype=12), "emergencies-africa-flood-2026-11-16"),
        (EventFilters(countries__iso3__in=("NPL", "CIV", "X")), "emergencies-nepal-cote-d-ivoire-2026-11-16"),
        (EventFilters(countries__iso3="npl"), "emergencies-nepal-2026-11-16"),
        (EventFilters(countries__in=(1, 2, 3, 4, 5)), "emergencies-land-1-land-2-land-3-2026-11-16"),
        (EventFilters(countries__in=(99,), regions__in=(77,), dtype__in=(99,)), "emergencies-2026-11-16"),
        (EventFilters(ifrc_severity_level__in=(1, 2)), "emergencies-orange-red-2026-11-16"),
        (EventFilters(ifrc_severity_level=0, dtype__in=(12, 12)), "emergencies-flood-yellow-2026-11-16"),
        (EventFilters(disaster_start_date__gte=SINCE), "emergencies-since-2021-01-01-2026-11-16"),
        (EventFilters(disaster_start_date__lt=SINCE), "emergencies-until-2021-01-01-2026-11-16"),
        (EventFilters(search='../../etc "cholera"; x', glide="FL-1"), "emergencies-fl-1-etc-cholera-x-2026-11-16"),
        (EventFilters(search="word " * 30), "emergencies" + "-word" * 11 + "-2026-11-16"),
        (EventFilters(search="x" * 150), "emergencies-" + "x" * 58 + "-2026-11-16"),
        (EventFilters(search="طوارئ"), "emergencies-2026-11-16"),
    ],
)  # fmt: skip
def test_ascii_name(filters: EventFilters, expected: str) -> None:
    assert ascii_file_name(filters, REFERENCE, DAY) == expected


def test_name_and_title_in_the_language_of_the_request() -> None:
    filters = EventFilters(regions__in=(0,), countries__in=(123,), dtype=12, search="a b")
    assert (
        file_name(filters, REFERENCE, Language.FRENCH, DAY)
        == "urgences-afrique-népal-inondation-a-b-2026-11-16"
    )
    assert file_name(filters, REFERENCE, Language.ARABIC, DAY).startswith(
        "حالات-الطوارئ-أفريقيا-نيبال-فيضان-a-b"
    )
    assert (
        filter_title(filters, REFERENCE, Language.ENGLISH)
        == "Emergencies: Africa, Nepal, Flood, a b"
    )
    assert filter_title(EventFilters(), REFERENCE, Language.SPANISH) == "Emergencias"
