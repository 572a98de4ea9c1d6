"""What to do with an asset of the source. Pure: no database, no network."""

import hashlib
from enum import Enum
from typing import Any

import msgspec


class MoveAction(Enum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    KEEP = "keep"  # as it is here
    SKIP = "skip"


class KnownAsset(msgspec.Struct, frozen=True):
    """What was moved, and into which asset."""

    uid: str
    content_hash: str = ""
    details_hash: str = ""
    local_hash: str = ""


class Step(msgspec.Struct, frozen=True):
    action: MoveAction
    reason: str = ""
    replaces_content: bool = False


def decide(before: KnownAsset | None, found: KnownAsset, local_hash: str | None) -> Step:
    """`before` was moved last, `found` is in the source. `local_hash` is that of the asset now, None if it is gone."""
    if before is None:
        return Step(MoveAction.CREATE)
    changed = [
        part
        for part, is_changed in {
            "questions": before.content_hash != found.content_hash,
            "name, settings, sharing or publication": before.details_hash != found.details_hash,
        }.items()
        if is_changed
    ]
    if local_hash is None:
        reason = "It was changed there and deleted here. Nothing was done." if changed else "It was deleted here."
        return Step(MoveAction.KEEP, reason)
    if local_hash != before.local_hash:
        there = f"It was changed there ({'; '.join(changed)}) and here." if changed else "It was changed here."
        return Step(MoveAction.KEEP, f"{there} Nothing was overwritten: compare the two, sharing too.")
    if not changed:
        return Step(MoveAction.UNCHANGED)
    return Step(MoveAction.CHANGE, replaces_content=before.content_hash != found.content_hash)


def hash_of(value: Any) -> str:
    """A hash that does not depend on the order of keys."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
