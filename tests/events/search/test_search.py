"""`search=` of events: names, GLIDE numbers and codes of appeals, whatever the case, the accents and the keyboard."""

from collections.abc import AsyncIterator

import pytest

from fieldgate.events.model import Appeal
from fieldgate.settings import Settings
from tests.conftest import Service, new_database, run_service
from tests.data.events import PATH, load_events
from tests.events.event_service import make_event

IVORY_COAST, TURKEY, NEPAL = 182, 174, 123
EVENTS = [
    make_event(1, name={"en": "Floods in Türkiye"}, countries=(NEPAL,)),
    make_event(2, name={"fr": "Épidémie à l’Œuvre"}, countries=(IVORY_COAST,)),
    make_event(3, name={"ar": "إعصارُ الإسكندرية"}, countries=()),
    make_event(4, name={"en": "Storm"}, countries=(TURKEY,), glide="TC-2026-000004-TUR"),
    make_event(
        5,
        name={"en": "100% dry_season"},
        countries=(),
        appeals=(Appeal(id=1, aid="1", code="MDRXX005", atype=0, status=0),),
    ),
]


@pytest.fixture(scope="module")
async def service(
    database_kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("search")
    async with (
        new_database(database_kind, folder, request) as address,
        run_service(Settings(database_url=address, access_log=False)) as service,
    ):
        await load_events(service, EVENTS)
        yield service


@pytest.mark.parametrize(
    ("search", "ids"),
    [
        ("turkiye", {1, 4}),
        ("TÜRKIYE floods", {1}),
        ("epidemie", {2}),
        ("oeuvre", {2}),
        ("l'oeuvre", {2}),
        ("cote d'ivoire", {2}),
        ("اعصار", {3}),
        ("الاسكندريه", {3}),
        ("tc-2026-000004", {4}),
        ("mdrxx005", {5}),
        ("100%", {5}),
        ("dry_s", {5}),
        ("y_s", {5}),
        ("%", {5}),
        ("storm floods", set()),
    ],
)
async def test_words_are_found(service: Service, search: str, ids: set[int]) -> None:
    page = (await service.get(PATH, params={"search": search})).json()
    assert {record["id"] for record in page["results"]} == ids
    assert page["count"] == len(ids)
