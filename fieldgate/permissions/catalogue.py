"""The ten permissions: name, direct grants and contradictions of each.

All implied permissions are computed from the direct grants, by `implied`.
"""

from functools import cache

import msgspec

from fieldgate.i18n.messages import Message


class Permission(msgspec.Struct, frozen=True):
    codename: str
    name: Message
    grants: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()


PERMISSIONS: tuple[Permission, ...] = (
    Permission("add_submissions", Message("Can submit data to asset")),
    Permission("change_asset", Message("Can change asset"), grants=("view_asset",)),
    Permission(
        "change_submissions",
        Message("Can modify submitted data for asset"),
        grants=("view_submissions", "add_submissions"),
        contradicts=("partial_submissions",),
    ),
    Permission(
        "delete_submissions",
        Message("Can delete submitted data for asset"),
        grants=("view_submissions",),
        contradicts=("partial_submissions",),
    ),
    Permission(
        "discover_asset", Message("Can discover asset in public lists"), grants=("view_asset",)
    ),
    Permission(
        "manage_asset",
        Message("Can manage all aspects of asset"),
        grants=(
            "change_asset",
            "discover_asset",
            "change_submissions",
            "delete_submissions",
            "validate_submissions",
        ),
    ),
    Permission(
        "partial_submissions",
        Message("Can make partial actions on submitted data for asset for specific users"),
        grants=("view_asset",),
        contradicts=(
            "view_submissions",
            "change_submissions",
            "delete_submissions",
            "validate_submissions",
            "manage_asset",
        ),
    ),
    Permission(
        "validate_submissions",
        Message("Can validate submitted data asset"),
        grants=("view_submissions",),
        contradicts=("partial_submissions",),
    ),
    Permission("view_asset", Message("Can view asset")),
    Permission(
        "view_submissions",
        Message("Can view submitted data for asset"),
        grants=("view_asset",),
        contradicts=("partial_submissions",),
    ),
)

ADD = "add_submissions"
PARTIAL = "partial_submissions"

BY_CODENAME = {permission.codename: permission for permission in PERMISSIONS}


@cache
def implied(codename: str) -> frozenset[str]:
    """Return all permissions that this one implies, directly or through others."""
    found: set[str] = set()
    pending = list(BY_CODENAME[codename].grants)
    while pending:
        granted = pending.pop()
        if granted not in found:
            found.add(granted)
            pending.extend(BY_CODENAME[granted].grants)
    return frozenset(found)


def permission_path(codename: str) -> str:
    return f"/api/v2/permissions/{codename}/"


def codename_of(reference: str) -> str:
    """Return the codename in the URL or path of a permission; other text as it is."""
    return (
        reference.partition("?")[0].rstrip("/").rpartition("/permissions/")[2]
        if "/" in reference
        else reference
    )
