"""Jinja templates, and the variables that all of them share."""

from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from fieldgate import __version__
from fieldgate.http.request.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Caller
from fieldgate.web.static_files import StaticFiles


class PageTemplates:
    """Renders templates in the language of the request."""

    def __init__(self, static_files: StaticFiles) -> None:
        self._static_files = static_files
        self._environment = Environment(
            loader=PackageLoader("fieldgate.web"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def render(self, template: str, request: ParsedRequest, caller: Caller, **values: Any) -> bytes:
        """Return a page. In templates, `_` translates a message, and `at` and `static` give URLs."""
        language = request.language
        prefix = urlsplit(request.base_url.url).path

        def translate_text(text: str, **values: object) -> str:
            return translate(Message(text, **values), language)

        def at(path: str) -> str:
            return prefix + path

        def static(name: str) -> str:
            return prefix + self._static_files.url_path(name)

        here = request.path + (
            "?" + "&".join(f"{quote(k)}={quote(v)}" for k, v in request.query_params.items())
            if request.query_params
            else ""
        )
        page = self._environment.get_template(template).render(
            _=translate_text,
            at=at,
            static=static,
            here=quote(here, safe=""),
            language=language,
            languages=list(Language),
            caller=caller,
            version=__version__,
            **values,
        )
        return page.encode()
