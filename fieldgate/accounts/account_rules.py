"""What usernames, names and passwords may be. A function returns a message if the value is refused."""

import re
import unicodedata
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network

from fieldgate.accounts.store import is_token, username_key
from fieldgate.accounts.tables import PUBLIC_USERNAME
from fieldgate.errors import Forbidden, ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import CREDENTIAL_KINDS, NO_LIMITS, AuthMethod, Scope, TokenLimits, User

MAX_NAME_CHARS = 150
MIN_USERNAME_CHARS = 2
MAX_TOKEN_NAME_CHARS = 100
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 8, 1000

# The rule of KoboToolbox. Letters of other scripts look alike: a Cyrillic а and a Latin a would be two users.
_USERNAME = re.compile(r"[a-z][a-z0-9_]+")
_ASSET_UID = re.compile(r"a[A-Za-z0-9]{21}")

NOT_WITH_A_TOKEN = Message(
    "A token cannot do this. Log in, or send your username and password (Basic credentials)."
)


def reject_token(user: User) -> None:
    """Refuse a caller with a token: a leaked one must not create credentials that outlive it."""
    if user.auth_method is AuthMethod.TOKEN:
        raise Forbidden(NOT_WITH_A_TOKEN)


def username_error(name: str) -> Message | None:
    """Check the name of a new user. Users who have another name keep it."""
    if not _USERNAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        return Message(
            "Begin with a letter from a to z, then use a to z, digits and _ only: 2 to {most} characters.",
            most=MAX_NAME_CHARS,
        )
    if name == username_key(PUBLIC_USERNAME):
        return Message(
            "{name} is the name of the public; choose another name.", name=PUBLIC_USERNAME
        )
    return None


def username_from_claim(claim: str, *, otherwise: str) -> str:
    """Make a username of what a provider calls a person: `Amina.Diallo@example.org` is amina_diallo.

    The part before the @, in lower case and without accents; what is then no letter or digit becomes _.
    """
    plain = unicodedata.normalize("NFKD", claim.partition("@")[0][:MAX_NAME_CHARS].casefold())
    ascii_only = "".join(each for each in plain if not unicodedata.combining(each))
    name = re.sub(r"[^a-z0-9]+", "_", ascii_only).strip("_")[:MAX_NAME_CHARS]
    name = re.sub(r"^[^a-z]+", "", name)
    return otherwise if len(name) < MIN_USERNAME_CHARS else name


def person_name_error(name: str) -> Message | None:
    if not name.isprintable() or len(name) > MAX_NAME_CHARS:
        return Message("Enter a name of at most {most} letters.", most=MAX_NAME_CHARS)
    return None


def token_name_error(name: str) -> Message | None:
    if not name or not name.isprintable() or len(name) > MAX_TOKEN_NAME_CHARS:
        return Message("Enter a name of at most {most} letters.", most=MAX_TOKEN_NAME_CHARS)
    if (
        name.casefold().strip() in CREDENTIAL_KINDS
    ):  # in the log it would look like another credential
        return Message("This name is reserved; choose another one.")
    return None


def parse_limits(
    scopes: Iterable[str], assets: Iterable[str], networks: Iterable[str], *, is_superuser: bool
) -> TokenLimits:
    """Check the limits of a new token. Raise `ValidationError` if a value is refused."""
    uids = frozenset(each.strip() for each in assets)
    try:
        parsed = tuple(
            str(_without_mapping(ip_network(each.strip(), strict=False))) for each in networks
        )
    except ValueError:
        message = Message("Enter addresses or networks such as 192.0.2.0/24 or 2001:db8::/32.")
        raise ValidationError({"networks": [message]}) from None
    if not all(map(_ASSET_UID.fullmatch, uids)):
        raise ValidationError(
            {
                "assets": [
                    Message("Enter the uids of assets: 22 letters and digits that begin with a.")
                ]
            }
        )
    if Scope.ADMIN.value in scopes and not is_superuser:
        raise ValidationError(
            {
                "scopes": [
                    Message("Only superusers can have the scope {scope}.", scope=Scope.ADMIN.value)
                ]
            }
        )
    limits = TokenLimits(frozenset(scopes), uids or None, parsed)
    return NO_LIMITS if limits == NO_LIMITS else limits


def _without_mapping(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """The IPv4 network that an IPv4-mapped IPv6 network is. Addresses of clients are compared like that, too."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    return (
        network
        if mapped is None or network.prefixlen < 96
        else IPv4Network((mapped, network.prefixlen - 96))
    )


def password_error(password: str, username: str) -> Message | None:
    if len(password) < MIN_PASSWORD_CHARS:
        return Message(
            "The password is too short: at least {least} characters.", least=MIN_PASSWORD_CHARS
        )
    if len(password) > MAX_PASSWORD_CHARS:
        return Message(
            "The password is too long: at most {most} characters.", most=MAX_PASSWORD_CHARS
        )
    if "\0" in password or not password.isprintable():
        return Message("The password contains characters that cannot be typed.")
    if username_key(password) == username_key(username):
        return Message("The password must be different from the username.")
    if is_token(password):
        return Message(
            "The password has the form of a token, so it would not work everywhere. Choose another one."
        )
    return None
