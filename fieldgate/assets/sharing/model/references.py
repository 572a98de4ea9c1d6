"""Users, permissions and assets as people name them: an address of any host, a path, or the bare name.

read_name("users", "https://kf.example/api/v2/users/amina/?format=json")  # "amina"
read_name("users", "amina")  # "amina"
"""

from typing import Literal
from urllib.parse import unquote, urlsplit

from fieldgate.i18n.messages import Message

ReferenceKind = Literal["users", "permissions", "assets"]

API_ROOT = "/api/v2/"
MAX_ADDRESS_CHARS = 2000  # characters of an address
MAX_QUOTED_CHARS = 50  # characters of what somebody sent, when it is told back

_INVALID_MESSAGES = {
    "users": Message("“{given}” is not a user: enter the address of one, or a username."),
    "permissions": Message("“{given}” is not a permission: enter the address of one, or a codename."),
    "assets": Message("“{given}” is not an asset: enter the address of one, or a uid."),
}


class InvalidReference(ValueError):
    """What was sent names nothing of the kind."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


def parse_reference(kind: ReferenceKind, text: str) -> str:
    """The name in an address, or `Misnamed` where that leads to something else."""
    given = text.strip()
    if not given or "\0" in given or len(given) > MAX_ADDRESS_CHARS:
        raise _invalid_reference(kind, given)
    if "://" not in given and not given.startswith("/"):
        return given
    try:
        path = urlsplit(given).path
    except ValueError:
        raise _invalid_reference(kind, given) from None
    _, found, rest = path.partition(f"{API_ROOT}{kind}/")
    name = unquote(rest.removesuffix("/") if rest.endswith("/") else rest.removesuffix(".json"))
    if not found or not name or "\0" in name or (kind != "users" and "/" in name):
        raise _invalid_reference(kind, given)
    return name


def quote_input(text: str) -> str:
    """What somebody sent, short enough to be told back."""
    return text.replace("\0", "")[:MAX_QUOTED_CHARS]


def _invalid_reference(kind: ReferenceKind, given: str) -> InvalidReference:
    return InvalidReference(Message(_INVALID_MESSAGES[kind].text, given=quote_input(given)))
