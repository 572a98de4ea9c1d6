"""Checks that the contenders send the right responses. Otherwise the figures mean nothing."""

import csv
import io
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click
import msgspec

from benchmarks.contenders import Contender
from benchmarks.recorded_response import RecordedResponse
from benchmarks.single_request import send_request
from benchmarks.work import Work

# Lists without a defined order.
UNORDERED_KEYS = {"implied", "contradictory"}
SAMPLED_PATHS = 4  # of a walk, besides the first
NOT_MODIFIED, NOT_FOUND = 304, 404


class WrongResponse(click.ClickException):
    """A contender sent a wrong response."""


def is_supported(work: Work, ours: Contender) -> bool:
    """Whether this Fieldgate supports the work. Works without a peer may be newer than the measured version."""
    return work.has_peer or send_request(work, ours).status != NOT_FOUND


def compare_responses(work: Work, ours: Contender, peer: Contender | None) -> RecordedResponse:
    """Check that Fieldgate and the peer send the same, also on some paths of a walk. Returns our response."""
    for path in work.paths[1 :: max(1, len(work.paths) // SAMPLED_PATHS)]:
        _compare_once(work.with_path(path), ours, peer)
    return _compare_once(work, ours, peer)


def _compare_once(work: Work, ours: Contender, peer: Contender | None) -> RecordedResponse:
    our_response = _checked_response(work, ours)
    if peer is None:
        return our_response
    peer_response = _checked_response(work, peer)
    if _comparable_content(work, our_response) != _comparable_content(work, peer_response):
        raise WrongResponse(
            f"{work.name}: Fieldgate and the peer send different responses to {work.path}\n"
            f"ours: {our_response.body.decode()}\npeer: {peer_response.body.decode()}"
        )
    return our_response


def check_floor(work: Work, floor: Contender, ours: RecordedResponse) -> None:
    """Check that the floor repeats the response of Fieldgate."""
    found = _checked_response(work, floor)
    if (found.status, found.body, _header_names(found)) != (ours.status, ours.body, _header_names(ours)):
        raise WrongResponse(f"{work.name}: the floor does not repeat the response.\nours: {ours}\nfloor: {found}")


def _checked_response(work: Work, contender: Contender) -> RecordedResponse:
    response = send_request(work, contender)
    is_right = response.status == NOT_MODIFIED if work.is_conditional else 200 <= response.status < 300
    if not is_right:
        raise WrongResponse(f"{work.name}: {contender.name} answered {response.status}: {response.body.decode()}")
    return response


def _header_names(response: RecordedResponse) -> list[str]:
    return sorted(name.lower() for name, _ in response.headers)


def _comparable_content(work: Work, response: RecordedResponse) -> Any:
    if response.header("content-type").startswith("text/csv"):
        return list(csv.reader(io.StringIO(response.body.decode(), newline="")))
    content: Any = normalize(msgspec.json.decode(response.body)) if response.body else None
    if work.ignored_fields:
        content = {key: None if key in work.ignored_fields else value for key, value in content.items()}
    return response.status, content


def normalize(value: Any) -> Any:
    """Sort unordered lists, and reduce links to path and query: each contender has its own port."""
    if isinstance(value, dict):
        return {
            key: sorted(normalize(inner)) if key in UNORDERED_KEYS else normalize(inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [normalize(inner) for inner in value]
    if isinstance(value, str) and value.startswith("http://127.0.0.1:"):
        link = urlsplit(value)
        # The links of one contender include offset=0, those of the other do not.
        return link.path, sorted(pair for pair in parse_qsl(link.query) if pair != ("offset", "0"))
    return value
