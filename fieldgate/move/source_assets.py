"""What a source has: records as KoboToolbox and Fieldgate send them, and what is moved of them.

Records are not trusted: uids are checked, links are only taken apart, and texts lose their control characters.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from fieldgate_client.server_url import last_path_segment
from msgspec import Raw

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.store import strip_control_characters
from fieldgate.assets.tables import COLLECTION
from fieldgate.assets.write_schemas import MAX_NAME_CHARS
from fieldgate.http.request.body_parsing import is_too_deep
from fieldgate.permissions.rules import INHERITABLE

MAX_SETTINGS_BYTES = 1024 * 1024
MAX_ROWS = 200_000  # assignments of one asset
MAX_SHOWN_CHARS = 100  # of a text of the source in a message
is_uid = re.compile(r"[A-Za-z0-9]{1,50}").fullmatch


class MoveError(Exception):
    """The run cannot go on. The text says why and what to do."""


class UnreadableAsset(Exception):
    """One asset cannot be read. The others can."""


class ListedRecord(msgspec.Struct):
    uid: str
    asset_type: str = ""
    owner__username: str | None = None


class _Version(msgspec.Struct):
    uid: str = ""
    content_hash: str | None = None


class _Versions(msgspec.Struct):
    results: list[_Version] = []


class SourceRecord(msgspec.Struct):
    asset_type: str
    name: str | None = None
    parent: str | None = None
    tag_string: str | None = None
    settings: Any = None
    content: Raw = Raw(b"")
    has_deployment: bool | None = None
    deployment__active: bool | None = None
    deployed_version_id: str | None = None
    deployed_versions: _Versions | None = None
    version_id: str | None = None
    version__content_hash: str | None = None
    version_count: int | None = None
    deployment__submission_count: int | None = None
    files: list[Raw] | None = None

    @property
    def deploys_newest(self) -> bool:
        """Whether the deployed version has the newest content. KoboToolbox makes versions for changed settings, too."""
        deployed = _Version(self.deployed_version_id or "", self.version__content_hash)
        versions = self.deployed_versions.results if self.deployed_versions else []
        return self.deployed_version_id == self.version_id or deployed in versions

    @property
    def left_behind(self) -> list[str]:
        """What cannot be moved, in words."""
        numbers = {
            "submissions": self.deployment__submission_count or 0,
            "media files": len(self.files or ()),
            "earlier versions": (self.version_count or 1) - 1,
        }
        counts = ", ".join(f"{what} {count}" for what, count in numbers.items() if count > 0)
        found = [f"Stays there: {counts}."] if counts else []
        is_older = self.has_deployment and not self.deploys_newest
        return (
            [*found, "An older version is deployed there. Here the newest is a draft."]
            if is_older
            else found
        )


class AssignmentRow(msgspec.Struct):
    permission: str
    user: str | None = None  # a link, or a username
    team__name: str | None = None
    partial_permissions: list[Any] | None = None
    expires_at: str | None = None
    inherited: bool | None = None
    via: Any = None  # the team through which a person has it

    @property
    def holder(self) -> str:
        """A username, or `team:` and a name."""
        return TEAM_PREFIX + self.team__name if self.team__name else _last_segment(self.user)

    @property
    def key(self) -> tuple[str, str]:
        return self.holder, _last_segment(self.permission)


class ListedAsset(msgspec.Struct, frozen=True):
    uid: str
    owner: str
    asset_type: str
    account: int = 0  # position of the account that can read it


class SourceAsset(msgspec.Struct, frozen=True, kw_only=True):
    uid: str
    asset_type: str
    name: str
    owner: str
    parent: str | None  # uid
    settings: dict[str, Any]
    tags: str
    content: bytes  # JSON; empty: none
    is_active: bool | None  # None: no version is deployed; false: archived
    assignments: Sequence[AssignmentRow]
    left_behind: Sequence[str]
    workbook: bytes | None = None
    workbook_name: str = ""


class SourceTeam(msgspec.Struct, frozen=True):
    uid: str
    name: str
    description: str
    roles: Mapping[str, str]  # by username


class Source(ABC):
    name: str  # what moved assets are known by
    refused: list[str]  # what was listed and is not moved, in words
    teams: Sequence[SourceTeam] = ()
    accounts: Sequence[str] = ()  # whose assets are listed, as far as is known

    @abstractmethod
    async def list_assets(self) -> list[ListedAsset]:
        """All assets to move."""

    @abstractmethod
    async def read_record(self, listed: ListedAsset) -> SourceRecord: ...

    @abstractmethod
    async def read_rows(self, listed: ListedAsset, uid: str) -> list[AssignmentRow]:
        """The assignments of an asset, or of its collection."""

    def read_events(self) -> Iterable[bytes]:
        """Events as they are stored, each as JSON."""
        return ()

    async def close(self) -> None:
        """Close connections, if there are any."""
        return

    async def says_inherited(self, _: ListedAsset) -> bool:
        """Whether rows say that they are inherited from the collection."""
        return True

    async def read(self, listed: ListedAsset) -> SourceAsset:
        """Read one asset. Raise `UnreadableAsset` or `MoveError`."""
        record = await self.read_record(listed)
        parent = _last_segment(record.parent)
        is_deployed = record.has_deployment and record.deploys_newest
        settings = _clean_settings(record.settings)
        name = strip_control_characters(record.name or "")
        lost = (
            ["Its settings are too large or no object, and stay there."]
            if record.settings and not settings
            else []
        )
        if len(name) > MAX_NAME_CHARS:
            lost.append(f"Its name is longer there. It was cut to {MAX_NAME_CHARS} characters.")
        return SourceAsset(
            uid=listed.uid,
            asset_type=record.asset_type,
            name=name[:MAX_NAME_CHARS],
            owner=listed.owner,
            parent=parent if is_uid(parent) else None,
            settings=settings,
            tags=record.tag_string or "",
            content=b""
            if record.asset_type == COLLECTION
            else bytes(record.content).removeprefix(b"null"),
            is_active=bool(record.deployment__active) if is_deployed else None,
            assignments=await self._read_assignments(listed, parent),
            left_behind=[*record.left_behind, *lost],
        )

    async def _read_assignments(self, listed: ListedAsset, parent: str) -> list[AssignmentRow]:
        passed_on = Counter[tuple[str, str]]()
        if is_uid(parent) and not await self.says_inherited(listed):
            try:
                inherited = await self.read_rows(listed, parent)
            except UnreadableAsset:
                inherited = []
            passed_on.update(row.key for row in inherited if row.key[1] in INHERITABLE)
        found = []
        rows = await self.read_rows(listed, listed.uid)
        if len(rows) > MAX_ROWS:
            raise UnreadableAsset(f"It has more than {MAX_ROWS} assignments.")
        for row in rows:
            if (
                row.via or row.holder == listed.owner
            ):  # the team has a row of its own; owners have everything
                continue
            if is_too_deep(row.partial_permissions):
                raise UnreadableAsset("The filters of an assignment are nested too deeply.")
            is_inherited = bool(row.inherited) or passed_on[row.key] > 0
            passed_on[row.key] -= 1  # what is assigned, too, is listed twice
            found.append(msgspec.structs.replace(row, inherited=is_inherited))
        return found


def collections_first(found: Sequence[ListedAsset]) -> list[ListedAsset]:
    return sorted(found, key=lambda each: each.asset_type != COLLECTION)


def _last_segment(link: str | None) -> str:
    """The name at the end of a link, or the name itself. Links are never followed."""
    try:
        return strip_control_characters(last_path_segment(link or ""))
    except ValueError:
        return ""


def _clean_settings(settings: Any) -> dict[str, Any]:
    """Settings without control characters. What is no object, or is too large or deep, is dropped."""
    if not isinstance(settings, dict) or is_too_deep(settings):
        return {}
    return (
        dict(_clean(settings)) if len(msgspec.json.encode(settings)) <= MAX_SETTINGS_BYTES else {}
    )


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value
            if value.isprintable()
            else "\n".join(map(strip_control_characters, value.splitlines()))
        )
    if isinstance(value, dict):
        return {_clean(key): _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list) else value
