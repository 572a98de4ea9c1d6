"""Users, permissions and assets as people name them: an address of any host, a path, or the bare name.

read_name("users", "https://kf.example/api/v2/users/amina/?format=json")  # "amina"
read_name("users", "amina")  # "amina"
"""

from typing import Literal
from urllib.parse import unquote, urlsplit

from fieldgate.i18n.messages import Message

Kind = Literal["users", "permissions", "assets"]

ROOT = "/api/v2/"
LONGEST = 2000  # characters of an address
SHOWN = 50  # characters of what somebody sent, when it is told back

_OTHER_KIND = {
    "users": Message("“{given}” is not a user: enter the address of one, or a username."),
    "permissions": Message("“{given}” is not a permission: enter the address of one, or a codename."),
    "assets": Message("“{given}” is not an asset: enter the address of one, or a uid."),
}


class Misnamed(ValueError):
    """What was sent names nothing of the kind."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


def read_name(kind: Kind, text: str) -> str:
    """The name in an address, or `Misnamed` where that leads to something else."""
    given = text.strip()
    if not given or "\0" in given or len(given) > LONGEST:
        raise _misnamed(kind, given)
    if "://" not in given and not given.startswith("/"):
        return given
    try:
        path = urlsplit(given).path
    except ValueError:
        raise _misnamed(kind, given) from None
    _, found, rest = path.partition(f"{ROOT}{kind}/")
    name = unquote(rest.removesuffix("/") if rest.endswith("/") else rest.removesuffix(".json"))
    if not found or not name or "\0" in name or (kind != "users" and "/" in name):
        raise _misnamed(kind, given)
    return name


def shown(text: str) -> str:
    """What somebody sent, short enough to be told back."""
    return text.replace("\0", "")[:SHOWN]


def _misnamed(kind: Kind, given: str) -> Misnamed:
    return Misnamed(Message(_OTHER_KIND[kind].text, given=shown(given)))
