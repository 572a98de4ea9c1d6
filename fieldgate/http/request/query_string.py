"""Query parameters: the last of a name counts. What we do not know, here or in a body, is ignored aloud or refused."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from urllib.parse import parse_qsl, quote

from fieldgate.errors import BadRequest, Invalid
from fieldgate.http.request.validation import NO_NULLS
from fieldgate.i18n.messages import Message

MOST = 200  # parameters; nobody means more
MOST_TOLD = 100  # names in a refusal; whoever has more reads the first
LONGEST_TOLD = 200  # characters of a name
SHOWN = 20  # names in the header; it must stay a header


def read_query(query: bytes) -> dict[str, str]:
    """The parameters of a query, each once."""
    if query.count(b"&") >= MOST:
        raise BadRequest(Message("There are too many parameters; at most {most} are taken.", most=MOST))
    try:
        text = query.decode("ascii")
        if "%" in text or "+" in text:
            pairs = parse_qsl(text, keep_blank_values=True, encoding="utf-8", errors="strict")
        else:
            pairs = [(name, value) for name, _, value in (pair.partition("=") for pair in text.split("&") if pair)]
    except ValueError:
        raise BadRequest(
            Message("The query of the address cannot be read: it must be percent-encoded UTF-8.")
        ) from None
    wrong = [name for name, value in pairs if "\0" in name or "\0" in value]
    if wrong:
        raise Invalid({name.replace("\0", ""): [NO_NULLS] for name in wrong})
    return dict(pairs)


def unknown(given: Iterable[str], known: Iterable[str]) -> list[str]:
    return [name for name in given if name not in known]


def wants_strict(prefer: bytes) -> bool:
    """Whether `Prefer: handling=strict` (RFC 7240) was sent; the first word on handling counts."""
    for member in prefer.decode("latin-1").lower().split(",") if prefer else ():
        name, _, value = member.split(";")[0].partition("=")
        if name.strip() == "handling":
            return value.strip().strip('"') == "strict"
    return False


def refuse(names: Iterable[str], known: Iterable[str]) -> Invalid:
    """The refusal of unknown parameters, with the nearest known name for each."""
    near = Message("There is no such parameter. Did you mean {name}?")
    far = Message("There is no such parameter. Known ones: {names}.")
    return _refusal(names, known, near.text, far.text)


def refuse_fields(names: Iterable[str], known: Iterable[str]) -> Invalid:
    """The same for the fields of a body."""
    near = Message("There is no such field. Did you mean {name}?")
    far = Message("There is no such field. Known ones: {names}.")
    return _refusal(names, known, near.text, far.text)


def _refusal(names: Iterable[str], known: Iterable[str], near: str, far: str) -> Invalid:
    candidates = sorted(known)
    wrong: dict[str, list[Message]] = {}
    for name in islice(names, MOST_TOLD):
        nearest = get_close_matches(name[:LONGEST_TOLD], candidates, n=1)
        message = Message(near, name=nearest[0]) if nearest else Message(far, names=", ".join(candidates))
        wrong[name[:LONGEST_TOLD]] = [message]
    return Invalid(wrong)


def as_header(names: Iterable[str]) -> bytes:
    """Names for a response header: percent-encoded, since anything can stand in a query."""
    return ", ".join(quote(name[:60], safe="") for name in islice(names, SHOWN)).encode()
