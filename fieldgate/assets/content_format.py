"""The format of stored form content, and how content of an older format becomes current.

upgrade_content(stored, from_version=1)

Each version of an asset is stored with the format of its content. To change the shape of what
`fieldgate.imports.xlsform.content` builds, append a step to STEPS that makes the same change to stored content: not
every version has the file that it was built from.
"""

from collections.abc import Callable, Sequence
from typing import Any

Content = dict[str, Any]
Step = Callable[[Content], Content]  # may change its argument, and returns content of the next format

FIRST_FORMAT = 1

_TRUE_WORDS = frozenset({"yes", "true", "true()"})


def _to_format_2(content: Content) -> Content:
    """The title is the name of the asset only, and `kobo--lock_all` is a boolean."""
    settings = content.get("settings", {})
    settings.pop("form_title", None)
    if isinstance(lock_all := settings.get("kobo--lock_all"), str):
        settings["kobo--lock_all"] = lock_all.lower() in _TRUE_WORDS
    return content


# The first step upgrades format 1 to format 2, and so on. Steps are never changed or removed. They must accept the
# content of collections, which is empty.
STEPS: tuple[Step, ...] = (_to_format_2,)

CONTENT_FORMAT = FIRST_FORMAT + len(STEPS)  # what this release writes


def upgrade_content(content: Content, from_version: int, steps: Sequence[Step] = STEPS) -> Content:
    """Content in the current format.

    Content of a newer format, which another release writes during a rolling upgrade, is returned unchanged.
    """
    if from_version < FIRST_FORMAT:
        raise ValueError(f"form content has no format {from_version}")
    for step in steps[from_version - FIRST_FORMAT :]:
        content = step(content)
    return content
