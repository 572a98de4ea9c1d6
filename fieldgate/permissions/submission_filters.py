"""Filters of partial_submissions: which submissions a permission is for."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.permissions.catalogue import ADD, PARTIAL, implied
from fieldgate.permissions.effects import RuleViolation

Filter = Mapping[str, Any]
Filters = Mapping[str, tuple[Filter, ...]]  # by codename; a submission has to match one of them

# Permissions that can be given for some submissions only, in the order of responses.
PARTIALLY_GRANTABLE = (
    ADD,
    "view_submissions",
    "change_submissions",
    "delete_submissions",
    "validate_submissions",
)
MAX_FILTERS = 1_000  # of one assignment, with implied ones
MAX_FILTER_BYTES = 64 * 1024  # of the same, as JSON
# For rules whose result does not depend on the filters.
ANY_SUBMISSIONS: Filters = {"view_submissions": ({},)}


class NormalizedFilters(dict[str, tuple[Filter, ...]]):
    """Filters with the ones they imply, without duplicates, within the limits."""

    json_size = 0  # bytes, as JSON


def filters_json_size(filters: Filters) -> int:
    return (
        filters.json_size
        if isinstance(filters, NormalizedFilters)
        else len(msgspec.json.encode(filters))
    )


def with_implied_filters(filters: Filters) -> NormalizedFilters:
    """Add the filters of implied permissions: changing some submissions implies viewing and adding them.

    Raise RuleViolation if a filter is not possible, or if there are too many.
    """
    if isinstance(
        filters, NormalizedFilters
    ):  # one request can pass the same filters for a thousand users
        return filters
    _check_filters(filters)
    normalized = NormalizedFilters()
    for codename in PARTIALLY_GRANTABLE:
        implying = [
            each for each in PARTIALLY_GRANTABLE if each in filters and codename in implied(each)
        ]
        together = [one for each in (codename, *implying) for one in filters.get(each, ())]
        if together:
            normalized[codename] = tuple({_canonical_json(one): one for one in together}.values())
    if sum(map(len, normalized.values())) > MAX_FILTERS:
        raise RuleViolation("partial_permissions", too_many_filters_message())
    normalized.json_size = len(msgspec.json.encode(normalized))
    if normalized.json_size > MAX_FILTER_BYTES:
        raise RuleViolation("partial_permissions", filters_too_large_message())
    return normalized


def _check_filters(filters: Filters) -> None:
    for codename, given in filters.items():
        if codename not in PARTIALLY_GRANTABLE:
            message = Message(
                "{permission} cannot be given for some submissions only. Choose one of: {choices}.",
                permission=codename,
                choices=", ".join(PARTIALLY_GRANTABLE),
            )
            raise RuleViolation("partial_permissions", message)
        if not given:
            message = Message("Give at least one filter for {permission}.", permission=codename)
            raise RuleViolation("partial_permissions", message)


def required_filters(requested: frozenset[str], filters: Filters | None) -> Filters:
    if PARTIAL not in requested:
        return {}
    if not filters:
        message = Message("Say which submissions {permission} is for.", permission=PARTIAL)
        raise RuleViolation("partial_permissions", message)
    return with_implied_filters(filters)


def filters_equal(filters: Filters, others: Filters) -> bool:
    """Whether both select the same submissions, in any order."""
    return filters.keys() == others.keys() and all(
        set(map(_canonical_json, given)) == set(map(_canonical_json, others[codename]))
        for codename, given in filters.items()
    )


def _canonical_json(one: Filter) -> bytes:
    """Return the form to compare filters by; in Python, 1 and True would be equal."""
    return msgspec.json.encode(one, order="sorted")


def too_many_filters_message() -> Message:
    return PluralMessage(
        "These are too many filters: at most {count} is taken for one assignment, with those that they imply for other"
        " permissions.",
        "These are too many filters: at most {count} are taken for one assignment, with those that they imply for other"
        " permissions.",
        MAX_FILTERS,
    )


def filters_too_large_message() -> Message:
    return PluralMessage(
        "These filters are too large: at most {count} KiB of JSON is taken for one assignment, with those that they"
        " imply for other permissions.",
        "These filters are too large: at most {count} KiB of JSON are taken for one assignment, with those that they"
        " imply for other permissions.",
        MAX_FILTER_BYTES // 1024,
    )
