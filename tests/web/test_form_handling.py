"""Forms of pages: CSRF, errors, previews, notices and undo."""

import asyncio
from collections.abc import Iterator

import pytest

from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, Caller
from fieldgate.web.notices import Notice, read_notice, set_notice
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    PageForm,
    Redirect,
    SubmittedForm,
    Undo,
)
from fieldgate.web.pages import FORMS
from tests.conftest import BASE_URL, Service
from tests.data.accounts import create_session
from tests.web.page_client import PageClient, csrf_token_in, visible_text

PAGE = "/api/v2/permissions/"


async def _handle(form: SubmittedForm, api: InternalAPI) -> FormResult:
    permission = await api.get(f"{PAGE}{form.get('permission', 'view_asset')}/")
    if form.get("do") == "fail":
        return FormErrors({"do": [f"{permission['name']} <b>"], "": ["as a whole"]})
    if form.get("do") == "preview":
        return FormPreview({"seen": True})
    undo = Undo("Take back", PAGE, "trial", {"do": "undone", "several": ["1", "2"]})
    return Redirect(PAGE, Message("Done: {names}", names=", ".join(form.get_all("several"))), undo)


async def _handle_confirmed(form: SubmittedForm, _: InternalAPI) -> FormResult:
    return (
        Redirect(PAGE)
        if form.get("do") == "confirm"
        else FormErrors({"": [f"preview in {form.language.value}"]})
    )


@pytest.fixture(autouse=True)
def trial_form() -> Iterator[None]:
    forms = {
        "trial": PageForm(_handle),
        "confirmed": PageForm(_handle_confirmed, confirm_field="do"),
        "once": PageForm(_handle, is_once=True),
    }
    for name, form in forms.items():
        FORMS["permission_list", name] = form
    yield
    for name in forms:
        del FORMS["permission_list", name]


@pytest.fixture
async def client(service: Service) -> PageClient:
    _, number = await service.create_user()
    return await PageClient.logged_in(service, number)


async def test_success_leads_to_a_page_with_a_notice_shown_once(client: PageClient) -> None:
    page = await client.submit_and_follow(PAGE, "trial", {"several": ["a", "<i>b</i>"]})
    assert "Done: a, <i>b</i>" in visible_text(page.text)
    assert "<i>b" not in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert "Done" not in visible_text((await client.get(PAGE)).text)


async def test_errors_are_in_a_summary_with_status_400(client: PageClient) -> None:
    answer = await client.submit(f"{PAGE}?limit=3", "trial", {"do": "fail"})
    assert answer.status_code == 400
    assert (
        '<a href="#trial-do">View asset &lt;b&gt;</a>' in answer.text
        or "&lt;b&gt;</a>" in answer.text
    )
    assert "as a whole" in answer.text
    assert "There is a problem" in answer.text


@pytest.mark.parametrize("csrf", ["", "x", "é", "00" * 16, "00" * 32, "zz" * 32])
async def test_wrong_csrf_token_is_refused(client: PageClient, csrf: str) -> None:
    assert (await client.submit(PAGE, "trial", {"csrf_token": csrf})).status_code == 403


async def test_unmasked_csrf_secret_is_refused(service: Service) -> None:
    _, number = await service.create_user()
    session = create_session(service, number)
    caller = Caller(id=number, auth_method=AuthMethod.SESSION, secret=session)
    client, unmasked = PageClient(service, session), caller.csrf_secret.hex()
    assert (await client.submit(PAGE, "trial", {"csrf_token": unmasked})).status_code == 403
    headers = {"Cookie": f"{SESSION_COOKIE.decode()}={session}", "X-CSRFToken": unmasked}
    assert (await service.request("POST", "/token/", headers=headers)).status_code == 403
    page = await client.get("/account/")
    assert unmasked not in page.text
    logout = {"csrf_token": unmasked}
    assert (await service.client.post("/logout/", data=logout, headers=headers)).status_code == 403


async def test_every_page_has_another_csrf_token_and_all_are_valid(client: PageClient) -> None:
    pages = [await client.get(PAGE) for _ in range(3)]
    assert len({csrf_token_in(page) for page in pages}) == 3
    for page in pages:
        assert (await client.submit_from(page, PAGE, "trial", {})).status_code == 303


@pytest.mark.parametrize("path", ["/", PAGE, "/api-docs/swagger-ui/"])
async def test_page_with_forms_is_revalidated_in_its_session_only(
    service: Service, path: str
) -> None:
    _, number = await service.create_user()
    client, other = [await PageClient.logged_in(service, number) for _ in range(2)]
    etag = (await client.get(path)).headers["ETag"]
    assert etag.startswith('W/"'), (
        "the token is another one every time, so the bytes are not the same"
    )
    assert (await client.get(path, {"If-None-Match": etag})).status_code == 304
    assert (await client.get(path, {"If-None-Match": f'"x", {etag}'})).status_code == 304
    # A browser that logged in again has another session: the tokens of its stored pages are not valid any more.
    assert (await other.get(path, {"If-None-Match": etag})).status_code == 200


async def test_anonymous_form_is_refused_with_a_way_to_log_in(service: Service) -> None:
    answer = await PageClient(service).submit(PAGE, "trial")
    assert answer.status_code == 401
    assert "Log in again" in answer.text


async def test_token_cannot_send_forms(service: Service) -> None:
    headers = {"Authorization": f"Token {await service.create_token()}", "Accept": "text/html"}
    answer = await service.client.post(f"{PAGE}?form=trial", data={}, headers=headers)
    assert answer.status_code == 401


def _cookie(header: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    return {b"cookie": header[1].split(b";")[0]}


def test_notice_of_another_session_is_ignored(service: Service) -> None:
    context = service.app.app_context
    base_url = context.host_policy.base_url_for(
        "http", "", {b"host": BASE_URL.split("//")[1].encode()}
    )
    notice = Notice("Saved", Undo("Undo", "/", "x"))
    sent = _cookie(set_notice(notice, b"secret", base_url))
    assert read_notice(sent, b"secret") == notice
    assert read_notice(sent, b"other") is None
    assert read_notice({b"cookie": sent[b"cookie"] + b"x"}, b"secret") is None
    assert read_notice({b"cookie": b"fieldgate_notice=x.y"}, b"secret") is None


# Forms that are handled once


async def test_of_two_clicks_at_once_one_is_handled(client: PageClient) -> None:
    page = await client.get(PAGE)
    answers = await asyncio.gather(*(client.submit_from(page, PAGE, "once", {}) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [303, 400, 400, 400]


# The language of a page that is the response to a form


async def test_language_is_switched_without_handling_the_form(client: PageClient) -> None:
    answer = await client.submit(PAGE, "trial", {"do": "", "switch_language": "fr"})
    assert answer.status_code == 200, "not handled: that would be a redirect"
    assert '<html lang="fr"' in answer.text
    assert answer.headers["Content-Language"] == "fr"
    assert "fieldgate_language=fr" in answer.headers["Set-Cookie"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert '<html lang="fr"' in (await client.get(PAGE)).text, "remembered"


async def test_language_of_a_preview_is_switched_without_confirming(client: PageClient) -> None:
    assert (await client.submit(PAGE, "confirmed", {"do": "confirm"})).status_code == 303
    answer = await client.submit(PAGE, "confirmed", {"do": "confirm", "switch_language": "ar"})
    assert answer.status_code == 400, (
        "handled, to show the errors in the other language, but not confirmed"
    )
    assert '<html lang="ar"' in answer.text
    assert "preview in ar" in visible_text(answer.text)
