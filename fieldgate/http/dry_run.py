"""Dry-run handling: a client that asks for a dry run never causes a write by mistake.

Operations that support it have `dry_run` in their query. If an operation does not, or `dry_run` is misspelled or sent
in the body, the request is refused before anything is written.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from fieldgate.errors import ValidationError
from fieldgate.http.operations import Operation
from fieldgate.i18n.messages import Message

DRY_RUN = "dry_run"
_IN_QUERY = Message("Send dry_run in the query, as ?dry_run=true.")

_NON_LETTERS = re.compile(r"[^a-z]")
_FALSE_VALUES = ("false", "0", "none")


def check_query(operation: Operation, given: Mapping[str, str], query_string: bytes) -> None:
    """Refuse a query of a write that asks for a dry run twice, under another name, or where it is not supported."""
    if [
        name for name, _ in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
    ].count(DRY_RUN) > 1:
        raise ValidationError({DRY_RUN: [_IN_QUERY]})
    known = operation.query_names & {DRY_RUN}
    hint = Message("This parameter is named dry_run: send ?dry_run=true.")
    _reject(operation, hint, [(name, value) for name, value in given.items() if name not in known])


def check_body(operation: Operation, given: Iterable[tuple[str, object]]) -> None:
    """Refuse a body that asks for a dry run: it belongs in the query."""
    _reject(operation, _IN_QUERY, given)


def _reject(operation: Operation, hint: Message, given: Iterable[tuple[str, object]]) -> None:
    message = (
        hint
        if DRY_RUN in operation.query_names
        else Message("A dry run is not possible here; nothing was done.")
    )
    if errors := {name: [message] for name, value in given if _is_dry_run_request(name, value)}:
        raise ValidationError(errors)


def _is_dry_run_request(name: str, value: object) -> bool:
    # The length rules out most names cheaply: bodies can have thousands of fields.
    is_named_so = 6 <= len(name) <= 20 and _NON_LETTERS.sub("", name.lower()) == "dryrun"
    return is_named_so and str(value).strip().lower() not in _FALSE_VALUES
