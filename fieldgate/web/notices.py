"""Notices: what a form did, shown once on the next page.

A notice travels in a cookie. Its undo button sends a form, so the cookie is signed with a key that only the session
knows: another site on the same domain could set cookies too.
"""

import base64
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.errors import Header
from fieldgate.http.request.authentication import read_cookie, set_cookie
from fieldgate.http.request.hosts import BaseURL
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.page_views import Undo

NOTICE_COOKIE = b"fieldgate_notice"
MAX_AGE_SECONDS = 60
MAX_TEXT_CHARS = 500
MAX_COOKIE_CHARS = 3500  # browsers drop cookies beyond 4096

PASSWORD_IS_SET = Message("Your password is set. Log in with it.")
ACCOUNT_DELETED = Message("Your account was deleted.")
# Without a session there is no key, so anything else could come from another site.
NOTICES_WITHOUT_SESSION = (PASSWORD_IS_SET, ACCOUNT_DELETED)


class Notice(msgspec.Struct, frozen=True):
    """A text in the language of the form, and how to undo what it says."""

    text: str
    undo: Undo | None = None


def set_notice(notice: Notice, csrf_secret: bytes, base_url: BaseURL) -> Header:
    """The header that makes the next page show a notice. `csrf_secret` is that of the session on the next page."""
    text = (
        notice.text
        if len(notice.text) <= MAX_TEXT_CHARS
        else notice.text[: MAX_TEXT_CHARS - 1] + "…"
    )
    value = _encode(Notice(text, notice.undo if csrf_secret else None), csrf_secret)
    if len(value) > MAX_COOKIE_CHARS:
        value = _encode(Notice(text), csrf_secret)
    return set_cookie(NOTICE_COOKIE, value, base_url, MAX_AGE_SECONDS, http_only=True)


def clear_notice(base_url: BaseURL) -> Header:
    return set_cookie(NOTICE_COOKIE, "", base_url, 0, http_only=True)


def read_notice(headers: Mapping[bytes, bytes], csrf_secret: bytes) -> Notice | None:
    """The notice of a request, or None if there is none or it is not from this session."""
    value = read_cookie(headers.get(b"cookie", b""), NOTICE_COOKIE)
    signature, _, encoded = value.partition(b".")
    if not encoded or not hmac.compare_digest(signature, _sign(encoded, csrf_secret)):
        return None
    try:
        notice = msgspec.json.decode(base64.urlsafe_b64decode(encoded + b"=="), type=Notice)
    except (ValueError, msgspec.MsgspecError):
        return None
    return notice if csrf_secret or _is_known(notice) else None


def _is_known(notice: Notice) -> bool:
    texts = {
        translate(message, language) for message in NOTICES_WITHOUT_SESSION for language in Language
    }
    return notice.text in texts and notice.undo is None


def undo_fields(undo: Undo) -> Sequence[tuple[str, str]]:
    """The hidden fields of an undo form."""
    pairs: list[tuple[str, str]] = []
    for name, value in undo.fields.items():
        pairs += [(name, value)] if isinstance(value, str) else [(name, each) for each in value]
    return pairs


def _encode(notice: Any, csrf_secret: bytes) -> str:
    encoded = base64.urlsafe_b64encode(msgspec.json.encode(notice)).rstrip(b"=")
    return (_sign(encoded, csrf_secret) + b"." + encoded).decode()


def _sign(encoded: bytes, csrf_secret: bytes) -> bytes:
    return hmac.new(b"fieldgate-notice" + csrf_secret, encoded, "sha256").hexdigest()[:32].encode()
