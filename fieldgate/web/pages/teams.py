"""Pages of teams: my teams, one team with its members and forms, and one member."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from fieldgate.assets.schemas import TEAMS_PATH, team_path
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.permissions.sentences import isolate
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
from fieldgate.web.pages.sharing_forms import DRY_RUN
from fieldgate.web.pages.sharing_people import asset_uid, username

pages = Pages()

MAX_LISTED = 100  # members or forms on the page of a team
MAX_LISTED_GAINS = 50
_FIELDS = {"name": "name", "description": "description"}
_ADDED_FIELDS = {"user": "users", "users": "users", "detail": "users"}
_SEPARATORS = re.compile(r"[\s,،;؛]+")


class TeamGain(msgspec.Struct, frozen=True):
    """What people get from a team on one form, or lose without it."""

    uid: str
    name: str
    access: str
    people: int


def _group_gains(records: Iterable[Mapping[str, Any]]) -> list[TeamGain]:
    counts = Counter(
        (asset_uid(each["asset"]), each["asset__name"], each["access"]) for each in records
    )
    return [TeamGain(*key, count) for key, count in counts.items()]


@pages.show("team_list", "teams/list.html")
async def load_team_list(_: Page, api: InternalAPI) -> dict[str, Any]:
    # Nothing is created without a name: 400, or 403 if only superusers create teams here.
    answer = await api.send("POST", TEAMS_PATH, json={"name": ""})
    return {"may_create": answer.status != HTTPStatus.FORBIDDEN}


@pages.show("team_detail", "teams/detail.html")
async def load_team(page: Page, api: InternalAPI) -> dict[str, Any]:
    form, path = page.form, team_path(page.record["uid"])
    added = form.values.get("added") if form is not None else None
    values: dict[str, Any] = {
        "team": page.record,
        "may_manage": manages(page, page.record),
        "members": await api.get(f"{path}members/", {"limit": MAX_LISTED}),
        "forms_used": await api.get(f"{path}assets/", {"limit": MAX_LISTED}),
        "new_members": [username(each) for each in added["users"]] if added else [],
        "gains": _group_gains(added["assets"]) if added else [],
        "max_gains": MAX_LISTED_GAINS,
        "losses": None,
    }
    if values["may_manage"] and "delete" in page.request.query_params:
        lost = await api.send("DELETE", path, query=DRY_RUN)
        values["losses"] = [] if lost.is_error else _group_gains(lost.body["assets"])
    return values


def manages(page: Page, team: Mapping[str, Any]) -> bool:
    return page.caller.is_superuser or bool(team["role"] == "admin")


@pages.show("member_list", "teams/members.html")
@pages.show("team_asset_list", "teams/assets.html")
async def load_part(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The whole list of members, or of forms."""
    return {"team": await api.get(team_path(page.request.path_values["uid"]))}


@pages.show("member_detail", "teams/member.html")
async def load_member(page: Page, api: InternalAPI) -> dict[str, Any]:
    team = await api.get(team_path(page.request.path_values["uid"]))
    may_manage, is_own = manages(page, team), page.record["user__username"] == page.caller.username
    values: dict[str, Any] = {"team": team, "may_manage": may_manage, "is_own": is_own}
    values |= {"losses": [], "max_gains": MAX_LISTED_GAINS}
    if may_manage or is_own:
        lost = await api.send("DELETE", page.request.path, query=DRY_RUN)
        values["losses"] = [] if lost.is_error else _group_gains(lost.body["assets"])
    return values


@pages.form("team_list", "create", _FIELDS)
async def create_team(form: SubmittedForm, api: InternalAPI) -> FormResult:
    body = {"name": form.get("name"), "description": form.get("description")}
    team = await api.call("POST", TEAMS_PATH, json=body)
    message = Message(
        "The team {name} was created. Now add its members.", name=isolate(team["name"])
    )
    return Redirect(team_path(team["uid"]), message)


@pages.form("team_detail", "change", _FIELDS)
async def change_team(form: SubmittedForm, api: InternalAPI) -> FormResult:
    body = {"name": form.get("name"), "description": form.get("description")}
    await api.call("PATCH", _path(form), json=body)
    return Redirect(_path(form), Message("The team was changed."))


@pages.form("team_detail", "delete")
async def delete_team(form: SubmittedForm, api: InternalAPI) -> FormResult:
    team = await api.get(_path(form))
    await api.call("DELETE", _path(form))
    return Redirect(TEAMS_PATH, Message("The team {name} was deleted.", name=isolate(team["name"])))


@pages.form("team_detail", "add", _ADDED_FIELDS, confirm_field="do")
async def add_members(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Add people whose names were pasted; `do=add` after the preview."""
    names = [each for each in _SEPARATORS.split(form.get("users")) if each]
    if not names:
        return FormErrors(
            {"users": [translate(Message("Enter at least one username."), form.language)]}
        )
    is_preview = form.get("do") != "add"
    body = {"users": names, "role": form.get("role", "member")}
    record = await api.call(
        "POST", f"{_path(form)}members/", query=DRY_RUN if is_preview else {}, json=body
    )
    if is_preview:
        return FormPreview({"added": record})
    count = len(record["added"])
    message = PluralMessage(
        "{count} person was added to the team.", "{count} people were added to the team.", count
    )
    return Redirect(_path(form), message)


@pages.form("member_detail", "role")
async def set_role(form: SubmittedForm, api: InternalAPI) -> FormResult:
    role, name = form.get("role"), form.path_values["username"]
    await api.call("PATCH", form.path, json={"role": role})
    done = Message("{name} is an admin of the team now.", name=isolate(name))
    if role != "admin":
        done = Message(
            "{name} is a member of the team now, and no admin any more.", name=isolate(name)
        )
    return Redirect(form.path, done)


@pages.form("member_detail", "remove")
async def remove_member(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Remove somebody from a team, or leave it."""
    name, path = form.path_values["username"], _path(form)
    member = await api.get(form.path)
    await api.call("DELETE", form.path)
    if member["user__username"] == form.caller.username:
        return Redirect(TEAMS_PATH, Message("You left the team."))
    fields = {"users": name, "role": member["role"], "do": "add"}
    undo = Undo(translate(Message("Undo"), form.language), path, "add", fields)
    return Redirect(path, Message("{name} is not in the team any more.", name=isolate(name)), undo)


def _path(form: SubmittedForm) -> str:
    return team_path(form.path_values["uid"])
