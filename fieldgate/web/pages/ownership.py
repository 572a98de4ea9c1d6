"""Ownership by invitation on the pages of forms: offer and cancel as the owner, accept or decline as the recipient."""

from typing import Any
from urllib.parse import quote

from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Caller
from fieldgate.web.page_views import FormResult, Pages, Redirect, SubmittedForm
from fieldgate.web.pages.form_preview import ASSETS_PATH

pages = Pages()

INVITES_PATH = "/api/v2/project-ownership/invites/"
MAX_INVITES = 20  # on a page


async def load_received_invites(caller: Caller, api: InternalAPI) -> dict[str, Any]:
    """Open invitations to own forms: how many there are, and of the newest id, sender, and names of the forms."""
    query = {"received": "true", "status": "pending", "limit": MAX_INVITES}
    found = None if caller.is_anonymous else await api.find(INVITES_PATH, query)
    if found is None:
        return {"count": 0, "newest": []}
    newest = [
        {
            "id": _last_part(invite["url"]),
            "sender": _last_part(invite["sender"]),
            "names": [
                each["asset__name"] for each in invite["transfers"] if each["status"] == "pending"
            ],
        }
        for invite in found["results"]
    ]
    return {"count": found["count"], "newest": newest}


def _last_part(url: str) -> str:
    return url.rstrip("/").rsplit("/", 1)[1]


def _invite_path(form: SubmittedForm) -> str:
    return f"{INVITES_PATH}{quote(form.get('invite'), safe='')}/"


@pages.form("asset_detail", "offer", {"recipient": "recipient"})
async def offer(form: SubmittedForm, api: InternalAPI) -> FormResult:
    recipient = form.get("recipient")
    body = {"recipient": recipient, "assets": [form.path_values["uid"]]}
    name = _last_part((await api.call("POST", INVITES_PATH, json=body))["recipient"])
    return Redirect(
        form.path,
        Message("{name} is invited. Nothing changes until the invitation is accepted.", name=name),
    )


@pages.form("asset_detail", "cancel-offer")
async def cancel(form: SubmittedForm, api: InternalAPI) -> FormResult:
    await api.call("PATCH", _invite_path(form), json={"status": "cancelled"})
    return Redirect(form.path, Message("The invitation was cancelled."))


@pages.form("asset_list", "answer-invite")
async def answer(form: SubmittedForm, api: InternalAPI) -> FormResult:
    status = "accepted" if form.get("answer") == "accepted" else "declined"
    invite = await api.call("PATCH", _invite_path(form), json={"status": status})
    if status == "declined":
        return Redirect(ASSETS_PATH, Message("You declined the invitation. Nothing was changed."))
    moved = sum(each["status"] == "success" for each in invite["transfers"])
    if not moved:
        return Redirect(
            ASSETS_PATH, Message("Nothing was transferred: the sender no longer owns these forms.")
        )
    message = PluralMessage(
        "{count} form belongs to you now.", "{count} forms belong to you now.", moved
    )
    return Redirect(ASSETS_PATH, message)
