"""Pages of users: the list, and one user. Superusers create, invite and change users and transfer assets."""

from collections.abc import Mapping
from typing import Any

from fieldgate.accounts.schemas import USERS_PATH, user_path
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Page,
    Pages,
    Redirect,
    SubmittedForm,
    Undo,
)
from fieldgate.web.pages.account import deletion_errors, send_revocation
from fieldgate.web.pages.review import load_used_forms

pages = Pages()
pages.show("user_token_list", "accounts/own_list.html")
pages.show("user_session_list", "accounts/own_list.html")

MAX_SUGGESTED_USERS = 200
MAX_COUNTRIES = 1000
_FIELDS = {
    name: name
    for name in ("username", "first_name", "last_name", "is_superuser", "is_ifrc", "countries")
}
MAX_LISTED = 10  # tokens and sessions on the page of a user

TYPE_LABELS: Mapping[str, Message] = {
    "survey": Message("Forms"),
    "template": Message("Templates"),
    "block": Message("Blocks"),
    "question": Message("Questions"),
    "collection": Message("Collections"),
}
OTHER_TYPES = Message("Other")


@pages.show("user_detail", "accounts/user_detail.html")
async def load_user(page: Page, api: InternalAPI) -> dict[str, Any]:
    record, form = page.record, page.form
    if "is_active" not in record:
        return {"usernames": [], "preview_types": [], "preview_to": ""}
    path = user_path(record["username"])
    users = await api.get(USERS_PATH, {"limit": MAX_SUGGESTED_USERS})
    preview = form.values.get("transfer") if form is not None else None
    return {
        **await load_countries(page, api),
        "tokens": await api.get(f"{path}tokens/", {"limit": MAX_LISTED}),
        "sessions": await api.get(f"{path}sessions/", {"limit": MAX_LISTED}),
        "used_forms": await load_used_forms(record["username"], page.language, api),
        "max_listed": MAX_LISTED,
        "usernames": [
            each["username"] for each in users["results"] if each["username"] != record["username"]
        ],
        "preview_types": _count_by_label(preview["asset_types"], page.language) if preview else [],
        "preview_to": form.get("to") if form is not None else "",
    }


@pages.show("user_list", "accounts/user_list.html")
async def load_countries(page: Page, api: InternalAPI) -> dict[str, Any]:
    """A function that names countries by three-letter code, and all countries as options."""
    countries = await api.get("/api/v2/country/", {"limit": MAX_COUNTRIES})
    names = {each["iso3"]: each["name"] for each in countries["results"] if each["iso3"]}
    by_name = sorted(names.items(), key=lambda item: collation_key(item[1], page.language))
    return {
        "country_names": lambda codes: [names.get(code, code) for code in codes],
        "country_options": by_name,
    }


def _count_by_label(types: Mapping[str, int], language: Language) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for asset_type, count in types.items():
        label = translate(TYPE_LABELS.get(asset_type, OTHER_TYPES), language)
        counts[label] = counts.get(label, 0) + count
    return list(counts.items())


@pages.form("user_list", "create", _FIELDS, is_once=True)
async def create_user(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """The page shows the one-time link once."""
    body = {"username": form.get("username"), **_profile(form)}
    return FormPreview({"user": await api.call("POST", USERS_PATH, json=body)})


def _profile(form: SubmittedForm) -> dict[str, Any]:
    rights = form.get_all("rights")
    return {
        "first_name": form.get("first_name"),
        "last_name": form.get("last_name"),
        "is_superuser": "is_superuser" in rights,
        "is_ifrc": "is_ifrc" in rights,
        "countries": form.get_all("countries"),
    }


@pages.form("user_detail", "change", _FIELDS)
async def change_user(form: SubmittedForm, api: InternalAPI) -> FormResult:
    await api.call("PATCH", _path(form), json=_profile(form))
    return Redirect(
        _path(form), Message("The account of {name} was changed.", name=_username(form))
    )


@pages.form("user_detail", "revoke")
async def revoke_token(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await send_revocation(form, api, f"{_path(form)}tokens/", _path(form))


@pages.form("user_detail", "end-sessions")
async def end_sessions(form: SubmittedForm, api: InternalAPI) -> FormResult:
    await api.call("DELETE", f"{_path(form)}sessions/")
    return Redirect(
        _path(form), Message("{name} is logged out in all browsers.", name=_username(form))
    )


@pages.form("user_detail", "invite", is_once=True)
async def invite_user(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return FormPreview({"invitation": await api.call("POST", f"{_path(form)}invitation/")})


@pages.form("user_detail", "disable")
@pages.form("user_detail", "enable")
async def disable_or_enable_user(form: SubmittedForm, api: InternalAPI) -> FormResult:
    return await set_active(form, api, _path(form))


async def set_active(form: SubmittedForm, api: InternalAPI, path: str) -> FormResult:
    """Disable or enable the account at a path, as the name of the form says, and go to its page."""
    is_active, name = form.name == "enable", _username(form)
    await api.call("PATCH", path, json={"is_active": is_active})
    if is_active:
        message = Message("The account of {name} is active again.", name=name)
        undo = Undo(translate(Message("Disable again"), form.language), path, "disable")
    else:
        message = Message("The account of {name} is disabled.", name=name)
        undo = Undo(translate(Message("Enable again"), form.language), path, "enable")
    return Redirect(path, message, undo)


@pages.form("user_detail", "transfer", {"to": "to"}, confirm_field="step")
async def transfer_assets(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Show the counts first; `step` is confirm after that."""
    path, body = f"{_path(form)}transfer/", {"to": form.get("to")}
    is_confirmed = form.get("step") == "confirm"
    transfer = await api.call(
        "POST", path, json=body, query={} if is_confirmed else {"dry_run": "true"}
    )
    if not is_confirmed:
        return FormPreview({"transfer": transfer})
    message = PluralMessage(
        "{count} item now belongs to {name}.",
        "{count} items now belong to {name}.",
        transfer["count"],
        name=body["to"],
    )
    return Redirect(_path(form), message)


@pages.form("user_detail", "delete")
async def delete_user(form: SubmittedForm, api: InternalAPI) -> FormResult:
    if form.get("confirm").casefold() != _username(form).casefold():
        return FormErrors(
            {"confirm": [translate(Message("This is not the username."), form.language)]}
        )
    response = await api.send("DELETE", _path(form))
    if response.is_error:
        return deletion_errors(response)
    return Redirect(USERS_PATH, Message("The account of {name} was deleted.", name=_username(form)))


def _username(form: SubmittedForm) -> str:
    return form.path_values["username"]


def _path(form: SubmittedForm) -> str:
    return user_path(_username(form))
