"""What creating and changing assets needs from the part that checks forms: content goes in, a form comes out.

`fieldgate.imports` implements it, above this package; `app.py` passes it in.
"""

from typing import Any, Protocol

import msgspec

from fieldgate.assets.write_schemas import FormIssue
from fieldgate.i18n.languages import Language
from fieldgate.identity import User


class ContentToCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Form content that a client sent, as JSON or as a workbook. `name` is the title of a form without one.

    `asset_uid` names the root of the XForm where its usual name is taken.
    """

    data: bytes
    asset_type: str
    name: str
    asset_uid: str
    allows_empty: bool = False  # content without rows is accepted, as for a new form
    is_workbook: bool = False


class CheckedContent(msgspec.Struct, frozen=True, kw_only=True):
    """Valid content in the stored format, with all that is derived from it.

    `asset_type` can differ from the requested one: a block of one row is a question. `warnings` are JSON data, which
    only the checker can show.
    """

    asset_type: str
    title: str | None
    content: dict[str, Any]
    summary: dict[str, Any]
    xform: str | None
    warnings: list[dict[str, Any]] | None = None

    @classmethod
    def empty(cls, asset_type: str) -> "CheckedContent":
        """A form without questions, as a new form begins."""
        return cls(
            asset_type=asset_type,
            title=None,
            content={
                "schema": "1", "survey": [], "choices": [], "settings": {}, "translations": [], "translated": [],
            },
            summary={
                "geo": False, "labels": [], "columns": [], "languages": [], "row_count": 0, "default_translation": None,
            },
            xform=None,
        )  # fmt: skip


class ContentChecker(Protocol):
    async def check(self, user: User, content: ContentToCheck) -> CheckedContent:
        """Check content as a workbook is checked, outside this process.

        Raise a `Problem`: 400 with all problems of the form, 413 if it is too large, 503 if it takes too long or too
        many checks are running.
        """
        ...

    def localize_warnings(
        self, warnings: list[dict[str, Any]], language: Language
    ) -> list[FormIssue]:
        """The warnings of checked content in a language."""
        ...
