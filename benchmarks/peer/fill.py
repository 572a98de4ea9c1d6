"""`python -m benchmarks.peer.fill FOLDER`: create the database of the peer from files, and print the tokens as JSON."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - the framework must be set up first
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from rest_framework.authtoken.models import Token  # noqa: E402

from benchmarks.peer import models  # noqa: E402


def main(folder: Path) -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    with transaction.atomic():
        fill_users(folder)
        fill_imports(folder)
        rows = EventRows()
        for event in read_lines(folder / "events"):
            rows.add(event)
        rows.write()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # so that the planner knows which indexes are useful
    print(
        json.dumps(
            {token.user.username: token.key for token in Token.objects.select_related("user")}
        )
    )


def read_lines(file: Path) -> Iterator[Any]:
    with file.open() as lines:
        yield from map(json.loads, lines)


def fill_users(folder: Path) -> None:
    """Users who have a token, members without one, and an asset that can be shared with them."""
    [given] = read_lines(folder / "users")
    for name in given["callers"]:
        Token.objects.create(user=User.objects.create_user(name))
    User.objects.bulk_create(User(username=name) for name in given["members"])
    models.Assignment.objects.create(
        asset=models.Asset.objects.create(uid=given["asset"]),
        user=User.objects.get(username=given["owner"]),
        permission="manage_asset",
    )


def fill_imports(folder: Path) -> None:
    """The imports of a user, without their files, which are not in lists."""
    stored = ("uid", "status", "messages", "date_created", "filename")
    models.Import.objects.bulk_create(
        models.Import(
            user=User.objects.get(username=user),
            data=b"",
            **{name: record[name] for name in stored},
        )
        for user, record in read_lines(folder / "imports")
    )


class EventRows:
    """Rows of all tables that have parts of events."""

    def __init__(self) -> None:
        # By model and id: a country is in many events, and has one row.
        self._rows: dict[Any, dict[int, Any]] = defaultdict(dict)
        self._links: dict[Any, list[Any]] = defaultdict(list)

    def add(self, event: dict[str, Any]) -> None:
        number = event["id"]
        if event["dtype"]:
            self._add_row(models.DisasterType, event["dtype"])
        self._add_row(
            models.Event, event, visibility=models.PUBLIC, dtype_id=(event["dtype"] or {}).get("id")
        )
        self._add_countries(models.Event.countries.through, event, event_id=number)
        for appeal in event["appeals"]:
            self._add_row(models.Appeal, appeal, event_id=number)
        for report in event["field_reports"]:
            self._add_row(models.FieldReport, report, event_id=number)
            self._add_countries(
                models.FieldReport.countries.through, report, fieldreport_id=report["id"]
            )

    def write(self) -> None:
        for model in (
            models.Country,
            models.DisasterType,
            models.Event,
            models.Appeal,
            models.FieldReport,
        ):
            model.objects.bulk_create(self._rows[model].values())
        for model, links in self._links.items():
            model.objects.bulk_create(links)

    def _add_countries(self, through: Any, record: dict[str, Any], **owner: int) -> None:
        for country in record["countries"]:
            self._add_row(models.Country, country)
            self._links[through].append(through(country_id=country["id"], **owner))

    def _add_row(self, model: Any, record: dict[str, Any], **more: Any) -> None:
        if record["id"] not in self._rows[model]:
            plain = {field.name for field in model._meta.concrete_fields if not field.is_relation}
            values = {name: value for name, value in record.items() if name in plain}
            self._rows[model][record["id"]] = model(**values, **more)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
