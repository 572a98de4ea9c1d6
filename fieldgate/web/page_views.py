"""How a page is declared: what it shows, and the forms it handles.

    pages = Pages()

    @pages.show("asset_detail", "assets/detail.html")
    async def load_asset(page: Page, api: InternalAPI) -> dict[str, Any]: ...

    @pages.form("asset_detail", "rename")
    async def rename(form: SubmittedForm, api: InternalAPI) -> FormResult: ...

A page has the name of an operation: that of the GET of its URL.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fieldgate.errors import Header
from fieldgate.http.injection import HandlerContext
from fieldgate.http.internal_api import APIResponse, InternalAPI
from fieldgate.http.request.body_parsing import DEFAULT_MAX_BODY_BYTES, FormValues, UploadedFile
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.settings import Settings


class FormState(msgspec.Struct, frozen=True):
    """A form that its page shows again: what was sent, the errors by field, and values of a preview."""

    name: str
    fields: Mapping[str, Sequence[str]]
    errors: Mapping[str, Sequence[str]]
    values: Mapping[str, Any]
    status: int
    headers: Sequence[Header] = ()

    def get(self, name: str, default: str = "") -> str:
        sent = self.fields.get(name)
        return sent[-1] if sent else default

    def get_all(self, name: str) -> Sequence[str]:
        return self.fields.get(name, ())


class _OfRequest(msgspec.Struct, frozen=True):
    """What a page and a form know of their request."""

    context: HandlerContext

    @property
    def request(self) -> ParsedRequest:
        return self.context.request

    @property
    def caller(self) -> Caller:
        return self.context.caller

    @property
    def language(self) -> Language:
        return self.request.language


class Page(_OfRequest, frozen=True):
    """What a page shows: the JSON of the response, and the request."""

    record: Any

    @property
    def form(self) -> FormState | None:
        return self.context.form if isinstance(self.context.form, FormState) else None


class SubmittedForm(_OfRequest, frozen=True):
    """A form that was sent."""

    name: str
    sent: FormValues

    @property
    def path(self) -> str:
        """The path of the page, without the path of the service's base URL."""
        return self.request.path

    @property
    def path_values(self) -> Mapping[str, str]:
        return self.request.path_values

    def get(self, name: str, default: str = "") -> str:
        """The text of a field, without spaces around it."""
        texts = self.get_all(name)
        return texts[-1] if texts else default

    def get_all(self, name: str) -> list[str]:
        return [value.strip() for value in self.sent.get(name, ()) if isinstance(value, str)]

    def get_exact(self, name: str) -> str:
        """The text of a field as it was typed: a password can begin or end with a space."""
        texts = [value for value in self.sent.get(name, ()) if isinstance(value, str)]
        return texts[-1] if texts else ""

    def files(self, name: str) -> list[UploadedFile]:
        """The files of a field. A browser sends an empty one if none was chosen."""
        files = [value for value in self.sent.get(name, ()) if isinstance(value, UploadedFile)]
        return [file for file in files if file.name or file.size]


class Undo(msgspec.Struct, frozen=True):
    """The form that reverses what was done: a button beside the message."""

    label: str
    path: str
    form: str
    fields: Mapping[str, str | Sequence[str]] = {}


class Redirect(msgspec.Struct, frozen=True):
    """Success: go to a path of the service, and show a message there."""

    path: str
    message: Message | None = None
    undo: Undo | None = None
    ends_session: bool = False  # the next page has no session


PageLoader = Callable[[Page, InternalAPI], Awaitable[Mapping[str, Any] | Redirect]]


class PageView(msgspec.Struct, frozen=True):
    """The template of a page, and the function that gets the values it needs beside the record.

    It may also redirect to a better URL of the same page, for example if a name was typed where the API takes an id.
    """

    template: str
    load: PageLoader | None = None


class FormErrors(msgspec.Struct, frozen=True):
    """The form is shown again with texts by field. The field "" is the form as a whole."""

    errors: Mapping[str, Sequence[str]]
    values: Mapping[str, Any] = {}

    @classmethod
    def from_response(
        cls,
        response: APIResponse,
        fields: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> "FormErrors":
        """The errors of an API response. `fields` gives the form's names of the API's fields; others have none."""
        names = fields or {}
        body = (
            response.body
            if isinstance(response.body, dict)
            else {"detail": str(response.body or response.status)}
        )
        errors: dict[str, list[str]] = {}
        for name, texts in body.items():
            listed = texts if isinstance(texts, list) else [texts]
            errors.setdefault(names.get(name, ""), []).extend(str(text) for text in listed)
        return cls(errors, values or {})


class FormPreview(msgspec.Struct, frozen=True):
    """The form is shown again with values, such as the effects of what it would do. Nothing was changed."""

    values: Mapping[str, Any] = {}


FormResult = Redirect | FormErrors | FormPreview
FormHandler = Callable[[SubmittedForm, InternalAPI], Awaitable[FormResult]]


class PageForm(msgspec.Struct, frozen=True):
    """The function that handles a form, and the largest body it accepts.

    If the API refuses a call, the form is shown again; `fields` are the form's names of the API's fields.
    `confirm_field` is the field with which a form is sent after its preview; without it, nothing is changed. A form
    that `is_once` is handled once for each page that shows it, also if the response, with a secret, is reloaded.
    """

    handle: FormHandler
    fields: Mapping[str, str] = {}
    max_bytes: Callable[[Settings], int] = lambda _: DEFAULT_MAX_BODY_BYTES
    confirm_field: str = ""
    is_once: bool = False


FormKey = tuple[str, str]  # the operation of the page, the name of the form
Loader = TypeVar("Loader", bound=PageLoader)
Handler = TypeVar("Handler", bound=FormHandler)


class Pages:
    """The pages of a module, and their forms. Both methods are decorators."""

    def __init__(self) -> None:
        self.views: dict[str, PageView] = {}
        self.forms: dict[FormKey, PageForm] = {}

    def show(self, page: str, template: str) -> Callable[[Loader], Loader]:
        """The function gets what the template needs beside the record. Without a function, that is nothing."""
        self.views[page] = PageView(template)

        def declare(load: Loader) -> Loader:
            self.views[page] = PageView(template, load)
            return load

        return declare

    def form(
        self, page: str, name: str, fields: Mapping[str, str] = {}, **options: Any
    ) -> Callable[[Handler], Handler]:
        """The function handles a form of a page; `options` are those of `PageForm`."""

        def declare(handle: Handler) -> Handler:
            self.forms[page, name] = PageForm(handle, fields, **options)
            return handle

        return declare
