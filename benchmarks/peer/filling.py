# mypy: disable-error-code="import-not-found, misc"
"""Events, imports and assignments from files into the peer's tables: one JSON object in each line.

Of an event, a line holds two records, the one of lists and the one it has alone: `listed` and `alone`.
"""

import json
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from benchmarks.peer import models

AT_ONCE = 500  # rows of one statement
PARTS = {
    "appeals": models.Appeal,
    "field_reports": models.FieldReport,
    "key_figures": models.KeyFigure,
    "featured_documents": models.FeaturedDocument,
    "links": models.EventLink,
}


def fill(file: Path) -> None:
    """Load all events of the file."""
    filling = _Filling()
    with file.open() as lines:
        for line in lines:
            given = json.loads(line)
            filling.add(given["alone"] | given["listed"])
    with transaction.atomic():
        filling.write()


def fill_imports(file: Path, user: Any) -> None:
    """Give the user all imports of the file. What was brought in is not in it, and no list shows it."""
    with file.open() as lines:
        records = [json.loads(line) for line in lines]
    stored = ("uid", "status", "messages", "date_created", "filename")
    models.Import.objects.bulk_create(
        models.Import(user=user, name=record["filename"], data=b"", **{name: record[name] for name in stored})
        for record in records
    )


def fill_assignments(file: Path, caller: Any) -> None:
    """Create the assets, users and assignments of the file. A line without a permission is a user without any."""
    with file.open() as lines:
        records = [json.loads(line) for line in lines]
    names = {record["user"] for record in records} - {caller.username}
    User.objects.bulk_create(User(username=name) for name in sorted(names))
    users = {user.username: user for user in User.objects.all()}
    assigned = [record for record in records if record["permission"]]
    models.Asset.objects.bulk_create(models.Asset(uid=uid) for uid in {record["asset"] for record in assigned})
    assets = {asset.uid: asset for asset in models.Asset.objects.all()}
    models.Assignment.objects.bulk_create(
        models.Assignment(
            uid=record["uid"],
            asset=assets[record["asset"]],
            user=users[record["user"]],
            permission=record["permission"],
        )
        for record in assigned
    )


class _Filling:
    def __init__(self) -> None:
        # Rows by model and id: a country is in many events, and one row.
        self._rows: dict[Any, dict[int, Any]] = defaultdict(dict)
        self._links: dict[Any, list[Any]] = defaultdict(list)

    def add(self, event: dict[str, Any]) -> None:
        number = event["id"]
        if event["dtype"]:
            self._row(models.DisasterType, event["dtype"])
        self._row(models.Event, event, dtype_id=(event["dtype"] or {}).get("id"))
        self._countries(models.Event.countries.through, event, event_id=number)
        for district in event["districts"]:
            self._row(models.District, district)
            through = models.Event.districts.through
            self._links[through].append(through(event_id=number, district_id=district["id"]))
        for name, model in PARTS.items():
            for part in event[name]:
                self._row(model, part, event_id=number)
                if model is models.FieldReport:
                    self._countries(models.FieldReport.countries.through, part, fieldreport_id=part["id"])

    def write(self) -> None:
        first = (models.Country, models.DisasterType, models.District, models.Event)
        for model in (*first, *PARTS.values()):
            model.objects.bulk_create(self._rows[model].values(), batch_size=AT_ONCE)
        for model, links in self._links.items():
            model.objects.bulk_create(links, batch_size=AT_ONCE)

    def _countries(self, through: Any, record: dict[str, Any], **owner: int) -> None:
        for country in record["countries"]:
            self._row(models.Country, country, sorting_name=_sorting_name(country["name"]))
            self._links[through].append(through(country_id=country["id"], **owner))

    def _row(self, model: Any, record: dict[str, Any], **more: Any) -> None:
        if record["id"] not in self._rows[model]:
            plain = {field.name for field in model._meta.concrete_fields if not field.is_relation}
            values = {name: value for name, value in record.items() if name in plain}
            self._rows[model][record["id"]] = model(**values, **more)


def _sorting_name(name: str) -> str:
    apart = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
