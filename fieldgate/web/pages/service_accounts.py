"""Pages of service accounts: the list, and one account with its tokens."""

from typing import Any

from fieldgate.accounts.service_account_routes import SERVICE_ACCOUNTS_PATH, service_account_path
from fieldgate.assets.schemas import TEAMS_PATH
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.page_views import FormResult, Page, Pages, Redirect, SubmittedForm
from fieldgate.web.pages.account import TOKEN_FIELDS, send_new_token, send_revocation
from fieldgate.web.pages.teams import manages
from fieldgate.web.pages.users import set_active

pages = Pages()
pages.show("service_account_token_list", "accounts/own_list.html")

MAX_LISTED = 200  # tokens of an account, and teams to choose from


@pages.show("service_account_list", "accounts/service_account_list.html")
async def load_list(page: Page, api: InternalAPI) -> dict[str, Any]:
    found = (await api.get(TEAMS_PATH, {"limit": MAX_LISTED}))["results"]
    teams = [(each["uid"], each["name"]) for each in found if manages(page, each)]
    return {"team_options": [("", translate(Message("You"), page.language)), *teams]}


@pages.show("service_account_detail", "accounts/service_account_detail.html")
async def load_account(page: Page, api: InternalAPI) -> dict[str, Any]:
    return {
        "tokens": await api.get(
            f"{service_account_path(page.record['username'])}tokens/", {"limit": MAX_LISTED}
        )
    }


@pages.form("service_account_list", "create", {"username": "username", "team": "team"})
async def create_account(form: SubmittedForm, api: InternalAPI) -> FormResult:
    body = {"username": form.get("username"), "team": form.get("team")}
    created = await api.call("POST", SERVICE_ACCOUNTS_PATH, json=body)
    message = Message(
        "The service account {name} was created. Create a token for it.", name=created["username"]
    )
    return Redirect(service_account_path(created["username"]), message)


@pages.form("service_account_detail", "create-token", TOKEN_FIELDS, is_once=True)
async def create_token(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await send_new_token(form, api, f"{_path(form)}tokens/")


@pages.form("service_account_detail", "revoke")
async def revoke_token(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await send_revocation(form, api, f"{_path(form)}tokens/", _path(form))


@pages.form("service_account_detail", "disable")
@pages.form("service_account_detail", "enable")
async def disable_or_enable(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await set_active(form, api, _path(form))


def _path(form: SubmittedForm) -> str:
    return service_account_path(form.path_values["username"])
