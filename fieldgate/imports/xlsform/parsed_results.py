"""What is parsed, and the result: a form, or a library of blocks and questions.

This module loads without the libraries that parse forms.
"""

from typing import Any, Literal

import msgspec

from fieldgate.imports.sheet_excerpts import SheetExcerpt
from fieldgate.imports.xlsform.issues import Issue


class EncodedContent(msgspec.Struct, frozen=True):
    """Form content as JSON. Questions of a library need no names. `allows_empty`: it may have no questions."""

    data: bytes
    name: str
    is_library: bool = False
    allows_empty: bool = False
    asset_uid: str | None = None


class UnlockedForm(msgspec.Struct):
    """A form as a block or question of the library, which have no locks."""

    content: dict[str, Any]
    summary: dict[str, Any]


class Form(msgspec.Struct):
    """A parsed and compiled survey sheet. `unlocked` is None if it has no locks."""

    content: dict[str, Any]
    summary: dict[str, Any]
    title: str | None
    form_id: str | None
    version: str | None
    xform: str
    row_count: int
    warnings: list[Issue]
    excerpts: list[SheetExcerpt] = []
    unlocked: UnlockedForm | None = None


class LibraryItem(msgspec.Struct):
    """One asset of the collection. `name` is the name of the block, or else the label or name of the question."""

    name: str | None
    kind: Literal["block", "question"]
    content: dict[str, Any]
    summary: dict[str, Any]
    tags: list[str]


class Library(msgspec.Struct):
    """A parsed library sheet. `summary` is that of all blocks and questions together."""

    blocks: list[LibraryItem]
    summary: dict[str, Any]
    warnings: list[Issue]
    excerpts: list[SheetExcerpt] = []
