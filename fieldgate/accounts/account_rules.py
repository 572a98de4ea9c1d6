"""What usernames, names and passwords may be. A function returns a message if the value is refused."""

import re

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USERNAME
from fieldgate.errors import Forbidden
from fieldgate.i18n.messages import Message
from fieldgate.identity import CREDENTIAL_KINDS, AuthMethod, User

MAX_NAME_CHARS = 150
MAX_TOKEN_NAME_CHARS = 100
MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS = 8, 1000

# The rule of KoboToolbox. Letters of other scripts look alike: a Cyrillic а and a Latin a would be two users.
_USERNAME = re.compile(r"[a-z][a-z0-9_]+")

NOT_WITH_A_TOKEN = Message("A token cannot do this. Log in, or send your username and password (Basic credentials).")


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
        return Message("{name} is the name of the public; choose another name.", name=PUBLIC_USERNAME)
    return None


def person_name_error(name: str) -> Message | None:
    if not name.isprintable() or len(name) > MAX_NAME_CHARS:
        return Message("Enter a name of at most {most} letters.", most=MAX_NAME_CHARS)
    return None


def token_name_error(name: str) -> Message | None:
    if not name or not name.isprintable() or len(name) > MAX_TOKEN_NAME_CHARS:
        return Message("Enter a name of at most {most} letters.", most=MAX_TOKEN_NAME_CHARS)
    if name.casefold().strip() in CREDENTIAL_KINDS:  # in the log it would look like another credential
        return Message("This name is reserved; choose another one.")
    return None


def password_error(password: str, username: str) -> Message | None:
    if len(password) < MIN_PASSWORD_CHARS:
        return Message("The password is too short: at least {least} characters.", least=MIN_PASSWORD_CHARS)
    if len(password) > MAX_PASSWORD_CHARS:
        return Message("The password is too long: at most {most} characters.", most=MAX_PASSWORD_CHARS)
    if "\0" in password or not password.isprintable():
        return Message("The password contains characters that cannot be typed.")
    if username_key(password) == username_key(username):
        return Message("The password must be different from the username.")
    return None
