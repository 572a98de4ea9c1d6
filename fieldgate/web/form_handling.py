"""Handle the forms of pages: session and CSRF token, body, handler, and then a redirect or the page again."""

from collections.abc import Mapping

from fieldgate.db.one_time_keys import OneTimeKeys
from fieldgate.errors import Forbidden, NotFound, Unauthorized
from fieldgate.http.csrf import CSRF_FAILED
from fieldgate.http.injection import ShownForm
from fieldgate.http.internal_api import APIError, InternalClient
from fieldgate.http.page_forms import FormPost
from fieldgate.http.request.body_parsing import BodyLimit
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import AuthMethod
from fieldgate.settings import Settings
from fieldgate.web.notices import Notice, set_notice
from fieldgate.web.page_views import (
    FormErrors,
    FormKey,
    FormPreview,
    FormResult,
    FormState,
    PageForm,
    Redirect,
    SubmittedForm,
)
from fieldgate.web.redirects import LANGUAGE_FIELD, is_same_origin, redirect, switch_language

CSRF_FIELD = "csrf_token"
SENT_BEFORE = Message(
    "This form was sent before, so nothing was done this time: the page was reloaded, or the button pressed twice. "
    "A token or a link is shown only once. To create another one, send the form again."
)
LOGIN_ENDED = Message("You are not logged in any more. Log in again, then send the form again.")


class FormDispatcher:
    """Handles forms; implements `fieldgate.http.page_forms.PageForms`."""

    def __init__(
        self,
        forms: Mapping[FormKey, PageForm],
        client: InternalClient,
        settings: Settings,
        used: OneTimeKeys,
    ) -> None:
        self._forms = forms
        self._used = used
        self._client = client
        self._settings = settings

    async def submit(self, post: FormPost) -> Response | ShownForm:
        context = post.context
        form = self._forms.get((post.operation.name, post.name))
        if form is None:
            raise NotFound
        if not is_same_origin(context.headers, context.request.base_url):
            raise Forbidden(CSRF_FAILED)
        if context.caller.auth_method is not AuthMethod.SESSION:
            raise Unauthorized(LOGIN_ENDED)
        values = await post.body.read_form(BodyLimit(max_bytes=form.max_bytes(self._settings)))
        submitted = SubmittedForm(context, post.name, values)
        if not context.caller.accepts_csrf_token(submitted.get(CSRF_FIELD)):
            raise Forbidden(CSRF_FAILED)
        fields = {
            name: submitted.get_all(name)
            for name in values
            if name not in (CSRF_FIELD, LANGUAGE_FIELD)
        }
        headers = switch_language(context, submitted.get(LANGUAGE_FIELD))
        if not headers:
            result = await self._handle(form, submitted)
        elif form.confirm_field:
            preview = {name: sent for name, sent in values.items() if name != form.confirm_field}
            result = await self._handle(form, SubmittedForm(context, post.name, preview))
        else:  # the form could change something, so it is only shown
            result = FormPreview()
        if isinstance(result, Redirect):
            return self._redirect(post, result)
        if isinstance(result, FormErrors):
            return FormState(post.name, fields, result.errors, result.values, 400, headers)
        return FormState(post.name, fields, {}, result.values, 200, headers)

    async def _handle(self, form: PageForm, submitted: SubmittedForm) -> FormResult:
        # Every page has another CSRF token, so it also tells pages apart.
        if form.is_once and not await self._used.use(submitted.get(CSRF_FIELD)):
            return FormErrors({"": [translate(SENT_BEFORE, submitted.language)]})
        try:
            return await form.handle(submitted, self._client.for_context(submitted.context))
        except APIError as error:
            return FormErrors.from_response(error.response, form.fields)

    def _redirect(self, post: FormPost, result: Redirect) -> Response:
        context = post.context
        base_url = context.request.base_url
        if result.message is None:
            return redirect(base_url, result.path)
        notice = Notice(translate(result.message, context.request.language), result.undo)
        secret = b"" if result.ends_session else context.caller.csrf_secret
        return redirect(base_url, result.path, set_notice(notice, secret, base_url))
