"""Parse references to users, permissions and assets: a URL of any host, a path, or the bare name.

parse_reference("users", "https://kf.example/api/v2/users/amina/?format=json")  # "amina"
parse_reference("users", "amina")  # "amina"
"""

from typing import Literal
from urllib.parse import unquote, urlsplit

from fieldgate.i18n.messages import Message

ReferenceKind = Literal["users", "permissions", "assets"]

API_ROOT = "/api/v2/"
ASSETS_ALIAS = "/assets/"  # the path of old clients
MAX_REFERENCE_CHARS = 2000
MAX_QUOTED_CHARS = 50  # of input that an error message repeats

_INVALID_MESSAGES = {
    "users": Message("“{given}” is not a user: enter the address of one, or a username."),
    "permissions": Message("“{given}” is not a permission: enter the address of one, or a codename."),
    "assets": Message("“{given}” is not an asset: enter the address of one, or a uid."),
}


class InvalidReference(ValueError):
    """The text is not a reference of this kind."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


def parse_reference(kind: ReferenceKind, text: str) -> str:
    """Return the name in a reference. Raise `InvalidReference` if it refers to something else."""
    given = text.strip()
    if not given or "\0" in given or len(given) > MAX_REFERENCE_CHARS:
        raise _invalid_reference(kind, given)
    if "://" not in given and not given.startswith("/"):
        return given
    try:
        path = urlsplit(given).path
    except ValueError:
        raise _invalid_reference(kind, given) from None
    _, found, rest = path.partition(f"{API_ROOT}{kind}/")
    if kind == "assets" and not found:
        _, found, rest = path.partition(ASSETS_ALIAS)
    name = unquote(rest.removesuffix("/") if rest.endswith("/") else rest.removesuffix(".json"))
    if not found or not name or "\0" in name or (kind != "users" and "/" in name):
        raise _invalid_reference(kind, given)
    return name


def quote_input(text: str) -> str:
    """Shorten input so that an error message can repeat it."""
    return text.replace("\0", "")[:MAX_QUOTED_CHARS]


def _invalid_reference(kind: ReferenceKind, given: str) -> InvalidReference:
    return InvalidReference(Message(_INVALID_MESSAGES[kind].text, given=quote_input(given)))
