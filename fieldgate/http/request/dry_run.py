"""`dry_run`: a write that shall only be tried. Whoever asks for that, wherever and however spelled, is never ignored.

An operation that can be tried takes `dry_run` in its query; where it cannot be, or the word stands elsewhere, the
request is refused before anything is done.
"""

import re
from collections.abc import Iterable, Mapping

from fieldgate.errors import ValidationError
from fieldgate.http.operations import Operation
from fieldgate.i18n.messages import Message

DRY_RUN = "dry_run"

_NON_LETTERS = re.compile(r"[^a-z]")
_FALSE_VALUES = ("false", "0", "none")


def check_query(operation: Operation, given: Mapping[str, str]) -> None:
    """Refuse a query that asks for a dry run in a way, or of an operation, that has none."""
    known = operation.query_names & {DRY_RUN}
    if operation.route.method != "GET":
        right = Message("This parameter is named dry_run: send ?dry_run=true.")
        _reject(operation, right, [(name, value) for name, value in given.items() if name not in known])


def check_body(operation: Operation, given: Iterable[tuple[str, object]]) -> None:
    """The same for the fields of a body, which never ask for a dry run."""
    _reject(operation, Message("Send dry_run in the query, as ?dry_run=true."), given)


def _reject(operation: Operation, hint: Message, given: Iterable[tuple[str, object]]) -> None:
    message = hint if DRY_RUN in operation.query_names else Message("This cannot be tried here; nothing was done.")
    if wrong := {name: [message] for name, value in given if _is_dry_run_request(name, value)}:
        raise ValidationError(wrong)


def _is_dry_run_request(name: str, value: object) -> bool:
    # Most names are sorted out by their length: lists of thousands come by here.
    if not 6 <= len(name) <= 20 or _NON_LETTERS.sub("", name.lower()) != "dryrun":
        return False
    return str(value).strip().lower() not in _FALSE_VALUES
