"""Lists ordered by name, in the order of the language of the response."""

from fieldgate.events.store import EventStore
from fieldgate.i18n.languages import Language
from tests.conftest import StartService
from tests.events.event_service import PATH, make_event

NAMES = {1: "Ñame", 2: "nube", 3: "Zona", 4: "oca", 5: "Émile", 6: "فيضان", 7: "Emma", 8: ""}


ORDERS = {
    Language.ENGLISH: [5, 7, 1, 2, 4, 3, 6],
    Language.FRENCH: [5, 7, 1, 2, 4, 3, 6],
    Language.SPANISH: [5, 7, 2, 1, 4, 3, 6],
    Language.ARABIC: [6, 5, 7, 1, 2, 4, 3],
}


async def test_order_of_names(start: StartService) -> None:
    async with start() as service:
        store = EventStore(service.database, service.data_versions)
        await store.upsert([make_event(id_, name={"en": name}) for id_, name in NAMES.items()])
        for language, order in ORDERS.items():
            for prefix, wanted in (("", [*order, 8]), ("-", [*order[::-1], 8])):
                headers = {"Accept-Language": language.value}
                listed = (await service.get(f"{PATH}?ordering={prefix}name", headers=headers)).json()["results"]
                assert [record["id"] for record in listed] == wanted, "an event without a name comes last"
