"""Redirects that stay on this site, the origin of a form, and the language that a reader chooses with one."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import msgspec

from fieldgate.errors import Header
from fieldgate.http.injection import HandlerContext
from fieldgate.http.request.authentication import set_cookie
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request_parsing import LANGUAGE_COOKIE
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language
from fieldgate.settings import DAY


def redirect(base_url: BaseURL, path: str, *headers: Header) -> Response:
    """Redirect to a path of this service, never to another site."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    target = urlsplit(base_url.url).path + quote(
        path if is_ours else "/", safe="/?&=%:@!$'()*+,;~-._#"
    )
    return Response(303, [(b"location", target.encode()), NO_STORE, *headers])


def is_same_origin(headers: Mapping[bytes, bytes], base_url: BaseURL) -> bool:
    """Whether a form was sent from a page of this service, according to the headers of the browser."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    host, ours = headers.get(b"host", b"").decode("latin-1"), urlsplit(base_url.url)
    known = {"", f"http://{host}", f"https://{host}", f"{ours.scheme}://{ours.netloc}"}
    return headers.get(b"origin", b"").decode("latin-1") in known


# On a page that shows a form again, the language menu sends that form with this field, so that nothing typed is lost.
LANGUAGE_FIELD = "switch_language"


def language_cookie(language: Language, base_url: BaseURL) -> Header:
    """The header that makes this browser remember a language."""
    return set_cookie(LANGUAGE_COOKIE, language.value, base_url, 365 * DAY, http_only=False)


def switch_language(context: HandlerContext, code: str) -> list[Header]:
    """Answer this request in the language that was chosen with a form. Return the headers to remember it, if any."""
    language = LANGUAGES_BY_CODE.get(code)
    if language is None:
        return []
    context.request = msgspec.structs.replace(context.request, language=language)
    return [language_cookie(language, context.request.base_url)]
