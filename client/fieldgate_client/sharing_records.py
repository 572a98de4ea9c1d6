"""What changes of permissions do, as structs, and the error of a change that was done in part."""

from __future__ import annotations

from typing import Any

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.records import Effect
from fieldgate_client.server_url import last_path_segment
from fieldgate_client.terminal_text import clean_line


class UserPermissions(msgspec.Struct, kw_only=True):
    """What a user has on an asset afterwards."""

    asset: str = ""
    user: str = ""
    permissions: list[str] = []

    @property
    def username(self) -> str:
        return last_path_segment(self.user)

    @property
    def codenames(self) -> list[str]:
        return [last_path_segment(each) for each in self.permissions]


class SharingResult(msgspec.Struct, kw_only=True):
    """What a change of permissions did, or would do in a dry run. Fieldgate lists at most 10,000 effects."""

    effects: list[Effect] = []
    result: list[UserPermissions] = []
    counts: dict[str, int] = {}
    dry_run: bool = False


class WhatIf(msgspec.Struct, kw_only=True):
    """What removing and assigning permissions would do, without any asset."""

    asset_type: str = ""
    held: list[str] = []
    assigned: list[str] = []
    removed: list[str] = []
    effects: list[Effect] = []
    result: list[str] = []

    @property
    def codenames(self) -> list[str]:
        """The permissions held afterwards."""
        return [last_path_segment(each) for each in self.result]


class MatchedRule(msgspec.Struct, kw_only=True):
    rule: str
    message: str = ""
    decided: bool = False
    because: list[str] = []
    why: str = ""


class Need(msgspec.Struct, kw_only=True):
    """A permission that could be assigned so that a user gets another one."""

    permission: str
    removes: list[str] = []
    message: str = ""
    why: str = ""


class Explanation(msgspec.Struct, kw_only=True):
    """Why a user has a permission on an asset, or has not."""

    allowed: bool
    user: str = ""
    permission: str = ""
    label: str | None = None
    asset: str = ""
    rules: list[MatchedRule] = []
    needs: list[Need] = []
    partial_permissions: list[dict[str, Any]] = []


class SharingStep(msgspec.Struct, frozen=True):
    """One permission of one user on one asset, by name."""

    asset: str
    user: str
    permission: str

    def __str__(self) -> str:
        return clean_line(f"{self.permission} of {self.user} on {self.asset}")


class SharingIncomplete(FieldgateError):
    """A change was done in part: the server has no way to do everything or nothing.

    `done` are the steps that the server confirmed. `failed` is the step that it refused, or, if `is_unknown`, of which
    no answer arrived. `not_sent` are the steps after it. `failed` is None if only the result could not be read.
    """

    def __init__(
        self,
        cause: FieldgateError,
        *,
        done: list[SharingStep],
        failed: SharingStep | None,
        not_sent: list[SharingStep],
        is_unknown: bool = False,
    ) -> None:
        super().__init__(cause.message, status=cause.status, request_id=cause.request_id, url=cause.url)
        self.cause = cause
        self.done = done
        self.failed = failed
        self.not_sent = not_sent
        self.is_unknown = is_unknown

    def __str__(self) -> str:
        if self.failed is None:
            lines = [f"Everything was done, but the result could not be read: {super().__str__()}"]
        else:
            state = "no answer, maybe done" if self.is_unknown else "refused"
            lines = [f"Not everything was done: {super().__str__()}", f"{state}: {self.failed}"]
        lines += [f"done: {each}" for each in self.done]
        lines += [f"not sent: {each}" for each in self.not_sent]
        return "\n".join(lines)
