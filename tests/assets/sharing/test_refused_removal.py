"""A removal that the rules refuse is reported and not written.

Today's rules refuse only to remove the owner's permissions, which the routes answer with 409 before they plan anything.
Over HTTP, these tests therefore add a rule that refuses every removal.
"""

from typing import Any

import pytest

from fieldgate.i18n.messages import Message
from fieldgate.permissions import rules
from fieldgate.permissions.rules import RuleOutcome
from fieldgate.permissions.violations import RuleViolation
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam

REFUSED = "This removal is refused."
CSV = "user,permission\nviewer,view_asset\n"


def refuse(*_: Any) -> RuleOutcome:
    raise RuleViolation("permission", Message(REFUSED))


@pytest.mark.parametrize("is_dry_run", [False, True])
async def test_routes_report_refused_removals(
    team: SharingTeam, monkeypatch: pytest.MonkeyPatch, is_dry_run: bool
) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    base = f"/api/v2/assets/{uid}/permission-assignments/"
    assignment = await team.assignment_uid(uid, "viewer", "view_asset")
    batch = {"assets": [uid], "users": ["viewer"], "permissions": ["view_asset"]}
    requests: list[tuple[str, str, dict[str, Any] | None, dict[str, list[str]]]] = [
        ("DELETE", f"{base}{assignment}/", None, {"permission": [REFUSED]}),
        ("DELETE", f"{base}bulk/", {"username": "viewer"}, {"username": [REFUSED]}),
        ("POST", f"{base}csv/", {"text": CSV, "mode": "remove"}, {"line 2.permission": [REFUSED]}),
        ("POST", f"{BATCH_PATH}remove/", batch, {"permissions": [f"{REFUSED} (asset {uid})"]}),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(rules, "remove", refuse)
        patch.setattr(rules, "remove_all", refuse)
        for method, path, body, errors in requests:
            answer = await team.request("owner", method, f"{path}{'?dry_run=true' if is_dry_run else ''}", json=body)
            assert (answer.status_code, answer.json()) == (400, errors), path
    assert await team.snapshot(uid) == before
