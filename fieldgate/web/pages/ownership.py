"""Ownership by invitation on the pages of forms: offer and cancel as the owner, accept or decline as the recipient."""

from typing import Any

from fieldgate.accounts.schemas import user_path
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Caller
from fieldgate.web.page_views import FormErrors, FormKey, FormResult, PageForm, PageView, Redirect, SubmittedForm
from fieldgate.web.pages.form_preview import ASSETS_PATH

INVITES_PATH = "/api/v2/project-ownership/invites/"
MAX_INVITES = 100  # on a page, of which those that others sent and that are open are shown


async def load_received_invites(caller: Caller, api: InternalAPI) -> list[dict[str, Any]]:
    """Open invitations to own forms: id, sender, and the names of the forms."""
    if caller.is_anonymous:
        return []
    found = await api.find(INVITES_PATH, {"limit": MAX_INVITES})
    return [
        {
            "id": _last_part(invite["url"]),
            "sender": _last_part(invite["sender"]),
            "names": [each["asset__name"] for each in invite["transfers"] if each["status"] == "pending"],
        }
        for invite in (found or {"results": []})["results"]
        if invite["status"] == "pending" and invite["recipient"].endswith(user_path(caller.username))
    ]


def _last_part(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


async def offer(form: SubmittedForm, api: InternalAPI) -> FormResult:
    recipient = form.get("recipient")
    body = {"recipient": recipient, "assets": [form.path_values["uid"]]}
    response = await api.send("POST", INVITES_PATH, json=body)
    if response.is_error:
        return FormErrors.from_response(response, {"recipient": "recipient"})
    name = _last_part(response.body["recipient"])
    return Redirect(
        form.path, Message("{name} is invited. Nothing changes until the invitation is accepted.", name=name)
    )


async def cancel(form: SubmittedForm, api: InternalAPI) -> FormResult:
    response = await api.send("PATCH", f"{INVITES_PATH}{form.get('invite')}/", json={"status": "cancelled"})
    if response.is_error:
        return FormErrors.from_response(response)
    return Redirect(form.path, Message("The invitation was cancelled."))


async def answer(form: SubmittedForm, api: InternalAPI) -> FormResult:
    status = "accepted" if form.get("answer") == "accepted" else "declined"
    response = await api.send("PATCH", f"{INVITES_PATH}{form.get('invite')}/", json={"status": status})
    if response.is_error:
        return FormErrors.from_response(response)
    if status == "declined":
        return Redirect(ASSETS_PATH, Message("You declined the invitation. Nothing was changed."))
    moved = sum(each["status"] == "success" for each in response.body["transfers"])
    if not moved:
        return Redirect(ASSETS_PATH, Message("Nothing was transferred: the sender no longer owns these forms."))
    message = PluralMessage("{count} form belongs to you now.", "{count} forms belong to you now.", moved)
    return Redirect(ASSETS_PATH, message)


PAGES: dict[str, PageView] = {}
FORMS: dict[FormKey, PageForm] = {
    ("asset_detail", "offer"): PageForm(offer),
    ("asset_detail", "cancel-offer"): PageForm(cancel),
    ("asset_list", "answer-invite"): PageForm(answer),
}
