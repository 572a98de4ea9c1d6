# mypy: disable-error-code="import-not-found"
"""The ten asset permissions, held in memory: reading them costs the peer no query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _


@dataclass
class Permission:
    """A permission as the serializer reads it, linked to the others by reference."""

    codename: str
    name: str
    implied: list[Permission] = field(default_factory=list)
    contradictory: list[Permission] = field(default_factory=list)


NAMES = {
    "add_submissions": _("Can submit data to asset"),
    "change_asset": _("Can change asset"),
    "change_submissions": _("Can modify submitted data for asset"),
    "delete_submissions": _("Can delete submitted data for asset"),
    "discover_asset": _("Can discover asset in public lists"),
    "manage_asset": _("Can manage all aspects of asset"),
    "partial_submissions": _("Can make partial actions on submitted data for asset for specific users"),
    "validate_submissions": _("Can validate submitted data asset"),
    "view_asset": _("Can view asset"),
    "view_submissions": _("Can view submitted data for asset"),
}

DIRECTLY_IMPLIED = {
    "change_asset": {"view_asset"},
    "discover_asset": {"view_asset"},
    "manage_asset": NAMES.keys() - {"manage_asset", "partial_submissions"},
    "view_submissions": {"view_asset"},
    "partial_submissions": {"view_asset"},
    "change_submissions": {"view_submissions", "add_submissions"},
    "delete_submissions": {"view_submissions"},
    "validate_submissions": {"view_submissions"},
}

CONTRADICTORY = {
    "change_submissions": {"partial_submissions"},
    "delete_submissions": {"partial_submissions"},
    "validate_submissions": {"partial_submissions"},
    "view_submissions": {"partial_submissions"},
    "partial_submissions": {
        "view_submissions",
        "change_submissions",
        "delete_submissions",
        "validate_submissions",
        "manage_asset",
    },
}


def everything_implied(codename: str) -> set[str]:
    """Follow the direct relations to their end."""
    reached: set[str] = set()
    waiting = list(DIRECTLY_IMPLIED.get(codename, ()))
    while waiting:
        following = waiting.pop()
        if following not in reached:
            reached.add(following)
            waiting.extend(DIRECTLY_IMPLIED.get(following, ()))
    return reached


def linked_permissions() -> dict[str, Permission]:
    """Build the catalogue once, with every relation already resolved."""
    permissions = {codename: Permission(codename, name) for codename, name in sorted(NAMES.items())}

    def referred(codenames: Iterable[str]) -> list[Permission]:
        return [permissions[codename] for codename in sorted(codenames)]

    for codename, permission in permissions.items():
        permission.implied = referred(everything_implied(codename))
        permission.contradictory = referred(CONTRADICTORY.get(codename, ()))
    return permissions


PERMISSIONS = linked_permissions()
