"""The account page: tokens, sessions and password."""

from fieldgate.accounts.schemas import ACCOUNT_PATH, IDENTITIES_PATH, SESSIONS_PATH, TOKENS_PATH
from fieldgate.http.internal_api import APIResponse, InternalAPI
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.web.notices import ACCOUNT_DELETED
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Pages,
    Redirect,
    SubmittedForm,
)

pages = Pages()
pages.show("account_detail", "accounts/own_detail.html")
pages.show("account_token_list", "accounts/own_list.html")
pages.show("account_session_list", "accounts/own_list.html")
pages.show("account_identity_list", "accounts/own_list.html")

PAGE_PATH = "/account/"
TOKEN_FIELDS = {name: name for name in ("name", "lifetime_days", "scopes", "assets", "networks")}
_PASSWORD_FIELDS = {
    "current_password": "current_password", "detail": "current_password", "new_password": "new_password",
}  # fmt: skip


@pages.form("account_page", "create-token", TOKEN_FIELDS, is_once=True)
async def create_token(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await send_new_token(form, api, TOKENS_PATH)


async def send_new_token(form: SubmittedForm, api: InternalAPI, list_path: str) -> FormResult:
    """The page shows the token itself once: it must not travel in a URL or a cookie."""
    days = form.get("lifetime_days")
    body = {
        "name": form.get("name"),
        "lifetime_days": int(days[:9]) if days.isascii() and days.isdigit() else days,
        "scopes": form.get_all("scopes") or ["all"],
        "assets": form.get("assets").replace(",", " ").split() or None,
        "networks": form.get("networks").replace(",", " ").split() or None,
    }
    return FormPreview({"token": await api.call("POST", list_path, json=body)})


@pages.form("account_page", "revoke")
async def revoke_token(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await send_revocation(form, api, TOKENS_PATH, PAGE_PATH)


async def send_revocation(
    form: SubmittedForm, api: InternalAPI, list_path: str, page_path: str
) -> FormResult:
    """Revoke the token of a form, and go to the page it was on."""
    await api.call("DELETE", f"{list_path}{form.get('id')}/")
    if name := form.get("name"):
        message = Message(
            "The token “{name}” was revoked. It is refused from now on.", name=name[:100]
        )
    else:
        message = Message("The token was revoked. It is refused from now on.")
    return Redirect(page_path, message)


@pages.form("account_page", "password", _PASSWORD_FIELDS)
async def change_password(form: SubmittedForm, api: InternalAPI) -> FormResult:
    new = form.get_exact("new_password")
    if new != form.get_exact("repeated"):
        text = translate(Message("The two passwords are not the same."), form.language)
        return FormErrors({"repeated": [text]})
    body = {"current_password": form.get_exact("current_password"), "new_password": new}
    count = (await api.call("POST", f"{ACCOUNT_PATH}password/", json=body))["sessions_ended"]
    message: Message = Message("Your password was changed.")
    if count:
        message = PluralMessage(
            "Your password was changed, and {count} other session ended.",
            "Your password was changed, and {count} other sessions ended.",
            count,
        )
    return Redirect(PAGE_PATH, message)


@pages.form("account_page", "end-sessions")
async def end_sessions(_: SubmittedForm, api: InternalAPI) -> FormResult:
    await api.call("DELETE", SESSIONS_PATH)
    return Redirect(PAGE_PATH, Message("You are logged out in all other browsers."))


@pages.form("account_page", "unlink")
async def unlink(form: SubmittedForm, api: InternalAPI) -> FormResult:
    await api.call("DELETE", f"{IDENTITIES_PATH}{form.get('id')}/")
    return Redirect(PAGE_PATH, Message("You cannot log in with this account any more."))


@pages.form("account_page", "delete")
async def delete_account(form: SubmittedForm, api: InternalAPI) -> FormResult:
    response = await api.send("DELETE", "/me/", json={"confirm": form.get("confirm")})
    if response.is_error:
        return deletion_errors(response)
    return Redirect("/", ACCOUNT_DELETED, ends_session=True)


def deletion_errors(response: APIResponse) -> FormErrors:
    """The errors of a deletion, with the forms that stand in the way."""
    body = {name: text for name, text in response.body.items() if name != "assets"}
    without_assets = APIResponse(response.status, body, response.headers)
    return FormErrors.from_response(
        without_assets, {"confirm": "confirm"}, {"owned": response.body.get("assets", [])}
    )
