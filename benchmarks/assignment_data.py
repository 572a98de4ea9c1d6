"""Assignments: written to the database of Fieldgate, and to a file for the peer."""

from pathlib import Path

import msgspec

from benchmarks.contenders import Contender
from benchmarks.sharing_data import (
    LISTED_ASSET,
    LISTED_MEMBERS,
    WRITTEN_ASSET,
    WRITTEN_MEMBERS,
    add_assets,
    add_members,
    share_asset,
)
from benchmarks.single_request import send_request
from benchmarks.walks import ASSIGNMENTS
from benchmarks.work import Work


def add_assignments(data: Path, owner: str) -> None:
    """Add a form that is shared with some users, and one that can be shared with many."""
    add_members(data, LISTED_MEMBERS)
    share_asset(data, add_assets(data, owner, 1, uid=LISTED_ASSET))
    add_members(data, WRITTEN_MEMBERS, "assigned")
    add_assets(data, owner, 1, uid=WRITTEN_ASSET)


def export_assignments(ours: Contender, file: Path) -> None:
    """Write the assignments to a file for the peer, and the users who have none yet."""
    records = []
    for asset in (LISTED_ASSET, WRITTEN_ASSET):
        work = Work(name="assignments", path=ASSIGNMENTS.format(uid=asset), signed_in=True)
        for record in msgspec.json.decode(send_request(work, ours).body):
            parts = {name: record[name].rstrip("/").rpartition("/")[2] for name in ("url", "user", "permission")}
            records.append(
                {"asset": asset, "uid": parts["url"], "user": parts["user"], "permission": parts["permission"]}
            )
    records += [{"user": f"assigned{number}", "permission": ""} for number in range(WRITTEN_MEMBERS)]
    file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
