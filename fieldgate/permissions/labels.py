"""Labels of permissions, by asset type and language."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL

Label = str | dict[str, str]

# One message per asset type: in other languages the noun changes the words around it.
_ON_ASSETS: Mapping[str, Mapping[str, Message]] = {
    "view_asset": {
        "survey": Message("View form"),
        "template": Message("View template"),
        "block": Message("View block"),
        "question": Message("View question"),
        "empty": Message("View empty asset"),
        "collection": Message("View collection"),
    },
    "change_asset": {
        "survey": Message("Edit form"),
        "template": Message("Edit template"),
        "block": Message("Edit block"),
        "question": Message("Edit question"),
        "empty": Message("Edit empty asset"),
        "collection": Message("Edit collection"),
    },
    "manage_asset": {
        "survey": Message("Manage project"),
        "template": Message("Manage template"),
        "block": Message("Manage block"),
        "question": Message("Manage question"),
        "empty": Message("Manage empty asset"),
        "collection": Message("Manage collection"),
    },
    "discover_asset": {"collection": Message("Discover collection")},
}
_ON_SUBMISSIONS: Mapping[str, Message] = {
    "add_submissions": Message("Add submissions"),
    "view_submissions": Message("View submissions"),
    "change_submissions": Message("Edit submissions"),
    "delete_submissions": Message("Delete submissions"),
    "validate_submissions": Message("Validate submissions"),
}
_PARTIAL: Mapping[str, Message] = {
    "default": Message("Act on submissions only from specific users"),
    "view_submissions": Message("View submissions only from specific users"),
    "change_submissions": Message("Edit submissions only from specific users"),
    "delete_submissions": Message("Delete submissions only from specific users"),
    "validate_submissions": Message("Validate submissions only from specific users"),
}


@cache
def label(permission: str, asset_type: str, language: Language) -> Label:
    """Return the label of a permission; for partial_submissions, a label for each permission on submissions."""
    if permission == PARTIAL:
        return {key: translate(message, language) for key, message in _PARTIAL.items()}
    if permission in _ON_SUBMISSIONS:
        return translate(_ON_SUBMISSIONS[permission], language)
    return translate(_ON_ASSETS[permission][asset_type], language)


@lru_cache(maxsize=1024)
def short_label(permission: str, asset_type: str, language: Language) -> str:
    """Return one label for any permission, also for one that the type does not support."""
    if permission == PARTIAL:
        return translate(_PARTIAL["default"], language)
    by_type = _ON_ASSETS.get(permission, {})
    message = (
        _ON_SUBMISSIONS.get(permission)
        or by_type.get(asset_type)
        or next(iter(by_type.values()), None)
    )
    return permission if message is None else translate(message, language)


_codenames = re.compile(rf"(?<![\w-])(?:{'|'.join(BY_CODENAME)})(?![\w-])")


def replace_codenames(text: str, asset_type: str, language: Language) -> str:
    """Write labels in place of the codenames in a message."""
    return _codenames.sub(lambda match: quoted_label(match[0], asset_type, language), text)


def quoted_label(permission: str, asset_type: str, language: Language) -> str:
    return translate(
        Message("“{label}”", label=short_label(permission, asset_type, language)), language
    )
