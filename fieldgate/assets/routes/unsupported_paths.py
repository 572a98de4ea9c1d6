"""Paths of KoboToolbox that this service does not have: everything about collected data.

The response is the same for every asset and every caller, so that it does not tell whether an asset exists.
"""

import re
from collections.abc import Iterable, Mapping

from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.i18n.messages import Message

# Below an asset or at the top, with or without `/api/v2`.
UNSUPPORTED_NAMES = (
    "asset_snapshots",
    "attachments",
    "data",
    "export-settings",
    "exports",
    "files",
    "hooks",
    "paired-data",
    "reports",
    "snapshots",
    "submission",
    "submissions",
)
UNSUPPORTED_PATH = re.compile(
    rf"(?:/api/v[12])?(?:/assets/[^/]+)?/(?P<name>{'|'.join(UNSUPPORTED_NAMES)})(?:[/.].*)?",
    re.DOTALL,
)


def unsupported_messages(paths: Iterable[str]) -> Mapping[str, Message]:
    """The message for each name. It names what an asset has instead, from the declared paths."""
    below_asset, file_of_asset = ASSETS_PATH + "{uid}/", ASSETS_PATH + "{uid}."
    available: set[str] = set()
    for path in paths:
        part = path.removeprefix(below_asset).split("/")[0]
        if path.startswith(below_asset) and part and "{" not in part:
            available.add(f"{part}/")
        elif path.startswith(file_of_asset):
            available.add(path.removeprefix(ASSETS_PATH))
    return {
        name: Message(
            "This service stores forms. It does not collect submissions, so there is no “{name}” here. "
            "Below an asset there are: {available}. All endpoints are listed at /api/v2/.",
            name=name,
            available=", ".join(sorted(available)),
        )
        for name in UNSUPPORTED_NAMES
    }
