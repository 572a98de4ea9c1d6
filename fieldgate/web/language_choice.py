"""The language that a reader chooses: of the page that is the response, and of later pages in the same browser."""

import msgspec

from fieldgate.errors import Header
from fieldgate.http.injection import HandlerContext
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request.request_parsing import LANGUAGE_COOKIE, set_cookie
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language
from fieldgate.settings import DAY

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
