"""Uses the generated package `generated_client` as an application would: scenario.py BASE_URL TOKEN WORKBOOK."""

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

from generated_client import AuthenticatedClient
from generated_client.api.assets import asset_list, asset_xform
from generated_client.api.events import event_list
from generated_client.api.imports import import_creation, import_detail
from generated_client.api.permissions import permission_list
from generated_client.api.sharing import assignment_creation, assignment_list
from generated_client.models import (
    AssignmentBody,
    AssignmentBodyForm,
    ImportRequest,
    ImportRequestForm,
    ImportRequestMultipart,
)
from generated_client.types import File

BASE_URL, TOKEN, WORKBOOK = sys.argv[1], sys.argv[2], Path(sys.argv[3])
FILTERED = [{"url": "view_submissions", "filters": [{"_submitted_by": "bashir"}]}]


def created_asset(client: AuthenticatedClient, uid: str) -> str:
    while (record := import_detail.sync(uid, client=client)).status.value == "processing":
        time.sleep(0.05)
    messages = record.messages.to_dict()
    return str(messages["created"][0]["uid"])


def main() -> None:
    client = AuthenticatedClient(BASE_URL, TOKEN, prefix="Token", raise_on_unexpected_status=True)
    content = WORKBOOK.read_bytes()
    encoded = base64.b64encode(content).decode()
    with WORKBOOK.open("rb") as file, client:
        bodies: list[Any] = [
            ImportRequestMultipart(file=File(file, WORKBOOK.name), name="As multipart"),
            ImportRequest(base_64_encoded=encoded, name="As JSON"),
            ImportRequestForm(base_64_encoded=encoded, name="As form"),
        ]
        assets = [
            created_asset(client, import_creation.sync(client=client, body=body).uid)
            for body in bodies
        ]
        for grant in (
            AssignmentBody(user="bashir", permission="view_asset"),
            AssignmentBodyForm(
                user="bashir",
                permission="partial_submissions",
                partial_permissions=json.dumps(FILTERED),
            ),
        ):
            created = assignment_creation.sync_detailed(assets[0], client=client, body=grant)
            assert created.status_code == 201, created.content
        events = event_list.sync(client=client, limit=2)
        report = {
            "assets": assets,
            "listed": [record.name for record in asset_list.sync(client=client).results],
            "permissions": [
                record.codename for record in permission_list.sync(client=client).results
            ],
            "events": [events.count, len(events.results)],
            "assignments": [
                f"{each.user} {each.permission}"
                for each in assignment_list.sync(assets[0], client=client)
            ],
            "xform": asset_xform.sync(assets[0], client=client).payload.read().decode(),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
