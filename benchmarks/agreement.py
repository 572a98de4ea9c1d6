"""Whether an answer is right. Figures of a server that answers something else are worth nothing."""

import csv
import io
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click
import msgspec

from benchmarks.answer import Answer
from benchmarks.contenders import Contender
from benchmarks.exchange import ask
from benchmarks.work import Work

# Lists in which order means nothing.
SETS = {"implied", "contradictory"}
COMPARED = 4  # paths of a walk, besides its first
NOT_MODIFIED, NOT_FOUND = 304, 404


class WrongAnswer(click.ClickException):
    """A contender did not do the work it was asked to do."""


def is_offered(work: Work, ours: Contender) -> bool:
    """Whether we answer this at all: what has no peer may be newer than the Fieldgate that is measured."""
    return work.has_peer or ask(work, ours).status != NOT_FOUND


def agreed_answer(work: Work, ours: Contender, peer: Contender | None) -> Answer:
    """What we answered, after the peer, if it is asked, was found to say the same, on some paths of a walk too."""
    for path in work.paths[1 :: max(1, len(work.paths) // COMPARED)]:
        _agreed(work.at(path), ours, peer)
    return _agreed(work, ours, peer)


def _agreed(work: Work, ours: Contender, peer: Contender | None) -> Answer:
    our_answer = _accepted(work, ours)
    if peer is None:
        return our_answer
    peer_answer = _accepted(work, peer)
    if _meaning(work, our_answer) != _meaning(work, peer_answer):
        raise WrongAnswer(
            f"{work.name}: we and the peer do not say the same to {work.path}\n"
            f"ours: {our_answer.body.decode()}\npeer: {peer_answer.body.decode()}"
        )
    return our_answer


def check_floor(work: Work, floor: Contender, ours: Answer) -> None:
    """The floor must send what we sent, or it would not be our floor."""
    found = _accepted(work, floor)
    if (found.status, found.body, _header_names(found)) != (ours.status, ours.body, _header_names(ours)):
        raise WrongAnswer(f"{work.name}: the floor does not repeat our answer.\nours: {ours}\nfloor: {found}")


def _accepted(work: Work, contender: Contender) -> Answer:
    answer = ask(work, contender)
    is_right = answer.status == NOT_MODIFIED if work.is_known else 200 <= answer.status < 300
    if not is_right:
        raise WrongAnswer(f"{work.name}: {contender.name} answered {answer.status}: {answer.body.decode()}")
    return answer


def _header_names(answer: Answer) -> list[str]:
    return sorted(name.lower() for name, _ in answer.headers)


def _meaning(work: Work, answer: Answer) -> Any:
    if answer.header("content-type").startswith("text/csv"):
        return list(csv.reader(io.StringIO(answer.body.decode(), newline="")))
    said: Any = comparable(msgspec.json.decode(answer.body)) if answer.body else None
    if work.made_up:
        said = {key: None if key in work.made_up else value for key, value in said.items()}
    return answer.status, said


def comparable(value: Any) -> Any:
    """The value with its links cut to what they ask for, since each contender has its own port, and sets sorted."""
    if isinstance(value, dict):
        return {key: sorted(comparable(inner)) if key in SETS else comparable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [comparable(inner) for inner in value]
    if isinstance(value, str) and value.startswith("http://127.0.0.1:"):
        link = urlsplit(value)
        # One says that a page is the first, the other says nothing.
        return link.path, sorted(pair for pair in parse_qsl(link.query) if pair != ("offset", "0"))
    return value
