"""`dry_run`: a write that shall only be tried. Whoever asks for that, wherever and however spelled, is never ignored.

An operation that can be tried takes `dry_run` in its query; where it cannot be, or the word stands elsewhere, the
request is refused before anything is done.
"""

import re
from collections.abc import Iterable, Mapping

from fieldgate.errors import Invalid
from fieldgate.http.operations import Operation
from fieldgate.i18n.messages import Message

DRY_RUN = "dry_run"

_BESIDES = re.compile(r"[^a-z]")
_NO = ("false", "0", "none")


def check_query(operation: Operation, given: Mapping[str, str]) -> None:
    """Refuse a query that asks for a dry run in a way, or of an operation, that has none."""
    known = operation.known & {DRY_RUN}
    if operation.method != "GET":
        right = Message("This parameter is named dry_run: send ?dry_run=true.")
        _refuse(operation, right, [(name, value) for name, value in given.items() if name not in known])


def check_body(operation: Operation, given: Iterable[tuple[str, object]]) -> None:
    """The same for the fields of a body, which never ask for a dry run."""
    _refuse(operation, Message("Send dry_run in the query, as ?dry_run=true."), given)


def _refuse(operation: Operation, right: Message, given: Iterable[tuple[str, object]]) -> None:
    message = right if DRY_RUN in operation.known else Message("This cannot be tried here; nothing was done.")
    if wrong := {name: [message] for name, value in given if _asks(name, value)}:
        raise Invalid(wrong)


def _asks(name: str, value: object) -> bool:
    # Most names are sorted out by their length: lists of thousands come by here.
    if not 6 <= len(name) <= 20 or _BESIDES.sub("", name.lower()) != "dryrun":
        return False
    return str(value).strip().lower() not in _NO
