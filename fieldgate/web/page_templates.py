"""Templates, and what every one of them is given."""

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
    """Draws templates in the language of the request."""

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
        """The page as bytes. `_` says a message in the reader's language; `at` gives the address of a path."""
        language = request.language
        prefix = urlsplit(request.base_url.url).path

        def say(text: str, **parts: object) -> str:
            return translate(Message(text, **parts), language)

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
            _=say,
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
