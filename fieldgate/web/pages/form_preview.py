"""What pages of assets and of their versions share: facts about an asset, and a page of its questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from babel import Locale
from babel.lists import format_list

from fieldgate.assets.expression_text import isolate
from fieldgate.assets.form_texts import form_languages, language_code, preferred_language
from fieldgate.http.internal_api import APIError, InternalAPI
from fieldgate.http.pagination_links import parse_integer
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.pagination import PageRequest
from fieldgate.web.formatting import Formatter
from fieldgate.web.page_views import Page

# A page has at most 3,000 elements: 40 questions with their conditions and first choices.
QUESTIONS_PER_PAGE = 40
CHOICES_SHOWN = 10
# With one list of choices, the page shows more of it.
QUESTIONS_OF_A_LIST = 10
CHOICES_OF_A_LIST = 50

ASSETS_PATH = "/api/v2/assets/"
_NAME_SHOWN_CHARS = 100  # of a name in a message
TYPE_LABELS = {
    "survey": Message("Form"),
    "template": Message("Template"),
    "block": Message("Block of questions"),
    "question": Message("Question"),
    "collection": Message("Collection"),
    "empty": Message("Empty form"),
}
STATUS_LABELS = {
    "private": Message("Only the owner"),
    "shared": Message("Some people"),
    "public": Message("Everybody with the link"),
    "public-discoverable": Message("Everybody, and it is listed"),
}


def language_names(language: Language) -> Callable[[Sequence[str] | None], str]:
    """A function that lists languages of a form in the reader's language: `anglais` for `English (en)`."""
    locale = Locale(language.value)

    def name(of_form: str) -> str:
        return locale.languages.get(language_code(of_form)) or isolate(of_form, language)

    return lambda names: (
        format_list([name(each) for each in names or () if each], locale=locale) or "–"
    )


def labels(messages: Mapping[str, Message], language: Language) -> dict[str, str]:
    return {key: translate(message, language) for key, message in messages.items()}


def offer_forms(assets: Iterable[Mapping[str, Any]], language: Language) -> list[tuple[str, str]]:
    """Options of a list to choose a form from: uid, and name with owner and date, as names are often the same."""
    formatter = Formatter(language)
    return [
        (
            asset["uid"],
            f"{isolated(asset['name'] or translate(Message('Without a name'), language))} · "
            f"{isolated(asset['owner__username'])} · {formatter.date(asset['date_modified'])}",
        )
        for asset in assets
    ]


def isolated(text: str) -> str:
    """A text whose direction does not change that of the line. Options cannot have elements."""
    return f"\u2068{text}\u2069"


def shown_name(name: str) -> str:
    """A name in a message."""
    return name if len(name) <= _NAME_SHOWN_CHARS else f"{name[:_NAME_SHOWN_CHARS]}…"


def local_path(page: Page, url: str) -> str:
    """The path of a URL in a record, without the path of the service's base URL."""
    return urlsplit(url).path.removeprefix(urlsplit(page.request.base_url.url).path)


def asset_facts(page: Page, asset: Mapping[str, Any]) -> dict[str, Any]:
    """An asset for templates, with what the caller may do. Forms need a session."""
    allowed = {each["codename"] for each in asset["effective_permissions"]}
    has_session = bool(page.caller.csrf_secret)
    is_collection = asset["asset_type"] == "collection"
    return {
        "asset": asset,
        "asset_path": f"{ASSETS_PATH}{asset['uid']}/",
        "type_labels": labels(TYPE_LABELS, page.language),
        "status_labels": labels(STATUS_LABELS, page.language),
        "own_username": page.caller.username,
        "language_names": language_names(page.language),
        "is_own": asset["owner__username"] == page.caller.username,
        "may_change": has_session and "change_asset" in allowed,
        "may_share": has_session and "manage_asset" in allowed,
        "may_delete": has_session and "delete_asset" in allowed,
        "may_copy": has_session and not is_collection,
    }


async def load_questions(
    page: Page, api: InternalAPI, uid: str, content: Mapping[str, Any], version: str = ""
) -> dict[str, Any]:
    """A page of the questions, in the language that the query names. `content` is that of the version."""
    query = page.request.query_params
    list_name = query.get("list_name", "")
    limit = QUESTIONS_OF_A_LIST if list_name else QUESTIONS_PER_PAGE
    asked = {"language": query.get("language", ""), "version": version, "list_name": list_name}
    request = PageRequest(limit, max(0, parse_integer(query.get("offset", "")) or 0))
    filters = {name: value for name, value in asked.items() if value}
    try:
        found = await _get_page(api, uid, filters, request)
    except APIError as error:
        if "language" not in filters or error.status != 400:
            raise
        del filters["language"]  # of another form or version
        found = await _get_page(api, uid, filters, request)
    return {
        "questions": found["results"],
        "question_count": found["count"],
        "question_page": request,
        "choices_shown": CHOICES_OF_A_LIST if list_name else CHOICES_SHOWN,
        "list_name": list_name,
        **_languages(content, filters.get("language", ""), page.language),
    }


def _languages(content: Mapping[str, Any], chosen: str, language: Language) -> dict[str, Any]:
    """The languages that can be chosen, if there are several, and the one that is shown."""
    names = form_languages(content)
    shown = chosen or names[preferred_language(names, language)] or ""
    return {
        "form_languages": [name for name in names if name] if len(names) > 1 else [],
        "form_language": shown,
    }


async def _get_page(
    api: InternalAPI, uid: str, filters: Mapping[str, str], request: PageRequest
) -> Any:
    query = {**filters, "limit": request.limit, "offset": request.offset}
    return await api.get(f"{ASSETS_PATH}{uid}/questions/", query)
