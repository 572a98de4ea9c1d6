"""What is known about a copy of a list on disk, in a file next to it: which list it is, and as of when."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.list_query import PAGE_NAMES, ListQuery
from fieldgate_client.ndjson_file import replace_file
from fieldgate_client.server_url import resolve_address

STATE_FORMAT = 1
STATE_SUFFIX = ".state"


class DifferentList(FieldgateError):
    """A file on disk holds another list, or none that this client wrote."""


class ListIdentity(msgspec.Struct, frozen=True):
    """Which list a copy holds."""

    server: str
    path: str
    filters: list[tuple[str, str]]
    language: str = ""
    start: int = 0
    stop: int | None = None

    @classmethod
    def of(cls, query: ListQuery[Any]) -> ListIdentity:
        """Of a list whose names are resolved."""
        path = resolve_address(query.path, query.connection.server).path
        unimportant = PAGE_NAMES | {"ordering"}
        filters = sorted((name, value) for name, value in query.parameters if name not in unimportant)
        return cls(query.connection.server, path, filters, query.language, query.start, query.stop)

    def describe(self) -> str:
        filters = "&".join(f"{name}={value}" for name, value in self.filters)
        part = "" if (self.start, self.stop) == (0, None) else f" from {self.start} to {self.stop or 'the end'}"
        language = f" in the language {self.language!r}" if self.language else ""
        return f"{self.server}{self.path}{'?' if filters else ''}{filters}{part}{language}"


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the data file, recognised by its digest."""

    digest: str
    count: int
    has_token: bool
    next_since: datetime | None = None  # None: the server does not tell what changed
    pulled_at: datetime | None = None  # the last time that everything was read
    data_version: str = ""  # that all pages had; empty if there was none, or several
    reference_version: str = ""  # of countries and disaster types


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """The new state of the data file, and the one before: the files cannot be replaced at the same moment."""

    source: ListIdentity
    copies: list[Copy] = []
    format: int = STATE_FORMAT

    def copy_with(self, digest: str) -> Copy | None:
        return next((each for each in self.copies if digest and each.digest == digest), None)


def state_path(path: Path) -> Path:
    return path.with_name(path.name + STATE_SUFFIX)


def load_state(path: Path, wanted: ListIdentity) -> CopyState:
    """The state of a copy, empty if there is none. Raises `DifferentList` if the file holds something else."""
    beside = state_path(path)
    advice = f"Use another file, or delete {path} and {beside.name}."
    try:
        content = beside.read_bytes()
    except FileNotFoundError:
        if path.exists() and path.stat().st_size:
            raise DifferentList(
                f"{path} exists, and was not written by update(): there is no {beside.name}. {advice}"
            ) from None
        return CopyState(source=wanted)
    try:
        state = msgspec.json.decode(content, type=CopyState)
    except (ValueError, RecursionError) as error:
        raise DifferentList(f"{beside} cannot be read: {error}. {advice}") from None
    if state.format != STATE_FORMAT:
        raise DifferentList(f"{beside} was written by another version of this client. {advice}")
    if state.source != wanted:
        raise DifferentList(f"{path} holds {state.source.describe()}, not {wanted.describe()}. {advice}")
    return state


def save_state(path: Path, state: CopyState) -> None:
    content = msgspec.json.format(msgspec.json.encode(state), indent=1)
    replace_file(state_path(path), content + b"\n")
