"""Jinja templates, and the functions and filters that all of them share."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context, select_autoescape
from jinja2.runtime import Context
from markupsafe import Markup, escape

from fieldgate import __version__
from fieldgate.events.plain_text import to_plain_text
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import encode_query
from fieldgate.http.page_forms import FORM_PARAMETER
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.response.response_builder import ErrorContext, RenderedPage
from fieldgate.http.response.responses import make_body_etag
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.identity import Caller
from fieldgate.web.formatting import Formatter
from fieldgate.web.notices import Notice, clear_notice, read_notice, undo_fields
from fieldgate.web.page_views import FormState
from fieldgate.web.redirects import LANGUAGE_FIELD
from fieldgate.web.static_files import StaticFiles

# Elements of external HTML that are kept. No headings: they would break the outline of the page.
SANITIZED_TAGS = {
    "a",
    "b",
    "blockquote",
    "br",
    "em",
    "i",
    "li",
    "ol",
    "p",
    "strong",
    "sub",
    "sup",
    "u",
    "ul",
}
# The parser needs time for the square of the number of open elements, and can repeat them in every paragraph. Texts
# beyond these limits are shown without tags.
MAX_SANITIZED_TAGS = 200
MAX_SANITIZED_CHARS = 100_000
MAX_SANITIZED_GROWTH = 4  # times the length of the text
PREVIEW_FRAGMENT = "#preview"  # of the element with the preview of a form
LINK_SCHEMES = {"http", "https", "mailto"}
_OF_SCOPE = (
    "at", "localize", "query", "form_action", "here", "query_params", "language", "caller", "csrf_token", "form",
    "notice",
)  # fmt: skip
_FILTERS = (
    "number",
    "compact",
    "money",
    "short",
    "percent",
    "date",
    "datetime",
    "since",
    "month",
    "bytes",
    "list",
)


class PageScope:
    """What every template can use: language, URLs, the caller, and the form or notice that is shown."""

    def __init__(
        self,
        language: Language,
        base_url: BaseURL,
        path: str,
        query_params: Mapping[str, str],
        caller: Caller,
    ) -> None:
        self.language = language
        self.base_url = base_url
        self.path = path
        self.query_params = query_params
        self.caller = caller
        self.csrf_token = caller.new_csrf_token()
        self.form: FormState | None = None
        self.notice: Notice | None = None
        self._prefix = urlsplit(base_url.url).path

    @classmethod
    def of_context(cls, context: HandlerContext) -> "PageScope":
        request = context.request
        scope = cls(
            request.language, request.base_url, request.path, request.query_params, context.caller
        )
        scope.form = context.form if isinstance(context.form, FormState) else None
        scope.notice = read_notice(context.headers, context.caller.csrf_secret)
        return scope

    @classmethod
    def of_error(cls, context: ErrorContext) -> "PageScope":
        return cls(context.language, context.base_url, context.path, {}, context.caller)

    def translate(self, text: str, **values: object) -> str:
        """The text in the language of the page. With values that are markup, it is markup, too."""
        if any(isinstance(value, Markup) for value in values.values()):
            return escape(translate(Message(text), self.language)).format(**values)
        return translate(Message(text, **values), self.language)

    def translate_plural(self, singular: str, plural: str, count: int, **values: object) -> str:
        """The form for a number. `{count}` is the number as people write it."""
        shown = Formatter(self.language).number(count)
        text = translate(PluralMessage(singular, plural, count), self.language, format_values=False)
        return text.format(count=shown, **values)

    def at(self, path: str) -> str:
        """The URL of a path of this service."""
        return self._prefix + path

    def localize(self, url: str) -> str:
        """The URL on this host of an absolute URL in a record."""
        return (
            url.removeprefix(self.base_url.url.removesuffix(self._prefix))
            if self.base_url.url
            else url
        )

    def query(self, changes: Mapping[str, object] | None = None) -> str:
        """The query of this page with changes; None removes a parameter."""
        values: dict[str, object] = {**self.query_params, **(changes or {})}
        return "?" + encode_query(
            (name, str(value)) for name, value in values.items() if value is not None
        )

    def form_action(self, name: str, path: str | None = None) -> str:
        """The URL that a form is sent to: that of this page, or of another.

        The browser goes to the preview on the page that follows. Otherwise it stays at the start, where messages are.
        """
        if path is not None:
            return self.at(path) + f"?{FORM_PARAMETER}={name}{PREVIEW_FRAGMENT}"
        kept = {key: value for key, value in self.query_params.items() if key != "format"}
        return (
            self.at(self.path)
            + "?"
            + encode_query([*kept.items(), (FORM_PARAMETER, name)])
            + PREVIEW_FRAGMENT
        )

    @property
    def here(self) -> str:
        """The path of this page with its query, quoted as a value of `next`."""
        encoded = encode_query(self.query_params.items())
        return quote(self.path + ("?" + encoded if encoded else ""), safe="")


class PageTemplates:
    """Renders templates in the language of the request."""

    def __init__(self, static_files: StaticFiles) -> None:
        self._static_files = static_files
        self._environment = _environment()

    def render(self, template: str, scope: PageScope, **values: Any) -> bytes:
        """Return a page. In templates, `_` and `_n` translate, and `at` and `static` give URLs."""
        page = self._environment.get_template(template).render(
            {name: getattr(scope, name) for name in _OF_SCOPE},
            _=scope.translate,
            _n=scope.translate_plural,
            static=lambda name: scope.at(self._static_files.url_path(name)),
            here_path=scope.path,
            formatter=Formatter(scope.language),
            language_field=LANGUAGE_FIELD,
            **values,
        )
        return page.encode()

    def render_page(self, template: str, context: HandlerContext, **values: Any) -> RenderedPage:
        """Return a page for a request, with the headers that belong to it."""
        scope = PageScope.of_context(context)
        headers = [clear_notice(scope.base_url)] if scope.notice else []
        headers += scope.form.headers if scope.form else ()
        body = self.render(template, scope, **values)
        return RenderedPage(body, headers, etag=_make_etag(body, scope))


def _make_etag(page: bytes, scope: PageScope) -> bytes:
    """An ETag for all that a page shows, except the CSRF token: it is another one every time, and all stay valid.

    It is a weak one therefore. Pages of another session differ: tokens in them are not valid in this one.
    """
    if not scope.csrf_token:
        return make_body_etag(page)
    return b"W/" + make_body_etag(page.replace(scope.csrf_token.encode(), scope.caller.csrf_secret))


@cache
def _environment() -> Environment:
    """The environment of all templates: one for the process, as it keeps what it compiled, which is slow."""
    environment = Environment(
        loader=PackageLoader("fieldgate.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {name: _format_filter(name) for name in _FILTERS}
    environment.filters |= {"sanitize": sanitize, "plain": plain_text}
    environment.globals |= {
        "undo_fields": undo_fields,
        "languages": list(Language),
        "version": __version__,
    }
    return environment


def sanitize(html: str | None) -> Markup:
    """External HTML without anything that could run, load or disturb the page."""
    if not html:
        return Markup()
    if len(html) > MAX_SANITIZED_CHARS or html.count("<") > MAX_SANITIZED_TAGS:
        return escape(to_plain_text(html[:MAX_SANITIZED_CHARS]))
    import nh3  # a megabyte of a process that may never show a text with markup

    cleaned = nh3.clean(
        html,
        tags=SANITIZED_TAGS,
        attributes={"a": {"href"}},
        url_schemes=LINK_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    if len(cleaned) > MAX_SANITIZED_GROWTH * len(html) + 1000:
        return escape(to_plain_text(html))
    return Markup(cleaned)  # noqa: S704  (sanitised)


def plain_text(html: str | None) -> str:
    """The text of external HTML, without its tags."""
    return to_plain_text(html or "").strip()


def _format_filter(name: str) -> Callable[..., str]:
    @pass_context
    def apply(context: Context, value: Any) -> str:
        text: str = getattr(context["formatter"], name)(value)
        return text

    return apply
