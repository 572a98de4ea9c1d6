"""Forms of the sharing page: share, change, remove, leave, copy, upload a table, and undo. All of them call the API."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from fieldgate.accounts.account_rules import MAX_NAME_CHARS
from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.schemas import TEAMS_PATH
from fieldgate.errors import BadRequest
from fieldgate.http.internal_api import APIError, APIResponse, InternalAPI
from fieldgate.http.request.body_parsing import DEFAULT_MAX_BODY_BYTES, decode_json
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL, implied
from fieldgate.permissions.labels import replace_codenames
from fieldgate.permissions.rules import Codenames
from fieldgate.permissions.sentences import isolate
from fieldgate.web.page_views import (
    FormErrors,
    FormPreview,
    FormResult,
    Pages,
    Redirect,
    SubmittedForm,
    Undo,
)
from fieldgate.web.pages.sharing_filters import read_fields, to_partial_permissions
from fieldgate.web.pages.sharing_people import (
    MAX_LISTED_PEOPLE,
    PERMISSION_ORDER,
    PUBLIC_USERNAME,
    AssetAccess,
    SharedWith,
    ShownChange,
    TeamNames,
    group_people,
    kept_by_teams,
    sentence_name,
    show_changes,
    username,
)

pages = Pages()

ASSETS_PATH = "/api/v2/assets/"
BATCH_ADD_PATH = "/api/v2/permission-assignments/add/"
DRY_RUN = {"dry_run": "true"}
MAX_SUGGESTIONS = 3
# The API takes 2 MiB, and a form can encode a character as three.
MAX_TABLE_FORM_BYTES = 3 * 2 * 1024 * 1024 + DEFAULT_MAX_BODY_BYTES


class SharingState(msgspec.Struct, frozen=True):
    """An asset and who can use it, before a form changes that."""

    asset: AssetAccess
    people: list[SharedWith]
    teams: TeamNames
    leaves_out_members: bool = False  # people with access through a team only are too many to list

    def find(self, name: str) -> SharedWith | None:
        """Find a person, or a team by `team:` and its uid or name."""
        key = username_key(self._reference(name))
        return next((each for each in self.people if username_key(each.username) == key), None)

    def _reference(self, name: str) -> str:
        """Return a name, that of a team with its uid."""
        keys = {username_key(TEAM_PREFIX + team): each for each, team in self.teams.items() if team}
        return keys.get(username_key(name), name)

    def in_sentence(self, name: str, language: Language) -> str:
        return sentence_name(self._reference(name), language, self.teams)

    def changes(self, record: Mapping[str, Any], language: Language) -> list[ShownChange]:
        return show_changes(record, self.people, self.asset, language, self.teams)


async def load_state(uid: str, language: Language, api: InternalAPI) -> SharingState:
    asset = AssetAccess.from_record(await api.get(f"{ASSETS_PATH}{uid}/"))
    listed = await api.send("GET", asset.path, query={"teams": "true"})
    if listed.is_error:
        raise APIError(listed)
    people = group_people(listed.body, asset, language)
    teams = {each.username: "" if each.is_hidden else each.name for each in people if each.is_team}
    return SharingState(asset, people, teams, b"fieldgate-left-out" in listed.headers)


async def name_teams(
    state: SharingState, record: Mapping[str, Any] | None, api: InternalAPI
) -> SharingState:
    """Add the names of teams that a `ChangeRecord` is about, also of those without access before."""
    holders = [] if record is None else [username(each["user"]) for each in record["effects"]]
    return msgspec.structs.replace(
        state, teams={**await find_team_names(holders, api), **state.teams}
    )


async def find_team_names(holders: Iterable[str], api: InternalAPI) -> dict[str, str]:
    """Return the names of the teams among some holders; see `TeamNames`."""
    names = {}
    for each in list(dict.fromkeys(each for each in holders if each.startswith(TEAM_PREFIX)))[
        :MAX_LISTED_PEOPLE
    ]:
        found = await api.find(f"{TEAMS_PATH}{each.removeprefix(TEAM_PREFIX)}/")
        names[each] = found["name"] if found else ""
    return names


def reduce_permissions(chosen: Iterable[str]) -> list[str]:
    """Leave out what another chosen permission implies, so that the effects name it as the reason."""
    names = list(dict.fromkeys(chosen))
    given = frozenset().union(*(implied(each) for each in names if each in BY_CODENAME))
    return [each for each in names if each not in given]


# Which boxes are ticked follows from the choices of a person, in their order. So a box that was ticked only because
# another one needs it is unticked with that one, and what a choice excluded comes back. 50-sharing.js does the same.


def ticked_permissions(choices: Sequence[str], asset_type: str) -> Codenames:
    """Return which boxes are ticked: the choices that no later one contradicts, and what they imply."""
    return rules.with_implied(_active(choices, asset_type), asset_type)


def update_choices(choices: Sequence[str], ticked: Collection[str], asset_type: str) -> list[str]:
    """Return the choices of a person who saw the boxes of these choices, and changed them until these are ticked."""
    before = ticked_permissions(choices, asset_type)
    new = dict.fromkeys(each for each in ticked if each not in before)
    known = rules.assignable(asset_type)
    kept = [each for each in choices if each in known]
    for (
        permission
    ) in PERMISSION_ORDER:  # from weak to strong: to untick two of many boxes leaves the others
        if permission in before and permission not in ticked:
            kept = _untick(kept, permission, asset_type)
    for permission in filter(known.__contains__, new):
        kept = _choose(kept, permission, asset_type)
    return [*kept, *(each for each in new if each not in known)]


def _active(choices: Sequence[str], asset_type: str) -> list[str]:
    latest = reversed(dict.fromkeys(reversed(choices)))  # a forged form can have thousands
    known = [each for each in latest if each in rules.assignable(asset_type)]
    return [
        each
        for position, each in enumerate(known)
        if not any(
            rules.find_contradiction((each, later), asset_type) for later in known[position:]
        )
    ]


def _choose(choices: Sequence[str], permission: str, asset_type: str) -> list[str]:
    """Add a choice. If it was chosen before, what it excluded then was not ticked, and does not come back with it."""
    last = max((at for at, each in enumerate(choices) if each == permission), default=-1)
    excluded = {
        each
        for each in choices[: last + 1]
        if rules.find_contradiction((each, permission), asset_type)
    }
    return [*(each for each in choices if each not in excluded and each != permission), permission]


def _untick(choices: Sequence[str], permission: str, asset_type: str) -> list[str]:
    """Take a choice back. If others imply it, they are taken back, too; the rest of what they imply becomes chosen."""

    def needs(each: str) -> bool:
        return permission in rules.with_implied((each,), asset_type)

    others = [each for each in choices if each != permission]
    rest = rules.with_implied(filter(needs, _active(others, asset_type)), asset_type)
    return [each for each in (*others, *sorted(rest)) if not needs(each)]


@pages.form("assignment_list", "share", confirm_field="do")
async def share(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Give somebody permissions in addition to what they have; `do=share` after the preview."""
    return await _set_permissions(form, api, is_change=False)


