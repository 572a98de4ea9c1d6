"""What to do with an asset of the source. Pure: no database, no network."""

import hashlib
from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec


class MoveAction(Enum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    KEEP = "keep"  # as it is here
    SKIP = "skip"


class AssetPart(Enum):
    """A part of an asset that is compared and moved by itself."""

    QUESTIONS = "questions"
    DETAILS = "name, settings, tags or collection"
    PUBLICATION = "publication"
    SHARING = "sharing"


class KnownAsset(msgspec.Struct, frozen=True):
    """What was moved, and into which asset. Hashes are by part."""

    uid: str
    found: dict[str, str] = {}  # in the source
    local: dict[str, str] = {}  # here, afterwards


class Step(msgspec.Struct, frozen=True):
    action: MoveAction
    taken: frozenset[AssetPart] = frozenset()  # parts to write
    changed_here: frozenset[AssetPart] = frozenset()  # they stay as they are
    reason: str = ""


def decide(before: KnownAsset | None, found: dict[str, str], local: dict[str, str] | None) -> Step:
    """`before` was moved last, `found` is in the source now, `local` here now. It is None if the asset is gone."""
    if before is None:
        return Step(MoveAction.CREATE, frozenset(AssetPart))
    there = {part for part in AssetPart if before.found.get(part.name) != found[part.name]}
    if local is None:
        reason = (
            "It was changed there and deleted here. Nothing was done."
            if there
            else "It was deleted here."
        )
        return Step(MoveAction.KEEP, reason=reason)
    here = {part for part in AssetPart if before.local.get(part.name) != local[part.name]}
    if AssetPart.QUESTIONS in here:  # they are not published because of what happened there
        here |= there & {AssetPart.PUBLICATION}
    elif AssetPart.QUESTIONS in there and AssetPart.PUBLICATION not in here:
        there.add(AssetPart.PUBLICATION)
    taken = there - here
    action = MoveAction.CHANGE if taken else MoveAction.KEEP if here else MoveAction.UNCHANGED
    reasons = (
        ("It was changed there and here, and kept as it is here", there & here),
        ("It was changed here", here - there),
    )
    texts = [
        f"{text}: {', '.join(part.value for part in AssetPart if part in parts)}."
        for text, parts in reasons
        if parts
    ]
    return Step(action, frozenset(taken), frozenset(here), " ".join(texts))


def hashes(parts: Mapping[AssetPart, Any]) -> dict[str, str]:
    """A hash of each part, which does not depend on the order of keys."""
    return {
        part.name: hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()
        for part, value in parts.items()
    }
