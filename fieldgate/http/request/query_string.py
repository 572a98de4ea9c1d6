"""Parse query strings, and report unknown parameters and body fields.

Unknown names are listed in the `Fieldgate-Ignored` header, or are an error with `Prefer: handling=strict`.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from urllib.parse import parse_qsl, quote

from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.request.validation import NULL_CHARACTERS
from fieldgate.i18n.messages import Message, PluralMessage

MAX_PARAMETERS = 200
MAX_REPORTED_NAMES = 100  # in an error response
MAX_REPORTED_NAME_CHARS = 200
MAX_HEADER_NAMES = 20  # in the header, which must stay short


def parse_query(query: bytes) -> dict[str, str]:
    """Parse a query string. The last value of a name wins."""
    if query.count(b"&") >= MAX_PARAMETERS:
        raise BadRequest(
            PluralMessage(
                "There are too many parameters; at most {count} is allowed.",
                "There are too many parameters; at most {count} are allowed.",
                MAX_PARAMETERS,
            )
        )
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
        raise ValidationError({name.replace("\0", ""): [NULL_CHARACTERS] for name in wrong})
    return dict(pairs)


def unknown_names(given: Iterable[str], known: Iterable[str]) -> list[str]:
    return [name for name in given if name not in known]


def wants_strict(prefer: bytes) -> bool:
    """Whether `Prefer: handling=strict` (RFC 7240) was sent; the first `handling` wins."""
    for member in prefer.decode("latin-1").lower().split(",") if prefer else ():
        name, _, value = member.split(";")[0].partition("=")
        if name.strip() == "handling":
            return value.strip().strip('"') == "strict"
    return False


def unknown_parameters_error(names: Iterable[str], known: Iterable[str]) -> ValidationError:
    """The error for unknown parameters, with the most similar known name for each."""
    near = Message("There is no such parameter. Did you mean {name}?")
    far = Message("There is no such parameter. Known ones: {names}.")
    return _unknown_names_error(names, known, near.text, far.text)


def unknown_fields_error(names: Iterable[str], known: Iterable[str]) -> ValidationError:
    """The error for unknown fields of a body, with the most similar known name for each."""
    near = Message("There is no such field. Did you mean {name}?")
    far = Message("There is no such field. Known ones: {names}.")
    return _unknown_names_error(names, known, near.text, far.text)


def _unknown_names_error(names: Iterable[str], known: Iterable[str], near: str, far: str) -> ValidationError:
    candidates = sorted(known)
    wrong: dict[str, list[Message]] = {}
    for name in islice(names, MAX_REPORTED_NAMES):
        nearest = get_close_matches(name[:MAX_REPORTED_NAME_CHARS], candidates, n=1)
        message = Message(near, name=nearest[0]) if nearest else Message(far, names=", ".join(candidates))
        wrong[name[:MAX_REPORTED_NAME_CHARS]] = [message]
    return ValidationError(wrong)


def to_header_value(names: Iterable[str]) -> bytes:
    """Names as a header value: percent-encoded, as a query may contain any character."""
    return ", ".join(quote(name[:60], safe="") for name in islice(names, MAX_HEADER_NAMES)).encode()