@pages.form("assignment_list", "change", confirm_field="do")
async def change(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Replace what somebody can do; `do=share` after the preview."""
    return await _set_permissions(form, api, is_change=True)


async def _set_permissions(form: SubmittedForm, api: InternalAPI, *, is_change: bool) -> FormResult:
    state = await load_state(form.path_values["uid"], form.language, api)
    name = PUBLIC_USERNAME if form.get("who") == "everyone" else form.get("user")
    shown, ticked = form.get("choices").split(), dict.fromkeys(form.get_all("permissions"))
    choices = update_choices(shown, ticked, state.asset.asset_type)
    chosen = reduce_permissions(each for each in choices if each in ticked)
    partials = to_partial_permissions(read_fields(form)) if PARTIAL in chosen else []
    errors: dict[str, list[str]] = {}
    if not name:
        errors["user"] = [translate(Message("Enter the username of a person."), form.language)]
    if not chosen and not is_change:
        errors["permissions"] = [
            translate(Message("Choose at least one permission."), form.language)
        ]
    if isinstance(partials, Message):
        errors["partial_people"] = [translate(partials, form.language)]
    if errors or isinstance(partials, Message):
        return FormErrors(errors)
    body: dict[str, Any] = {
        "permissions": chosen,
        **({"partial_permissions": partials} if partials else {}),
    }
    until, end = form.get("until"), form.get("end")
    if until or end:  # `end` is the time that the form showed as a day: it stays if the day does
        body["expires_at"] = end if until == end[:10] else until or None
    # Without a script, boxes may look different once others were ticked or unticked: show that before it is saved.
    is_outdated = bool(shown) and ticked_permissions(shown, state.asset.asset_type) != frozenset(
        ticked
    )
    is_preview = is_outdated or form.get("do") != "share"
    query = DRY_RUN if is_preview else {}
    if is_change:
        response = await api.send(
            "PATCH", f"{state.asset.path}bulk/", query=query, json={"user": name, **body}
        )
    else:
        batch = {"assets": [state.asset.uid], "users": [name], **body}
        response = await api.send("POST", BATCH_ADD_PATH, query=query, json=batch)
    if response.is_error:
        return FormErrors(await _share_errors(response, name, state, form, api))
    if is_preview:
        return FormPreview({"record": response.body})
    person = state.find(name)
    state = await name_teams(state, response.body, api)
    message = Message(
        "Shared with {name}. {result}.", **_outcome(response.body, name, state, form.language)
    )
    undo = (
        None
        if name.casefold() == form.caller.username.casefold()
        else _restore(name, person, state, form.language)
    )
    return Redirect(state.asset.path, message, undo)


def _outcome(
    record: Mapping[str, Any], name: str, state: SharingState, language: Language
) -> dict[str, str]:
    """Return the name of a person and what the person can do now."""
    shown = state.changes(record, language)
    person = state.find(name)
    result = shown[0].result if shown else person.sentence if person else ""
    return {"name": state.in_sentence(name, language), "result": result}


async def _share_errors(
    response: APIResponse, name: str, state: SharingState, form: SubmittedForm, api: InternalAPI
) -> dict[str, list[str]]:
    body = response.body if isinstance(response.body, dict) else {}
    errors: dict[str, list[str]] = {}
    for field, texts in body.items():
        target = _form_field(field)
        listed = texts if isinstance(texts, list) else [texts]
        labelled = [
            replace_codenames(str(text), state.asset.asset_type, form.language) for text in listed
        ]
        errors.setdefault(target, []).extend(labelled)
    if "user" in errors:
        errors["user"] += await _suggestions(name, state, form, api)
    return errors


def _form_field(field: str) -> str:
    if field.startswith("partial_permissions"):
        return "partial_people"
    return {
        "user": "user",
        "users": "user",
        "permissions": "permissions",
        "expires_at": "until",
    }.get(field, "")


async def _suggestions(
    name: str, state: SharingState, form: SubmittedForm, api: InternalAPI
) -> list[str]:
    """Suggest similar names, of people whom the caller can see anyway."""
    known = {person.username for person in state.people if not (person.is_public or person.is_team)}
    if form.caller.sees_everything:  # only superusers can list users
        found = await api.find("/api/v2/users/", {"search": name[:3], "limit": 200})
        known |= {each["username"] for each in (found or {"results": []})["results"]}
    by_folded_name = {fold_text(username): username for username in known - {PUBLIC_USERNAME}}
    wanted = fold_text(name)[:MAX_NAME_CHARS]
    similar = [
        by_folded_name[folded]
        for folded in get_close_matches(wanted, by_folded_name, MAX_SUGGESTIONS)
    ]
    if not similar or similar[0].casefold() == name.casefold():
        return []
    names = ", ".join(map(isolate, similar))
    return [translate(Message("Did you mean {names}?", names=names), form.language)]


@pages.form("assignment_list", "remove")
async def remove(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Remove a person."""
    state = await load_state(form.path_values["uid"], form.language, api)
    name = form.get("user")
    await api.call("DELETE", f"{state.asset.path}bulk/", json={"username": name})
    removed = {"name": state.in_sentence(name, form.language), "form": _title(state)}
    message, person = Message("Removed {name} from “{form}”.", **removed), state.find(name)
    if person is not None and person.teams:
        message = Message(
            "Removed {name} from “{form}”. {kept}",
            **removed,
            kept=kept_by_teams(person, form.language),
        )
    is_lost = person is not None and person.is_hidden  # a team that the caller cannot share with
    return Redirect(
        state.asset.path, message, None if is_lost else _restore(name, person, state, form.language)
    )


def _title(state: SharingState) -> str:
    return isolate(state.asset.name)


@pages.form("assignment_list", "leave")
async def leave(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """The caller leaves an asset that is shared with them."""
    state = await load_state(form.path_values["uid"], form.language, api)
    await api.call("DELETE", f"{state.asset.path}bulk/", json={"username": form.caller.username})
    return Redirect(
        ASSETS_PATH,
        Message("You left “{form}”. It is no longer shared with you.", form=_title(state)),
    )


@pages.form("assignment_list", "restore")
async def restore(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Undo: give somebody exactly the permissions of before."""
    state = await load_state(form.path_values["uid"], form.language, api)
    name = form.get("user")
    held, ends = form.get_all("permissions"), _decode_object(form.get("ends"))
    groups: dict[str | None, list[str]] = {}
    for each in held:
        groups.setdefault(ends.get(each), []).append(each)
    times = sorted(groups, key=lambda time: (time is None, time or ""))
    body: dict[str, Any] = {"user": name, "permissions": reduce_permissions(held)}
    body |= {"expires_at": times[0]} if times else {}
    if filters := _decode_object(form.get("filters")):
        body["partial_permissions"] = [
            {"url": each, "filters": given} for each, given in filters.items()
        ]
    await api.call("PATCH", f"{state.asset.path}bulk/", json=body)
    partials = body.get("partial_permissions")
    for time in times[1:]:  # everything ends with the first; then what ends later does
        batch = {
            "assets": [state.asset.uid],
            "users": [name],
            "permissions": groups[time],
            "expires_at": time,
        }
        batch |= {"partial_permissions": partials} if PARTIAL in groups[time] else {}
        await api.call("POST", BATCH_ADD_PATH, json=batch)
    shown = state.in_sentence(name, form.language)
    message = Message("Undone: {name} has the same access as before.", name=shown)
    if form.get("through_team"):  # only a direct permission ends a denial
        message = Message(
            "Undone. {name}: the same access as before, now given here and not by a team.",
            name=shown,
        )
    return Redirect(state.asset.path, message)


def _restore(name: str, person: SharedWith | None, state: SharingState, language: Language) -> Undo:
    fields: dict[str, str | list[str]] = {"user": name}
    if person is not None:
        fields["permissions"] = sorted(person.permissions)
        if person.teams:
            fields["through_team"] = "1"
        if person.filters:
            fields["filters"] = msgspec.json.encode(person.filters).decode()
        if person.ends:
            fields["ends"] = msgspec.json.encode(person.ends).decode()
    return Undo(translate(Message("Undo"), language), state.asset.path, "restore", fields)


def _decode_object(text: str) -> dict[str, Any]:
    try:
        decoded = decode_json(text) if text else {}
    except BadRequest:
        return {}
    return decoded if isinstance(decoded, dict) else {}


# Copy, and tables


@pages.form(
    "assignment_list", "copy", {"clone_from": "source", "detail": "source"}, confirm_field="do"
)
async def copy(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Replace who can use this asset by who can use another; `do=copy` after the preview."""
    state = await load_state(form.path_values["uid"], form.language, api)
    source = form.get("source")
    if not source:
        return FormErrors(
            {"source": [translate(Message("Choose a form or a collection."), form.language)]}
        )
    is_preview = form.get("do") != "copy"
    query = DRY_RUN if is_preview else {}
    record = await api.call(
        "PATCH", f"{state.asset.path}clone/", query=query, json={"clone_from": source}
    )
    if is_preview:
        return FormPreview({"record": record})
    message = Message("Copied. “{form}” is now shared in the same way.", form=_title(state))
    return Redirect(state.asset.path, message, _restore_all(state, form.language))


@pages.form(
    "assignment_list", "upload", max_bytes=lambda _: MAX_TABLE_FORM_BYTES, confirm_field="do"
)
async def upload(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Assign from a CSV table; `do=upload` after the preview. The table stays in the page, to be corrected there."""
    state = await load_state(form.path_values["uid"], form.language, api)
    files = form.files("file")
    try:
        table = files[0].data.decode("utf-8-sig") if files else form.get("table")
    except UnicodeDecodeError:
        return FormErrors(
            {"file": [translate(Message("The table must be UTF-8 text."), form.language)]}
        )
    if not table.strip():
        return FormErrors({"file": [translate(Message("Choose a CSV file."), form.language)]})
    is_preview = form.get("do") != "upload" or bool(files)
    query = {"mode": form.get("mode", "add"), **(DRY_RUN if is_preview else {})}
    response = await api.send(
        "POST", f"{state.asset.path}csv/", query=query, fields={"text": table}
    )
    if response.is_error:
        return _table_errors(response, table, form.language)
    if is_preview:
        return FormPreview({"record": response.body, "table": table})
    message = Message("The table was applied to “{form}”.", form=_title(state))
    return Redirect(state.asset.path, message, _restore_all(state, form.language))


class TableProblem(msgspec.Struct, frozen=True):
    line: str
    column: str
    text: str


def _table_errors(response: APIResponse, table: str, language: Language) -> FormErrors:
    """Return the problems by line. The API names fields such as `line 3.user`."""
    body = response.body if isinstance(response.body, dict) else {}
    problems: list[TableProblem] = []
    others: list[str] = []
    for field, texts in body.items():
        listed = [str(text) for text in (texts if isinstance(texts, list) else [texts])]
        line, _, column = field.removeprefix("line ").partition(".")
        if field.startswith("line ") and line.isdigit():
            problems += [TableProblem(line, column, text) for text in listed]
        else:
            others += listed
    if problems:
        others.append(
            translate(Message("Some lines have problems. Nothing was changed."), language)
        )
    return FormErrors({"file": others}, {"problems": problems, "table": table})


@pages.form("assignment_list", "restore_all")
async def restore_all(form: SubmittedForm, api: InternalAPI) -> FormResult:
    """Undo: replace all assignments by those of before."""
    state = await load_state(form.path_values["uid"], form.language, api)
    try:
        before = msgspec.json.decode(form.get("assignments"), type=list[_Before])
    except msgspec.MsgspecError:
        return FormErrors(
            {
                "": [
                    translate(
                        Message("This cannot be undone any more. Nothing was changed."),
                        form.language,
                    )
                ]
            }
        )
    items = [item for each in before for item in each.assignments()]
    await api.call("POST", f"{state.asset.path}bulk/", query={"teams": "true"}, json=items)
    return Redirect(state.asset.path, Message("Undone. Everybody has the same access as before."))


class _Before(msgspec.Struct, frozen=True, array_like=True):
    """The permissions of a person before a change, short enough for a cookie."""

    user: str
    permissions: list[str]
    filters: dict[str, list[dict[str, Any]]] = {}
    ends: dict[str, str] = {}

    def assignments(self) -> list[dict[str, Any]]:
        partials = [{"url": each, "filters": given} for each, given in self.filters.items()]
        return [
            {
                "user": self.user,
                "permission": each,
                "expires_at": self.ends.get(each),
                **({"partial_permissions": partials} if each == PARTIAL else {}),
            }
            for each in self.permissions
        ]


def _restore_all(state: SharingState, language: Language) -> Undo | None:
    if any(person.is_hidden for person in state.people):  # the caller cannot share with such a team
        return None
    before = [
        _Before(
            person.username,
            sorted(person.permissions)
            if person.ends
            else reduce_permissions(sorted(person.permissions)),
            {each: [dict(one) for one in given] for each, given in person.filters.items()},
            dict(person.ends),
        )
        for person in state.people
        if not person.is_owner
    ]
    fields = {"assignments": msgspec.json.encode(before).decode()}
    return Undo(translate(Message("Undo"), language), state.asset.path, "restore_all", fields)
