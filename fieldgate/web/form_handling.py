"""Handle the forms of pages: session and CSRF token, body, handler, and then a redirect or the page again."""

from collections.abc import Mapping

from fieldgate.errors import Forbidden, NotFound, Unauthorized
from fieldgate.http.injection import ShownForm
from fieldgate.http.internal_api import InternalClient
from fieldgate.http.page_forms import FormPost
from fieldgate.http.request import body_parsing
from fieldgate.http.request.authentication import CSRF_FAILED
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import AuthMethod
from fieldgate.settings import Settings
from fieldgate.web.notices import Notice, set_notice
from fieldgate.web.page_views import FormErrors, FormKey, FormState, PageForm, Redirect, SubmittedForm
from fieldgate.web.redirects import is_same_origin, redirect

CSRF_FIELD = "csrf_token"
LOGIN_ENDED = Message("You are not logged in any more. Log in again, then send the form again.")


class FormDispatcher:
    """Handles forms; implements `fieldgate.http.page_forms.PageForms`."""

    def __init__(self, forms: Mapping[FormKey, PageForm], client: InternalClient, settings: Settings) -> None:
        self._forms = forms
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
        body = await body_parsing.read_body(
            post.receive, context.headers, None, max_bytes=form.max_bytes(self._settings)
        )
        values = await body_parsing.parse_form(context.headers, body)
        submitted = SubmittedForm(post.name, context, values)
        if not context.caller.accepts_csrf_token(submitted.get(CSRF_FIELD)):
            raise Forbidden(CSRF_FAILED)
        result = await form.handle(submitted, self._client.for_context(context))
        if isinstance(result, Redirect):
            return self._redirect(post, result)
        fields = {name: submitted.get_all(name) for name in values if name != CSRF_FIELD}
        if isinstance(result, FormErrors):
            return FormState(post.name, fields, result.errors, result.values, 400)
        return FormState(post.name, fields, {}, result.values, 200)

    def _redirect(self, post: FormPost, result: Redirect) -> Response:
        context = post.context
        base_url = context.request.base_url
        if result.message is None:
            return redirect(base_url, result.path)
        notice = Notice(translate(result.message, context.request.language), result.undo)
        return redirect(base_url, result.path, set_notice(notice, context.caller.csrf_secret, base_url))
