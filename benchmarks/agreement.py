"""Whether an answer is right. Figures of a server that answers something else are worth nothing."""

import csv
import io
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click
import msgspec

from benchmarks.answer import RecordedResponse
from benchmarks.contenders import Contender
from benchmarks.exchange import send_request
from benchmarks.work import Work

# Lists in which order means nothing.
UNORDERED_KEYS = {"implied", "contradictory"}
SAMPLED_PATHS = 4  # paths of a walk, besides its first
NOT_MODIFIED, NOT_FOUND = 304, 404


class WrongResponse(click.ClickException):
    """A contender did not do the work it was asked to do."""


def is_supported(work: Work, ours: Contender) -> bool:
    """Whether we answer this at all: what has no peer may be newer than the Fieldgate that is measured."""
    return work.has_peer or send_request(work, ours).status != NOT_FOUND


def compare_responses(work: Work, ours: Contender, peer: Contender | None) -> RecordedResponse:
    """What we answered, after the peer, if it is asked, was found to say the same, on some paths of a walk too."""
    for path in work.paths[1 :: max(1, len(work.paths) // SAMPLED_PATHS)]:
        _compare_once(work.with_path(path), ours, peer)
    return _compare_once(work, ours, peer)


def _compare_once(work: Work, ours: Contender, peer: Contender | None) -> RecordedResponse:
    our_answer = _checked_response(work, ours)
    if peer is None:
        return our_answer
    peer_answer = _checked_response(work, peer)
    if _comparable_content(work, our_answer) != _comparable_content(work, peer_answer):
        raise WrongResponse(
            f"{work.name}: we and the peer do not say the same to {work.path}\n"
            f"ours: {our_answer.body.decode()}\npeer: {peer_answer.body.decode()}"
        )
    return our_answer


def check_floor(work: Work, floor: Contender, ours: RecordedResponse) -> None:
    """The floor must send what we sent, or it would not be our floor."""
    found = _checked_response(work, floor)
    if (found.status, found.body, _header_names(found)) != (ours.status, ours.body, _header_names(ours)):
        raise WrongResponse(f"{work.name}: the floor does not repeat our answer.\nours: {ours}\nfloor: {found}")


def _checked_response(work: Work, contender: Contender) -> RecordedResponse:
    answer = send_request(work, contender)
    is_right = answer.status == NOT_MODIFIED if work.is_conditional else 200 <= answer.status < 300
    if not is_right:
        raise WrongResponse(f"{work.name}: {contender.name} answered {answer.status}: {answer.body.decode()}")
    return answer


def _header_names(answer: RecordedResponse) -> list[str]:
    return sorted(name.lower() for name, _ in answer.headers)


def _comparable_content(work: Work, answer: RecordedResponse) -> Any:
    if answer.header("content-type").startswith("text/csv"):
        return list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
    said: Any = normalize(msgspec.json.decode(answer.body)) if answer.body else None
    if work.ignored_fields:
        said = {key: None if key in work.ignored_fields else value for key, value in said.items()}
    return answer.status, said


def normalize(value: Any) -> Any:
    """The value with its links cut to what they ask for, since each contender has its own port, and sets sorted."""
    if isinstance(value, dict):
        return {
            key: sorted(normalize(inner)) if key in UNORDERED_KEYS else normalize(inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [normalize(inner) for inner in value]
    if isinstance(value, str) and value.startswith("http://127.0.0.1:"):
        link = urlsplit(value)
        # One says that a page is the first, the other says nothing.
        return link.path, sorted(pair for pair in parse_qsl(link.query) if pair != ("offset", "0"))
    return value
