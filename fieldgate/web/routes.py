"""Start page and documentation."""

import asyncio
from typing import Annotated, Any

import msgspec
from markupsafe import Markup, escape
from msgspec import Meta

from fieldgate.errors import Header, NotFound
from fieldgate.http.injection import HandlerContext
from fieldgate.http.internal_api import InternalClient
from fieldgate.http.negotiation import Format
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.response_builder import RenderedPage
from fieldgate.http.response.responses import (
    NO_CACHE,
    NO_STORE,
    PRIVATE_NO_CACHE,
    VARY_BY_CALLER,
    Response,
    content_language,
    vary,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.web.documents import DOCUMENTS, EXAMPLE_URL, LANGUAGE, load_document
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.pages.home import load_home
from fieldgate.web.redirects import redirect
from fieldgate.web.static_files import StaticFiles

VARY_FOR_PAGES = vary(*VARY_BY_CALLER)
HTML_CONTENT_TYPE: Header = (b"content-type", Format.HTML.content_type)
ENGLISH_CONTENT: Header = content_language(
    Language.ENGLISH
)  # the OpenAPI description is in English only
routes = Routes(tag="Pages", scope=Scope.NONE, formats=(Format.HTML,), in_schema=False)
api_docs = Routes(tag="Service", scope=Scope.NONE)


class HomeQuery(msgspec.Struct, frozen=True):
    q: Annotated[
        str, Meta(description="Words to search for in emergencies, countries, forms and people.")
    ] = ""
    measure: Annotated[str, Meta(description="What the map shows: events, affected or gap.")] = ""


@routes.raw(
    "/",
    title=Message("Home"),
    description=Message("What is new, search, and tasks."),
)
async def start(
    context: HandlerContext, query: HomeQuery, templates: PageTemplates, client: InternalClient
) -> Response:
    values = await load_home(context, client.for_context(context), query.q)
    return _html_response(templates.render_page("home.html", context, **values))


@api_docs.raw(
    "/api-docs/openapi.json",
    title=Message("OpenAPI description"),
    description=Message("The OpenAPI 3.1 description of the API, as JSON."),
    depends_on=(),
    response=dict[str, Any],
)
async def openapi_json(request: ParsedRequest, document: OpenAPIDocument) -> Response:
    return await _openapi_json_response(request, document)


async def _openapi_json_response(request: ParsedRequest, document: OpenAPIDocument) -> Response:
    body = await asyncio.to_thread(document.as_json, request.base_url.url)
    return Response(200, [(b"content-type", b"application/json"), ENGLISH_CONTENT, NO_CACHE], body)


@api_docs.raw(
    "/api-docs/openapi.yaml",
    title=Message("OpenAPI description"),
    description=Message("The OpenAPI 3.1 description of the API, as YAML."),
    media_type="application/yaml",
    schema={"type": "object"},
    depends_on=(),
)
async def openapi_yaml(request: ParsedRequest, document: OpenAPIDocument) -> Response:
    body = await asyncio.to_thread(document.as_yaml, request.base_url.url)
    return Response(200, [(b"content-type", b"application/yaml"), ENGLISH_CONTENT, NO_CACHE], body)


@api_docs.raw(
    "/api-docs/swagger-ui/",
    title=Message("API documentation"),
    description=Message(
        "Interactive API documentation (Swagger UI), or the OpenAPI 3.1 description as JSON."
    ),
    formats=(Format.HTML, Format.JSON),
    is_simple_page=True,
    response=dict[str, Any],
)
async def swagger_ui(
    context: HandlerContext, templates: PageTemplates, document: OpenAPIDocument
) -> Response:
    if context.request.format is Format.JSON:
        return await _openapi_json_response(context.request, document)
    return _html_response(templates.render_page("swagger.html", context))


@routes.raw(
    "/docs/{name}/",
    title=Message("Documentation"),
    description=Message(
        "The guide and the recipes, with the address of this service in their examples."
    ),
    is_simple_page=True,
)
async def document_page(name: str, context: HandlerContext, templates: PageTemplates) -> Response:
    if name not in DOCUMENTS:
        raise NotFound(
            Message(
                "Only the guide and the recipes are here. Other documents are in the source, in docs."
            )
        )
    document = await asyncio.to_thread(load_document, name)
    base_url = context.request.base_url.url or EXAMPLE_URL
    html = Markup(document.html.replace(EXAMPLE_URL, escape(base_url)))  # noqa: S704  (our own documents)
    values = {"document": document, "document_language": LANGUAGE, "html": html}
    return _html_response(templates.render_page("document.html", context, **values))


@routes.raw(
    "/favicon.ico",
    title=Message("Icon"),
    description=Message("The icon of the site."),
    formats=(Format.JSON,),
)
async def favicon(request: ParsedRequest, static_files: StaticFiles) -> Response:
    return redirect(request.base_url, static_files.url_path("icon.svg"))


def _html_response(page: RenderedPage) -> Response:
    """The response with a page that a handler rendered. A page that is shown once is not stored."""
    caching = NO_STORE if page.headers else PRIVATE_NO_CACHE
    return Response(
        200, [HTML_CONTENT_TYPE, caching, VARY_FOR_PAGES, *page.headers], page.body, page.etag
    )
