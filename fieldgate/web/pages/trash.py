"""The page of deleted forms, and the form that restores one: a button there, and the undo of deleting."""

from datetime import datetime, timedelta
from math import ceil
from typing import Any
from urllib.parse import quote

from fieldgate.db import now
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message
from fieldgate.web.page_views import FormResult, Page, Pages, Redirect, SubmittedForm
from fieldgate.web.pages.form_preview import ASSETS_PATH, TYPE_LABELS, labels, shown_name
from fieldgate.web.pages.sharing_people import username

pages = Pages()

TRASH_PATH = f"{ASSETS_PATH}deleted/"


@pages.show("deleted_asset_list", "assets/deleted.html")
async def load_trash(page: Page, _: InternalAPI) -> dict[str, Any]:
    return {
        "days_left": [_days_until(each["purge_at"]) for each in page.record["results"]],
        "type_labels": labels(TYPE_LABELS, page.language),
        "username": username,
        "own_username": page.caller.username,
        "page_request": page.request.page,
    }


def _days_until(time: str) -> int:
    """The number of days, also begun ones; 0 if the time is over and no worker was there yet."""
    return max(ceil((datetime.fromisoformat(time) - now()) / timedelta(days=1)), 0)


@pages.form("deleted_asset_list", "restore")
async def restore(form: SubmittedForm, api: InternalAPI) -> FormResult:
    path = f"{ASSETS_PATH}{quote(form.get('uid'), safe='')}/"
    asset = await api.call("POST", f"{path}undelete/")
    return Redirect(path, Message("“{name}” is restored.", name=shown_name(asset["name"])))
