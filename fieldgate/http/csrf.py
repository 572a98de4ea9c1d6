"""CSRF protection: a write by session needs the token of a page, in a header or, for forms, in a field.

`Caller.new_csrf_token` makes the tokens, and `Caller.accepts_csrf_token` checks them (`fieldgate/identity.py`).
"""

from collections.abc import Mapping

from fieldgate.errors import Forbidden
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, Caller

CSRF_HEADER = b"x-csrftoken"
CSRF_FAILED = Message("This request lacks the page's CSRF token. Reload the page and try again.")


def check_csrf(caller: Caller, headers: Mapping[bytes, bytes]) -> None:
    """Require the CSRF token for writes that are authenticated by the session cookie."""
    if caller.auth_method is not AuthMethod.SESSION:
        return
    if not caller.accepts_csrf_token(headers.get(CSRF_HEADER, b"").decode("latin-1")):
        raise Forbidden(CSRF_FAILED)
