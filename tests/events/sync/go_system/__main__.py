"""`python -m tests.events.sync.go_system PORT NUMBER`: serve. A new database gets so many events."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
from django.conf import settings

django.setup()

from django.core.handlers.wsgi import WSGIHandler  # noqa: E402 - the framework must be set up first
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler  # noqa: E402
from django.db import connection  # noqa: E402

from tests.events.sync.go_system.models import PUBLIC, Country, DisasterType, Event  # noqa: E402

START = datetime(2020, 1, 1, tzinfo=UTC)
NAME_COLUMNS = ("name_en", "name_fr", "name_es", "name_ar")
COUNTRIES = [
    (123, "NP", "NPL", ("Nepal", "Népal", "Nepal", "نيبال")),
    (84, "IN", "IND", ("India", "Inde", "India", "الهند")),
    (9001, None, None, ("Old country", "Ancien pays", "País antiguo", "بلد قديم")),
]


def field_report(id_: int) -> dict[str, Any]:
    timestamp = "2020-02-01T00:00:00Z"
    return {
        "id": id_, "status": 9, "is_covid_report": False, "visibility": 3, "visibility_display": "Public",
        "created_at": timestamp, "updated_at": timestamp, "report_date": None, "contacts": [], "countries": [],
        "num_affected": 7, "gov_num_affected": 8, "recent_affected": 2, "num_dead": id_ % 5, "notes_health": None,
        "summary": {"es": "Mucha agua", "fr": "Beaucoup d'eau"}, "description": {"ar": "ماء"},
        "translation_module_original_language": "es",
    }  # fmt: skip


def appeal(id_: int) -> dict[str, Any]:
    return {
        "aid": str(id_), "num_beneficiaries": 5, "amount_requested": 10000.0, "code": f"MDRNP{id_:03}",
        "amount_funded": 0.5, "status": 0, "status_display": "Active", "start_date": "2020-01-05T00:00:00Z",
        "end_date": None, "sector": "", "atype": 0, "atype_display": "DREF", "id": id_,
        "translation_module_original_language": "en",
    }  # fmt: skip


def event(id_: int) -> Event:
    """An event. Three begin at the same time, so that the order needs their ids."""
    begin = START + timedelta(days=id_ // 3)
    created = START + timedelta(days=id_, microseconds=123456)
    figure = {"id": id_, "number": "12", "source": "", "deck": {"en": "people", "ar": "أشخاص"}}
    figure["translation_module_original_language"] = "en"
    link = {"id": id_, "url": "https://a.example", "title": {"fr": "Carte"}, "description": {}}
    link["translation_module_original_language"] = "fr"
    return Event(
        id=id_,
        dtype_id=12 if id_ % 4 else None,
        num_affected=id_ * 10 if id_ % 3 else None,
        ifrc_severity_level=id_ % 3,
        disaster_start_date=begin,
        created_at=created,
        updated_at=created,
        appeals=[appeal(id_)] if id_ % 5 == 0 else [],
        field_reports=[field_report(id_)] if id_ % 6 == 0 else [],
        districts=[{"id": 1, "name": "North", "code": "N", "is_enclave": False, "is_deprecated": False}],
        key_figures=[figure] if id_ % 10 == 0 else [],
        links=[link] if id_ % 15 == 0 else [],
        slug=f"event-{id_}" if id_ % 9 == 0 else None,
        visibility=(PUBLIC, PUBLIC, PUBLIC, 1, 2, 4)[id_ % 6],
        auto_generated_source="New field report" if id_ % 7 == 0 else None,
        name_en=f"Flood {id_}" if id_ % 2 else "",
        name_fr=f"Crue {id_}",
        name_ar=f"فيضان {id_}",
        summary_es="Mucha agua",
        translation_module_original_language="en" if id_ % 2 else "fr",
    )  # fmt: skip


def fill(number: int) -> None:
    with connection.schema_editor() as schema:
        for model in (Country, DisasterType, Event):
            schema.create_model(model)
    for id_, iso, iso3, names in COUNTRIES:
        Country.objects.create(
            id=id_,
            iso=iso,
            iso3=iso3,
            region=2,
            is_deprecated=id_ == 9001,
            average_household_size="4.60",
            **dict(zip(NAME_COLUMNS, names, strict=True)),
        )
    names = ("Flood", "Inondation", "Inundación", "فيضان")
    DisasterType.objects.create(id=12, **dict(zip(NAME_COLUMNS, names, strict=True)))
    Event.objects.bulk_create(event(id_) for id_ in range(1, number + 1))
    for countries_of, shared in (
        (Event.countries.through, 2),
        (Event.countries_for_preview.through, 8),
    ):
        links = [
            countries_of(event_id=id_, country_id=country)
            for id_ in range(1, number + 1)
            for country in (123, 84, 9001)
            if (id_ + country) % shared == 0
        ]
        countries_of.objects.bulk_create(links)


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def main() -> None:
    if not Path(settings.DATABASES["default"]["NAME"]).exists():
        fill(int(sys.argv[2]))
        connection.close()
    server = ThreadedWSGIServer(("127.0.0.1", int(sys.argv[1])), QuietHandler)
    server.set_app(WSGIHandler())
    server.serve_forever()


main()
